//! Contact points: addresses by which the user names an attached cluster.

use crate::address_map::CQL_PORT;
use anyhow::{Context, Result, bail};
use std::net::SocketAddr;

/// Parses the host and the port of a contact point. The forms are `host`, `host:port`, `[v6]`,
/// `[v6]:port` and a bare v6 address.
fn parse_contact_point(text: &str) -> Result<(String, u16)> {
    let port_of = |digits: &str| -> Result<u16> {
        match digits.parse() {
            Ok(port) if port != 0 => Ok(port),
            _ => bail!("the contact point {text:?} has no port from 1 to 65535 after its colon"),
        }
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest
            .split_once(']')
            .with_context(|| format!("the contact point {text:?} has no closing bracket"))?;
        let port = match rest.strip_prefix(':') {
            Some(digits) => port_of(digits)?,
            None if rest.is_empty() => CQL_PORT,
            None => bail!("the contact point {text:?} has text after its bracket"),
        };
        return Ok((host.to_string(), port));
    }
    let (host, port) = match text.split_once(':') {
        // A text with several colons and no brackets is an IPv6 address without a port.
        Some((_, rest)) if rest.contains(':') => (text, CQL_PORT),
        Some((host, digits)) => (host, port_of(digits)?),
        None => (text, CQL_PORT),
    };
    if host.is_empty() {
        bail!("the contact point {text:?} has no host");
    }
    Ok((host.to_string(), port))
}

/// Returns the host of a contact point, and the addresses of the host.
///
/// # Errors
/// The text is not a contact point, or its host has no address.
pub fn addresses_of(point: &str) -> Result<(String, Vec<SocketAddr>)> {
    let (host, port) = parse_contact_point(point)?;
    let addresses = host::host_names::addresses_of(&host, port)?;
    Ok((host, addresses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_points_of_all_kinds_are_read() {
        let read = |text: &str| parse_contact_point(text).map_err(|error| error.to_string());
        let is = |host: &str, port: u16| Ok((host.to_string(), port));
        assert_eq!(read("db1"), is("db1", 9042));
        assert_eq!(read("db1:19042"), is("db1", 19_042));
        assert_eq!(read("10.0.0.1"), is("10.0.0.1", 9042));
        assert_eq!(read("::1"), is("::1", 9042));
        assert_eq!(read("[::1]:9043"), is("::1", 9043));
        assert_eq!(read("[::1]"), is("::1", 9042));
        for bad in [
            "",
            ":9042",
            "db1:",
            "db1:0",
            "db1:70000",
            "db1:x",
            "[::1",
            "[::1]x",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
