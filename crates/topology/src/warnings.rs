//! The invariable parts of the warnings of a plan. A program that rephrases a warning recognizes it
//! by them.

/// Start of the warning that the machine has no free CPU.
pub const EVERY_CPU: &str = "every CPU is assigned";

/// End of the warning that there are not enough whole cores. The number of shared cores precedes
/// it.
pub const SHARED_CORES: &str = "cores are shared by several instances";

/// Start of the warning that a part of an instance is on several NUMA nodes.
pub const SPLIT_PART: &str = "no node had space for a part of instances";

/// End of the warning that memory is on NUMA nodes without CPUs of the instance.
pub const MEMORY_AWAY: &str = "have memory on nodes on which they have no CPUs";
