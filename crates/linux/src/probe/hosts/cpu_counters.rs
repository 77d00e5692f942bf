//! Hardware counters of CPUs, in the terms of `perf stat`, from `perf_event_open`.
//!
//! The probe counts all work on its CPUs, and never that of one process. For a counter of a
//! process, the kernel saves and loads the counter at each context switch, which slows a JVM with
//! many threads. The probe counts four events, because a CPU can count about five at the same time.
//! If a CPU counts even fewer, the kernel alternates between the events, and the probe extrapolates
//! their counts.

use crate::probe::Out;
use crate::probe::kernel_file::{Last, grown};
use anyhow::{Context, Result};
use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware};
use perf_event::{Builder, Counter};
use std::io;
use topology::CpuSet;

/// Returns the event for loads that missed in the last-level cache (`LL`), or in the memory of the
/// local NUMA node (`NODE`).
const fn misses(which: CacheId) -> Cache {
    Cache {
        which,
        operation: CacheOp::READ,
        result: CacheResult::MISS,
    }
}

pub(crate) struct CpuCounters {
    place: String,
    events: Vec<EventCounters>,
}

struct EventCounters {
    name: &'static str,
    cpus: Vec<Counter>,
    last: Last<Vec<Count>>,
}

/// A reading of a counter. The times are in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    count: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl CpuCounters {
    /// Opens the counters of `cpus`. Events that these CPUs do not count are omitted.
    ///
    /// # Errors
    /// The CPUs do not count even their cycles, or this user may not read the counters.
    pub fn open(place: &str, cpus: &CpuSet) -> io::Result<CpuCounters> {
        let cycles = EventCounters::open("perf.cycles", Hardware::CPU_CYCLES, cpus)?;
        let others = [
            EventCounters::open("perf.instructions", Hardware::INSTRUCTIONS, cpus),
            EventCounters::open("perf.LLC-load-misses", misses(CacheId::LL), cpus),
            EventCounters::open("perf.node-load-misses", misses(CacheId::NODE), cpus),
        ];
        Ok(CpuCounters {
            place: place.to_owned(),
            events: [cycles].into_iter().chain(others.into_iter().flatten()).collect(),
        })
    }

    pub fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        for event in &mut self.events {
            let counts: io::Result<Vec<Count>> = event.cpus.iter_mut().map(read).collect();
            let now = counts.with_context(|| format!("read the counters {}", event.name))?;
            if let Some((before, seconds)) = event.last.replace(now_ns, now.clone())
                && let Some(count) = before.iter().zip(&now).map(|(a, b)| a.until(b)).sum()
            {
                let count: f64 = count;
                out.put(event.name, &self.place, "/s", count / seconds);
            }
        }
        Ok(())
    }
}

impl EventCounters {
    fn open(
        name: &'static str,
        event: impl Event + Clone,
        cpus: &CpuSet,
    ) -> io::Result<EventCounters> {
        let cpus: io::Result<Vec<Counter>> =
            cpus.iter().map(|cpu| counter(event.clone(), cpu)).collect();
        Ok(EventCounters {
            name,
            cpus: cpus?,
            last: Last::none(),
        })
    }
}

/// Opens a counter of one event on one CPU, for all processes and the kernel.
fn counter(event: impl Event, cpu: u32) -> io::Result<Counter> {
    let mut builder = Builder::new(event);
    builder.any_pid().one_cpu(cpu as usize).include_kernel().enabled(true);
    builder.build()
}

fn read(counter: &mut Counter) -> io::Result<Count> {
    let read = counter.read_count_and_time()?;
    Ok(Count {
        count: read.count,
        enabled_ns: read.time_enabled,
        running_ns: read.time_running,
    })
}

impl Count {
    /// Returns the number of events until a later reading. If the counter ran only in a part of the
    /// time, the number is extrapolated. `None` if the counter did not run.
    fn until(&self, later: &Count) -> Option<f64> {
        let count = grown(self.count, later.count)?;
        let enabled_ns = grown(self.enabled_ns, later.enabled_ns)?;
        let running_ns = grown(self.running_ns, later.running_ns)?;
        (running_ns > 0.0).then(|| count * enabled_ns / running_ns)
    }
}

/// Returns a text about the counters if this machine or this user cannot read them, with the reason
/// and the remedy.
pub fn unseen() -> Option<String> {
    let error = counter(Hardware::CPU_CYCLES, 0).err()?;
    let reason = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "this user may not read these counters: run cassay as root, or set \
             `kernel.perf_event_paranoid` to 0"
                .to_owned()
        }
        // ENOENT and EOPNOTSUPP: the kernel has no counter for this event.
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => {
            "this machine does not provide these counters, like most virtual machines".to_owned()
        }
        _ => error.to_string(),
    };
    Some(format!("hardware counters (perf.*), because {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn count(count: u64, enabled_s: u64, running_s: u64) -> Count {
        Count {
            count,
            enabled_ns: enabled_s * S,
            running_ns: running_s * S,
        }
    }

    #[test]
    fn a_count_over_part_of_the_time_is_extrapolated() {
        let before = count(1000, 10, 5);
        assert_eq!(before.until(&count(1300, 12, 7)), Some(300.0));
        assert_eq!(before.until(&count(1300, 12, 6)), Some(600.0));
        assert_eq!(
            before.until(&count(1000, 12, 5)),
            None,
            "the counter did not run"
        );
    }

    #[test]
    fn counters_are_read_or_the_reason_is_named() {
        let cpu = CpuSet::parse_list("0").unwrap();
        match (CpuCounters::open("host1", &cpu), unseen()) {
            (Ok(mut counters), None) => {
                let mut out = Out::new();
                counters.look(S, &mut out).unwrap();
                assert!(out.readings().is_empty());
                counters.look(2 * S, &mut out).unwrap();
                let cycles = out.readings().iter().find(|one| &*one.name == "perf.cycles");
                assert!(
                    cycles.is_some_and(|one| one.value > 0.0),
                    "{:?}",
                    out.readings()
                );
            }
            (Err(_), Some(text)) => assert!(text.contains("because"), "{text}"),
            (opened, text) => panic!("{:?} {text:?}", opened.err()),
        }
    }
}
