//! CPU profiles: the call tree of a profile, and the frames in which two variants differ.
//!
//! A profiler counts stacks. The cost of a stack is its number of samples times the CPU time
//! between two samples. All costs are divided by the number of operations, because two variants do
//! different amounts of work per second. So a cost is CPU time per operation.
//!
//! The samples of one profile are not independent: they depend on the same compilations, the same
//! garbage collections and the same other load of the machine. A test over samples would call equal
//! variants different. So [`differences`] uses one cost per trial, and pairs of trials of the same
//! block.

mod call_tree;
mod difference;
mod origin;

pub use call_tree::{CallTree, Names, PrunedFrame, REST};
pub use difference::{
    BLOCKS_MIN, FrameDifference, MARGIN, TrialProfile, differences, paired_difference,
};
pub use origin::FrameOrigin;

#[cfg(test)]
mod tests;
