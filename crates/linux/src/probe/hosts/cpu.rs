//! CPU usage in the terms of `mpstat`, and the columns r, b, in and cs of `vmstat`. All values are
//! from `/proc/stat`.

use crate::probe::Out;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use anyhow::{Context, Result};

/// Ticks of a CPU in the order of the file: user, nice, system, idle, iowait, irq, softirq, steal,
/// guest, guest_nice. `user` includes `guest`, and `nice` includes `guest_nice`.
pub(super) type Ticks = [u64; 10];

/// Indexes of user, nice and system time, which together are the time of tasks. Interrupt time is
/// not included, because it does not belong to any task.
pub(super) const TASKS: [usize; 3] = [0, NICE, 2];
/// Index of the time that the hypervisor gave to other guests.
pub(super) const STEAL: usize = 7;
const NICE: usize = 1;
const IDLE: usize = 3;
const IOWAIT: usize = 4;
/// Number of entries whose sum is all of a CPU's time. The guest times come after these entries,
/// and are already included in them.
pub(super) const GUEST: usize = 8;
const GUEST_NICE: usize = 9;

/// Names of the shares, in the order of [`Ticks`].
const NAMES: [&str; 10] = [
    "mpstat.%usr",
    "mpstat.%nice",
    "mpstat.%sys",
    "mpstat.%idle",
    "mpstat.%iowait",
    "mpstat.%irq",
    "mpstat.%soft",
    "mpstat.%steal",
    "mpstat.%guest",
    "mpstat.%gnice",
];

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stat {
    /// Ticks of `cpu` (all CPUs), and then of `cpu0` and so on for the CPUs that are online.
    pub cpus: Vec<(String, Ticks)>,
    interrupts: u64,
    context_switches: u64,
    running: u64,
    blocked: u64,
}

pub(crate) struct Cpu {
    place: String,
    source: KernelFile,
    last: Last<Stat>,
}

impl Cpu {
    pub fn open(place: &str) -> Result<Cpu> {
        Ok(Cpu {
            place: place.to_string(),
            source: KernelFile::open("/proc/stat")?,
            last: Last::none(),
        })
    }

    pub fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let now = parse(&self.source.read()?).context("/proc/stat")?;
        // The process that reads the file is itself running, so it is subtracted, as in vmstat.
        let running = now.running.saturating_sub(1);
        out.put("vmstat.r", &self.place, "count", running as f64);
        out.put("vmstat.b", &self.place, "count", now.blocked as f64);
        let Some((before, seconds)) = self.last.replace(now_ns, now.clone()) else {
            return Ok(());
        };
        let mut rate = |name: &str, before: u64, now: u64| {
            if let Some(count) = grown(before, now) {
                out.put(name, &self.place, "/s", count / seconds);
            }
        };
        rate("vmstat.in", before.interrupts, now.interrupts);
        rate("vmstat.cs", before.context_switches, now.context_switches);
        for (name, ticks) in &now.cpus {
            let same = before.cpus.iter().find(|(other, _)| other == name);
            let Some(shares) = same.and_then(|(_, before)| shares(before, ticks)) else {
                continue;
            };
            let place = match name.as_str() {
                "cpu" => self.place.clone(),
                _ => format!("{}/{name}", self.place),
            };
            for (name, share) in NAMES.iter().zip(shares) {
                out.put(name, &place, "%", share);
            }
        }
        Ok(())
    }
}

/// Returns the shares of the time between two readings in %, in the order of [`Ticks`]. Returns
/// `None` if no tick has passed, or if a counter has decreased.
fn shares(before: &Ticks, now: &Ticks) -> Option<[f64; 10]> {
    let mut spent = [0.0; 10];
    for index in 0..spent.len() {
        spent[index] = match grown(before[index], now[index]) {
            Some(ticks) => ticks,
            // The kernel's documentation warns that these two counters may decrease. mpstat then
            // reports 0.
            None if index == IDLE || index == IOWAIT => 0.0,
            None => return None,
        };
    }
    let total: f64 = spent[..GUEST].iter().sum();
    if total == 0.0 {
        return None;
    }
    spent[0] = (spent[0] - spent[GUEST]).max(0.0);
    spent[NICE] = (spent[NICE] - spent[GUEST_NICE]).max(0.0);
    Some(spent.map(|ticks| 100.0 * ticks / total))
}

pub(super) fn parse(text: &str) -> Result<Stat> {
    let mut stat = Stat::default();
    for line in text.lines() {
        // The line of interrupts has a column for each interrupt, but only the first column is
        // needed.
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        let mut number = || -> Result<u64> {
            let word = words.next().with_context(|| format!("the column {name} has no value"))?;
            word.parse().with_context(|| format!("{name} is {word:?}"))
        };
        match name {
            "intr" => stat.interrupts = number()?,
            "ctxt" => stat.context_switches = number()?,
            "procs_running" => stat.running = number()?,
            "procs_blocked" => stat.blocked = number()?,
            _ if name.starts_with("cpu") => {
                let mut ticks = Ticks::default();
                // Kernels before 2.6.33 have fewer columns.
                for tick in ticks.iter_mut().zip(words.by_ref()) {
                    let (tick, word) = tick;
                    *tick = word.parse().with_context(|| format!("{name} has {word:?}"))?;
                }
                stat.cpus.push((name.to_string(), ticks));
            }
            _ => {}
        }
    }
    anyhow::ensure!(!stat.cpus.is_empty(), "has no line `cpu`");
    Ok(stat)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/proc/stat` of a machine with two CPUs, at two times. The lines of interrupts are
    /// shortened.
    pub(crate) const BEFORE: &str = "\
cpu  3522114 156590 531914 4879603 13732 0 86681 1744 0 0
cpu0 1722092 73068 253299 2498447 3719 0 43636 897 0 0
cpu1 1800021 83521 278615 2381155 10013 0 43044 846 0 0
intr 90008648 0 0 0
ctxt 190008648
btime 1763700000
processes 1000
procs_running 3
procs_blocked 1
softirq 5 1 1 1 1 1
";

    #[test]
    fn shares_are_those_of_mpstat() {
        let before = parse(BEFORE).unwrap();
        assert_eq!(before.cpus.len(), 3);
        assert_eq!(
            before.cpus[1].1[..5],
            [1722092, 73068, 253299, 2498447, 3719]
        );
        assert_eq!(
            (before.interrupts, before.context_switches),
            (90008648, 190008648)
        );
        assert_eq!((before.running, before.blocked), (3, 1));
        // The difference is 200 ticks: 100 user (of which 20 guest), 10 nice, 30 system, 50 idle, 6
        // iowait, 3 softirq and 1 steal.
        let mut now = before.cpus[0].1;
        for (index, ticks) in [
            (0, 100),
            (1, 10),
            (2, 30),
            (3, 50),
            (4, 6),
            (6, 3),
            (7, 1),
            (8, 20),
        ] {
            now[index] += ticks;
        }
        let shares = shares(&before.cpus[0].1, &now).unwrap();
        let expected = [40.0, 5.0, 15.0, 25.0, 3.0, 0.0, 1.5, 0.5, 10.0, 0.0];
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 1e-9, "{shares:?}");
        }
    }

    #[test]
    fn iowait_may_decrease_and_nothing_else() {
        let before = [100u64; 10];
        let mut now = before;
        now[0] += 10;
        now[IOWAIT] -= 5;
        assert_eq!(shares(&before, &now).unwrap()[0], 100.0);
        now[2] -= 1;
        assert_eq!(shares(&before, &now), None);
        assert_eq!(shares(&before, &before), None);
    }

    #[test]
    fn a_text_that_is_not_the_file_is_an_error_that_says_so() {
        for (text, words) in [
            ("", "has no line `cpu`"),
            ("cpu 1 x", "cpu has \"x\""),
            ("cpu 1 2\nctxt", "ctxt has no value"),
            ("cpu 1 2\nctxt -1", "ctxt is \"-1\""),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(words), "{error}");
        }
    }
}
