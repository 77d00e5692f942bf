//! A one-way network partition: packets from one group of hosts to the other are lost, but packets
//! in the other direction arrive. All connections between the groups break, and the nodes of each
//! group consider the other group's nodes down.

use super::net_partition::Partition;
use crate::behaviour::Fault;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Partition {
        sides: hit.sides(),
        is_one_way: true,
    })
}
