//! A node whose wall clock is behind all others: what it coordinates is older than what was there,
//! and acknowledged all the same.

use super::node_clock_ahead::Off;
use crate::behaviour::Fault;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Off {
        node: hit.node(),
        by_ms: -(options.by.unwrap_or_default().as_millis() as i64),
    })
}
