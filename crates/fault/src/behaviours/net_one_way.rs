//! A network that loses what goes one way: what some hosts send to others never arrives, while they
//! hear them. No connection lives through it, and each side blames the other.

use super::net_partition::Cut;
use crate::behaviour::Fault;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Cut {
        hit: hit.clone(),
        is_one_way: true,
    })
}
