//! Facts for the estimate of client machines: the highest point, measured clients, links, and the
//! resulting load on machines like those that offer it.

use analysis::procedure::Point;
use serde::Serialize;
use study::payload::Payload;

/// Maximum share of a link's rate for payload. Headers of Ethernet, IP and TCP take 6 % of full
/// packets, and queues grow before a link is full.
pub const LINK_SHARE_MAX: f64 = 0.8;

/// Place of the machine on which cassay itself runs.
pub const HERE: &str = "here";

/// Ceiling of a client on a null target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredClient {
    /// Place of the client: `here`, or the machine's name for `ssh`.
    pub place: String,
    /// Number of its workers.
    pub workers: usize,
    /// Ceiling, op/s: the lowest value measured around the last trial of its run.
    pub ceiling_ops_per_s: f64,
    /// Stamp of the run that measured it.
    pub run: String,
}

impl MeasuredClient {
    /// Returns the ceiling of each worker, op/s.
    pub fn per_worker(&self) -> f64 {
        self.ceiling_ops_per_s / self.workers.max(1) as f64
    }
}

/// Throughput at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointThroughput {
    /// Operations per second: the requested or the successful operations.
    pub ops_per_s: f64,
    /// Run and point at which this was measured. `None` for a rate, which the study gives.
    pub shown: Option<(String, Point)>,
}

/// Network link of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate in each direction, bit/s.
    pub bits_per_s: u64,
    /// Source of the rate.
    pub by: LinkBy,
}

/// Source of a link's rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkBy {
    /// The kernel of this machine, for the link with this name.
    Kernel(String),
    /// The agent of a client on that machine, in an earlier run.
    Run(String),
    /// An assumption about that machine.
    Assumed(String),
}

impl Link {
    /// Returns true if the rate is assumed.
    pub fn is_assumed(&self) -> bool {
        matches!(self.by, LinkBy::Assumed(_))
    }
}

/// Facts about a variant's highest point, and about the machines that offer it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Highest point of the variant.
    pub point: Point,
    /// Throughput at that point. `None` if unknown.
    pub reached: Option<PointThroughput>,
    /// Measured clients on its machines. If none of those was measured, measured clients on other
    /// machines.
    pub measured: Vec<MeasuredClient>,
    /// Number of bytes of an operation on the wire.
    pub payload: Payload,
    /// Workers of each machine that offers the load. `None` if the study leaves the number to the
    /// client.
    pub workers: Vec<Option<usize>>,
    /// Slowest link of these machines. `None` if the target is on this machine.
    pub link: Option<Link>,
    /// True if the nodes can be reached from this machine alone.
    pub only_here: bool,
    /// True if the study names client machines.
    pub names_machines: bool,
    /// True if each machine has its own key range.
    pub splits_range: bool,
}

/// Load of the point on machines like those that offer it.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Average number of workers of a machine.
    pub workers_each: f64,
    /// True if all machines have the same number of workers.
    pub are_alike: bool,
    /// Number of machines that keeps every ceiling within its limit. `None` if unknown.
    pub by_ceiling: Option<usize>,
    /// Number of machines that keeps every link within its limit. `None` if unknown, or if no link
    /// is used.
    pub by_link: Option<usize>,
    /// Bit/s that all clients together send or receive. It is the higher of the two values. `None`
    /// if unknown.
    pub bits_per_s: Option<f64>,
}

impl Shape {
    /// Computes the load from the facts. V3 allows at most `share_max` of a ceiling.
    pub fn from_facts(facts: &Facts, ceiling: Option<&MeasuredClient>, share_max: f64) -> Shape {
        // A machine without a stated number has as many workers as the measured client.
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
            whole(ops_per_s / (one.per_worker() * each * share_max).max(1.0))
        });
        let by_link = facts.link.as_ref().zip(bits_per_s).map(|(link, bits_per_s)| {
            // The machine with the most workers sends the most data.
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

    /// Returns the number of machines that satisfies both limits. Without a ceiling, it is a lower
    /// bound.
    pub fn machines(&self) -> Option<usize> {
        self.by_ceiling.max(self.by_link)
    }
}
