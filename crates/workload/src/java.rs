//! Bit-exact ports of the two generators that cassandra-stress uses for its data. The first is
//! java.util.Random (a 48-bit linear congruence). The second is the xorshift that cassandra-stress
//! seeds from the first.
//!
//! The state of the congruence is stored shifted left by 16, so that the 64-bit product drops the
//! bits above 48 automatically. The port computes two steps from one state at once, which halves
//! the chain of multiplications.

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const ADDEND: u64 = 0xB << 16;
/// Multiplier of two steps together.
const MULTIPLIER_2: u64 = MULTIPLIER.wrapping_mul(MULTIPLIER);
const ADDEND_2: u64 = ADDEND.wrapping_mul(MULTIPLIER).wrapping_add(ADDEND);

/// Upper end of `uniform(1..100B)`, the distribution of identities in cassandra-stress.
const IDENTITY_MAX: f64 = 100_000_000_000.0;

/// Port of java.util.Random. The 48-bit state is stored shifted left by 16.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates a generator with `seed`.
    #[inline]
    pub fn new(seed: u64) -> Random {
        Random {
            state: (seed ^ MULTIPLIER) << 16,
        }
    }

    /// Returns the next two states, and advances to the second of them.
    #[inline]
    fn two_steps(&mut self) -> (u64, u64) {
        let first = self.state.wrapping_mul(MULTIPLIER).wrapping_add(ADDEND);
        let second = self.state.wrapping_mul(MULTIPLIER_2).wrapping_add(ADDEND_2);
        self.state = second;
        (first, second)
    }

    /// Returns the result of Java's `nextLong`. It consists of two signed 32-bit halves, so a
    /// negative lower half reduces the upper half by one.
    #[inline]
    fn long(&mut self) -> u64 {
        let (high, low) = self.two_steps();
        (high & 0xFFFF_FFFF_0000_0000).wrapping_add(((low as i64) >> 32) as u64)
    }

    /// Returns a value of cassandra-stress's `uniform(1..100B)`. The function computes `nextDouble`
    /// and interpolates, with the operations in the same order as in Apache commons-math. It
    /// truncates and clamps the result.
    #[inline]
    pub fn identity(&mut self) -> u64 {
        let (high, low) = self.two_steps();
        let bits = ((high >> 38) << 27) + (low >> 37);
        let u = bits as f64 * (1.0 / 9_007_199_254_740_992.0);
        let value = u * (IDENTITY_MAX + 1.0) + (1.0 - u);
        (value as i64).clamp(1, IDENTITY_MAX as i64) as u64
    }

    /// Skips one value of [`Random::identity`].
    #[inline]
    pub fn skip(&mut self) {
        self.two_steps();
    }
}

/// Port of cassandra-stress's `FasterRandom`. It is a 64-bit xorshift with arithmetic shifts, which
/// is reseeded from java.util.Random on every 32nd value.
#[derive(Clone, Copy, Debug)]
pub struct Faster {
    state: u64,
    until_reseed: u32,
}

impl Faster {
    /// Creates a generator with `seed`.
    #[inline]
    pub fn new(seed: u64) -> Faster {
        Faster {
            state: Random::new(seed).long(),
            until_reseed: 32,
        }
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn long(&mut self) -> u64 {
        self.until_reseed -= 1;
        if self.until_reseed == 0 {
            *self = Faster::new(self.state);
        }
        let mut s = self.state as i64;
        s ^= s >> 12;
        s ^= s << 25;
        s ^= s >> 27;
        self.state = s as u64;
        self.state.wrapping_mul(2_685_821_657_736_338_717)
    }

    /// Fills `out` with little-endian values. Truncates the last value if necessary.
    #[inline]
    pub fn fill(&mut self, out: &mut [u8]) {
        let (words, tail) = out.as_chunks_mut::<8>();
        for word in words {
            *word = self.long().to_le_bytes();
        }
        if !tail.is_empty() {
            let last = self.long().to_le_bytes();
            tail.copy_from_slice(&last[..tail.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_of_seed_1_are_cassandra_stress_s() {
        let mut random = Random::new(1);
        let drawn = [random.identity(), random.identity(), random.identity()];
        assert_eq!(drawn, [73_087_819_071, 41_008_081_150, 20_771_484_131]);
    }

    #[test]
    fn a_skip_leaves_out_exactly_one_identity() {
        let mut random = Random::new(1);
        random.skip();
        assert_eq!(random.identity(), 41_008_081_150);
    }

    #[test]
    fn the_faster_random_of_seed_1_is_cassandra_stress_s() {
        let mut faster = Faster::new(1);
        let drawn = [
            faster.long() as i64,
            faster.long() as i64,
            faster.long() as i64,
        ];
        assert_eq!(
            drawn,
            [
                -4_146_445_186_634_961_508,
                -5_644_524_092_788_810_841,
                -8_780_053_043_296_993_624
            ]
        );
    }

    #[test]
    fn the_faster_random_seeds_itself_anew_on_its_32nd_value() {
        // These are values 31 to 34 of the reference port for seed 1, around the reseeding.
        let mut faster = Faster::new(1);
        let drawn: Vec<i64> = (0..34).map(|_| faster.long() as i64).skip(30).collect();
        assert_eq!(drawn, VALUES_31_TO_34);
    }

    const VALUES_31_TO_34: [i64; 4] = [
        7321497847876274511,
        -2707597717226415229,
        4138543161181408227,
        -1298744581235174812,
    ];
}
