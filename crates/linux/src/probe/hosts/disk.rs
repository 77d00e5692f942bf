//! Block devices in the terms of `iostat -x`, from `/proc/diskstats`.
//!
//! The probe omits memory disks. It also omits partitions, because the whole device has their sum.
//! It shows a loop device only from its first traffic on, because machines have many loop devices
//! without any traffic. The host's own probe reads the device of a simulated host.

use crate::probe::Out;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::path::Path;

/// Size of a sector in this file, in kB. It does not depend on the device's own sector size.
pub(super) const SECTOR_KB: f64 = 0.5;

/// Number of columns after the name. Reads, writes and discards each have requests, merged
/// requests, sectors and milliseconds. In-flight requests, busy milliseconds and weighted
/// milliseconds come after the writes. Flushes and their milliseconds come at the end. Kernels
/// before 4.18 have 11 columns, and kernels before 5.5 have 15.
const COLUMNS_COUNT: usize = 17;

pub(super) type Columns = [u64; COLUMNS_COUNT];

pub(super) const BUSY_MS: usize = 9;
/// Indexes of the sectors read and written.
pub(super) const SECTORS: [usize; 2] = [2, 6];
const WEIGHTED_MS: usize = 10;
const FLUSHES: usize = 15;
const FLUSHES_MS: usize = 16;

/// One direction of traffic: its first column and the names of its readings.
struct Direction {
    first: usize,
    per_second: &'static str,
    kb: &'static str,
    merged: &'static str,
    merged_share: &'static str,
    wait: &'static str,
    size: &'static str,
}

const DIRECTIONS: [Direction; 3] = [
    Direction {
        first: 0,
        per_second: "iostat.r/s",
        kb: "iostat.rkB/s",
        merged: "iostat.rrqm/s",
        merged_share: "iostat.%rrqm",
        wait: "iostat.r_await",
        size: "iostat.rareq-sz",
    },
    Direction {
        first: 4,
        per_second: "iostat.w/s",
        kb: "iostat.wkB/s",
        merged: "iostat.wrqm/s",
        merged_share: "iostat.%wrqm",
        wait: "iostat.w_await",
        size: "iostat.wareq-sz",
    },
    Direction {
        first: 11,
        per_second: "iostat.d/s",
        kb: "iostat.dkB/s",
        merged: "iostat.drqm/s",
        merged_share: "iostat.%drqm",
        wait: "iostat.d_await",
        size: "iostat.dareq-sz",
    },
];

pub(crate) enum Devices {
    /// The machine's devices, without those that other probes show.
    AllBut(Vec<String>),
    /// The device of a simulated host.
    Only(String),
}

pub(crate) struct Disks {
    place: String,
    source: KernelFile,
    devices: Devices,
    /// Visibility of each device. The probe determines it only once.
    shown: HashMap<String, Visibility>,
    last: Last<HashMap<String, Columns>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visibility {
    Yes,
    OnceItMoves,
    No,
}

impl Disks {
    pub fn open(place: &str, devices: Devices) -> Result<Disks> {
        Ok(Disks {
            place: place.to_string(),
            source: KernelFile::open("/proc/diskstats")?,
            devices,
            shown: HashMap::new(),
            last: Last::none(),
        })
    }

    pub fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let now = parse(&self.source.read()?).context("/proc/diskstats")?;
        let previous = self.last.replace(now_ns, now.clone());
        let Some((before, seconds)) = previous else {
            return Ok(());
        };
        for (device, now) in &now {
            let Some(before) = before.get(device) else {
                continue;
            };
            let shown = self.shown.entry(device.clone()).or_insert_with(|| match &self.devices {
                Devices::Only(one) if one == device => Visibility::Yes,
                Devices::AllBut(others) if !others.contains(device) => {
                    usually_shown(device, &Path::new("/sys/block").join(device))
                }
                _ => Visibility::No,
            });
            if *shown == Visibility::OnceItMoves && before != now {
                *shown = Visibility::Yes;
            }
            if *shown == Visibility::Yes {
                let place = format!("{}/{device}", self.place);
                figures(&place, before, now, seconds, out);
            }
        }
        Ok(())
    }
}

/// Returns the visibility of a device that does not belong to a simulated host. `folder` exists
/// only for whole devices.
fn usually_shown(device: &str, folder: &Path) -> Visibility {
    if device.starts_with("ram") || device.starts_with("zram") || !folder.exists() {
        return Visibility::No;
    }
    if device.starts_with("loop") {
        return Visibility::OnceItMoves;
    }
    Visibility::Yes
}

/// Records the readings of one device. Without requests, the probe reports no mean time, although
/// iostat prints 0.
fn figures(place: &str, before: &Columns, now: &Columns, seconds: f64, out: &mut Out) {
    let mut spent = [0.0; COLUMNS_COUNT];
    const IN_FLIGHT: usize = 8;
    for index in (0..COLUMNS_COUNT).filter(|index| *index != IN_FLIGHT) {
        match grown(before[index], now[index]) {
            Some(growth) => spent[index] = growth,
            // A counter has decreased, because another device now has the name of a removed device.
            None => return,
        }
    }
    for direction in &DIRECTIONS {
        let column = |offset: usize| spent[direction.first + offset];
        let (requests, merged, sectors, ms) = (column(0), column(1), column(2), column(3));
        out.put(direction.per_second, place, "/s", requests / seconds);
        out.put(direction.kb, place, "kB/s", sectors * SECTOR_KB / seconds);
        out.put(direction.merged, place, "/s", merged / seconds);
        // Without requests, the share is NaN, and the sink omits it.
        let share = 100.0 * merged / (merged + requests);
        out.put(direction.merged_share, place, "%", share);
        out.put(direction.wait, place, "ms", ms / requests);
        out.put(direction.size, place, "kB", sectors * SECTOR_KB / requests);
    }
    out.put("iostat.f/s", place, "/s", spent[FLUSHES] / seconds);
    out.put(
        "iostat.f_await",
        place,
        "ms",
        spent[FLUSHES_MS] / spent[FLUSHES],
    );
    let elapsed_ms = seconds * 1e3;
    out.put(
        "iostat.aqu-sz",
        place,
        "count",
        spent[WEIGHTED_MS] / elapsed_ms,
    );
    // The kernel measures busy time in whole ticks, so the value for a short period may slightly
    // exceed the elapsed time.
    let busy = (100.0 * spent[BUSY_MS] / elapsed_ms).min(100.0);
    out.put("iostat.%util", place, "%", busy);
}

pub(super) fn parse(text: &str) -> Result<HashMap<String, Columns>> {
    let mut devices = HashMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(name) = words.next() else { continue };
        let mut columns = Columns::default();
        for (column, word) in columns.iter_mut().zip(words) {
            *column = word.parse().with_context(|| format!("{name} has {word:?}"))?;
        }
        devices.insert(name.to_string(), columns);
    }
    Ok(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 3328247 119749 238581638 4531542 1040911 967337 601668480 2971766 0 528928 \
7668863 807387 85 532278816 120155 196712 45399
 254       1 vda1 1 0 8 1
";
    /// The state two seconds later. In the meantime there were 100 reads of 1,600 sectors (25 of
    /// them merged) in 50 ms. There were 10 writes of 80 sectors in 20 ms. There was no discard,
    /// and there were 4 flushes in 6 ms. The device was busy for 500 ms.
    const NOW: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 3328347 119774 238583238 4531592 1040921 967337 601668560 2971786 3 529428 \
7668933 807387 85 532278816 120155 196716 45405
 254       1 vda1 1 0 8 1
";

    #[test]
    fn figures_are_those_of_iostat() {
        let (before, now) = (parse(BEFORE).unwrap(), parse(NOW).unwrap());
        assert_eq!(before["vda1"][..5], [1, 0, 8, 1, 0]);
        let mut out = Out::new();
        figures("machine/vda", &before["vda"], &now["vda"], 2.0, &mut out);
        let found: HashMap<&str, f64> =
            out.readings().iter().map(|reading| (&*reading.name, reading.value)).collect();
        for (name, value) in [
            ("iostat.r/s", 50.0),
            ("iostat.rkB/s", 400.0),
            ("iostat.rrqm/s", 12.5),
            ("iostat.%rrqm", 20.0),
            ("iostat.r_await", 0.5),
            ("iostat.rareq-sz", 8.0),
            ("iostat.w/s", 5.0),
            ("iostat.wkB/s", 20.0),
            ("iostat.w_await", 2.0),
            ("iostat.d/s", 0.0),
            ("iostat.f/s", 2.0),
            ("iostat.f_await", 1.5),
            ("iostat.aqu-sz", 0.035),
            ("iostat.%util", 25.0),
        ] {
            assert!((found[name] - value).abs() < 1e-9, "{name} {}", found[name]);
        }
        assert!(!found.contains_key("iostat.d_await"));
    }

    #[test]
    fn a_device_whose_counters_went_back_has_no_figure() {
        let (before, now) = (parse(BEFORE).unwrap(), parse(NOW).unwrap());
        let mut out = Out::new();
        figures("machine/vda", &now["vda"], &before["vda"], 2.0, &mut out);
        assert!(out.readings().is_empty());
        let error = format!("{:#}", parse(" 1 1 sda 1 2 x").unwrap_err());
        assert!(error.contains("sda has \"x\""), "{error}");
    }

    #[test]
    fn whole_devices_are_shown_and_loop_devices_once_they_move() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path();
        assert_eq!(usually_shown("vda", there), Visibility::Yes);
        assert_eq!(usually_shown("loop3", there), Visibility::OnceItMoves);
        assert_eq!(usually_shown("ram0", there), Visibility::No);
        assert_eq!(usually_shown("vda1", &there.join("vda1")), Visibility::No);
    }
}
