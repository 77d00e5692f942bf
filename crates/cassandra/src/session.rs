//! A blocking CQL session for control: one request at a time, on one node.
//!
//! Long because everything from the socket to the rows belongs together: handshakes,
//! deadlines and pages.
//!
//! Speed does not matter, because sessions serve only schema, metadata and virtual tables. Every
//! request has a deadline. After a failed read or write, the session refuses further requests,
//! because the next bytes might belong to an earlier response.

use crate::address_map::NodeAddressMap;
use crate::credentials::{self, Access, Tls};
use crate::permission_gate::{GateDecision, StatementGate};
use crate::statement_change;
use anyhow::{Context, Result, anyhow, bail};
use cql::frame::{self, Header};
use cql::request::QueryParams;
use cql::response::{ErrorCode, PreparedStatement, Response, ResultBody, Rows};
use cql::tokens::CqlMistake;
use cql::value::Value;
use cql::{Consistency, Handshake, HandshakeError, SegmentReader, Version};
use measure::clock::{self, Deadline};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;
use target_spec::Object;

/// Connecting in a laboratory network takes less than a second.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Time limit of a control statement. A schema change on a busy laptop takes seconds.
pub const CONTROL_TIMEOUT: Duration = Duration::from_secs(30);

/// Number of rows per page. One page suffices for a virtual table.
const PAGE_ROWS: i32 = 5000;

/// Maximum size of a response, in bytes. A page can contain rows of 13 kB each.
const ANSWER_BYTES_MAX: u32 = 64 << 20;

/// Time limit of schema agreement. Drivers wait for 10 s, which is too short on a busy laptop.
const SCHEMA_AGREEMENT_LIMIT: Duration = Duration::from_secs(30);

const SCHEMA_POLL: Duration = Duration::from_millis(50);

const SECTION: &str = "target.attach";

/// Replaces the statement in the messages of errors before the first statement.
const HANDSHAKE: &str = "the CQL handshake";

const STATEMENT_CHARS_SHOWN: usize = 200;

/// Rows of all pages of a statement's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryResult {
    pub columns: Vec<String>,
    /// Rows. The cells of a row are in the order of the columns.
    pub rows: Vec<Vec<Value>>,
}

impl QueryResult {
    /// # Errors
    /// The result lacks this column. The message lists the columns of the result.
    pub fn column(&self, name: &str) -> Result<usize> {
        let index = self.columns.iter().position(|column| column == name);
        index.with_context(|| {
            format!(
                "the server's answer does not contain the column {name}, but only {}",
                self.columns.join(", ")
            )
        })
    }

    /// Parses the result of a `DESCRIBE` statement.
    ///
    /// # Errors
    /// The result lacks a column of `DESCRIBE` results.
    pub fn described(&self) -> Result<Vec<DescribedRow<'_>>> {
        let columns = [
            self.column("type")?,
            self.column("name")?,
            self.column("create_statement")?,
        ];
        let rows = self.rows.iter().map(|row| {
            let text = |index: usize| row.get(index).and_then(Value::as_str).unwrap_or_default();
            let [kind, name, statements] = columns.map(text);
            DescribedRow {
                kind,
                name,
                statements: defining(statements),
            }
        });
        Ok(rows.collect())
    }
}

/// Schema element in the result of a `DESCRIBE` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedRow<'r> {
    /// Type, such as `table`, `type` or `index`.
    pub kind: &'r str,
    /// Name, quoted if necessary.
    pub name: &'r str,
    /// Statements that define the element, without `;`. With `WITH INTERNALS`, a table with dropped
    /// columns has several statements.
    pub statements: Vec<&'r str>,
}

impl DescribedRow<'_> {
    /// Returns the statement that creates the element, or an empty text if this statement is
    /// missing.
    pub fn create(&self) -> &str {
        self.statements.first().copied().unwrap_or_default()
    }
}

fn defining(text: &str) -> Vec<&str> {
    let all = cql::tokens::definitions(text).unwrap_or_else(|_| vec![(0, text.trim())]);
    all.into_iter().map(|(_, statement)| statement).collect()
}

/// Error of a session without credentials on a node that requires authentication.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{node} requires a user and password ({class}), but the study has none\nhint: write `user: \
     NAME` and `password: {{secret: db}}` below `target.attach`, and add --secret db=file:PATH"
)]
pub struct NoPassword {
    node: SocketAddr,
    /// Class name of the node's authenticator.
    class: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{node} answered {code}: {message} (statement: {statement})")]
pub struct ServerError {
    pub node: SocketAddr,
    pub code: ErrorCode,
    pub message: String,
    /// Statement, possibly shortened.
    pub statement: String,
}

impl ServerError {
    pub fn says_that_it_exists(&self) -> bool {
        match self.code {
            ErrorCode::AlreadyExists => true,
            // The server has no separate code for an existing type.
            ErrorCode::Invalid => self.message.ends_with("already exists"),
            _ => false,
        }
    }

    /// Returns true if the server rejected a valid statement because a table or column is missing.
    fn says_that_it_is_absent(&self) -> bool {
        self.code == ErrorCode::Invalid
    }

    /// Returns true if a retry is useless, because the object does not exist or the node hides the
    /// object from this user. In contrast, an overloaded node refuses requests temporarily.
    fn is_lasting(&self) -> bool {
        let is_hidden = matches!(self.code, ErrorCode::Unauthorized | ErrorCode::SyntaxError);
        is_hidden || self.says_that_it_is_absent()
    }
}

/// Statement that a probe repeats until the node refuses the statement permanently. A refusal is
/// permanent if the node lacks the table or column, or hides it from this user.
pub struct RepeatedQuery {
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

    #[cfg(test)]
    pub fn cql(&self) -> &str {
        &self.cql
    }

    /// Runs the statement unless the node has permanently refused it. Returns `None` after a
    /// refusal. Stores the refusal in `refusal`, unless this Cassandra version simply lacks the
    /// table.
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

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the node closed the connection")]
struct ConnectionClosed;

/// Byte stream to a node, either plain or encrypted.
trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

pub struct Session {
    node: SocketAddr,
    stream: Box<dyn Stream>,
    /// Socket of `stream`, for setting timeouts.
    socket: TcpStream,
    timeout: Duration,
    broken: bool,
    door: Option<StatementGate>,
    moves: NodeAddressMap,
    /// Keyspace to which unqualified names refer.
    used: Option<String>,
    version: Version,
    request: Vec<u8>,
    /// Request in segments, for protocol versions with segments.
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
    /// Connects, performs the TLS and CQL handshakes, and authenticates. Each request of the
    /// session takes at most `timeout`.
    ///
    /// # Errors
    /// The node is not reachable, its certificate is not trusted, credentials are missing or wrong,
    /// or the node and cassay have no common protocol version. The messages never contain the
    /// password.
    pub fn open(node: SocketAddr, access: &Access, timeout: Duration) -> Result<Session> {
        Session::open_named(node, None, access, timeout)
    }

    /// Connects like [`Session::open`]. The certificate may contain the host name `host` instead of
    /// the address.
    ///
    /// # Errors
    /// The errors of [`Session::open`].
    pub fn open_named(
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
            Err(HandshakeError::NoCredentials { class }) => bail!(NoPassword { node, class }),
            Err(why) => bail!("{node} refuses the connection: {why}"),
        }
    }

    /// Connects and performs the handshakes in the first protocol version that the node accepts.
    /// The inner error is a rejection for another reason than the version.
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
            "{node} supports none of the versions of the native protocol that cassay supports:\n  \
             {}\nhint: Cassandra 2.1 and later support at least one of these versions, so check \
             the port and the server",
            refusals.join("\n  ")
        )
    }

    /// Returns the class name of the node's authenticator, or `None` if the node requires no
    /// authentication.
    ///
    /// # Errors
    /// The node is not reachable, or the node and cassay have no protocol version in common.
    pub fn authenticator(node: SocketAddr, timeout: Duration) -> Result<Option<String>> {
        let nobody = Access::default();
        match Session::enter(node, None, &nobody, timeout)?.1 {
            Ok(()) => Ok(None),
            Err(HandshakeError::NoCredentials { class }) => Ok(Some(class)),
            Err(why) => bail!("{node} refuses the connection: {why}"),
        }
    }

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

    pub fn moves(&self) -> &NodeAddressMap {
        &self.moves
    }

    /// Returns the first address of the node that currently reports the address `now`.
    pub fn first_address(&self, now: SocketAddr) -> SocketAddr {
        self.moves.first_address(now)
    }

    /// Returns the first address of the session's node.
    pub fn node(&self) -> SocketAddr {
        self.node
    }

    /// # Errors
    /// The socket is closed.
    pub fn local_address(&self) -> Result<SocketAddr> {
        let own = self.socket.local_addr();
        own.with_context(|| format!("get the local address of the connection to {}", self.node))
    }

    /// Runs one statement at LOCAL_ONE, and reads all pages of its result.
    ///
    /// # Errors
    /// [`ServerError`] if the server refuses the statement. After any other error, the connection
    /// has failed, and so do all later calls.
    pub fn query(&mut self, cql: &str) -> Result<QueryResult> {
        self.query_at(cql, Consistency::LocalOne)
    }

    /// Runs a statement like [`Session::query`]. Returns `None` if the server refuses the
    /// statement, for example because the table does not exist or is hidden from this user.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn query_if_shown(&mut self, cql: &str) -> Result<Option<QueryResult>> {
        match self.query(cql) {
            Err(error) if error.downcast_ref::<ServerError>().is_some() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Runs a statement on a user's table at ONE, because Accord tables (6.0) refuse LOCAL_ONE.
    ///
    /// # Errors
    /// The errors of [`Session::query`].
    pub fn query_rows(&mut self, cql: &str) -> Result<QueryResult> {
        self.query_at(cql, Consistency::One)
    }

    /// # Errors
    /// The errors of [`Session::query`].
    pub fn query_at(&mut self, cql: &str, consistency: Consistency) -> Result<QueryResult> {
        self.ask(cql, cql, consistency)
    }

    /// Runs a statement that contains a secret. Errors contain `shown` instead of the statement.
    ///
    /// # Errors
    /// The errors of [`Session::query`].
    pub fn query_secret(&mut self, cql: &str, shown: &str) -> Result<QueryResult> {
        let answer = self.ask(cql, shown, Consistency::LocalOne);
        self.request.fill(0);
        self.wrapped.fill(0);
        answer
    }

    /// Checks a statement without sending it. Returns true if the session would send it. Later
    /// checks assume that the objects of the statement exist, so that a separate session can
    /// rehearse a whole run.
    ///
    /// # Errors
    /// The check refuses the statement. The message contains the option that would permit it.
    pub fn rehearse(&mut self, cql: &str) -> Result<bool> {
        let Some(door) = self.door.clone() else {
            return Ok(true);
        };
        let way = door.pass(self, cql)?;
        if way == GateDecision::Send {
            self.take_note(&door, cql);
        }
        Ok(way == GateDecision::Send)
    }

    /// Makes later checks assume that the objects of a refused statement exist. Otherwise the
    /// rehearsal would report errors that only follow from the refusal.
    pub fn suppose(&mut self, cql: &str) {
        if let Some(door) = self.door.clone() {
            self.take_note(&door, cql);
        }
    }

    /// Returns the keyspace of unqualified names, if the session has selected one.
    pub fn used(&self) -> Option<&str> {
        self.used.as_deref()
    }

    /// Reports an executed statement to the permission check. Returns the tables that the statement
    /// created.
    fn take_note(&mut self, door: &StatementGate, cql: &str) -> Vec<Object> {
        self.used = statement_change::used(cql).or(self.used.take());
        door.passed(cql, self.used())
    }

    /// Checks that this session or the load may send a statement.
    ///
    /// # Errors
    /// The statement is not permitted. The message contains the option that would permit it.
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
        if door.pass(self, cql)? == GateDecision::Skip {
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
                bail!(
                    "{node} answered a query with an unexpected message: {}",
                    name_of(&header)
                );
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

    /// Prepares a statement. Returns its bind markers and result columns.
    ///
    /// # Errors
    /// The errors of [`Session::query`].
    pub fn prepare(&mut self, cql: &str) -> Result<PreparedStatement> {
        self.request.clear();
        cql::request::prepare(&mut self.request, self.version, 0, cql)
            .map_err(|fault| unreadable(&fault, cql, cql))?;
        let header = self.exchange(cql)?;
        match parse(&header, &self.body, self.node, cql)? {
            Response::Result(ResultBody::Prepared(prepared)) => Ok(prepared),
            _ => bail!(
                "{} answered PREPARE with an unexpected message: {}",
                self.node,
                name_of(&header)
            ),
        }
    }

    /// Runs a statement that changes the schema, then waits for schema agreement.
    ///
    /// # Errors
    /// The errors of [`Session::query`], or the nodes still disagree after 30 s.
    pub fn execute_schema(&mut self, cql: &str) -> Result<()> {
        if let Err(error) = self.query(cql) {
            return Err(self.with_datacenters(error));
        }
        self.wait_for_schema_agreement(SCHEMA_AGREEMENT_LIMIT)
            .with_context(|| format!("wait for the schema after {}", shorten(cql)))
    }

    /// Adds the existing data centers to an error about an unknown data center in a replication.
    /// Users often confuse `dc1` of managed nodes with Cassandra's default `datacenter1`.
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
            "{error:#}\nhint: the data centers of the cluster are {}: use these names in \
             `keyspace.replication`",
            all.join(", ")
        )
    }

    /// Runs a statement like [`Session::execute_schema`], but accepts an existing object.
    ///
    /// # Errors
    /// The errors of [`Session::execute_schema`].
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

    /// Waits until the queried node and all its peers have the same schema version. A `limit` of
    /// zero means a single check.
    ///
    /// # Errors
    /// The versions still differ. The message lists the versions.
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
                    "the nodes have different schema versions: {}",
                    versions.join(", ")
                );
            }
            clock::sleep(SCHEMA_POLL);
        }
    }

    /// Reads a table with the two columns name and value into a map.
    ///
    /// # Errors
    /// The errors of [`Session::query`].
    pub fn pairs(&mut self, cql: &str) -> Result<BTreeMap<String, String>> {
        let result = self.query(cql)?;
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            other => other.as_str().map_or_else(|| other.to_string(), str::to_string),
        };
        let pair = |row: &Vec<Value>| Some((text(row.first()?), text(row.get(1)?)));
        Ok(result.rows.iter().filter_map(pair).collect())
    }

    /// Performs the CQL handshake. The inner error is the node's rejection.
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
        // A node that refuses the version answers in another version.
        let mut version = None;
        loop {
            let answer = self
                .exchange_in(version, HANDSHAKE)
                .map_err(|error| with_what_may_help(error, access.tls.as_ref()));
            // The request may contain the password.
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

    /// Sends `self.request`, and receives the response into `self.body`. Skips events, which could
    /// arrive even without a registration.
    fn exchange(&mut self, what: &str) -> Result<Header> {
        self.exchange_in(Some(self.version), what)
    }

    /// Performs an exchange. Accepts only a response in `version`, or in any version for `None`.
    fn exchange_in(&mut self, version: Option<Version>, what: &str) -> Result<Header> {
        if self.broken {
            bail!(
                "the session with {} has already failed, so it sends no more requests",
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
        socket.set_write_timeout(Some(left)).context("set a timeout")?;
        stream
            .write_all(request)
            .and_then(|()| stream.flush())
            .map_err(|error| credentials::explained(error, SECTION))
            .context("send a request")?;
        let mut fill = |room: &mut [u8]| receive(stream, socket, room, deadline);
        let fill = |room: &mut [u8]| match &mut segments {
            None => fill(room),
            Some(reader) => reader.fill(room, &mut fill, anyhow::Error::from),
        };
        frame::receive(version, body, ANSWER_BYTES_MAX, fill, anyhow::Error::from)
    }
}

/// Adds a hint about TLS if the node closed the connection during the CQL handshake.
fn with_what_may_help(error: anyhow::Error, tls: Option<&Tls>) -> anyhow::Error {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let kind = error.downcast_ref().map(std::io::Error::kind);
    let has_hung_up = error.is::<ConnectionClosed>()
        || matches!(
            kind,
            Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        );
    match tls {
        None if error.is::<ConnectionClosed>() => {
            anyhow!("{error:#}\nhint: if the server requires TLS, add `tls: {{}}` to `{SECTION}`")
        }
        // A broken connection can lose the error message of the node.
        Some(tls) if has_hung_up && tls.material.identity.is_none() => anyhow!(
            "{error:#}\nhint: if the server requires client certificates, set the PEM files of a \
             certificate and its private key in `{SECTION}`, as `tls: {{cert: FILE, key: FILE}}`"
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
            bail!("the node did not answer before the timeout");
        }
        let left = deadline.left().max(Duration::from_millis(1));
        socket.set_read_timeout(Some(left)).context("set a timeout")?;
        match stream.read(buffer) {
            Ok(0) => return Err(ConnectionClosed.into()),
            Ok(count) => buffer = &mut buffer[count..],
            Err(error) if matches!(error.kind(), Interrupted | TimedOut | WouldBlock) => {}
            Err(error) => {
                return Err(credentials::explained(error, SECTION)).context("receive an answer");
            }
        }
    }
    Ok(())
}

/// Prepares TLS. The handshake happens at the first write.
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
    // A server without TLS must not block the handshake forever.
    socket.set_read_timeout(Some(CONNECT_LIMIT)).context("set a timeout")?;
    let connection = rustls::ClientConnection::new(tls.config.clone(), name)
        .with_context(|| format!("begin TLS with {node}"))?;
    Ok(rustls::StreamOwned::new(connection, socket))
}

/// Parses a response. An ERROR response becomes a [`ServerError`].
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
    format!(
        "the node sent an unexpected message (opcode {:#04x})",
        header.opcode
    )
}

fn unreadable(fault: &CqlMistake, cql: &str, shown: &str) -> anyhow::Error {
    let (at, shown) = (fault.describe(cql), shorten(shown));
    anyhow!("cassay cannot parse a statement as Cassandra would: {at} (statement: {shown})")
}

/// Shortens a statement to one line for an error message.
fn shorten(statement: &str) -> String {
    let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= STATEMENT_CHARS_SHOWN {
        return line;
    }
    line.chars().take(STATEMENT_CHARS_SHOWN).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
