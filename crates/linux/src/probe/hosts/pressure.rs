//! Time for which tasks stalled for lack of CPU, memory or a device (pressure stall information).
//!
//! The probe uses `total` of `/proc/pressure/*` (microseconds since boot) or of a cgroup's
//! `*.pressure`. So the share applies to the sampling period, unlike the kernel's running average
//! over ten seconds.

use crate::probe::Out;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use anyhow::Result;
use std::path::Path;

/// Resources for which tasks can stall, with the names of the files and of the readings.
const KINDS: [(&str, [&str; 2]); 3] = [
    ("cpu", ["psi.cpu.some", "psi.cpu.full"]),
    ("io", ["psi.io.some", "psi.io.full"]),
    ("memory", ["psi.memory.some", "psi.memory.full"]),
];

/// Time in which some tasks stalled, and time in which all tasks stalled, in µs.
type StalledMicros = [Option<u64>; 2];

/// Probe of the pressure files of a machine or a cgroup.
pub(crate) struct Pressure {
    place: String,
    files: Vec<(KernelFile, [&'static str; 2], Last<StalledMicros>)>,
}

impl Pressure {
    /// Opens the files that exist in `folder`. Their names are `cpu`, `io` and `memory`, each with
    /// `suffix`.
    pub fn open(place: &str, folder: &Path, suffix: &str) -> Pressure {
        let open = |(kind, names)| {
            let path = folder.join(format!("{kind}{suffix}"));
            let mut source = KernelFile::open(path).ok()?;
            // A kernel that was booted with `psi=0` has the files, but reading them fails.
            source.read().ok()?;
            Some((source, names, Last::none()))
        };
        Pressure {
            place: place.to_string(),
            files: KINDS.into_iter().filter_map(open).collect(),
        }
    }

    pub fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        for (source, names, last) in &mut self.files {
            let stalled = parse(&source.read()?);
            let Some((before, seconds)) = last.replace(now_ns, stalled) else {
                continue;
            };
            for (index, name) in names.iter().enumerate() {
                let (Some(before), Some(now)) = (before[index], stalled[index]) else {
                    continue;
                };
                if let Some(microseconds) = grown(before, now) {
                    // The kernel may update its sums only every two seconds, so the increase in a
                    // short period may exceed the time that has passed.
                    let share = (microseconds / seconds / 1e4).min(100.0);
                    out.put(name, &self.place, "%", share);
                }
            }
        }
        Ok(())
    }
}

/// Parses `total` of the lines `some` and `full`. Kernels before 5.13 do not have `full` for the
/// CPU.
fn parse(text: &str) -> StalledMicros {
    let mut stalled = [None; 2];
    for line in text.lines() {
        let index = match line.split_whitespace().next() {
            Some("some") => 0,
            Some("full") => 1,
            _ => continue,
        };
        let total = line.rsplit_once("total=").map(|(_, digits)| digits.trim());
        stalled[index] = total.and_then(|digits| digits.parse().ok());
    }
    stalled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_time_between_two_looks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("io.pressure");
        let text = |some: u64, full: u64| {
            format!(
                "some avg10=1.23 avg60=0.50 avg300=0.10 total={some}\n\
                 full avg10=0.00 avg60=0.00 avg300=0.00 total={full}\n"
            )
        };
        std::fs::write(&path, text(1_000_000, 500)).unwrap();
        let mut pressure = Pressure::open("host1", folder.path(), ".pressure");
        assert_eq!(pressure.files.len(), 1);
        let mut out = Out::new();
        pressure.look(0, &mut out).unwrap();
        assert!(out.readings().is_empty());
        std::fs::write(&path, text(1_500_000, 400)).unwrap();
        pressure.look(2_000_000_000, &mut out).unwrap();
        let found: Vec<_> = out.readings().iter().map(|r| (&*r.name, r.value)).collect();
        assert_eq!(found, [("psi.io.some", 25.0)]);
    }

    #[test]
    fn an_absent_line_has_no_figure() {
        assert_eq!(parse("some avg10=0.00 total=7\n"), [Some(7), None]);
        assert_eq!(parse("full total=x\nnonsense\n"), [None, None]);
        assert!(Pressure::open("machine", Path::new("/nonexistent"), "").files.is_empty());
    }
}
