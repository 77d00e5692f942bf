//! Checks machines before nodes are placed on them, and reports all problems together. Also removes
//! leftovers of earlier commands.

use crate::local::memory_and_disk;
use anyhow::{Context, Result};
use cassandra::process_tags::mark;
use host::destination::destination;
use host::inspect::{ClockSeen, LeftCluster, MachineProperties};
use host::remote_host::ClearCluster;
use host::{Agent, Attempt, DiskWork, Query, QueryAnswer, Reach, Refusal, at_once};
use measure::number::{bytes, counted};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use target_spec::{HostSpec, JavaWanted, LocalSpec, RemoteHost, memory_bytes};

/// Maximum offset between the wall clocks of two machines. Cassandra resolves write conflicts by
/// these clocks. With a larger offset, timestamps would contradict the order of acknowledgements
/// more often than network delays do.
const WALL_LIMIT_NS: u64 = 100_000_000;

/// Machine that an agent has inspected. Dropping this value ends the agent.
#[derive(Debug)]
pub struct MachineSeen {
    /// Name of the machine for `ssh`.
    pub name: String,
    /// Folder of all files of cassay on the machine.
    pub folder: PathBuf,
    /// Address for connections from other machines. `None` if unknown.
    pub address: Option<Ipv4Addr>,
    /// Properties that the agent reports.
    pub seen: MachineProperties,
    /// Offsets of the machine's clocks from those of the machine that runs cassay.
    pub clock: ClockSeen,
    agent: Agent,
}

/// Connects to all machines and inspects them. `limits` are the limits of each host. Returns the
/// result for each machine in order. The error of an unreachable machine contains the reason and a
/// remedy.
///
/// # Errors
/// `machines` contains an invalid machine name.
pub fn look(
    machines: &[RemoteHost],
    (limits, java): (&HostSpec, &JavaWanted),
) -> Result<Vec<Result<MachineSeen, String>>> {
    let wanted = machines.iter().map(destination).collect::<Result<Vec<_>>>()?;
    let agents = Agent::to_each(&wanted);
    let seen = |(machine, agent): (&RemoteHost, Result<Agent, Refusal>)| {
        let agent = match agent {
            Ok(agent) => agent,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let folder = machine.folder.clone().context("a machine has a folder")?;
        let (seen, clock) = match agent.inspect(&folder, (limits, java)) {
            Ok(answer) => answer,
            Err(why) => return Ok(Err(format!("{}: {why:#}", machine.ssh))),
        };
        Ok(Ok(MachineSeen {
            name: machine.ssh.clone(),
            address: machine.address_or(agent.address()),
            folder,
            seen,
            clock,
            agent,
        }))
    };
    at_once(machines.iter().zip(agents), seen)
}

impl MachineSeen {
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns the reasons why the machine cannot run `nodes` nodes, each with a heap of
    /// `heap_bytes` bytes.
    pub fn hindrances(&self, nodes: usize, heap_bytes: u64, limits: &HostSpec) -> Vec<String> {
        let mut found = Vec::new();
        if let Err(why) = &self.seen.java {
            found.push(why.replace('\n', "; "));
        }
        found.extend(self.seen.lacking.clone());
        let (need, has) = (
            memory_bytes(nodes, heap_bytes),
            self.seen.memory_available_bytes,
        );
        if need > has {
            found.push(format!(
                "too little memory: {} with a heap of {} need about {}, but only {} are available",
                counted(nodes, "node"),
                bytes(heap_bytes),
                bytes(need),
                bytes(has)
            ));
        }
        let free = self.seen.disk.available_bytes;
        match limits.volume_bytes {
            Some(volume) if volume > free => found.push(format!(
                "too little disk: a volume of {} is requested, but {} has {} free",
                bytes(volume),
                self.folder.display(),
                bytes(free)
            )),
            Some(_) => {}
            None => {
                let why = memory_and_disk::fits_disk(nodes, free, &self.folder).err();
                found.extend(why.map(|why| why.to_string().replace('\n', "; ")));
            }
        }
        if self.address.is_none() {
            found.push(
                "cassay does not know the IPv4 address at which other machines reach this machine: \
                 set its `address`, such as `address: 10.0.0.7`"
                    .to_owned(),
            );
        }
        found
    }

    /// Returns facts that the user should know, although they do not prevent running nodes.
    pub fn remarks(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.seen.is_in_memory {
            let folder = self.folder.display();
            said.push(format!("{folder} is in memory, not on a disk"));
        }
        let ahead_ns = self.clock.wall_ahead_ns;
        let known_ns = ahead_ns.unsigned_abs().saturating_sub(self.clock.wall_bound_ns);
        if known_ns > WALL_LIMIT_NS {
            said.push(format!(
                "the wall clock of the machine is {:.1} s {} the clock of this client. Cassandra \
                 uses these clocks to decide which of two writes is later: synchronise them \
                 (chrony, systemd-timesyncd)",
                ahead_ns.unsigned_abs() as f64 / 1e9,
                if ahead_ns > 0 { "ahead of" } else { "behind" }
            ));
        }
        let of_cluster = |left: &LeftCluster| {
            let (id, host) = (&left.id, &left.host);
            if left.is_held {
                format!("the cluster {id} still runs on the machine (host {host})")
            } else {
                format!(
                    "the cluster {id} left files on the machine (host {host}), but no command uses \
                     this cluster"
                )
            }
        };
        said.extend(self.seen.clusters.iter().map(of_cluster));
        said
    }

    /// Removes clusters that no command uses. With `all`, also removes running clusters, jars and
    /// cassay programs. Returns one sentence for each action.
    pub fn clean(&self, all: bool) -> Result<Vec<String>> {
        let mut done = Vec::new();
        for left in self.seen.clusters.iter().filter(|left| all || !left.is_held) {
            let killed = self.agent.clear_cluster(&ClearCluster {
                id: left.id.clone(),
                folder: self.folder.join(&left.id),
                host: left.host.clone(),
                places: Vec::new(),
                mark: mark(&left.id),
            })?;
            let what = counted(killed, "node");
            done.push(format!(
                "cassay removed the cluster {}, and killed {what}",
                left.id
            ));
        }
        if all {
            let removed = self.agent.clean_folder(&self.folder)?;
            done.push(match removed.len() {
                0 => "the machine contained no jars or programs of cassay".to_owned(),
                count => format!(
                    "cassay removed {} (jars and programs)",
                    counted(count, "item")
                ),
            });
        }
        Ok(done)
    }
}

/// Returns one line for each machine that cannot run its nodes of the spec. Returns an empty list
/// for a spec without machines.
pub fn unready(spec: &LocalSpec) -> Vec<String> {
    let Some(hosts) = spec.hosts.as_ref().filter(|hosts| hosts.are_machines()) else {
        return Vec::new();
    };
    let machines = match look(&hosts.machines, (&hosts.host, &JavaWanted::from_spec(spec))) {
        Ok(machines) => machines,
        Err(why) => return vec![format!("{why:#}")],
    };
    let of_machine = |(machine, each): (&Result<MachineSeen, String>, usize)| {
        let machine = match machine {
            Ok(machine) => machine,
            Err(why) => return Some(why.clone()),
        };
        let found = machine.hindrances(each, spec.heap_bytes, &hosts.host);
        (!found.is_empty()).then(|| format!("{}: {}", machine.name, found.join("; ")))
    };
    machines.iter().zip(spec.nodes_of_hosts()).filter_map(of_machine).collect()
}

/// Disk throughput with one request at a time. The requests bypass all caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskSpeed {
    /// Number of writes of 4 KiB per second, including the final sync.
    pub writes_per_s: Option<f64>,
    /// Number of reads of 4 KiB per second. All requests read the same block.
    pub reads_per_s: Option<f64>,
    /// Number of bytes written per second, with requests of 1 MiB.
    pub write_bytes_per_s: Option<f64>,
    /// Number of bytes read per second, with requests of 1 MiB.
    pub read_bytes_per_s: Option<f64>,
}

/// Small requests for measuring requests per second.
const SMALL: DiskWork = DiskWork {
    requests: 2000,
    bytes: 4 << 10,
};
const LARGE: DiskWork = DiskWork {
    requests: 64,
    bytes: 1 << 20,
};

const DISK_LIMIT: Duration = Duration::from_secs(60);

const TRANSFER_BYTES: u64 = 256 << 20;

/// Time limit of the transfer, enough for a throughput of 72 Mbit/s.
const TRANSFER_LIMIT: Duration = Duration::from_secs(30);

const CONNECTS_COUNT: usize = 20;

impl MachineSeen {
    /// Measures the disk of [`MachineSeen::folder`].
    ///
    /// # Errors
    /// The agent has ended, or the disk test fails.
    pub fn disk_speed(&self) -> Result<DiskSpeed> {
        let tried = |work: DiskWork| -> Result<[Option<f64>; 2]> {
            let what = Query::TryDisk {
                folder: self.agent.folder().unwrap_or(&self.folder).to_owned(),
                work,
                limit: DISK_LIMIT,
            };
            let per_s = |attempt: Attempt| match attempt {
                Attempt::Took(took) if !took.is_zero() => {
                    Some(work.requests as f64 / took.as_secs_f64())
                }
                _ => None,
            };
            match self.agent.see(what)? {
                QueryAnswer::Disk { write, read } => Ok([per_s(write), per_s(read)]),
                other => anyhow::bail!("the benchmark of a disk returned {other:?}"),
            }
        };
        let [writes_per_s, reads_per_s] = tried(SMALL)?;
        let in_bytes = |per_s: Option<f64>| per_s.map(|per_s| per_s * LARGE.bytes as f64);
        let [write, read] = tried(LARGE)?.map(in_bytes);
        Ok(DiskSpeed {
            writes_per_s,
            reads_per_s,
            write_bytes_per_s: write,
            read_bytes_per_s: read,
        })
    }

    /// Measures the throughput of one connection to another machine in bit/s, and the shortest
    /// connect time to the default port of sshd. Returns `None` if the other machine's address is
    /// unknown or the connection fails.
    ///
    /// # Errors
    /// An agent has ended, or the kernel refuses the connection.
    pub fn way_to(&self, other: &MachineSeen) -> Result<Option<(f64, Option<Duration>)>> {
        let Some(address) = other.address else {
            return Ok(None);
        };
        let limit = TRANSFER_LIMIT;
        let port = other.agent.receive(limit)?;
        let to = SocketAddr::from((address, port));
        let what = Query::Transfer {
            address: to,
            bytes: TRANSFER_BYTES,
            limit,
        };
        let QueryAnswer::Transfer(Some(took)) = self.agent.see(what)? else {
            return Ok(None);
        };
        let mut shortest: Option<Duration> = None;
        for _ in 0..CONNECTS_COUNT {
            // If sshd does not use this port, the other machine refuses the connection immediately.
            // Both responses show the connect time.
            let what = Query::Reach {
                address: SocketAddr::from((address, SSH_PORT)),
                limit: Duration::from_secs(1),
            };
            if let QueryAnswer::Reach(Reach::Reached(took)) = self.agent.see(what)? {
                shortest = Some(shortest.map_or(took, |known| known.min(took)));
            }
        }
        let rate = TRANSFER_BYTES as f64 * 8.0 / took.as_secs_f64().max(1e-9);
        Ok(Some((rate, shortest)))
    }
}

const SSH_PORT: u16 = 22;
