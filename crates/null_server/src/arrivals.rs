//! Arrival times of requests. They show how late a client is at a fixed rate. The server measures
//! them, so they are independent of the client's own figures.

/// Requests that a server received with one system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time at which the requests were received, in ns of the monotonic clock.
    pub at_ns: u64,
    /// Number of EXECUTE requests that were received.
    pub executes: u64,
}

/// Returns the lag of each request behind an even spacing of `per_s` requests per second. The lags
/// are in ns, in ascending order. The true start of the spacing is unknown. The function assumes
/// that the request that is earliest relative to the spacing has no lag. So the result is a lower
/// bound of the lag.
pub fn lags_ns(arrivals: &[Arrival], per_s: u64) -> Vec<u64> {
    let gap_ns = 1e9 / per_s.max(1) as f64;
    let mut behind_ns = Vec::new();
    for arrival in arrivals {
        for _ in 0..arrival.executes {
            let line_ns = (behind_ns.len() as f64 * gap_ns) as i64;
            behind_ns.push(arrival.at_ns as i64 - line_ns);
        }
    }
    behind_ns.sort_unstable();
    let first_ns = behind_ns.first().copied().unwrap_or(0);
    behind_ns.iter().map(|ns| (ns - first_ns) as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(all: &[(u64, u64)]) -> Vec<Arrival> {
        let one = |(at_ns, executes): &(u64, u64)| Arrival {
            at_ns: *at_ns,
            executes: *executes,
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn timely_bytes_have_no_lag_and_a_burst_has_that_of_its_oldest() {
        let even: Vec<(u64, u64)> = (0..5).map(|n| (7_000 + n * 1_000_000, 1)).collect();
        assert_eq!(lags_ns(&arrivals(&even), 1000), [0; 5]);
        // Each millisecond has four requests, all of which arrive at its end.
        let burst = arrivals(&[(1_000_000, 4), (2_000_000, 4)]);
        let expected = [0, 0, 250_000, 250_000, 500_000, 500_000, 750_000, 750_000];
        assert_eq!(lags_ns(&burst, 4000), expected);
        assert!(lags_ns(&[], 10).is_empty());
    }
}
