//! Facts for the estimate of client machines: the highest point, measured clients, and links.
//! Computes the load that the point puts on the machines.

use analysis::procedure::Point;
use serde::Serialize;
use study::payload::Payload;

/// Maximum share of a link's rate for payload. Headers of Ethernet, IP and TCP take 6 % of full
/// packets, and queues grow before a link is full.
pub const LINK_SHARE_MAX: f64 = 0.8;

/// Place of the machine on which cassay itself runs.
pub const HERE: &str = "here";

/// Client whose ceiling on a null target was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredClient {
    /// Place of the client: `here`, or the name of its machine for `ssh`.
    pub place: String,
    /// Number of workers of the client.
    pub workers: usize,
    /// Ceiling of the client in op/s: the lowest value measured around the last trial of the run.
    pub ceiling_ops_per_s: f64,
    /// Stamp of the run that measured the ceiling.
    pub run: String,
}

impl MeasuredClient {
    /// Returns the ceiling of one worker, in op/s.
    pub fn per_worker(&self) -> f64 {
        self.ceiling_ops_per_s / self.workers.max(1) as f64
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PointThroughput {
    /// Operations per second: the requested rate if the study sets it, otherwise the successful
    /// operations of an earlier run.
    pub ops_per_s: f64,
    /// Run and point at which this throughput was measured. `None` if the study itself sets the
    /// rate.
    pub shown: Option<(String, Point)>,
}

/// Network link of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate in each direction, in bit/s.
    pub bits_per_s: u64,
    /// Source of the rate.
    pub by: LinkBy,
}

/// Source of a link's rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkBy {
    /// The kernel of this machine, for the link with this name.
    Kernel(String),
    /// The agent of a client on the machine with this name, in an earlier run.
    Run(String),
    /// An assumption about the machine with this name.
    Assumed(String),
}

impl Link {
    /// Returns true if the rate is assumed.
    pub fn is_assumed(&self) -> bool {
        matches!(self.by, LinkBy::Assumed(_))
    }
}

/// Facts about a variant's highest point, and about the machines that offer the load of this point.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Highest point of the variant.
    pub point: Point,
    /// Throughput at the highest point. `None` if unknown.
    pub reached: Option<PointThroughput>,
    /// Measured clients on the variant's machines. If none of these clients was measured, measured
    /// clients on other machines.
    pub measured: Vec<MeasuredClient>,
    /// Number of bytes that an operation sends and receives on the wire.
    pub payload: Payload,
    /// Workers of each machine that offers the load. `None` if the study leaves the number to the
    /// client.
    pub workers: Vec<Option<usize>>,
    /// Slowest link of the machines that offer the load. `None` if the target is on this machine.
    pub link: Option<Link>,
    /// True if the nodes can be reached only from this machine.
    pub only_here: bool,
    /// True if the study names client machines.
    pub names_machines: bool,
    /// True if each machine has a separate key range.
    pub splits_range: bool,
}

/// Load of the highest point, and the number of machines that this load needs.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Average number of workers per machine.
    pub workers_each: f64,
    /// True if all machines have the same number of workers.
    pub are_alike: bool,
    /// Number of machines with which every client stays within the allowed share of its ceiling.
    /// `None` if unknown.
    pub by_ceiling: Option<usize>,
    /// Number of machines with which every link stays within its limit. `None` if unknown, or if no
    /// link is used.
    pub by_link: Option<usize>,
    /// Traffic of all clients together, in bit/s, in the direction with more traffic. `None` if
    /// unknown.
    pub bits_per_s: Option<f64>,
}

impl Shape {
    /// Computes the load from the facts. Rule V3 allows a client to use at most the share
    /// `share_max` of its ceiling.
    pub fn from_facts(facts: &Facts, ceiling: Option<&MeasuredClient>, share_max: f64) -> Shape {
        // If the number of workers of a machine is unknown, this code assumes that the machine has
        // as many workers as the measured client.
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
            // The load is divided equally among all workers.
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

    /// Returns the number of machines that satisfies both limits. The number is a lower bound if no
    /// ceiling is known, and `None` if neither limit is known.
    pub fn machines(&self) -> Option<usize> {
        self.by_ceiling.max(self.by_link)
    }
}
