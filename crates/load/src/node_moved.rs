//! Finds nodes that have moved. A node that starts at another address keeps its tokens. The other
//! nodes report the new address together with these tokens. Drivers use the same information.
//!
//! This code belongs to the control plane and blocks the threads that reopen connections.

use crate::config::{Access, Endpoint};
use crate::connect::Wire;
use cql::Value;
use cql::response::{Response, ResultBody};
use std::io;
use std::net::SocketAddr;

const OWN: &str = "SELECT tokens FROM system.local";

/// Query for the addresses and tokens of the other nodes. Before version 4.0, all nodes use the
/// same port.
const PEERS_QUERY: &str = "SELECT native_address, native_port, tokens FROM system.peers_v2";
const PEERS_QUERY_BEFORE_4: &str = "SELECT rpc_address, tokens FROM system.peers";

/// Returns an error if the tokens show that another node of `all` now answers at the address of
/// `node`. This can happen because Kubernetes reuses the addresses of pods. If the tokens belong to
/// no node of `all`, the function accepts the node.
pub(crate) fn check(wire: &mut Wire, node: &Endpoint, all: &[Endpoint]) -> io::Result<()> {
    if !can_tell(node, all) {
        return Ok(());
    }
    let own = tokens_of_rows(&wire.rows(OWN)?);
    let is_at = |one: &&Endpoint| one.tokens.first().is_some_and(|token| own.contains(token));
    match all.iter().find(is_at) {
        Some(other) if other.name != node.name => {
            let (at, name) = (node.address, &other.name);
            Err(io::Error::other(format!("{name} now answers at {at}")))
        }
        _ => Ok(()),
    }
}

/// Returns the new address of `node`, as reported by the first other node of `all` that responds.
/// Returns `None` if the address is unchanged or unknown.
pub(crate) fn address_now(
    node: &Endpoint,
    all: &[Endpoint],
    access: &Access,
) -> Option<SocketAddr> {
    if !can_tell(node, all) {
        return None;
    }
    let token = *node.tokens.first()?;
    let others = all.iter().filter(|other| other.name != node.name);
    let mut told = others.filter_map(|other| {
        let mut wire = Wire::enter(other, access).ok()?;
        let rows = wire.rows(PEERS_QUERY).or_else(|_| wire.rows(PEERS_QUERY_BEFORE_4)).ok()?;
        Some((rows, other.called.port()))
    });
    let (rows, usual_port) = told.next()?;
    let mut is_its = rows.into_iter().filter(|row| tokens_of(row.last()).contains(&token));
    let row = is_its.next()?;
    let Value::Inet(ip) = row.first()? else {
        return None;
    };
    let said = row.get(1).and_then(Value::as_i64).and_then(|port| u16::try_from(port).ok());
    let now = SocketAddr::new(*ip, said.unwrap_or(usual_port));
    (now != node.called).then_some(now)
}

/// Returns true if the client can distinguish nodes by their tokens and follow them to new
/// addresses. Behind a proxy the client does not need to, since the proxy follows the nodes.
fn can_tell(node: &Endpoint, all: &[Endpoint]) -> bool {
    all.len() > 1 && !node.tokens.is_empty() && node.proxied_name.is_none()
}

fn tokens_of_rows(rows: &[Vec<Value>]) -> Vec<i64> {
    rows.iter().flat_map(|row| tokens_of(row.last())).collect()
}

fn tokens_of(value: Option<&Value>) -> Vec<i64> {
    let (Some(Value::Set(items)) | Some(Value::List(items))) = value else {
        return Vec::new();
    };
    let token = |item: &Value| item.as_str()?.parse().ok();
    items.iter().filter_map(token).collect()
}

impl Wire {
    /// Returns the rows of a query, which must have a small result.
    fn rows(&mut self, cql: &str) -> io::Result<Vec<Vec<Value>>> {
        let mut frame = Vec::new();
        cql::request::query(&mut frame, 0, cql, &self.params()).map_err(io::Error::other)?;
        let (header, body) = self.exchange(&frame)?;
        match cql::response::parse(&header, &body).map_err(io::Error::other)? {
            Response::Result(ResultBody::Rows(rows)) => rows.values().map_err(io::Error::other),
            Response::Error(error) => Err(io::Error::other(format!(
                "{cql}: {:?}: {}",
                error.code, error.message
            ))),
            _ => Err(io::Error::other(format!(
                "the node answered {cql} without rows"
            ))),
        }
    }
}
