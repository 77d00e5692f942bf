//! Costs of operations for the target, in `findings.json`. The records describe a trial, a point,
//! or one variant compared with another. Unknown costs are absent.

use analysis::VariantName;
use analysis::procedure::Point;
use measure::number::{bytes, significant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

measure::word_enum! {
    /// A kind of cost. Costs per operation are sums over all nodes of the target.
    #[derive(PartialOrd, Ord)]
    pub enum CostKind {
        /// CPU time of the nodes' processes per operation, ms.
        ServerCpu = "server_cpu_ms_per_op",
        /// Bytes of live SSTables per row, including all copies of the row.
        DiskSpace = "disk_bytes_per_row",
        /// Size of the data in SSTables before compression ÷ size after compression.
        Compression = "compression_ratio",
        /// Bytes flushed and compacted per byte that operations wrote.
        Amplification = "write_amplification",
        /// Share of time in which garbage collections stopped a node, as a mean over the nodes.
        Collections = "collections_share",
        /// Bytes that the nodes received and sent per operation.
        Network = "network_bytes_per_op",
        /// Number of disk reads per operation.
        DiskReads = "disk_reads_per_op",
        /// Number of disk writes per operation.
        DiskWrites = "disk_writes_per_op",
        /// Resident memory of the nodes' processes, bytes.
        Memory = "memory_bytes",
        /// Number of context switches of the nodes' processes per operation.
        ContextSwitches = "context_switches_per_op",
        /// Number of page faults of the nodes' processes per operation.
        PageFaults = "page_faults_per_op",
        /// Number of cycles of the nodes' CPUs per operation.
        Cycles = "cycles_per_op",
        /// Number of instructions of the nodes' CPUs per operation.
        Instructions = "instructions_per_op",
        /// Number of loads per operation that missed the last-level caches.
        CacheMisses = "llc_load_misses_per_op",
        /// Number of loads per operation from the memory of another NUMA node.
        RemoteLoads = "remote_loads_per_op",
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Number,
    Milliseconds,
    Bytes,
    Share,
}

impl CostKind {
    const fn row(self) -> (&'static str, Unit) {
        match self {
            CostKind::ServerCpu => ("server CPU per operation", Unit::Milliseconds),
            CostKind::DiskSpace => ("disk space per row", Unit::Bytes),
            CostKind::Compression => ("compression ratio", Unit::Number),
            CostKind::Amplification => ("write amplification", Unit::Number),
            CostKind::Collections => ("time in collections", Unit::Share),
            CostKind::Network => ("network traffic per operation", Unit::Bytes),
            CostKind::DiskReads => ("disk reads per operation", Unit::Number),
            CostKind::DiskWrites => ("disk writes per operation", Unit::Number),
            CostKind::Memory => ("resident memory", Unit::Bytes),
            CostKind::ContextSwitches => ("context switches per operation", Unit::Number),
            CostKind::PageFaults => ("page faults per operation", Unit::Number),
            CostKind::Cycles => ("CPU cycles per operation", Unit::Number),
            CostKind::Instructions => ("instructions per operation", Unit::Number),
            CostKind::CacheMisses => ("last-level cache misses per operation", Unit::Number),
            CostKind::RemoteLoads => ("loads from remote memory per operation", Unit::Number),
        }
    }

    /// Returns true if the cost is a number of countable things, such as disk reads.
    pub const fn is_count(self) -> bool {
        use CostKind::{
            CacheMisses, ContextSwitches, Cycles, DiskReads, DiskWrites, Instructions, PageFaults,
            RemoteLoads,
        };
        matches!(
            self,
            CacheMisses
                | ContextSwitches
                | Cycles
                | DiskReads
                | DiskWrites
                | Instructions
                | PageFaults
                | RemoteLoads
        )
    }

    /// Returns the name of the cost in texts.
    pub const fn words(self) -> &'static str {
        self.row().0
    }

    /// Formats a value of the cost for texts, with its unit.
    pub fn written(self, value: f64) -> String {
        let digits = significant(value, 3);
        match self.row().1 {
            Unit::Number => digits,
            Unit::Milliseconds => format!("{digits} ms"),
            Unit::Bytes if value >= KIB => bytes(value.round() as u64),
            Unit::Bytes => format!("{digits} B"),
            Unit::Share => format!("{} %", significant(value * 100.0, 3)),
        }
    }
}

/// Size in bytes from which cassay displays the next larger unit.
const KIB: f64 = 1024.0;

/// Costs of a trial, each in the unit of its kind.
pub type Costs = BTreeMap<CostKind, f64>;

/// A cost at a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostRecord {
    /// Kind of the cost.
    pub cost: CostKind,
    /// Arithmetic mean over the blocks in which the cost is known.
    pub mean: f64,
    /// 95 % confidence interval of the mean, from the scatter between the blocks. Absent if the
    /// cost is known in fewer than three blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Number of blocks in which the cost is known.
    pub blocks: usize,
}

/// A cost of a variant, compared with the same cost of another variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostComparisonRecord {
    /// Kind of the cost.
    pub cost: CostKind,
    /// Load at which both variants ran.
    #[serde(default, with = "crate::point")]
    pub point: Option<Point>,
    /// Name of the baseline variant.
    pub baseline: VariantName,
    /// Name of the contender variant.
    pub contender: VariantName,
    /// Ratio contender ÷ baseline, computed from geometric means over the blocks.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio, without adjustment for other comparisons. Absent if
    /// the variants have only one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// Number of pairs of blocks, or the number of blocks of the variant with fewer blocks.
    pub blocks: usize,
    /// True if the cost differs by more than 5 % and the difference is significant. The
    /// significance is adjusted for all costs of the two variants at the point.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
}
