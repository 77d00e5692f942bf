//! Ports of this machine: the kernel's range for outgoing connections, ports in use, and the
//! processes that use them.

use std::net::{SocketAddrV4, TcpListener};

/// Returns the first of these addresses on which a program cannot listen now, with the process that
/// uses it. Returns `None` if all addresses are free.
pub fn taken(addresses: &[SocketAddrV4]) -> Option<String> {
    let taken = addresses.iter().find(|address| TcpListener::bind(address).is_err());
    taken.map(|address| describe(*address))
}

/// Returns the kernel's port range for outgoing connections, or the default if the range cannot be
/// read.
pub fn outgoing_range() -> std::ops::RangeInclusive<u16> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let mut numbers = text.iter().flat_map(|text| text.split_ascii_whitespace());
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    match (next(), next()) {
        (Some(first), Some(last)) => first..=last,
        _ => 32_768..=60_999,
    }
}

/// Describes an address in use, with its process if the process is visible, such as `process 12
/// (java) uses 127.0.0.1:9042`.
pub fn describe(address: SocketAddrV4) -> String {
    match holder(address) {
        Some((pid, name)) => format!("process {pid} ({name}) uses {address}"),
        None => format!("{address} is in use (by a hidden process of another user)"),
    }
}

/// Finds the process that listens on an address, or on all addresses with the same port.
fn holder(address: SocketAddrV4) -> Option<(u32, String)> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|file| {
        let table = std::fs::read_to_string(file).ok()?;
        table.lines().skip(1).find_map(|line| listening_inode(line, address))
    })?;
    let link = format!("socket:[{inode}]");
    remote::process::all_pids().into_iter().find_map(|pid| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let mut targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        if !targets.any(|target| target.as_os_str() == link.as_str()) {
            return None;
        }
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        Some((pid, name.trim().to_string()))
    })
}

/// Returns the socket's inode, if this line of `/proc/net/tcp` (or `tcp6`) describes a socket that
/// listens on `address` or on all addresses with its port. Addresses are hexadecimal words in the
/// machine's byte order.
fn listening_inode(line: &str, address: SocketAddrV4) -> Option<u64> {
    const LISTEN: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (host, port) = fields.get(1)?.split_once(':')?;
    let is_port = u16::from_str_radix(port, 16).ok()? == address.port();
    let own = format!("{:08X}", u32::from_ne_bytes(address.ip().octets()));
    let is_host = host.bytes().all(|digit| digit == b'0') || host.ends_with(&own);
    if !is_port || !is_host || *fields.get(3)? != LISTEN {
        return None;
    }
    fields.get(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn only_listeners_on_the_port_count() {
        let address = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 1), 9042);
        let host = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
        let line = |host: &str, port: &str, state: &str| {
            format!("0: {host}:{port} 00000000:0000 {state} 0:0 00:0 0 0 0 77 1 f 100")
        };
        assert_eq!(
            listening_inode(&line(&host, "2352", "0A"), address),
            Some(77)
        );
        assert_eq!(
            listening_inode(&line("00000000", "2352", "0A"), address),
            Some(77)
        );
        assert_eq!(
            listening_inode(&line(&"0".repeat(32), "2352", "0A"), address),
            Some(77)
        );
        assert_eq!(listening_inode(&line(&host, "2352", "01"), address), None);
        assert_eq!(listening_inode(&line(&host, "2353", "0A"), address), None);
        assert_eq!(listening_inode("nonsense", address), None);
    }
}
