//! The tools. Each has its command line for a case, and the parser of its report.

use super::install::{self, built, path};
use super::sample::{self, Server};
use super::studies;
use super::{Case, IN_FLIGHT, Load, PeerServer, Places, ROWS};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use xtask::tree;

/// Keyspace of pkolaczk's latte.
pub const LATTE_KEYSPACE: &str = "latte1";

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// The engine of cassay.
    Cassay,
    /// The engine of cassay. At a fixed rate, it releases operations once a millisecond, like a
    /// client with tokio's timer.
    CassayBatched,
    /// The engine of cassay, reading the rows that latte wrote.
    CassayLatteTable,
    /// pkolaczk's latte, from its crate.
    Latte,
    /// ScyllaDB's latte, from a tag of its repository.
    LatteScylla,
    /// The stress tool that comes with Cassandra.
    CassandraStress,
}

#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Operations per second.
    pub ops_per_s: f64,
    /// Processor time of the client's process per operation, in µs.
    pub cpu_us_per_op: f64,
    /// Peak resident memory, in MB.
    pub peak_mb: f64,
    /// Median latency in ms, as reported by the tool.
    pub p50_ms: f64,
    /// 99th percentile of the latency in ms, as reported by the tool.
    pub p99_ms: f64,
    /// 99th percentile of the release lag in µs. `None` without a fixed rate, and for tools that do
    /// not report it.
    pub lag_p99_us: Option<f64>,
    /// Lag of requests at the null target behind an evenly spaced schedule, in µs, as the median
    /// and the 99th percentile. `None` without a fixed rate.
    pub server_lag_us: Option<[f64; 2]>,
}

/// Figures that a tool reports about its run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reported {
    ops_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    lag_p99_us: Option<f64>,
}

impl Tool {
    /// Returns the name of the tool in the table.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Cassay => "cassay",
            Tool::CassayBatched => "cassay, released every 1 ms",
            Tool::CassayLatteTable => "cassay, latte's table",
            Tool::Latte => "latte 0.29",
            Tool::LatteScylla => "latte 0.49",
            Tool::CassandraStress => "cassandra-stress",
        }
    }

    /// Returns true if the tool takes part in `case`. A variant of cassay takes part only in cases
    /// in which it can differ from plain cassay. Less frequent releases have an effect only at an
    /// offered rate. The choice of the table has an effect only on reads from a real Cassandra.
    pub fn takes(self, case: Case) -> bool {
        match self {
            Tool::CassayBatched => matches!(case.load, Load::Rate(_)),
            Tool::CassayLatteTable => case.place == PeerServer::Cassandra && case.is_read,
            Tool::Cassay | Tool::Latte | Tool::LatteScylla | Tool::CassandraStress => true,
        }
    }

    /// Returns the program and the keyspace, if the tool is a version of latte.
    fn latte(self, places: &Places) -> Option<(String, &'static str)> {
        let program = |file: &str| path(places.peers.join(file));
        match self {
            Tool::Latte => Some((program("bin/latte"), LATTE_KEYSPACE)),
            Tool::LatteScylla => Some((program("scylla/bin/latte"), "latte2")),
            _ => None,
        }
    }

    /// Creates the schema of the tool, and the rows that the tool reads.
    pub fn populate(self, place: PeerServer, server: &Server, places: &Places) -> Result<()> {
        let rows = if place == PeerServer::Null {
            1000
        } else {
            ROWS
        };
        let address = server.address();
        // latte and cassandra-stress write logs to their working directory, so they run in the
        // scratch folder.
        let run = |program: &str, arguments: &[String]| {
            sample::watch(server, program, arguments, &places.scratch).map(drop)
        };
        match self {
            // cassay reads the rows of cassandra-stress, because its own rows would have the same
            // keys and values.
            Tool::Cassay | Tool::CassayBatched if place == PeerServer::Cassandra => {
                Tool::CassandraStress.populate(place, server, places)
            }
            Tool::Cassay | Tool::CassayBatched => Ok(()),
            Tool::CassayLatteTable if place == PeerServer::Cassandra => {
                Tool::Latte.populate(place, server, places)
            }
            Tool::CassayLatteTable => Ok(()),
            Tool::Latte | Tool::LatteScylla => {
                let (latte, keyspace) = self.latte(places).context("find latte")?;
                let keyspace_param = format!("keyspace=\"{keyspace}\"");
                let schema = ["schema", "-P", &keyspace_param, &latte_script()];
                let mut schema: Vec<String> = schema.map(str::to_owned).into();
                schema.push(address.to_string());
                run(&latte, &schema)?;
                let arguments =
                    latte_arguments("write", keyspace, &rows.to_string(), None, address, places);
                run(&latte, &arguments)
            }
            Tool::CassandraStress => {
                let limit = format!("n={rows}");
                run(
                    "java",
                    &stress_arguments(false, &limit, None, address, places),
                )
            }
        }
    }
}

/// Runs `tool` on `case` for about the time `window`, and measures the run.
pub fn run(
    tool: Tool,
    case: Case,
    server: &Server,
    window: Duration,
    places: &Places,
) -> Result<Run> {
    let (address, seconds) = (server.address(), window.as_secs());
    // The report of the previous run is removed, so that a run without a report does not get the
    // figures of that run.
    let _ = std::fs::remove_file(places.scratch.join("latte.json"));
    let rate = match case.load {
        Load::Closed(_) => None,
        Load::Rate(rate) => Some(rate),
    };
    let (program, mut arguments) = match tool {
        Tool::Cassay => cassay(&studies::of_case(case, "50us", seconds), address, places)?,
        Tool::CassayBatched => cassay(&studies::of_case(case, "1ms", seconds), address, places)?,
        Tool::CassayLatteTable => cassay(&studies::of_latte_table(seconds), address, places)?,
        Tool::Latte | Tool::LatteScylla => {
            let (program, keyspace) = tool.latte(places).context("find latte")?;
            let function = if case.is_read { "read" } else { "write" };
            let limit = format!("{seconds}s");
            let mut arguments = latte_arguments(function, keyspace, &limit, rate, address, places);
            if tool == Tool::LatteScylla {
                // Without this option, latte 0.49 ignores the path of its report.
                arguments.insert(1, "--generate-report".to_owned());
            }
            (program, arguments)
        }
        Tool::CassandraStress => {
            // The duration equals that of the other tools, which includes their warm-up.
            let limit = format!("duration={}s", seconds + 3);
            (
                "java".to_owned(),
                stress_arguments(case.is_read, &limit, rate, address, places),
            )
        }
    };
    let seen = match case.place {
        PeerServer::Null => {
            arguments.splice(0..0, ["-c".to_owned(), "0".to_owned(), program]);
            sample::watch(server, "taskset", &arguments, &places.scratch)?
        }
        PeerServer::Cassandra => sample::watch(server, &program, &arguments, &places.scratch)?,
    };
    let reported = match tool {
        Tool::Cassay | Tool::CassayBatched | Tool::CassayLatteTable => {
            cassay_findings(&read_findings(places)?)
        }
        Tool::Latte | Tool::LatteScylla => {
            latte_report(&read(&path(places.scratch.join("latte.json")))?)
        }
        Tool::CassandraStress => stress_summary(&seen.stdout),
    }
    .with_context(|| format!("find the figures in the report of {}", tool.name()))?;
    let steady = match seen.steady_by_server() {
        Some(steady) => Some(steady),
        None => seen.steady_by_clock(reported.ops_per_s),
    }
    .context("find a steady part in a run that was too short")?;
    Ok(Run {
        ops_per_s: steady.ops_per_s,
        cpu_us_per_op: steady.cpu_us_per_op,
        peak_mb: seen.peak_mb,
        p50_ms: reported.p50_ms,
        p99_ms: reported.p99_ms,
        lag_p99_us: reported.lag_p99_us,
        server_lag_us: steady.lag_us,
    })
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("read {path}"))
}

fn cassay(text: &str, address: SocketAddr, places: &Places) -> Result<(String, Vec<String>)> {
    let study = places.scratch.join("peers.yaml");
    std::fs::write(&study, text).with_context(|| format!("write {}", study.display()))?;
    let results = places.scratch.join("results");
    if results.exists() {
        std::fs::remove_dir_all(&results).context("remove the results of the last run")?;
    }
    let target = format!("attach:{address}");
    let arguments = [
        "run",
        &path(study),
        "--target",
        &target,
        // The option is needed because cassay did not start the cluster to which it writes.
        "--allow",
        "create=keyspace1",
        "--allow",
        "write=keyspace1.standard1",
        "--out",
        &path(results),
        "--json",
    ];
    Ok((built("cassay"), arguments.map(str::to_owned).to_vec()))
}

fn read_findings(places: &Places) -> Result<String> {
    let mut folders = vec![places.scratch.join("results")];
    while let Some(folder) = folders.pop() {
        let file = folder.join("findings.json");
        if file.is_file() {
            return read(&path(file));
        }
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))?;
        let inner = entries.flatten().map(|entry| entry.path());
        folders.extend(inner.filter(|entry| entry.is_dir() && !entry.is_symlink()));
    }
    bail!("cassay wrote no findings.json");
}

/// Returns the figures of the measured phase from the text of a findings.json (format 1). Returns
/// `None` if a figure is missing.
fn cassay_findings(text: &str) -> Option<Reported> {
    let findings: Value = serde_json::from_str(text).ok()?;
    let trials = findings.get("trials")?.as_array()?;
    let trial = trials.iter().find(|trial| trial["phase"] == "measure")?;
    let latency = &trial["all"]["latency_ms"];
    Some(Reported {
        ops_per_s: trial["all"]["ops_per_s"].as_f64()?,
        p50_ms: latency["p50"].as_f64()?,
        p99_ms: latency["p99"].as_f64()?,
        lag_p99_us: trial["client"]["lag_us"]["p99"].as_f64().filter(|lag| *lag > 0.0),
    })
}

fn latte_script() -> String {
    path(tree::root().join("laboratories/peers/standard1.rn"))
}

/// Returns latte's arguments for running a function of the script, for a number of cycles or for a
/// time.
fn latte_arguments(
    function: &str,
    keyspace: &str,
    limit: &str,
    rate: Option<u32>,
    address: SocketAddr,
    places: &Places,
) -> Vec<String> {
    let (script, report) = (latte_script(), path(places.scratch.join("latte.json")));
    let (in_flight, rows) = (IN_FLIGHT.to_string(), format!("rows={ROWS}"));
    let keyspace = format!("keyspace=\"{keyspace}\"");
    let mut arguments = [
        "run", &script, "-q", "-f", function, "-t", "1", "-p", &in_flight, "-P", &rows, "-P",
        &keyspace, "-w", "3s", "-d", limit, "-o", &report,
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(rate) = rate {
        arguments.extend(["-r".to_owned(), rate.to_string()]);
    }
    arguments.push(address.to_string());
    arguments
}

/// Returns the figures from latte's JSON report, whose `percentiles` name the entries of each list.
/// The latency is that of a cycle, which counts from the intended start of the cycle. Returns
/// `None` if a figure is missing.
fn latte_report(text: &str) -> Option<Reported> {
    let report: Value = serde_json::from_str(text).ok()?;
    let result = report.get("result")?;
    let names = report.get("percentiles")?.as_array()?;
    let values = result["cycle_latency"]["percentiles"].as_array()?;
    let percentile = |wanted: f64| {
        let index = names.iter().position(|name| name.as_f64() == Some(wanted))?;
        values.get(index)?.get("value")?.as_f64()
    };
    Some(Reported {
        ops_per_s: result["cycle_throughput"]["value"].as_f64()?,
        p50_ms: percentile(50.0)?,
        p99_ms: percentile(99.0)?,
        lag_p99_us: None,
    })
}

/// Returns Java's options and the class of cassandra-stress. The script of the tool requires Java
/// 8, so this benchmark calls Java directly, with the options of the script. The heap is limited,
/// because its default size depends on the memory of the machine.
fn java_arguments(places: &Places) -> Vec<String> {
    let home = places.peers.join(format!("apache-cassandra-{}", install::CASSANDRA_STRESS));
    let home = path(home);
    let mut arguments: Vec<String> = ["java.lang", "java.nio", "java.util", "sun.nio.ch"]
        .iter()
        .flat_map(|package| {
            [
                "--add-opens".to_owned(),
                format!("java.base/{package}=ALL-UNNAMED"),
            ]
        })
        .collect();
    arguments.extend(["-server".to_owned(), "-Xmx1G".to_owned()]);
    arguments.push("-Dlogback.configurationFile=logback-tools.xml".to_owned());
    // Without this option, the tool creates a folder with an undefined name in the current folder.
    arguments.push(format!("-Dcassandra.logdir={home}/logs"));
    arguments.push("-cp".to_owned());
    arguments.push(format!("{home}/conf:{home}/lib/*:{home}/tools/lib/*"));
    arguments.push("org.apache.cassandra.stress.Stress".to_owned());
    arguments
}

/// Returns the arguments of cassandra-stress, for a number of operations or for a time.
fn stress_arguments(
    is_read: bool,
    limit: &str,
    rate: Option<u32>,
    address: SocketAddr,
    places: &Places,
) -> Vec<String> {
    let (command, population) = if is_read {
        ("read", format!("dist=uniform(1..{ROWS})"))
    } else {
        ("write", format!("seq=1..{ROWS}"))
    };
    let (port, ip) = (
        format!("native={}", address.port()),
        address.ip().to_string(),
    );
    let threads = format!("threads={IN_FLIGHT}");
    let mut arguments = java_arguments(places);
    let options: [&str; 17] = [
        command,
        limit,
        "cl=LOCAL_ONE",
        "no-warmup",
        "-pop",
        &population,
        "-mode",
        "native",
        "cql3",
        "protocolVersion=4",
        "-node",
        &ip,
        "-port",
        &port,
        // The tool must ignore errors about missing rows, because the null target does not return
        // rows, and the other tools do not check them either.
        "-errors",
        "skip-read-validation",
        "-rate",
    ];
    arguments.extend(options.map(str::to_owned));
    arguments.push(threads);
    arguments.extend(rate.map(|rate| format!("fixed={rate}/s")));
    arguments
}

/// Returns the figures of the summary at the end of cassandra-stress's output. Returns `None` if a
/// figure is missing.
fn stress_summary(stdout: &str) -> Option<Reported> {
    let figure = |name: &str| {
        let line = stdout.lines().rev().find(|line| line.starts_with(name))?;
        let value = line.split_once(':')?.1.trim().split(' ').next()?;
        value.replace(',', "").parse::<f64>().ok()
    };
    Some(Reported {
        ops_per_s: figure("Op rate")?,
        p50_ms: figure("Latency median")?,
        p99_ms: figure("Latency 99th percentile")?,
        lag_p99_us: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_trial_is_found_in_findings() {
        let text = r#"{"format":1,"trials":[
            {"index":0,"phase":"warmup","all":{"ops_per_s":1,"latency_ms":{"p50":1,"p99":1}}},
            {"index":0,"phase":"measure",
             "all":{"ops_per_s":2000.5,"latency_ms":{"p50":0.25,"p99":1.5}}}]}"#;
        let expected = Reported {
            ops_per_s: 2000.5,
            p50_ms: 0.25,
            p99_ms: 1.5,
            lag_p99_us: None,
        };
        assert_eq!(cassay_findings(text), Some(expected));
        assert_eq!(cassay_findings("{}"), None);
    }

    #[test]
    fn latte_s_percentiles_are_found_by_their_names() {
        let text = r#"{"percentiles":[25.0,50.0,99.0],"result":{
            "cycle_throughput":{"value":45234.5},
            "cycle_latency":{"percentiles":[{"value":0.5},{"value":1.3},{"value":12.2}]}}}"#;
        let expected = Reported {
            ops_per_s: 45234.5,
            p50_ms: 1.3,
            p99_ms: 12.2,
            lag_p99_us: None,
        };
        assert_eq!(latte_report(text), Some(expected));
    }

    #[test]
    fn the_summary_of_cassandra_stress_is_read_with_its_commas() {
        let text = "Results:\n\
            Op rate                   :   22,197 op/s  [WRITE: 22,197 op/s]\n\
            Latency median            :    3.6 ms [WRITE: 3.6 ms]\n\
            Latency 99th percentile   :   29.7 ms [WRITE: 29.7 ms]\n\nEND\n";
        let expected = Reported {
            ops_per_s: 22197.0,
            p50_ms: 3.6,
            p99_ms: 29.7,
            lag_p99_us: None,
        };
        assert_eq!(stress_summary(text), Some(expected));
        assert_eq!(stress_summary("java.lang.NullPointerException"), None);
    }
}
