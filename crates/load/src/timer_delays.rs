//! Measures the delay of timers on the client's own cores, and the time for which the client's
//! workers wait for a core. This measurement detects that the client was stopped or that other
//! programs used its cores, even in closed loops.
//!
//! A thread on each of the workers' cores sleeps, reads the clock, and records how much later than
//! requested it woke up. Gil Tene's jHiccup uses the same method for JVMs. All threads together
//! wake up a thousand times a second, so that the cost is the same for any number of cores. The
//! results include this cost. The threads do not allocate once they run.
//!
//! Invariants: the histogram of exactly one interval contains a stall, namely the interval in which
//! the stall ended. The length of the stall is divided among all intervals that it spans. Data that
//! arrives after its interval was returned goes to the next interval. The last interval gets the
//! rest, so no data is lost.

use crate::config::{Config, LoadError};
use crate::control::Control;
use crate::thread_setup::own;
use measure::interval::{Hiccups, STALL_NS};
use measure::{Histogram, clock};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two measurements (looks) of all threads together.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Number of intervals whose data can be collected separately before the intervals are returned.
const SLOTS: u64 = 8;
/// Number of looks between two readings of a thread's own CPU time. Readings are rare because each
/// reading costs a system call.
const LOOKS_PER_CPU_READING: u32 = 32;

/// The measuring threads. They end when this value is dropped.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    ended: AtomicBool,
    ring: Mutex<Ring>,
}

impl Shared {
    /// Locks the ring. Accepts a poisoned lock, because a thread that panics cannot leave the ring
    /// inconsistent.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Starts a thread for each core that `config` assigns to the workers. If `config` does not
    /// assign cores, starts one thread that may run on any core. The threads begin to measure at
    /// the start line.
    pub fn start(config: &Config, control: &Arc<Control>) -> Result<Watch, LoadError> {
        let named = config.cpus.iter().take(config.workers).copied();
        let cpus: BTreeSet<usize> = named.collect();
        let cpus: Vec<Option<usize>> = if cpus.is_empty() {
            vec![None]
        } else {
            cpus.into_iter().map(Some).collect()
        };
        let period = LOOK_EVERY * cpus.len() as u32;
        let realtime = config.realtime;
        let mut watch = Watch {
            shared: Arc::new(Shared {
                ended: AtomicBool::new(false),
                ring: Mutex::new(Ring::new(config.interval.as_nanos() as u64)),
            }),
            threads: Vec::new(),
        };
        for cpu in cpus {
            let (shared, control) = (Arc::clone(&watch.shared), Arc::clone(control));
            let thread = std::thread::Builder::new()
                .name("load-hiccups".into())
                .spawn(move || {
                    own(cpu, realtime);
                    look(period, &control, &shared);
                })
                .map_err(|answer| LoadError::System {
                    what: "start the thread that detects stalls",
                    answer,
                })?;
            watch.threads.push(thread);
        }
        Ok(watch)
    }

    /// Takes the data up to and including the interval `index`. Skips data that was already taken.
    pub fn take(&self, index: u64) -> Hiccups {
        self.shared.ring().take(index)
    }

    pub fn take_all(&self) -> Hiccups {
        self.shared.ring().take_all()
    }

    /// Ends the threads, after they have recorded the look in progress.
    pub fn stop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The thread cannot panic. Even if it did, only this additional data would be
            // incomplete.
            let _ = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

fn look(period: Duration, control: &Control, shared: &Shared) {
    let is_over = || shared.ended.load(Ordering::Relaxed);
    let begins = || (1..=clock::now_ns()).contains(&control.start_ns());
    while !begins() && !is_over() {
        clock::sleep(period);
    }
    shared.ring().start_ns = control.start_ns();
    let period_ns = period.as_nanos() as u64;
    let mut cpu_before_ns = clock::thread_cpu_ns();
    let mut looks = 0;
    let mut looks_at = Looks {
        last_ns: clock::now_ns(),
        period_ns,
    };
    while !is_over() {
        clock::sleep(period);
        let (due_ns, now_ns) = looks_at.next(clock::now_ns());
        looks += 1;
        let mut cpu_ns = 0;
        if looks % LOOKS_PER_CPU_READING == 0 {
            let cpu_now_ns = clock::thread_cpu_ns();
            cpu_ns = cpu_now_ns - cpu_before_ns;
            cpu_before_ns = cpu_now_ns;
        }
        shared.ring().note(due_ns, now_ns, cpu_ns);
    }
}

/// Schedule of a thread's looks. A look is due one period after the last look, not after the thread
/// fell asleep. The thread may also be stopped while it is awake.
struct Looks {
    last_ns: u64,
    period_ns: u64,
}

impl Looks {
    /// Returns the time at which the look was due, and the time at which it took place.
    fn next(&mut self, now_ns: u64) -> (u64, u64) {
        let due_ns = self.last_ns + self.period_ns;
        self.last_ns = now_ns;
        (due_ns, now_ns)
    }
}

/// Data that the caller has not taken yet, by interval.
struct Ring {
    start_ns: u64,
    interval_ns: u64,
    /// First interval whose data the caller has not taken yet.
    next: u64,
    slots: Vec<Hiccups>,
}

impl Ring {
    fn new(interval_ns: u64) -> Ring {
        let slot = || Hiccups {
            late: Some(Box::new(Histogram::with_room())),
            ..Hiccups::default()
        };
        Ring {
            start_ns: 0,
            interval_ns: interval_ns.max(1),
            next: 0,
            slots: (0..SLOTS).map(|_| slot()).collect(),
        }
    }

    fn index_of(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.start_ns) / self.interval_ns
    }

    /// Returns the slot of an interval. If the interval does not have a slot, returns the nearest
    /// slot.
    fn slot(&mut self, index: u64) -> &mut Hiccups {
        let there = index.clamp(self.next, self.next + SLOTS - 1);
        &mut self.slots[(there % SLOTS) as usize]
    }

    /// Records that a thread was due to wake up at `due_ns` and woke up at `now_ns`.
    fn note(&mut self, due_ns: u64, now_ns: u64, cpu_ns: u64) {
        let late_ns = now_ns.saturating_sub(due_ns);
        let (first, last) = (self.index_of(due_ns), self.index_of(now_ns));
        let slot = self.slot(last);
        slot.cpu_ns += cpu_ns;
        if let Some(late) = &mut slot.late {
            late.record(late_ns);
        }
        if late_ns < STALL_NS {
            return;
        }
        for index in first..=last {
            let begin_ns = self.start_ns + index * self.interval_ns;
            let end_ns = begin_ns + self.interval_ns;
            let within_ns = now_ns.min(end_ns).saturating_sub(due_ns.max(begin_ns));
            self.slot(index).stalled_ns += within_ns;
        }
    }

    fn take(&mut self, index: u64) -> Hiccups {
        let mut seen = Hiccups::default();
        for index in self.next..(index + 1).min(self.next + SLOTS) {
            let slot = &mut self.slots[(index % SLOTS) as usize];
            seen.add(slot);
            slot.clear();
        }
        self.next = self.next.max(index + 1);
        seen
    }

    fn take_all(&mut self) -> Hiccups {
        self.take(self.next + SLOTS - 1)
    }
}

/// Counter of the time for which the calling thread was runnable but waited for a CPU. The counter
/// is in the thread's `schedstat` in `/proc`, if the kernel provides that file.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    file: Option<OwnedFd>,
    before_ns: u64,
}

impl Waits {
    /// Opens the counter of the calling thread and starts from its current value.
    pub fn open() -> Waits {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open("/proc/thread-self/schedstat", flags, Mode::empty());
        let mut waits = Waits {
            file: file.ok(),
            before_ns: 0,
        };
        waits.since();
        waits
    }

    /// Returns the waiting time since the last call, in ns. Returns `None` if the kernel does not
    /// provide the counter.
    pub fn since(&mut self) -> Option<u64> {
        let mut text = [0u8; 96];
        let length = rustix::io::pread(self.file.as_ref()?, &mut text, 0).ok()?;
        let (waited_ns, times) = parse(&text[..length])?;
        // A kernel without this counter reports that the thread received a CPU 0 times, although
        // this thread has run at least once.
        if times == 0 {
            self.file = None;
            return None;
        }
        let since_ns = waited_ns.saturating_sub(self.before_ns);
        self.before_ns = waited_ns;
        Some(since_ns)
    }
}

/// Parses a thread's `schedstat`. Returns the waiting time in ns, and the number of times that the
/// thread received a CPU. The run time, which comes first in the file, may be 0 in the thread's
/// first time slice.
fn parse(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = text.split_ascii_whitespace().skip(1);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = clock::MILLISECOND_NS;

    fn ring() -> Ring {
        let mut ring = Ring::new(1000 * MS);
        ring.start_ns = 10_000 * MS;
        ring
    }

    fn count(seen: &Hiccups) -> u64 {
        seen.late.as_ref().map_or(0, |late| late.count())
    }

    /// Earlier versions did not divide stalls among intervals. Then a stop of 1.5 s in 10 s did not
    /// appear in any figure of a closed loop, and the trial counted as valid.
    #[test]
    fn a_stall_is_shared_out_to_the_intervals_that_it_spans() {
        let mut ring = ring();
        ring.note(10_001 * MS, 10_001 * MS + 60_000, 5);
        ring.note(10_700 * MS, 12_200 * MS, 5);
        let seen: Vec<Hiccups> = (0..3).map(|index| ring.take(index)).collect();
        let stalled: Vec<u64> = seen.iter().map(|one| one.stalled_ns / MS).collect();
        assert_eq!(stalled, [300, 1000, 200]);
        assert_eq!(seen.iter().map(count).collect::<Vec<_>>(), [1, 0, 1]);
        let longest = seen[2].longest_ns().unwrap() as f64 / 1e6;
        assert!((longest / 1500.0 - 1.0).abs() < 0.001, "{longest}");
        assert_eq!(seen[0].cpu_ns, 5);
        assert_eq!(
            seen[1].longest_ns(),
            None,
            "no timer ended in this interval"
        );
    }

    /// A measuring thread that was stopped between its look and its sleep once missed a stop of 1.5
    /// s.
    #[test]
    fn no_time_passes_unseen_between_two_looks() {
        let mut looks = Looks {
            last_ns: 0,
            period_ns: MS,
        };
        let mut late_ns = 0;
        let times = [MS, 2 * MS + 7, 1502 * MS, 1503 * MS + 50];
        for now_ns in times {
            let (due_ns, now_ns) = looks.next(now_ns);
            late_ns += now_ns.saturating_sub(due_ns);
        }
        let looked = times.len() as u64 * MS;
        assert_eq!(
            late_ns,
            times[3] - looked,
            "the delays are all time except the periods"
        );
    }

    /// The thread that returns intervals may wake up before the measuring thread. The stall must
    /// then appear in the next interval.
    #[test]
    fn a_stall_seen_after_its_interval_goes_to_the_next() {
        let mut ring = ring();
        assert_eq!(ring.take(4).stalled_ns, 0);
        ring.note(12_000 * MS, 13_500 * MS, 0);
        assert_eq!(ring.take(5).stalled_ns, 1500 * MS);
        ring.note(15_000 * MS, 29_000 * MS, 0);
        let rest = ring.take_all();
        assert_eq!((rest.stalled_ns, count(&rest)), (14_000 * MS, 1));
        assert_eq!(count(&ring.take_all()), 0);
    }

    #[test]
    fn ordinary_lateness_is_in_the_histogram_and_no_stall() {
        let mut ring = ring();
        for n in 0..100 {
            let due_ns = (10_000 + n) * MS;
            ring.note(due_ns, due_ns + STALL_NS - 1, 0);
        }
        let seen = ring.take(0);
        assert_eq!((count(&seen), seen.stalled_ns), (100, 0));
    }

    #[test]
    fn waiting_for_a_cpu_is_the_second_number_of_schedstat() {
        assert_eq!(parse(b"0 2263203 1\n"), Some((2_263_203, 1)));
        for text in [&b""[..], b"1", b"1 x 2", b"1 2"] {
            assert_eq!(parse(text), None);
        }
        // Some kernels do not have the counter.
        let mut waits = Waits::open();
        assert_eq!(waits.file.is_some(), waits.since().is_some());
    }
}
