//! Tests the losses of a host, in two namespaces with a link between them. The losses of a switch
//! are tested together with simulated hosts.

use super::*;
use crate::capability::machine_capabilities;
use crate::net::Namespace;
use crate::tcp::Reach;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use target_spec::Capability;

const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const STRANGER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 3);

/// No program listens on these ports, so a host that receives a packet refuses the connection.
const CQL: u16 = 9042;
const SSH: u16 = 22;

/// Time to wait for a packet that is dropped. It is shorter than the time after which TCP retries,
/// which is one second.
const SILENCE: Duration = Duration::from_millis(300);

/// Time limit that is long enough for a loaded machine. The test fails when it is reached.
const LIMIT: Duration = Duration::from_secs(60);

const TABLE: &str = "cassay-test-h1-broken0";

/// Network namespaces of two hosts, which a link connects.
struct Two {
    host: Namespace,
    other: Namespace,
}

impl Two {
    /// Creates the two hosts. Returns `None` if this machine does not permit this, and reports that
    /// the test is omitted.
    fn new(capability: Capability) -> Option<Two> {
        let mut able = machine_capabilities().iter();
        let found = able.find(|one| one.capability == capability).unwrap();
        if !found.present {
            crate::skip_report::unable(&found.detail);
            return None;
        }
        let (host, other) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        host.socket().unwrap().veth("link", "link", &other).unwrap();
        for (namespace, address) in [(&host, HOST), (&other, OTHER)] {
            let mut links = namespace.socket().unwrap();
            links.address("link", address).unwrap();
            links.up("lo", None).unwrap();
            links.up("link", None).unwrap();
        }
        let two = Two { host, other };
        assert!(two.to_host(SSH, LIMIT).is_open());
        Some(two)
    }

    fn to_host(&self, port: u16, limit: Duration) -> Reach {
        reach(&self.other, HOST, port, limit)
    }

    fn reach_from_host(&self, port: u16, limit: Duration) -> Reach {
        reach(&self.host, OTHER, port, limit)
    }

    fn filter(&self) -> Filter<HostLoss> {
        self.host.inside(Filter::open).unwrap().unwrap()
    }

    fn lose(&self, losses: &[HostLoss]) -> Filter<HostLoss> {
        let mut filter = self.filter();
        filter.add(TABLE, losses).unwrap();
        filter
    }
}

fn reach(from: &Namespace, to: Ipv4Addr, port: u16, limit: Duration) -> Reach {
    let address = SocketAddr::from((to, port));
    from.inside(|| Reach::connect(address, limit)).unwrap().unwrap()
}

fn all_of(tcp_ports: &[u16], end: PortEnd, peers: &[Ipv4Addr]) -> HostLoss {
    HostLoss {
        way: PacketDirection::In,
        peers: peers.to_vec(),
        tcp_ports: tcp_ports.to_vec(),
        end,
        share: 1.0,
    }
}

#[test]
fn a_host_loses_what_belongs_to_a_port_and_nothing_else() {
    let Some(two) = Two::new(Capability::PacketFilter) else {
        return;
    };
    let losses = all_of(&[CQL, 7000], PortEnd::Ours, &[]).both_ways();
    let mut filter = two.lose(&losses);
    for port in [CQL, 7000] {
        assert_eq!(two.to_host(port, SILENCE), Reach::Silent);
        assert!(
            two.reach_from_host(port, LIMIT).is_open(),
            "the other's port"
        );
        assert!(
            reach(&two.host, HOST, port, LIMIT).is_open(),
            "its own word"
        );
    }
    assert!(two.to_host(SSH, LIMIT).is_open());
    let counted = filter.dropped(TABLE).unwrap();
    assert!(
        counted[0] >= 2 && counted[1] == 0,
        "nobody answered: {counted:?}"
    );
    assert!(filter.tables().unwrap().contains(&TABLE.to_owned()));
    filter.remove(TABLE).unwrap();
    assert!(two.to_host(CQL, LIMIT).is_open());
    assert_eq!(filter.dropped(TABLE).unwrap(), [0; 0]);
    assert_eq!(filter.tables().unwrap(), [""; 0]);
    filter.remove(TABLE).unwrap();
}

#[test]
fn a_host_loses_one_way_what_it_sends_to_some_others() {
    let Some(two) = Two::new(Capability::PacketFilter) else {
        return;
    };
    let to = |peers: &[Ipv4Addr], end: PortEnd| HostLoss {
        way: PacketDirection::Out,
        ..all_of(&[CQL], end, peers)
    };
    let mut filter = two.lose(&[to(&[STRANGER], PortEnd::Either)]);
    assert!(two.reach_from_host(CQL, LIMIT).is_open() && two.to_host(CQL, LIMIT).is_open());
    filter.remove(TABLE).unwrap();

    let mut filter = two.lose(&[to(&[STRANGER, OTHER], PortEnd::Theirs)]);
    assert_eq!(two.reach_from_host(CQL, SILENCE), Reach::Silent);
    assert!(
        two.to_host(CQL, LIMIT).is_open(),
        "that port is at this end"
    );
    assert!(two.reach_from_host(SSH, LIMIT).is_open());
    filter.remove(TABLE).unwrap();

    // The request arrives, and the answer is dropped.
    let mut filter = two.lose(&[to(&[OTHER], PortEnd::Either)]);
    assert_eq!(two.to_host(CQL, SILENCE), Reach::Silent);
    assert_eq!(two.reach_from_host(CQL, SILENCE), Reach::Silent);
    let counted = filter.dropped(TABLE).unwrap();
    assert!(counted[0] >= 2, "{counted:?}");
    filter.remove(TABLE).unwrap();
    assert!(two.reach_from_host(CQL, LIMIT).is_open());
}

/// The kernel does not inform the sender about a dropped packet, so the sender repeats the packet.
#[test]
fn a_connection_that_was_there_goes_on_when_its_host_is_whole() {
    let Some(two) = Two::new(Capability::PacketFilter) else {
        return;
    };
    let bind = || TcpListener::bind((HOST, 0)).unwrap();
    let listener = two.host.inside(bind).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = || TcpStream::connect_timeout(&address, LIMIT).unwrap();
    let far = two.other.inside(connect).unwrap();
    let near = listener.accept().unwrap().0;
    let port = address.port();
    let mut filter = two.lose(&all_of(&[port], PortEnd::Ours, &[OTHER]).both_ways());
    for (mut from, mut to) in [(&near, &far), (&far, &near)] {
        from.write_all(b"x").unwrap();
        to.set_read_timeout(Some(SILENCE)).unwrap();
        assert_eq!(to.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    let counted = filter.dropped(TABLE).unwrap();
    assert!(counted.iter().all(|count| *count > 0), "{counted:?}");
    // The host must wait for an acknowledgement. It would send again immediately if the kernel had
    // reported that no packet was sent.
    let sockets = || std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let sockets = two.host.inside(sockets).unwrap();
    let mut lines = sockets.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let is_near = |line: &Vec<&str>| line[1].ends_with(&format!(":{port:04X}")) && line[3] == "01";
    let timer = lines.find(is_near).unwrap()[5].to_owned();
    assert!(timer.starts_with("01:"), "that of retransmissions: {timer}");
    filter.remove(TABLE).unwrap();
    for mut end in [&near, &far] {
        end.set_read_timeout(Some(LIMIT)).unwrap();
        end.read_exact(&mut [0]).unwrap();
    }
}

#[test]
fn a_host_loses_a_share_by_chance() {
    let Some(two) = Two::new(Capability::PacketLoss) else {
        return;
    };
    let loss = HostLoss {
        share: 0.3,
        ..all_of(&[CQL], PortEnd::Ours, &[])
    };
    let mut filter = two.lose(&[loss]);
    let count = || Reach::count(SocketAddr::from((HOST, CQL)), 200, SILENCE);
    // On average the filter drops 60 of 200 packets, with a standard deviation of 6.5. On a busy
    // machine, even fewer packets arrive.
    let open = two.other.inside(count).unwrap().unwrap();
    assert!((40..=185).contains(&open), "{open}");
    let counted = filter.dropped(TABLE).unwrap();
    assert!((15..=105).contains(&counted[0]), "{counted:?}");
}

#[test]
fn a_loss_that_a_host_cannot_have_is_refused_with_its_reason() {
    let Some(two) = Two::new(Capability::PacketFilter) else {
        return;
    };
    let good = || all_of(&[CQL], PortEnd::Ours, &[]);
    let table = [
        (
            HostLoss {
                share: 0.0,
                ..good()
            },
            "from 0.000001 to 1, not 0",
        ),
        (
            all_of(&[], PortEnd::Ours, &[OTHER]),
            "packets of listed ports",
        ),
        (all_of(&[1; 1001], PortEnd::Ours, &[]), "1001 ports"),
        (
            all_of(&[CQL], PortEnd::Ours, &[OTHER; 1001]),
            "the fault names 1001 other hosts",
        ),
    ];
    let mut filter = two.filter();
    for (loss, expected) in table {
        let error = format!("{:#}", filter.add(TABLE, &[good(), loss]).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(filter.tables().unwrap(), [""; 0]);
    // Each fault has a separate table.
    filter.add(TABLE, &[good()]).unwrap();
    assert!(filter.add(TABLE, &[good()]).is_err());
}
