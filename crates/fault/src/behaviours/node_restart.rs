//! A node restart as operators perform it: the node drains, ends, and is started immediately.

use super::node_stop::Stop;
use crate::behaviour::Fault;
use target_spec::fault::{Hit, Options};

/// Returns the implementation of this kind of fault.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stop(hit.node()))
}
