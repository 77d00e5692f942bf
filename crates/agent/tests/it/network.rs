//! Tests of network faults between hosts. A fault breaks only the intended connections, and all
//! connections work again afterwards.

use crate::endings::kill;
use crate::hosts::{LIMIT, able, assert_gone, inside, link_of, make, spec, wait_until};
use host::{Agent, Host, Hosts, Injection, Link, Loss};
use host::{Query, QueryAnswer, Reach};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use target_spec::{Capability, HostSpec, LinkSpec};

/// Time to wait for a lost packet, shorter than TCP's first retransmission after one second.
pub const SILENCE: Duration = Duration::from_millis(300);

/// Short enough for a test to wait for its end.
pub const SOON: Duration = Duration::from_millis(200);

/// Port without a listener, which refuses connections.
pub const CLOSED: u16 = 9;

pub const ONE: Link = Link::Host(1);
const TWO: Link = Link::Host(2);
const THREE: Link = Link::Host(3);

pub fn three(name: &str, folder: &tempfile::TempDir) -> Hosts {
    make(name, &spec(3, HostSpec::default()), folder.path())
}

pub fn address_of(host: &Host, port: u16) -> SocketAddr {
    SocketAddr::from((host.address(), port))
}

/// Returns the result of a connection attempt from a host, or for `None` from the machine.
pub fn reach(from: Option<&Host>, address: SocketAddr, limit: Duration) -> Reach {
    match from {
        None => Reach::connect(address, limit).unwrap(),
        Some(host) => match host.agent().see(Query::Reach { address, limit }).unwrap() {
            QueryAnswer::Reach(reach) => reach,
            other => panic!("{other:?}"),
        },
    }
}

pub fn is_open(from: Option<&Host>, to: &Host, port: u16) -> bool {
    reach(from, address_of(to, port), LIMIT).is_open()
}

fn is_silent(from: Option<&Host>, to: &Host, port: u16) -> bool {
    reach(from, address_of(to, port), SILENCE) == Reach::Silent
}

/// Waits until all connections are possible. The kernel may repeat the error of a failed neighbour
/// resolution for some time.
pub fn assert_all_open(hosts: &Hosts) {
    for to in hosts.all() {
        for from in hosts.all() {
            wait_until("the way is open", || is_open(Some(from), to, CLOSED));
        }
        wait_until("the machine's way is open", || is_open(None, to, CLOSED));
    }
}

/// Returns a host's number of connections that ended by a reset, and its number of sent resets. A
/// connection attempt to a closed port causes one reset.
pub fn resets(host: &Host) -> (u64, u64) {
    match host.agent().see(Query::Resets).unwrap() {
        QueryAnswer::Resets { connections, sent } => (connections, sent),
        other => panic!("{other:?}"),
    }
}

fn dropped(switch: &Agent, broken: host::Broken) -> Vec<u64> {
    match switch.see(Query::Dropped(broken)).unwrap() {
        QueryAnswer::Dropped(dropped) => dropped,
        other => panic!("{other:?}"),
    }
}

/// Opens a connection between two hosts. Returns both ends.
pub fn connection(from: &Host, to: &Host) -> (TcpStream, TcpStream) {
    let listener = inside(to, || TcpListener::bind(address_of(to, 0)).unwrap());
    let address = listener.local_addr().unwrap();
    let near = inside(from, || {
        TcpStream::connect_timeout(&address, LIMIT).unwrap()
    });
    (near, listener.accept().unwrap().0)
}

/// Returns true if a byte from the other end arrives at `to` in time.
pub fn arrives(to: &mut TcpStream, limit: Duration) -> bool {
    to.set_read_timeout(Some(limit)).unwrap();
    match to.read(&mut [0; 1]) {
        Ok(count) => count == 1,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_partition_cuts_who_is_apart_and_nobody_else() {
    if !able(&[Capability::Hosts, Capability::PacketFilter]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("partition", &folder);
    let [one, two, three] = hosts.all() else {
        panic!("three were asked for")
    };
    assert_all_open(&hosts);
    let (mut near, mut far) = connection(one, two);

    let losses = Loss::both_ways(&[ONE], &[TWO, THREE]);
    let broken = hosts.switch().unwrap().inject(Injection::Packets(losses), LIMIT).unwrap();
    for other in [two, three] {
        assert!(is_silent(Some(one), other, CLOSED));
        assert!(is_silent(Some(other), one, CLOSED));
    }
    assert!(is_open(Some(two), three, CLOSED) && is_open(Some(three), two, CLOSED));
    assert!(hosts.all().iter().all(|host| is_open(None, host, CLOSED)));
    near.write_all(b"x").unwrap();
    assert!(!arrives(&mut far, SILENCE), "a connection that was there");
    let counts = dropped(hosts.switch().unwrap(), broken);
    assert!(
        counts.len() == 2 && counts.iter().all(|count| *count > 0),
        "{counts:?}"
    );

    assert!(!hosts.switch().unwrap().heal(broken).unwrap().by_itself);
    assert!(arrives(&mut far, LIMIT), "it goes on");
    assert_all_open(&hosts);
    assert!(dropped(hosts.switch().unwrap(), broken).is_empty());
}

/// The host still receives requests and refuses the connection, but its refusal is lost.
#[test]
fn packets_lost_one_way_arrive_the_other_way() {
    if !able(&[Capability::Hosts, Capability::PacketFilter]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("one-way", &folder);
    let [one, two, _] = hosts.all() else {
        panic!("three were asked for")
    };
    let what = Injection::Packets(vec![Loss::one_way(&[ONE], &[TWO])]);
    let broken = hosts.switch().unwrap().inject(what, LIMIT).unwrap();
    let (at_one, at_two) = (resets(one).1, resets(two).1);
    assert!(is_silent(Some(two), one, CLOSED));
    wait_until("it comes to host1", || resets(one).1 == at_one + 1);
    assert!(is_silent(Some(one), two, CLOSED));
    assert_eq!(resets(two).1, at_two, "it did not come to host2");
    // Lost are the response, neighbour requests, and packets that a host sends spontaneously
    // (IPv6).
    let counted = dropped(hosts.switch().unwrap(), broken);
    assert!(counted[0] >= 2, "{counted:?}");

    // A second fault during the first one, which are healed separately.
    let what = Injection::Packets(Loss::both_ways(&[ONE], &[THREE, Link::Machine]));
    let other = hosts.switch().unwrap().inject(what, LIMIT).unwrap();
    assert!(is_silent(None, one, CLOSED));
    hosts.switch().unwrap().heal(broken).unwrap();
    assert!(is_open(Some(one), two, CLOSED));
    assert!(is_silent(None, one, CLOSED));
    hosts.switch().unwrap().heal(other).unwrap();
    assert_all_open(&hosts);
}

#[test]
fn a_client_is_cut_off_from_one_port_of_one_host() {
    if !able(&[Capability::Hosts, Capability::PacketFilter]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("client", &folder);
    let [one, two, _] = hosts.all() else {
        panic!("three were asked for")
    };
    let mut losses = Loss::both_ways(&[TWO], &[Link::Machine]);
    losses.iter_mut().for_each(|loss| loss.tcp_ports = vec![9042, 9142]);
    let broken = hosts.switch().unwrap().inject(Injection::Packets(losses), LIMIT).unwrap();
    for port in [9042, 9142] {
        assert!(is_silent(None, two, port));
        assert!(is_open(None, one, port) && is_open(Some(one), two, port));
    }
    assert!(is_open(None, two, 7000));
    // No request arrives, so no responses are sent and lost.
    let counts = dropped(hosts.switch().unwrap(), broken);
    assert!(counts[0] == 0 && counts[1] >= 2, "{counts:?}");
    hosts.switch().unwrap().heal(broken).unwrap();
    assert_all_open(&hosts);
}

#[test]
fn a_share_of_packets_is_lost_by_chance() {
    if !able(&[Capability::Hosts, Capability::PacketLoss]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("loss", &folder);
    let [one, two, _] = hosts.all() else {
        panic!("three were asked for")
    };
    let open = || {
        let tries = Query::Tries {
            address: address_of(two, CLOSED),
            tries: 200,
            limit: SILENCE,
        };
        one.agent().see(tries).unwrap()
    };
    let mut loss = Loss::one_way(&[ONE], &[TWO]);
    loss.share = 0.3;
    let broken = hosts.switch().unwrap().inject(Injection::Packets(vec![loss]), LIMIT).unwrap();
    // On average 60 of 200 packets are lost, with a standard deviation of 6.5. On a busy machine,
    // even fewer connections succeed.
    let seen = open();
    assert!(matches!(seen, QueryAnswer::Open(40..=185)), "{seen:?}");
    let counted = dropped(hosts.switch().unwrap(), broken);
    assert!((15..=105).contains(&counted[0]), "{counted:?}");
    hosts.switch().unwrap().heal(broken).unwrap();
    wait_until("all come through", || open() == QueryAnswer::Open(200));
}

#[test]
fn a_loss_where_nothing_goes_breaks_nothing() {
    if !able(&[Capability::Hosts, Capability::PacketFilter]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("nothing", &folder);
    let losses = Loss::both_ways(&[Link::Host(9)], &[ONE, TWO, THREE, Link::Machine]);
    let broken = hosts.switch().unwrap().inject(Injection::Packets(losses), LIMIT).unwrap();
    assert_all_open(&hosts);
    assert_eq!(dropped(hosts.switch().unwrap(), broken), [0, 0]);
    hosts.switch().unwrap().heal(broken).unwrap();
    assert_eq!(dropped(hosts.switch().unwrap(), broken), [0; 0]);
}

#[test]
fn an_impossible_injection_is_refused_with_its_reason() {
    if !able(&[Capability::Hosts, Capability::PacketFilter]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("refused", &folder);
    let (switch, host) = (hosts.switch().unwrap(), hosts.all()[0].agent());
    let share = |share| Loss {
        share,
        ..Loss::one_way(&[ONE], &[TWO])
    };
    let ports = Loss {
        tcp_ports: vec![0; 1001],
        ..share(1.0)
    };
    let of = |from: &[Link]| Injection::Packets(vec![Loss::one_way(from, &[TWO])]);
    let link = LinkSpec {
        rate_bits_per_s: Some(0),
        delay: None,
    };
    let table = [
        (
            switch,
            Injection::Packets(Vec::new()),
            "the fault selects no packets to drop",
        ),
        (
            switch,
            Injection::Packets(vec![share(0.0)]),
            "from 0.000001 to 1, not 0",
        ),
        (switch, Injection::Packets(vec![share(1.5)]), "not 1.5"),
        (switch, Injection::Packets(vec![ports]), "1001 ports"),
        (switch, of(&[Link::Host(0)]), "names host 0"),
        (switch, of(&[Link::Host(254)]), "hosts 1 to 253"),
        (switch, of(&[]), "addresses of both ends"),
        (host, of(&[ONE]), "not the agent of a switch"),
        (host, Injection::LinkDown(1), "not the agent of a switch"),
        (switch, Injection::LinkDown(4), "look for the link port4"),
        (
            switch,
            Injection::LinkDown(usize::MAX),
            "look for the link port184",
        ),
        (switch, Injection::LinkTo { number: 1, link }, "0 bit/s"),
        (
            switch,
            Injection::LinkFrom(LinkSpec::default()),
            "no separate network",
        ),
        (
            switch,
            Injection::TakeAddress(Ipv4Addr::LOCALHOST),
            "no separate network",
        ),
        (
            host,
            Injection::TakeAddress(hosts.all()[0].address()),
            "already",
        ),
        (switch, Injection::Reset(vec![9042]), "no separate network"),
    ];
    for (agent, what, expected) in table {
        let told = format!("{what:?}");
        let error = format!("{:#}", agent.inject(what, LIMIT).unwrap_err());
        assert!(error.contains(expected), "{told}: {error}");
    }
    assert_all_open(&hosts);
}

#[test]
fn connections_to_a_port_are_reset_and_no_others() {
    if !able(&[Capability::Hosts, Capability::Reset]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("reset", &folder);
    let [one, two, three] = hosts.all() else {
        panic!("three were asked for")
    };
    let (mut near, mut far) = connection(one, two);
    let (mut other_near, mut other_far) = connection(three, two);
    let port = far.local_addr().unwrap().port();
    let (before, _) = resets(two);
    let broken = two.agent().inject(Injection::Reset(vec![port, CLOSED]), LIMIT).unwrap();
    let kind = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.read(&mut [0; 1]).unwrap_err().kind()
    };
    assert_eq!(kind(&mut near), ErrorKind::ConnectionReset);
    assert_eq!(kind(&mut far), ErrorKind::ConnectionAborted);
    assert_eq!(resets(two).0, before + 1);
    other_near.write_all(b"x").unwrap();
    assert!(arrives(&mut other_far, LIMIT));
    two.agent().heal(broken).unwrap();
    assert!(is_open(Some(one), two, port));

    // Java uses IPv6 sockets for connections over IPv4.
    if let Ok(listener) = inside(two, || TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))) {
        let address = address_of(two, listener.local_addr().unwrap().port());
        let mut near = TcpStream::connect_timeout(&address, LIMIT).unwrap();
        let _far = listener.accept().unwrap();
        let what = Injection::Reset(vec![address.port()]);
        two.agent().inject(what, LIMIT).unwrap();
        assert_eq!(kind(&mut near), ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_fault_heals_by_itself_when_its_time_is_over() {
    if !able(&[Capability::Hosts, Capability::PacketFilter]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = three("within", &folder);
    let everybody = Loss::both_ways(&[ONE], &[TWO, THREE, Link::Machine]);
    for what in [Injection::Packets(everybody), Injection::LinkDown(1)] {
        let broken = hosts.switch().unwrap().inject(what, SOON).unwrap();
        // TCP retransmits until the fault is healed.
        assert_all_open(&hosts);
        assert!(hosts.switch().unwrap().heal(broken).unwrap().by_itself);
    }
}

#[test]
fn faults_end_with_the_agent_of_the_switch() {
    if !able(&[Capability::Hosts, Capability::PacketFilter]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hosts = make(
        "broken-switch",
        &spec(3, HostSpec::default()),
        &folder.path().join("cluster"),
    );
    let (state, before) = (hosts.state(), link_of(&hosts.state()));
    let losses = Loss::both_ways(&[ONE], &[TWO, THREE]);
    hosts.switch().unwrap().inject(Injection::Packets(losses), LIMIT).unwrap();
    hosts.switch().unwrap().inject(Injection::LinkDown(2), LIMIT).unwrap();
    let one = &hosts.all()[0];
    one.agent()
        .inject(Injection::TakeAddress(hosts.all()[1].address()), LIMIT)
        .unwrap();
    kill(&[hosts.switch().unwrap().process()]);
    wait_until("its end is known", || {
        hosts.switch().unwrap().lost().is_some()
    });
    wait_until("the link has gone", || link_of(&state) != before);
    let _ = hosts.end();
    assert_gone(&state, before);
}
