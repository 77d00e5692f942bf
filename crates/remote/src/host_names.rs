//! Resolves host names in the same way as other programs on this machine.
//!
//! A program built with musl lacks the system's name services (NSS). It would use only `/etc/hosts`
//! and DNS, and ignore LDAP, mDNS and other sources in `/etc/nsswitch.conf`. So such a cassay runs
//! `getent`, which all systems with glibc have. Without an answer of `getent`, cassay uses musl's
//! own resolver.

use crate::process::{self, Patience};
use anyhow::{Context, Result};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

/// Time limit for the name services. A DNS query fails after about 10 s.
const LIMIT: Duration = Duration::from_secs(30);

/// Returns the socket addresses of a host, in the order in which to try them.
///
/// # Errors
/// The name is unknown.
pub fn addresses_of(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    let is_asked = cfg!(target_env = "musl") && host.parse::<IpAddr>().is_err();
    if is_asked && let Some(found) = by_getent(host) {
        return Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect());
    }
    let found = (host, port)
        .to_socket_addrs()
        .with_context(|| format!("find the address of {host}"))?;
    Ok(found.collect())
}

/// Returns the addresses according to `getent`. Returns `None` if the program is missing, or does
/// not find the name.
fn by_getent(host: &str) -> Option<Vec<IpAddr>> {
    let mut command = process::command(Path::new("getent"));
    // After `--`, a name cannot be an option.
    command.args(["ahosts", "--", host]);
    let answer = process::ask(command, b"", Patience::up_to(LIMIT)).ok()?;
    let found = parse(&String::from_utf8_lossy(&answer.output));
    (answer.status.success() && !found.is_empty()).then_some(found)
}

/// Parses the output of `getent ahosts`: lines with an address and a kind of socket. The first line
/// also contains the name.
fn parse(text: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for line in text.lines() {
        let address = line.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
        if let Some(address) = address
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn each_address_is_taken_once_and_in_order() {
        let text = "2001:db8::7     STREAM db1.example.com\n2001:db8::7     DGRAM  \n\
                    192.0.2.7       STREAM \n192.0.2.7       DGRAM  \nfe80::1%eth0    STREAM \n\n";
        let found: Vec<String> = parse(text).iter().map(IpAddr::to_string).collect();
        assert_eq!(found, ["2001:db8::7", "192.0.2.7"]);
    }

    #[test]
    fn a_name_has_its_addresses_an_address_itself_and_no_name_none() {
        let found = addresses_of("localhost", 9042).unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 9042));
        assert!(!found.is_empty());
        let itself = SocketAddr::new(Ipv4Addr::new(192, 0, 2, 1).into(), 1);
        assert_eq!(addresses_of("192.0.2.1", 1).unwrap(), [itself]);
        let error = format!("{:#}", addresses_of("-h", 1).unwrap_err());
        assert!(error.contains("find the address of -h"), "{error}");
    }

    /// Also runs in builds that resolve names by the C library.
    #[test]
    fn getent_says_the_same_where_it_is_there() {
        if let Some(found) = by_getent("localhost") {
            assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
        }
        assert_eq!(by_getent("no-such-host.invalid"), None);
    }
}
