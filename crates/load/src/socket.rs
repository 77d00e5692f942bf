//! A worker's TCP socket. It also reports the time at which the kernel received the data.
//!
//! A thread may read a response long after its arrival, because the thread slept on purpose or had
//! no CPU. The kernel records the arrival time of each packet (`SO_TIMESTAMPNS`, in software, also
//! on the loopback device), and returns the time with the data.
//!
//! Invariant: the time belongs to the last byte that a read took. If one read takes several
//! responses, all of them had therefore arrived by this time. A kernel that merges packets keeps
//! the time of the last packet.

use measure::clock;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Largest movement of the wall clock relative to the monotonic clock that counts as normal, in ns.
/// Reading both clocks may take this long. If the wall clock moves by more, it has been set, and
/// the arrival times from before that are unknown.
const SET_NS: u64 = clock::MILLISECOND_NS;

/// Size of a control message with a time, in words. The message consists of its header, seconds and
/// nanoseconds. The kernel omits messages that do not fit.
const CONTROL_WORDS: usize = 8;

/// Reader that reports the arrival time of its data.
pub(crate) trait TimedReader {
    fn is_timed(&self) -> bool;

    /// Returns the arrival time of the most recently read data, in ns of the monotonic clock.
    /// Returns `None` if the time is unknown.
    fn arrived_ns(&self) -> Option<u64>;
}

#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    is_timed: bool,
    /// Time by which the wall clock was ahead of the monotonic clock at the last reading of both
    /// clocks, in ns.
    ahead_ns: i64,
    arrived_ns: Option<u64>,
}

impl Socket {
    /// Wraps a connection, without requesting arrival times yet.
    pub fn new(stream: TcpStream) -> Socket {
        Socket {
            stream,
            is_timed: false,
            ahead_ns: 0,
            arrived_ns: None,
        }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Requests arrival times from the kernel. If a sandbox forbids the request, the socket works
    /// without arrival times.
    pub fn time_arrivals(&mut self) {
        let on: libc::c_int = 1;
        // SAFETY: the call only reads `on`, with its exact size, and `on` outlives the call.
        let answer = unsafe {
            libc::setsockopt(
                self.stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPNS,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            )
        };
        self.is_timed = answer == 0;
        self.ahead_ns = ahead_ns(clock::now_ns(), clock::unix_ns());
    }

    fn read_timed(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut control = [0_u64; CONTROL_WORDS];
        let mut part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        // SAFETY: a header of zeros is valid and contains no pointers. The code below sets the
        // fields that the call uses.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the kernel writes into `room`, `control` and `header`, which outlive the call. It
        // writes no more than the lengths in the header.
        let count = unsafe { libc::recvmsg(self.stream.as_raw_fd(), &raw mut header, 0) };
        let Ok(count) = usize::try_from(count) else {
            return Err(io::Error::last_os_error());
        };
        if count > 0 {
            let came_ns = came_ns(&header);
            // The wall clock must be read before the monotonic clock. If the thread loses its CPU
            // between the readings, the computed arrival time is then too late, and never too
            // early.
            let unix_ns = clock::unix_ns();
            self.note(came_ns, clock::now_ns(), unix_ns);
        }
        Ok(count)
    }

    /// Records the arrival time `came_ns` of the wall clock, if it is known, and the current
    /// readings `now_ns` and `unix_ns` of both clocks.
    fn note(&mut self, came_ns: Option<u64>, now_ns: u64, unix_ns: u64) {
        let ahead_ns = ahead_ns(now_ns, unix_ns);
        let before_ns = std::mem::replace(&mut self.ahead_ns, ahead_ns);
        let was_set = ahead_ns.abs_diff(before_ns) > SET_NS;
        self.arrived_ns = came_ns
            .filter(|_| !was_set)
            .and_then(|came_ns| unix_ns.checked_sub(came_ns))
            .map(|ago_ns| now_ns.saturating_sub(ago_ns));
    }
}

fn ahead_ns(now_ns: u64, unix_ns: u64) -> i64 {
    unix_ns.wrapping_sub(now_ns) as i64
}

/// Returns the arrival time in the control messages of a call, in ns since 1970.
fn came_ns(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has set the pointer and the length of the control messages, within the
    // buffer.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: the pointer is not null, so it points to the header of a message within the
        // buffer.
        let (level, kind) = unsafe { ((*message).cmsg_level, (*message).cmsg_type) };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            // SAFETY: a message of this kind contains one `timespec`, which need not be aligned.
            let time = unsafe {
                let data = libc::CMSG_DATA(message).cast::<libc::timespec>();
                std::ptr::read_unaligned(data)
            };
            let seconds = u64::try_from(time.tv_sec).ok()?;
            return seconds.checked_mul(clock::SECOND_NS)?.checked_add(time.tv_nsec as u64);
        }
        // SAFETY: both pointers are from the same call, and the macro stops at the end of the
        // buffer.
        message = unsafe { libc::CMSG_NXTHDR(header, message) };
    }
    None
}

impl TimedReader for Socket {
    fn is_timed(&self) -> bool {
        self.is_timed
    }

    #[inline]
    fn arrived_ns(&self) -> Option<u64> {
        self.arrived_ns
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.is_timed {
            self.read_timed(room)
        } else {
            self.stream.read(room)
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (Socket::new(stream), server)
    }

    #[test]
    fn bytes_read_late_have_the_time_of_their_arrival() {
        let (mut socket, mut server) = pair();
        socket.time_arrivals();
        assert!(socket.is_timed());
        loop {
            let before_ns = clock::now_ns();
            server.write_all(b"ab").unwrap();
            clock::sleep_until(clock::now_ns() + 3 * SET_NS);
            let read_ns = clock::now_ns();
            assert_eq!(socket.read(&mut [0; 8]).unwrap(), 2);
            // The socket reports no arrival time if the thread lost its CPU between the readings of
            // the two clocks.
            if let Some(arrived_ns) = socket.arrived_ns() {
                let from_ns = before_ns - SET_NS;
                let told = [from_ns, arrived_ns, read_ns];
                return assert!(told.is_sorted(), "{told:?}");
            }
        }
    }

    #[test]
    fn of_a_clock_that_was_set_meanwhile_no_time_is_told() {
        let (mut socket, _server) = pair();
        let (now_ns, unix_ns) = (50_000_000_000, 1_700_000_000_000_000_000);
        socket.note(Some(unix_ns), now_ns, unix_ns);
        let mut noted = |came_ns, now_ns, unix_ns| {
            socket.note(came_ns, now_ns, unix_ns);
            socket.arrived_ns()
        };
        assert_eq!(
            noted(Some(unix_ns + 30), now_ns + 50, unix_ns + 50),
            Some(now_ns + 30)
        );
        assert_eq!(
            noted(None, now_ns + 60, unix_ns + 60),
            None,
            "the packet has no timestamp"
        );
        let hour_ns = 3600 * clock::SECOND_NS;
        assert_eq!(
            noted(Some(unix_ns + 65), now_ns + 70, unix_ns + 70 + hour_ns),
            None
        );
        let unix_ns = unix_ns + hour_ns;
        assert_eq!(
            noted(Some(unix_ns + 75), now_ns + 80, unix_ns + 80),
            Some(now_ns + 75)
        );
        assert_eq!(
            noted(Some(unix_ns + 99), now_ns + 90, unix_ns + 90),
            None,
            "the timestamp is in the future"
        );
    }
}
