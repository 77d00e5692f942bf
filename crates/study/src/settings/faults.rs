//! What is broken on purpose.

use super::Draft;

/// Something that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// How.
    pub kind: fault::Kind,
    /// Number of the node, from 1.
    pub node: usize,
    /// When, after the begin of the measured window, ns.
    pub at_ns: u64,
    /// For how long, ns.
    pub for_ns: u64,
}

impl Default for Fault {
    /// One of which nothing is said yet.
    fn default() -> Fault {
        Fault {
            kind: fault::KINDS[0],
            node: 1,
            at_ns: 0,
            for_ns: 0,
        }
    }
}

impl Draft {
    /// The one at hand.
    pub(crate) fn fault(&mut self) -> &mut Fault {
        if self.faults.is_empty() {
            self.faults.push(Fault::default());
        }
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }
}
