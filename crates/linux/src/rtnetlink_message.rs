//! Messages of rtnetlink. The module builds the bytes that create links, addresses and queues, and
//! parses the answers. Messages to the packet filter and about sockets are in submodules.
//!
//! All functions are pure and do not communicate with the kernel. Layouts are those of
//! `linux/rtnetlink.h`, `linux/if_link.h` and `linux/pkt_sched.h`. Integers are in the machine's
//! byte order. An attribute consists of length, kind and data, and is padded to four bytes.

pub(super) mod filter;
mod link;
pub(super) mod sockets;

pub use link::LinkState;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Size in bytes of `struct nlmsghdr`, which has the length, kind, flags, sequence number and port.
pub(super) const HEADER_BYTES: usize = 16;

pub(super) const NLMSG_ERROR: u16 = 2;
pub(super) const NLMSG_DONE: u16 = 3;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
pub(super) const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
pub(super) const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_GETQDISC: u16 = 38;

const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;
const DUMP: u16 = 0x300;

const IFLA_IFNAME: u16 = 3;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TCA_NETEM_LATENCY64: u16 = 10;

const AF_INET: u8 = 2;
const IFF_UP: u32 = 1;
/// Parent of the outermost queue of a device.
pub(super) const ROOT: u32 = 0xFFFF_FFFF;
/// Handle of the outermost queue that this program creates.
const OUTER: u32 = 0x0001_0000;
/// Handle of the only class of netem.
pub(super) const OUTER_CLASS: u32 = 0x0001_0001;

/// `TC_LINKLAYER_ETHERNET`. With it, the kernel does not need a table of transmission times.
const ETHERNET: u8 = 1;

/// Maximum number of packets in a delaying queue. 100,000 full frames are 1.2 Gbit, which is 120 ms
/// at 10 Gbit/s. With the kernel's default of 1,000, packets that a fast link has in flight would
/// be dropped.
const DELAYED_PACKETS_MAX: u32 = 100_000;

/// Size of the smallest bucket of a rate limit, in bytes. This is the size of the largest segment
/// that TCP passes on.
const BURST_BYTES_MIN: u64 = 64 << 10;

/// Divisor of the rate that determines the size of a larger bucket. The bucket fills in 1 ms, so
/// that timers can keep up.
const BURSTS_PER_S: u64 = 1000;

/// Divisor of the rate that determines the size of the queue. Packets that would wait for more than
/// 50 ms are dropped, as in the buffer of a switch.
const QUEUES_PER_S: u64 = 20;

/// A request. Its length and sequence number are set when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16) -> Message {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(REQUEST | flags).to_ne_bytes());
        Message(bytes)
    }

    /// Returns the bytes of the request, with its length and sequence number.
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[0..4].copy_from_slice(&length.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.0
    }

    /// Creates a bridge and brings it up.
    pub fn bridge(name: &str) -> Message {
        let mut message = Message::new(RTM_NEWLINK, ACK | CREATE | EXCLUSIVE);
        message.link_header(0, Some(true));
        message.text(IFLA_IFNAME, name);
        message.nest(IFLA_LINKINFO, |info| info.text(INFO_KIND, "bridge"));
        message
    }

    /// Creates a pair of links, with `peer` in the namespace of the open descriptor `namespace`.
    /// Both links are down. The message that creates a veth cannot also bring it up, because the
    /// peer does not exist yet.
    pub fn veth(name: &str, peer: &str, namespace: i32) -> Message {
        let mut message = Message::new(RTM_NEWLINK, ACK | CREATE | EXCLUSIVE);
        message.link_header(0, None);
        message.text(IFLA_IFNAME, name);
        message.nest(IFLA_LINKINFO, |info| {
            info.text(INFO_KIND, "veth");
            info.nest(INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |other| {
                    other.link_header(0, None);
                    other.text(IFLA_IFNAME, peer);
                    other.attribute(IFLA_NET_NS_FD, &namespace.to_ne_bytes());
                });
            });
        });
        message
    }

    /// Changes a link without setting a property, to check the permission to change the link.
    pub fn touch(index: i32) -> Message {
        let mut message = Message::new(RTM_NEWLINK, ACK);
        message.link_header(index, None);
        message
    }

    /// Brings a link up, and adds it to a bridge if `master` is given.
    pub fn up(index: i32, master: Option<i32>) -> Message {
        let mut message = Message::new(RTM_NEWLINK, ACK);
        message.link_header(index, Some(true));
        if let Some(master) = master {
            message.attribute(IFLA_MASTER, &master.to_ne_bytes());
        }
        message
    }

    /// Requests a link by its name. The kernel answers with the link, without an acknowledgement.
    pub fn find(name: &str) -> Message {
        let mut message = Message::new(RTM_GETLINK, 0);
        message.link_header(0, None);
        message.text(IFLA_IFNAME, name);
        message
    }

    /// Adds an address to a link, and a route to the network with `prefix` bits.
    pub fn address(index: i32, address: Ipv4Addr, prefix: u8) -> Message {
        let mut message = Message::new(RTM_NEWADDR, ACK | CREATE | EXCLUSIVE);
        message.address_body(index, address, prefix);
        message
    }

    pub fn no_address(index: i32, address: Ipv4Addr, prefix: u8) -> Message {
        let mut message = Message::new(RTM_DELADDR, ACK);
        message.address_body(index, address, prefix);
        message
    }

    /// Requests all routes of IPv4, in all tables.
    pub fn routes() -> Message {
        let mut message = Message::new(RTM_GETROUTE, DUMP);
        message.0.extend([AF_INET, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        message
    }

    pub fn queues() -> Message {
        let mut message = Message::new(RTM_GETQDISC, DUMP);
        message.queue_header(0, 0, 0);
        message
    }

    /// Creates a queue without options, to check that the kernel supports this kind of queue.
    pub fn bare_queue(index: i32, kind: &str) -> Message {
        let mut message = Message::new(RTM_NEWQDISC, ACK | CREATE | EXCLUSIVE);
        message.queue_header(index, 0, ROOT);
        message.text(TCA_KIND, kind);
        message
    }

    pub fn no_queue(index: i32) -> Message {
        let mut message = Message::new(RTM_DELQDISC, ACK);
        message.queue_header(index, 0, ROOT);
        message
    }

    /// Limits a link's output to `bits_per_s`, by a token bucket below `parent`.
    pub fn rate(index: i32, parent: u32, bits_per_s: u64) -> Message {
        let rate = bytes_per_s(bits_per_s);
        let burst = (rate / BURSTS_PER_S).max(BURST_BYTES_MIN);
        let queue = rate / QUEUES_PER_S + burst;
        let mut message = Message::new(RTM_NEWQDISC, ACK | CREATE | EXCLUSIVE);
        let handle = if parent == ROOT { OUTER } else { 0 };
        message.queue_header(index, handle, parent);
        message.text(TCA_KIND, "tbf");
        message.nest(TCA_OPTIONS, |options| {
            // The struct tc_tbf_qopt has the rate, the peak rate (none), limit, buffer, and mtu in
            // ticks. The buffer is set in bytes below. The mtu is 0, because it applies only to a
            // peak rate.
            let mut parameters = rate_specification(rate).to_vec();
            parameters.extend([0; 12]);
            parameters.extend(saturated(queue).to_ne_bytes());
            parameters.extend([0; 8]);
            options.attribute(TCA_TBF_PARMS, &parameters);
            options.attribute(TCA_TBF_BURST, &saturated(burst).to_ne_bytes());
            if rate > u64::from(u32::MAX) {
                options.attribute(TCA_TBF_RATE64, &rate.to_ne_bytes());
            }
        });
        message
    }

    pub fn delay(index: i32, delay: Duration) -> Message {
        let mut message = Message::new(RTM_NEWQDISC, ACK | CREATE | EXCLUSIVE);
        message.queue_header(index, OUTER, ROOT);
        message.text(TCA_KIND, "netem");
        message.nest(TCA_OPTIONS, |options| {
            // The struct tc_netem_qopt has the latency in ticks (given in nanoseconds below),
            // limit, loss, gap, duplicate and jitter.
            options.0.extend(0u32.to_ne_bytes());
            options.0.extend(DELAYED_PACKETS_MAX.to_ne_bytes());
            options.0.extend([0; 16]);
            let ns = i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX);
            options.attribute(TCA_NETEM_LATENCY64, &ns.to_ne_bytes());
        });
        message
    }

    /// Appends `struct ifinfomsg`. With `up`, the message also sets or clears the flag "up".
    fn link_header(&mut self, index: i32, up: Option<bool>) {
        let flags = if up == Some(true) { IFF_UP } else { 0 };
        let changed = if up.is_some() { IFF_UP } else { 0 };
        self.0.extend([0; 4]);
        self.0.extend(index.to_ne_bytes());
        self.0.extend(flags.to_ne_bytes());
        self.0.extend(changed.to_ne_bytes());
    }

    /// Appends `struct ifaddrmsg`, and the address.
    fn address_body(&mut self, index: i32, address: Ipv4Addr, prefix: u8) {
        self.0.extend([AF_INET, prefix, 0, 0]);
        self.0.extend(index.to_ne_bytes());
        self.attribute(IFA_LOCAL, &address.octets());
        self.attribute(IFA_ADDRESS, &address.octets());
    }

    /// Appends `struct tcmsg`.
    fn queue_header(&mut self, index: i32, handle: u32, parent: u32) {
        self.0.extend([0; 4]);
        self.0.extend(index.to_ne_bytes());
        self.0.extend(handle.to_ne_bytes());
        self.0.extend(parent.to_ne_bytes());
        self.0.extend([0; 4]);
    }

    fn attribute(&mut self, kind: u16, data: &[u8]) {
        self.0.extend((data.len() as u16 + 4).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(data);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Appends a text attribute, which ends with a zero byte.
    fn text(&mut self, kind: u16, text: &str) {
        self.attribute(kind, &[text.as_bytes(), &[0]].concat());
    }

    fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Message)) {
        let start = self.0.len();
        self.0.extend([0; 4]);
        fill(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.0[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
    }
}

/// Converts bits to bytes. The result is at least 1, because with a rate of zero the link would not
/// transmit at all.
fn bytes_per_s(bits_per_s: u64) -> u64 {
    (bits_per_s / 8).max(1)
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Returns `struct tc_ratespec`: cell_log, linklayer, overhead, cell_align, mpu, rate.
fn rate_specification(bytes_per_s: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[1] = ETHERNET;
    bytes[8..12].copy_from_slice(&saturated(bytes_per_s).to_ne_bytes());
    bytes
}

/// One message of an answer. The body is the part after the header.
pub(super) struct Answer<'a> {
    pub kind: u16,
    pub sequence: u32,
    pub body: &'a [u8],
}

/// Returns the messages in the bytes of one receive. The function omits a truncated message.
pub(super) fn answers(bytes: &[u8]) -> Vec<Answer<'_>> {
    let mut answers = Vec::new();
    let mut rest = bytes;
    while let Some(length) = u32_at(rest, 0).map(|length| length as usize) {
        if length < HEADER_BYTES || length > rest.len() {
            break;
        }
        answers.push(Answer {
            kind: u16_at(rest, 4).unwrap_or(0),
            sequence: u32_at(rest, 8).unwrap_or(0),
            body: &rest[HEADER_BYTES..length],
        });
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    answers
}

impl Answer<'_> {
    /// Returns the error number of an acknowledgement, which is 0 on success. Returns `None` for
    /// other messages.
    pub fn error(&self) -> Option<i32> {
        let number = u32_at(self.body, 0)? as i32;
        (self.kind == NLMSG_ERROR).then_some(number.saturating_neg())
    }

    /// Returns the network of this route. Returns `None` for the default route, which leads to all
    /// networks.
    pub fn route(&self) -> Option<Subnet> {
        if self.kind != RTM_NEWROUTE || *self.body.first()? != AF_INET {
            return None;
        }
        let prefix = *self.body.get(1)?;
        let octets: [u8; 4] = find(self.body.get(12..)?, RTA_DST)?.try_into().ok()?;
        (prefix > 0).then_some(Subnet {
            address: Ipv4Addr::from(octets),
            prefix: prefix.min(32),
        })
    }

    /// Returns the limit that this queue applies, if it belongs to link `index` and has a kind that
    /// cassay uses.
    pub fn queue(&self, index: i32) -> Option<Queue> {
        if self.kind != RTM_NEWQDISC || u32_at(self.body, 4)? as i32 != index {
            return None;
        }
        let attributes = self.body.get(20..)?;
        let options = find(attributes, TCA_OPTIONS)?;
        match find(attributes, TCA_KIND)? {
            b"tbf\0" => {
                let exact = find(options, TCA_TBF_RATE64).and_then(u64_of);
                let rate = u32_at(find(options, TCA_TBF_PARMS)?, 8)?;
                Some(Queue::BitsPerS(exact.unwrap_or(rate.into()) * 8))
            }
            b"netem\0" => {
                let ns = u64_of(find(options.get(24..)?, TCA_NETEM_LATENCY64)?)?;
                Some(Queue::Delay(Duration::from_nanos(ns)))
            }
            _ => None,
        }
    }
}

/// Limit that a queue applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    BitsPerS(u64),
    Delay(Duration),
}

/// An IPv4 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// An address of the network.
    pub address: Ipv4Addr,
    /// Length of the network's prefix, in bits.
    pub prefix: u8,
}

impl Subnet {
    /// Returns true if the two networks have an address in common.
    pub fn overlaps(self, other: Subnet) -> bool {
        let prefix = self.prefix.min(other.prefix);
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
        u32::from(self.address) & mask == u32::from(other.address) & mask
    }
}

/// Returns the data of the first attribute of a kind. The upper two bits of the kind are flags.
fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = bytes;
    loop {
        let length = usize::from(u16_at(rest, 0)?);
        let data = rest.get(4..length)?;
        if u16_at(rest, 2)? & 0x3FFF == kind {
            return Some(data);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests;
