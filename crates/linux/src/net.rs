//! Network namespaces without a name, and the netlink socket that creates links in them.
//!
//! Invariants: a namespace exists as long as a process or a descriptor refers to it, and this
//! module never gives it a name. So all objects disappear whenever and however this process ends. A
//! socket remains in the namespace in which it was opened. A separate thread enters the namespace,
//! opens the socket and ends. No other thread ever changes its namespace.

use crate::rtnetlink_message::{self, Answer, HEADER_BYTES, Message, NLMSG_DONE, Queue};
use anyhow::{Context, Result};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::net::Ipv4Addr;
use target_spec::LinkSpec;

pub use crate::rtnetlink_message::{LinkState, Subnet};

/// Size of the largest answer that the kernel sends at once, in bytes.
const ANSWER_BYTES: usize = 32 << 10;

/// Prefix length of a cluster's network. The network has 253 hosts and the machine's own address.
pub const PREFIX: u8 = 24;

#[cfg(test)]
thread_local! {
    /// Number of namespaces that this thread has requested.
    pub(crate) static MADE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A network namespace, held by a descriptor.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// Creates an empty namespace. Its only link is `lo`, which is down.
    ///
    /// # Errors
    /// The kernel does not permit new namespaces (EPERM), or does not support namespaces (EINVAL).
    pub fn new() -> Result<Namespace> {
        #[cfg(test)]
        MADE.set(MADE.get() + 1);
        let made = in_thread(|| {
            // SAFETY: the thread is used only by this code and ends afterwards. Other threads keep
            // their namespace, and descriptors remain shared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            open_own()
        });
        made?.map(Namespace).context("create a network namespace")
    }

    /// Opens the namespace of another process, or of a descriptor that another process holds, by a
    /// path such as `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// The namespace does not exist or may not be opened.
    pub fn open(path: &str) -> Result<Namespace> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty());
        fd.map(Namespace).with_context(|| format!("open {path}"))
    }

    /// Opens a socket for the links of this namespace.
    ///
    /// # Errors
    /// This process may not enter the namespace, or the kernel refuses to open the socket.
    pub fn socket(&self) -> Result<Netlink> {
        self.inside(Netlink::open)?
    }

    /// Calls `run` in this namespace, in a thread that ends afterwards. Sockets that `run` opens
    /// remain open.
    ///
    /// # Errors
    /// This process may not enter the namespace.
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

/// Calls `run` in a thread that ends afterwards, so that changes to the state of the thread do not
/// affect other threads.
fn in_thread<T: Send>(run: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().spawn_scoped(scope, run).context("start a thread")?;
        match thread.join() {
            Ok(value) => Ok(value),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Checks that a process may have separate mounts. The check creates separate mounts in a temporary
/// thread.
pub(crate) fn own_mounts() -> Result<()> {
    // SAFETY: the thread is used only by this code and ends afterwards. Other threads keep their
    // view of files.
    let tried = in_thread(|| unsafe { unshare_unsafe(UnshareFlags::NEWNS) })?;
    tried.context("create a mount namespace")
}

/// Announces a link's addresses whenever the link gets a carrier, from now on. This is necessary
/// because another host may have had these addresses while the link was down, and neighbours use
/// the last announcement.
///
/// # Errors
/// The link does not exist, or the kernel does not report changes of links.
pub fn announce_when_plugged(name: &'static str) -> Result<()> {
    let (mut links, mut changes) = (Netlink::open()?, Netlink::open()?);
    changes.listen()?;
    let mut known = links.link(name)?;
    let run = move || -> Result<()> {
        loop {
            let mut now = None;
            changes.changes(|link| {
                if link.index == known.index {
                    now = Some(link);
                }
            })?;
            // The number of carrier changes is compared instead of the state, because the link may
            // have been down and up again before the message arrives.
            if let Some(link) = now
                && link.has_carrier
                && link.carriers != known.carriers
            {
                known = link;
                links.announce(name)?;
            }
        }
    };
    let thread = std::thread::Builder::new().name(format!("announce {name}"));
    thread.spawn(run).context("start a thread")?;
    Ok(())
}

fn open_own() -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open("/proc/thread-self/ns/net", flags, Mode::empty())
}

/// A socket to the kernel's routing netlink, or to another netlink family. It belongs to one
/// namespace as long as it exists.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens a routing socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel refuses to open the socket.
    pub fn open() -> Result<Netlink> {
        // Protocol 0 is NETLINK_ROUTE, for which rustix has no constant.
        Netlink::open_family(None)
    }

    /// Opens a socket to another netlink family.
    ///
    /// # Errors
    /// The kernel has no such family, or refuses to open the socket.
    pub fn open_family(part: Option<Protocol>) -> Result<Netlink> {
        let flags = SocketFlags::CLOEXEC;
        let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, part);
        Ok(Netlink {
            socket: socket.context("open a netlink socket")?,
            sequence: 0,
        })
    }

    /// Sends a request and waits for the kernel's acknowledgement or refusal.
    pub(crate) fn ask(&mut self, request: Message) -> Result<(), Errno> {
        self.ask_all(vec![request])
    }

    /// Sends several requests together, of which the last one requests an answer. Waits until the
    /// kernel has refused one of them or acknowledged the last.
    pub(crate) fn ask_all(&mut self, requests: Vec<Message>) -> Result<(), Errno> {
        let mut refusal = None;
        self.exchange(requests, |answer| {
            refusal = answer.error();
            refusal.is_some()
        })?;
        match refusal {
            None | Some(0) => Ok(()),
            Some(number) => Err(Errno::from_raw_os_error(number)),
        }
    }

    /// Returns the index of a link.
    ///
    /// # Errors
    /// No link has this name.
    pub fn index(&mut self, name: &str) -> Result<i32> {
        Ok(self.link(name)?.index)
    }

    /// Returns the state of a link.
    ///
    /// # Errors
    /// No link has this name.
    pub fn link(&mut self, name: &str) -> Result<LinkState> {
        let mut found = Err(Errno::NODEV);
        let asked = self.exchange(vec![Message::find(name)], |answer| {
            if let Some(number) = answer.error() {
                found = Err(Errno::from_raw_os_error(number));
            } else if let Some(link) = answer.link() {
                found = Ok(link);
            }
            true
        });
        asked.and(found).with_context(|| format!("look for the link {name}"))
    }

    /// Returns the networks of all routes, without default routes.
    ///
    /// # Errors
    /// The kernel refuses to list the routes.
    pub fn routes(&mut self) -> Result<Vec<Subnet>> {
        let mut routes = Vec::new();
        let asked = self.exchange(vec![Message::routes()], |answer| {
            routes.extend(answer.route());
            false
        });
        asked.context("read the routes of this machine")?;
        Ok(routes)
    }

    /// Brings a link up, and adds it to the bridge `master` if one is given.
    ///
    /// # Errors
    /// The link or the bridge does not exist, or the kernel refuses the change.
    pub fn up(&mut self, name: &str, master: Option<&str>) -> Result<()> {
        let index = self.index(name)?;
        let master = master.map(|master| self.index(master)).transpose()?;
        self.ask(Message::up(index, master))
            .with_context(|| format!("bring the link {name} up"))
    }

    /// Takes a link down. For the other end, this is like a pulled cable.
    ///
    /// # Errors
    /// The link does not exist, or the kernel refuses the change.
    pub fn down(&mut self, name: &str) -> Result<()> {
        let index = self.index(name)?;
        self.ask(Message::down(index))
            .with_context(|| format!("take the link {name} down"))
    }

    /// Adds an address to a link, unless the link already has it. Returns true if the address is
    /// new.
    ///
    /// # Errors
    /// The link does not exist, or the kernel refuses the address.
    pub fn address(&mut self, name: &str, address: Ipv4Addr) -> Result<bool> {
        let index = self.index(name)?;
        match self.ask(Message::address(index, address, PREFIX)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => {
                Err(error).with_context(|| format!("set the address {address} of the link {name}"))
            }
        }
    }

    /// Removes an address from a link, if the link has it.
    ///
    /// # Errors
    /// The link does not exist, or the kernel refuses to remove the address.
    pub fn remove_address(&mut self, name: &str, address: Ipv4Addr) -> Result<()> {
        let index = self.index(name)?;
        match self.ask(Message::no_address(index, address, PREFIX)) {
            Err(Errno::ADDRNOTAVAIL) => Ok(()),
            taken => taken.with_context(|| format!("take the address {address} from {name}")),
        }
    }

    /// Announces the addresses of a link to all neighbours (gratuitous ARP), so that they forget
    /// the earlier owner. The kernel does this when the hardware address is set, even to the same
    /// value.
    ///
    /// # Errors
    /// The link does not exist, or the kernel refuses the change.
    pub fn announce(&mut self, name: &str) -> Result<()> {
        let link = self.link(name)?;
        let told = self.ask(Message::tell_neighbours(link.index));
        let own = &link.hardware_address;
        told.and_then(|()| self.ask(Message::hardware_address(link.index, own)))
            .with_context(|| format!("announce the addresses of the link {name}"))
    }

    /// Creates a bridge and brings it up.
    ///
    /// # Errors
    /// The kernel does not permit new bridges, or does not support bridges.
    pub fn bridge(&mut self, name: &str) -> Result<(), Errno> {
        self.ask(Message::bridge(name))
    }

    /// Creates a pair of links that are down. The second link is in another namespace.
    pub fn veth(&mut self, name: &str, peer: &str, namespace: &Namespace) -> Result<(), Errno> {
        self.ask(Message::veth(name, peer, namespace.as_fd().as_raw_fd()))
    }

    /// Limits a link's output. A specification without limits removes the queues.
    ///
    /// # Errors
    /// The kernel does not have the kind of queue (ENOENT), or refuses to create the queue.
    pub fn limit(&mut self, name: &str, link: &LinkSpec) -> Result<()> {
        let index = self.index(name)?;
        match self.ask(Message::no_queue(index)) {
            // The kernel returns ENOENT if the link has no queue, and EINVAL if it has only the
            // kernel's default queue. In both cases no queue of cassay remains.
            Ok(()) | Err(Errno::NOENT | Errno::INVAL) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("remove the limits of the link {name}"));
            }
        }
        let mut parent = rtnetlink_message::ROOT;
        if let Some(delay) = link.delay {
            self.ask(Message::delay(index, delay))
                .with_context(|| format!("delay the link {name} by {delay:?} (netem)"))?;
            parent = rtnetlink_message::OUTER_CLASS;
        }
        if let Some(rate) = link.rate_bits_per_s {
            self.ask(Message::rate(index, parent, rate))
                .with_context(|| format!("limit the link {name} to {rate} bit/s (tbf)"))?;
        }
        Ok(())
    }

    /// Returns the limits of a link's queues in the kernel.
    ///
    /// # Errors
    /// The link does not exist.
    pub fn limits(&mut self, name: &str) -> Result<LinkSpec> {
        let index = self.index(name)?;
        let mut link = LinkSpec::default();
        let asked = self.exchange(vec![Message::queues()], |answer| {
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

    /// Subscribes to all changes of links.
    ///
    /// # Errors
    /// The kernel refuses the subscription.
    pub fn listen(&mut self) -> Result<()> {
        /// `RTMGRP_LINK`, the multicast group for links.
        const LINKS: u32 = 1;
        let listening = net::bind(&self.socket, &SocketAddrNetlink::new(0, LINKS));
        listening.context("listen for changes of links")
    }

    /// Waits until links have changed, and passes the new state of each changed link to `take`.
    ///
    /// # Errors
    /// A message of the kernel cannot be received.
    pub fn changes(&mut self, mut take: impl FnMut(LinkState)) -> Result<()> {
        let mut buffer = vec![0; ANSWER_BYTES];
        let length = match self.receive(&mut buffer) {
            // The kernel has dropped messages because too many links changed. This is not an error.
            Err(Errno::NOBUFS) => return Ok(()),
            received => received.context("receive changes of links")?,
        };
        let answers = rtnetlink_message::answers(&buffer[..length]);
        answers.iter().filter_map(Answer::link).for_each(&mut take);
        Ok(())
    }

    /// Sends requests, and passes each message that answers one of them to `take`. Stops when
    /// `take` returns true or the kernel signals the end.
    pub(crate) fn exchange(
        &mut self,
        requests: Vec<Message>,
        mut take: impl FnMut(&Answer<'_>) -> bool,
    ) -> Result<(), Errno> {
        self.sequence += 1;
        let messages = requests.into_iter().map(|one| one.finish(self.sequence));
        let bytes = messages.collect::<Vec<_>>().concat();
        debug_assert!(bytes.len() >= HEADER_BYTES);
        let kernel = SocketAddrNetlink::new(0, 0);
        net::sendto(&self.socket, &bytes, SendFlags::empty(), &kernel)?;
        let mut buffer = vec![0; ANSWER_BYTES];
        loop {
            let length = self.receive(&mut buffer)?;
            for answer in rtnetlink_message::answers(&buffer[..length]) {
                if answer.sequence != self.sequence {
                    // This message answers an earlier request that was abandoned.
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

    fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        loop {
            match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                received => return Ok(received?.0),
            }
        }
    }
}
