//! Runs the probes of this machine twice, in this process and in an agent, and prints their
//! readings and their cost.
//!
//! ```text
//! cargo run --release -p agent --example probe -- [seconds] [period in ms] [process id …]
//! ```
//! The example prints the mean of each series, for comparison with `mpstat`, `iostat -x`, `sar` and
//! `pidstat` over the same seconds. Then it prints the cost of each probe in this process and, as
//! the agent reports it, in an agent. The total CPU time of both comes from the kernel.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use anyhow::{Context, Result};
use host::probe::{ProbeCost, Probes, Reading, Sampler};
use host::{Agent, Watch};
use measure::clock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<()> {
    if let Some(code) = agent::answer() {
        anyhow::ensure!(
            code == 0,
            "an agent of this example failed: see the log of the agent"
        );
        return Ok(());
    }
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse().with_context(|| format!("read the number `{text}`")))
        .collect::<Result<_>>()?;
    let seconds = numbers.first().copied().unwrap_or(5);
    let period = Duration::from_millis(numbers.get(1).copied().unwrap_or(1000));
    let pids = numbers.get(2..).unwrap_or_default();
    let names: Vec<String> = pids.iter().map(|pid| format!("process{pid}")).collect();
    let watch = || {
        let mut watch = Watch::default();
        watch.machine(period, &[]);
        let others = names.iter().zip(pids);
        others.for_each(|(name, pid)| watch.process(period, name, *pid as u32));
        watch.process(period, "client", std::process::id());
        watch
    };
    let run = |sampler: Sampler| -> Result<_> {
        let probes = Probes::start(vec![sampler])?;
        clock::sleep(Duration::from_secs(seconds) + Duration::from_millis(50));
        Ok(probes.stop())
    };
    let before_ns = clock::process_cpu_ns();
    let (readings, costs) = run(watch().ours("probe-os")?)?;
    let spent_ns = clock::process_cpu_ns() - before_ns;
    show_readings(readings);
    println!(
        "by this process, which used {} ms of CPU:",
        spent_ns / 1_000_000
    );
    show_costs(costs);

    let folder = tempfile::tempdir()?;
    let agent = Agent::start_on_machine("probe-example", &folder.path().join("agent"))?;
    let agent = Arc::new(agent);
    let before = (clock::process_cpu_ns(), cpu_ns_of(&agent)?);
    let (_, costs) = run(watch().by(&agent)?)?;
    let spent_ns = clock::process_cpu_ns() - before.0;
    println!(
        "by an agent, which used {} ms of CPU, and this process {} ms:",
        (cpu_ns_of(&agent)? - before.1) / 1_000_000,
        spent_ns / 1_000_000
    );
    show_costs(costs);
    Ok(())
}

/// Returns the CPU time of all threads of an agent, including threads that have ended.
fn cpu_ns_of(agent: &Agent) -> Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", agent.process().pid))?;
    let (_, columns) = stat.rsplit_once(')').context("its stat has no name")?;
    let ticks: u64 = columns
        .split_ascii_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<Result<_, _>>()?;
    Ok(ticks * clock::SECOND_NS / rustix::param::clock_ticks_per_second())
}

fn show_readings(readings: Vec<Reading>) {
    let mut series: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for reading in readings {
        let of = series.entry((reading.place, reading.name, reading.unit));
        of.or_default().push(reading.value);
    }
    for ((place, name, unit), values) in series {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        println!("{place:20} {name:26} {mean:14.3} {unit:6} {}", values.len());
    }
}

fn show_costs(costs: Vec<ProbeCost>) {
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
        if let Some(bound_ns) = cost.clock_bound_ns {
            println!("  its clock is known to within {bound_ns} ns");
        }
    }
}
