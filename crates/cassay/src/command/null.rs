//! `cassay null`: runs the null target alone, for measuring any client.

use crate::args::{Common, NullArgs};
use crate::exit::Exit;
use crate::{interrupt, terminal};
use ::null_server::{ErrorCode, NullServer};
use anyhow::{Context, Result, bail};
use measure::clock;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;
use target_spec::{Latency, NullSpec, Stall};

/// Interval between two checks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs the null target until the user presses Ctrl-C.
pub fn run(args: &NullArgs, common: &Common) -> Result<Exit> {
    let interrupt = interrupt::flag()?;
    let error = |(name, share): &(String, f64)| match ErrorCode::parse_for_any_request(name) {
        Some(code) => Ok((code, *share)),
        None => bail!(
            "`{name}` is not an error of the null target; use one of CQL's error names, such as \
             overloaded"
        ),
    };
    let errors: Result<Vec<_>> = args.error.iter().map(error).collect();
    let spec = NullSpec {
        latency: match (args.latency, args.exponential) {
            (None, _) => Latency::None,
            (Some(ns), false) => Latency::Fixed { ns },
            (Some(mean_ns), true) => Latency::Exponential { mean_ns },
        },
        stall: args.stall_every.zip(args.stall).map(|(every, length)| Stall {
            every: Duration::from_nanos(every),
            length: Duration::from_nanos(length),
        }),
        errors: errors?,
        cpus: args.cpu.into_iter().collect(),
        port: args.port,
        ..NullSpec::default()
    };
    let server = NullServer::start_at(args.address, &spec)
        .with_context(|| format!("serve at {}:{}", args.address, args.port))?;
    if common.json {
        terminal::json(&json!({"address": server.address().to_string()}));
    } else {
        terminal::data(&server.address().to_string());
    }
    terminal::say("the null target answers CQL requests; press Ctrl-C to stop it");
    while !interrupt.load(Ordering::Relaxed) {
        clock::sleep(LOOK_EVERY);
    }
    let counts = server.counts();
    terminal::say(&format!(
        "the null target accepted {} connections and answered {} reads and {} writes; it refused \
         {} requests",
        counts.connections, counts.reads, counts.writes, counts.refused
    ));
    Ok(Exit::Done)
}
