//! `cassay null`: the null target by itself, for other tools and for practice.

use crate::args::NullArguments;
use crate::exit::Exit;
use crate::speech;
use anyhow::{Context, Result, bail};
use measure::clock::{self, Deadline};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use study::human;
use target::null::{Latency, NullServer, NullSpec, Reads, Stall};

/// How often the end is looked for.
const TICK: Duration = Duration::from_millis(50);

/// Serves until Ctrl-C or for the time asked for; says at the end what it has seen.
pub fn null(arguments: &NullArguments, json: bool) -> Result<Exit> {
    let spec = spec(arguments)?;
    let length = arguments.length.as_deref().map(time).transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("watch for Ctrl-C")?;
    }
    let server = NullServer::start(&spec)
        .with_context(|| format!("start the null target on 127.0.0.1:{}", spec.port))?;
    let address = server.address();
    if json {
        speech::json(&json!({ "address": address.to_string() }));
    } else {
        speech::data(&format!("null target on {address}"));
    }
    let deadline = length.map(Deadline::after);
    while !stop.load(Ordering::Relaxed) && !deadline.is_some_and(Deadline::passed) {
        clock::sleep(TICK);
    }
    let counts = server.counts();
    speech::say(&format!(
        "{} connections, {} requests: {} writes, {} reads, {} refused on purpose",
        counts.connections,
        counts.requests(),
        counts.writes,
        counts.reads,
        counts.refused
    ));
    Ok(Exit::Valid)
}

fn spec(arguments: &NullArguments) -> Result<NullSpec> {
    let ns = |text: &String| time(text).map(|time| time.as_nanos() as u64);
    let latency = match (&arguments.latency, &arguments.exponential) {
        (Some(fixed), _) => Latency::Fixed { ns: ns(fixed)? },
        (None, Some(mean)) => Latency::Exponential { mean_ns: ns(mean)? },
        (None, None) => Latency::None,
    };
    let mut errors = Vec::new();
    for text in &arguments.errors {
        let (name, share) = share(text)?;
        let code = target::null::error_code(name)
            .with_context(|| format!("--error {text}: a server has no error of that name"))?;
        errors.push((code, share));
    }
    Ok(NullSpec {
        latency,
        stall: arguments.stall.as_deref().map(stall).transpose()?,
        errors,
        reads: arguments
            .row
            .map_or(Reads::Empty, |cell_bytes| Reads::Row { cell_bytes }),
        cpus: arguments.cpus.clone(),
        port: arguments.port,
        credentials: None,
        spin: arguments.spin,
    })
}

fn stall(text: &str) -> Result<Stall> {
    let Some((length, every)) = text.split_once('/') else {
        bail!("--stall {text}: must be LENGTH/EVERY, for example 1s/10s");
    };
    Ok(Stall {
        every: time(every)?,
        length: time(length)?,
    })
}

fn share(text: &str) -> Result<(&str, f64)> {
    let (name, share) = text
        .split_once('=')
        .with_context(|| format!("--error {text}: must be NAME=SHARE, as overloaded=0.01"))?;
    let share = share
        .parse()
        .with_context(|| format!("--error {text}: {share:?} is not a number from 0 to 1"))?;
    Ok((name, share))
}

fn time(text: &str) -> Result<Duration> {
    human::parse_duration_ns(text)
        .map(Duration::from_nanos)
        .map_err(|problem| anyhow::anyhow!("{text:?}: {problem}"))
}
