//! A blocking CQL session for control: one request at a time, on one node.
//!
//! Long because the way from a socket to rows is one, with its handshakes, deadlines and pages.
//!
//! Nothing here is fast, and nothing has to be: schema, metadata, virtual tables. Every answer has
//! a deadline; after a failed read or write the session is broken and says so, because the next
//! bytes might belong to the last question.

use crate::access::{self, Access, Tls};
use crate::door::{Door, Way};
use crate::moves::Moves;
use crate::statement_change;
use anyhow::{Context, Result, anyhow, bail};
use cql::frame::{self, Header};
use cql::request::QueryParams;
use cql::response::{ErrorCode, Prepared, Response, ResultBody, Rows};
use cql::text::Fault;
use cql::value::Value;
use cql::{Consistency, Handshake, HandshakeError, SegmentReader, Version};
use measure::clock::{self, Deadline};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;
use target::Object;

/// How long connecting may take: on any network that a laboratory uses, less than a second does.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Rows per page: whole virtual tables fit, and an answer stays in the order of a megabyte.
const PAGE_ROWS: i32 = 5000;

/// The largest answer: a page of rows of 13 kB.
const ANSWER_BYTES_MAX: u32 = 64 << 20;

/// How long nodes may take to agree on a schema. Drivers wait 10 s; a busy laptop is slower.
const SCHEMA_AGREEMENT_LIMIT: Duration = Duration::from_secs(30);

/// Between two looks at schema versions.
const SCHEMA_POLL: Duration = Duration::from_millis(50);

/// Where a study says how sessions are encrypted.
const SECTION: &str = "target.attach";

/// What an error says of what was asked before there were statements.
const HANDSHAKE: &str = "the CQL handshake";

/// Longest part of a statement that an error repeats.
const STATEMENT_CHARS_SHOWN: usize = 200;

/// Rows of one statement, all pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryResult {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells in the order of the columns.
    pub rows: Vec<Vec<Value>>,
}

impl QueryResult {
    /// Index of a column.
    ///
    /// # Errors
    /// The server did not send it; the message lists those it did.
    pub fn column(&self, name: &str) -> Result<usize> {
        let index = self.columns.iter().position(|column| column == name);
        index.with_context(|| {
            format!(
                "the server sent no column {name}, but {}",
                self.columns.join(", ")
            )
        })
    }
}

/// An error that the server answered with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{node} answered {code}: {message} (statement: {statement})")]
pub struct ServerError {
    /// The node that answered.
    pub node: SocketAddr,
    /// The error code of the server.
    pub code: ErrorCode,
    /// The server's words.
    pub message: String,
    /// The statement, shortened.
    pub statement: String,
}

impl ServerError {
    /// Whether what was to be created is there already.
    pub fn says_that_it_exists(&self) -> bool {
        match self.code {
            ErrorCode::AlreadyExists => true,
            // A type that is there has no code of its own.
            ErrorCode::Invalid => self.message.ends_with("already exists"),
            _ => false,
        }
    }

    /// Of a statement that is right: whether the server has no such table or column.
    fn says_that_it_is_absent(&self) -> bool {
        self.code == ErrorCode::Invalid
    }

    /// Whether asking again is for nothing: there is no such thing, or it is not shown to this
    /// user. An overloaded node refuses too.
    fn is_lasting(&self) -> bool {
        let is_hidden = matches!(self.code, ErrorCode::Unauthorized | ErrorCode::SyntaxError);
        is_hidden || self.says_that_it_is_absent()
    }
}

/// A statement that is right and is asked again and again: not of who has no such table or column,
/// or does not show it to this user.
pub(crate) struct RepeatedQuery {
    cql: String,
    is_refused: bool,
}

impl RepeatedQuery {
    pub fn new(cql: String) -> RepeatedQuery {
        RepeatedQuery {
            cql,
            is_refused: false,
        }
    }

    /// What is asked.
    #[cfg(test)]
    pub fn cql(&self) -> &str {
        &self.cql
    }

    /// Asks, unless it is for nothing; a refusal that somebody should know of is put where
    /// `refusal` is. What a line does not have is missed by nobody.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn ask(
        &mut self,
        session: &mut Session,
        refusal: &mut Option<anyhow::Error>,
    ) -> Result<Option<QueryResult>> {
        if self.is_refused {
            return Ok(None);
        }
        let error = match session.query(&self.cql) {
            Ok(result) => return Ok(Some(result)),
            Err(error) => error,
        };
        let Some(refused) = error.downcast_ref::<ServerError>() else {
            return Err(error);
        };
        self.is_refused = refused.is_lasting();
        if !refused.says_that_it_is_absent() {
            *refusal = Some(error);
        }
        Ok(None)
    }
}

/// Nothing more comes.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the node closed the connection")]
struct Closed;

/// Bytes to and from a node, plain or encrypted.
trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// An open session with one node.
pub struct Session {
    node: SocketAddr,
    stream: Box<dyn Stream>,
    /// For the time-outs; shares the socket with `stream`.
    socket: TcpStream,
    timeout: Duration,
    broken: bool,
    /// Of a cluster that is not ours.
    door: Option<Door>,
    moves: Moves,
    /// The keyspace of names that say none.
    used: Option<String>,
    version: Version,
    request: Vec<u8>,
    /// The request in segments, in a version that has them.
    wrapped: Vec<u8>,
    segments: Option<SegmentReader>,
    body: Vec<u8>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("node", &self.node).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects, does the TLS and CQL handshakes, and authenticates. Each request of the session
    /// may take `timeout`.
    ///
    /// # Errors
    /// The node is not reachable, its certificate is not trusted, it wants credentials that are
    /// missing or wrong, or it speaks none of our versions of the protocol. The password is in no
    /// message.
    pub fn open(node: SocketAddr, access: &Access, timeout: Duration) -> Result<Session> {
        Session::open_named(node, None, access, timeout)
    }

    /// As [`Session::open`], for a node that was given by a host name, which its certificate may
    /// carry instead of the address.
    pub(crate) fn open_named(
        node: SocketAddr,
        host: Option<&str>,
        access: &Access,
        timeout: Duration,
    ) -> Result<Session> {
        let (session, entered) = Session::enter(node, host, access, timeout)?;
        match entered {
            Ok(()) => Ok(session),
            Err(HandshakeError::Refused { code, message, .. }) => bail!(ServerError {
                node,
                code,
                message,
                statement: HANDSHAKE.to_owned(),
            }),
            Err(why) => bail!("{node} does not let us in: {why}"),
        }
    }

    /// Connects and does the handshakes in the first version of the protocol that the node does not
    /// refuse, with what else it has against it.
    fn enter(
        node: SocketAddr,
        host: Option<&str>,
        access: &Access,
        timeout: Duration,
    ) -> Result<(Session, Result<(), HandshakeError>)> {
        let mut refusals = Vec::new();
        for version in access.spoken.order() {
            let mut session = Session::connect(node, host, access, timeout)?;
            session.version = version;
            match session.begin(access)? {
                Err(HandshakeError::Version { message, .. }) => {
                    refusals.push(format!("{version}: {message}"));
                }
                entered => {
                    if entered.is_ok() {
                        access.spoken.note(version);
                    }
                    return Ok((session, entered));
                }
            }
        }
        bail!(
            "{node} takes none of the versions of the native protocol that are spoken here:\n  {}\n\
             hint: Cassandra since 2.1 takes one of them; is this another port, or another server?",
            refusals.join("\n  ")
        )
    }

    /// What a node wants to be told before it serves, by the class that judges it; none if it
    /// serves everybody.
    ///
    /// # Errors
    /// The node is not reachable, or speaks none of our versions of the protocol.
    pub(crate) fn authenticator(node: SocketAddr, timeout: Duration) -> Result<Option<String>> {
        let nobody = Access::default();
        match Session::enter(node, None, &nobody, timeout)?.1 {
            Ok(()) => Ok(None),
            Err(HandshakeError::NoCredentials { class }) => Ok(Some(class)),
            Err(why) => bail!("{node} does not let us in: {why}"),
        }
    }

    /// A connection on which nothing was said yet.
    fn connect(
        node: SocketAddr,
        host: Option<&str>,
        access: &Access,
        timeout: Duration,
    ) -> Result<Session> {
        let at = access.moves.now(node);
        let socket = TcpStream::connect_timeout(&at, timeout.min(CONNECT_LIMIT))
            .with_context(|| format!("connect to {at}"))?;
        socket
            .set_nodelay(true)
            .with_context(|| format!("configure the socket to {node}"))?;
        let copy = socket.try_clone().with_context(|| format!("share the socket to {node}"))?;
        let stream: Box<dyn Stream> = match &access.tls {
            None => Box::new(copy),
            Some(tls) => {
                let name = access.moves.proxied_name(node);
                let name = name.as_deref().or(tls.server_name.as_deref()).or(host);
                Box::new(encrypted(copy, tls, access.moves.called(node), name)?)
            }
        };
        Ok(Session {
            node,
            stream,
            socket,
            timeout,
            broken: false,
            door: access.door.clone(),
            moves: access.moves.clone(),
            used: None,
            version: Version::default(),
            request: Vec::new(),
            wrapped: Vec::new(),
            segments: None,
            body: Vec::new(),
        })
    }

    /// Where nodes are that are known by addresses.
    pub(crate) fn moves(&self) -> &Moves {
        &self.moves
    }

    /// By which address a node is known that says another one of itself now.
    pub(crate) fn known(&self, now: SocketAddr) -> SocketAddr {
        self.moves.known(now)
    }

    /// The node's address, as it is known by.
    pub fn node(&self) -> SocketAddr {
        self.node
    }

    /// The address at our end.
    ///
    /// # Errors
    /// The socket is gone.
    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        let own = self.socket.local_addr();
        own.with_context(|| format!("ask for our own address to {}", self.node))
    }

    /// Runs one statement at LOCAL_ONE, following its pages to the end.
    ///
    /// # Errors
    /// [`ServerError`] if the server refuses it; otherwise the connection has failed, and so will
    /// every later call.
    pub fn query(&mut self, cql: &str) -> Result<QueryResult> {
        self.query_at(cql, Consistency::LocalOne)
    }

    /// As [`Session::query`]; none if the server refuses it: it has no such table, or shows it to
    /// others.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn query_if_shown(&mut self, cql: &str) -> Result<Option<QueryResult>> {
        match self.query(cql) {
            Err(error) if error.downcast_ref::<ServerError>().is_some() => Ok(None),
            found => found.map(Some),
        }
    }

    /// As [`Session::query`], at `consistency`.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn query_at(&mut self, cql: &str, consistency: Consistency) -> Result<QueryResult> {
        self.ask(cql, cql, consistency)
    }

    /// As [`Session::query`], of a statement with a secret in it: errors repeat `shown` instead.
    pub(crate) fn query_secret(&mut self, cql: &str, shown: &str) -> Result<QueryResult> {
        let answer = self.ask(cql, shown, Consistency::LocalOne);
        self.request.fill(0);
        self.wrapped.fill(0);
        answer
    }

    /// What would become of a statement on a cluster that is not ours, without sending it: whether
    /// it would be sent. What it would make counts as made from then on, so that a whole run can be
    /// gone through in a session of its own cluster.
    ///
    /// # Errors
    /// It would be refused; the message says what allows it.
    pub fn rehearse(&mut self, cql: &str) -> Result<bool> {
        let Some(door) = self.door.clone() else {
            return Ok(true);
        };
        let way = door.pass(self, cql)?;
        if way == Way::Send {
            self.take_note(&door, cql);
        }
        Ok(way == Way::Send)
    }

    /// As if a statement had been sent: what it makes counts as made, so that what follows from its
    /// refusal is not said as well.
    pub fn suppose(&mut self, cql: &str) {
        if let Some(door) = self.door.clone() {
            self.take_note(&door, cql);
        }
    }

    pub(crate) fn used(&self) -> Option<&str> {
        self.used.as_deref()
    }

    /// The tables that a statement has made.
    fn take_note(&mut self, door: &Door, cql: &str) -> Vec<Object> {
        self.used = statement_change::used(cql).or(self.used.take());
        door.passed(cql, self.used())
    }

    /// Whether a statement may be sent, now or by the load.
    ///
    /// # Errors
    /// It may not; the message says what allows it.
    pub fn may_send(&mut self, cql: &str) -> Result<()> {
        match self.door.clone() {
            Some(door) => door.pass(self, cql).map(drop),
            None => Ok(()),
        }
    }

    fn ask(&mut self, cql: &str, shown: &str, consistency: Consistency) -> Result<QueryResult> {
        let Some(door) = self.door.clone() else {
            return self.send(cql, shown, consistency);
        };
        if door.pass(self, cql)? == Way::Skip {
            return Ok(QueryResult::default());
        }
        let answer = self.send(cql, shown, consistency)?;
        for table in self.take_note(&door, cql) {
            let mark = door.mark(&table);
            self.send(&mark, &mark, consistency)?;
        }
        Ok(answer)
    }

    fn send(&mut self, cql: &str, shown: &str, consistency: Consistency) -> Result<QueryResult> {
        let mut result = QueryResult::default();
        let mut paging_state: Option<Vec<u8>> = None;
        loop {
            let params = QueryParams {
                version: self.version,
                consistency,
                page_size: Some(PAGE_ROWS),
                paging_state: paging_state.as_deref(),
                ..QueryParams::default()
            };
            self.request.clear();
            cql::request::query(&mut self.request, 0, cql, &params)
                .map_err(|fault| unreadable(&fault, cql, shown))?;
            let node = self.node;
            let header = self.exchange(shown)?;
            let response = parse(&header, &self.body, node, shown)?;
            let Response::Result(body) = response else {
                bail!("{node} answered a query with {}", name_of(&header));
            };
            paging_state = match body {
                ResultBody::Rows(rows) => {
                    append(&mut result, &rows)
                        .with_context(|| format!("read the rows of {node} ({})", shorten(shown)))?;
                    rows.paging_state.map(<[u8]>::to_vec)
                }
                _ => None,
            };
            if paging_state.is_none() {
                return Ok(result);
            }
        }
    }

    /// Has a statement prepared; its markers and the columns of its rows, as the server has them.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn prepare(&mut self, cql: &str) -> Result<Prepared> {
        self.request.clear();
        cql::request::prepare(&mut self.request, self.version, 0, cql)
            .map_err(|fault| unreadable(&fault, cql, cql))?;
        let header = self.exchange(cql)?;
        match parse(&header, &self.body, self.node, cql)? {
            Response::Result(ResultBody::Prepared(prepared)) => Ok(prepared),
            _ => bail!("{} answered PREPARE with {}", self.node, name_of(&header)),
        }
    }

    /// Runs one statement that changes the schema, then waits until all nodes agree on it.
    ///
    /// # Errors
    /// As [`Session::query`], or the nodes still disagree after 30 s.
    pub fn execute_schema(&mut self, cql: &str) -> Result<()> {
        if let Err(error) = self.query(cql) {
            return Err(self.with_datacenters(error));
        }
        self.wait_for_schema_agreement(SCHEMA_AGREEMENT_LIMIT)
            .with_context(|| format!("wait for the schema after {}", shorten(cql)))
    }

    /// An error of a replication that names a datacenter which the cluster has not, with those that
    /// it has: `dc1` of our own nodes meets `datacenter1`, which is what Cassandra calls its own.
    fn with_datacenters(&mut self, error: anyhow::Error) -> anyhow::Error {
        let refused = error.downcast_ref::<ServerError>();
        let names = ["datacenter", "strategy option"];
        if !refused.is_some_and(|refused| names.iter().any(|name| refused.message.contains(name))) {
            return error;
        }
        let mut all = BTreeSet::new();
        for table in ["local", "peers"] {
            let found = self.query(&format!("SELECT data_center FROM system.{table}"));
            let rows = found.map(|found| found.rows).unwrap_or_default();
            let names = rows.iter().filter_map(|row| row.first()?.as_str());
            all.extend(names.map(str::to_owned));
        }
        let all: Vec<String> = all.into_iter().collect();
        anyhow!(
            "{error:#}\nhint: its datacenters are called {}: name those in `keyspace.replication`",
            all.join(", ")
        )
    }

    /// As [`Session::execute_schema`]; that what is to be created exists already is fine.
    ///
    /// # Errors
    /// As [`Session::execute_schema`].
    pub fn execute_schema_if_absent(&mut self, cql: &str) -> Result<()> {
        let exists = |error: &anyhow::Error| {
            let refused = error.downcast_ref::<ServerError>();
            refused.is_some_and(ServerError::says_that_it_exists)
        };
        match self.execute_schema(cql) {
            Err(error) if exists(&error) => Ok(()),
            result => result,
        }
    }

    /// Waits until this node and all that it knows have the same schema version. With a `limit` of
    /// zero it looks once.
    ///
    /// # Errors
    /// They still differ; the message lists the versions.
    pub fn wait_for_schema_agreement(&mut self, limit: Duration) -> Result<()> {
        let deadline = Deadline::after(limit);
        loop {
            let mut versions: Vec<String> = Vec::new();
            for table in ["system.local", "system.peers"] {
                let found = self.query(&format!("SELECT schema_version FROM {table}"))?;
                versions.extend(found.rows.iter().flatten().map(Value::to_string));
            }
            versions.sort();
            versions.dedup();
            if versions.len() <= 1 {
                return Ok(());
            }
            if deadline.passed() {
                bail!(
                    "the nodes disagree on the schema: versions {}",
                    versions.join(", ")
                );
            }
            clock::sleep(SCHEMA_POLL);
        }
    }

    /// A table of two text columns, name and value, as a map.
    pub(crate) fn pairs(&mut self, cql: &str) -> Result<BTreeMap<String, String>> {
        let result = self.query(cql)?;
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            other => other.as_str().map_or_else(|| other.to_string(), str::to_string),
        };
        let pair = |row: &Vec<Value>| Some((text(row.first()?), text(row.get(1)?)));
        Ok(result.rows.iter().filter_map(pair).collect())
    }

    /// The handshake, with what the node has against it.
    fn begin(&mut self, access: &Access) -> Result<Result<(), HandshakeError>> {
        let credentials = access
            .credentials
            .as_ref()
            .map(|who| (who.user.as_str(), who.password.reveal()));
        self.request.clear();
        let mut handshake = match Handshake::begin(&mut self.request, self.version, None) {
            Ok(handshake) => handshake,
            Err(why) => return Ok(Err(why)),
        };
        // It may refuse the version, and does so in one of its own.
        let mut version = None;
        loop {
            let answer = self
                .exchange_in(version, HANDSHAKE)
                .map_err(|error| with_what_may_help(error, access.tls.as_ref()));
            // The password may be in there.
            self.request.fill(0);
            self.wrapped.fill(0);
            let header = answer?;
            if version.replace(self.version).is_none() {
                self.segments = handshake.segments().map(SegmentReader::new);
            }
            self.request.clear();
            match handshake.answered((&header, &self.body), credentials, &mut self.request) {
                Ok(false) => {}
                Ok(true) => return Ok(Ok(())),
                Err(why) => return Ok(Err(why)),
            }
        }
    }

    /// Sends `self.request` and receives the answer's body into `self.body`. Events, which nobody
    /// has asked for, are passed over.
    fn exchange(&mut self, what: &str) -> Result<Header> {
        self.exchange_in(Some(self.version), what)
    }

    /// The same, with an answer in a version or in whatever version.
    fn exchange_in(&mut self, version: Option<Version>, what: &str) -> Result<Header> {
        if self.broken {
            bail!(
                "the session with {} has failed before; open another",
                self.node
            );
        }
        let deadline = Deadline::after(self.timeout);
        self.broken = true;
        let context = || format!("{} ({})", self.node, shorten(what));
        let mut request = &self.request;
        if let Some(reader) = &self.segments {
            self.wrapped.clear();
            reader.segments().wrap(request, &mut self.wrapped);
            request = &self.wrapped;
        }
        let answer = Self::transfer(
            (&mut *self.stream, &self.socket),
            request,
            (version, self.segments.as_mut()),
            &mut self.body,
            deadline,
        );
        let header = answer.with_context(context)?;
        self.broken = false;
        Ok(header)
    }

    fn transfer(
        (stream, socket): (&mut dyn Stream, &TcpStream),
        request: &[u8],
        (version, mut segments): (Option<Version>, Option<&mut SegmentReader>),
        body: &mut Vec<u8>,
        deadline: Deadline,
    ) -> Result<Header> {
        let left = deadline.left().max(Duration::from_millis(1));
        socket.set_write_timeout(Some(left)).context("set a time-out")?;
        stream
            .write_all(request)
            .and_then(|()| stream.flush())
            .map_err(|error| access::explained(error, SECTION))
            .context("send a request")?;
        let mut fill = |room: &mut [u8]| receive(stream, socket, room, deadline);
        let fill = |room: &mut [u8]| match &mut segments {
            None => fill(room),
            Some(reader) => reader.fill(room, &mut fill, anyhow::Error::from),
        };
        frame::receive(version, body, ANSWER_BYTES_MAX, fill, anyhow::Error::from)
    }
}

/// An error of the handshake of CQL; where a node has hung up, with what it may have wanted.
fn with_what_may_help(error: anyhow::Error, tls: Option<&Tls>) -> anyhow::Error {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let kind = error.downcast_ref().map(std::io::Error::kind);
    let has_hung_up = error.is::<Closed>()
        || matches!(
            kind,
            Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        );
    match tls {
        None if error.is::<Closed>() => {
            anyhow!("{error:#}\nhint: if it speaks TLS only, say `tls: {{}}` in `{SECTION}`")
        }
        // What it has said of that may be lost with the connection.
        Some(tls) if has_hung_up && tls.material.identity.is_none() => anyhow!(
            "{error:#}\nhint: if it wants a certificate of its clients, name that and its private \
             key, PEM files, by `tls: {{cert: FILE, key: FILE}}` of `{SECTION}`"
        ),
        _ => error,
    }
}

/// Fills `buffer` before the deadline.
fn receive(
    stream: &mut dyn Stream,
    socket: &TcpStream,
    mut buffer: &mut [u8],
    deadline: Deadline,
) -> Result<()> {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    while !buffer.is_empty() {
        if deadline.passed() {
            bail!("no answer in time");
        }
        let left = deadline.left().max(Duration::from_millis(1));
        socket.set_read_timeout(Some(left)).context("set a time-out")?;
        match stream.read(buffer) {
            Ok(0) => return Err(Closed.into()),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) if matches!(error.kind(), Interrupted | TimedOut | WouldBlock) => {}
            Err(error) => {
                return Err(access::explained(error, SECTION)).context("receive an answer");
            }
        }
    }
    Ok(())
}

/// Begins TLS; the handshake itself is done by the first write.
fn encrypted(
    socket: TcpStream,
    tls: &Tls,
    node: SocketAddr,
    name: Option<&str>,
) -> Result<rustls::StreamOwned<rustls::ClientConnection, TcpStream>> {
    use rustls::pki_types::ServerName;
    let name = match name {
        Some(name) => ServerName::try_from(name.to_string())
            .with_context(|| format!("use {name:?} as the server's name for TLS"))?,
        None => ServerName::IpAddress(IpAddr::into(node.ip())),
    };
    // The handshake must not wait for ever on a server that does not speak TLS.
    socket.set_read_timeout(Some(CONNECT_LIMIT)).context("set a time-out")?;
    let connection = rustls::ClientConnection::new(tls.config.clone(), name)
        .with_context(|| format!("begin TLS with {node}"))?;
    Ok(rustls::StreamOwned::new(connection, socket))
}

/// The response in a body; a server's ERROR becomes a [`ServerError`].
fn parse<'a>(
    header: &Header,
    body: &'a [u8],
    node: SocketAddr,
    statement: &str,
) -> Result<Response<'a>> {
    let response = cql::response::parse(header, body)
        .with_context(|| format!("read the answer of {node} ({})", shorten(statement)))?;
    if let Response::Error(error) = response {
        return Err(anyhow!(ServerError {
            node,
            code: error.code,
            message: error.message.to_string(),
            statement: shorten(statement),
        }));
    }
    Ok(response)
}

fn append(result: &mut QueryResult, rows: &Rows<'_>) -> Result<()> {
    if result.columns.is_empty() {
        result.columns = rows.columns.iter().map(|column| column.name.clone()).collect();
    }
    result.rows.extend(rows.values()?);
    Ok(())
}

fn name_of(header: &Header) -> String {
    format!("an unexpected message (opcode {:#04x})", header.opcode)
}

fn unreadable(fault: &Fault, cql: &str, shown: &str) -> anyhow::Error {
    let (at, shown) = (fault.said(cql), shorten(shown));
    anyhow!("a statement cannot be read as Cassandra would read it: {at} (statement: {shown})")
}

/// A statement as an error repeats it: one line, not too long.
fn shorten(statement: &str) -> String {
    let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= STATEMENT_CHARS_SHOWN {
        return line;
    }
    line.chars().take(STATEMENT_CHARS_SHOWN).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
