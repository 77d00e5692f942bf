//! Contact points: texts by which the user names a node of an attached cluster.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Default port for CQL clients.
pub const CQL_PORT: u16 = 9042;

/// The host and the CQL port of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactPoint {
    /// Name or IP address of the host, without brackets.
    pub host: String,
    /// CQL port of the node.
    pub port: u16,
}

impl FromStr for ContactPoint {
    type Err = &'static str;

    /// Parses `host`, `host:port`, `[v6]`, `[v6]:port` or a bare v6 address.
    ///
    /// # Errors
    /// The error continues a sentence that begins with "the contact point". It does not contain the
    /// text, because an invalid text may contain a password.
    fn from_str(text: &str) -> Result<ContactPoint, &'static str> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or("has no closing bracket")?;
            let port = match rest.strip_prefix(':') {
                Some(digits) => port_of(digits)?,
                None if rest.is_empty() => CQL_PORT,
                None => return Err("has text after its bracket"),
            };
            (checked_v6(host)?, port)
        } else {
            match text.split_once(':') {
                // A text with several colons and no brackets is an IPv6 address without a port.
                Some((_, rest)) if rest.contains(':') => (checked_v6(text)?, CQL_PORT),
                Some((host, digits)) => (checked_host(host)?, port_of(digits)?),
                None => (checked_host(text)?, CQL_PORT),
            }
        };
        Ok(ContactPoint {
            host: host.to_owned(),
            port,
        })
    }
}

fn port_of(digits: &str) -> Result<u16, &'static str> {
    match digits.parse() {
        Ok(port) if port != 0 => Ok(port),
        _ => Err("has no port from 1 to 65535 after its colon"),
    }
}

/// Checks an IPv6 address, which may end with a zone: `fe80::1%eth0`.
fn checked_v6(host: &str) -> Result<&str, &'static str> {
    let (address, zone) = host.split_once('%').unwrap_or((host, "0"));
    let is_v6 = address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty();
    is_v6.then_some(host).ok_or("is not an IPv6 address, such as [fd00::5]:9042")
}

fn checked_host(host: &str) -> Result<&str, &'static str> {
    if host.is_empty() {
        return Err("has no host");
    }
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if host.starts_with('-') || !host.chars().all(is_plain) {
        return Err("has a host with a character other than letters, digits, `-`, `_` and `.`");
    }
    // No host has a name of four numbers, so the text is an IPv4 address with a mistake.
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_v4 = host.split('.').count() == 4 && host.split('.').all(is_number);
    if is_v4 && host.parse::<Ipv4Addr>().is_err() {
        return Err("is not an IPv4 address: its four numbers must be from 0 to 255");
    }
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_points_of_all_kinds_are_read() {
        for (text, host, port) in [
            ("db1", "db1", 9042),
            ("db1:19042", "db1", 19_042),
            ("db_1.dc-1.example.org.", "db_1.dc-1.example.org.", 9042),
            ("10.0.0.1", "10.0.0.1", 9042),
            ("::1", "::1", 9042),
            ("[::1]:9043", "::1", 9043),
            ("[::1]", "::1", 9042),
            ("[fe80::1%eth0]:9042", "fe80::1%eth0", 9042),
        ] {
            let host = host.to_owned();
            assert_eq!(text.parse(), Ok(ContactPoint { host, port }), "{text}");
        }
    }

    #[test]
    fn a_contact_point_that_no_host_can_have_is_refused() {
        for (bad, why) in [
            ("", "no host"),
            (":9042", "no host"),
            ("db1:", "no port"),
            ("db1:0", "no port"),
            ("db1:70000", "no port"),
            ("127.0.0.1:99999", "no port"),
            ("db1:x", "no port"),
            ("user:hunter2@db1", "no port"),
            ("[::1", "no closing bracket"),
            ("[::1]x", "after its bracket"),
            ("[db1]:9042", "not an IPv6 address"),
            ("db1:9042:9043", "not an IPv6 address"),
            ("256.1.1.1:9042", "not an IPv4 address"),
            ("10.0.0.01", "not an IPv4 address"),
            ("db1,db2", "a character"),
            ("http://db1", "no port"),
            ("-h", "a character"),
        ] {
            let error = bad.parse::<ContactPoint>().expect_err(bad);
            assert!(error.contains(why), "{bad}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
