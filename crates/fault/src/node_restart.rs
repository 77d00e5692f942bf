//! A node that is restarted as an operator does it: it drains, ends, and is started at once.

use crate::node_stop::{self, Stop};
use crate::{Kind, Length};

pub(crate) const KIND: Kind = Kind {
    name: "node-restart",
    what: "the node drains and ends, and is started again at once",
    length: Length::Moment,
    make: |hit, _| Box::new(Stop(hit.node())),
    ..node_stop::KIND
};
