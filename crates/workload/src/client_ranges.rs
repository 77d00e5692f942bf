//! Divides a range of operations between several clients, as other load tools do with several
//! client machines.
//!
//! Each operation of the range is executed once, by one of the clients. Of W workers, worker w
//! executes the operations w, w + W, w + 2W, and so on. The workers of a client have consecutive
//! numbers. Together, their operations process the share of this client in order.

/// The share of a range that each client processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRanges {
    count: u64,
    /// Number of workers of all clients.
    workers: u64,
    /// Shares of the clients that have workers.
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Number of workers of all preceding clients.
    before: u64,
    /// Number of workers of this client.
    own: u64,
    /// First operation of the share of this client.
    first: u64,
}

impl ClientRanges {
    /// Divides a range of `count` operations between clients with these numbers of workers. The
    /// shares are consecutive. The size of each share is the number of operations that the client's
    /// workers execute.
    pub fn new(count: u64, workers: &[u64]) -> ClientRanges {
        let all = workers.iter().sum::<u64>().max(1);
        let (mut before, mut first) = (0, 0);
        let mut parts = Vec::new();
        for &own in workers.iter().filter(|own| **own > 0) {
            parts.push(Part { before, own, first });
            first += count / all * own + (count % all).saturating_sub(before).min(own);
            before += own;
        }
        ClientRanges {
            count: count.max(1),
            workers: all,
            parts,
        }
    }

    /// Returns the position of operation `n` in the range. If `n` is beyond the end of the range,
    /// the positions start again at the first position.
    #[inline]
    pub fn place(&self, n: u64) -> u64 {
        let n = n % self.count;
        let worker = n % self.workers;
        let client = self.parts.partition_point(|part| part.before + part.own <= worker);
        match self.parts.get(client) {
            Some(part) => part.first + n / self.workers * part.own + (worker - part.before),
            None => n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places(count: u64, workers: &[u64]) -> Vec<u64> {
        let ranges = ClientRanges::new(count, workers);
        (0..count).map(|n| ranges.place(n)).collect()
    }

    #[test]
    fn the_workers_of_a_client_walk_through_its_part() {
        assert_eq!(places(4, &[1, 1]), [0, 2, 1, 3]);
        assert_eq!(places(5, &[1, 1]), [0, 3, 1, 4, 2]);
        // The first client has two workers and 6 operations. The second client has one worker and 3
        // operations, which begin at position 6.
        assert_eq!(places(9, &[2, 1]), [0, 1, 6, 2, 3, 7, 4, 5, 8]);
        assert_eq!(places(3, &[3]), [0, 1, 2]);
        assert_eq!(places(3, &[]), [0, 1, 2]);
        let ranges = ClientRanges::new(4, &[1, 1]);
        assert_eq!(
            (4..8).map(|n| ranges.place(n)).collect::<Vec<_>>(),
            [0, 2, 1, 3]
        );
    }

    proptest! {
        #[test]
        fn each_operation_runs_once_and_each_part_from_start_to_end(
            count in 1u64..400,
            workers in prop::collection::vec(0u64..6, 0..6),
        ) {
            let all = workers.iter().sum::<u64>().max(1);
            let places = places(count, &workers);
            let mut sorted = places.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..count).collect::<Vec<_>>());
            let (mut before, mut end) = (0, 0);
            for own in workers {
                let is_own = |n: &u64| (before..before + own).contains(&(n % all));
                let walked: Vec<u64> =
                    (0..count).filter(is_own).map(|n| places[n as usize]).collect();
                let part: Vec<u64> = (end..end + walked.len() as u64).collect();
                prop_assert_eq!(&walked, &part);
                (before, end) = (before + own, end + part.len() as u64);
            }
        }
    }
}
