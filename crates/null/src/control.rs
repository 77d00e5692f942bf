//! The answer to each request: the short way for prepared statements, the long way for the rest.
//!
//! One [`Engine`] per event loop, one [`Peer`] per connection; what a statement does is in
//! `operations`. Everything that is not CQL is
//! answered with a PROTOCOL_ERROR that ends the connection; everything that is but cannot be done
//! is answered with the error that Cassandra has for it.

use super::catalog::{ID_BYTES, Shared};
use super::errors::{append_refusal, refuse};
use super::prepared::{Effect, PreparedTable};
use super::refusals::Refusals;
use super::{NullCounts, OPCODES_COUNT};
use cql::Compression;
use cql::frame::{Header, flag, opcode};
use cql::reply;
use cql::request::{self, Request};
use cql::response::{ErrorCode, ErrorDetail};
use std::sync::Arc;
use target::{NullSpec, Reads};

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
    pub(super) keyspace: String,
    /// What it asked for.
    compression: Option<Compression>,
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
    pub(super) shared: Arc<Shared>,
    pub(super) reads: Reads,
    token: Option<Vec<u8>>,
    pub(super) refusals: Refusals,
    /// By the id of a prepared statement.
    pub(super) table: PreparedTable,
    /// By the hash of a text that was not prepared, and the keyspace that was in use.
    pub(super) texts: PreparedTable,
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
            texts: PreparedTable::new(),
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
            self.texts.clear();
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
            Effect::Write(ready, _) => (ready, &mut self.counts.writes),
            Effect::Read(ready) => (ready, &mut self.counts.reads),
            Effect::Conditional(ready) => (ready, &mut self.counts.reads),
            Effect::Pages(_) | Effect::System(_) | Effect::Schema => return false,
        };
        if !self.refusals.is_empty()
            && let Some(code) = self.refusals.next_code()
        {
            self.counts.refused += 1;
            append_refusal(out, stream, code, body);
            return true;
        }
        let flags = body.get(EXECUTE_FLAGS_OFFSET).copied().unwrap_or(0);
        ready.append(out, stream, flags & SKIP_METADATA != 0, peer.compression);
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
        let was_compressed = peer.compression.is_some();
        let verdict = match request::parse(header, body) {
            Ok(request) => self.answer_request(peer, header.stream, request, out),
            Err(error) => refuse(out, header.stream, &error.to_string()),
        };
        // The answer to STARTUP itself is not compressed yet.
        if let Some(compression) = peer.compression
            && was_compressed
        {
            compression.compress(out, start, &mut self.compressed);
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
        let Some(compression) = peer.compression else {
            let why = "a compressed frame came on a connection that did not ask for compression";
            return refuse(out, header.stream, why);
        };
        let mut plain = std::mem::take(&mut self.body);
        let verdict = match compression.decompress(body, &mut plain, BODY_BYTES_MAX) {
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
                    ("COMPRESSION", &["lz4", "snappy"]),
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
            (Phase::Ready, Request::Batch { statements, .. }) => {
                let statements = statements.iter().map(|(statement, _)| statement);
                self.batch(&peer.keyspace, stream, statements, out);
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
        match compression.map(|(_, value)| value.to_ascii_lowercase()).as_deref() {
            None | Some("") => {}
            Some(name) => match Compression::named(name) {
                None => return refuse(out, stream, "compressions spoken are lz4 and snappy"),
                spoken => peer.compression = spoken,
            },
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
}
