//! Translates the addresses that nodes report into the addresses at which clients can reach the
//! nodes. Containers, port forwards, and networks that translate addresses make this necessary.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The IP address of a node, and one port or any port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePlace {
    pub ip: IpAddr,
    /// CQL port of the node. `None` means any port.
    pub port: Option<u16>,
}

impl FromStr for NodePlace {
    type Err = &'static str;

    /// Parses an address such as `10.0.0.5`, `10.0.0.5:9042`, `::1` or `[::1]:9042`.
    fn from_str(text: &str) -> Result<NodePlace, &'static str> {
        let with_port = text.parse::<SocketAddr>().map(|at| (at.ip(), Some(at.port())));
        let read = with_port.or_else(|_| text.parse::<IpAddr>().map(|ip| (ip, None)));
        match read {
            Ok((_, Some(0))) | Err(_) => {
                Err("write an address as 10.0.0.5, 10.0.0.5:9042 or [fd00::5]:9042")
            }
            Ok((ip, port)) => Ok(NodePlace { ip, port }),
        }
    }
}

impl fmt::Display for NodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.ip, port).fmt(f),
            None => self.ip.fmt(f),
        }
    }
}

/// Pairs of the address that a node reports and the address at which clients can reach the node.
/// Clients reach a node without a pair at its reported address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation(Vec<(NodePlace, NodePlace)>);

impl Translation {
    /// Adds a pair of the address `said`, which a node reports, and the address `reached`, at which
    /// clients reach the node.
    pub fn add(&mut self, said: NodePlace, reached: NodePlace) {
        self.0.push((said, reached));
    }

    /// Returns the address for CQL connections to the node that reports the address `said`.
    pub fn reached(&self, said: SocketAddr) -> SocketAddr {
        let Some((_, reached)) = self.pair(said) else {
            return said;
        };
        SocketAddr::new(reached.ip, reached.port.unwrap_or(said.port()))
    }

    /// Returns the address for a port of a node other than its CQL port. If no pair states this
    /// port, returns the same port at the translated IP address.
    pub fn beside(&self, said: SocketAddr) -> SocketAddr {
        match self.pair(said) {
            Some((NodePlace { port: Some(_), .. }, _)) => self.reached(said),
            Some((_, reached)) => SocketAddr::new(reached.ip, said.port()),
            None => said,
        }
    }

    /// Returns the address that a node reports if clients reach its CQL port at `reached`. `None`
    /// if `reached` is not translated. If the reported address of the pair states no port, the
    /// result has the port of `reached`. If in that case the other address states a port, the
    /// result has `usual_port`.
    pub fn reported_address(&self, reached: SocketAddr, usual_port: u16) -> Option<SocketAddr> {
        let leads_here = |place: &NodePlace| {
            place.ip == reached.ip() && place.port.is_none_or(|port| port == reached.port())
        };
        let (said, to) = self.0.iter().find(|(_, to)| leads_here(to))?;
        let port = match (said.port, to.port) {
            (Some(port), _) => port,
            (None, Some(_)) => usual_port,
            (None, None) => reached.port(),
        };
        Some(SocketAddr::new(said.ip, port))
    }

    /// Returns the pair for a reported address. A pair that states the port takes precedence over a
    /// pair with any port. Returns `None` if the address is not translated.
    fn pair(&self, said: SocketAddr) -> Option<(NodePlace, NodePlace)> {
        let lines = || self.0.iter().filter(|(line, _)| line.ip == said.ip());
        let exact = lines().find(|(line, _)| line.port == Some(said.port()));
        exact.or_else(|| lines().find(|(line, _)| line.port.is_none())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn translation(lines: &[(&str, &str)]) -> Translation {
        let mut all = Translation::default();
        for (said, reached) in lines {
            all.add(said.parse().unwrap(), reached.parse().unwrap());
        }
        all
    }

    #[test]
    fn a_place_is_an_address_with_or_without_a_port() {
        for text in ["10.0.0.5", "10.0.0.5:9042", "fd00::5", "[fd00::5]:9042"] {
            assert_eq!(text.parse::<NodePlace>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "db1",
            "db1:9042",
            "10.0.0.5:",
            "10.0.0.5:0",
            "10.0.0.5:70000",
            "10.0.0",
        ] {
            assert!(text.parse::<NodePlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_port_with_a_line_of_its_own_goes_by_that() {
        let all = translation(&[
            ("10.1.0.5", "127.0.0.1:9043"),
            ("10.1.0.5:8778", "127.0.0.1:18778"),
            ("10.1.0.6", "192.0.2.6"),
        ]);
        for (said, reached) in [
            ("10.1.0.5:9042", "127.0.0.1:9043"),
            ("10.1.0.6:9142", "192.0.2.6:9142"),
            ("10.1.0.7:9042", "10.1.0.7:9042"),
        ] {
            assert_eq!(all.reached(address(said)), address(reached));
        }
        for (said, reached) in [
            ("10.1.0.5:8778", "127.0.0.1:18778"),
            ("10.1.0.5:9103", "127.0.0.1:9103"),
            ("10.1.0.6:8778", "192.0.2.6:8778"),
            ("10.1.0.7:8778", "10.1.0.7:8778"),
        ] {
            assert_eq!(all.beside(address(said)), address(reached));
        }
    }

    #[test]
    fn a_translated_address_is_reported_as_the_cluster_knows_it() {
        let all = translation(&[
            ("10.1.0.5", "127.0.0.1:9043"),
            ("10.1.0.6:9142", "127.0.0.1:9044"),
            ("10.1.0.7", "192.0.2.7"),
        ]);
        for (reached, said) in [
            ("127.0.0.1:9043", Some("10.1.0.5:9042")),
            ("127.0.0.1:9044", Some("10.1.0.6:9142")),
            ("192.0.2.7:9142", Some("10.1.0.7:9142")),
            ("127.0.0.1:9042", None),
        ] {
            assert_eq!(
                all.reported_address(address(reached), 9042),
                said.map(address)
            );
        }
    }
}
