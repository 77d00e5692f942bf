//! Study keys for the system under test, as rows of the table of keys.

use super::row::{DAY, LOCAL_NODES_MAX, RATE_MAX, S, SECTION, optional, required, with};
use crate::format::field::{Field, Type};
use crate::settings::draft::TargetKind;
use cql::response::ErrorCode;
use std::time::Duration;
use target_spec::fault::{Commands, DataLoss};
use target_spec::{Authentication, Collector, Isolation, JolokiaAccess, Latency, TlsSpec};

pub(super) const FIELDS: &[Field] = &[
    required(
        "target",
        SECTION,
        "System under test: exactly one of `local`, `attach` and `null`.",
    ),
    optional(
        "target.local",
        Type::Section(|d| d.kind = TargetKind::Local),
        "Cassandra nodes that cassay starts and stops on this machine.",
    ),
    optional(
        "target.local.nodes",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| d.local.nodes = n as usize),
        "Number of nodes, on loopback addresses. With `hosts`: the number of nodes on all hosts \
         together. Default: 1, or `hosts` times `nodes_per_host`.",
    ),
    optional(
        "target.local.hosts",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| d.hosts_count = n as usize),
        "Number of hosts for the nodes. A host is a simulated machine with its own network, limits \
         and data volume, or a machine of `machines`. Default: no hosts, so the nodes share this \
         machine.",
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
        "Names of the racks. cassay assigns the racks to the hosts one after the other, or to the \
         nodes if the study has no hosts. `per-host`: each host is a rack, so that replicas are on \
         different hosts. Default: `per-host` with hosts, otherwise `[rack1]`.",
    ),
    with(
        "target.local.isolation",
        choice!(|d| d.hosts.isolation;
            "auto" => Isolation::Auto, "hosts" => Isolation::Hosts,
            "loopback" => Isolation::Loopback
        ),
        "auto",
        "Isolation of hosts. With `hosts`, each host has a network, limits and a volume, which \
         requires root. With `loopback`, each host only has its own addresses. With `auto`: \
         `hosts` if this machine supports it, otherwise `loopback`.",
    ),
    optional(
        "target.local.host",
        SECTION,
        "Resources of each host. cassay does not limit omitted resources. Requires `hosts`.",
    ),
    optional(
        "target.local.host.cpus",
        Type::List(&Type::Count(0, 4095, |d, n| {
            d.hosts.host.cpus.get_or_insert_default().push(n as usize)
        })),
        "Numbers of the CPUs that each host may use.",
    ),
    optional(
        "target.local.host.cpu_quota",
        Type::Number(0.1, 4096.0, |d, n| d.hosts.host.cpu_quota = Some(n)),
        "CPU time of the host, in cores: 1.5 is 150 ms of CPU time per 100 ms.",
    ),
    optional(
        "target.local.host.memory",
        Type::Bytes(512 << 20, 64 << 40, |d, n| {
            d.hosts.host.memory_bytes = Some(n)
        }),
        "Memory of the host's processes, including their page cache.",
    ),
    optional(
        "target.local.host.volume",
        Type::Bytes(256 << 20, 256 << 40, |d, n| {
            d.hosts.host.volume_bytes = Some(n)
        }),
        "Size of the host's data volume, a separate file system that takes space on this machine's \
         disk as it fills. Default: the data is on this machine's file system.",
    ),
    optional(
        "target.local.host.disk",
        SECTION,
        "Limits of the host's data volume per second. All nodes of the host together share these \
         limits. Requires `volume`.",
    ),
    optional(
        "target.local.host.disk.read_iops",
        Type::Count(10, 100_000_000, |d, n| {
            d.hosts.host.disk.read_iops = Some(n)
        }),
        "Maximum number of reads per second from the data volume.",
    ),
    optional(
        "target.local.host.disk.write_iops",
        Type::Count(10, 100_000_000, |d, n| {
            d.hosts.host.disk.write_iops = Some(n)
        }),
        "Maximum number of writes per second to the data volume.",
    ),
    optional(
        "target.local.host.disk.read_rate",
        Type::Bytes(64 << 10, 1 << 40, |d, n| {
            d.hosts.host.disk.read_bytes_per_s = Some(n)
        }),
        "Maximum number of bytes read per second from the data volume.",
    ),
    optional(
        "target.local.host.disk.write_rate",
        Type::Bytes(64 << 10, 1 << 40, |d, n| {
            d.hosts.host.disk.write_bytes_per_s = Some(n)
        }),
        "Maximum number of bytes written per second to the data volume.",
    ),
    optional(
        "target.local.host.link",
        SECTION,
        "Link of the host to the other hosts and to the client, with equal limits in both \
         directions.",
    ),
    optional(
        "target.local.host.link.rate",
        Type::BitRate(64_000, 1_000_000_000_000, |d, n| {
            d.hosts.host.link.rate_bits_per_s = Some(n)
        }),
        "Bandwidth of the link. Default: not limited.",
    ),
    optional(
        "target.local.host.link.delay",
        Type::Duration(1_000, 10 * S, |d, ns| {
            d.hosts.host.link.delay = Some(Duration::from_nanos(ns))
        }),
        "One-way delay of the link.",
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
        "Garbage collector of each node's JVM. Default: the collector in Cassandra's own options, \
         `g1`.",
    ),
    optional(
        "target.local.yaml",
        Type::Map(&Type::Any(|d, tree| {
            d.local.yaml.insert(d.key.clone(), tree.to_json());
        })),
        "Settings of cassandra.yaml that differ from the defaults. `use: latest` applies the \
         values of cassandra_latest.yaml of the Cassandra line, and `use: shipped` the values of \
         its cassandra.yaml. Other keys in this mapping override these values.",
    ),
    optional(
        "target.local.jvm",
        Type::List(&Type::Text(|d, text| d.local.jvm_options.push(text.into()))),
        "JVM options of each node, added after Cassandra's own options.",
    ),
    with(
        "target.local.class_sharing",
        Type::Bool(|d, on| d.local.class_sharing = on),
        "false",
        "Map the server's classes from an archive instead of loading each class. cassay creates \
         the archive once for each Java and set of jars. The start of a node then needs about 20 % \
         less CPU time.",
    ),
    with(
        "target.local.start_timeout",
        Type::Duration(S, 3_600 * S, |d, ns| {
            d.local.start_timeout = Duration::from_nanos(ns)
        }),
        "3m",
        "Maximum time until a node answers CQL.",
    ),
    with(
        "target.local.authentication",
        choice!(|d| d.local.authentication;
            "none" => Authentication::None, "password" => Authentication::Password
        ),
        "none",
        "Authentication of clients. `none`: every user of this machine can connect. `password`: \
         cassay generates a password, and only users who can read the password can connect. \
         Cassandra checks roles and permissions (`PasswordAuthenticator`, `CassandraAuthorizer`). \
         The load logs in as an ordinary user (`cassay_load`), so that guardrails apply. The port \
         between nodes remains open to all users of this machine.",
    ),
    optional(
        "target.attach",
        Type::Section(|d| d.kind = TargetKind::Attach),
        "Existing cluster. cassay starts and stops only processes that the command line allows, \
         and writes only to the keyspace of the study.",
    ),
    optional(
        "target.attach.contact_points",
        Type::List(&Type::Text(|d, text| {
            d.attach.contact_points.push(text.into())
        })),
        "Addresses of nodes: `host` or `host:port`. Required, except with `kubernetes` or \
         `secure_connect_bundle`.",
    ),
    optional(
        "target.attach.user",
        Type::Text(|d, text| d.attach.user = Some(text.into())),
        "User name.",
    ),
    optional(
        "target.attach.password",
        Type::Secret(|d, secret| d.attach.password = Some(secret)),
        "Source of the password. The study itself never contains the password.",
    ),
    optional(
        "target.attach.tls",
        Type::Either(
            &Type::Bool(|d, on| d.attach.tls = on.then(TlsSpec::default)),
            &Type::Section(|d| d.attach.tls = Some(TlsSpec::default())),
        ),
        "Encrypt the connections with TLS. `true` means TLS with default settings.",
    ),
    optional(
        "target.attach.tls.ca",
        Type::Text(|d, text| d.tls().ca = Some(text.into())),
        "PEM file of the certificate authority. Default: the system's trust store.",
    ),
    with(
        "target.attach.tls.verify",
        Type::Bool(|d, on| d.tls().verify = on),
        "true",
        "Verify the server's certificate.",
    ),
    optional(
        "target.attach.tls.server_name",
        Type::Text(|d, text| d.tls().server_name = Some(text.into())),
        "Name in the server's certificate. Default: the host's name.",
    ),
    optional(
        "target.attach.tls.cert",
        Type::Text(|d, text| d.tls().cert = Some(text.into())),
        "PEM file of the client certificate, followed by its intermediate certificates, for \
         servers with mutual TLS. Requires `key`.",
    ),
    optional(
        "target.attach.tls.key",
        Type::Text(|d, text| d.tls().key = Some(text.into())),
        "PEM file of the certificate's private key, unencrypted. cassay never shows the key.",
    ),
    optional(
        "target.attach.datacenter",
        Type::Name(|d, text| d.attach.datacenter = Some(text.into())),
        "Send load only to nodes of this datacenter.",
    ),
    optional(
        "target.attach.jolokia",
        Type::Section(|d| d.attach.jolokia = Some(JolokiaAccess::default())),
        "Jolokia agents of the nodes, for reading JVMs and MBeans. Default: only data that CQL \
         provides.",
    ),
    with(
        "target.attach.jolokia.port",
        Type::Count(1, 65_535, |d, n| d.jolokia().port = n as u16),
        "8778",
        "Port of the agent, which is the same on every node.",
    ),
    optional(
        "target.attach.jolokia.user",
        Type::Text(|d, text| d.jolokia().user = Some(text.into())),
        "User name.",
    ),
    optional(
        "target.attach.jolokia.password",
        Type::Secret(|d, secret| d.jolokia().password = Some(secret)),
        "Source of the password. The study itself never contains the password.",
    ),
    optional(
        "target.attach.jolokia.tls",
        Type::Either(
            &Type::Bool(|d, on| d.jolokia().tls = on.then(TlsSpec::default)),
            &Type::Section(|d| d.jolokia().tls = Some(TlsSpec::default())),
        ),
        "Use HTTPS for the agents. `true` means HTTPS with default settings.",
    ),
    optional(
        "target.attach.jolokia.tls.ca",
        Type::Text(|d, text| d.jolokia_tls().ca = Some(text.into())),
        "PEM file of the certificate authority. Default: the system's trust store.",
    ),
    with(
        "target.attach.jolokia.tls.verify",
        Type::Bool(|d, on| d.jolokia_tls().verify = on),
        "true",
        "Verify the agent's certificate.",
    ),
    optional(
        "target.attach.jolokia.tls.server_name",
        Type::Text(|d, text| d.jolokia_tls().server_name = Some(text.into())),
        "Name in the agent's certificate. Default: the node's address.",
    ),
    optional(
        "target.attach.jolokia.tls.cert",
        Type::Text(|d, text| d.jolokia_tls().cert = Some(text.into())),
        "PEM file of the client certificate, followed by its intermediate certificates, for agents \
         with mutual TLS. Requires `key`.",
    ),
    optional(
        "target.attach.jolokia.tls.key",
        Type::Text(|d, text| d.jolokia_tls().key = Some(text.into())),
        "PEM file of the certificate's private key, unencrypted. cassay never shows the key.",
    ),
    optional(
        "target.attach.faults",
        Type::Map(&Type::Section(|d| {
            d.commands.push(Commands {
                name: d.key.clone(),
                ..Commands::default()
            });
        })),
        "Faults of nodes that cassay did not start: names for `faults.kind`, each with the \
         programs that inject, check and heal the fault. A program is a list of its name and \
         arguments. It runs on this machine, in the study's folder, without a shell. In an \
         argument, `{node}` is the node's address, and `{address}` also has its CQL port. Needs \
         `--trust`.",
    ),
    required(
        "target.attach.faults.inject",
        Type::List(&Type::Text(|d, text| {
            d.command().inject.words.push(text.into())
        })),
        "Program that injects the fault. The program must exit with 0 within one minute.",
    ),
    required(
        "target.attach.faults.see",
        Type::List(&Type::Text(|d, text| {
            d.command().see.words.push(text.into())
        })),
        "Program that checks for the fault. cassay calls the program repeatedly. It must exit with \
         0 if the fault is present, and with 1 if the fault is absent. Any other code, or more \
         than 5 s, means that the program could not check. cassay injects the fault only after \
         this program reported it absent.",
    ),
    required(
        "target.attach.faults.heal",
        Type::List(&Type::Text(|d, text| {
            d.command().heal.words.push(text.into())
        })),
        "Program that heals the fault. The program must exit with 0 within one minute. cassay also \
         runs this program if `inject` may have been incomplete, possibly twice, and after cassay \
         was killed.",
    ),
    with(
        "target.attach.faults.within",
        Type::Duration(S, DAY, |d, ns| {
            d.command().within = Duration::from_nanos(ns)
        }),
        "1m",
        "Maximum time from the healing of the fault until the fault is absent.",
    ),
    with(
        "target.attach.faults.loses",
        choice!(|d| d.command().loses;
            "nothing" => DataLoss::Nothing,
            "memory" => DataLoss::Memory,
            "unsynced" => DataLoss::Unsynced
        ),
        "nothing",
        "Data that the fault may destroy: `nothing`, `memory` (data in the memory of the node's \
         process), or `unsynced` (data that the node has not synced to disk).",
    ),
    optional(
        "target.null",
        Type::Section(|d| d.kind = TargetKind::Null),
        "Server inside cassay that answers immediately. Use this target to measure the client \
         itself.",
    ),
    optional(
        "target.null.latency",
        Type::Either(
            &Type::Duration(0, 60 * S, |d, ns| d.null.latency = Latency::Fixed { ns }),
            &SECTION,
        ),
        "Latency of every answer. A duration is a fixed latency.",
    ),
    optional(
        "target.null.latency.fixed",
        Type::Duration(0, 60 * S, |d, ns| d.null.latency = Latency::Fixed { ns }),
        "The same latency for every answer.",
    ),
    optional(
        "target.null.latency.exponential",
        Type::Duration(0, 60 * S, |d, ns| {
            d.null.latency = Latency::Exponential { mean_ns: ns }
        }),
        "Exponentially distributed latency with this mean.",
    ),
    optional(
        "target.null.latency.uniform",
        SECTION,
        "Uniformly distributed latency between two limits.",
    ),
    required(
        "target.null.latency.uniform.from",
        Type::Duration(0, 60 * S, |d, ns| {
            d.null.latency = Latency::Uniform {
                from_ns: ns,
                to_ns: ns,
            }
        }),
        "Lower limit of the latency.",
    ),
    required(
        "target.null.latency.uniform.to",
        Type::Duration(0, 60 * S, |d, ns| {
            if let Latency::Uniform { to_ns, .. } = &mut d.null.latency {
                *to_ns = ns;
            }
        }),
        "Upper limit of the latency.",
    ),
    optional(
        "target.null.stall",
        SECTION,
        "Repeated pause, during which the server answers no operation.",
    ),
    required(
        "target.null.stall.every",
        Type::Duration(1_000_000, 3_600 * S, |d, ns| {
            d.null.stall.get_or_insert_default().every = Duration::from_nanos(ns)
        }),
        "Time from the start of one pause to the start of the next.",
    ),
    required(
        "target.null.stall.length",
        Type::Duration(1_000_000, 3_600 * S, |d, ns| {
            d.null.stall.get_or_insert_default().length = Duration::from_nanos(ns)
        }),
        "Length of a pause.",
    ),
    optional(
        "target.null.capacity",
        Type::Count(1, RATE_MAX, |d, n| d.null.capacity_per_s = Some(n)),
        "Number of operations that the server answers per second, one after the other. If \
         operations arrive at a higher rate, they wait in a growing queue. Use this known limit to \
         test searches.",
    ),
    optional(
        "target.null.drift",
        SECTION,
        "Linear change of the capacity, which begins when the server starts. Use this known trend \
         for tests. Requires `capacity`.",
    ),
    required(
        "target.null.drift.to",
        Type::Share(0.01, 100.0, |d, share| {
            d.null.drift.get_or_insert_default().to = share
        }),
        "Final capacity, as a share of `capacity`, such as `90%`.",
    ),
    required(
        "target.null.drift.over",
        Type::Duration(S, 30 * DAY, |d, ns| {
            d.null.drift.get_or_insert_default().over = Duration::from_nanos(ns)
        }),
        "Time until the capacity reaches the share in `to`.",
    ),
    optional(
        "target.null.errors",
        Type::Map(&Type::Number(0.0, 1.0, |d, n| {
            // An unknown name of an error is ignored here, because the rules report it as a
            // mistake.
            let code = ErrorCode::parse_for_any_request(&d.key);
            d.null.errors.extend(code.map(|code| (code, n)));
        })),
        "Share of answers for each error, such as `{overloaded: 0.01}`.",
    ),
    optional(
        "target.null.cpu",
        Type::Count(0, 4095, |d, n| d.null.cpus = vec![n as usize]),
        "Number of the CPU to pin the server to.",
    ),
];
