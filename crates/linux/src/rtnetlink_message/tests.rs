//! Tests that messages are built and parsed in the kernel's format.

use super::*;

/// Returns the attributes after the first `fixed` bytes of a message.
fn attributes(message: &Message, fixed: usize) -> &[u8] {
    &message.0[HEADER_BYTES + fixed..]
}

/// Parses a request as if it were an answer of the kernel.
fn answer<T>(message: Message, read: impl FnOnce(&Answer<'_>) -> T) -> T {
    let bytes = message.finish(7);
    let answers = answers(&bytes);
    assert_eq!((answers.len(), answers[0].sequence), (1, 7));
    read(&answers[0])
}

#[test]
fn a_request_says_its_length_and_asks_for_an_acknowledgement() {
    let bytes = Message::up(5, Some(9)).finish(3);
    let expected: Vec<u8> = [
        40u32.to_ne_bytes().as_slice(),
        &16u16.to_ne_bytes(),
        &5u16.to_ne_bytes(),
        &3u32.to_ne_bytes(),
        &[0; 4],
        // The struct ifinfomsg contains the index of link 5, and sets the flag "up".
        &[0; 4],
        &5u32.to_ne_bytes(),
        &1u32.to_ne_bytes(),
        &1u32.to_ne_bytes(),
        // IFLA_MASTER
        &8u16.to_ne_bytes(),
        &10u16.to_ne_bytes(),
        &9u32.to_ne_bytes(),
    ]
    .concat();
    assert_eq!(bytes, expected);
}

#[test]
fn a_pair_of_links_names_both_and_puts_the_peer_elsewhere() {
    let message = Message::veth("port1", "eth0", 42);
    let outer = attributes(&message, 16);
    assert_eq!(find(outer, IFLA_IFNAME), Some(&b"port1\0"[..]));
    let info = find(outer, IFLA_LINKINFO).unwrap();
    assert_eq!(find(info, INFO_KIND), Some(&b"veth\0"[..]));
    let data = find(info, INFO_DATA).unwrap();
    let peer = &find(data, VETH_INFO_PEER).unwrap()[16..];
    assert_eq!(find(peer, IFLA_IFNAME), Some(&b"eth0\0"[..]));
    assert_eq!(find(peer, IFLA_NET_NS_FD), Some(&42u32.to_ne_bytes()[..]));
    assert_eq!(message.0.len() % 4, 0);
}

#[test]
fn an_address_stands_in_both_of_its_attributes() {
    let address = Ipv4Addr::new(10, 94, 0, 1);
    for message in [
        Message::address(3, address, 24),
        Message::no_address(3, address, 24),
    ] {
        assert_eq!(message.0[16..20], [AF_INET, 24, 0, 0]);
        for kind in [IFA_LOCAL, IFA_ADDRESS] {
            let found = find(attributes(&message, 8), kind);
            assert_eq!(found, Some(&[10, 94, 0, 1][..]));
        }
    }
}

#[test]
fn a_rate_is_read_back_as_it_was_asked_for() {
    for bits_per_s in [8, 100_000_000, 1_000_000_000, 100_000_000_000] {
        let message = Message::rate(4, ROOT, bits_per_s);
        let options = find(attributes(&message, 20), TCA_OPTIONS).unwrap();
        assert_eq!(find(options, TCA_TBF_PARMS).unwrap().len(), 36);
        let bytes = bits_per_s / 8;
        assert_eq!(
            find(options, TCA_TBF_RATE64).is_some(),
            bytes > u64::from(u32::MAX)
        );
        let burst = u32_at(find(options, TCA_TBF_BURST).unwrap(), 0).unwrap();
        assert!(u64::from(burst) >= (bytes / 1000).max(64 << 10));
        let read = answer(message.clone(), |one| one.queue(4));
        assert_eq!(read, Some(Queue::BitsPerS(bits_per_s)));
        assert_eq!(answer(message, |one| one.queue(5)), None, "another link");
    }
}

#[test]
fn a_delay_is_read_back_as_it_was_asked_for() {
    for delay in [Duration::from_micros(50), Duration::from_secs(10)] {
        let read = answer(Message::delay(4, delay), |one| one.queue(4));
        assert_eq!(read, Some(Queue::Delay(delay)));
    }
}

#[test]
fn networks_overlap_if_one_holds_the_other() {
    let net = |text: &str, prefix| Subnet {
        address: text.parse().unwrap(),
        prefix,
    };
    let table = [
        (net("10.94.0.0", 24), net("10.94.0.9", 32), true),
        (net("10.94.0.0", 24), net("10.94.1.0", 24), false),
        (net("10.94.0.0", 24), net("10.0.0.0", 8), true),
        (net("10.94.0.0", 24), net("0.0.0.0", 0), true),
        (net("10.94.0.0", 24), net("11.0.0.0", 8), false),
    ];
    for (one, other, expected) in table {
        assert_eq!(one.overlaps(other), expected, "{one:?} {other:?}");
        assert_eq!(other.overlaps(one), expected, "{other:?} {one:?}");
    }
}

#[test]
fn routes_are_read_and_the_default_route_is_none() {
    let route = |prefix: u8, destination: Option<[u8; 4]>| {
        let mut message = Message::new(RTM_NEWROUTE, 0);
        message.0.extend([AF_INET, prefix]);
        message.0.extend([0; 10]);
        if let Some(destination) = destination {
            message.attribute(RTA_DST, &destination);
        }
        answer(message, |one| one.route())
    };
    let expected = Subnet {
        address: Ipv4Addr::new(10, 94, 0, 0),
        prefix: 24,
    };
    assert_eq!(route(24, Some([10, 94, 0, 0])), Some(expected));
    assert_eq!(route(0, None), None);
}

#[test]
fn an_answer_that_is_cut_short_is_no_answer() {
    let whole = Message::up(5, None).finish(1);
    let two = [whole.clone(), whole.clone()].concat();
    assert_eq!(answers(&two).len(), 2);
    for length in 0..whole.len() {
        assert!(answers(&whole[..length]).is_empty(), "{length}");
    }
    for length in 0..16 {
        // A length that is smaller than the header must not cause an endless loop.
        let mut bytes = whole.clone();
        bytes[0] = length;
        bytes[1..4].fill(0);
        assert!(answers(&bytes).is_empty());
    }
    assert_eq!(
        find(&[3, 0, 1, 0], 1),
        None,
        "an attribute below its header"
    );
}

#[test]
fn refusals_are_error_numbers() {
    let mut message = Message::new(NLMSG_ERROR, 0);
    message.0.extend((-1i32).to_ne_bytes());
    assert_eq!(answer(message, |one| one.error()), Some(1));
    let mut message = Message::new(NLMSG_ERROR, 0);
    message.0.extend(0i32.to_ne_bytes());
    assert_eq!(answer(message, |one| one.error()), Some(0));
    assert_eq!(answer(Message::up(1, None), |one| one.error()), None);
}
