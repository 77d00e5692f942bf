//! Opens a connection with STARTUP, and then with a user and a password if the node requires them.
//! This module does no I/O: the owner of the socket sends the buffer and passes the answers to
//! [`Handshake`].
//!
//! The module supports only the mechanism SASL PLAIN, which sends the credentials in one message.
//! It fails if the node requests more messages.

use crate::compression::Compression;
use crate::frame::{Header, RESPONSE_BIT};
use crate::request;
use crate::response::{self, ErrorCode, Response};
use crate::segment::Segments;
use crate::version::Version;
use crate::wire::ParseError;

/// Name of the first message to a node.
const FIRST: &str = "STARTUP";

/// A handshake that has begun and has not ended yet.
#[derive(Debug)]
pub struct Handshake {
    version: Version,
    compression: Option<Compression>,
    /// Name of the message that the node must answer next.
    telling: &'static str,
}

/// Reasons why a connection cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The node requires credentials, but the user has not configured any.
    #[error("the node requires a user and password ({class}), but cassay has none")]
    NoCredentials {
        /// Class name of the node's authenticator.
        class: String,
    },
    /// The node does not support the protocol version, or refuses it.
    #[error("the node refuses native protocol {version}: {message}")]
    Version {
        /// The requested version.
        version: Version,
        /// The node's message.
        message: String,
    },
    /// The node requires version 5, which can compress segments only with LZ4, but another
    /// compression is configured.
    #[error(
        "the node requires native protocol {version}, which has no compression by {}; use lz4 or \
         none",
        .compression.name()
    )]
    NoCompression {
        /// Version of the native protocol.
        version: Version,
        /// The requested compression.
        compression: Compression,
    },
    /// The node refuses the request.
    #[error("the node refused {telling}: {code}: {message}")]
    Refused {
        /// Name of the message that the node refused.
        telling: &'static str,
        /// Error code of the response.
        code: ErrorCode,
        /// The node's message.
        message: String,
    },
    /// The node's answer does not fit the request.
    #[error(
        "the node answered {telling} with opcode {opcode:#04x}; the only authentication that \
         cassay supports is SASL PLAIN"
    )]
    Unexpected {
        /// Name of the message that the node answered.
        telling: &'static str,
        /// Opcode of the answer.
        opcode: u8,
    },
    /// The answer cannot be parsed.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl Handshake {
    /// Appends the first request of a handshake to `out`.
    ///
    /// # Errors
    /// The version does not support the compression.
    pub fn begin(
        out: &mut Vec<u8>,
        version: Version,
        compression: Option<Compression>,
    ) -> Result<Handshake, HandshakeError> {
        if let Some(compression @ Compression::Snappy) = compression
            && version.has_segments()
        {
            return Err(HandshakeError::NoCompression {
                version,
                compression,
            });
        }
        request::startup(out, version, 0, compression);
        Ok(Handshake {
            version,
            compression,
            telling: FIRST,
        })
    }

    /// Returns the format of the segments that wrap frames after the first answer. Returns `None`
    /// if the version does not wrap frames in segments.
    pub fn segments(&self) -> Option<Segments> {
        self.version.has_segments().then(|| Segments::new(self.compression))
    }

    /// Processes an answer, whose body must not be compressed. Returns true if the connection is
    /// now open. Otherwise the function has appended the next request, which contains the password.
    ///
    /// # Errors
    /// The node refuses the version, a request or the credentials, or requires credentials that are
    /// missing. The answer may also be unexpected, or impossible to parse. The connection is then
    /// unusable. No error message contains the password.
    pub fn answered(
        &mut self,
        (header, body): (&Header, &[u8]),
        credentials: Option<(&str, &str)>,
        out: &mut Vec<u8>,
    ) -> Result<bool, HandshakeError> {
        let (telling, password) = (self.telling, "the password");
        let response = response::parse(header, body)?;
        self.check_version(header, &response)?;
        let class = match response {
            Response::Ready | Response::AuthSuccess(_) => return Ok(true),
            Response::Authenticate { class } if telling != password => class,
            Response::Error(error) => {
                return Err(HandshakeError::Refused {
                    telling,
                    code: error.code,
                    message: error.message.to_owned(),
                });
            }
            _ => {
                let opcode = header.opcode;
                return Err(HandshakeError::Unexpected { telling, opcode });
            }
        };
        let Some((user, secret)) = credentials else {
            let class = class.to_owned();
            return Err(HandshakeError::NoCredentials { class });
        };
        self.telling = password;
        request::auth_response(out, self.version, 0, &request::sasl_plain(user, secret));
        Ok(false)
    }

    /// Checks the version of an answer. Fails if the answer has another version, or is an error
    /// about the version.
    fn check_version(
        &self,
        header: &Header,
        response: &Response<'_>,
    ) -> Result<(), HandshakeError> {
        let version = self.version;
        let answered = header.version & !RESPONSE_BIT;
        let message = match response {
            Response::Error(error)
                if error.code == ErrorCode::ProtocolError
                    && self.telling == FIRST
                    && error.message.to_lowercase().contains("version") =>
            {
                error.message.to_owned()
            }
            // A server may send other errors in a version that it supports instead of the requested
            // version.
            Response::Error(_) => return Ok(()),
            _ if answered != version.number() => format!("the node answered in version {answered}"),
            _ => return Ok(()),
        };
        Err(HandshakeError::Version { version, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::HEADER_BYTES;
    use crate::reply;

    fn begun(version: Version) -> Handshake {
        Handshake::begin(&mut Vec::new(), version, None).expect("no compression is refused")
    }

    /// Processes the answer in a frame. Returns the result and the next request.
    fn answered(
        handshake: &mut Handshake,
        credentials: Option<(&str, &str)>,
        frame: impl FnOnce(&mut Vec<u8>),
    ) -> (Result<bool, HandshakeError>, Vec<u8>) {
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        frame(&mut bytes);
        let header = Header::parse_first_response(&bytes).unwrap().unwrap();
        let answer = (&header, &bytes[HEADER_BYTES..]);
        (handshake.answered(answer, credentials, &mut out), out)
    }

    #[test]
    fn a_password_is_told_once_and_only_to_who_asks() {
        let who = Some(("ada", "secret"));
        let asks = |out: &mut Vec<u8>| reply::authenticate(out, 0, "a.Authenticator");
        let begin = || begun(Version::V4);
        let (open, next) = answered(&mut begin(), who, |out| reply::ready(out, 0));
        assert_eq!((open, next), (Ok(true), Vec::new()));

        let mut handshake = begin();
        let (open, next) = answered(&mut handshake, who, asks);
        assert_eq!(open, Ok(false));
        assert!(next.ends_with(b"\0ada\0secret"));
        let (again, next) = answered(&mut handshake, who, asks);
        assert!(matches!(again, Err(HandshakeError::Unexpected { .. })));
        assert_eq!(next, Vec::<u8>::new());
        let right = |out: &mut Vec<u8>| reply::auth_success(out, 0);
        assert_eq!(answered(&mut handshake, who, right).0, Ok(true));

        let (nobody, next) = answered(&mut begin(), None, asks);
        let said = nobody.unwrap_err().to_string();
        assert!(
            said.contains("requires a user and password (a.Authenticator)"),
            "{said}"
        );
        assert_eq!(next, Vec::<u8>::new());
    }

    fn refuses(version: u8, code: ErrorCode, message: &str) -> impl FnOnce(&mut Vec<u8>) {
        move |out| {
            reply::error(out, 0, code, message, &response::ErrorDetail::None);
            out[0] = version | RESPONSE_BIT;
        }
    }

    /// These are answers with which other servers and other versions of Cassandra refuse a version,
    /// according to their sources. Each answer has a version that the server supports.
    #[test]
    fn a_version_that_is_refused_is_told_from_all_else_that_is() {
        for (asked, answers, message) in [
            (
                Version::V4,
                3,
                "Invalid or unsupported protocol version (4); the lowest supported version is 1 \
                 and the greatest is 3",
            ),
            (
                Version::V5,
                5,
                "Beta version of the protocol used (5/v5-beta), but USE_BETA flag is unset",
            ),
            (
                Version::V5,
                4,
                "Invalid or unsupported protocol version (5); supported versions are (3/v3, 4/v4, \
                 5/v5-beta)",
            ),
            (
                Version::V5,
                0x42,
                "Invalid or unsupported protocol version (5); supported versions are (3/v3, 4/v4, \
                 DSE_V1, DSE_V2)",
            ),
            (
                Version::V5,
                4,
                "Invalid or unsupported protocol version: 5; the lowest supported version is 3 and \
                 the greatest is 4",
            ),
            (Version::V4, 5, "Rejecting Protocol Version 4/v4 < 5/v5."),
        ] {
            let mut handshake = begun(asked);
            let refusal = refuses(answers, ErrorCode::ProtocolError, message);
            let refused = answered(&mut handshake, None, refusal).0.unwrap_err();
            let message = message.to_owned();
            let expected = HandshakeError::Version {
                version: asked,
                message,
            };
            assert_eq!(refused, expected);
        }
        let busy = refuses(4, ErrorCode::Overloaded, "no version of us has time");
        let refused = answered(&mut begun(Version::V4), None, busy).0.unwrap_err();
        assert!(
            matches!(refused, HandshakeError::Refused { .. }),
            "{refused}"
        );
    }

    #[test]
    fn an_answer_in_another_version_opens_nothing() {
        let ready = |out: &mut Vec<u8>| reply::ready(out, 0);
        assert_eq!(answered(&mut begun(Version::V4), None, ready).0, Ok(true));
        let refused = answered(&mut begun(Version::V5), None, ready).0.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the node refuses native protocol v5: the node answered in version 4"
        );
    }

    #[test]
    fn segments_come_with_version_five_and_have_no_snappy() {
        for version in [Version::V3, Version::V4] {
            assert_eq!(begun(version).segments(), None);
        }
        assert!(begun(Version::V5).segments().is_some());
        let snappy = Some(Compression::Snappy);
        assert!(Handshake::begin(&mut Vec::new(), Version::V4, snappy).is_ok());
        let refused = Handshake::begin(&mut Vec::new(), Version::V5, snappy).unwrap_err();
        assert!(
            refused.to_string().contains("no compression by snappy"),
            "{refused}"
        );
    }

    /// These are options that other servers offer, according to their documentation. None of the
    /// options changes the requests.
    #[test]
    fn options_that_others_offer_are_read_and_left_alone() {
        let shards: &[(&str, &[&str])] = &[
            ("SCYLLA_NR_SHARDS", &["12"]),
            (
                "SCYLLA_PARTITIONER",
                &["org.apache.cassandra.dht.Murmur3Partitioner"],
            ),
            ("SCYLLA_SHARD", &["3"]),
            ("SCYLLA_SHARDING_ALGORITHM", &["biased-token-round-robin"]),
            ("COMPRESSION", &["lz4", "snappy"]),
        ];
        let versions: &[(&str, &[&str])] = &[(
            "PROTOCOL_VERSIONS",
            &["3/v3", "4/v4", "5/v5-beta", "65/dse-v1", "66/dse-v2"],
        )];
        for offered in [shards, versions] {
            let mut bytes = Vec::new();
            reply::supported(&mut bytes, 0, offered);
            let header = Header::parse_first_response(&bytes).unwrap().unwrap();
            let read = response::parse(&header, &bytes[HEADER_BYTES..]).unwrap();
            let Response::Supported(read) = read else {
                panic!("{read:?}")
            };
            assert_eq!(read.len(), offered.len());
        }
    }
}
