//! Memory and paging in the terms of `vmstat`, in kilobytes of 1,024 bytes, like all output of
//! `vmstat`.
//!
//! `swpd`, `free`, `buff` and `cache` are from `/proc/meminfo`, and `si`, `so`, `bi` and `bo` are
//! from `/proc/vmstat`. `free.available` is a column of the tool `free`. It is the memory that
//! programs could still get.

use crate::probe::Out;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use anyhow::{Context, Result};

/// Counters of pages or blocks since boot, by their names in `/proc/vmstat`, with vmstat's names of
/// the rates.
const FLOWS: [(&str, &str); 4] = [
    ("pswpin", "vmstat.si"),
    ("pswpout", "vmstat.so"),
    // The following counters are in kilobytes, which vmstat calls blocks.
    ("pgpgin", "vmstat.bi"),
    ("pgpgout", "vmstat.bo"),
];

pub(crate) struct Memory {
    place: String,
    meminfo: KernelFile,
    vmstat: KernelFile,
    last: Last<[u64; 4]>,
    page_kb: f64,
}

impl Memory {
    pub fn open(place: &str) -> Result<Memory> {
        Ok(Memory {
            place: place.to_string(),
            meminfo: KernelFile::open("/proc/meminfo")?,
            vmstat: KernelFile::open("/proc/vmstat")?,
            last: Last::none(),
            page_kb: rustix::param::page_size() as f64 / 1024.0,
        })
    }

    pub fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let held = held(&self.meminfo.read()?).context("/proc/meminfo")?;
        for (name, kb) in held {
            out.put(name, &self.place, "kB", kb as f64);
        }
        let flows = flows(&self.vmstat.read()?).context("/proc/vmstat")?;
        let Some((before, seconds)) = self.last.replace(now_ns, flows) else {
            return Ok(());
        };
        for (index, (key, name)) in FLOWS.iter().enumerate() {
            let unit_kb = if key.starts_with("psw") {
                self.page_kb
            } else {
                1.0
            };
            if let Some(count) = grown(before[index], flows[index]) {
                out.put(name, &self.place, "kB/s", count * unit_kb / seconds);
            }
        }
        Ok(())
    }
}

fn held(text: &str) -> Result<[(&'static str, u64); 5]> {
    let of = |key: &str| -> Result<u64> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
            .with_context(|| format!("has no line {key}"))?;
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        word.parse().with_context(|| format!("{key} is {word:?}"))
    };
    let swapped = of("SwapTotal")?.saturating_sub(of("SwapFree")?);
    Ok([
        ("vmstat.swpd", swapped),
        ("vmstat.free", of("MemFree")?),
        ("vmstat.buff", of("Buffers")?),
        ("vmstat.cache", of("Cached")? + of("SReclaimable")?),
        ("free.available", of("MemAvailable")?),
    ])
}

fn flows(text: &str) -> Result<[u64; 4]> {
    let mut found = [None; 4];
    for line in text.lines() {
        // All four counters begin with this letter, so the loop skips the other 180 lines.
        if !line.starts_with('p') {
            continue;
        }
        let Some((key, value)) = line.split_once(' ') else {
            continue;
        };
        if let Some(index) = FLOWS.iter().position(|(name, _)| *name == key) {
            let count = value.trim().parse::<u64>();
            found[index] = Some(count.with_context(|| format!("{key} is {value:?}"))?);
        }
    }
    let mut flows = [0; 4];
    for (index, count) in found.into_iter().enumerate() {
        flows[index] = count.with_context(|| format!("has no line {}", FLOWS[index].0))?;
    }
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "\
MemTotal:       24580932 kB
MemFree:        13632172 kB
MemAvailable:   20104224 kB
Buffers:          280228 kB
Cached:          5811600 kB
SwapCached:            0 kB
SwapTotal:       1048572 kB
SwapFree:        1000000 kB
SReclaimable:     300000 kB
";

    #[test]
    fn memory_is_what_vmstat_shows() {
        let held = held(MEMINFO).unwrap();
        assert_eq!(
            held,
            [
                ("vmstat.swpd", 48572),
                ("vmstat.free", 13632172),
                ("vmstat.buff", 280228),
                ("vmstat.cache", 6111600),
                ("free.available", 20104224),
            ]
        );
    }

    #[test]
    fn paging_is_found_among_the_other_lines() {
        let text = "nr_free_pages 3408043\npgpgin 119947427\npgpgout 308077733\npswpin 7\n\
                    pswpout 8\npgfault 884868815\n";
        assert_eq!(flows(text).unwrap(), [7, 8, 119947427, 308077733]);
        let error = flows("pgpgin 1\npgpgout 2\npswpin 3\n").unwrap_err().to_string();
        assert_eq!(error, "has no line pswpout");
        let error = held("MemFree: x kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n").unwrap_err();
        assert_eq!(error.to_string(), "MemFree is \"x\"");
    }
}
