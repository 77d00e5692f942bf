//! Messages about links. The module parses the state of a link, and builds messages that change a
//! link.

use super::{ACK, AF_INET, Answer, IFF_UP, Message, RTM_NEWLINK, find, u32_at, u64_of};

const IFLA_ADDRESS: u16 = 1;
const IFLA_STATS64: u16 = 23;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_CARRIER_UP_COUNT: u16 = 47;
const IFLA_INET_CONF: u16 = 1;
/// `IPV4_DEVCONF_ARP_NOTIFY`. With it, a link announces its addresses when its hardware address is
/// set.
const ARP_NOTIFY: u16 = 22;

const IFF_LOWER_UP: u32 = 1 << 16;

/// Size of `struct ifinfomsg` in bytes.
const LINK_HEADER_BYTES: usize = 16;

/// State of a link in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    pub index: i32,
    /// True if the link is administratively up.
    pub is_up: bool,
    /// True if the other end of the link exists and is up.
    pub has_carrier: bool,
    /// Number of times that the link has gained a carrier.
    pub carriers: u32,
    pub hardware_address: Vec<u8>,
    /// Number of packets received since the link was created.
    pub received_packets: u64,
    /// Number of packets sent since the link was created.
    pub sent_packets: u64,
}

impl Message {
    pub fn down(index: i32) -> Message {
        let mut message = Message::new(RTM_NEWLINK, ACK);
        message.link_header(index, Some(false));
        message
    }

    /// Makes a link announce its addresses to its neighbours whenever its hardware address is set.
    pub fn tell_neighbours(index: i32) -> Message {
        let mut message = Message::new(RTM_NEWLINK, ACK);
        message.link_header(index, None);
        message.nest(IFLA_AF_SPEC, |families| {
            families.nest(AF_INET.into(), |family| {
                family.nest(IFLA_INET_CONF, |settings| {
                    settings.attribute(ARP_NOTIFY, &1u32.to_ne_bytes());
                });
            });
        });
        message
    }

    pub fn hardware_address(index: i32, address: &[u8]) -> Message {
        let mut message = Message::new(RTM_NEWLINK, ACK);
        message.link_header(index, None);
        message.attribute(IFLA_ADDRESS, address);
        message
    }
}

impl Answer<'_> {
    pub fn link(&self) -> Option<LinkState> {
        if self.kind != RTM_NEWLINK {
            return None;
        }
        let flags = u32_at(self.body, 8)?;
        let attributes = self.body.get(LINK_HEADER_BYTES..)?;
        // The struct rtnl_link_stats64 begins with the packets received and sent.
        let counter = |at: usize| {
            let counters = find(attributes, IFLA_STATS64)?;
            u64_of(counters.get(8 * at..8 * at + 8)?)
        };
        Some(LinkState {
            index: u32_at(self.body, 4)? as i32,
            is_up: flags & IFF_UP != 0,
            has_carrier: flags & IFF_LOWER_UP != 0,
            carriers: find(attributes, IFLA_CARRIER_UP_COUNT)
                .and_then(|count| u32_at(count, 0))
                .unwrap_or(0),
            hardware_address: find(attributes, IFLA_ADDRESS).unwrap_or_default().to_vec(),
            received_packets: counter(0).unwrap_or(0),
            sent_packets: counter(1).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtnetlink_message::{HEADER_BYTES, answers};

    #[test]
    fn a_link_is_read_as_the_kernel_tells_it() {
        let mut message = Message::hardware_address(7, &[2, 0, 0, 0, 0, 1]);
        let flags = IFF_UP | IFF_LOWER_UP;
        message.0[HEADER_BYTES + 8..][..4].copy_from_slice(&flags.to_ne_bytes());
        message.attribute(IFLA_CARRIER_UP_COUNT, &3u32.to_ne_bytes());
        let counters = [11u64, 22, 33].map(u64::to_ne_bytes).concat();
        message.attribute(IFLA_STATS64, &counters);
        let bytes = message.finish(1);
        let expected = LinkState {
            index: 7,
            is_up: true,
            has_carrier: true,
            carriers: 3,
            hardware_address: vec![2, 0, 0, 0, 0, 1],
            received_packets: 11,
            sent_packets: 22,
        };
        assert_eq!(answers(&bytes)[0].link(), Some(expected));
        let down = answers(&Message::down(7).finish(1))[0].link().unwrap();
        assert!(!down.is_up && !down.has_carrier && down.received_packets == 0);
    }

    #[test]
    fn a_link_is_taken_down_by_the_flag_that_is_changed() {
        let bytes = Message::down(5).finish(1);
        let flags = [0u32, IFF_UP].map(u32::to_ne_bytes).concat();
        assert_eq!(bytes[HEADER_BYTES + 8..], flags);
    }
}
