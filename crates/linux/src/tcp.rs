//! Checks whether this process can reach an address, and measures the throughput to the address.
//! Also reads the kernel's counters of resets.

use anyhow::{Context, Result};
use measure::clock::{self, Deadline};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Number of simultaneous attempts. An attempt whose packets are dropped takes the whole time
/// limit.
const TRIES_AT_ONCE: u32 = 16;

/// Maximum number of attempts. Each attempt uses one of the 28,232 ports that Linux has for
/// outgoing connections. If this process closes the connection first, the port remains in use for
/// another minute.
const TRIES_MAX: u32 = 10_000;

/// Number of bytes that are sent and received at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Result of an attempt to connect by TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// A program listens on the port. The value is the time that the connection took.
    Reached(Duration),
    /// No program listens on the port. The network path is open, because the other end refused the
    /// connection.
    Refused,
    /// No answer came within the time limit.
    Silent,
    /// The kernel has no route to the address.
    Unreachable,
}

impl Reach {
    /// Tries to connect from the network of the calling process.
    ///
    /// # Errors
    /// The kernel refuses the attempt for a reason that is not one of the results, for example
    /// because no port or file descriptor is left.
    pub fn connect(address: SocketAddr, limit: Duration) -> Result<Reach> {
        let begun_ns = clock::now_ns();
        let error = match TcpStream::connect_timeout(&address, limit.max(SHORTEST)) {
            Ok(_) => {
                return Ok(Reach::Reached(Duration::from_nanos(
                    clock::now_ns() - begun_ns,
                )));
            }
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Ok(Reach::Refused),
            ErrorKind::TimedOut => Ok(Reach::Silent),
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
                Ok(Reach::Unreachable)
            }
            _ => Err(error).with_context(|| format!("connect to {address}")),
        }
    }

    /// Returns true if packets have travelled in both directions.
    pub fn is_open(self) -> bool {
        matches!(self, Reach::Reached(_) | Reach::Refused)
    }

    /// Tries to connect `tries` times, and returns the number of attempts that the other end
    /// answered. TCP retries by itself after a second. With a `limit` below one second, each
    /// attempt is one packet in each direction.
    ///
    /// # Errors
    /// The errors of [`Reach::connect`], or `tries` is too large.
    pub fn count(address: SocketAddr, tries: u32, limit: Duration) -> Result<u32> {
        anyhow::ensure!(
            tries <= TRIES_MAX,
            "the request has {tries} connection attempts, but the maximum is {TRIES_MAX}, because \
             each attempt needs a port"
        );
        let (left, open) = (AtomicU32::new(tries), AtomicU32::new(0));
        let next = |left: u32| left.checked_sub(1);
        let run = || -> Result<()> {
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok() {
                let is_open = Reach::connect(address, limit)?.is_open();
                open.fetch_add(u32::from(is_open), Ordering::Relaxed);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..tries.min(TRIES_AT_ONCE)).map(|_| scope.spawn(run)).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(tried) => tried,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(open.into_inner())
    }

    /// Returns the maximum duration of this number of attempts, each with this time limit.
    pub fn limit(tries: u32, limit: Duration) -> Duration {
        limit.max(SHORTEST).saturating_mul(tries.div_ceil(TRIES_AT_ONCE))
    }
}

/// Shortest time limit. It is not zero, because the kernel treats zero as no limit.
const SHORTEST: Duration = Duration::from_millis(1);

/// Starts to receive the data of one connection for up to `limit`. At the end, the receiver sends
/// back the number of bytes received. Returns the port on which it listens. This is the counterpart
/// of [`transfer`].
///
/// # Errors
/// No port is left, or no thread can be started.
pub fn begin_to_receive(limit: Duration) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).context("listen")?;
    let port = listener.local_addr().context("listen")?.port();
    let deadline = Deadline::after(limit);
    let thread = std::thread::Builder::new().name(format!("receive {port}"));
    // The result is ignored, because the sender detects that receiving failed.
    let spawned = thread.spawn(move || receive(&listener, deadline));
    spawned.context("start a thread that receives")?;
    Ok(port)
}

fn receive(listener: &TcpListener, deadline: Deadline) -> Result<()> {
    listener.set_nonblocking(true)?;
    let mut waiting = [PollFd::new(listener, PollFlags::IN)];
    while let Err(Errno::INTR) = poll(&mut waiting, Some(&time_of(deadline.left()))) {}
    let (mut stream, _) = listener.accept()?;
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(deadline.left().max(SHORTEST)))?;
    let (mut chunk, mut received) = (vec![0; CHUNK_BYTES], 0u64);
    loop {
        stream.set_read_timeout(Some(deadline.left().max(SHORTEST)))?;
        match stream.read(&mut chunk)? {
            0 => break,
            bytes => received += bytes as u64,
        }
        anyhow::ensure!(!deadline.passed(), "no further bytes arrive");
    }
    stream.write_all(&received.to_be_bytes())?;
    Ok(())
}

fn time_of(left: Duration) -> Timespec {
    // A time that exceeds the kernel's range is treated as unlimited.
    Timespec::try_from(left).unwrap_or(Timespec {
        tv_sec: i64::MAX,
        tv_nsec: 0,
    })
}

/// Sends `bytes` bytes, and returns the time until all of them have arrived. Returns `None` if this
/// time exceeds `limit`.
pub fn transfer(address: SocketAddr, bytes: u64, limit: Duration) -> Result<Option<Duration>> {
    let (begun_ns, deadline) = (clock::now_ns(), Deadline::after(limit));
    match send(address, bytes, deadline) {
        Ok(received) => {
            anyhow::ensure!(
                received == bytes,
                "only {received} of {bytes} sent bytes arrived at {address}"
            );
            Ok(Some(Duration::from_nanos(clock::now_ns() - begun_ns)))
        }
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("send to {address}")),
    }
}

/// Sends `bytes` bytes, and returns the number of bytes that have arrived.
fn send(address: SocketAddr, bytes: u64, deadline: Deadline) -> std::io::Result<u64> {
    let left = || {
        if deadline.passed() {
            Err(std::io::Error::from(ErrorKind::TimedOut))
        } else {
            Ok(deadline.left().max(SHORTEST))
        }
    };
    let mut stream = TcpStream::connect_timeout(&address, left()?)?;
    let (chunk, mut unsent) = (vec![0; CHUNK_BYTES], bytes);
    while unsent > 0 {
        stream.set_write_timeout(Some(left()?))?;
        let next = CHUNK_BYTES.min(usize::try_from(unsent).unwrap_or(usize::MAX));
        unsent -= stream.write(&chunk[..next])? as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    let mut received = [0; 8];
    stream.set_read_timeout(Some(left()?))?;
    stream.read_exact(&mut received)?;
    Ok(u64::from_be_bytes(received))
}

/// Returns the kernel's counters of connections that ended by a reset, and of resets that were
/// sent.
pub fn resets() -> Result<(u64, u64)> {
    let path = "/proc/thread-self/net/snmp";
    let text = std::fs::read_to_string(path).with_context(|| format!("read {path}"))?;
    parse_snmp(&text).with_context(|| format!("{path} contains no number of TCP resets"))
}

/// Parses a line of names, and the line of their values.
fn parse_snmp(text: &str) -> Option<(u64, u64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?.split(' '), lines.next()?.split(' '));
    let pairs: Vec<_> = names.zip(values).collect();
    let value = |name: &str| {
        let pair = pairs.iter().find(|pair| pair.0 == name)?;
        pair.1.parse().ok()
    };
    Some((value("EstabResets")?, value("OutRsts")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn a_listener_is_reached_and_a_closed_port_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(matches!(
            Reach::connect(address, LIMIT).unwrap(),
            Reach::Reached(_)
        ));
        assert_eq!(Reach::count(address, 40, LIMIT).unwrap(), 40);
        assert_eq!(Reach::count(address, 0, LIMIT).unwrap(), 0);
        assert!(Reach::count(address, 10_001, LIMIT).is_err());
        drop(listener);
        assert_eq!(Reach::connect(address, LIMIT).unwrap(), Reach::Refused);
    }

    #[test]
    fn a_transfer_ends_when_all_has_arrived_or_at_its_time_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| receive(&listener, Deadline::after(LIMIT)).unwrap());
            assert!(transfer(address, 1_000_001, LIMIT).unwrap().is_some());
        });
        // The kernel accepts the connection, but no program reads from it.
        let soon = Duration::from_millis(50);
        assert_eq!(transfer(address, 1 << 30, soon).unwrap(), None);
        drop(listener);
        let error = transfer(address, 1, LIMIT).unwrap_err();
        assert!(format!("{error:#}").contains("send to 127.0.0.1"));
    }

    #[test]
    fn nobody_is_awaited_for_ever() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(receive(&listener, Deadline::after(Duration::from_millis(1))).is_err());
    }

    #[test]
    fn resets_are_read_by_their_names() {
        let text = "Ip: A\nIp: 1\nTcp: EstabResets Other OutRsts\nTcp: 3 -1 5\nUdp: X\nUdp: 1\n";
        assert_eq!(parse_snmp(text), Some((3, 5)));
        assert_eq!(parse_snmp("Tcp: EstabResets\nTcp: 3\n"), None);
        resets().unwrap();
    }
}
