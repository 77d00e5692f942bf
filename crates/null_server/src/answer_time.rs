//! Computes when an answer may be sent, from the latency and the stalls of a null server.
//!
//! The module does not read a clock. It computes with the monotonic time of the event loop in
//! nanoseconds, so tests do not have to wait. An answer is never sent early. The time by which an
//! answer is late depends on the loop (see `event_loop`).

use target_spec::{Drift, Latency, Stall};

/// The periods in which a server stalls. A stall begins at each whole multiple of `every` after the
/// origin, and lasts for `length`. The first stall begins one `every` after the origin, so that a
/// client can connect.
#[derive(Clone, Copy, Debug)]
pub struct Stalls {
    origin_ns: u64,
    every_ns: u64,
    length_ns: u64,
}

impl Stalls {
    /// Returns the stalls of `stall`, counted from `origin_ns`. The caller must have checked that 0
    /// < length < every.
    pub fn new(stall: &Stall, origin_ns: u64) -> Stalls {
        Stalls {
            origin_ns,
            every_ns: stall.every.as_nanos() as u64,
            length_ns: stall.length.as_nanos() as u64,
        }
    }

    /// Returns the first time at or after `at_ns` that is outside of every stall. The result is
    /// monotone in `at_ns`.
    pub fn release_ns(&self, at_ns: u64) -> u64 {
        let since = at_ns.saturating_sub(self.origin_ns);
        let into_period = since % self.every_ns;
        if since < self.every_ns || into_period >= self.length_ns {
            at_ns
        } else {
            at_ns + (self.length_ns - into_period)
        }
    }
}

/// A single server with one queue, which serves requests in the order of arrival. The service of a
/// request begins when the request arrives or when the previous answer is ready, whichever is
/// later. The answer is ready one service time after that. With a load below the capacity, requests
/// wait only in bursts. With a load above the capacity, the waiting time increases continuously.
#[derive(Clone, Copy, Debug)]
pub struct Serving {
    service_ns: f64,
    drift: Option<Drift>,
    free_ns: f64,
    origin_ns: u64,
}

impl Serving {
    /// Returns a server for `capacity_per_s` answers per second. The drift of the capacity begins
    /// at `origin_ns`.
    pub fn new(capacity_per_s: f64, drift: Option<Drift>, origin_ns: u64) -> Serving {
        Serving {
            service_ns: 1e9 / capacity_per_s,
            drift,
            free_ns: 0.0,
            origin_ns,
        }
    }

    /// Returns the time at which the answer to the next request is ready. The request arrived at
    /// `arrival_ns`. The time is stored as a double, which is accurate to the nanosecond for a
    /// hundred days after the origin.
    pub fn ready_ns(&mut self, arrival_ns: u64) -> u64 {
        let since = arrival_ns.saturating_sub(self.origin_ns) as f64;
        let begun_ns = self.free_ns.max(since);
        self.free_ns = begun_ns + self.service_ns / self.share(begun_ns);
        self.origin_ns + self.free_ns as u64
    }

    /// Returns the share of the capacity that is available `since_ns` after the origin.
    fn share(&self, since_ns: f64) -> f64 {
        self.drift.map_or(1.0, |drift| {
            let gone = (since_ns / drift.over.as_nanos() as f64).min(1.0);
            1.0 + (drift.to - 1.0) * gone
        })
    }
}

/// Source of random latencies. The same seed always yields the same sequence.
#[derive(Clone, Debug)]
pub struct Sampler {
    latency: Latency,
    state: u64,
}

impl Sampler {
    pub fn new(latency: Latency, seed: u64) -> Sampler {
        Sampler {
            latency,
            state: seed,
        }
    }

    /// Returns the next latency, in ns.
    pub fn next_ns(&mut self) -> u64 {
        match self.latency {
            Latency::None => 0,
            Latency::Fixed { ns } => ns,
            Latency::Uniform { from_ns, to_ns } => {
                from_ns + (self.next_fraction() * (to_ns - from_ns) as f64) as u64
            }
            // This is the inverse of the distribution function. `1 - u` is never 0, so the
            // logarithm is finite. The largest possible value is about 37 times the mean.
            Latency::Exponential { mean_ns } => {
                (-(1.0 - self.next_fraction()).ln() * mean_ns as f64) as u64
            }
        }
    }

    /// Returns a uniformly distributed number in [0, 1) with 53 random bits (SplitMix64: Steele,
    /// Lea and Flood 2014).
    fn next_fraction(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn stalls() -> Stalls {
        let stall = Stall {
            every: Duration::from_millis(1000),
            length: Duration::from_millis(100),
        };
        Stalls::new(&stall, 5000 * MS)
    }

    #[test]
    fn answers_leave_at_once_outside_a_stall_and_at_its_end_within() {
        for (at_ms, released_ms) in [
            (4000, 4000), // before the origin
            (5000, 5000), // the first period has no stall
            (5099, 5099),
            (5999, 5999),
            (6000, 6100), // the stall begins
            (6099, 6100),
            (6100, 6100), // and ends
            (6500, 6500),
            (15_050, 15_100),
        ] {
            assert_eq!(stalls().release_ns(at_ms * MS), released_ms * MS, "{at_ms}");
        }
    }

    #[test]
    fn releases_keep_the_order_of_arrival() {
        let stalls = stalls();
        let released: Vec<u64> =
            (0..40_000).map(|n| stalls.release_ns(4000 * MS + n * 250_000)).collect();
        assert!(released.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_capacity_serves_one_request_after_the_other() {
        let mut serving = Serving::new(1000.0, None, 5000 * MS);
        // Simultaneous requests wait for each other. A request to an idle server does not wait.
        for (at_us, ready_us) in [
            (0, 1000),
            (0, 2000),
            (100, 3000),
            (2500, 4000),
            (9000, 10_000),
        ] {
            let ns = serving.ready_ns(5000 * MS + at_us * 1000);
            assert_eq!((ns - 5000 * MS).div_ceil(1000), ready_us, "{at_us}");
        }
    }

    /// After ten seconds with a load 1 % above the capacity, a tenth of a second of work remains.
    #[test]
    fn requests_beyond_the_capacity_wait_longer_and_longer() {
        let mut serving = Serving::new(1000.0, None, 0);
        let every_ns = 1e9 / 1010.0;
        let waits = (0..10_100).map(|n| {
            let at_ns = (n as f64 * every_ns) as u64;
            serving.ready_ns(at_ns) - at_ns
        });
        let last_ns = waits.last().unwrap();
        assert!((99 * MS..102 * MS).contains(&last_ns), "{last_ns}");
    }

    #[test]
    fn a_capacity_drifts_evenly_to_its_share_and_stays_there() {
        let drift = Drift {
            to: 0.5,
            over: Duration::from_secs(10),
        };
        let mut serving = Serving::new(1000.0, Some(drift), 5000 * MS);
        for (at_ms, service_us) in [(0, 1000), (5000, 1333), (10_000, 2000), (60_000, 2000)] {
            let at_ns = (5000 + at_ms) * MS;
            let took_us = (serving.ready_ns(at_ns) - at_ns) / 1000;
            assert_eq!(took_us, service_us, "{at_ms}");
        }
    }

    fn mean_min_max(latency: Latency) -> (f64, u64, u64) {
        let mut sampler = Sampler::new(latency, 7);
        let draws: Vec<u64> = (0..200_000).map(|_| sampler.next_ns()).collect();
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        let min = *draws.iter().min().unwrap();
        (mean, min, *draws.iter().max().unwrap())
    }

    #[test]
    fn uniform_latency_fills_its_range_evenly() {
        let (mean, min, max) = mean_min_max(Latency::Uniform {
            from_ns: 1000,
            to_ns: 3000,
        });
        assert!((1990.0..2010.0).contains(&mean), "{mean}");
        assert!((1000..1010).contains(&min) && (2990..3000).contains(&max));
    }

    #[test]
    fn exponential_latency_has_its_mean_and_a_tail() {
        let (mean, min, max) = mean_min_max(Latency::Exponential { mean_ns: 100_000 });
        assert!((99_000.0..101_000.0).contains(&mean), "{mean}");
        assert!(min < 100 && max > 900_000, "{min} {max}");
    }

    #[test]
    fn the_same_seed_draws_the_same_latencies() {
        let latency = Latency::Exponential { mean_ns: 1_000_000 };
        let mut one = Sampler::new(latency, 3);
        let mut other = Sampler::new(latency, 3);
        let mut third = Sampler::new(latency, 4);
        let draws: Vec<u64> = (0..100).map(|_| one.next_ns()).collect();
        assert!(draws.iter().all(|&ns| ns == other.next_ns()));
        assert!(draws.iter().any(|&ns| ns != third.next_ns()));
    }
}
