//! Random numbers from a seed.

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

    /// Returns a number from 0 to `end`, exclusive.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns true with the probability `per_mille`, in thousandths.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    pub fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }
}
