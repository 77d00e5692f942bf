//! Processes as `pidstat` says it: CPU, memory, input and output, threads, and on which memory they
//! live.
//!
//! Two things differ from pidstat. It takes context switches and waiting for a CPU from the
//! process's first thread alone, which in a JVM only starts the others; ours are sums over all
//! threads, every five seconds at most, since going through them is what costs.
//!
//! Read by hand and not through a library of `/proc`: those open a file for each reading, which is
//! most of its cost, and parse all of it.

use super::source::{Last, Source, grown};
use super::{Look, Out};
use anyhow::{Context, Result};
use measure::clock;
use rustix::fs::{Dir, Mode, OFlags};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// How often the threads are gone through, at most: 59 threads of an idle node take 1.1 ms of CPU,
/// ten times the rest of a look.
const THREADS_PERIOD_NS: u64 = 5 * clock::SECOND_NS;

/// One process.
pub(crate) struct Process {
    place: String,
    stat: Source,
    /// Absent where it may not be read: a process of somebody else.
    io: Option<Source>,
    threads: Threads,
    last: Last<(Stat, Option<Io>)>,
    page_kb: f64,
    ticks_per_s: f64,
    /// The only node of a machine without NUMA, on which all memory is.
    single_numa_node: Option<String>,
}

impl Process {
    /// The process `pid`, whose readings stand at `place`.
    ///
    /// # Errors
    /// There is no such process.
    pub fn open(place: &str, pid: u32) -> Result<Process> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let mut io = Source::open(folder.join("io")).ok();
        if io.as_mut().is_some_and(|io| io.read().is_err()) {
            io = None;
        }
        Ok(Process {
            place: place.to_string(),
            stat: Source::open(folder.join("stat"))?,
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

impl Look for Process {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let stat = Stat::parse(&self.stat.read()?).context("its stat in /proc")?;
        let io = match &mut self.io {
            Some(source) => Some(Io::parse(&source.read()?).context("its io in /proc")?),
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

/// Columns of `/proc/PID/stat` that are sums over the process's threads.
#[derive(Clone, Debug, Default, PartialEq)]
struct Stat {
    minor_faults: u64,
    major_faults: u64,
    user: u64,
    system: u64,
    threads: u64,
    virtual_bytes: u64,
    resident_pages: u64,
    guest: u64,
}

impl Stat {
    fn parse(text: &str) -> Result<Stat> {
        // The name is in parentheses and may have parentheses and blanks itself.
        let (_, rest) = text
            .rsplit_once(')')
            .context("has no name in parentheses")?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Numbered as in proc(5), where the state behind the name is 3.
        let column = |number: usize| -> Result<u64> {
            let word = words
                .get(number - 3)
                .with_context(|| format!("has no column {number}"))?;
            word.parse()
                .with_context(|| format!("column {number} is {word:?}"))
        };
        Ok(Stat {
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

/// Bytes from `/proc/PID/io` that devices moved for the process.
#[derive(Clone, Debug, Default, PartialEq)]
struct Io {
    read: u64,
    written: u64,
    /// Dirty pages that it has dropped before they were written.
    cancelled: u64,
}

impl Io {
    fn parse(text: &str) -> Result<Io> {
        let of = |key: &str| -> Result<u64> {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
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

/// The threads of a process: what is only counted for each.
struct Threads {
    folder: OwnedFd,
    /// Before that time a look is none.
    due_ns: u64,
    last: Last<HashMap<u32, Switches>>,
}

/// Counts of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Switches {
    /// It waited for something.
    voluntary: u64,
    /// It was made to give way.
    involuntary: u64,
    /// Nanoseconds in which it could have run and had no CPU; none where the kernel counts none.
    waited_ns: Option<u64>,
}

impl Threads {
    fn open(pid: u32) -> Result<Threads> {
        let path = format!("/proc/{pid}/task");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty());
        Ok(Threads {
            folder: folder.with_context(|| format!("read {path}"))?,
            due_ns: 0,
            last: Last::none(),
        })
    }

    fn look(&mut self, place: &str, now_ns: u64, out: &mut Out) -> Result<()> {
        if now_ns < self.due_ns {
            return Ok(());
        }
        // Looks come a little late, one more than the other: half a second is no look too many.
        self.due_ns = now_ns + THREADS_PERIOD_NS - clock::SECOND_NS / 2;
        let now = self.read()?;
        let Some((before, seconds)) = self.last.replace(now_ns, now.clone()) else {
            return Ok(());
        };
        let sum = sum(&before, &now);
        out.put(
            "pidstat.cswch/s",
            place,
            "/s",
            sum.voluntary as f64 / seconds,
        );
        out.put(
            "pidstat.nvcswch/s",
            place,
            "/s",
            sum.involuntary as f64 / seconds,
        );
        if let Some(waited_ns) = sum.waited_ns {
            out.put(
                "pidstat.%wait",
                place,
                "%",
                waited_ns as f64 / seconds / 1e7,
            );
        }
        Ok(())
    }

    fn read(&self) -> Result<HashMap<u32, Switches>> {
        let mut buffer = [0u8; 4096];
        let mut found = HashMap::new();
        for entry in Dir::read_from(&self.folder).context("list its threads")? {
            let entry = entry.context("list its threads")?;
            let name = entry.file_name().to_str().unwrap_or_default();
            let Ok(id) = name.parse::<u32>() else {
                continue;
            };
            // A thread may end between these lines: it is left out then.
            let status = read_at(&self.folder, &format!("{name}/status"), &mut buffer);
            let Some(mut switches) = status.and_then(Switches::parse) else {
                continue;
            };
            let waited = read_at(&self.folder, &format!("{name}/schedstat"), &mut buffer);
            switches.waited_ns =
                waited.and_then(|text| text.split_ascii_whitespace().nth(1)?.parse().ok());
            found.insert(id, switches);
        }
        Ok(found)
    }
}

impl Switches {
    /// From a thread's `status`, where the two are the last lines.
    fn parse(text: &str) -> Option<Switches> {
        let mut switches = Switches::default();
        let mut found = 0;
        for line in text.lines().rev() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let count = match key {
                "voluntary_ctxt_switches" => &mut switches.voluntary,
                "nonvoluntary_ctxt_switches" => &mut switches.involuntary,
                _ => continue,
            };
            *count = value.trim().parse().ok()?;
            found += 1;
            if found == 2 {
                return Some(switches);
            }
        }
        None
    }
}

/// What all threads have done since `before`: a new one all that it ever did; one that has ended
/// since cannot be asked any more.
fn sum(before: &HashMap<u32, Switches>, now: &HashMap<u32, Switches>) -> Switches {
    let mut sum = Switches::default();
    for (id, thread) in now {
        // A number may be given anew to a younger thread, which has done less.
        let before = before.get(id).copied().unwrap_or_default();
        let before =
            if before.voluntary > thread.voluntary || before.involuntary > thread.involuntary {
                Switches::default()
            } else {
                before
            };
        sum.voluntary += thread.voluntary - before.voluntary;
        sum.involuntary += thread.involuntary - before.involuntary;
        if let Some(waited_ns) = thread.waited_ns {
            let more_ns = waited_ns.saturating_sub(before.waited_ns.unwrap_or(0));
            sum.waited_ns = Some(sum.waited_ns.unwrap_or(0) + more_ns);
        }
    }
    sum
}

/// A small file below `folder`, at most what fits; `None` when it is not there any more.
fn read_at<'a>(folder: &impl AsFd, name: &str, buffer: &'a mut [u8]) -> Option<&'a str> {
    let file = rustix::fs::openat(
        folder,
        name,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let length = rustix::io::read(file.ok()?, &mut *buffer).ok()?;
    std::str::from_utf8(&buffer[..length]).ok()
}

/// The machine's NUMA nodes by their names: `node0`.
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

/// On which NUMA nodes a process's memory is, from `/proc/PID/numa_maps`. Reading it takes the
/// kernel 50 ms for a JVM of 800 MB, in which the process cannot map memory: so not at each look,
/// and not on a machine with one node, where [`Process`] knows it from the resident size.
pub(crate) struct NumaMaps {
    place: String,
    source: Source,
}

impl NumaMaps {
    /// # Errors
    /// There is no such process, or it is somebody else's.
    pub fn open(place: &str, pid: u32) -> Result<NumaMaps> {
        Ok(NumaMaps {
            place: place.to_string(),
            source: Source::open(format!("/proc/{pid}/numa_maps"))?,
        })
    }
}

impl Look for NumaMaps {
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

/// Bytes by NUMA node: `N0=` counts pages, whose size the same line has.
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

    /// `/proc/PID/stat` of a JVM, its name made as bad as a name can be.
    const STAT: &str = "1753 (java (a) b) S 1700 1753 1700 0 -1 1077936128 250717 11 42 0 2871 \
        386 7 3 20 0 57 0 3145679 4015366144 214034 18446744073709551615 1 1 0 0 0 0 0 4096 \
        16797903 0 0 0 17 1 0 0 0 9 0 0 0 0 0 0 0 0 0";

    #[test]
    fn the_columns_of_a_process_are_those_of_the_manual() {
        let stat = Stat::parse(STAT).unwrap();
        assert_eq!(
            stat,
            Stat {
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
    fn switches_are_summed_over_threads_that_come_and_go() {
        let text = "Name:\ta: b\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n";
        let thread = Switches::parse(text).unwrap();
        assert_eq!((thread.voluntary, thread.involuntary), (7, 9));
        assert_eq!(Switches::parse("voluntary_ctxt_switches:\t7\n"), None);

        let of = |voluntary, involuntary, waited_ns| Switches {
            voluntary,
            involuntary,
            waited_ns,
        };
        let before = HashMap::from([
            (1, of(10, 20, Some(100))),
            (2, of(99, 99, Some(99))),
            (3, of(50, 50, Some(500))),
        ]);
        // 1 went on, 2 has ended, 3 is another thread by now, 4 is new.
        let now = HashMap::from([
            (1, of(13, 21, Some(150))),
            (3, of(2, 1, Some(7))),
            (4, of(5, 6, Some(30))),
        ]);
        assert_eq!(sum(&before, &now), of(10, 8, Some(87)));
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
            let reading = out.readings()[first..]
                .iter()
                .find(|one| &*one.name == name);
            reading.unwrap_or_else(|| panic!("{name} is missing")).value
        };
        assert!(of("pidstat.RSS") > 100.0 && of("pidstat.threads") >= 1.0);
        // Reading one's own files takes faults, at least for the buffers of the second look.
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
        assert!(!third.iter().any(|one| &*one.name == "pidstat.cswch/s"));
        assert!(Process::open("nobody", u32::MAX).is_err());
    }
}
