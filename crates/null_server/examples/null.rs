//! Runs the null target alone. `serve` starts it for other tools, `blast` measures its capacity,
//! and `late` measures how late its answers are.
//!
//! ```text
//! cargo run --release -p null_server --example null -- serve [port] [cpu] [requests per second]...
//! cargo run --release -p null_server --example null -- blast [seconds] [in flight] [spin]
//! cargo run --release -p null_server --example null -- late [µs]
//! ```
//! Each second, `serve` prints the number of EXECUTE requests since its start. If the rate of that
//! second is close to one of the rates in the arguments, `serve` also prints a line with lags.
//! These are the p50 and the p99 of the lag behind an even spacing, in ns. `blast` sends ready-made
//! EXECUTE frames of 236 bytes on one connection, with the client on CPU 0 and the server on CPU 1.
//! `blast` only counts the bytes of the answers. So its cost is a lower bound of a client's cost,
//! and its rate shows the server's capacity. `late` measures how much later than the requested
//! fixed latency an answer arrives.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use anyhow::{Context, Result, bail, ensure};
use cql::frame::{HEADER_BYTES, Header};
use cql::request::{self, QueryParams};
use cql::response::{self, Response, ResultBody};
use measure::clock;
use null_server::{Arrival, NullServer};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::sync_channel;
use std::time::Duration;
use target_spec::{Latency, NullSpec};

/// Number of bytes of a VOID answer.
const VOID_BYTES: usize = 13;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| match arguments.get(index) {
        Some(text) => text.parse().with_context(|| format!("read the number `{text}`")),
        None => Ok(default),
    };
    match arguments.first().map(String::as_str) {
        Some("serve") => {
            let rates = (3..arguments.len()).map(|at| number(at, 0)).collect::<Result<Vec<_>>>()?;
            serve(number(1, 9042)? as u16, number(2, u64::MAX)?, &rates)
        }
        Some("blast") => {
            let spin = arguments.get(3).is_some_and(|word| word == "spin");
            blast(number(1, 5)?, number(2, 128)? as usize, spin)
        }
        Some("late") => late(number(1, 1000)?),
        _ => bail!("write the mode as the first argument: serve, blast or late"),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the example ends when its reader has gone, so it must see write errors"
)]
fn serve(port: u16, cpu: u64, rates: &[u64]) -> Result<()> {
    let cpus = usize::try_from(cpu).ok().filter(|_| cpu != u64::MAX).into_iter().collect();
    let spec = NullSpec {
        port,
        cpus,
        ..NullSpec::default()
    };
    // The channel holds the arrivals of one second at 131,072 requests per second, even if each
    // request arrives alone. If the channel overflows, the server drops arrivals, and the example
    // usually prints no lag for that second.
    let (to, arrivals) = sync_channel(1 << 17);
    let server = if rates.is_empty() {
        NullServer::start(&spec)?
    } else {
        NullServer::start_noting(&spec, to)?
    };
    println!("null target on {}", server.address());
    // The loop prints lines each second, for `cargo xtask peers`. It stops when the process that
    // reads the output has ended.
    while writeln!(std::io::stdout(), "executes {}", server.counts().executes()).is_ok() {
        clock::sleep(Duration::from_secs(1));
        let second: Vec<Arrival> = arrivals.try_iter().collect();
        if let Some(line) = lag_line(&second, rates) {
            println!("{line}");
        }
    }
    Ok(())
}

/// Returns a line with the p50 and the p99 of the lag of one second's requests behind an even
/// spacing, in ns. Returns `None` unless the number of requests is within 5 % of one of `rates`.
fn lag_line(second: &[Arrival], rates: &[u64]) -> Option<String> {
    let seen: u64 = second.iter().map(|arrival| arrival.executes).sum();
    let rate = rates.iter().find(|rate| seen.abs_diff(**rate) * 20 <= **rate)?;
    let lags = null_server::lags_ns(second, *rate);
    let at = |share: f64| lags[((lags.len() - 1) as f64 * share) as usize];
    Some(format!("lag {} {}", at(0.5), at(0.99)))
}

fn pin(cpu: usize) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Connects to the server, and creates a table with the columns of cassandra-stress's standard1.
/// Returns the connection, and an EXECUTE frame that writes a row of this table.
fn prepare(server: &NullServer) -> Result<(TcpStream, Vec<u8>)> {
    let mut socket = TcpStream::connect(server.address())?;
    socket.set_nodelay(true)?;
    let mut ask = |build: &dyn Fn(&mut Vec<u8>)| -> Result<Vec<u8>> {
        let mut frame = Vec::new();
        build(&mut frame);
        socket.write_all(&frame)?;
        let mut head = [0; HEADER_BYTES];
        socket.read_exact(&mut head)?;
        let header = Header::parse_response(&head, cql::Version::V4)?.context("a whole header")?;
        let mut body = vec![0; header.length as usize];
        socket.read_exact(&mut body)?;
        match response::parse(&header, &body)? {
            Response::Error(error) => bail!("{}", error.message),
            Response::Result(ResultBody::Prepared(prepared)) => Ok(prepared.id),
            _ => Ok(Vec::new()),
        }
    };
    ask(&|out| request::startup(out, cql::Version::V4, 0, None))?;
    let params = QueryParams::default();
    for cql in [
        "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE k.s (key blob PRIMARY KEY, c0 blob, c1 blob, c2 blob, c3 blob, c4 blob)",
    ] {
        ask(&|out| request::query(out, 0, cql, &params).expect("it is CQL"))?;
    }
    let cql = "INSERT INTO k.s (key, c0, c1, c2, c3, c4) VALUES (?, ?, ?, ?, ?, ?)";
    let id = ask(&|out| {
        request::prepare(out, cql::Version::V4, 0, cql).expect("it is CQL");
    })?;
    let mut values: Vec<Option<&[u8]>> = vec![Some(&[7; 34]); 6];
    values[0] = Some(b"0123456789");
    let params = QueryParams {
        values: &values,
        ..QueryParams::default()
    };
    let mut frame = Vec::new();
    request::execute(&mut frame, 0, &id, &params);
    Ok((socket, frame))
}

fn blast(seconds: u64, in_flight: usize, spin: bool) -> Result<()> {
    let server = NullServer::start(&NullSpec {
        cpus: vec![1],
        spin,
        ..NullSpec::default()
    })?;
    pin(0)?;
    let (mut socket, frame) = prepare(&server)?;
    let mut frames = Vec::new();
    for stream in 0..in_flight as i16 {
        let start = frames.len();
        frames.extend_from_slice(&frame);
        frames[start + 2..start + 4].copy_from_slice(&stream.to_be_bytes());
    }
    let mut answers = vec![0; 1 << 16];
    let (mut answered, mut batches, mut partial) = (0u64, 0u64, 0);
    let (start_ns, start_client) = (clock::now_ns(), clock::thread_cpu_ns());
    let start_process = clock::process_cpu_ns();
    socket.write_all(&frames)?;
    while clock::now_ns() - start_ns < seconds * clock::SECOND_NS {
        let count = socket.read(&mut answers)?;
        ensure!(count > 0, "the null target closed the connection");
        let whole = (partial + count) / VOID_BYTES;
        partial = (partial + count) % VOID_BYTES;
        answered += whole as u64;
        batches += 1;
        socket.write_all(&frames[..whole * frame.len()])?;
    }
    let elapsed_ns = clock::now_ns() - start_ns;
    let client_ns = clock::thread_cpu_ns() - start_client;
    let server_ns = clock::process_cpu_ns() - start_process - client_ns;
    let per_op = |ns: u64| ns as f64 / answered as f64 / 1000.0;
    println!(
        "{in_flight} in flight, {} bytes, spin {spin}: {:.2} M op/s, {:.1} op per batch, \
         CPU µs/op: client {:.3}, server {:.3}; busy: client {:.0} %, server {:.0} %",
        frame.len(),
        answered as f64 * 1000.0 / elapsed_ns as f64,
        answered as f64 / batches as f64,
        per_op(client_ns),
        per_op(server_ns),
        100.0 * client_ns as f64 / elapsed_ns as f64,
        100.0 * server_ns as f64 / elapsed_ns as f64,
    );
    Ok(())
}

fn late(latency_us: u64) -> Result<()> {
    let latency = Latency::Fixed {
        ns: latency_us * 1000,
    };
    let server = NullServer::start(&NullSpec {
        cpus: vec![1],
        latency,
        ..NullSpec::default()
    })?;
    pin(0)?;
    let (mut socket, frame) = prepare(&server)?;
    let mut late_ns = Vec::new();
    for _ in 0..2000 {
        let start_ns = clock::now_ns();
        socket.write_all(&frame)?;
        socket.read_exact(&mut [0; VOID_BYTES])?;
        late_ns.push(clock::now_ns() - start_ns - latency_us * 1000);
    }
    late_ns.sort_unstable();
    let at = |share: f64| late_ns[(late_ns.len() as f64 * share) as usize] as f64 / 1000.0;
    println!(
        "fixed {latency_us} µs, seen by one request at a time later by µs: \
         min {:.1}, p50 {:.1}, p99 {:.1}, max {:.1}",
        at(0.0),
        at(0.5),
        at(0.99),
        late_ns[late_ns.len() - 1] as f64 / 1000.0
    );
    Ok(())
}
