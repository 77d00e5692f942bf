//! The probes of this machine by themselves: what they read and what they cost.
//!
//! ```text
//! cargo run --release -p host --example probe -- [seconds] [period in ms] [process id …]
//! ```
//! Prints the mean of each series, to be held against `mpstat`, `iostat -x`, `sar` and `pidstat`
//! over the same seconds, then what each probe has cost.
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use anyhow::{Context, Result};
use host::probe::{Probes, Sampler};
use measure::clock;
use std::collections::BTreeMap;
use std::time::Duration;

fn main() -> Result<()> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| {
            text.parse()
                .with_context(|| format!("read the number `{text}`"))
        })
        .collect::<Result<_>>()?;
    let seconds = numbers.first().copied().unwrap_or(5);
    let period = Duration::from_millis(numbers.get(1).copied().unwrap_or(1000));
    let pids = numbers.get(2..).unwrap_or_default();
    let names: Vec<String> = pids.iter().map(|pid| format!("process{pid}")).collect();
    let others = names.iter().zip(pids);
    let processes: Vec<(&str, u32)> = others
        .map(|(name, pid)| (name.as_str(), *pid as u32))
        .chain([("client", std::process::id())])
        .collect();
    let mut sampler = Sampler::new("probe-os");
    sampler.add_hosts(period, &[])?;
    sampler.add_processes(period, &processes)?;
    let probes = Probes::start(vec![sampler])?;
    clock::sleep(Duration::from_secs(seconds) + Duration::from_millis(50));
    let (readings, costs) = probes.stop();

    let mut series: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for reading in readings {
        let of = series.entry((reading.place, reading.name, reading.unit));
        of.or_default().push(reading.value);
    }
    for ((place, name, unit), values) in series {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        println!("{place:20} {name:26} {mean:14.3} {unit:6} {}", values.len());
    }
    println!("probe      place              looks missed values  cpu µs/look  longest µs");
    for cost in costs {
        let per_look = cost.cpu_ns as f64 / cost.looks.max(1) as f64 / 1e3;
        println!(
            "{:10} {:18} {:5} {:6} {:6} {per_look:12.1} {:11}",
            cost.probe,
            cost.place,
            cost.looks,
            cost.missed,
            cost.values,
            cost.longest_ns / 1000,
        );
        for problem in cost.problems {
            println!("  {problem}");
        }
    }
    Ok(())
}
