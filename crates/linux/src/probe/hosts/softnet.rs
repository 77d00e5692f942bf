//! Packets that the kernel received and dropped, in the terms of `sar -n SOFT`. The values are the
//! sums over all CPUs, from `/proc/net/softnet_stat`. A machine with a virtual network loses its
//! packets at this point.

use crate::probe::Out;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Names that sar gives to the rates of the first three columns of the file. The columns count the
/// packets received, and the packets dropped because the queue of a CPU was full. They also count
/// the times that a CPU had work left at the end of its time slice.
const RATES: [&str; 3] = ["sar.total/s", "sar.dropd/s", "sar.squeezd/s"];

pub(crate) struct Softnet {
    place: String,
    source: KernelFile,
    last: Last<[u64; 3]>,
}

impl Softnet {
    pub fn open(place: &str, path: impl Into<PathBuf>) -> Result<Softnet> {
        Ok(Softnet {
            place: place.to_string(),
            source: KernelFile::open(path)?,
            last: Last::none(),
        })
    }

    pub fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let now = parse(&self.source.read()?)?;
        let Some((before, seconds)) = self.last.replace(now_ns, now) else {
            return Ok(());
        };
        for (index, name) in RATES.iter().enumerate() {
            if let Some(count) = grown(before[index], now[index]) {
                out.put(name, &self.place, "/s", count / seconds);
            }
        }
        Ok(())
    }
}

/// Returns the sums over the CPUs. The columns are hexadecimal numbers of 32 bits, which may
/// overflow.
fn parse(text: &str) -> Result<[u64; 3]> {
    let mut sums = [0; 3];
    for line in text.lines() {
        let mut columns = line.split_ascii_whitespace();
        for sum in &mut sums {
            let column = columns.next().and_then(|one| u64::from_str_radix(one, 16).ok());
            *sum += column.with_context(|| format!("read softnet_stat: {line:?}"))?;
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_all_cpus_are_summed_into_rates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("softnet_stat");
        let text = |first: &str, second: &str| format!("{first} 00000000 0000\n{second} 00 0001\n");
        std::fs::write(&path, text("0000000a 00000001 00000000", "00000010 00 02")).unwrap();
        let mut softnet = Softnet::open("machine", &path).unwrap();
        let mut out = Out::new();
        softnet.look(0, &mut out).unwrap();
        assert!(out.readings().is_empty());
        std::fs::write(&path, text("0000001e 00000001 00000004", "00000010 06 01")).unwrap();
        softnet.look(2_000_000_000, &mut out).unwrap();
        let found: Vec<_> = out.readings().iter().map(|r| (&*r.name, r.value)).collect();
        let expected = [
            ("sar.total/s", 10.0),
            ("sar.dropd/s", 3.0),
            ("sar.squeezd/s", 1.5),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn another_file_is_no_figure() {
        assert!(parse("0000000a 00000001\n").is_err());
        assert!(parse("x y z\n").is_err());
        assert_eq!(parse("").unwrap(), [0; 3]);
    }
}
