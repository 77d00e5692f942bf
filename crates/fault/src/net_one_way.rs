//! A network that loses what goes one way: what some hosts send to others never arrives, while they
//! hear them. No connection lives through it, and each side blames the other.

use crate::Kind;
use crate::net_partition::{self, Cut};

pub(crate) const KIND: Kind = Kind {
    name: "net-one-way",
    what: "what hosts send to others is lost, and not what they are sent; clients reach all",
    make: |hit, _| {
        Box::new(Cut {
            hit: hit.clone(),
            is_one_way: true,
        })
    },
    ..net_partition::KIND
};
