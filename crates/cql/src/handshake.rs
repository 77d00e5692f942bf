//! How a connection begins: STARTUP, then a user and a password if the node wants them. Sans-I/O:
//! whoever owns the socket sends what is in the buffer and hands over what is answered.
//!
//! Only the mechanism SASL PLAIN is spoken, which says everything at once: a node that asks for
//! more is refused.

use crate::compression::Compression;
use crate::frame::Header;
use crate::request;
use crate::response::{self, ErrorCode, Response};
use crate::wire::ParseError;

/// A handshake under way.
#[derive(Debug)]
pub struct Handshake {
    /// What the node is being told.
    telling: &'static str,
}

/// Why a connection does not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The node asks who is there, and nobody was named.
    #[error("it wants a user and password ({class}), and none are given")]
    NoCredentials {
        /// Class name of the node's authenticator.
        class: String,
    },
    /// The node says no.
    #[error("{telling} was refused: {code}: {message}")]
    Refused {
        /// What it was told.
        telling: &'static str,
        /// Why it refuses.
        code: ErrorCode,
        /// In its words.
        message: String,
    },
    /// An answer that does not belong here.
    #[error("{telling} was answered with opcode {opcode:#04x}; only SASL PLAIN is spoken here")]
    Unexpected {
        /// What it was told.
        telling: &'static str,
        /// The answer's.
        opcode: u8,
    },
    /// An answer that cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl Handshake {
    /// Appends the first request.
    pub fn begin(out: &mut Vec<u8>, compression: Option<Compression>) -> Handshake {
        request::startup(out, 0, compression);
        let telling = "STARTUP";
        Handshake { telling }
    }

    /// Takes an answer, whose body is not compressed: whether the connection is open now. If not,
    /// the next request has been appended, which carries the password.
    ///
    /// # Errors
    /// The connection is of no use; the password is in no message.
    pub fn answered(
        &mut self,
        (header, body): (&Header, &[u8]),
        credentials: Option<(&str, &str)>,
        out: &mut Vec<u8>,
    ) -> Result<bool, HandshakeError> {
        let (telling, password) = (self.telling, "the password");
        let class = match response::parse(header, body)? {
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
        request::auth_response(out, 0, &request::sasl_plain(user, secret));
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::HEADER_BYTES;
    use crate::reply;

    /// What the frame leads to, with the next request.
    fn answered(
        handshake: &mut Handshake,
        credentials: Option<(&str, &str)>,
        frame: impl FnOnce(&mut Vec<u8>),
    ) -> (Result<bool, HandshakeError>, Vec<u8>) {
        let (mut bytes, mut out) = (Vec::new(), Vec::new());
        frame(&mut bytes);
        let header = Header::parse_response(&bytes).unwrap().unwrap();
        let answer = (&header, &bytes[HEADER_BYTES..]);
        (handshake.answered(answer, credentials, &mut out), out)
    }

    #[test]
    fn a_password_is_told_once_and_only_to_who_asks() {
        let who = Some(("ada", "secret"));
        let asks = |out: &mut Vec<u8>| reply::authenticate(out, 0, "a.Authenticator");
        let begin = || Handshake::begin(&mut Vec::new(), None);
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
            said.contains("wants a user and password (a.Authenticator)"),
            "{said}"
        );
        assert_eq!(next, Vec::<u8>::new());
    }
}
