//! Waits for events, or until a time limit, with nanosecond precision on every kernel.
//!
//! `epoll_pwait2`, which takes nanoseconds, came with Linux 5.11. Older kernels are still in use on
//! long-lived systems, and emulators and sandboxes may not support the call. Without this call,
//! `ppoll`, which always takes nanoseconds, waits for the epoll descriptor, and `epoll_wait` only
//! fetches the events. This requires one additional system call per wait.

use rustix::event::epoll::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

// The kernel uses the same layout for both calls.
const _: () = assert!(size_of::<Event>() == size_of::<libc::epoll_event>());

/// Set of descriptors that are watched for events.
#[derive(Debug)]
pub struct Poller {
    set: OwnedFd,
    /// True if the kernel supports `epoll_pwait2`, which takes nanoseconds.
    is_precise: bool,
}

impl Poller {
    /// Creates an empty set.
    ///
    /// # Errors
    /// The process has no free file descriptor.
    pub fn new() -> rustix::io::Result<Poller> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut room = [MaybeUninit::<Event>::uninit(); 1];
        // Any error counts as "not supported", because a sandbox may return an error other than
        // "not implemented".
        let is_precise = epoll::wait(&set, &mut room, Some(&Timespec::default())).is_ok();
        Ok(Poller { set, is_precise })
    }

    /// Waits for events, and returns at most as many events as fit into `room`. Returns immediately
    /// if events are pending, and otherwise at the first event or after `timeout`. With `None`, the
    /// wait has no time limit.
    ///
    /// # Errors
    /// A signal arrived before an event ([`Errno::INTR`]). The only other error is a closed epoll
    /// descriptor.
    #[inline]
    pub fn wait<'room>(
        &self,
        room: &'room mut [MaybeUninit<Event>],
        timeout: Option<&Timespec>,
    ) -> rustix::io::Result<&'room mut [Event]> {
        if self.is_precise {
            return epoll::wait(&self.set, room, timeout).map(|(events, _)| events);
        }
        if timeout.is_none_or(|timeout| *timeout != Timespec::default()) {
            poll(&mut [PollFd::new(&self.set, PollFlags::IN)], timeout)?;
        }
        self.fetch(room)
    }

    /// Returns the pending events without waiting.
    fn fetch<'room>(
        &self,
        room: &'room mut [MaybeUninit<Event>],
    ) -> rustix::io::Result<&'room mut [Event]> {
        let length = i32::try_from(room.len()).unwrap_or(i32::MAX);
        // SAFETY: the kernel writes at most `length` events into a buffer of that size, each with
        // the layout of `Event`.
        let count =
            unsafe { libc::epoll_wait(self.set.as_raw_fd(), room.as_mut_ptr().cast(), length, 0) };
        let Ok(count) = usize::try_from(count) else {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
        };
        // SAFETY: the kernel has written this number of events.
        Ok(unsafe { room[..count].assume_init_mut() })
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use rustix::event::epoll::{EventData, EventFlags};
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn old_and_new_kernels_wait_alike() {
        for is_precise in [true, false] {
            let poller = Poller {
                is_precise,
                ..Poller::new().unwrap()
            };
            let mut room = [MaybeUninit::uninit(); 4];
            let (mut near, far) = UnixStream::pair().unwrap();
            let data = EventData::new_u64(7);
            epoll::add(&poller, &far, data, EventFlags::IN).unwrap();
            let brief = Timespec {
                tv_sec: 0,
                tv_nsec: 30_000,
            };
            for timeout in [Timespec::default(), brief] {
                let before_ns = clock::now_ns();
                assert_eq!(poller.wait(&mut room, Some(&timeout)).unwrap().len(), 0);
                let waited_ns = clock::now_ns() - before_ns;
                assert!(
                    waited_ns >= timeout.tv_nsec as u64,
                    "{is_precise}: {waited_ns}"
                );
            }
            near.write_all(b"x").unwrap();
            for timeout in [None, Some(&brief), Some(&Timespec::default())] {
                let events = poller.wait(&mut room, timeout).unwrap();
                let seen: Vec<u64> = events.iter().map(|event| event.data.u64()).collect();
                assert_eq!(seen, [7], "{is_precise}");
            }
        }
    }

    #[test]
    fn a_set_that_is_no_set_is_an_error() {
        let poller = Poller {
            set: std::fs::File::open("/dev/null").unwrap().into(),
            is_precise: false,
        };
        let mut room = [MaybeUninit::uninit(); 1];
        let error = poller.wait(&mut room, Some(&Timespec::default())).err();
        assert_eq!(error, Some(Errno::INVAL));
    }
}
