//! Runs only the probes of a node, and shows what they read from a real Cassandra node and how much
//! CPU time they cost.
//!
//! ```text
//! cargo run --release -p cassay --example node_probe -- [seconds] [period in ms]
//! ```
//! The example starts a node with a temporary data folder. It runs one probe after the other while
//! it writes and reads rows, and prints the mean of each series. Then it prints the CPU time of the
//! node and of the probe per reading while the node is idle. The last probe reads the node by CQL
//! alone, as it would read an attached cluster.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use anyhow::{Context, Result};
use cassandra::probe::{ProbeCost, ProbeSpec, Reading};
use cluster::{Cluster, Dirs};
use measure::clock::{self, SECOND_NS};
use std::collections::BTreeMap;
use std::time::Duration;
use target_spec::{AttachSpec, LocalSpec, Target};

/// Keyspace of the rows. The probes read the figures of this keyspace.
const KEYSPACE: &str = "watched";
const TABLE: &str = "rows";

fn main() -> Result<()> {
    if let Some(code) = agent::answer() {
        anyhow::ensure!(code == 0, "an agent of ours has failed; see its log");
        return Ok(());
    }
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse().with_context(|| format!("read the number `{text}`")))
        .collect::<Result<_>>()?;
    let seconds = Duration::from_secs(numbers.first().copied().unwrap_or(10));
    let period = Duration::from_millis(numbers.get(1).copied().unwrap_or(1000));
    let home = std::env::home_dir().context("HOME is not set")?;
    let data = tempfile::tempdir()?;
    let dirs = Dirs {
        cache: home.join(".cache/cassay"),
        data: data.path().to_path_buf(),
    };
    let spec = LocalSpec {
        heap_bytes: 512 << 20,
        ..LocalSpec::default()
    };
    let mut say = |line: &str| println!("{line}");
    let ours = cluster::start(&Target::Local(spec), &dirs, &mut say)?;
    let attach = AttachSpec {
        contact_points: vec![ours.nodes()[0].address.to_string()],
        ..AttachSpec::default()
    };
    let theirs = cluster::start(&Target::Attach(attach), &dirs, &mut say)?;
    let pid = ours.nodes()[0].pid.context("a node without a process")?;
    prepare(&ours)?;
    let spec = ProbeSpec {
        jvm: Some(period),
        cassandra: Some(period),
        gc_log: Some(period),
        ..ProbeSpec::default()
    };
    show_values(&ours, &theirs, &spec, seconds)?;
    show_costs(&ours, &theirs, &spec, pid, seconds)?;
    for line in theirs.unseen(&spec) {
        println!("unseen by CQL alone: {line}");
    }
    ours.stop()
}

fn one_by_one<'a>(
    ours: &'a Cluster,
    theirs: &'a Cluster,
    spec: &ProbeSpec,
) -> [(&'static str, &'a Cluster, ProbeSpec); 4] {
    let mut only: [ProbeSpec; 3] = Default::default();
    only[0].jvm = spec.jvm;
    only[1].cassandra = spec.cassandra;
    only[2].gc_log = spec.gc_log;
    let [jvm, cassandra, gc_log] = only;
    [
        ("jvm", ours, jvm),
        ("cassandra", ours, cassandra.clone()),
        ("gc_log", ours, gc_log),
        ("virtual", theirs, cassandra),
    ]
}

fn show_values(
    ours: &Cluster,
    theirs: &Cluster,
    spec: &ProbeSpec,
    seconds: Duration,
) -> Result<()> {
    for (name, cluster, spec) in one_by_one(ours, theirs, spec) {
        println!("\n{name}, while rows are written");
        let probes = cluster.probe(&spec, KEYSPACE, &[TABLE])?;
        let written = write(cluster, seconds)?;
        let (readings, costs) = probes.stop();
        println!("{written} rows written");
        show(readings, &costs);
    }
    Ok(())
}

fn show_costs(
    ours: &Cluster,
    theirs: &Cluster,
    spec: &ProbeSpec,
    pid: u32,
    seconds: Duration,
) -> Result<()> {
    println!("\nprobe      looks  own CPU µs/look  node's CPU ms/look  longest ms  values/look");
    for (name, cluster, spec) in one_by_one(ours, theirs, spec) {
        // This code measures the CPU time before each probe, because an idle node uses less and
        // less CPU.
        let before = cpu_seconds(pid, seconds)?;
        let probes = cluster.probe(&spec, KEYSPACE, &[TABLE])?;
        let busy = cpu_seconds(pid, seconds)?;
        let (_, costs) = probes.stop();
        for cost in costs {
            let looks = cost.looks.max(1) as f64;
            println!(
                "{name:10} {looks:5} {:16.0} {:19.2} {:11.1} {:12.1}",
                cost.cpu_ns as f64 / looks / 1e3,
                (busy - before) * 1e3 / looks,
                cost.longest_ns as f64 / 1e6,
                cost.values as f64 / looks,
            );
        }
    }
    Ok(())
}

fn prepare(cluster: &Cluster) -> Result<()> {
    let mut session = cluster.session()?;
    session.execute_schema(&format!(
        "CREATE KEYSPACE {KEYSPACE} WITH replication = \
         {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    ))?;
    session.execute_schema(&format!(
        "CREATE TABLE {KEYSPACE}.{TABLE} (key bigint PRIMARY KEY, value text)"
    ))
}

/// Writes and reads rows one by one for `duration`. Returns the number of written rows.
fn write(cluster: &Cluster, duration: Duration) -> Result<u64> {
    let mut session = cluster.session()?;
    let end_ns = clock::now_ns() + duration.as_nanos() as u64;
    let mut rows = 0u64;
    while clock::now_ns() < end_ns {
        session.query(&format!(
            "INSERT INTO {KEYSPACE}.{TABLE} (key, value) VALUES ({rows}, 'what a row has')"
        ))?;
        session.query(&format!(
            "SELECT value FROM {KEYSPACE}.{TABLE} WHERE key = {rows}"
        ))?;
        rows += 1;
    }
    Ok(rows)
}

/// Returns the CPU seconds that the process uses in `duration`. The kernel counts them in ticks of
/// 10 ms.
fn cpu_seconds(pid: u32, duration: Duration) -> Result<f64> {
    let ticks = || -> Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (_, behind) = text.rsplit_once(')').context("a stat without a name")?;
        let fields: Vec<&str> = behind.split_whitespace().collect();
        Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
    };
    let before = ticks()?;
    clock::sleep(duration);
    Ok((ticks()? - before) as f64 / 100.0)
}

fn show(readings: Vec<Reading>, costs: &[ProbeCost]) {
    let mut series: BTreeMap<_, Vec<(u64, f64)>> = BTreeMap::new();
    for reading in readings {
        let of = series.entry((reading.name, reading.unit));
        of.or_default().push((reading.at_ns, reading.value));
    }
    for ((name, unit), values) in series {
        let mean = values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64;
        // Each value of a rate covers the time since the previous value. The sum of the rates, each
        // multiplied by this time, is the total.
        let counted: f64 = values
            .windows(2)
            .map(|pair| pair[1].1 * (pair[1].0 - pair[0].0) as f64 / SECOND_NS as f64)
            .sum();
        let count = values.len();
        println!("{name:44} {mean:18.4} {unit:8} {count:4} {counted:14.1}");
    }
    for cost in costs {
        println!("{} looks, problems: {:?}", cost.looks, cost.problems);
    }
}
