//! Observes a run of a client from outside. The module reads the number of requests from the
//! server, and the client's processor time and memory from /proc. All readings use the same clock.

use super::install::built;
use super::rates;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use xtask::process;

/// Time between two samples of a client.
const PERIOD: Duration = Duration::from_millis(100);
/// Port of the null target during the benchmark. It differs from Cassandra's port, so that the null
/// target and Cassandra can run at the same time.
const NULL_PORT: u16 = 19_042;
/// Time limit for the null target to start listening.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Returns the current time.
#[expect(
    clippy::disallowed_methods,
    reason = "the only function of the benchmark that reads the time"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// Sleeps for a duration.
#[expect(
    clippy::disallowed_methods,
    reason = "only this function of the benchmark waits"
)]
pub fn wait(duration: Duration) {
    std::thread::sleep(duration);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the guards here stop what they start"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}

/// A server for the tools. If this program has started the server, it stops the server when this
/// value is dropped.
pub struct Server {
    address: SocketAddr,
    started: Started,
}

enum Started {
    /// The server was already running, so it is not stopped.
    Attached,
    /// The server was started by `cassay target up`.
    Cassandra,
    Null {
        child: Child,
        counts: Arc<Mutex<Vec<Count>>>,
    },
}

/// Number of EXECUTE requests that a server had received at a certain time.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    at: Instant,
    executes: u64,
    /// Lag of the last second's requests behind an evenly spaced schedule, as the median and the
    /// 99th percentile, in µs. `None` if the requests did not have a fixed rate.
    lag_us: Option<[f64; 2]>,
}

/// Parses the line in which the null target reports the lag of the requests in a second. Returns
/// `None` for other lines.
fn lag_of(line: &str) -> Option<[f64; 2]> {
    let (p50, p99) = line.strip_prefix("lag ")?.split_once(' ')?;
    let us = |ns: &str| Some(ns.trim().parse::<f64>().ok()? / 1e3);
    Some([us(p50)?, us(p99)?])
}

impl Server {
    /// Starts the null target, whose event loop runs on CPU 1.
    pub fn null() -> Result<Server> {
        let program = built("examples/null");
        let mut child = command(&program)
            .args(["serve", &NULL_PORT.to_string(), "1"])
            .args(rates().map(|rate| rate.to_string()))
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {program}"))?;
        let counts = Arc::new(Mutex::new(Vec::new()));
        if let Some(stdout) = child.stdout.take() {
            let counts = Arc::clone(&counts);
            // The thread is not joined. It reads the output of the server, so it ends together with
            // the server.
            std::thread::spawn(move || {
                let mut lag_us = None;
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    lag_us = lag_of(&line).or(lag_us);
                    if let Some(executes) = line.strip_prefix("executes ") {
                        let executes = executes.trim().parse().unwrap_or(0);
                        let count = Count {
                            at: now(),
                            executes,
                            lag_us: lag_us.take(),
                        };
                        counts.lock().unwrap_or_else(PoisonError::into_inner).push(count);
                    }
                }
            });
        }
        let address = SocketAddr::from(([127, 0, 0, 1], NULL_PORT));
        let started = Started::Null { child, counts };
        let mut server = Server { address, started };
        let begun = now();
        while std::net::TcpStream::connect(address).is_err() {
            if let Started::Null { child, .. } = &mut server.started
                && let Some(status) = child.try_wait()?
            {
                bail!("{program} ended with {status} at its start");
            }
            if begun.elapsed() > START_LIMIT {
                bail!("{program} does not listen on {address}");
            }
            wait(PERIOD);
        }
        Ok(server)
    }

    /// Returns a server that is already running.
    pub fn attached(address: SocketAddr) -> Server {
        Server {
            address,
            started: Started::Attached,
        }
    }

    /// Starts a real Cassandra with cassay. The output of cassay contains the address of the server
    /// as its first address.
    pub fn cassandra() -> Result<Server> {
        let cassay = built("cassay");
        let printed = process::output(&cassay, &["target", "up"])?;
        let address = first_address(&printed)
            .with_context(|| format!("find the node's address in `{}`", printed.trim()))?;
        Ok(Server {
            address,
            started: Started::Cassandra,
        })
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the server if this program has started it. The error names the processes that were not
    /// stopped.
    pub fn stop(mut self) -> Result<()> {
        self.stop_once()
    }

    fn stop_once(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.started, Started::Attached) {
            Started::Attached => Ok(()),
            Started::Cassandra => {
                let cassay = built("cassay");
                process::output(&cassay, &["target", "down"]).map(drop)
            }
            Started::Null { mut child, .. } => {
                child.kill().context("stop the null target")?;
                child.wait().context("wait for the null target's end").map(drop)
            }
        }
    }

    /// Returns the numbers of requests that were recorded after `since`. The list is empty if the
    /// server does not report them.
    fn counts_since(&self, since: Instant) -> Vec<Count> {
        match &self.started {
            Started::Null { counts, .. } => {
                let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                counts.iter().filter(|count| count.at >= since).copied().collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The result is ignored, because an error during cleanup must not hide the original error.
        let _ = self.stop_once();
    }
}

/// Returns the first address in `text`, which may be prose or JSON. Returns `None` if it contains
/// no address.
fn first_address(text: &str) -> Option<SocketAddr> {
    text.split(|c: char| c.is_whitespace() || "\"',;(){}".contains(c))
        .find_map(|word| word.trim_end_matches('.').parse().ok())
}

/// A running client. It is killed when this value is dropped.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        // The results are ignored, because both calls fail if the client has already ended, as it
        // usually has.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[derive(Clone, Copy, Debug)]
struct Cpu {
    at: Instant,
    seconds: f64,
}

/// Observations of a client's run by another process.
pub struct Seen {
    /// Output on stdout.
    pub stdout: String,
    /// Peak resident memory, in MB (10^6 bytes).
    pub peak_mb: f64,
    cpu: Vec<Cpu>,
    counts: Vec<Count>,
}

/// Runs `program` to its end and observes it. The stdout of the program goes to a file in the
/// scratch folder, because a full pipe could block the program.
pub fn watch(
    server: &Server,
    program: &str,
    arguments: &[String],
    scratch: &std::path::Path,
) -> Result<Seen> {
    let line = format!("{program} {}", arguments.join(" "));
    let (out, err) = (scratch.join("stdout"), scratch.join("stderr"));
    let create =
        |file| std::fs::File::create(file).with_context(|| format!("create {}", scratch.display()));
    let child = command(program)
        .args(arguments)
        .current_dir(scratch)
        .stdin(Stdio::null())
        .stdout(create(&out)?)
        .stderr(create(&err)?)
        .spawn()
        .with_context(|| format!("start `{line}`"))?;
    let mut client = Client(child);
    let begun = now();
    let (mut cpu, mut peak_mb) = (Vec::new(), 0.0f64);
    let status: ExitStatus = loop {
        let (seconds, memory) = used(&client.0);
        if let Some(seconds) = seconds {
            cpu.push(Cpu { at: now(), seconds });
        }
        peak_mb = peak_mb.max(memory);
        if let Some(status) = client.0.try_wait().with_context(|| format!("wait for `{line}`"))? {
            break status;
        }
        wait(PERIOD);
    };
    let text =
        |file| String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
    let stdout = text(&out);
    // cassay exits with 3 if it judges its run invalid, for example on a busy machine. Such a run
    // still has figures, whose range the table shows.
    if !status.success() && status.code() != Some(3) {
        let stderr = text(&err);
        let last: Vec<&str> = stderr.lines().chain(stdout.lines()).rev().take(5).collect();
        bail!("`{line}` ended with {status}: {}", last.join(" | "));
    }
    Ok(Seen {
        stdout,
        peak_mb,
        cpu,
        counts: server.counts_since(begun),
    })
}

/// Returns the processor time in seconds that a child has used so far, and its peak memory in MB.
/// The time is `None` when the exit status of the child has already been collected.
pub fn used(child: &Child) -> (Option<f64>, f64) {
    let folder = format!("/proc/{}", child.id());
    let read = |file: &str| process::read_proc(&format!("{folder}/{file}"));
    let peak_mb = peak_kib(&read("status")) * 1024.0 / 1e6;
    (process::own_and_children_cpu_s(&read("stat")), peak_mb)
}

/// Returns the peak resident memory in /proc/PID/status, in KiB.
fn peak_kib(status: &str) -> f64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().split(' ').next()?.parse().ok())
        .unwrap_or(0.0)
}

/// Throughput and cost in the steady period of a run.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    /// Operations per second.
    pub ops_per_s: f64,
    /// Processor time of the client per operation, in µs.
    pub cpu_us_per_op: f64,
    /// Lag of requests at the server behind an evenly spaced schedule, in µs. The first value is
    /// the median of the medians of all seconds, and the second value is the median of their 99th
    /// percentiles. `None` if the server did not measure the lag, or if the case has no fixed rate.
    pub lag_us: Option<[f64; 2]>,
}

impl Seen {
    /// Returns the steady period according to the numbers of requests that the server reported.
    /// This period consists of the seconds with at least half of the median rate, without the first
    /// third of them. In the first third, a JVM compiles, and some tools warm up at a rate other
    /// than the requested rate. Returns `None` if the server did not report numbers of requests, or
    /// if the period is too short.
    pub fn steady_by_server(&self) -> Option<Steady> {
        let rate = |pair: &[Count]| {
            let seconds = pair[1].at.duration_since(pair[0].at).as_secs_f64();
            (pair[1].executes - pair[0].executes) as f64 / seconds.max(1e-3)
        };
        let mut rates: Vec<f64> =
            self.counts.windows(2).map(rate).filter(|&rate| rate > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        let median = *rates.get(rates.len() / 2)?;
        let busy: Vec<usize> = (0..self.counts.len().saturating_sub(1))
            .filter(|&index| rate(&self.counts[index..index + 2]) >= median / 2.0)
            .collect();
        let begin = *busy.get(busy.len() / 3)?;
        let end = *busy.last()?;
        if end <= begin {
            return None;
        }
        let (first, last) = (self.counts[begin], self.counts[end]);
        let operations = (last.executes - first.executes) as f64;
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        let cpu = self.cpu_until(last.at)? - self.cpu_until(first.at)?;
        Some(Steady {
            ops_per_s: operations / seconds,
            cpu_us_per_op: cpu * 1e6 / operations,
            // The first count is excluded, because its lag is that of the second before the steady
            // period.
            lag_us: lag_of_seconds(&self.counts[begin + 1..=end]),
        })
    }

    /// Returns the steady period according to the clock, which is from 40 to 90 % of the run. The
    /// throughput is the rate that the tool reports. Returns `None` if there are too few samples.
    pub fn steady_by_clock(&self, ops_per_s: f64) -> Option<Steady> {
        let (first, last) = (self.cpu.first()?, self.cpu.last()?);
        let whole = last.at.duration_since(first.at);
        let (begin, end) = (first.at + whole.mul_f64(0.4), first.at + whole.mul_f64(0.9));
        let cpu = self.cpu_until(end)? - self.cpu_until(begin)?;
        let operations = ops_per_s * end.duration_since(begin).as_secs_f64();
        Some(Steady {
            ops_per_s,
            cpu_us_per_op: cpu * 1e6 / operations,
            lag_us: None,
        })
    }

    /// Returns the processor time that the client had used at time `at`, interpolated between
    /// samples. Returns `None` if `at` is after the last sample.
    fn cpu_until(&self, at: Instant) -> Option<f64> {
        let after = self.cpu.iter().position(|sample| sample.at >= at)?;
        let (a, b) = (self.cpu[after.saturating_sub(1)], self.cpu[after]);
        let span = b.at.duration_since(a.at).as_secs_f64();
        let share = if span > 0.0 {
            at.saturating_duration_since(a.at).as_secs_f64() / span
        } else {
            0.0
        };
        Some(a.seconds + (b.seconds - a.seconds) * share)
    }
}

/// Returns the median, over all seconds, of each of the two lag figures. Returns `None` if no
/// second has these figures.
fn lag_of_seconds(counts: &[Count]) -> Option<[f64; 2]> {
    let median = |which: usize| {
        let mut all: Vec<f64> = counts.iter().filter_map(|one| Some(one.lag_us?[which])).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    Some([median(0)?, median(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_of_the_median_second_comes_from_the_null_target() {
        assert_eq!(lag_of("lag 31250 90500"), Some([31.25, 90.5]));
        assert_eq!(lag_of("executes 5"), None);
        let second = |lag_us| Count {
            at: now(),
            executes: 0,
            lag_us,
        };
        let seconds = [Some([3.0, 9.0]), None, Some([1.0, 8.0]), Some([2.0, 99.0])].map(second);
        assert_eq!(lag_of_seconds(&seconds), Some([2.0, 9.0]));
        assert_eq!(lag_of_seconds(&seconds[1..2]), None);
    }

    #[test]
    fn processor_time_is_read_past_any_process_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 20 5 20 0 9 0 88 1 2";
        assert_eq!(process::own_and_children_cpu_s(stat), Some(2.25));
        assert_eq!(process::own_and_children_cpu_s(""), None);
    }

    #[test]
    fn peak_memory_is_the_high_water_mark() {
        assert_eq!(
            peak_kib("VmPeak:\t 9 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 5 kB\n"),
            2048.0
        );
        assert_eq!(peak_kib(""), 0.0);
    }

    #[test]
    fn the_node_s_address_is_found_in_text_and_in_json() {
        let address = Some(SocketAddr::from(([127, 0, 0, 1], 9042)));
        assert_eq!(first_address("node1 up on 127.0.0.1:9042, dc1"), address);
        assert_eq!(first_address("{\"nodes\": [\"127.0.0.1:9042\"]}"), address);
        assert_eq!(first_address("nothing here"), None);
    }

    #[test]
    fn the_steady_part_leaves_out_start_and_end() {
        let start = now();
        let at = |second: u64| start + Duration::from_secs(second);
        // The server is idle for 3 s, warms up at 9000/s for 3 s, gets 1000/s for 12 s, and is idle
        // again. The client always uses half a CPU.
        let executes = |second: u64| match second {
            0..3 => 0,
            3..6 => (second - 3) * 9000,
            6..18 => 27_000 + (second - 6) * 1000,
            _ => 39_000,
        };
        let seen = Seen {
            stdout: String::new(),
            peak_mb: 0.0,
            cpu: (0..=20)
                .map(|s| Cpu {
                    at: at(s),
                    seconds: s as f64 / 2.0,
                })
                .collect(),
            counts: (0..=20)
                .map(|s| Count {
                    at: at(s),
                    executes: executes(s),
                    lag_us: None,
                })
                .collect(),
        };
        let steady = seen.steady_by_server().unwrap();
        assert_eq!((steady.ops_per_s, steady.cpu_us_per_op), (1000.0, 500.0));
        let steady = seen.steady_by_clock(1000.0).unwrap();
        assert!((steady.cpu_us_per_op - 500.0).abs() < 1e-6);
    }
}
