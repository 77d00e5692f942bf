//! Counts the failed operations of each node, and records the times of the first and the last
//! failure. With this data, a report can distinguish one faulty node from a load that is too high
//! for all nodes.

/// Failed operations of one node. An operation belongs to the node to which its last request was
/// sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFailures {
    pub node: String,
    /// Number of operations that finally failed.
    pub count: u64,
    /// Time of the first failure on the monotonic clock, in ns.
    pub first_ns: u64,
    /// Time of the last failure on the monotonic clock, in ns.
    pub last_ns: u64,
}

/// Failures at one node. Lists of these values are indexed by the number of the node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Failures {
    count: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Failures {
    pub fn note(&mut self, now_ns: u64) {
        if self.count == 0 {
            self.first_ns = now_ns;
        }
        self.count += 1;
        self.last_ns = now_ns;
    }

    fn add(&mut self, other: &Failures) {
        if other.count == 0 {
            return;
        }
        self.first_ns = match self.count {
            0 => other.first_ns,
            _ => self.first_ns.min(other.first_ns),
        };
        self.last_ns = self.last_ns.max(other.last_ns);
        self.count += other.count;
    }
}

pub(crate) fn add(all: &mut Vec<Failures>, of_worker: &[Failures]) {
    all.resize(all.len().max(of_worker.len()), Failures::default());
    for (sum, one) in all.iter_mut().zip(of_worker) {
        sum.add(one);
    }
}

pub(crate) fn node_failures(all: &[Failures], nodes: &[String]) -> Vec<NodeFailures> {
    let pairs = all.iter().zip(nodes).filter(|(one, _)| one.count > 0);
    let named = pairs.map(|(one, node)| NodeFailures {
        node: node.clone(),
        count: one.count,
        first_ns: one.first_ns,
        last_ns: one.last_ns,
    });
    named.collect()
}

/// Minimum share of the failures at which one node is regarded as the cause.
const ONE_NODE_SHARE: f64 = 0.9;

/// Returns a text such as `all at node2, from 10.2 s to 30.1 s after the load began` if one of
/// several nodes has nearly all failures. `start_ns` is the time at which the load began, in ns.
pub fn words(failures: &[NodeFailures], nodes_count: usize, start_ns: u64) -> Option<String> {
    let all: u64 = failures.iter().map(|one| one.count).sum();
    let most = failures.iter().max_by_key(|one| one.count)?;
    if nodes_count < 2 || (most.count as f64) < all as f64 * ONE_NODE_SHARE {
        return None;
    }
    let how_many = if most.count == all {
        "all".to_owned()
    } else {
        // The text omits the number of failures. Rule V8 counts only failures in the window,
        // whereas these failures cover the whole load.
        "nearly all".to_owned()
    };
    let at_s = |ns: u64| ns.saturating_sub(start_ns) as f64 / 1e9;
    Some(format!(
        "{how_many} at {}, from {:.1} s to {:.1} s after the load began",
        most.node,
        at_s(most.first_ns),
        at_s(most.last_ns)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(times_s: &[u64]) -> Failures {
        let mut failures = Failures::default();
        times_s.iter().for_each(|at| failures.note(at * 1_000_000_000));
        failures
    }

    #[test]
    fn the_node_that_failures_come_from_is_named() {
        let nodes = ["node1", "node2", "node3"].map(str::to_owned);
        let said = |workers: &[[&[u64]; 3]]| {
            let mut all = Vec::new();
            for worker in workers {
                add(&mut all, &worker.map(failures));
            }
            words(&node_failures(&all, &nodes), nodes.len(), 1_000_000_000)
        };
        let expected = "all at node2, from 10.0 s to 30.0 s after the load began";
        let workers: [[&[u64]; 3]; 2] = [[&[], &[12, 31], &[]], [&[], &[11], &[]]];
        assert_eq!(said(&workers).as_deref(), Some(expected));
        assert_eq!(said(&[[&[5], &[12], &[]]]), None);
        assert_eq!(said(&[[&[], &[], &[]]]), None);
        let mostly: [&[u64]; 3] = [&[5], &[2; 19], &[]];
        let mostly = said(&[mostly]).unwrap();
        assert!(mostly.starts_with("nearly all at node2"), "{mostly}");
        let alone = node_failures(&[failures(&[3])], &nodes);
        assert_eq!(words(&alone, 1, 0), None);
    }
}
