//! A node whose wall clock is behind. Its writes have older timestamps than existing data, but are
//! still acknowledged.

use super::node_clock_ahead::ClockShift;
use crate::behaviour::Fault;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(ClockShift {
        node: hit.node(),
        by_ms: -(options.by.unwrap_or_default().as_millis() as i64),
    })
}
