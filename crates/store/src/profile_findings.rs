//! Profiles of a run in `findings.json`: the call tree of each variant, and the frames in which two
//! variants differ.

use crate::child_run::folder_in;
use analysis::VariantName;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Unit of the costs in profiles, per operation.
    #[derive(Default)]
    pub enum ProfileUnit {
        /// Microseconds: CPU time, or time for `lock` and `wall`.
        #[default]
        Microseconds = "us",
        /// Allocated bytes.
        Bytes = "bytes",
    }
}

impl ProfileUnit {
    /// Returns the unit in sentences and tables.
    pub fn words(self) -> &'static str {
        match self {
            ProfileUnit::Microseconds => "µs",
            ProfileUnit::Bytes => "bytes",
        }
    }
}

/// Profiles of the variants of a run, at one load. All costs are per operation of the whole
/// cluster, summed over its nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfilesRecord {
    /// Event that the profiler sampled: `cpu`, `ctimer`, `alloc`, `lock` or `wall`.
    pub event: String,
    /// Unit of all costs: `us` or `bytes`.
    pub unit: ProfileUnit,
    /// Load of the profiled trials.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Profile of each variant.
    pub variants: Vec<VariantProfileRecord>,
    /// Differences of each variant from the first variant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<ProfileDifferenceRecord>,
    /// Cost of the profiler for each variant. Empty if no trials without the profiler ran for
    /// comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiler_costs: Vec<ProfilerCostRecord>,
    /// Folder of the run with the profiled trials, relative to the folder of this run. Empty if
    /// they are trials of this run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Reason why the run has no profiles. Empty if it has profiles.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Sentences that state the differences and the cost of the profiler.
    pub says: Vec<String>,
}

/// Name of the folder, within the folder of a run, for the separate run with the profiled trials.
pub const PROFILES_FOLDER: &str = "profile";

impl ProfilesRecord {
    /// Returns the folder of the run with the profiled trials, relative to the folder of this run.
    /// `None` if the profiled trials belong to this run, or if the record, which may come from an
    /// untrusted source, names another folder.
    pub fn run_folder(&self) -> Option<&str> {
        folder_in(PROFILES_FOLDER, &self.run)
    }
}

/// Profile of one variant, over all its profiled trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VariantProfileRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Number of trials.
    pub trials: usize,
    /// Number of operations in these trials.
    pub operations: u64,
    /// Number of samples in these trials, of all nodes.
    pub samples: u64,
    /// Cost of an operation.
    pub cost: f64,
    /// Call tree, with the cost of each frame.
    pub tree: CallTreeRecord,
}

/// A call tree as columns with one entry per frame. A frame is followed by its callees, whose depth
/// is larger by 1. The cost of a frame also includes its own cost, and the cost of callees that are
/// too small to be listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallTreeRecord {
    /// Names of methods, functions and thread pools. The name `…` stands for several small frames.
    pub names: Vec<String>,
    /// Name of each frame, as an index into `names`.
    pub name: Vec<u32>,
    /// Depth of each frame. Thread pools have depth 0.
    pub depth: Vec<u16>,
    /// Cost of each frame with its callees, per operation.
    pub cost: Vec<f64>,
}

/// Frames in which two variants differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileDifferenceRecord {
    /// Name of the baseline.
    pub baseline: VariantName,
    /// Name of the contender.
    pub contender: VariantName,
    /// Number of blocks with a profile of both variants.
    pub blocks: usize,
    /// Cost of an operation of the baseline, and of the contender: means over the blocks.
    pub costs: [f64; 2],
    /// Size up to which a difference does not matter, per operation.
    pub margin: f64,
    /// Compared frames. Named frames come first: first the frames that no callee explains, then
    /// their callers.
    pub frames: Vec<FrameDifferenceRecord>,
}

/// Difference of one frame between two variants. Costs are per operation, and include callees.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameDifferenceRecord {
    /// Name of the method, function or thread pool.
    pub frame: String,
    /// True for a thread pool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_pool: bool,
    /// Cost in the baseline.
    pub baseline: f64,
    /// Cost in the contender.
    pub contender: f64,
    /// Difference, contender − baseline.
    pub difference: f64,
    /// Difference without callees.
    pub own: f64,
    /// 95 % confidence interval of the difference, without adjustment for other frames. `null` with
    /// one block.
    pub ci95: Option<[f64; 2]>,
    /// Probability of a difference at least as far beyond the margin, if the true difference is
    /// within the margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The probability `p`, adjusted for the number of frames. The verdict uses this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// True if the cost of the frame differs significantly. Never true with fewer than four blocks.
    pub named: bool,
    /// For a named frame, the named callee whose difference explains the frame's difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained_by: Option<String>,
}

/// Cost of the profiler, from a comparison of trials with the profiler and trials without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfilerCostRecord {
    /// Name of the variant.
    pub variant: VariantName,
    /// Metric of the comparison: `ops_per_s` or `latency_ms.p99`.
    pub metric: String,
    /// Result with the profiler ÷ result without the profiler.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio. `null` with one block.
    pub ci95: Option<[f64; 2]>,
    /// Number of blocks.
    pub blocks: usize,
}

/// Returns the name of a frame without its package: `Class.method` for a Java method.
pub fn frame_label(frame: &str) -> String {
    let is_java = frame.contains('.') && !frame.contains("::") && !frame.contains('(');
    match frame.rsplit_once('/') {
        Some((_, name)) if is_java => name.to_owned(),
        _ => frame.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_of_a_method_has_no_package() {
        assert_eq!(frame_label("org/apache/cassandra/db/A.b"), "A.b");
        assert_eq!(frame_label("os::javaTimeNanos()"), "os::javaTimeNanos()");
        assert_eq!(frame_label("/usr/lib/libz"), "/usr/lib/libz");
    }

    #[test]
    fn the_folder_of_the_profiles_is_inside_their_run() {
        let of = |run: &str| {
            let record = ProfilesRecord {
                run: run.to_owned(),
                ..ProfilesRecord::default()
            };
            record.run_folder().map(str::to_owned)
        };
        assert_eq!(of("profile/s/1").as_deref(), Some("profile/s/1"));
        for outside in ["", "other/1", "/profile/s", "profile/../../x", "../profile"] {
            assert_eq!(of(outside), None, "{outside}");
        }
    }
}
