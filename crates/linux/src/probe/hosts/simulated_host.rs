//! Usage of the machine by a simulated host: its control groups, its network and its volume.
//!
//! The probe reads both versions of control groups, and distinguishes them by the names of their
//! files. A machine may have either version, or a different version for each controller.

use super::cpu_counters::CpuCounters;
use super::disk::{Devices, Disks};
use super::network::Network;
use super::pressure::Pressure;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use crate::probe::{Out, SampledSource};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Sources of the readings of a simulated host. An absent source has no readings.
pub(crate) struct HostFiles<'a> {
    pub name: &'a str,
    /// Group that limits the CPU time of the host.
    pub cpu: Option<&'a Path>,
    /// Group that measures the CPU time of the host, in version 1.
    pub cpuacct: Option<&'a Path>,
    /// Group that limits the memory of the host.
    pub memory: Option<&'a Path>,
    /// Group of version 2, which reports pressure and CPU time even without controllers.
    pub unified: Option<&'a Path>,
    pub device: Option<&'a str>,
    pub volume: Option<&'a Path>,
}

/// Probe of one simulated host.
pub(crate) struct StandIn {
    name: String,
    used: Option<CpuTimeFile>,
    throttling: Option<(KernelFile, Last<QuotaPeriods>)>,
    memory: Option<Memory>,
    pressure: Option<Pressure>,
    network: Network,
    /// Hardware counters of the host's CPUs. `None` if the host may use all CPUs of the machine, or
    /// if the counters cannot be read.
    counters: Option<CpuCounters>,
    disk: Option<Disks>,
    /// Mount point of the host's volume, and the number of its device.
    volume: Option<(PathBuf, u64)>,
}

/// File with the CPU time: `cpuacct.usage` in ns in version 1, or `cpu.stat` with `usage_usec` in
/// version 2.
struct CpuTimeFile {
    source: KernelFile,
    in_stat: bool,
    last: Last<u64>,
}

/// Numbers of periods of the CPU quota since the host was created.
#[derive(Clone, Copy, Debug, PartialEq)]
struct QuotaPeriods {
    periods: u64,
    throttled: u64,
}

/// Memory of the group, including the page cache.
struct Memory {
    used: KernelFile,
    stat: KernelFile,
    /// Number of times that the host reached its memory limit.
    hits: Option<(KernelFile, Last<u64>)>,
    version2: bool,
}

impl StandIn {
    /// Opens the sources that exist in `places`. `network` must have been opened within the host.
    ///
    /// # Errors
    /// The devices of the machine, or the device of the volume, cannot be read.
    pub fn open(
        places: &HostFiles,
        network: Network,
        counters: Option<CpuCounters>,
    ) -> Result<StandIn> {
        let device = places.device.map(|device| Devices::Only(device.to_owned()));
        let disk = device.map(|device| Disks::open(places.name, device));
        let stat = |dir: Option<&Path>| KernelFile::open(dir?.join("cpu.stat")).ok();
        let place = |folder: &Path| anyhow::Ok((folder.to_owned(), device_of(folder)?));
        Ok(StandIn {
            name: places.name.to_string(),
            used: CpuTimeFile::open(places),
            throttling: stat(places.cpu).map(|source| (source, Last::none())),
            memory: places.memory.and_then(|dir| Memory::open(dir).ok()),
            pressure: places.unified.map(|dir| Pressure::open(places.name, dir, ".pressure")),
            network,
            counters,
            disk: disk.transpose()?,
            volume: places.volume.map(place).transpose()?,
        })
    }

    fn throttled(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let Some((source, last)) = &mut self.throttling else {
            return Ok(());
        };
        // For a group without a quota, version 1 reports 0 periods, and version 2 reports no number
        // of periods.
        let text = source.read()?;
        let (Some(periods), Some(throttled)) =
            (value(&text, "nr_periods")?, value(&text, "nr_throttled")?)
        else {
            return Ok(());
        };
        let now = QuotaPeriods { periods, throttled };
        let Some((before, _)) = last.replace(now_ns, now) else {
            return Ok(());
        };
        if let (Some(periods), Some(throttled)) = (
            grown(before.periods, now.periods),
            grown(before.throttled, now.throttled),
        ) {
            // Without periods, the share is NaN, and the sink omits it.
            let share = 100.0 * throttled / periods;
            out.put("cgroup.throttled", &self.name, "%", share);
        }
        Ok(())
    }

    fn volume(&self, out: &mut Out) -> Result<()> {
        let Some((folder, device)) = &self.volume else {
            return Ok(());
        };
        let context = || format!("get the free space in {}", folder.display());
        // While a host has no power, another file system is mounted at the volume's path.
        if device_of(folder)? != *device {
            return Ok(());
        }
        let stat = rustix::fs::statvfs(folder).with_context(context)?;
        let block = stat.f_frsize as f64;
        let used = (stat.f_blocks - stat.f_bfree) as f64 * block;
        let available = stat.f_bavail as f64 * block;
        out.put("volume.used", &self.name, "bytes", used);
        out.put("volume.available", &self.name, "bytes", available);
        // As in `df`, reserved blocks count neither as used nor as available.
        let share = 100.0 * used / (used + available);
        out.put("volume.used_share", &self.name, "%", share);
        Ok(())
    }
}

fn device_of(folder: &Path) -> Result<u64> {
    let found = rustix::fs::stat(folder);
    Ok(found.with_context(|| format!("look at {}", folder.display()))?.st_dev)
}

impl SampledSource for StandIn {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let used = match &mut self.used {
            Some(used) => used.look(&self.name, now_ns, out),
            None => Ok(()),
        };
        let throttled = self.throttled(now_ns, out);
        let memory = match &mut self.memory {
            Some(memory) => memory.look(&self.name, now_ns, out),
            None => Ok(()),
        };
        let pressure = match &mut self.pressure {
            Some(pressure) => pressure.look(now_ns, out),
            None => Ok(()),
        };
        let network = self.network.look(now_ns, out);
        let counters = match &mut self.counters {
            Some(counters) => counters.look(now_ns, out),
            None => Ok(()),
        };
        let disk = match &mut self.disk {
            Some(disk) => disk.look(now_ns, out),
            None => Ok(()),
        };
        let volume = self.volume(out);
        // If one source fails, the others are still read.
        let results = [
            used, throttled, memory, pressure, network, counters, disk, volume,
        ];
        let result: Result<()> = results.into_iter().collect();
        result.with_context(|| self.name.clone())
    }
}

impl CpuTimeFile {
    fn open(places: &HostFiles) -> Option<CpuTimeFile> {
        let version1 = places.cpuacct.map(|dir| (dir.join("cpuacct.usage"), false));
        let version2 = places.unified.map(|dir| (dir.join("cpu.stat"), true));
        let (source, in_stat) = [version1, version2]
            .into_iter()
            .flatten()
            .find_map(|(path, in_stat)| Some((KernelFile::open(path).ok()?, in_stat)))?;
        Some(CpuTimeFile {
            source,
            in_stat,
            last: Last::none(),
        })
    }

    fn look(&mut self, name: &str, now_ns: u64, out: &mut Out) -> Result<()> {
        let text = self.source.read()?;
        let ns = if self.in_stat {
            let microseconds = value(&text, "usage_usec")?.context("cpu.stat has no usage_usec")?;
            microseconds * 1000
        } else {
            number(&text, "cpuacct.usage")?
        };
        if let Some((before, seconds)) = self.last.replace(now_ns, ns)
            && let Some(spent_ns) = grown(before, ns)
        {
            out.put("cgroup.cpu_used", name, "cores", spent_ns / 1e9 / seconds);
        }
        Ok(())
    }
}

impl Memory {
    fn open(dir: &Path) -> Result<Memory> {
        let version1 = KernelFile::open(dir.join("memory.usage_in_bytes"));
        let version2 = version1.is_err();
        let (used, hits) = match version1 {
            Ok(used) => (used, "memory.failcnt"),
            Err(_) => (
                KernelFile::open(dir.join("memory.current"))?,
                "memory.events",
            ),
        };
        let hits = KernelFile::open(dir.join(hits)).ok();
        Ok(Memory {
            used,
            stat: KernelFile::open(dir.join("memory.stat"))?,
            hits: hits.map(|source| (source, Last::none())),
            version2,
        })
    }

    fn look(&mut self, name: &str, now_ns: u64, out: &mut Out) -> Result<()> {
        let used = number(&self.used.read()?, "the group's memory")?;
        out.put("cgroup.memory_used", name, "bytes", used as f64);
        let keys = if self.version2 {
            [
                ("cgroup.memory_cache", "file"),
                ("cgroup.memory_rss", "anon"),
            ]
        } else {
            [
                ("cgroup.memory_cache", "total_cache"),
                ("cgroup.memory_rss", "total_rss"),
            ]
        };
        let stat = self.stat.read()?;
        for (figure, key) in keys {
            if let Some(bytes) = value(&stat, key)? {
                out.put(figure, name, "bytes", bytes as f64);
            }
        }
        let Some((source, last)) = &mut self.hits else {
            return Ok(());
        };
        let text = source.read()?;
        let hits = if self.version2 {
            value(&text, "max")?.context("memory.events has no max")?
        } else {
            number(&text, "memory.failcnt")?
        };
        if let Some((before, seconds)) = last.replace(now_ns, hits)
            && let Some(count) = grown(before, hits)
        {
            out.put("cgroup.memory_limit_hits", name, "/s", count / seconds);
        }
        Ok(())
    }
}

/// Returns the value of a line `key value`. Returns `None` if `text` has no such line.
fn value(text: &str, key: &str) -> Result<Option<u64>> {
    for line in text.lines() {
        if let Some((name, value)) = line.split_once(' ')
            && name == key
        {
            return number(value, key).map(Some);
        }
    }
    Ok(None)
}

fn number(text: &str, what: &str) -> Result<u64> {
    let word = text.trim();
    word.parse().with_context(|| format!("{what} is {word:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const NET: [(&str, &str); 3] = [
        (
            "dev",
            "a\nb\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        ),
        ("snmp", "Tcp: CurrEstab RetransSegs\nTcp: 3 4\n"),
        ("netstat", "TcpExt: ListenDrops\nTcpExt: 0\n"),
    ];

    /// Takes two samples, 2 s apart. Each element of `files` is the content of the files at one
    /// sample. Returns the readings of the second sample.
    fn figures(files: [&[(&str, &str)]; 2], version2: bool) -> BTreeMap<String, f64> {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let write = |files: &[(&str, &str)]| {
            for (name, text) in NET.iter().chain(files) {
                std::fs::write(dir.join(name), text).unwrap();
            }
        };
        write(files[0]);
        let network = Network::open(
            "host1",
            |name| KernelFile::open(dir.join(name)),
            Box::new(|_| None),
        );
        let places = HostFiles {
            name: "host1",
            cpu: Some(dir),
            cpuacct: (!version2).then_some(dir),
            memory: Some(dir),
            unified: Some(dir),
            device: None,
            volume: Some(dir),
        };
        let mut stand_in = StandIn::open(&places, network.unwrap(), None).unwrap();
        let mut out = Out::new();
        stand_in.look(1_000_000_000, &mut out).unwrap();
        let first = out.readings().len();
        write(files[1]);
        stand_in.look(3_000_000_000, &mut out).unwrap();
        assert!(out.readings().iter().all(|one| one.place.starts_with("host1")));
        let second = &out.readings()[first..];
        second.iter().map(|one| (one.name.to_string(), one.value)).collect()
    }

    #[test]
    fn groups_of_version_1_are_read() {
        let found = figures(
            [
                &[
                    ("cpuacct.usage", "5000000000\n"),
                    (
                        "cpu.stat",
                        "nr_periods 10\nnr_throttled 1\nthrottled_time 5\n",
                    ),
                    ("memory.usage_in_bytes", "1000\n"),
                    ("memory.failcnt", "2\n"),
                    ("memory.stat", "cache 1\ntotal_cache 600\ntotal_rss 300\n"),
                    ("cpu.pressure", "some avg10=0.00 total=100\n"),
                ],
                &[
                    ("cpuacct.usage", "8000000000\n"),
                    (
                        "cpu.stat",
                        "nr_periods 30\nnr_throttled 6\nthrottled_time 5\n",
                    ),
                    ("memory.usage_in_bytes", "2000\n"),
                    ("memory.failcnt", "12\n"),
                    ("memory.stat", "cache 1\ntotal_cache 700\ntotal_rss 400\n"),
                    ("cpu.pressure", "some avg10=0.00 total=200100\n"),
                ],
            ],
            false,
        );
        for (name, value) in [
            ("cgroup.cpu_used", 1.5),
            ("cgroup.throttled", 25.0),
            ("cgroup.memory_used", 2000.0),
            ("cgroup.memory_cache", 700.0),
            ("cgroup.memory_rss", 400.0),
            ("cgroup.memory_limit_hits", 5.0),
            ("psi.cpu.some", 10.0),
            ("sar.rxpck/s", 0.0),
            ("netstat.established", 3.0),
        ] {
            assert_eq!(found.get(name), Some(&value), "{name}");
        }
        assert!(found["volume.used"] > 0.0 && found["volume.used_share"] <= 100.0);
    }

    #[test]
    fn groups_of_version_2_are_read() {
        let found = figures(
            [
                &[
                    ("cpu.stat", "usage_usec 1000000\nuser_usec 5\n"),
                    ("memory.current", "10\n"),
                    ("memory.stat", "anon 3\nfile 4\nfile_mapped 5\n"),
                    ("memory.events", "low 0\nhigh 0\nmax 1\noom 0\n"),
                ],
                &[
                    ("cpu.stat", "usage_usec 2000000\nuser_usec 5\n"),
                    ("memory.current", "20\n"),
                    ("memory.stat", "anon 6\nfile 8\nfile_mapped 5\n"),
                    ("memory.events", "low 0\nhigh 0\nmax 0\noom 0\n"),
                ],
            ],
            true,
        );
        for (name, value) in [
            ("cgroup.cpu_used", Some(0.5)),
            ("cgroup.throttled", None),
            ("cgroup.memory_used", Some(20.0)),
            ("cgroup.memory_cache", Some(8.0)),
            ("cgroup.memory_rss", Some(6.0)),
            ("cgroup.memory_limit_hits", None),
            ("psi.cpu.some", None),
        ] {
            assert_eq!(found.get(name).copied(), value, "{name}");
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_named() {
        assert_eq!(value("max 5\nmaximum 6\n", "max").unwrap(), Some(5));
        assert_eq!(value("maximum 6\n", "max").unwrap(), None);
        let error = value("max many\n", "max").unwrap_err().to_string();
        assert_eq!(error, "max is \"many\"");
    }
}
