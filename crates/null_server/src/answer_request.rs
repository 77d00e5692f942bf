//! Answers requests. A prepared statement with a ready-made answer takes the fast path. All other
//! requests take the slow path.
//!
//! Each event loop has an [`Engine`], and each connection has a [`Peer`]. The module `operations`
//! implements the effects of statements. The answer to bytes that are not CQL is a PROTOCOL_ERROR,
//! after which the connection ends. Valid CQL that cannot be executed gets the same error as in
//! Cassandra.

use super::catalog::{ID_BYTES, Shared};
use super::errors::{append_refusal, refuse};
use super::prepared::{Effect, PreparedTable};
use super::refused_operations::Refusals;
use super::{NullCounts, OPCODES_COUNT};
use cql::Compression;
use cql::frame::{Header, flag, opcode};
use cql::reply;
use cql::request::{self, Request};
use cql::response::{ErrorCode, ErrorDetail};
use std::sync::Arc;
use target_spec::{NullSpec, Reads};

/// Class name of the authenticator in an answer. From this name, drivers recognize that a password
/// is required.
const AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";
/// Maximum size of a decompressed body, in bytes. The limit is the same as for an uncompressed
/// frame.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Offset of the parameters' flags in the body of an EXECUTE. The id of the statement and the
/// consistency come before the flags.
const EXECUTE_FLAGS_OFFSET: usize = 2 + ID_BYTES + 2;
/// Flag with which a client requests rows without a description of their columns.
const SKIP_METADATA: u8 = 0x02;

/// State that a server keeps for a connection.
#[derive(Debug, Default)]
pub struct Peer {
    phase: Phase,
    /// The keyspace in use. The text is empty if no keyspace is in use.
    pub(super) keyspace: String,
    /// Compression that the client has requested.
    compression: Option<Compression>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// The client has not sent STARTUP yet.
    #[default]
    New,
    /// The client has not sent credentials yet.
    Authenticating,
    /// The server answers requests.
    Ready,
}

/// Decision about a connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request was answered, and the connection continues.
    Answered,
    /// The client gets an error, after which the connection ends.
    Refused,
}

/// Answers the requests of one event loop.
#[derive(Debug)]
pub struct Engine {
    pub counts: NullCounts,
    pub(super) shared: Arc<Shared>,
    pub(super) reads: Reads,
    token: Option<Vec<u8>>,
    pub(super) refusals: Refusals,
    /// Effects of prepared statements, by their ids.
    pub(super) table: PreparedTable,
    /// Effects of unprepared texts. The key is a hash of the text and the keyspace in use.
    pub(super) texts: PreparedTable,
    /// Number of schema changes at the last [`Engine::refresh`].
    changes: u64,
    /// Buffer for decompressed bodies.
    body: Vec<u8>,
    /// Buffer for compressing answers.
    compressed: Vec<u8>,
}

impl Engine {
    /// Returns an engine for `spec`. The caller must have checked the values of `spec`.
    ///
    /// # Errors
    /// The shares of the configured errors are invalid.
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

    /// Drops all ready-made answers if the schema has changed. The event loop calls this function
    /// once per batch of requests.
    pub fn refresh(&mut self) {
        let changes = self.shared.changes();
        if changes != self.changes {
            self.changes = changes;
            self.table.clear();
            self.texts.clear();
        }
    }

    /// Appends the answer to a request to `out`.
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

    /// Answers an EXECUTE by the fast path if `table` contains a ready-made answer for its
    /// statement. Otherwise returns false and does nothing.
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
        // The answer to STARTUP itself is not compressed.
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
            let why = "a compressed frame arrived on a connection that did not request compression";
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
                    let why = "the null target does not know this user or password";
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
                    Phase::Ready => "the connection has already started",
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
            Some(name) => match Compression::parse(name) {
                None => {
                    return refuse(out, stream, "the supported compressions are lz4 and snappy");
                }
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
