//! Series with known properties for the tests: noise with a fixed seed and optional
//! autocorrelation, and servers that pause at random.

#[expect(
    dead_code,
    reason = "the tests use only a part of this file of the crate workload"
)]
#[path = "../../workload/src/random.rs"]
mod random;

use crate::Blocks;
use measure::Histogram;
use random::Draws;

/// Generator of random numbers that are the same on every machine.
pub(crate) struct Chance(Draws);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(Draws::sequence(seed))
    }

    /// Returns a uniform value in (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    /// Returns a standard normal value (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns a stationary AR(1) series with mean 0, variance 1 and lag-1 correlation `phi`.
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

/// A server that pauses. The times between pauses and the lengths of pauses have exponential
/// distributions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    /// Mean time from the end of one pause to the start of the next pause, in seconds.
    pub every_s: f64,
    /// Mean length of a pause, in seconds.
    pub long_s: f64,
}

/// Number of seconds for which the server runs before the window.
const BEFORE_S: f64 = 30.0;

impl Pauses {
    pub(crate) fn share(self) -> f64 {
        self.long_s / (self.every_s + self.long_s)
    }

    fn draw(self, chance: &mut Chance, seconds: usize) -> Vec<(f64, f64)> {
        let mut at_s = -BEFORE_S;
        let mut pauses = Vec::new();
        while at_s < seconds as f64 {
            let begin = at_s - chance.uniform().ln() * self.every_s;
            at_s = begin - chance.uniform().ln() * self.long_s;
            pauses.push((begin, at_s));
        }
        pauses
    }

    /// Returns the throughput of a closed loop for each second. The throughput is 1 in a second
    /// without a pause, plus noise of 3 % with a correlation of 0.3.
    pub(crate) fn throughput(self, chance: &mut Chance, seconds: usize) -> Vec<f64> {
        let pauses = self.draw(chance, seconds);
        let noise = chance.autocorrelated(seconds, 0.3);
        let lost = |second: usize| -> f64 {
            let (from, to) = (second as f64, (second + 1) as f64);
            let within = |(begin, end): &(f64, f64)| (end.min(to) - begin.max(from)).max(0.0);
            pauses.iter().map(within).sum()
        };
        let second = |(second, noise): (usize, f64)| 1.0 + 0.03 * noise - lost(second);
        noise.into_iter().enumerate().map(second).collect()
    }

    /// Calls `see` for each operation of an open loop, with the second in which the operation ended
    /// and with its latency. The latency is exponential with a mean of 1 ms, plus the remainder of
    /// a pause.
    fn each(
        self,
        chance: &mut Chance,
        (seconds, per_s): (usize, usize),
        see: &mut dyn FnMut(usize, u64),
    ) {
        let pauses = self.draw(chance, seconds);
        for number in 0..seconds * per_s {
            let due_s = (number as f64 + 0.5) / per_s as f64;
            let after = pauses.partition_point(|(_, end)| *end <= due_s);
            let waits_s = match pauses.get(after) {
                Some((begin, end)) if *begin <= due_s => end - due_s,
                _ => 0.0,
            };
            let latency_s = waits_s - chance.uniform().ln() * 1e-3;
            see((due_s + latency_s) as usize, (latency_s * 1e9) as u64);
        }
    }

    pub(crate) fn window(self, chance: &mut Chance, seconds: usize, per_s: usize) -> Blocks {
        let mut by_end = vec![Histogram::new(); seconds + 1];
        self.each(chance, (seconds, per_s), &mut |second, ns| {
            by_end[second.min(seconds)].record(ns);
        });
        let mut blocks = Blocks::new();
        by_end[..seconds].iter().for_each(|second| blocks.push(second));
        blocks.push_drain(&by_end[seconds], &Histogram::new());
        blocks
    }

    /// Returns the latencies of several hours in one histogram, as the true distribution.
    pub(crate) fn truth(self, chance: &mut Chance) -> Histogram {
        let mut all = Histogram::new();
        self.each(chance, (20_000, 50), &mut |_, ns| all.record(ns));
        all
    }
}

/// Returns the seed and the number of runs that the command `cargo xtask audit --seed S --runs N`
/// sets.
pub(crate) fn audit() -> (u64, u32) {
    let given = |text: Option<&str>| text?.parse::<u32>().ok();
    // The build fixes these values, because neither this crate nor its tests read files at run
    // time.
    let seed = given(option_env!("CASSAY_AUDIT_SEED")).unwrap_or(1);
    (
        seed.into(),
        given(option_env!("CASSAY_AUDIT_RUNS")).unwrap_or(4000),
    )
}
