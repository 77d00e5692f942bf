//! Context switches of the threads of a process, and their waiting time for a CPU. The kernel
//! counts them for each thread, but does not report their sum. The module also finds the threads
//! that are blocked within the kernel, by a disk that does not answer or a frozen file system.

use crate::probe::Out;
use crate::probe::kernel_file::Last;
use anyhow::{Context, Result};
use measure::clock;
use rustix::fs::{Dir, Mode, OFlags};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

/// Minimum interval between two readings of the threads. Reading the 59 threads of an idle node
/// takes 1.1 ms of CPU, which is ten times the cost of the rest of a sample.
const THREADS_PERIOD_NS: u64 = 5 * clock::SECOND_NS;

/// Interval between two readings after the probe has found a thread that waits within the kernel.
/// It is short because a file system may be frozen for only a few seconds.
const SUSPECT_PERIOD_NS: u64 = clock::SECOND_NS;

/// Series of the number of blocked threads. A thread is blocked if it is in uninterruptible sleep
/// at this sample and at the previous one, without a context switch in between. If no thread is
/// blocked, the series has no reading.
pub const BLOCKED: &str = "status.blocked";

/// Series of the CPU usage of the busiest thread since the previous reading, in percent of one CPU.
/// The place of a reading is the process and the name of the thread, such as `node1/C2
/// CompilerThre`. The kernel truncates the name to 15 characters.
pub const BUSIEST: &str = "threads.%CPU";

/// Counters that the kernel keeps only for each thread of a process.
pub(super) struct Threads {
    folder: OwnedFd,
    /// Time before which a sample does not read the threads, in ns.
    due_ns: u64,
    last: Last<HashMap<u32, Switches>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Switches {
    /// Voluntary context switches, in which the thread waited.
    voluntary: u64,
    /// Involuntary context switches, in which the thread was preempted.
    involuntary: u64,
    /// Time in the run queue without a CPU, in ns. `None` if the kernel does not measure it.
    waited_ns: Option<u64>,
    /// Time on a CPU, in ns. `None` if the kernel does not measure it.
    ran_ns: Option<u64>,
    /// True in state `D`, in which the thread waits within the kernel and does not react to
    /// signals.
    in_kernel: bool,
}

impl Threads {
    pub fn open(pid: u32) -> Result<Threads> {
        let path = format!("/proc/{pid}/task");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty());
        Ok(Threads {
            folder: folder.with_context(|| format!("read {path}"))?,
            due_ns: 0,
            last: Last::none(),
        })
    }

    pub fn look(&mut self, place: &str, now_ns: u64, out: &mut Out) -> Result<()> {
        if now_ns < self.due_ns {
            return Ok(());
        }
        // The tolerance of half a second is necessary because samples are late by varying amounts.
        // It does not cause additional samples.
        self.due_ns = now_ns + THREADS_PERIOD_NS - clock::SECOND_NS / 2;
        let now = self.read()?;
        self.due_ns = now_ns + period_ns(&now) - clock::SECOND_NS / 2;
        let Some((before, seconds)) = self.last.replace(now_ns, now.clone()) else {
            return Ok(());
        };
        let blocked = blocked(&before, &now);
        if blocked > 0 {
            out.put(BLOCKED, place, "count", blocked as f64);
        }
        if let Some((thread, ran_ns)) = busiest(&before, &now) {
            let mut buffer = [0u8; 64];
            let comm = read_at(&self.folder, &format!("{thread}/comm"), &mut buffer);
            // A thread that has ended in the meantime has no name, so it is omitted.
            if let Some(name) = comm.map(str::trim_end) {
                let percent = ran_ns as f64 / seconds / 1e7;
                out.put(BUSIEST, &format!("{place}/{name}"), "%", percent);
            }
        }
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
        for entry in Dir::read_from(&self.folder).context("list the threads of the process")? {
            let entry = entry.context("list the threads of the process")?;
            let name = entry.file_name().to_str().unwrap_or_default();
            let Ok(id) = name.parse::<u32>() else {
                continue;
            };
            // A thread that ends between the two reads is omitted.
            let status = read_at(&self.folder, &format!("{name}/status"), &mut buffer);
            let Some(mut switches) = status.and_then(Switches::parse) else {
                continue;
            };
            let times = read_at(&self.folder, &format!("{name}/schedstat"), &mut buffer);
            let mut times = times.unwrap_or_default().split_ascii_whitespace();
            let mut next_ns = || times.next().and_then(|text| text.parse().ok());
            (switches.ran_ns, switches.waited_ns) = (next_ns(), next_ns());
            found.insert(id, switches);
        }
        Ok(found)
    }
}

impl Switches {
    /// Parses a thread's `status`, in which the two counters are the last lines.
    fn parse(text: &str) -> Option<Switches> {
        let state = text.lines().find_map(|line| line.strip_prefix("State:"));
        let mut switches = Switches {
            in_kernel: state.is_some_and(|state| state.trim_start().starts_with('D')),
            ..Switches::default()
        };
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

fn period_ns(now: &HashMap<u32, Switches>) -> u64 {
    if now.values().any(|thread| thread.in_kernel) {
        SUSPECT_PERIOD_NS
    } else {
        THREADS_PERIOD_NS
    }
}

/// Returns the number of threads that have waited within the kernel since `before`. If a thread had
/// run in the meantime, its context switches would have increased.
fn blocked(before: &HashMap<u32, Switches>, now: &HashMap<u32, Switches>) -> usize {
    let is_blocked = |(id, thread): &(&u32, &Switches)| {
        let before = before.get(id).filter(|before| before.in_kernel);
        let switches = |one: &Switches| (one.voluntary, one.involuntary);
        thread.in_kernel && before.is_some_and(|before| switches(before) == switches(thread))
    };
    now.iter().filter(is_blocked).count()
}

/// Returns the activity of all threads since `before`. The sum includes all activity of a new
/// thread. It omits a thread that has ended in the meantime.
fn sum(before: &HashMap<u32, Switches>, now: &HashMap<u32, Switches>) -> Switches {
    let mut sum = Switches::default();
    for (id, thread) in now {
        // A thread id may be reused for a newer thread, which has lower counters.
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

/// Returns the thread that used the most CPU time since `before`, and that time in ns. The function
/// ignores a thread without an earlier reading, because its time may be older than `before`.
fn busiest(before: &HashMap<u32, Switches>, now: &HashMap<u32, Switches>) -> Option<(u32, u64)> {
    let used = now.iter().filter_map(|(id, thread)| {
        let before_ns = before.get(id)?.ran_ns?;
        Some((*id, thread.ran_ns?.checked_sub(before_ns)?))
    });
    used.max_by_key(|(_, ran_ns)| *ran_ns)
}

/// Reads a small file in `folder`, up to the size of `buffer`. Returns `None` if the file no longer
/// exists.
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

#[cfg(test)]
mod tests {
    use super::*;

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
            ..Switches::default()
        };
        let before = HashMap::from([
            (1, of(10, 20, Some(100))),
            (2, of(99, 99, Some(99))),
            (3, of(50, 50, Some(500))),
        ]);
        // Thread 1 has continued, 2 has ended, 3 is another thread with the same id, and 4 is new.
        let now = HashMap::from([
            (1, of(13, 21, Some(150))),
            (3, of(2, 1, Some(7))),
            (4, of(5, 6, Some(30))),
        ]);
        assert_eq!(sum(&before, &now), of(10, 8, Some(87)));
    }

    #[test]
    fn the_busiest_thread_is_the_one_that_ran_longest_since() {
        let of = |ran_ns| Switches {
            ran_ns,
            ..Switches::default()
        };
        let before = HashMap::from([(1, of(Some(900))), (2, of(Some(100))), (3, of(None))]);
        // Thread 4 is new, and its CPU time may be older than the previous reading.
        let now = HashMap::from([
            (1, of(Some(950))),
            (2, of(Some(400))),
            (3, of(Some(700))),
            (4, of(Some(999))),
        ]);
        assert_eq!(busiest(&before, &now), Some((2, 300)));
        assert_eq!(busiest(&HashMap::new(), &now), None);
    }

    #[test]
    fn a_thread_in_the_kernel_since_the_last_sample_is_blocked() {
        let of = |state: &str, switches: u32| {
            let text = format!(
                "Name:\tx\nState:\t{state}\nvoluntary_ctxt_switches:\t{switches}\n\
                 nonvoluntary_ctxt_switches:\t1\n"
            );
            Switches::parse(&text).unwrap()
        };
        let disk = "D (disk sleep)";
        let before = [of(disk, 5), of(disk, 5), of("S (sleeping)", 5), of(disk, 5)];
        let now = [of(disk, 5), of(disk, 6), of(disk, 5), of("R (running)", 5)];
        let threads = |all: [Switches; 4]| (1u32..).zip(all).collect::<HashMap<_, _>>();
        let mut now = threads(now);
        // Thread 9 has no previous state, so it may have just begun to wait and does not count.
        now.insert(9, of(disk, 5));
        assert_eq!(blocked(&threads(before), &now), 1);
        assert_eq!(period_ns(&now), SUSPECT_PERIOD_NS);
        let quiet = threads(before.map(|_| of("S (sleeping)", 5)));
        assert_eq!(period_ns(&quiet), THREADS_PERIOD_NS);
    }
}
