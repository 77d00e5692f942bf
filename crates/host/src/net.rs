//! Network namespaces that have no name, and the socket that makes links in them.
//!
//! What must hold: a namespace lives as long as something holds it, and nothing here gives it a
//! name, so all of it is gone when we are, however we end. A socket stays in the namespace in which
//! it was opened: the thread that opens it enters, opens and ends, and no other thread ever
//! changes its namespace.

use super::message::{self, Answer, HEADER_BYTES, Message, NLMSG_DONE, Queue, Subnet};
use crate::LinkSpec;
use anyhow::{Context, Result};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::net::Ipv4Addr;

/// The largest answer that the kernel sends at once.
const ANSWER_BYTES: usize = 32 << 10;

/// Length of the prefix of a cluster's network: 253 hosts and the machine's own address.
pub(super) const PREFIX: u8 = 24;

#[cfg(test)]
thread_local! {
    /// How many namespaces this thread has asked for.
    pub(super) static MADE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A network namespace, held by a descriptor.
#[derive(Debug)]
pub(super) struct Namespace(OwnedFd);

impl Namespace {
    /// A new one, with nothing in it but `lo`, which is down.
    ///
    /// # Errors
    /// Not permitted (EPERM), or the kernel has none (EINVAL).
    pub fn new() -> Result<Namespace> {
        #[cfg(test)]
        MADE.set(MADE.get() + 1);
        let made = in_thread(|| {
            // SAFETY: the thread is ours alone and ends after this; it has no other thread's
            // namespace, and its descriptors stay shared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            open_own()
        });
        made?.map(Namespace).context("make a network namespace")
    }

    /// That of another process, or a descriptor that it holds: `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// It is not there or not ours to see.
    pub fn open(path: &str) -> Result<Namespace> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty());
        fd.map(Namespace).with_context(|| format!("open {path}"))
    }

    /// A socket for its links.
    ///
    /// # Errors
    /// Not permitted.
    pub fn socket(&self) -> Result<Netlink> {
        self.inside(Netlink::open)?
    }

    /// Runs it in this namespace, in a thread that ends afterwards. Sockets that it opens stay.
    ///
    /// # Errors
    /// Not permitted.
    pub fn inside<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T> {
        let fd = self.0.as_fd();
        in_thread(|| {
            move_into_link_name_space(fd, Some(LinkNameSpaceType::Network))
                .context("enter a network namespace")?;
            Ok(run())
        })?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Runs it in a thread that ends afterwards, so that what it does to itself touches no other.
fn in_thread<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, run);
        let thread = thread.context("start a thread")?;
        match thread.join() {
            Ok(value) => Ok(value),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Whether a process may have mounts of its own, tried by a thread that ends at once.
///
/// # Errors
/// Not permitted.
pub(super) fn own_mounts() -> Result<()> {
    // SAFETY: the thread is ours alone and ends after this; no other's view of files changes.
    let tried = in_thread(|| unsafe { unshare_unsafe(UnshareFlags::NEWNS) })?;
    tried.context("have a mount namespace")
}

fn open_own() -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open("/proc/thread-self/ns/net", flags, Mode::empty())
}

/// A socket to the part of the kernel that makes links, in one namespace for ever.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// In the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open() -> Result<Netlink> {
        // Protocol 0 is NETLINK_ROUTE, for which rustix has no name.
        let flags = SocketFlags::CLOEXEC;
        let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None);
        Ok(Netlink {
            socket: socket.context("open a netlink socket")?,
            sequence: 0,
        })
    }

    /// Sends a request and waits until the kernel has said yes or no.
    pub fn ask(&mut self, request: Message) -> Result<(), Errno> {
        let mut refusal = None;
        self.exchange(request, |answer| {
            refusal = answer.error();
            refusal.is_some()
        })?;
        match refusal {
            None | Some(0) => Ok(()),
            Some(number) => Err(Errno::from_raw_os_error(number)),
        }
    }

    /// The number of a link.
    ///
    /// # Errors
    /// There is no link of this name.
    pub fn index(&mut self, name: &str) -> Result<i32> {
        let mut found = Err(Errno::NODEV);
        let asked = self.exchange(Message::find(name), |answer| {
            if let Some(number) = answer.error() {
                found = Err(Errno::from_raw_os_error(number));
            } else if let Some(index) = answer.link_index() {
                found = Ok(index);
            }
            true
        });
        asked
            .and(found)
            .with_context(|| format!("look for the link {name}"))
    }

    /// The networks that routes lead to, without default routes.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn routes(&mut self) -> Result<Vec<Subnet>> {
        let mut routes = Vec::new();
        let asked = self.exchange(Message::routes(), |answer| {
            routes.extend(answer.route());
            false
        });
        asked.context("read the routes of this machine")?;
        Ok(routes)
    }

    /// Brings a link up, in bridge `master` if one is named.
    ///
    /// # Errors
    /// There is no such link or bridge, or the kernel refuses.
    pub fn up(&mut self, name: &str, master: Option<&str>) -> Result<()> {
        let index = self.index(name)?;
        let master = master.map(|master| self.index(master)).transpose()?;
        self.ask(Message::up(index, master))
            .with_context(|| format!("bring the link {name} up"))
    }

    /// Gives a link an address, unless it has it.
    ///
    /// # Errors
    /// There is no such link, or the kernel refuses.
    pub fn address(&mut self, name: &str, address: Ipv4Addr) -> Result<()> {
        let index = self.index(name)?;
        match self.ask(Message::address(index, address, PREFIX)) {
            // It has it already.
            Err(Errno::EXIST) => Ok(()),
            given => given.with_context(|| format!("give the link {name} the address {address}")),
        }
    }

    /// Makes a pair of links that are down.
    pub fn veth(&mut self, name: &str, peer: &str, namespace: &Namespace) -> Result<(), Errno> {
        self.ask(Message::veth(name, peer, namespace.as_fd().as_raw_fd()))
    }

    /// Limits what a link sends; nothing to limit takes the queues away.
    ///
    /// # Errors
    /// The kernel knows no such queue (ENOENT), or refuses.
    pub fn limit(&mut self, name: &str, link: &LinkSpec) -> Result<()> {
        let index = self.index(name)?;
        match self.ask(Message::no_queue(index)) {
            // None of ours was there: ENOENT, or EINVAL for the kernel's own.
            Ok(()) | Err(Errno::NOENT | Errno::INVAL) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("free the link {name} of limits"));
            }
        }
        let mut parent = message::ROOT;
        if let Some(delay) = link.delay {
            self.ask(Message::delay(index, delay))
                .with_context(|| format!("delay the link {name} by {delay:?} (netem)"))?;
            parent = message::OUTER_CLASS;
        }
        if let Some(rate) = link.rate_bits_per_s {
            self.ask(Message::rate(index, parent, rate))
                .with_context(|| format!("limit the link {name} to {rate} bit/s (tbf)"))?;
        }
        Ok(())
    }

    /// What a link's queues do, as the kernel has it.
    ///
    /// # Errors
    /// There is no such link.
    pub fn limits(&mut self, name: &str) -> Result<LinkSpec> {
        let index = self.index(name)?;
        let mut link = LinkSpec::default();
        let asked = self.exchange(Message::queues(), |answer| {
            match answer.queue(index) {
                Some(Queue::BitsPerS(rate)) => link.rate_bits_per_s = Some(rate),
                Some(Queue::Delay(delay)) => link.delay = Some(delay),
                None => {}
            }
            false
        });
        asked.with_context(|| format!("read the queues of the link {name}"))?;
        Ok(link)
    }

    /// Sends a request and gives each message of its answer to `take`, until that says it has all
    /// or the kernel says that there is no more.
    fn exchange(
        &mut self,
        request: Message,
        mut take: impl FnMut(&Answer<'_>) -> bool,
    ) -> Result<(), Errno> {
        self.sequence += 1;
        let bytes = request.finish(self.sequence);
        debug_assert!(bytes.len() >= HEADER_BYTES);
        let kernel = net::netlink::SocketAddrNetlink::new(0, 0);
        net::sendto(&self.socket, &bytes, SendFlags::empty(), &kernel)?;
        let mut buffer = vec![0; ANSWER_BYTES];
        loop {
            let (length, _) = match net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Err(Errno::INTR) => continue,
                received => received?,
            };
            for answer in message::answers(&buffer[..length]) {
                if answer.sequence != self.sequence {
                    // Left of an earlier request that was given up.
                    continue;
                }
                if answer.kind == NLMSG_DONE || take(&answer) {
                    return Ok(());
                }
                if let Some(number) = answer.error() {
                    return Err(Errno::from_raw_os_error(number));
                }
            }
        }
    }
}
