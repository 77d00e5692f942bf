//! Processes in the terms of `pidstat`: CPU, memory, input and output, threads, and the NUMA nodes
//! of their memory.
//!
//! pidstat takes context switches and the wait for a CPU only from the first thread of a process.
//! In a JVM, the first thread only starts the others. So in this probe, these values are sums over
//! all threads. The probe reads them at most every five seconds, because reading each thread is its
//! main cost.
//!
//! The probe reads the files directly. A library for `/proc` would parse the whole file, and would
//! open it for each reading, which is most of the cost.

mod threads;

use super::kernel_file::{KernelFile, Last, grown};
use super::{Out, SampledSource};
use anyhow::{Context, Result};
use std::path::PathBuf;
pub use threads::BLOCKED;
use threads::Threads;

pub(crate) struct Process {
    place: String,
    stat: KernelFile,
    status: KernelFile,
    /// File with the input and output of the process. `None` if this process may not read the file,
    /// as for a process of another user.
    io: Option<KernelFile>,
    threads: Threads,
    last: Last<(Stat, Option<Io>)>,
    page_kb: f64,
    ticks_per_s: f64,
    /// Name of the series of the only NUMA node. `None` on a machine with several nodes.
    single_numa_node: Option<String>,
}

impl Process {
    /// Opens the files of the process `pid`. The readings have the place `place`.
    ///
    /// # Errors
    /// The process does not exist.
    pub fn open(place: &str, pid: u32) -> Result<Process> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let mut io = KernelFile::open(folder.join("io")).ok();
        if io.as_mut().is_some_and(|io| io.read().is_err()) {
            io = None;
        }
        Ok(Process {
            place: place.to_string(),
            stat: KernelFile::open(folder.join("stat"))?,
            status: KernelFile::open(folder.join("status"))?,
            io,
            threads: Threads::open(pid)?,
            last: Last::none(),
            page_kb: rustix::param::page_size() as f64 / 1024.0,
            ticks_per_s: rustix::param::clock_ticks_per_second() as f64,
            single_numa_node: match numa_nodes().as_slice() {
                [only] => Some(format!("numa.{only}")),
                _ => None,
            },
        })
    }

    fn put_rates(
        &self,
        before: &(Stat, Option<Io>),
        now: &(Stat, Option<Io>),
        s: f64,
        out: &mut Out,
    ) {
        let place = &self.place;
        let (stat, io) = now;
        let (stat_before, io_before) = before;
        let share = 100.0 / self.ticks_per_s / s;
        let user = grown(stat_before.user, stat.user);
        let system = grown(stat_before.system, stat.system);
        let guest = grown(stat_before.guest, stat.guest);
        if let (Some(user), Some(system), Some(guest)) = (user, system, guest) {
            out.put("pidstat.%usr", place, "%", (user - guest).max(0.0) * share);
            out.put("pidstat.%system", place, "%", system * share);
            out.put("pidstat.%guest", place, "%", guest * share);
            out.put("pidstat.%CPU", place, "%", (user + system) * share);
        }
        let mut rate = |name, unit, divisor: f64, before, now| {
            if let Some(count) = grown(before, now) {
                out.put(name, place, unit, count / divisor / s);
            }
        };
        let (minor, major) = (stat_before.minor_faults, stat_before.major_faults);
        rate("pidstat.minflt/s", "/s", 1.0, minor, stat.minor_faults);
        rate("pidstat.majflt/s", "/s", 1.0, major, stat.major_faults);
        if let (Some(before), Some(io)) = (io_before, io) {
            rate("pidstat.kB_rd/s", "kB/s", 1024.0, before.read, io.read);
            rate(
                "pidstat.kB_wr/s",
                "kB/s",
                1024.0,
                before.written,
                io.written,
            );
            let (before, now) = (before.cancelled, io.cancelled);
            rate("pidstat.kB_ccwr/s", "kB/s", 1024.0, before, now);
        }
    }
}

impl SampledSource for Process {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let stat =
            Stat::parse(&self.stat.read()?).context("read the stat of the process in /proc")?;
        let io = match &mut self.io {
            Some(source) => {
                Some(Io::parse(&source.read()?).context("read the io of the process in /proc")?)
            }
            None => None,
        };
        let resident_kb = stat.resident_pages as f64 * self.page_kb;
        out.put("pidstat.threads", &self.place, "count", stat.threads as f64);
        out.put(
            "pidstat.VSZ",
            &self.place,
            "kB",
            stat.virtual_bytes as f64 / 1024.0,
        );
        out.put("pidstat.RSS", &self.place, "kB", resident_kb);
        // RSS also includes the pages of mapped files, which are page cache. Therefore the
        // anonymous memory is reported separately.
        if let Some(kb) = anonymous_kb(&self.status.read()?) {
            out.put("status.RssAnon", &self.place, "kB", kb as f64);
        }
        if let Some(name) = &self.single_numa_node {
            out.put(name, &self.place, "bytes", resident_kb * 1024.0);
        }
        let now = (stat, io);
        if let Some((before, seconds)) = self.last.replace(now_ns, now.clone()) {
            self.put_rates(&before, &now, seconds, out);
        }
        self.threads.look(&self.place, now_ns, out)
    }
}

/// Returns the anonymous memory from `/proc/PID/status`, in kB. Returns `None` on a kernel before
/// 4.5, and for a process that has ended.
fn anonymous_kb(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Columns of `/proc/PID/stat`. The values are sums over the process's threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stat {
    /// State of the process, as a letter of proc(5): `S` for sleeping, `T` for stopped by a signal,
    /// `t` for stopped by a debugger.
    state: char,
    minor_faults: u64,
    major_faults: u64,
    pub user: u64,
    pub system: u64,
    threads: u64,
    virtual_bytes: u64,
    resident_pages: u64,
    guest: u64,
}

impl Stat {
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    pub fn parse(text: &str) -> Result<Stat> {
        // The name is in parentheses, and may itself contain parentheses and blanks.
        let (_, rest) = text.rsplit_once(')').context("has no name in parentheses")?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Fields are numbered as in proc(5), where the state after the name is field 3.
        let column = |number: usize| -> Result<u64> {
            let word = words.get(number - 3).with_context(|| format!("has no column {number}"))?;
            word.parse().with_context(|| format!("column {number} is {word:?}"))
        };
        let state = words.first().and_then(|word| word.chars().next());
        Ok(Stat {
            state: state.context("has no state")?,
            minor_faults: column(10)?,
            major_faults: column(12)?,
            user: column(14)?,
            system: column(15)?,
            threads: column(20)?,
            virtual_bytes: column(23)?,
            resident_pages: column(24)?,
            guest: column(43)?,
        })
    }
}

/// Bytes that the process caused devices to transfer, from `/proc/PID/io`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Io {
    pub read: u64,
    pub written: u64,
    /// Bytes of dirty pages that the process discarded before they were written.
    pub cancelled: u64,
}

impl Io {
    pub fn parse(text: &str) -> Result<Io> {
        let of = |key: &str| -> Result<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            let word = line.with_context(|| format!("has no line {key}"))?.trim();
            word.parse().with_context(|| format!("{key} is {word:?}"))
        };
        Ok(Io {
            read: of("read_bytes")?,
            written: of("write_bytes")?,
            cancelled: of("cancelled_write_bytes")?,
        })
    }
}

pub(crate) fn numa_nodes() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/devices/system/node");
    let mut nodes: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            let digits = name.strip_prefix("node").unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
        .collect();
    nodes.sort();
    nodes
}

/// NUMA nodes of a process's memory, from `/proc/PID/numa_maps`. For a JVM of 800 MB, reading the
/// file takes 50 ms, during which the process cannot map memory. So the probe does not read it at
/// each sample. On a machine with one NUMA node, the probe never reads it, because [`Process`]
/// derives the value from the resident size.
pub(crate) struct NumaMaps {
    place: String,
    source: KernelFile,
}

impl NumaMaps {
    /// Opens the file of the process `pid`.
    ///
    /// # Errors
    /// The process does not exist, or it belongs to another user.
    pub fn open(place: &str, pid: u32) -> Result<NumaMaps> {
        Ok(NumaMaps {
            place: place.to_string(),
            source: KernelFile::open(format!("/proc/{pid}/numa_maps"))?,
        })
    }
}

impl SampledSource for NumaMaps {
    fn look(&mut self, _now_ns: u64, out: &mut Out) -> Result<()> {
        for (node, bytes) in placed(&self.source.read()?) {
            out.put(
                &format!("numa.node{node}"),
                &self.place,
                "bytes",
                bytes as f64,
            );
        }
        Ok(())
    }
}

/// Returns the number of bytes on each NUMA node. `N0=` is a number of pages, and the same line
/// contains their size.
fn placed(text: &str) -> std::collections::BTreeMap<u32, u64> {
    let mut placed = std::collections::BTreeMap::new();
    for line in text.lines() {
        let value = |key: &str| {
            let mut words = line.split_ascii_whitespace();
            words.find_map(|word| word.strip_prefix(key)?.parse::<u64>().ok())
        };
        let page_kb = value("kernelpagesize_kB=").unwrap_or(4);
        for word in line.split_ascii_whitespace() {
            let Some((node, pages)) = word.strip_prefix('N').and_then(|word| word.split_once('='))
            else {
                continue;
            };
            if let (Ok(node), Ok(pages)) = (node.parse::<u32>(), pages.parse::<u64>()) {
                *placed.entry(node).or_default() += pages * page_kb * 1024;
            }
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/proc/PID/stat` of a JVM. The name of the process contains parentheses and blanks.
    const STAT: &str = "1753 (java (a) b) S 1700 1753 1700 0 -1 1077936128 250717 11 42 0 2871 \
        386 7 3 20 0 57 0 3145679 4015366144 214034 18446744073709551615 1 1 0 0 0 0 0 4096 \
        16797903 0 0 0 17 1 0 0 0 9 0 0 0 0 0 0 0 0 0";

    #[test]
    fn the_columns_of_a_process_are_those_of_the_manual() {
        let stat = Stat::parse(STAT).unwrap();
        assert_eq!(
            stat,
            Stat {
                state: 'S',
                minor_faults: 250717,
                major_faults: 42,
                user: 2871,
                system: 386,
                threads: 57,
                virtual_bytes: 4015366144,
                resident_pages: 214034,
                guest: 9,
            }
        );
        for (state, expected) in [("S", false), ("D", false), ("T", true), ("t", true)] {
            let text = STAT.replace(") S ", &format!(") {state} "));
            assert_eq!(
                Stat::parse(&text).unwrap().is_stopped(),
                expected,
                "{state}"
            );
        }
        for (text, words) in [
            ("", "has no name in parentheses"),
            ("1 (a) S 1 2", "has no column 10"),
            ("1 (a) S 1 1 1 1 1 1 x", "column 10 is \"x\""),
        ] {
            let error = Stat::parse(text).unwrap_err().to_string();
            assert_eq!(error, words);
        }
    }

    #[test]
    fn bytes_of_devices_are_told_from_bytes_of_calls() {
        let text = "rchar: 7279\nwchar: 303\nsyscr: 12\nsyscw: 1\nread_bytes: 4096\n\
                    write_bytes: 8192\ncancelled_write_bytes: 5\n";
        let expected = Io {
            read: 4096,
            written: 8192,
            cancelled: 5,
        };
        assert_eq!(Io::parse(text).unwrap(), expected);
        let error = Io::parse("rchar: 1\n").unwrap_err().to_string();
        assert_eq!(error, "has no line read_bytes");
    }

    #[test]
    fn memory_is_placed_by_the_size_of_its_pages() {
        let text = "\
7f0000000000 default file=/usr/lib/x.so mapped=30 N0=20 N1=10 kernelpagesize_kB=4
7f0000100000 default anon=2 dirty=2 N1=2 kernelpagesize_kB=2048
7f0000200000 default
7f0000300000 default file=/N3=7/Nothing N0=x
";
        let placed: Vec<(u32, u64)> = placed(text).into_iter().collect();
        assert_eq!(placed, [(0, 20 * 4096), (1, 10 * 4096 + (4 << 20))]);
    }

    #[test]
    fn this_process_has_figures_from_the_second_look_on() {
        let mut process = Process::open("client", std::process::id()).unwrap();
        assert!(process.io.is_some());
        let mut out = Out::new();
        process.look(1_000_000_000, &mut out).unwrap();
        let first = out.readings().len();
        process.look(9_000_000_000, &mut out).unwrap();
        let of = |name: &str| {
            let reading = out.readings()[first..].iter().find(|one| &*one.name == name);
            reading.unwrap_or_else(|| panic!("{name} is missing")).value
        };
        assert!(of("pidstat.RSS") > 100.0 && of("pidstat.threads") >= 1.0);
        let anonymous_kb = of("status.RssAnon");
        assert!(anonymous_kb > 10.0 && anonymous_kb < of("pidstat.RSS") + 1.0);
        // The test samples its own process. The process has page faults, at least for the buffers
        // of the second sample.
        for name in [
            "pidstat.%CPU",
            "pidstat.cswch/s",
            "pidstat.kB_rd/s",
            "pidstat.minflt/s",
        ] {
            assert!(of(name) >= 0.0, "{name}");
        }
        let second = out.readings().len();
        process.look(10_000_000_000, &mut out).unwrap();
        let third = &out.readings()[second..];
        assert!(third.iter().any(|one| &*one.name == "pidstat.%CPU"));
        assert!(Process::open("nobody", u32::MAX).is_err());
    }
}
