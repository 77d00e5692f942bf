//! Decides who may read.
//!
//! A server on a loopback address needs no token. But a web page that a user visits can reach
//! loopback addresses too, if its name suddenly resolves to such an address (DNS rebinding). The
//! browser then still sends the name of the page in `Host`, so the server accepts only names of
//! this machine. A server with a token compares the token, in a time that does not depend on its
//! content.

use crate::http::Request;
use anyhow::{Context, Result};
use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};
use subtle::ConstantTimeEq;

/// Number of random bytes of a token. 24 bytes cannot be guessed.
const TOKEN_BYTES: usize = 24;
/// Name of the parameter of an address that contains the token.
pub(crate) const TOKEN_PARAMETER: &str = "token";

/// Returns a new random token.
///
/// # Errors
/// The system has no random numbers.
pub fn new_token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).context("create a random token")?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

/// Rules of a server about its readers.
pub(crate) struct Access {
    /// Digest of the token. Digests have equal lengths, so their comparison does not show the
    /// length of the token.
    token: Option<[u8; 32]>,
    /// Name of the cookie with the token. A browser sends cookies to all ports of a host, so the
    /// name contains the port.
    cookie: String,
    is_loopback: bool,
}

/// Decision about a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    Allowed,
    /// The address contains the token. The browser should keep the token as this cookie, and load
    /// the address without the token.
    KeepToken(String),
    /// The request lacks the token, or has a wrong one.
    Unknown,
    /// The request names a host that is not this machine.
    OtherHost,
}

impl Access {
    pub(crate) fn new(token: Option<&str>, address: SocketAddr) -> Access {
        Access {
            token: token.map(digest),
            cookie: format!("cassay-{}", address.port()),
            is_loopback: address.ip().is_loopback(),
        }
    }

    pub(crate) fn decide(&self, request: &Request) -> Decision {
        let Some(token) = &self.token else {
            let is_ours = !self.is_loopback || request.host.as_deref().is_some_and(is_this_machine);
            return if is_ours {
                Decision::Allowed
            } else {
                Decision::OtherHost
            };
        };
        let is_right = |text: &str| bool::from(digest(text).ct_eq(token));
        if let Some(text) = request.parameter(TOKEN_PARAMETER) {
            return if is_right(text) {
                Decision::KeepToken(format!(
                    "{}={text}; Path=/; HttpOnly; SameSite=Strict",
                    self.cookie
                ))
            } else {
                Decision::Unknown
            };
        }
        let bearer = request.authorization.as_deref().and_then(bearer_of);
        let cookie = request.cookies.iter().filter(|(name, _)| *name == self.cookie);
        let mut texts = bearer.into_iter().chain(cookie.map(|(_, value)| value.as_str()));
        if texts.any(is_right) {
            Decision::Allowed
        } else {
            Decision::Unknown
        }
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

fn bearer_of(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns true if the value of `Host` names this machine by a loopback address.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_address = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http;

    fn request(target: &str, headers: &str) -> Request {
        let text = format!("GET {target} HTTP/1.1\r\n{headers}\r\n\r\n");
        http::parse(text.as_bytes()).unwrap().expect("the request is complete")
    }

    fn at(address: &str, token: Option<&str>) -> Access {
        Access::new(token, address.parse().unwrap())
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_accepted() {
        let access = at("127.0.0.1:7070", None);
        for (host, expected) in [
            ("localhost:7070", Decision::Allowed),
            ("LOCALHOST", Decision::Allowed),
            ("127.0.0.1:7070", Decision::Allowed),
            ("[::1]:7070", Decision::Allowed),
            ("evil.example:7070", Decision::OtherHost),
            ("127.0.0.1.evil.example", Decision::OtherHost),
            ("10.0.0.1", Decision::OtherHost),
            ("", Decision::OtherHost),
        ] {
            let seen = access.decide(&request("/", &format!("Host: {host}")));
            assert_eq!(seen, expected, "{host}");
        }
        assert_eq!(
            access.decide(&request("/", "Accept: */*")),
            Decision::OtherHost
        );
    }

    #[test]
    fn a_token_is_needed_and_comes_in_three_ways() {
        let access = at("10.0.0.1:7070", Some("right"));
        let decide = |target: &str, headers: &str| access.decide(&request(target, headers));
        assert_eq!(decide("/", "Host: a"), Decision::Unknown);
        assert_eq!(decide("/?token=wrong", "Host: a"), Decision::Unknown);
        assert_eq!(decide("/", "Cookie: cassay-7070=wrong"), Decision::Unknown);
        assert_eq!(decide("/", "Authorization: Basic right"), Decision::Unknown);
        assert_eq!(
            decide("/", "Cookie: a=b; cassay-7070=right"),
            Decision::Allowed
        );
        assert_eq!(
            decide("/", "Authorization: Bearer right"),
            Decision::Allowed
        );
        let Decision::KeepToken(cookie) = decide("/?token=right", "Host: a") else {
            panic!("the token is kept");
        };
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    }

    #[test]
    fn two_tokens_differ_and_fit_into_an_address() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_ne!(one, other);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        assert!(one.len() == 32 && one.chars().all(is_plain), "{one}");
    }
}
