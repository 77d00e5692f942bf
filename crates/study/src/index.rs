//! Indexes of variants and blocks. They have separate types, so that the compiler rejects a block's
//! index in place of a variant's index.

/// Index of a variant in its study, starting at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariantIndex(pub usize);

/// Index of a block, starting at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockIndex(pub usize);

impl BlockIndex {
    /// Returns the number that people use for the block, starting at 1.
    pub fn number(self) -> usize {
        self.0 + 1
    }
}
