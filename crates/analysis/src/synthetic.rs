//! Known series for the tests: noise with a fixed seed, autocorrelated if asked.

/// SplitMix64 (Steele, Lea, Flood 2014): small, good enough for tests, the same everywhere.
pub(crate) struct Chance(pub u64);

impl Chance {
    /// Uniform in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + 1e-17
    }

    /// Standard normal (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A stationary AR(1) series: mean 0, variance 1, lag-1 correlation `phi`.
    pub(crate) fn autocorrelated(&mut self, count: usize, phi: f64) -> Vec<f64> {
        let mut value = self.normal();
        let mut series = Vec::with_capacity(count);
        for _ in 0..count {
            series.push(value);
            value = phi * value + (1.0 - phi * phi).sqrt() * self.normal();
        }
        series
    }
}
