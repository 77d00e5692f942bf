//! Opens a connection. This includes TCP, TLS, STARTUP, authentication, and a PREPARE for every
//! statement that is prepared.
//!
//! This code belongs to the control plane and blocks the calling thread, with a timeout. Before the
//! start line, the caller's thread opens the connections. After a node has disappeared, one thread
//! per connection retries with back-off. If the node has moved, the thread connects to the new
//! address. The thread passes the open link to the worker.

use crate::config::{Access, Config, Endpoint, LoadError};
use crate::connection::Link;
use crate::node_moved;
use crate::socket::Socket;
use cql::frame::{self, Header, flag};
use cql::request::{self, QueryParams, StatementId};
use cql::response::{self, Response, ResultBody};
use cql::template::{BatchTemplate, Template};
use cql::tokens::CqlMistake;
use cql::{Compression, Handshake, SegmentReader, Version};
use measure::clock;
use rustls::pki_types::ServerName;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use workload::{Program, Statement};

/// Time without a response after which the client regards a node as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// First pause before the client retries a lost connection. The pause doubles up to
/// [`BACKOFF_MAX`].
const BACKOFF_MIN: Duration = Duration::from_millis(50);
/// Longest pause between two attempts to connect.
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Maximum size of a response before the first operation, in bytes. The metadata of a statement
/// with many columns may be this large.
const HANDSHAKE_BYTES_MAX: u32 = 16 << 20;

/// Returns the parameters of a statement's frames, without values. The timestamp is only a
/// placeholder, which each operation replaces.
fn params(statement: &Statement, version: Version) -> QueryParams<'static> {
    QueryParams {
        version,
        consistency: statement.consistency,
        page_size: statement.page_size,
        serial_consistency: statement.serial_consistency,
        timestamp_us: statement.client_timestamp.then_some(0),
        // The client does not know the columns of a statement that is sent as text, so the response
        // must describe them.
        skip_metadata: statement.returns_rows && statement.prepared,
        ..QueryParams::default()
    }
}

/// Builds the frame of a statement. The frame refers to the prepared statement `id`. If the
/// statement is not prepared, the frame contains its text.
///
/// # Errors
/// The text cannot be parsed as CQL.
pub(crate) fn template(
    statement: &Statement,
    id: StatementId<'_>,
    version: Version,
) -> Result<Template, CqlMistake> {
    if statement.prepared {
        Ok(execute_template(statement, id, version))
    } else {
        let params = params(statement, version);
        Template::query(&statement.cql, statement.values_count, &params)
    }
}

pub(crate) fn execute_template(
    statement: &Statement,
    id: StatementId<'_>,
    version: Version,
) -> Template {
    Template::execute(id, statement.values_count, &params(statement, version))
}

/// Builds the frame of a batch that begins with this statement. Returns `None` if the statement is
/// never part of a batch.
pub(crate) fn batch_template(statement: &Statement, version: Version) -> Option<BatchTemplate> {
    let kind = statement.batch?;
    Some(BatchTemplate::new(kind, &params(statement, version)))
}

/// Opens a connection to `node`, prepares the statements of `program` on it, and builds the
/// templates of their frames.
pub(crate) fn open(
    node: &Endpoint,
    access: &Access,
    program: &Program,
) -> Result<(Link, Vec<Template>), LoadError> {
    try_open(node, access, program).map_err(|error| LoadError::Connect {
        node: node.name.clone(),
        address: node.address,
        reason: error.to_string(),
    })
}

fn try_open(
    node: &Endpoint,
    access: &Access,
    program: &Program,
) -> io::Result<(Link, Vec<Template>)> {
    Wire::enter(node, access)?.prepared(program)
}

/// Blocking connection that sends one request at a time and waits for the response.
pub(crate) struct Wire {
    link: Link,
    plain: Vec<u8>,
    version: Version,
    compression: Option<Compression>,
    /// Reader of segments after the handshake. `None` if the protocol version has no segments.
    segments: Option<SegmentReader>,
}

impl Wire {
    /// Opens a connection and performs the handshake.
    pub fn enter(node: &Endpoint, access: &Access) -> io::Result<Wire> {
        let stream = TcpStream::connect_timeout(&node.address, CONNECT_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        stream.set_write_timeout(Some(CONNECT_TIMEOUT))?;
        let tls = match &access.tls {
            None => None,
            Some(tls) => {
                let name = match node.proxied_name.as_ref().or(tls.server_name.as_ref()) {
                    Some(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
                    None => ServerName::IpAddress(node.called.ip().into()),
                };
                let config = Arc::clone(&tls.config);
                let client =
                    rustls::ClientConnection::new(config, name).map_err(io::Error::other)?;
                Some(Box::new(client))
            }
        };
        let mut wire = Wire {
            link: Link {
                stream: Socket::new(stream),
                tls,
            },
            plain: Vec::new(),
            version: access.version,
            compression: access.compression,
            segments: None,
        };
        wire.handshake(access)?;
        Ok(wire)
    }

    /// Prepares the statements of a program on the connection. The connection is then ready for a
    /// worker.
    fn prepared(mut self, program: &Program) -> io::Result<(Link, Vec<Template>)> {
        let mut templates = Vec::with_capacity(program.statements().len());
        for statement in program.statements() {
            templates.push(if statement.prepared {
                self.prepare(statement)?
            } else {
                template(statement, StatementId::from(&[]), self.version)
                    .map_err(|fault| unreadable(&statement.cql, fault))?
            });
        }
        if self.segments.is_some_and(|reader| !reader.is_empty()) {
            return Err(io::Error::other("the node sent more data than one answer"));
        }
        self.link.stream.stream().set_nonblocking(true)?;
        self.link.stream.time_arrivals();
        Ok((self.link, templates))
    }

    fn handshake(&mut self, access: &Access) -> io::Result<()> {
        let credentials = access
            .credentials
            .as_ref()
            .map(|(user, password)| (user.as_str(), password.as_str()));
        let mut frame = Vec::new();
        let begun = Handshake::begin(&mut frame, self.version, access.compression);
        let mut handshake = begun.map_err(io::Error::other)?;
        // A server that refuses the version responds in a version that it supports, so the first
        // response may have any version.
        let mut version = None;
        loop {
            let (header, body) = self.exchange_in(version, &frame)?;
            if version.replace(self.version).is_none() {
                self.segments = handshake.segments().map(SegmentReader::new);
            }
            frame.clear();
            let answered = handshake.answered((&header, &body), credentials, &mut frame);
            if answered.map_err(io::Error::other)? {
                return Ok(());
            }
        }
    }

    fn prepare(&mut self, statement: &Statement) -> io::Result<Template> {
        let mut frame = Vec::new();
        request::prepare(&mut frame, self.version, 0, &statement.cql)
            .map_err(|fault| unreadable(&statement.cql, fault))?;
        let (header, body) = self.exchange(&frame)?;
        match parse(&header, &body)? {
            Response::Result(ResultBody::Prepared(prepared)) => {
                let wanted = prepared.bind_columns.len();
                if wanted != usize::from(statement.values_count) {
                    return Err(io::Error::other(format!(
                        "the statement requires {wanted} values, but the workload has {}: {}",
                        statement.values_count, statement.cql
                    )));
                }
                Ok(execute_template(
                    statement,
                    prepared.statement_id(),
                    self.version,
                ))
            }
            Response::Error(error) => Err(refused(&statement.cql, &error)),
            other => Err(unexpected("PREPARE", &other)),
        }
    }

    pub fn exchange(&mut self, frame: &[u8]) -> io::Result<(Header, Vec<u8>)> {
        self.exchange_in(Some(self.version), frame)
    }

    /// Returns the parameters of a statement that is sent as text.
    pub fn params(&self) -> QueryParams<'static> {
        QueryParams {
            version: self.version,
            ..QueryParams::default()
        }
    }

    /// Sends a frame and returns the response. The response must have the given version. If the
    /// version is `None`, the response may have any version.
    fn exchange_in(
        &mut self,
        version: Option<Version>,
        frame: &[u8],
    ) -> io::Result<(Header, Vec<u8>)> {
        let mut segments = self.segments.take();
        match &segments {
            None => self.write_all(frame)?,
            Some(reader) => {
                let mut wrapped = Vec::new();
                reader.segments().wrap(frame, &mut wrapped);
                self.write_all(&wrapped)?;
            }
        }
        let mut body = Vec::new();
        let fill = |room: &mut [u8]| match &mut segments {
            None => self.read_exact(room),
            Some(reader) => reader.fill(room, |room| self.read_exact(room), io::Error::other),
        };
        let limit = HANDSHAKE_BYTES_MAX;
        let header = frame::receive(version, &mut body, limit, fill, io::Error::other)?;
        self.segments = segments;
        if header.flags & flag::COMPRESSED != 0 {
            let limit = HANDSHAKE_BYTES_MAX as usize;
            let compression = self.compression.ok_or_else(|| {
                io::Error::other(
                    "the node sent a compressed answer, although the client did not request \
                     compression",
                )
            })?;
            let expanded = compression.decompress(&body, &mut self.plain, limit);
            expanded.map_err(io::Error::other)?;
            body = std::mem::take(&mut self.plain);
        }
        let header = Header {
            flags: header.flags & !flag::COMPRESSED,
            ..header
        };
        Ok((header, body))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.link.tls {
            None => self.link.stream.write_all(bytes),
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.link.stream).write_all(bytes),
        }
    }

    fn read_exact(&mut self, room: &mut [u8]) -> io::Result<()> {
        match &mut self.link.tls {
            None => self.link.stream.read_exact(room),
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.link.stream).read_exact(room),
        }
    }
}

fn parse<'a>(header: &Header, body: &'a [u8]) -> io::Result<Response<'a>> {
    response::parse(header, body).map_err(io::Error::other)
}

fn refused(what: &str, error: &response::ErrorBody<'_>) -> io::Error {
    io::Error::other(format!("{what}: {:?}: {}", error.code, error.message))
}

fn unreadable(cql: &str, fault: CqlMistake) -> io::Error {
    io::Error::other(format!("{} (statement: {cql})", fault.describe(cql)))
}

fn unexpected(what: &str, response: &Response<'_>) -> io::Error {
    let mut text = format!("{response:?}");
    text.truncate(text.char_indices().nth(120).map_or(text.len(), |(at, _)| at));
    io::Error::other(format!(
        "the node answered {what} with an unexpected message: {text}"
    ))
}

pub(crate) struct Reconnector {
    nodes: Mutex<Vec<Endpoint>>,
    connections_per_node: usize,
    access: Access,
    program: Arc<Program>,
    finished: Arc<AtomicBool>,
}

impl Reconnector {
    /// Creates the reconnector of a run. Its threads end when `finished` is true.
    pub fn new(config: &Config, finished: Arc<AtomicBool>) -> Reconnector {
        Reconnector {
            nodes: Mutex::new(config.nodes.clone()),
            connections_per_node: config.connections_per_node,
            access: config.access.clone(),
            program: Arc::clone(&config.program),
            finished,
        }
    }

    /// Tries to reopen connection number `connection` of a worker in a separate thread. The thread
    /// tries until the connection is open or the run ends.
    pub fn reopen(self: &Arc<Self>, connection: u16, to: Sender<(u16, Link)>) {
        let this = Arc::clone(self);
        let node = usize::from(connection) / self.connections_per_node;
        let spawned = std::thread::Builder::new().name("load-reconnect".into()).spawn(move || {
            let mut pause = BACKOFF_MIN;
            while !this.finished.load(Ordering::Relaxed) {
                clock::sleep(pause);
                pause = (pause * 2).min(BACKOFF_MAX);
                let nodes = this.nodes().clone();
                if let Ok(link) = this.open_again(&nodes[node], &nodes) {
                    let _ = to.send((connection, link));
                    return;
                }
                if let Some(now) = node_moved::address_now(&nodes[node], &nodes, &this.access) {
                    let moved = &mut this.nodes()[node];
                    (moved.address, moved.called) = (now, now);
                }
            }
        });
        // If the system cannot start a thread, the connection remains closed, and the report shows
        // this.
        drop(spawned);
    }

    fn open_again(&self, node: &Endpoint, all: &[Endpoint]) -> io::Result<Link> {
        let mut wire = Wire::enter(node, &self.access)?;
        node_moved::check(&mut wire, node, all)?;
        Ok(wire.prepared(&self.program)?.0)
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<Endpoint>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
