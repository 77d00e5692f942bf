//! What is known before anything is reckoned: the highest point, clients that were measured, links,
//! and what the load comes to on machines like those that offer it.

use analysis::procedure::Point;
use serde::Serialize;
use study::payload::Payload;

/// What payload may take of a link's rate: headers of Ethernet, IP and TCP take 6 % of full
/// packets, and queues grow before a link is full.
pub const LINK_SHARE_MAX: f64 = 0.8;

/// A machine that is no other.
pub const HERE: &str = "here";

/// What a client reaches by itself on a null target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredClient {
    /// Where it ran: `here`, or as `ssh` knows the machine.
    pub place: String,
    /// Its workers.
    pub workers: usize,
    /// What it reached, op/s: the lowest of what was measured around its run's last trial.
    pub ceiling_ops_per_s: f64,
    /// The run that has measured it.
    pub run: String,
}

impl MeasuredClient {
    /// What each of its workers did, op/s.
    pub fn of_a_worker(&self) -> f64 {
        self.ceiling_ops_per_s / self.workers.max(1) as f64
    }
}

/// What a point comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Operations that are asked for, or ended well, per second.
    pub ops_per_s: f64,
    /// The run that has shown it, and where; none: a rate is what is asked for.
    pub shown: Option<(String, Point)>,
}

/// A link of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// In each direction.
    pub bits_per_s: u64,
    /// How that is known.
    pub by: LinkBy,
}

/// How a rate is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkBy {
    /// The kernel says so of this machine's link of that name.
    Kernel(String),
    /// The agent of a client on that machine has said so in a run.
    Run(String),
    /// It is assumed of that machine.
    Assumed(String),
}

impl Link {
    /// Whether its rate is assumed.
    pub fn is_assumed(&self) -> bool {
        matches!(self.by, LinkBy::Assumed(_))
    }
}

/// What is known of a variant's highest point and of those who offer it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The highest.
    pub point: Point,
    /// What it comes to; none: not known.
    pub reached: Option<Reached>,
    /// The clients of its machines that were measured, or, if none of them was, others.
    pub measured: Vec<MeasuredClient>,
    /// What an operation takes on the wire.
    pub payload: Payload,
    /// Workers of each machine that offers the load; none: as many as its client takes.
    pub workers: Vec<Option<usize>>,
    /// The slowest link of them; none where the target is on this machine.
    pub link: Option<Link>,
    /// Whether nodes are reached from this machine alone.
    pub only_here: bool,
    /// Whether the study names machines.
    pub names_machines: bool,
    /// Whether each of them has a range of its own.
    pub splits_range: bool,
}

/// What the load comes to on machines like those that offer it.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Workers of a machine, of all on average.
    pub workers_each: f64,
    /// Whether all have as many.
    pub are_alike: bool,
    /// Machines, so that no ceiling is used too far; none: not known.
    pub by_ceiling: Option<usize>,
    /// Machines, so that no link is used too far; none: not known, or no link is used.
    pub by_link: Option<usize>,
    /// What all clients send or receive, whichever is more, bit/s; none: not known.
    pub bits_per_s: Option<f64>,
}

impl Shape {
    /// Of what is known; V3 wants at most `share_max` of a ceiling.
    pub fn of(facts: &Facts, ceiling: Option<&MeasuredClient>, share_max: f64) -> Shape {
        // Who is not told otherwise has as many as the one that was measured.
        let usual = ceiling.map_or(1, |one| one.workers).max(1);
        let workers: Vec<f64> =
            facts.workers.iter().map(|one| one.unwrap_or(usual) as f64).collect();
        let each = workers.iter().sum::<f64>() / workers.len().max(1) as f64;
        let most = workers.iter().copied().fold(each, f64::max);
        let ops_per_s = facts.reached.as_ref().map(|reached| reached.ops_per_s);
        let payload = facts.payload;
        let bytes = payload.request_bytes.max(payload.answer_bytes);
        let bits_per_s = ops_per_s.map(|ops_per_s| ops_per_s * bytes * 8.0);
        let whole = |machines: f64| (machines.ceil() as usize).max(1);
        let by_ceiling = ceiling.zip(ops_per_s).map(|(one, ops_per_s)| {
            // Each worker has an equal share of the load.
            whole(ops_per_s / (one.of_a_worker() * each * share_max).max(1.0))
        });
        let by_link = facts.link.as_ref().zip(bits_per_s).map(|(link, bits_per_s)| {
            // The machine with most workers sends most.
            whole(bits_per_s * most / each / (link.bits_per_s as f64 * LINK_SHARE_MAX))
        });
        Shape {
            workers_each: each,
            are_alike: workers.iter().all(|one| *one == each),
            by_ceiling,
            by_link,
            bits_per_s,
        }
    }

    /// As many as both want; without a ceiling at least as many.
    pub fn machines(&self) -> Option<usize> {
        self.by_ceiling.max(self.by_link)
    }
}
