//! Foreign load of this machine, which is its usage minus the usage of the nodes and of the client.
//! The client's agents count as part of the client.
//!
//! The probe covers only the CPUs that this process may use. Interrupt time does not belong to any
//! task, so the probe omits it. The kernel measures the time of tasks exactly, but the machine's
//! time by ticks, so the difference of one sample may be below zero. In that case it is added to
//! the next sample, so that the mean is right. Data that a process writes reaches a disk later, on
//! behalf of the kernel. So the probe subtracts the earlier writes of the nodes and the client from
//! the disk writes. At the beginning it also subtracts all dirty data. If nodes have separate
//! volumes, all traffic of the volumes belongs to the nodes. For example, a row that is synced
//! alone writes one block of data and two blocks of the file system's journal.
//!
//! A node whose process is stopped uses no resources, and is reported as stopped. See [`STOPPED`].

use super::MACHINE;
use super::cpu::{self, GUEST, STEAL, TASKS, Ticks};
use super::disk::{self, BUSY_MS, Columns, SECTOR_KB, SECTORS};
use super::pressure::Pressure;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use crate::probe::processes::{Io, Stat};
use crate::probe::{Out, OwnProcesses, SampledSource};
use anyhow::{Context, Result};
use measure::clock;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Series of a node that a signal or a debugger has stopped. It is 1 at each sample at which the
/// node was stopped, and has no reading at other samples.
pub const STOPPED: &str = "stat.stopped";

/// Probe of the foreign load. It reads the machine, and the processes and devices that are not
/// foreign.
pub(crate) struct ForeignLoad {
    cpus: BTreeSet<String>,
    stat: KernelFile,
    disks: Option<Disks>,
    nodes: Vec<Process>,
    agents: Vec<Process>,
    own: Process,
    pressure: Pressure,
    last: Last<LoadSample>,
    /// Negative CPU time of the last samples, as a share. It is added to the next sample.
    cpu_owed: f64,
}

#[derive(Clone, Debug, Default)]
struct LoadSample {
    ticks: Ticks,
    nodes_ticks: u64,
    own_ns: u64,
    moved: Option<Traffic>,
}

/// Data that the nodes have requested since the first sample, and the client since its start, in
/// kB. Also the counters of the devices.
#[derive(Clone, Debug, Default)]
struct Traffic {
    ours_kb: [f64; 2],
    devices: HashMap<String, Columns>,
}

impl ForeignLoad {
    /// Opens the probe of all load that does not come from `ours`.
    ///
    /// # Errors
    /// The CPU time of the machine, of a node or of an agent cannot be read.
    pub fn open(ours: &OwnProcesses<'_>) -> Result<ForeignLoad> {
        let process = |place: &str, pid: &u32| {
            let process = Process::open(place, &format!("/proc/{pid}"));
            process.with_context(|| format!("watch {place}"))
        };
        let nodes = ours
            .nodes
            .iter()
            .map(|(place, pid)| process(place, pid))
            .collect::<Result<Vec<_>>>()?;
        let agents = ours
            .agents
            .iter()
            .map(|pid| process("an agent", pid))
            .collect::<Result<Vec<_>>>()?;
        let own = Process::open("client", "/proc/self")?;
        let all = || nodes.iter().chain(&agents).chain([&own]);
        let all_tell = all().all(|process| process.io.is_some());
        Ok(ForeignLoad {
            cpus: allowed()?,
            stat: KernelFile::open("/proc/stat")?,
            disks: Disks::open(ours.devices).ok().filter(|_| all_tell),
            nodes,
            agents,
            own,
            pressure: Pressure::open(MACHINE, Path::new("/proc/pressure"), ""),
            last: Last::none(),
            cpu_owed: 0.0,
        })
    }

    fn read(&mut self) -> Result<LoadSample> {
        let stat = cpu::parse(&self.stat.read()?).context("/proc/stat")?;
        let mut now = LoadSample {
            own_ns: clock::process_cpu_ns(),
            ..LoadSample::default()
        };
        for (_, ticks) in stat.cpus.iter().filter(|(name, _)| self.cpus.contains(name)) {
            for (sum, ticks) in now.ticks.iter_mut().zip(ticks) {
                *sum += ticks;
            }
        }
        for node in &mut self.nodes {
            now.nodes_ticks += node.cpu_ticks()?;
        }
        let tick_ns = clock::SECOND_NS / rustix::param::clock_ticks_per_second();
        for agent in &mut self.agents {
            now.own_ns += agent.cpu_ticks()? * tick_ns;
        }
        if let Some(disks) = &mut self.disks {
            let beside = self.agents.iter_mut().chain([&mut self.own]);
            let (nodes_kb, beside_kb) = (moved_kb(self.nodes.iter_mut())?, moved_kb(beside)?);
            let (devices, volumes_kb) = disks.read()?;
            now.moved = Some(Traffic {
                ours_kb: disks.ours_kb(nodes_kb, volumes_kb, beside_kb),
                devices,
            });
        }
        Ok(now)
    }

    fn put_cpu(&mut self, before: &LoadSample, now: &LoadSample, out: &mut Out) {
        let spent = |index: usize| grown(before.ticks[index], now.ticks[index]).unwrap_or(0.0);
        let total: f64 = (0..GUEST).map(spent).sum();
        let nodes = grown(before.nodes_ticks, now.nodes_ticks);
        let (true, Some(nodes)) = (total > 0.0, nodes) else {
            return;
        };
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let tasks: f64 = TASKS.into_iter().map(spent).sum();
        let own = (now.own_ns - before.own_ns) as f64 / 1e9 * ticks_per_s;
        let others = (tasks - nodes - own) / total + self.cpu_owed;
        self.cpu_owed = others.min(0.0);
        for (name, share) in [
            ("cpu.others", others.max(0.0)),
            ("cpu.nodes", nodes / total),
            ("cpu.client", own / total),
            ("cpu.stolen", spent(STEAL) / total),
        ] {
            out.put(name, MACHINE, "%", 100.0 * share);
        }
        out.put("cpu.count", MACHINE, "count", self.cpus.len() as f64);
    }
}

impl SampledSource for ForeignLoad {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        self.pressure.look(now_ns, out)?;
        let now = self.read()?;
        for node in self.nodes.iter().filter(|node| node.is_stopped) {
            out.put(STOPPED, &node.place, "count", 1.0);
        }
        let Some((before, seconds)) = self.last.replace(now_ns, now.clone()) else {
            return Ok(());
        };
        self.put_cpu(&before, &now, out);
        if let (Some(disks), Some(before), Some(now)) = (&mut self.disks, before.moved, now.moved) {
            disks.put(&before, &now, seconds, out);
        }
        Ok(())
    }
}

fn moved_kb<'p>(processes: impl Iterator<Item = &'p mut Process>) -> Result<[f64; 2]> {
    let mut sum_kb = [0.0; 2];
    for process in processes {
        let moved = process.moved_kb()?;
        sum_kb = [sum_kb[0] + moved[0], sum_kb[1] + moved[1]];
    }
    Ok(sum_kb)
}

/// Returns the CPUs that this process may use, by their names in `/proc/stat`.
fn allowed() -> Result<BTreeSet<String>> {
    let set = rustix::thread::sched_getaffinity(None).context("get the CPUs of this process")?;
    let all = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Ok(all.map(|cpu| format!("cpu{cpu}")).collect())
}

/// A process that is not foreign.
struct Process {
    place: String,
    stat: KernelFile,
    /// File with the input and output of the process. `None` if this process may not read the file.
    io: Option<KernelFile>,
    /// True if the process was stopped at the last sample.
    is_stopped: bool,
}

impl Process {
    fn open(place: &str, folder: &str) -> Result<Process> {
        let folder = PathBuf::from(folder);
        let mut io = KernelFile::open(folder.join("io")).ok();
        if io.as_mut().is_some_and(|io| io.read().is_err()) {
            io = None;
        }
        Ok(Process {
            place: place.to_owned(),
            stat: KernelFile::open(folder.join("stat"))?,
            io,
            is_stopped: false,
        })
    }

    fn cpu_ticks(&mut self) -> Result<u64> {
        let stat =
            Stat::parse(&self.stat.read()?).context("read the stat of the process in /proc")?;
        self.is_stopped = stat.is_stopped();
        Ok(stat.user + stat.system)
    }

    fn moved_kb(&mut self) -> Result<[f64; 2]> {
        let Some(source) = &mut self.io else {
            return Ok([0.0; 2]);
        };
        let io = Io::parse(&source.read()?).context("read the io of the process in /proc")?;
        let written = io.written.saturating_sub(io.cancelled);
        Ok([io.read as f64 / 1024.0, written as f64 / 1024.0])
    }
}

/// The machine's physical disks. Devices that are composed of other devices are omitted.
struct Disks {
    source: KernelFile,
    volumes: Vec<String>,
    /// Traffic that nodes had requested and that volumes had transferred at the first sample, in
    /// kB.
    begun_kb: Option<[[f64; 2]; 2]>,
    /// Kilobytes that the nodes and the client have read and written, but that no disk has
    /// transferred yet.
    ahead_kb: [f64; 2],
}

impl Disks {
    fn open(volumes: &[String]) -> Result<Disks> {
        Ok(Disks {
            source: KernelFile::open("/proc/diskstats")?,
            volumes: volumes.to_vec(),
            begun_kb: None,
            ahead_kb: [0.0, waiting_kb().unwrap_or(0.0)],
        })
    }

    /// Returns the counters of the machine's physical disks, and the traffic of the nodes' volumes
    /// in kB.
    fn read(&mut self) -> Result<(HashMap<String, Columns>, [f64; 2])> {
        let mut devices = disk::parse(&self.source.read()?).context("/proc/diskstats")?;
        let volumes: Vec<&Columns> = self.volumes.iter().filter_map(|v| devices.get(v)).collect();
        let moved_kb = SECTORS.map(|column| {
            let sectors = volumes.iter().map(|columns| columns[column]);
            sectors.sum::<u64>() as f64 * SECTOR_KB
        });
        devices.retain(|name, _| is_disk(name, &Path::new("/sys/block").join(name)));
        Ok((devices, moved_kb))
    }

    /// Returns the traffic that the nodes and the client requested from the disks, in kB. The share
    /// of the nodes is their requests or the traffic of their volumes, whichever is larger.
    fn ours_kb(&mut self, nodes: [f64; 2], volumes: [f64; 2], beside: [f64; 2]) -> [f64; 2] {
        let [nodes_begun, volumes_begun] = *self.begun_kb.get_or_insert([nodes, volumes]);
        [0, 1].map(|way| {
            let asked = nodes[way] - nodes_begun[way];
            let moved = volumes[way] - volumes_begun[way];
            asked.max(moved) + beside[way]
        })
    }

    fn put(&mut self, before: &Traffic, now: &Traffic, seconds: f64, out: &mut Out) {
        let mut all_kb = [0.0; 2];
        let mut busy = 0.0f64;
        for (name, now) in &now.devices {
            let Some(before) = before.devices.get(name) else {
                continue;
            };
            let spent = |index: usize| grown(before[index], now[index]).unwrap_or(0.0);
            busy = busy.max((spent(BUSY_MS) / seconds / 1e3).min(1.0));
            for (sum, column) in all_kb.iter_mut().zip(SECTORS) {
                *sum += spent(column) * SECTOR_KB;
            }
        }
        let asked_kb = [0, 1].map(|way| (now.ours_kb[way] - before.ours_kb[way]).max(0.0));
        let others_kb = self.others_kb(all_kb, asked_kb);
        let moved: f64 = all_kb.iter().sum();
        let others: f64 = others_kb.iter().sum();
        let share = if moved > 0.0 { others / moved } else { 0.0 };
        out.put("disk.others", MACHINE, "kB/s", others / seconds);
        out.put(
            "disk.nodes_and_client",
            MACHINE,
            "kB/s",
            (moved - others) / seconds,
        );
        out.put("disk.busy_for_others", MACHINE, "%", 100.0 * busy * share);
    }

    /// Returns the traffic of the disks that the nodes and the client never requested.
    fn others_kb(&mut self, all_kb: [f64; 2], asked_kb: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|way| {
            let ours = self.ahead_kb[way] + asked_kb[way];
            self.ahead_kb[way] = (ours - all_kb[way]).max(0.0);
            (all_kb[way] - ours).max(0.0)
        })
    }
}

/// Returns true if a device is not composed of other devices. `folder` exists only for whole
/// devices.
fn is_disk(device: &str, folder: &Path) -> bool {
    let made_of_others = ["dm-", "md", "loop", "ram", "zram"];
    !made_of_others.iter().any(|kind| device.starts_with(kind)) && folder.exists()
}

/// Returns the amount of dirty data in memory, in kB. It includes the data of all processes.
fn waiting_kb() -> Option<f64> {
    let text = KernelFile::open("/proc/meminfo").ok()?.read().ok()?.into_owned();
    let of = |key: &str| -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    Some(of("Dirty:")? + of("Writeback:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others() -> ForeignLoad {
        ForeignLoad::open(&OwnProcesses::default()).unwrap()
    }

    fn found(out: &Out) -> HashMap<String, f64> {
        let readings = out.readings().iter();
        readings.map(|one| (one.name.to_string(), one.value)).collect()
    }

    fn now_from(tasks: u64, idle: u64, nodes: u64, own_ns: u64) -> LoadSample {
        let mut ticks = Ticks::default();
        (ticks[0], ticks[3]) = (tasks, idle);
        LoadSample {
            ticks,
            nodes_ticks: nodes,
            own_ns,
            moved: None,
        }
    }

    #[test]
    fn cpu_time_of_neither_nodes_nor_client_belongs_to_others() {
        let mut others = others();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let mut out = Out::new();
        let now = now_from(150, 50, 60, 40 * tick_ns);
        others.put_cpu(&LoadSample::default(), &now, &mut out);
        let seen = found(&out);
        for (name, value) in [
            ("cpu.others", 25.0),
            ("cpu.nodes", 30.0),
            ("cpu.client", 20.0),
        ] {
            assert!((seen[name] - value).abs() < 1e-9, "{name} {}", seen[name]);
        }
    }

    /// The kernel samples ticks, so a sample may show less time than the tasks have used.
    #[test]
    fn a_shortage_of_one_look_offsets_the_surplus_of_the_next() {
        let mut others = others();
        let looks = [
            now_from(100, 100, 110, 0),
            now_from(210, 190, 190, 0),
            now_from(310, 290, 260, 0),
        ];
        let mut before = LoadSample::default();
        let mut seen = Vec::new();
        for now in looks {
            let mut out = Out::new();
            others.put_cpu(&before, &now, &mut out);
            seen.push((found(&out)["cpu.others"] * 10.0).round() / 10.0);
            before = now;
        }
        // The samples are −10, +30 and +30 of 200 ticks.
        assert_eq!(seen, [0.0, 10.0, 15.0]);
    }

    fn disks() -> Disks {
        Disks {
            source: KernelFile::open("/proc/self/stat").unwrap(),
            volumes: Vec::new(),
            begun_kb: None,
            ahead_kb: [0.0; 2],
        }
    }

    /// If rows are synced one by one, the journal of the nodes' volumes is traffic of the nodes.
    #[test]
    fn bytes_moved_by_the_volumes_of_nodes_belong_to_the_nodes() {
        let mut disks = disks();
        assert_eq!(
            disks.ours_kb([5.0, 7.0], [0.0, 900.0], [1.0, 1.0]),
            [1.0, 1.0]
        );
        // The nodes request 100 kB, their volumes transfer 300 kB, and the client requests 2 kB.
        let ours = disks.ours_kb([5.0, 107.0], [0.0, 1200.0], [1.0, 3.0]);
        assert_eq!(ours, [1.0, 303.0]);
        // The requests of the nodes count before their volumes transfer the data. The later
        // transfer does not count again.
        let ours = disks.ours_kb([5.0, 1007.0], [0.0, 1300.0], [1.0, 3.0]);
        assert_eq!(ours, [1.0, 1003.0]);
        let ours = disks.ours_kb([5.0, 1007.0], [0.0, 1900.0], [1.0, 3.0]);
        assert_eq!(ours, [1.0, 1003.0]);
    }

    #[test]
    fn own_earlier_writes_are_not_attributed_to_others_at_writeback() {
        let mut disks = Disks {
            ahead_kb: [0.0, 50.0],
            ..disks()
        };
        // The nodes and the client wrote 100 kB while 50 kB were dirty, and the disk transferred
        // 120 kB in total.
        assert_eq!(disks.others_kb([10.0, 120.0], [10.0, 100.0]), [0.0, 0.0]);
        assert_eq!(disks.others_kb([70.0, 30.0], [20.0, 0.0]), [50.0, 0.0]);
        assert_eq!(disks.others_kb([0.0, 200.0], [0.0, 100.0]), [0.0, 100.0]);
    }

    #[test]
    fn disks_made_of_others_are_not_counted_again() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path();
        for (device, expected) in [("vda", true), ("dm-0", false), ("md127", false)] {
            assert_eq!(is_disk(device, there), expected, "{device}");
        }
        assert!(!is_disk("vda1", &there.join("vda1")));
    }

    #[test]
    fn this_machine_tells_who_uses_it() {
        let mut others = others();
        let mut out = Out::new();
        others.look(1, &mut out).unwrap();
        // The test repeats the sample until the counters of the machine have advanced by a tick.
        let deadline = clock::Deadline::after(std::time::Duration::from_secs(60));
        while !found(&out).contains_key("cpu.others") {
            assert!(!deadline.passed(), "{:?}", found(&out));
            others.look(clock::now_ns(), &mut out).unwrap();
        }
        let seen = found(&out);
        assert!((0.0..=100.0).contains(&seen["cpu.others"]), "{seen:?}");
        assert_eq!(seen["cpu.nodes"], 0.0);
        assert!(seen["cpu.count"] >= 1.0);
        let missing_node = OwnProcesses {
            nodes: &[("node1", u32::MAX)],
            ..OwnProcesses::default()
        };
        assert!(ForeignLoad::open(&missing_node).is_err());
    }
}
