//! Chance by a seed.

use workload::random::{Draws, mix};

#[derive(Debug)]
pub struct Dice(Draws);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Draws::sequence(mix(seed ^ 0x005e_ed0f_51a1)))
    }

    pub fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number from 0 to `end`, without it.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True so often of a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    pub fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }
}
