//! Tests of links that are down or slow, and of duplicate addresses.

use crate::hosts::{LIMIT, able, inside, make, spec, wait_until};
use crate::network::{
    CLOSED, ONE, SILENCE, SOON, address_of, arrives, assert_all_open, connection, is_open, reach,
    resets, three,
};
use host::{Agent, Host, Injection, Link, Query, QueryAnswer, capabilities};
use std::io::Write;
use std::time::Duration;
use target_spec::{Capability, CapabilityStatus, HostSpec, LinkSpec};

/// Returns a link's administrative state, carrier state, and number of received packets.
fn link(agent: &Agent, what: Query) -> (bool, bool, u64) {
    match agent.see(what).unwrap() {
        QueryAnswer::Link {
            is_up,
            has_carrier,
            received_packets,
            sent_packets,
        } => {
            assert!(sent_packets > 0);
            (is_up, has_carrier, received_packets)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cable_is_pulled_out_and_plugged_in_again() {
    if !able(&[Capability::Hosts]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("cable", &folder);
    let [one, two, three] = hosts.all() else {
        panic!("three were asked for")
    };
    let (mut near, mut far) = connection(one, two);
    let broken = hosts.switch().unwrap().inject(Injection::LinkDown(1), LIMIT).unwrap();
    wait_until("the host sees it", || {
        matches!(link(one.agent(), Query::Link), (true, false, _))
    });
    let while_out = link(one.agent(), Query::Link);
    let port = |of| link(hosts.switch().unwrap(), Query::Port(of));
    assert!(matches!(port(ONE), (false, false, _)));
    assert!(matches!(port(Link::Machine), (true, true, _)));
    assert!(!reach(Some(two), address_of(one, CLOSED), SILENCE).is_open());
    assert!(!reach(Some(one), address_of(two, CLOSED), SILENCE).is_open());
    assert!(!reach(None, address_of(one, CLOSED), SILENCE).is_open());
    assert!(is_open(Some(two), three, CLOSED) && is_open(None, two, CLOSED));
    near.write_all(b"x").unwrap();
    assert!(!arrives(&mut far, SILENCE), "a connection that was there");
    assert_eq!(link(one.agent(), Query::Link), while_out, "nothing came");
    let error = hosts.switch().unwrap().inject(Injection::LinkDown(1), LIMIT).unwrap_err();
    assert!(
        format!("{error:#}").contains("port1 is already down"),
        "{error:#}"
    );

    hosts.switch().unwrap().heal(broken).unwrap();
    assert!(arrives(&mut far, LIMIT), "it goes on");
    assert_all_open(&hosts);
    let (is_up, has_carrier, received_packets) = link(one.agent(), Query::Link);
    assert!(is_up && has_carrier && received_packets > while_out.2);
}

/// Returns the duration of a transfer of 1 MB between hosts, or `None` after `limit`.
fn transfer(from: &Host, to: &Host, limit: Duration) -> Option<Duration> {
    let port = to.agent().receive(LIMIT).unwrap();
    let transfer = Query::Transfer {
        address: address_of(to, port),
        bytes: 1_000_000,
        limit,
    };
    match from.agent().see(transfer).unwrap() {
        QueryAnswer::Transfer(took) => took,
        other => panic!("{other:?}"),
    }
}

/// Checks only the minimum duration of a transfer, because other programs can make it longer.
#[test]
fn a_link_is_slow_until_it_is_as_fast_as_before() {
    if !able(&[Capability::Hosts, Capability::LinkRate]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let rate = |bits_per_s| LinkSpec {
        rate_bits_per_s: Some(bits_per_s),
        delay: None,
    };
    let host = HostSpec {
        link: rate(1_000_000_000),
        ..HostSpec::default()
    };
    let hosts = make("slow", &spec(2, host), folder.path());
    let [one, two] = hosts.all() else {
        panic!("two were asked for")
    };
    let transfer = |limit| transfer(one, two, limit);
    let before = one.limits().unwrap();
    let fast = transfer(LIMIT).unwrap();
    let link = rate(8_000_000);
    for (agent, what) in [
        (
            hosts.switch().unwrap(),
            Injection::LinkTo { number: 2, link },
        ),
        (one.agent(), Injection::LinkFrom(link)),
    ] {
        let broken = agent.inject(what, LIMIT).unwrap();
        // One second, less the time for the burst that the token bucket passes immediately. A lost
        // packet makes the transfer longer.
        let slow = transfer(LIMIT).unwrap();
        assert!(
            slow > Duration::from_millis(850) && slow > fast,
            "{slow:?} {fast:?}"
        );
        assert_eq!(transfer(SOON), None, "that is not enough");
        agent.heal(broken).unwrap();
        assert_eq!(
            (one.limits().unwrap(), two.limits().unwrap()),
            (before.clone(), before.clone())
        );
    }
    // Without the kernel's support for delays, the agent must refuse the whole fault.
    let delays = |able: &CapabilityStatus| able.capability == Capability::LinkDelay && able.present;
    if !capabilities().iter().any(delays) {
        let link = LinkSpec {
            delay: Some(SOON),
            ..link
        };
        let what = Injection::LinkTo { number: 1, link };
        let error = hosts.switch().unwrap().inject(what, LIMIT).unwrap_err();
        assert!(format!("{error:#}").contains("netem"), "{error:#}");
        assert_eq!(one.limits().unwrap(), before);
    }
    // A limit above the current one has no effect.
    let broken = one.agent().inject(Injection::LinkFrom(rate(2_000_000_000)), LIMIT).unwrap();
    assert_eq!(one.limits().unwrap(), before);
    one.agent().heal(broken).unwrap();
    assert_eq!(one.limits().unwrap(), before);
}

/// Returns the hardware address of the host `of` in the ARP table of the host `from`, or of the
/// machine for `None`. Sends no ARP request.
fn neighbour(from: Option<&Host>, of: &Host) -> String {
    let read = || std::fs::read_to_string("/proc/thread-self/net/arp").unwrap();
    let text = match from {
        None => read(),
        Some(host) => inside(host, read),
    };
    let address = of.address().to_string();
    let mut lines = text.lines().map(|line| line.split_ascii_whitespace());
    let mut line = lines.find(|words| words.clone().next() == Some(&address));
    line.as_mut().and_then(|words| words.nth(3)).unwrap_or_default().to_owned()
}

/// A cluster manager causes such a fault if it starts a node with its address on another host.
#[test]
fn an_address_is_taken_by_another_host_and_comes_back() {
    if !able(&[Capability::Hosts]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("take", &folder);
    let [one, two, three] = hosts.all() else {
        panic!("three were asked for")
    };
    assert_all_open(&hosts);
    let of_one = neighbour(None, one);
    let of_two = neighbour(Some(three), two);
    assert!(of_one != of_two && !of_one.is_empty() && !of_two.is_empty());
    // Without an announcement, a neighbour would still have the old hardware address.
    let all_know = |hardware: &str| {
        for from in [None, Some(three)] {
            wait_until("they are told", || neighbour(from, one) == hardware);
        }
    };
    // A refused connection shows that the host was reached.
    let assert_reached = |host: &Host| {
        let before = resets(host).1;
        assert!(is_open(None, one, CLOSED) && is_open(Some(three), one, CLOSED));
        assert_eq!(resets(host).1, before + 2);
    };
    assert_reached(one);
    for cable_first in [false, true] {
        let down = hosts.switch().unwrap().inject(Injection::LinkDown(1), LIMIT).unwrap();
        let take = Injection::TakeAddress(one.address());
        let taken = two.agent().inject(take, LIMIT).unwrap();
        all_know(&of_two);
        assert_reached(two);

        let heal = |cable: bool| {
            if cable {
                hosts.switch().unwrap().heal(down).unwrap()
            } else {
                two.agent().heal(taken).unwrap()
            }
        };
        heal(cable_first);
        heal(!cable_first);
        all_know(&of_one);
        assert_reached(one);
    }
    assert_all_open(&hosts);
}
