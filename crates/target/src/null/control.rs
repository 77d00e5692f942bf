//! The answer to each request: the short way for prepared statements, the long way for the rest.
//!
//! One [`Engine`] per event loop, one [`Peer`] per connection. Everything that is not CQL is
//! answered with a PROTOCOL_ERROR that ends the connection; everything that is but cannot be done
//! is answered with the error that Cassandra has for it.

use super::catalog::{ID_BYTES, Refusal, Shared, Text};
use super::compile::{Compiled, compile};
use super::errors::{append_refusal, invalid, refuse, syntax_error};
use super::prepared::{Effect, PreparedTable, Ready};
use super::refusals::Refusals;
use super::statement::{Select, Statement, parse};
use super::{NullCounts, NullSpec, OPCODES_COUNT, Reads, system};
use cql::compression::{compress_frame, decompress_body};
use cql::frame::{Header, flag, opcode};
use cql::reply;
use cql::request::{self, BoundValue, Parameters, Request};
use cql::response::{ColumnSpec, ErrorCode, ErrorDetail};
use std::sync::Arc;

/// What a server says that asks for a password; drivers know it by this name.
const AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";
/// The largest body after decompression: that of an uncompressed frame.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Offset of the parameters' flags in the body of an EXECUTE: after the id and the consistency.
const EXECUTE_FLAGS_OFFSET: usize = 2 + ID_BYTES + 2;
/// The flag that asks for rows without a description of their columns.
const SKIP_METADATA: u8 = 0x02;

/// What a server remembers of a connection.
#[derive(Debug, Default)]
pub struct Peer {
    phase: Phase,
    /// The keyspace in use; empty: none.
    keyspace: String,
    /// Whether it asked for LZ4.
    compressed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// STARTUP has not come.
    #[default]
    New,
    /// Credentials have not come.
    Authenticating,
    /// Requests are answered.
    Ready,
}

/// Whether a connection can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request was answered.
    Answered,
    /// The connection was told why it ends.
    Refused,
}

/// Answers the requests of one event loop.
#[derive(Debug)]
pub struct Engine {
    /// What it has seen.
    pub counts: NullCounts,
    shared: Arc<Shared>,
    reads: Reads,
    token: Option<Vec<u8>>,
    refusals: Refusals,
    table: PreparedTable,
    /// The changes of the schema that `table` was made after.
    changes: u64,
    /// Work space for decompressed bodies and for compressing answers.
    body: Vec<u8>,
    compressed: Vec<u8>,
}

impl Engine {
    /// For the checked values of `spec`.
    pub fn new(spec: &NullSpec, shared: Arc<Shared>) -> Result<Engine, String> {
        let token = |(user, password): &(String, String)| request::sasl_plain(user, password);
        Ok(Engine {
            counts: NullCounts::default(),
            shared,
            reads: spec.reads,
            token: spec.credentials.as_ref().map(token),
            refusals: Refusals::new(&spec.errors)?,
            table: PreparedTable::new(),
            changes: 0,
            body: Vec::new(),
            compressed: Vec::new(),
        })
    }

    /// Forgets ready-made answers if the schema has changed since they were made. Once per batch.
    pub fn refresh(&mut self) {
        let changes = self.shared.changes();
        if changes != self.changes {
            self.changes = changes;
            self.table.clear();
        }
    }

    /// Appends the answer to the request `header`, `body`.
    #[inline]
    pub fn answer(
        &mut self,
        peer: &mut Peer,
        header: &Header,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Verdict {
        self.counts.requests_by_opcode[usize::from(header.opcode) % OPCODES_COUNT] += 1;
        if header.opcode == opcode::EXECUTE
            && header.flags == 0
            && self.execute_ready(peer, header.stream, body, out)
        {
            return Verdict::Answered;
        }
        self.answer_any(peer, header, body, out)
    }

    /// The short way: the statement is known to this loop and its answer is ready-made. False: it
    /// is not, and nothing was done.
    #[inline]
    fn execute_ready(&mut self, peer: &Peer, stream: i16, body: &[u8], out: &mut Vec<u8>) -> bool {
        if peer.phase != Phase::Ready {
            return false;
        }
        let Some(effect) = request::execute_id(body).and_then(|id| self.table.find(id)) else {
            return false;
        };
        let (ready, count) = match effect {
            Effect::Write(ready) => (ready, &mut self.counts.writes),
            Effect::Read(ready) => (ready, &mut self.counts.reads),
            Effect::System(_) | Effect::Schema => return false,
        };
        if !self.refusals.is_empty()
            && let Some(code) = self.refusals.next_code()
        {
            self.counts.refused += 1;
            append_refusal(out, stream, code, body);
            return true;
        }
        let flags = body.get(EXECUTE_FLAGS_OFFSET).copied().unwrap_or(0);
        ready.append(out, stream, flags & SKIP_METADATA != 0, peer.compressed);
        *count += 1;
        true
    }

    /// The long way.
    fn answer_any(
        &mut self,
        peer: &mut Peer,
        header: &Header,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Verdict {
        if header.flags & flag::COMPRESSED != 0 {
            return self.answer_compressed(peer, header, body, out);
        }
        let start = out.len();
        let was_compressed = peer.compressed;
        let verdict = match request::parse(header, body) {
            Ok(request) => self.answer_request(peer, header.stream, request, out),
            Err(error) => refuse(out, header.stream, &error.to_string()),
        };
        // The answer to STARTUP itself is not compressed yet.
        if was_compressed && peer.compressed {
            compress_frame(out, start, &mut self.compressed);
        }
        verdict
    }

    fn answer_compressed(
        &mut self,
        peer: &mut Peer,
        header: &Header,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Verdict {
        if !peer.compressed {
            let why = "a compressed frame came on a connection that did not ask for compression";
            return refuse(out, header.stream, why);
        }
        let mut plain = std::mem::take(&mut self.body);
        let verdict = match decompress_body(body, &mut plain, BODY_BYTES_MAX) {
            Ok(()) => {
                let header = Header {
                    flags: header.flags & !flag::COMPRESSED,
                    ..*header
                };
                let is_execute = header.opcode == opcode::EXECUTE && header.flags == 0;
                if is_execute && self.execute_ready(peer, header.stream, &plain, out) {
                    Verdict::Answered
                } else {
                    self.answer_any(peer, &header, &plain, out)
                }
            }
            Err(error) => refuse(out, header.stream, &error.to_string()),
        };
        self.body = plain;
        verdict
    }

    fn answer_request(
        &mut self,
        peer: &mut Peer,
        stream: i16,
        request: Request<'_>,
        out: &mut Vec<u8>,
    ) -> Verdict {
        match (peer.phase, request) {
            (_, Request::Options) => {
                let options: [(&str, &[&str]); 3] = [
                    ("CQL_VERSION", &["3.4.7"]),
                    ("COMPRESSION", &["lz4"]),
                    ("PROTOCOL_VERSIONS", &["4/v4"]),
                ];
                reply::supported(out, stream, &options);
            }
            (Phase::New, Request::Startup { options }) => {
                return self.start(peer, stream, &options, out);
            }
            (Phase::Authenticating, Request::AuthResponse { token }) => {
                if token == self.token.as_deref() {
                    peer.phase = Phase::Ready;
                    reply::auth_success(out, stream);
                } else {
                    let why = "the user or the password is not the null target's";
                    let none = ErrorDetail::None;
                    reply::error(out, stream, ErrorCode::BadCredentials, why, &none);
                }
            }
            (Phase::Ready, Request::Register { .. }) => reply::ready(out, stream),
            (Phase::Ready, Request::Prepare { cql }) => self.prepare(peer, stream, cql, out),
            (Phase::Ready, Request::Execute { id, parameters }) => {
                self.execute(peer, stream, id, &parameters, out);
            }
            (Phase::Ready, Request::Query { cql, parameters }) => {
                let keyspace = peer.keyspace.clone();
                self.query(peer, stream, &keyspace, cql, &parameters, out);
            }
            (Phase::Ready, Request::Batch { .. }) => {
                self.operate(stream, out, true, |out| reply::void(out, stream));
            }
            (phase, _) => {
                let why = match phase {
                    Phase::New => "the first request must be OPTIONS or STARTUP",
                    Phase::Authenticating => "credentials must come before any other request",
                    Phase::Ready => "the connection has been started already",
                };
                return refuse(out, stream, why);
            }
        }
        Verdict::Answered
    }

    fn start(
        &mut self,
        peer: &mut Peer,
        stream: i16,
        options: &[(&str, &str)],
        out: &mut Vec<u8>,
    ) -> Verdict {
        let compression = options.iter().find(|(name, _)| *name == "COMPRESSION");
        match compression
            .map(|(_, value)| value.to_ascii_lowercase())
            .as_deref()
        {
            None | Some("") => {}
            Some("lz4") => peer.compressed = true,
            Some(_) => return refuse(out, stream, "the only compression that is spoken is lz4"),
        }
        if self.token.is_some() {
            peer.phase = Phase::Authenticating;
            reply::authenticate(out, stream, AUTHENTICATOR);
        } else {
            peer.phase = Phase::Ready;
            reply::ready(out, stream);
        }
        Verdict::Answered
    }

    fn prepare(&mut self, peer: &Peer, stream: i16, cql: &str, out: &mut Vec<u8>) {
        let Some(statement) = parse(cql) else {
            return syntax_error(out, stream);
        };
        let shared = Arc::clone(&self.shared);
        let mut catalog = shared.catalog();
        let text = Text {
            keyspace: peer.keyspace.clone(),
            cql: cql.to_owned(),
        };
        let Some(id) = catalog.prepare(text) else {
            let why = "the null target remembers no more statements; prepare each one only once";
            return reply::error(out, stream, ErrorCode::Overloaded, why, &ErrorDetail::None);
        };
        match compile(statement, id, &catalog, &peer.keyspace, self.reads) {
            Ok(Compiled { prepared, effect }) => {
                reply::prepared(out, stream, &prepared);
                self.table.insert(id, effect);
            }
            Err(why) => invalid(out, stream, &why),
        }
    }

    /// An EXECUTE whose answer is not ready-made: the loop has not seen the statement yet, or it
    /// has another answer every time.
    fn execute(
        &mut self,
        peer: &mut Peer,
        stream: i16,
        id: &[u8],
        parameters: &Parameters<'_>,
        out: &mut Vec<u8>,
    ) {
        let Some(text) = self.shared.catalog().prepared(id).cloned() else {
            let detail = ErrorDetail::Unprepared { id };
            let why = "the statement has not been prepared here";
            return reply::error(out, stream, ErrorCode::Unprepared, why, &detail);
        };
        if let (Ok(id), Some(statement)) = (id.try_into(), parse(&text.cql)) {
            let shared = Arc::clone(&self.shared);
            let catalog = shared.catalog();
            if let Ok(compiled) = compile(statement, id, &catalog, &text.keyspace, self.reads) {
                self.table.insert(id, compiled.effect);
            }
        }
        self.query(peer, stream, &text.keyspace, &text.cql, parameters, out);
    }

    /// Carries out `cql` as it stands on a connection that uses `in_use`.
    fn query(
        &mut self,
        peer: &mut Peer,
        stream: i16,
        in_use: &str,
        cql: &str,
        parameters: &Parameters<'_>,
        out: &mut Vec<u8>,
    ) {
        let Some(statement) = parse(cql) else {
            return syntax_error(out, stream);
        };
        match statement {
            Statement::Use(keyspace) => {
                reply::set_keyspace(out, stream, &keyspace);
                peer.keyspace = keyspace;
                return;
            }
            Statement::CreateKeyspace(_)
            | Statement::CreateTable(_)
            | Statement::DropKeyspace { .. }
            | Statement::DropTable { .. }
            | Statement::OtherSchema => return self.change_schema(stream, in_use, &statement, out),
            Statement::Select(_) | Statement::Write(_) | Statement::Other { .. } => {}
        }
        let shared = Arc::clone(&self.shared);
        let compiled = compile(
            statement,
            [0; ID_BYTES],
            &shared.catalog(),
            in_use,
            self.reads,
        );
        let skip = parameters.skip_metadata;
        let append = |out: &mut Vec<u8>, ready: &Ready| ready.append(out, stream, skip, false);
        match compiled.map(|compiled| compiled.effect) {
            Ok(Effect::Write(ready)) => {
                self.operate(stream, out, true, |out| append(out, &ready));
            }
            Ok(Effect::Read(ready)) => {
                self.operate(stream, out, false, |out| append(out, &ready));
            }
            Ok(Effect::System(select)) => read_system(&shared, stream, &select, parameters, out),
            Ok(Effect::Schema) => reply::void(out, stream),
            Err(why) => invalid(out, stream, &why),
        }
    }

    /// Counts an operation, and answers it unless it is one of those to refuse.
    fn operate(
        &mut self,
        stream: i16,
        out: &mut Vec<u8>,
        is_write: bool,
        append: impl FnOnce(&mut Vec<u8>),
    ) {
        if let Some(code) = self.refusals.next_code() {
            self.counts.refused += 1;
            return append_refusal(out, stream, code, &[]);
        }
        append(out);
        match is_write {
            true => self.counts.writes += 1,
            false => self.counts.reads += 1,
        }
    }

    fn change_schema(
        &mut self,
        stream: i16,
        in_use: &str,
        statement: &Statement,
        out: &mut Vec<u8>,
    ) {
        match self.shared.change(statement, in_use) {
            Ok(Some(change)) => reply::schema_change(out, stream, &change),
            Ok(None) => reply::void(out, stream),
            Err(Refusal::Exists { keyspace, table }) => {
                let why = match table.as_str() {
                    "" => format!("the keyspace '{keyspace}' exists already"),
                    table => format!("the table '{keyspace}.{table}' exists already"),
                };
                let detail = ErrorDetail::AlreadyExists {
                    keyspace: &keyspace,
                    table: &table,
                };
                reply::error(out, stream, ErrorCode::AlreadyExists, &why, &detail);
            }
            Err(Refusal::Invalid(why)) => invalid(out, stream, &why),
        }
        self.refresh();
    }
}

fn read_system(
    shared: &Shared,
    stream: i16,
    select: &Select,
    parameters: &Parameters<'_>,
    out: &mut Vec<u8>,
) {
    let bound: Vec<Option<&[u8]>> = parameters
        .values()
        .map(|value| match value {
            BoundValue::Bytes(bytes) => Some(bytes),
            BoundValue::Null | BoundValue::Unset => None,
        })
        .collect();
    let keyspace = select.table.keyspace.as_deref().unwrap_or("");
    let Some(result) = system::read(shared, select, keyspace, &bound) else {
        return invalid(
            out,
            stream,
            &system::no_such_table(keyspace, &select.table.table),
        );
    };
    let columns: Vec<ColumnSpec> = result
        .columns
        .into_iter()
        .map(|(name, typ)| ColumnSpec {
            keyspace: keyspace.to_owned(),
            table: select.table.table.clone(),
            name,
            typ,
        })
        .collect();
    reply::rows(
        out,
        stream,
        &columns,
        parameters.skip_metadata,
        None,
        &result.rows,
    );
}
