//! Machines that nodes of ours are to be put on, looked at before anything is: all at once, with
//! all that is in the way; and cleared of what earlier commands have left.

use crate::local::marks::mark;
use crate::local::room;
use anyhow::{Context, Result};
use host::inspect::{ClockSeen, Inspected, LeftCluster};
use host::place::destination;
use host::remote::ClearCluster;
use host::{Agent, Attempt, DiskWork, Query, QueryAnswer, Reach, Refusal, at_once};
use measure::number::{bytes, counted};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use target::{HostSpec, JavaWanted, LocalSpec, RemoteHost, memory_bytes};

/// Nodes take the later of two writes by their wall clocks: from here on, two machines tell
/// another order than the one in which writes were acknowledged, sooner than a network would.
const WALL_LIMIT_NS: u64 = 100_000_000;

/// A machine, looked at by an agent there, which ends with this.
#[derive(Debug)]
pub struct MachineSeen {
    /// As `ssh` knows it.
    pub name: String,
    /// The folder there that everything of ours is below.
    pub folder: PathBuf,
    /// The address by which others reach it; none if it is not known.
    pub address: Option<Ipv4Addr>,
    /// What it is.
    pub seen: Inspected,
    /// How far its clocks are from ours.
    pub clock: ClockSeen,
    agent: Agent,
}

/// Reaches all machines and looks at them; `limits` is what each is to be limited to. Each that is
/// reached, in their order, and of the others a sentence with why and what to do.
///
/// # Errors
/// What stands for a machine is none.
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
    /// By which more is asked there.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Why so many nodes with such a heap, bytes, cannot be put there, a sentence each.
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
                "too little memory: {} with a heap of {} need about {}, and {} are available",
                counted(nodes, "node"),
                bytes(heap_bytes),
                bytes(need),
                bytes(has)
            ));
        }
        let free = self.seen.disk.available_bytes;
        match limits.volume_bytes {
            Some(volume) if volume > free => found.push(format!(
                "too little disk: a volume of {} is asked for, and {} has {} free",
                bytes(volume),
                self.folder.display(),
                bytes(free)
            )),
            Some(_) => {}
            None => {
                let why = room::fits_disk(nodes, free, &self.folder).err();
                found.extend(why.map(|why| why.to_string().replace('\n', "; ")));
            }
        }
        if self.address.is_none() {
            found.push(
                "it is not known by which IPv4 address other machines reach it: say `address: \
                 10.0.0.7` with the machine"
                    .to_owned(),
            );
        }
        found
    }

    /// What does not keep nodes from being put there, and should be known, a sentence each.
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
                "its wall clock is {:.1} s {} ours: Cassandra takes the later of two writes by \
                 these clocks; synchronise them (chrony, systemd-timesyncd)",
                ahead_ns.unsigned_abs() as f64 / 1e9,
                if ahead_ns > 0 { "ahead of" } else { "behind" }
            ));
        }
        let of_cluster = |left: &LeftCluster| {
            let (id, host) = (&left.id, &left.host);
            if left.is_held {
                format!("the cluster {id} runs there ({host})")
            } else {
                format!("the cluster {id} has left files there ({host}), and nobody has it")
            }
        };
        said.extend(self.seen.clusters.iter().map(of_cluster));
        said
    }

    /// Ends what clusters have left there that nobody has; with `all`, those that run too, and
    /// removes jars and programs of ours. What was done, a sentence each.
    ///
    /// # Errors
    /// Something does not go.
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
            done.push(format!("the cluster {} is removed, {what} killed", left.id));
        }
        if all {
            let removed = self.agent.clean_folder(&self.folder)?;
            done.push(match removed.len() {
                0 => "no jars and programs were there".to_owned(),
                count => format!("{} removed: jars and programs", counted(count, "entry")),
            });
        }
        Ok(done)
    }
}

/// Why the nodes of a spec cannot be put on its machines, a line for each machine; none if they
/// can, or are on none.
pub fn unready(spec: &LocalSpec) -> Vec<String> {
    let Some(hosts) = spec.hosts.as_ref().filter(|hosts| hosts.are_machines()) else {
        return Vec::new();
    };
    let machines = match look(&hosts.machines, (&hosts.host, &JavaWanted::of(spec))) {
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

/// What the disk of a machine does, one request at a time and past every cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskSpeed {
    /// Writes of 4 KiB in a second, and the sync at their end.
    pub writes_per_s: Option<f64>,
    /// Reads of 4 KiB in a second, of one block again and again.
    pub reads_per_s: Option<f64>,
    /// Bytes written in a second, 1 MiB at a time.
    pub write_bytes_per_s: Option<f64>,
    /// Bytes read in a second, 1 MiB at a time.
    pub read_bytes_per_s: Option<f64>,
}

/// Requests by which it shows how many it does, and how much.
const SMALL: DiskWork = DiskWork {
    requests: 2000,
    bytes: 4 << 10,
};
const LARGE: DiskWork = DiskWork {
    requests: 64,
    bytes: 1 << 20,
};

/// How long a disk may take for either.
const DISK_LIMIT: Duration = Duration::from_secs(60);

/// How much is sent from one machine to another.
const TRANSFER_BYTES: u64 = 256 << 20;

/// How long that may take: 70 Mbit/s do it.
const TRANSFER_LIMIT: Duration = Duration::from_secs(30);

/// How often a machine connects to another one.
const CONNECTS_COUNT: usize = 20;

impl MachineSeen {
    /// What the disk of its folder does.
    ///
    /// # Errors
    /// The agent is gone, or the disk cannot be tried.
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
                other => anyhow::bail!("a disk was tried, and the answer is {other:?}"),
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

    /// How fast one connection carries bytes to another machine, in bit/s, and the shortest time in
    /// which one was made to its sshd, if that listens where it usually does; none where no way
    /// leads there.
    ///
    /// # Errors
    /// An agent is gone, or the kernel refuses.
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
            // Its sshd listens there, or says at once that it does not.
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

/// Where sshd usually listens.
const SSH_PORT: u16 = 22;
