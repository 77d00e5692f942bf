//! Indexes of variants and blocks. They have separate types, so that one cannot be passed in place
//! of the other.

/// Index of a variant in its study, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantIndex(pub usize);

/// Index of a block, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockIndex(pub usize);

impl BlockIndex {
    /// Returns the number that people use, which starts at 1.
    pub fn number(self) -> usize {
        self.0 + 1
    }
}
