//! A node whose wall clock is behind all others: what it coordinates is older than what was there,
//! and acknowledged all the same.

use crate::Kind;
use crate::node_clock_ahead::{self, Off};

pub(crate) const KIND: Kind = Kind {
    name: "node-clock-behind",
    what: "the node is restarted with a wall clock that is behind, and then with its own",
    make: |hit, options| {
        Box::new(Off {
            node: hit.node(),
            by_ms: -(options.by.unwrap_or_default().as_millis() as i64),
        })
    },
    ..node_clock_ahead::KIND
};
