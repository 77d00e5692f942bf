//! java.util.Random, and the random variates that Commons Math derives from its numbers.

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const MASK: u64 = (1 << 48) - 1;
/// Number of terms of the sequence q in the exponential algorithm. In double precision, further
/// terms equal 1.
const EXPONENTIAL_TERMS: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JavaRandom {
    state: u64,
    /// The second number of the most recent pair of Gaussian numbers, if it has not been returned
    /// yet.
    spare: Option<f64>,
}

impl JavaRandom {
    pub(crate) fn set_seed(&mut self, seed: i64) {
        self.state = (seed as u64 ^ MULTIPLIER) & MASK;
        self.spare = None;
    }

    fn bits(&mut self, count: u32) -> u64 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(11) & MASK;
        self.state >> (48 - count)
    }

    /// Skips the results of `calls` calls of [`JavaRandom::bits`]. The steps are powers of two, so
    /// a large skip is fast.
    pub(super) fn skip(&mut self, mut calls: u64) {
        let (mut multiplier, mut addend) = (MULTIPLIER, 11u64);
        while calls > 0 {
            if calls & 1 == 1 {
                self.state = self.state.wrapping_mul(multiplier).wrapping_add(addend) & MASK;
            }
            addend = addend.wrapping_mul(multiplier.wrapping_add(1));
            multiplier = multiplier.wrapping_mul(multiplier);
            calls >>= 1;
        }
    }

    /// Returns a uniform random number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        let high = self.bits(26) << 27;
        (high + self.bits(27)) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns a Gaussian random number by Marsaglia's polar method, which draws the numbers in
    /// pairs.
    pub(super) fn gaussian(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }

    /// Returns an exponential random number with mean 1, by Ahrens and Dieter's algorithm SA.
    pub(super) fn exponential(&mut self) -> f64 {
        let q = exponential_q();
        let ln2 = std::f64::consts::LN_2;
        let mut a = 0.0;
        let mut u = self.unit();
        while u < 0.5 {
            a += ln2;
            u *= 2.0;
        }
        u += u - 1.0;
        if u <= q[0] {
            return a + u;
        }
        let mut least = self.unit();
        for limit in &q[1..] {
            least = least.min(self.unit());
            if u <= *limit {
                break;
            }
        }
        a + least * q[0]
    }
}

/// Returns the partial sums of ln2^k / k!.
fn exponential_q() -> [f64; EXPONENTIAL_TERMS] {
    let ln2 = std::f64::consts::LN_2;
    let (mut term, mut sum) = (1.0, 0.0);
    std::array::from_fn(|k| {
        term *= ln2 / (k + 1) as f64;
        sum += term;
        sum
    })
}
