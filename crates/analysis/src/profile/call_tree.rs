//! The call tree of a profile: the cost of each chain of callers.
//!
//! Invariants: a node comes after its parent, so a pass from the end adds up the costs of subtrees.
//! The memory of a tree has a limit, whatever the file of stacks contains. Costs beyond the limit
//! stay with the last caller that the tree has. They are lost only if a file has more than a
//! thousand thread pools.

use std::collections::{BTreeMap, HashMap};

/// Maximum number of nodes of a tree. A profile of Cassandra has 5,000 to 50,000.
const NODES_MAX: usize = 200_000;
/// Maximum number of frames of a stack. The profiler reports at most 2048 frames, and stacks of
/// Cassandra have up to 150.
const DEPTH_MAX: usize = 512;
/// Number of nodes that only thread pools may use. A profile of Cassandra has about 60 pools.
const POOLS_MAX: usize = 1000;
/// Maximum number of names of frames. A profile of Cassandra has 2,000 to 8,000.
const NAMES_MAX: usize = 200_000;

/// Name of a pruned frame that stands for several small frames.
pub const REST: &str = "…";

/// Names of frames, with a number for each. Trees of the same analysis share their names.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    /// Returns the number of a name, and adds the name if it is new. Returns `None` if the name is
    /// new and there are too many names.
    fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.names.len() >= NAMES_MAX && name != REST {
            return None;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    pub(super) fn count(&self) -> usize {
        self.names.len()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Name of the frame, by its number.
    pub name: u32,
    /// Index of the caller. `None` for a thread pool.
    pub parent: Option<u32>,
    /// Cost of samples in the frame itself, without its callees.
    pub own: f64,
}

/// The call tree of one or more profiles. Costs are CPU time in µs, or bytes.
#[derive(Debug, Default)]
pub struct CallTree {
    nodes: Vec<Node>,
    children: HashMap<(Option<u32>, u32), u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PrunedFrame {
    /// Distance from the thread pool, which has depth 0.
    pub depth: usize,
    /// Name of the frame, or [`REST`].
    pub name: String,
    /// Cost of the frame with its callees.
    pub cost: f64,
}

impl CallTree {
    /// Adds the cost of a stack, which is `pool;frame;…;frame` with the outermost frame first.
    pub fn add(&mut self, names: &mut Names, stack: &str, cost: f64) {
        let mut at = None;
        for frame in stack.split(';').take(DEPTH_MAX) {
            let Some(name) = names.number(frame) else {
                break;
            };
            match self.child(at, name) {
                Some(child) => at = Some(child),
                None => break,
            }
        }
        let at = at.or_else(|| self.child(None, names.number(REST)?));
        if let Some(at) = at {
            self.nodes[at as usize].own += cost;
        }
    }

    /// Adds all costs of another tree with the same names, multiplied by `factor`.
    pub fn merge(&mut self, other: &CallTree, factor: f64) {
        let mut here: Vec<Option<u32>> = Vec::with_capacity(other.nodes.len());
        for node in &other.nodes {
            let parent = node.parent.map(|parent| here[parent as usize]);
            let at = match parent {
                None => self.child(None, node.name),
                // A frame without space in this tree is represented by its caller. The cost of a
                // pool without space is lost.
                Some(None) => None,
                Some(Some(parent)) => self.child(Some(parent), node.name).or(Some(parent)),
            };
            if let Some(at) = at {
                self.nodes[at as usize].own += node.own * factor;
            }
            here.push(at);
        }
    }

    /// Returns the child with this name, and adds the child if it is new. Returns `None` if the
    /// child is new and the tree is full.
    fn child(&mut self, parent: Option<u32>, name: u32) -> Option<u32> {
        if let Some(child) = self.children.get(&(parent, name)) {
            return Some(*child);
        }
        // Space for `POOLS_MAX` nodes is reserved for thread pools. One of these nodes, `REST`,
        // receives the cost of stacks whose pool has no node.
        let most = if parent.is_none() {
            NODES_MAX + POOLS_MAX
        } else {
            NODES_MAX
        };
        if self.nodes.len() >= most {
            return None;
        }
        let child = self.nodes.len() as u32;
        self.nodes.push(Node {
            name,
            parent,
            own: 0.0,
        });
        self.children.insert((parent, name), child);
        Some(child)
    }

    /// Returns the cost of all stacks.
    pub fn total(&self) -> f64 {
        self.nodes.iter().map(|node| node.own).sum()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the cost of each node with its callees.
    pub(super) fn costs(&self) -> Vec<f64> {
        let mut costs: Vec<f64> = self.nodes.iter().map(|node| node.own).collect();
        for at in (0..self.nodes.len()).rev() {
            if let Some(parent) = self.nodes[at].parent {
                costs[parent as usize] += costs[at];
            }
        }
        costs
    }

    /// Returns the frames in depth-first order: each frame is followed by its callees, which are in
    /// the order of their names. Frames with less than `share_min` of the total cost are combined
    /// into one frame [`REST`] per caller. At most `frames_max` frames remain.
    pub fn pruned(&self, names: &Names, share_min: f64, frames_max: usize) -> Vec<PrunedFrame> {
        let costs = self.costs();
        let least = self.total() * share_min;
        let mut callees: BTreeMap<Option<u32>, Vec<Callee<'_>>> = BTreeMap::new();
        let mut rest: BTreeMap<Option<u32>, f64> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if costs[at] >= least && costs[at] > 0.0 {
                callees.entry(node.parent).or_default().push(Callee {
                    name: names.name(node.name),
                    node: Some(at as u32),
                    cost: costs[at],
                });
            } else {
                *rest.entry(node.parent).or_default() += costs[at];
            }
        }
        for (parent, cost) in rest {
            if cost >= least && cost > 0.0 {
                callees.entry(parent).or_default().push(Callee {
                    name: REST,
                    node: None,
                    cost,
                });
            }
        }
        let mut all: Vec<f64> = callees.values().flatten().map(|one| one.cost).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        let least = all.get(frames_max).copied().unwrap_or(0.0);
        let mut frames = Vec::new();
        let mut open: Vec<(usize, Callee<'_>)> = Vec::new();
        push_callees(&mut open, 0, callees.get(&None));
        while let Some((depth, one)) = open.pop() {
            // A callee never costs more than its caller, so the caller of each remaining frame
            // remains too.
            if one.cost <= least {
                continue;
            }
            frames.push(PrunedFrame {
                depth,
                name: one.name.to_owned(),
                cost: one.cost,
            });
            if one.node.is_some() {
                push_callees(&mut open, depth + 1, callees.get(&one.node));
            }
        }
        frames
    }
}

#[derive(Clone, Copy)]
struct Callee<'a> {
    name: &'a str,
    /// Node of the callee. `None` for [`REST`].
    node: Option<u32>,
    cost: f64,
}

/// Puts callees on the stack of open frames, so that the first by name is on top, and [`REST`] is
/// at the bottom.
fn push_callees<'a>(
    open: &mut Vec<(usize, Callee<'a>)>,
    depth: usize,
    callees: Option<&Vec<Callee<'a>>>,
) {
    let mut sorted = callees.cloned().unwrap_or_default();
    sorted.sort_by(|one, other| {
        (other.node.is_none(), other.name).cmp(&(one.node.is_none(), one.name))
    });
    open.extend(sorted.into_iter().map(|one| (depth, one)));
}
