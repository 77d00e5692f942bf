//! A one-way network partition: packets from some hosts to other hosts are lost, but not in the
//! other direction. No connection survives, and the nodes of each group consider those of the other
//! group down.

use super::net_partition::Partition;
use crate::behaviour::Fault;
use target_spec::fault::{Hit, Options};

/// Returns the implementation of this kind of fault.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Partition {
        sides: hit.sides(),
        is_one_way: true,
    })
}
