//! Client access to a real node.

use super::Live;
use crate::cluster_under_test::Client;
use anyhow::{Context, Result};
use cassandra::{Row, View};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;
use target_spec::NodeIndex;

impl Client for Live {
    fn connect(&mut self, node: NodeIndex, limit: Duration) -> Result<()> {
        let address = self.node_handle(node)?.address;
        let stream = TcpStream::connect_timeout(&address, limit)
            .with_context(|| format!("connect to {address}"))?;
        stream.set_nonblocking(true).context("check a connection")?;
        self.held = Some(stream);
        Ok(())
    }

    fn is_connected(&mut self) -> bool {
        let Some(stream) = &self.held else {
            return false;
        };
        // cassay has sent no request on this connection, so a read can only show its end.
        match stream.peek(&mut [0]) {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    fn rows(&mut self, node: NodeIndex, view: View, limit: Duration) -> Result<Vec<Row>> {
        self.node_handle(node)?.rows(view, limit)
    }

    fn ask(&mut self, node: NodeIndex, limit: Duration) -> Result<()> {
        self.node_handle(node)?.ask(limit)
    }

    fn clock_off_ms(&mut self, node: NodeIndex, limit: Duration) -> Result<[i64; 2]> {
        self.node_handle(node)?.clock_off_ms(limit)
    }
}
