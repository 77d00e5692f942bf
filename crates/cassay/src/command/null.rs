//! `cassay null`: the null target by itself, for measuring any client.

use crate::args::{Common, NullArgs};
use crate::exit::Exit;
use crate::{interrupt, terminal};
use ::null::{NullServer, NullSpec};
use anyhow::{Context, Result};
use measure::clock;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;
use study::settings::{Latency, Null};

/// How often Ctrl-C is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Serves until Ctrl-C.
pub fn run(args: &NullArgs, common: &Common) -> Result<Exit> {
    let interrupt = interrupt::flag()?;
    let null = Null {
        latency: match (args.latency, args.exponential) {
            (None, _) => Latency::None,
            (Some(ns), false) => Latency::Fixed(ns),
            (Some(ns), true) => Latency::Exponential(ns),
        },
        stall_ns: args.stall_every.zip(args.stall),
        errors: args.error.clone(),
        cpu: args.cpu,
    };
    let spec = NullSpec {
        port: args.port,
        ..engine::null_spec(&null)?
    };
    let server =
        NullServer::start(&spec).with_context(|| format!("serve at 127.0.0.1:{}", args.port))?;
    if common.json {
        terminal::json(&json!({"address": server.address().to_string()}));
    } else {
        terminal::data(&server.address().to_string());
    }
    terminal::say("answers every CQL statement at once; Ctrl-C ends it");
    while !interrupt.load(Ordering::Relaxed) {
        clock::sleep(LOOK_EVERY);
    }
    let counts = server.counts();
    terminal::say(&format!(
        "{} connections, {} reads, {} writes, {} refused",
        counts.connections, counts.reads, counts.writes, counts.refused
    ));
    Ok(Exit::Done)
}
