//! The null target, as a study's settings describe it.

use anyhow::{Result, bail};
use cql::response::ErrorCode;
use null::{NullSpec, Stall};
use std::time::Duration;
use study::settings::{self, Latency};

/// The null target's own form of the settings.
pub fn null_spec(null: &settings::Null) -> Result<NullSpec> {
    let mut errors = Vec::new();
    for (name, share) in &null.errors {
        match ErrorCode::of_any_request(name) {
            Some(code) => errors.push((code, *share)),
            None => bail!("`{name}` is not an error that the null target answers"),
        }
    }
    Ok(NullSpec {
        latency: match null.latency {
            Latency::None => null::Latency::None,
            Latency::Fixed(ns) => null::Latency::Fixed { ns },
            Latency::Exponential(mean_ns) => null::Latency::Exponential { mean_ns },
            Latency::Uniform(from_ns, to_ns) => null::Latency::Uniform { from_ns, to_ns },
        },
        stall: null.stall_ns.map(|(every, length)| Stall {
            every: Duration::from_nanos(every),
            length: Duration::from_nanos(length),
        }),
        errors,
        cpus: null.cpu.into_iter().collect(),
        ..NullSpec::default()
    })
}
