//! What an operation costs the engine: CPU of its worker, kernel included, against the null target.
//!
//! ```text
//! cargo run --release -p cassay --example engine_cost -- [seconds] [in flight] [workload] [rounds]
//! ```
//! The worker is on CPU 0 and the null target on CPU 1, in one process. The best round is what
//! counts: on a busy machine every disturbance only adds.
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use anyhow::{Context, Result};
use load::{Access, Config, Flow, Limit, Node, Schedule, VerifyReads};
use std::sync::Arc;
use std::time::Duration;
use target::null::{NullServer, NullSpec};
use workload::{Replication, Spec, Stage};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| match arguments.get(index) {
        Some(text) => text
            .parse()
            .with_context(|| format!("read the number `{text}`")),
        None => Ok(default),
    };
    let name = arguments.get(2).map_or("standard1", String::as_str);
    let (seconds, in_flight, rounds) = (number(0, 2)?, number(1, 128)?, number(3, 5)?);
    let server = NullServer::start(&NullSpec {
        cpus: vec![1],
        ..NullSpec::default()
    })?;
    let spec = Spec {
        use_: name.to_owned(),
        keyspace: None,
        replication: Replication::Simple { factor: 1 },
        mix: vec![("write".to_owned(), 1.0)],
        consistency: Vec::new(),
        params: Default::default(),
        seed: 1,
        rows: 1_000_000,
        epoch: 0,
    };
    let program = workload::compile(&spec).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    let config = Config {
        program: Arc::new(program),
        stage: Stage::Main,
        nodes: vec![Node::at(server.address())],
        access: Access::default(),
        schedule: Schedule::Closed {
            in_flight: in_flight as u32,
        },
        first_operation: 0,
        limit: Limit::Duration(Duration::from_secs(seconds)),
        in_flight_max: 64,
        release_quantum: load::RELEASE_QUANTUM,
        timeout: Duration::from_secs(5),
        workers: 1,
        cpus: vec![0],
        connections_per_node: 1,
        interval: Duration::from_millis(100),
        verify_reads: VerifyReads::Off,
        keeps_ledger: false,
        loaded: None,
    };
    for _ in 0..rounds {
        round(&config)?;
    }
    Ok(())
}

fn round(config: &Config) -> Result<()> {
    let mut best = (f64::INFINITY, 0.0);
    load::run(config, &mut |interval| {
        let ended = interval.ended() as f64;
        if !interval.draining && interval.index > 1 && ended > 0.0 {
            let ns = interval.client.cpu_ns as f64 / ended;
            if ns < best.0 {
                best = (ns, ended / interval.seconds());
            }
        }
        Flow::Continue
    })?;
    println!(
        "{:.0} ns of CPU per operation, {:.2} M op/s",
        best.0,
        best.1 / 1e6
    );
    Ok(())
}
