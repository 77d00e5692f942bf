//! The rows of the system under test.

use super::row::{DAY, LOCAL_NODES_MAX, RATE_MAX, S, SECTION, optional, required, with};
use crate::format::field::{Field, Type};
use crate::settings::draft::Kind;
use cql::response::ErrorCode;
use std::time::Duration;
use target_spec::fault::{Commands, DataLoss};
use target_spec::{Authentication, Collector, Isolation, JolokiaAccess, Latency, TlsSpec};

pub(super) const FIELDS: &[Field] = &[
    required(
        "target",
        SECTION,
        "The system under test: exactly one of these.",
    ),
    // A local target.
    optional(
        "target.local",
        Type::Section(|d| d.kind = Kind::Local),
        "Real Cassandra on this machine, started and stopped by cassay.",
    ),
    optional(
        "target.local.nodes",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| d.local.nodes = n as usize),
        "Number of nodes, on loopback addresses; with `hosts`, of all of them together. Default: \
         1, or `hosts` times `nodes_per_host`.",
    ),
    optional(
        "target.local.hosts",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| d.hosts_count = n as usize),
        "Number of hosts that the nodes live on: stand-ins for machines, each with its own \
         network, limits and data volume, or the machines of `machines`. Default: none, the nodes \
         share this machine.",
    ),
    with(
        "target.local.nodes_per_host",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| d.nodes_per_host = n as usize),
        "1",
        "Number of nodes on each host.",
    ),
    optional(
        "target.local.racks",
        Type::WordOr(
            &[("per-host", |_| {})],
            &Type::List(&Type::Name(|d, text| d.racks.push(text.into()))),
        ),
        "Racks: hosts are dealt to them in turn (without hosts, nodes); `per-host`: each host is \
         one, so that replicas are on different hosts. Default: `per-host` with hosts, else \
         `[rack1]`.",
    ),
    with(
        "target.local.isolation",
        choice!(|d| d.hosts.isolation;
            "auto" => Isolation::Auto, "hosts" => Isolation::Hosts,
            "loopback" => Isolation::Loopback
        ),
        "auto",
        "How far hosts are kept apart. `hosts`: a network, limits and a volume each, which needs \
         root. `loopback`: only addresses of their own. `auto`: the first where this machine \
         allows it, else the second.",
    ),
    optional(
        "target.local.host",
        SECTION,
        "What each host has; what is left out is not limited. Needs `hosts`.",
    ),
    optional(
        "target.local.host.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| {
            d.hosts.host.cpus.get_or_insert_default().push(n as usize)
        })),
        "Numbers of the CPUs that it may use.",
    ),
    optional(
        "target.local.host.cpu_quota",
        Type::Number(0.1, 4096.0, |d, n| d.hosts.host.cpu_quota = Some(n)),
        "CPU time, in cores: 1.5 is 150 ms in each 100 ms.",
    ),
    optional(
        "target.local.host.memory",
        Type::Bytes(512 << 20, 64 << 40, |d, n| {
            d.hosts.host.memory_bytes = Some(n)
        }),
        "Memory of its processes and their page cache together.",
    ),
    optional(
        "target.local.host.volume",
        Type::Bytes(256 << 20, 256 << 40, |d, n| {
            d.hosts.host.volume_bytes = Some(n)
        }),
        "Size of its data volume, a file system of its own; it takes room on this machine's disk \
         as it fills. Default: the data is on this machine's file system.",
    ),
    optional(
        "target.local.host.disk",
        SECTION,
        "What its data volume may do in a second, all nodes of the host together. Needs `volume`.",
    ),
    optional(
        "target.local.host.disk.read_iops",
        Type::Count(10, 100_000_000, |d, n| {
            d.hosts.host.disk.read_iops = Some(n)
        }),
        "Reads per second.",
    ),
    optional(
        "target.local.host.disk.write_iops",
        Type::Count(10, 100_000_000, |d, n| {
            d.hosts.host.disk.write_iops = Some(n)
        }),
        "Writes per second.",
    ),
    optional(
        "target.local.host.disk.read_rate",
        Type::Bytes(64 << 10, 1 << 40, |d, n| {
            d.hosts.host.disk.read_bytes_per_s = Some(n)
        }),
        "Bytes per second that are read.",
    ),
    optional(
        "target.local.host.disk.write_rate",
        Type::Bytes(64 << 10, 1 << 40, |d, n| {
            d.hosts.host.disk.write_bytes_per_s = Some(n)
        }),
        "Bytes per second that are written.",
    ),
    optional(
        "target.local.host.link",
        SECTION,
        "Its link to the other hosts and to the client, alike in both directions.",
    ),
    optional(
        "target.local.host.link.rate",
        Type::BitRate(64_000, 1_000_000_000_000, |d, n| {
            d.hosts.host.link.rate_bits_per_s = Some(n)
        }),
        "Rate. Default: what the machine does.",
    ),
    optional(
        "target.local.host.link.delay",
        Type::Duration(1_000, 10 * S, |d, ns| {
            d.hosts.host.link.delay = Some(Duration::from_nanos(ns))
        }),
        "Delay, one way.",
    ),
    with(
        "target.local.datacenter",
        Type::Name(|d, text| d.local.datacenter = text.into()),
        "dc1",
        "Name of the datacenter.",
    ),
    with(
        "target.local.heap",
        Type::Bytes(256 << 20, 256 << 30, |d, n| d.local.heap_bytes = n),
        "1GiB",
        "Heap of each node's JVM.",
    ),
    optional(
        "target.local.gc",
        choice!(|d| d.local.collector;
            "g1" => Some(Collector::G1), "zgc" => Some(Collector::Z),
            "shenandoah" => Some(Collector::Shenandoah), "parallel" => Some(Collector::Parallel)
        ),
        "Garbage collector of each node's JVM. Default: as Cassandra's own options say, `g1`.",
    ),
    optional(
        "target.local.yaml",
        Type::Map(&Type::Any(|d, tree| {
            d.local.yaml.insert(d.key.clone(), tree.to_json());
        })),
        "Settings of cassandra.yaml that differ from its defaults. `use: latest` takes what \
         cassandra_latest.yaml of the line says, `use: shipped` what its cassandra.yaml says; what \
         is written beside it holds.",
    ),
    optional(
        "target.local.jvm",
        Type::List(&Type::Text(|d, text| d.local.jvm_options.push(text.into()))),
        "JVM options, added after cassandra's own.",
    ),
    with(
        "target.local.class_sharing",
        Type::Bool(|d, on| d.local.class_sharing = on),
        "false",
        "Whether nodes map the server's classes from an archive, made once for a Java and a set of \
         jars, instead of loading each: a node starts with four fifths of the CPU.",
    ),
    with(
        "target.local.start_timeout",
        Type::Duration(S, 3_600 * S, |d, ns| {
            d.local.start_timeout = Duration::from_nanos(ns)
        }),
        "3m",
        "How long a node may take until it answers CQL.",
    ),
    with(
        "target.local.authentication",
        choice!(|d| d.local.authentication;
            "none" => Authentication::None, "password" => Authentication::Password
        ),
        "none",
        "Who may connect. `none`: every user of this machine, without a password. `password`: only \
         cassay, and who can read the password that it makes for the cluster; roles and \
         permissions are Cassandra's own (`PasswordAuthenticator`, `CassandraAuthorizer`). The \
         load logs in as an ordinary user (`cassay_load`), so that guardrails bind it. It is of \
         clients: the port between nodes is open to all users of this machine.",
    ),
    // An attached target.
    optional(
        "target.attach",
        Type::Section(|d| d.kind = Kind::Attach),
        "An existing cluster. cassay starts and stops nothing there that the command line does not \
         name, and writes only to the keyspace.",
    ),
    optional(
        "target.attach.contact_points",
        Type::List(&Type::Text(|d, text| {
            d.attach.contact_points.push(text.into())
        })),
        "Addresses, `host` or `host:port`; needed, but with `kubernetes` and with a bundle.",
    ),
    optional(
        "target.attach.user",
        Type::Text(|d, text| d.attach.user = Some(text.into())),
        "User name.",
    ),
    optional(
        "target.attach.password",
        Type::Secret(|d, secret| d.attach.password = Some(secret)),
        "Where the password is; it never stands in a study.",
    ),
    optional(
        "target.attach.tls",
        Type::Either(
            &Type::Bool(|d, on| d.attach.tls = on.then(TlsSpec::default)),
            &Type::Section(|d| d.attach.tls = Some(TlsSpec::default())),
        ),
        "Encrypt the connections; `true`: with the defaults.",
    ),
    optional(
        "target.attach.tls.ca",
        Type::Text(|d, text| d.tls().ca = Some(text.into())),
        "PEM file of the authority. Default: the system's trust store.",
    ),
    with(
        "target.attach.tls.verify",
        Type::Bool(|d, on| d.tls().verify = on),
        "true",
        "Whether the server must prove who it is.",
    ),
    optional(
        "target.attach.tls.server_name",
        Type::Text(|d, text| d.tls().server_name = Some(text.into())),
        "Name in the server's certificate. Default: the host's name.",
    ),
    optional(
        "target.attach.tls.cert",
        Type::Text(|d, text| d.tls().cert = Some(text.into())),
        "PEM file of the client's own certificate, with those that lead to its authority behind \
         it, for servers that want one (mutual TLS). With it goes `key`.",
    ),
    optional(
        "target.attach.tls.key",
        Type::Text(|d, text| d.tls().key = Some(text.into())),
        "PEM file of the private key of that certificate, not encrypted. It is never shown.",
    ),
    optional(
        "target.attach.datacenter",
        Type::Name(|d, text| d.attach.datacenter = Some(text.into())),
        "Only nodes of this datacenter are asked.",
    ),
    optional(
        "target.attach.jolokia",
        Type::Section(|d| d.attach.jolokia = Some(JolokiaAccess::default())),
        "The nodes' Jolokia agents: JVMs and MBeans are read through them. Default: only what CQL \
         tells.",
    ),
    with(
        "target.attach.jolokia.port",
        Type::Count(1, 65_535, |d, n| d.jolokia().port = n as u16),
        "8778",
        "Port of the agent, the same at every node.",
    ),
    optional(
        "target.attach.jolokia.user",
        Type::Text(|d, text| d.jolokia().user = Some(text.into())),
        "User name.",
    ),
    optional(
        "target.attach.jolokia.password",
        Type::Secret(|d, secret| d.jolokia().password = Some(secret)),
        "Where the password is; it never stands in a study.",
    ),
    optional(
        "target.attach.jolokia.tls",
        Type::Either(
            &Type::Bool(|d, on| d.jolokia().tls = on.then(TlsSpec::default)),
            &Type::Section(|d| d.jolokia().tls = Some(TlsSpec::default())),
        ),
        "Whether the agents speak HTTPS; `true`: with the defaults.",
    ),
    optional(
        "target.attach.jolokia.tls.ca",
        Type::Text(|d, text| d.jolokia_tls().ca = Some(text.into())),
        "PEM file of the authority. Default: the system's trust store.",
    ),
    with(
        "target.attach.jolokia.tls.verify",
        Type::Bool(|d, on| d.jolokia_tls().verify = on),
        "true",
        "Whether the agent must prove who it is.",
    ),
    optional(
        "target.attach.jolokia.tls.server_name",
        Type::Text(|d, text| d.jolokia_tls().server_name = Some(text.into())),
        "Name in the agent's certificate. Default: the node's address.",
    ),
    optional(
        "target.attach.jolokia.tls.cert",
        Type::Text(|d, text| d.jolokia_tls().cert = Some(text.into())),
        "PEM file of the client's own certificate, with those that lead to its authority behind \
         it, for agents that want one. With it goes `key`.",
    ),
    optional(
        "target.attach.jolokia.tls.key",
        Type::Text(|d, text| d.jolokia_tls().key = Some(text.into())),
        "PEM file of the private key of that certificate, not encrypted. It is never shown.",
    ),
    optional(
        "target.attach.faults",
        Type::Map(&Type::Section(|d| {
            d.commands.push(Commands {
                name: d.key.clone(),
                ..Commands::default()
            });
        })),
        "How what is not ours is broken: names of kinds of faults, to stand in `faults.kind`, each \
         with the programs that do it. A program is a list of itself and its arguments, run on \
         this machine, from the study's folder, without a shell; `{node}` in an argument is the \
         node's address, and `{address}` that with its port of CQL. It needs trust (`--trust`).",
    ),
    required(
        "target.attach.faults.inject",
        Type::List(&Type::Text(|d, text| {
            d.command().inject.words.push(text.into())
        })),
        "What breaks. It ends with 0 when it has, within a minute.",
    ),
    required(
        "target.attach.faults.see",
        Type::List(&Type::Text(|d, text| {
            d.command().see.words.push(text.into())
        })),
        "What looks, again and again: it ends with 0 if it is broken, with 1 if it is whole, and \
         with anything else, or not within 5 s, if nobody can look. Nothing is injected that it \
         did not see whole before.",
    ),
    required(
        "target.attach.faults.heal",
        Type::List(&Type::Text(|d, text| {
            d.command().heal.words.push(text.into())
        })),
        "What heals: it ends with 0 when it has, within a minute. It is also run where nobody \
         knows how far `inject` came, and then perhaps twice, and when cassay was killed.",
    ),
    with(
        "target.attach.faults.within",
        Type::Duration(S, DAY, |d, ns| {
            d.command().within = Duration::from_nanos(ns)
        }),
        "1m",
        "How long it may take after that until it is seen whole.",
    ),
    with(
        "target.attach.faults.loses",
        choice!(|d| d.command().loses;
            "nothing" => DataLoss::Nothing,
            "memory" => DataLoss::Memory,
            "unsynced" => DataLoss::Unsynced
        ),
        "nothing",
        "What the node may lose by it: what was in the memory of its process, or what was not \
         synced to its disk.",
    ),
    // The null target.
    optional(
        "target.null",
        Type::Section(|d| d.kind = Kind::Null),
        "A server inside cassay that answers at once: measures the instrument itself.",
    ),
    optional(
        "target.null.latency",
        Type::Either(
            &Type::Duration(0, 60 * S, |d, ns| d.null.latency = Latency::Fixed { ns }),
            &SECTION,
        ),
        "Known latency of every answer; a duration is fixed.",
    ),
    optional(
        "target.null.latency.fixed",
        Type::Duration(0, 60 * S, |d, ns| d.null.latency = Latency::Fixed { ns }),
        "The same for every answer.",
    ),
    optional(
        "target.null.latency.exponential",
        Type::Duration(0, 60 * S, |d, ns| {
            d.null.latency = Latency::Exponential { mean_ns: ns }
        }),
        "Exponential with this mean.",
    ),
    optional(
        "target.null.latency.uniform",
        SECTION,
        "Uniform between two limits.",
    ),
    required(
        "target.null.latency.uniform.from",
        Type::Duration(0, 60 * S, |d, ns| {
            d.null.latency = Latency::Uniform {
                from_ns: ns,
                to_ns: ns,
            }
        }),
        "Lower limit.",
    ),
    required(
        "target.null.latency.uniform.to",
        Type::Duration(0, 60 * S, |d, ns| {
            if let Latency::Uniform { to_ns, .. } = &mut d.null.latency {
                *to_ns = ns;
            }
        }),
        "Upper limit.",
    ),
    optional(
        "target.null.stall",
        SECTION,
        "A pause of the whole server, again and again.",
    ),
    required(
        "target.null.stall.every",
        Type::Duration(1_000_000, 3_600 * S, |d, ns| {
            d.null.stall.get_or_insert_default().every = Duration::from_nanos(ns)
        }),
        "From begin to begin.",
    ),
    required(
        "target.null.stall.length",
        Type::Duration(1_000_000, 3_600 * S, |d, ns| {
            d.null.stall.get_or_insert_default().length = Duration::from_nanos(ns)
        }),
        "How long nothing is answered.",
    ),
    optional(
        "target.null.capacity",
        Type::Count(1, RATE_MAX, |d, n| d.null.capacity_per_s = Some(n)),
        "How many operations it answers in a second, one after the other: what comes faster waits \
         in its queue, longer and longer. A known limit, to see whether it is found.",
    ),
    optional(
        "target.null.drift",
        SECTION,
        "The capacity changes evenly from the server's start on: a known course, to see whether it \
         is found. Needs `capacity`.",
    ),
    required(
        "target.null.drift.to",
        Type::Share(0.01, 100.0, |d, share| {
            d.null.drift.get_or_insert_default().to = share
        }),
        "The share of the capacity that there is in the end: `90%`.",
    ),
    required(
        "target.null.drift.over",
        Type::Duration(S, 30 * DAY, |d, ns| {
            d.null.drift.get_or_insert_default().over = Duration::from_nanos(ns)
        }),
        "How long it takes until then.",
    ),
    optional(
        "target.null.errors",
        Type::Map(&Type::Number(0.0, 1.0, |d, n| {
            // An unknown name is a mistake that the rules report.
            let code = ErrorCode::of_any_request(&d.key);
            d.null.errors.extend(code.map(|code| (code, n)));
        })),
        "Share of the answers that are this error: `{overloaded: 0.01}`.",
    ),
    optional(
        "target.null.cpu",
        Type::Count(0, 4095, |d, n| d.null.cpus = vec![n as usize]),
        "Number of the CPU that the server is pinned to.",
    ),
];
