//! Finds the process that accepts connections at an address, from the kernel's tables. The process
//! may belong to any user. It is identified by its socket, not by its name.

use anyhow::{Context, Result, ensure};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// State of a socket that accepts connections, in `/proc/net/tcp`.
const LISTENING: &str = "0A";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listening {
    address: SocketAddr,
    inode: u64,
}

/// Returns the id of the process that accepts connections at `address`. The function searches the
/// network namespace and the visible processes of the calling process. Returns `None` if no process
/// accepts connections.
///
/// # Errors
/// A process accepts connections, but its files may not be read, or the kernel's tables cannot be
/// read.
pub fn pid(address: SocketAddr) -> Result<Option<u32>> {
    let mut known = socket_at(address)?;
    loop {
        let Some(inode) = known else {
            return Ok(None);
        };
        let error = match holder(inode) {
            Ok(pid) => return Ok(Some(pid)),
            Err(error) => error,
        };
        // The process may have ended in the meantime, and another process may listen on the port.
        let now = socket_at(address)?;
        if now == known {
            return Err(error).with_context(|| {
                format!("find the process that accepts connections at {address}")
            });
        }
        known = now;
    }
}

/// Returns the inode of the socket that accepts connections at an address, if any.
fn socket_at(address: SocketAddr) -> Result<Option<u64>> {
    let mut all = Vec::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        match std::fs::read_to_string(file) {
            Ok(text) => all.extend(text.lines().filter_map(listening)),
            // The file is missing on a kernel without IPv6.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("read {file}")),
        }
    }
    Ok(socket_for(&all, address))
}

/// Returns the socket that gets connections to an address. A socket of this address takes
/// precedence over a socket of all addresses.
fn socket_for(all: &[Listening], address: SocketAddr) -> Option<u64> {
    let on_port = || all.iter().filter(|one| one.address.port() == address.port());
    let exact = on_port().find(|one| one.address.ip() == address.ip());
    let any = || on_port().find(|one| one.address.ip().is_unspecified());
    exact.or_else(any).map(|one| one.inode)
}

/// Parses a line of `/proc/net/tcp` or `tcp6`. Returns `None` if its socket does not accept
/// connections.
fn listening(line: &str) -> Option<Listening> {
    let mut words = line.split_ascii_whitespace();
    let (local, state) = (words.nth(1)?, words.nth(1)?);
    let inode = words.nth(5)?;
    if state != LISTENING {
        return None;
    }
    let (ip, port) = local.split_once(':')?;
    Some(Listening {
        address: SocketAddr::new(address_of(ip)?, u16::from_str_radix(port, 16).ok()?),
        inode: inode.parse().ok()?,
    })
}

/// Parses an address in the kernel's format, which is words of 32 bits in the byte order of this
/// machine.
fn address_of(hex: &str) -> Option<IpAddr> {
    let words = hex.as_bytes().chunks(8).map(|chunk| {
        let text = std::str::from_utf8(chunk).ok()?;
        (text.len() == 8).then_some(())?;
        u32::from_str_radix(text, 16).ok()
    });
    let bytes: Vec<u8> = words
        .collect::<Option<Vec<u32>>>()?
        .into_iter()
        .flat_map(u32::to_ne_bytes)
        .collect();
    match bytes.len() {
        4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical()),
        _ => None,
    }
}

fn holder(inode: u64) -> Result<u32> {
    let wanted = format!("socket:[{inode}]");
    let mut hidden = 0;
    let entries = std::fs::read_dir("/proc").context("list the processes")?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    for pid in pids {
        let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
            // A process that has ended in the meantime does not count as hidden. Its directory no
            // longer exists.
            hidden += u32::from(Path::new(&format!("/proc/{pid}")).exists());
            continue;
        };
        let is_it = |path: &Path| {
            std::fs::read_link(path).is_ok_and(|to| to.as_os_str() == wanted.as_str())
        };
        if files.flatten().any(|file| is_it(&file.path())) {
            return Ok(pid);
        }
    }
    ensure!(
        hidden == 0,
        "the process belongs to another user: cassay cannot read the open files of {hidden} \
         processes"
    );
    anyhow::bail!("no process of this machine has the socket open")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_socket_leads_to_its_process_on_one_or_all_addresses() {
        let own = std::process::id();
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                // This machine does not have IPv6.
                assert!(address.starts_with('['), "{address}");
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let asked = if address.starts_with("[::1") {
                SocketAddr::from((Ipv6Addr::LOCALHOST, port))
            } else {
                SocketAddr::from((Ipv4Addr::LOCALHOST, port))
            };
            assert_eq!(pid(asked).unwrap(), Some(own), "{address}");
            drop(listener);
            assert_eq!(pid(asked).unwrap(), None, "no process listens at {address}");
        }
    }

    #[test]
    fn a_specific_address_precedes_all_addresses() {
        let one = |address: &str, inode| Listening {
            address: address.parse().unwrap(),
            inode,
        };
        let all = [
            one("0.0.0.0:9042", 1),
            one("10.0.0.7:9042", 2),
            one("[::]:9043", 3),
        ];
        let found = |address: &str| socket_for(&all, address.parse().unwrap());
        assert_eq!(found("10.0.0.7:9042"), Some(2));
        assert_eq!(found("10.0.0.8:9042"), Some(1));
        assert_eq!(found("10.0.0.7:9043"), Some(3));
        assert_eq!(found("10.0.0.7:7000"), None);
        for line in [
            "",
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
            "0: 0100007F:2352 0100007F:1111 01 00000000:00000000 00:00000000 00000000 0 0 77 1",
            "0: 0100007F 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1",
            "0: 01000:2352 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1",
        ] {
            assert_eq!(listening(line), None, "{line}");
        }
    }
}
