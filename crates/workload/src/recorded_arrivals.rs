//! Due times of the operations of a recording. A recorded rate cannot be described by a formula.

/// Due times of operations. After the last operation, the times repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalTimes {
    /// Due time of each operation, in ns since the first operation. The times are in ascending
    /// order.
    due_ns: Vec<u64>,
    /// Time after which the first operation is due again, in ns. It is at least the last due time.
    period_ns: u64,
}

impl ArrivalTimes {
    /// Creates arrival times from a list of at least one due time. The times repeat after
    /// `period_ns`.
    pub fn new(mut due_ns: Vec<u64>, period_ns: u64) -> ArrivalTimes {
        due_ns.sort_unstable();
        if due_ns.is_empty() {
            due_ns.push(0);
        }
        let last_ns = due_ns[due_ns.len() - 1];
        ArrivalTimes {
            due_ns,
            period_ns: period_ns.max(last_ns).max(1),
        }
    }

    /// Returns the due times of one round, in ns since the first due time.
    pub fn due_ns(&self) -> &[u64] {
        &self.due_ns
    }

    /// Returns the length of a round, in ns.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Returns the mean number of operations per second over a round.
    pub fn ops_per_s(&self) -> f64 {
        self.due_ns.len() as f64 * 1e9 / self.period_ns as f64
    }

    /// Returns the due time of operation `n`, counted over all rounds, in ns since the first
    /// operation of the first round.
    #[inline]
    pub fn at_ns(&self, n: u64) -> u64 {
        let count = self.due_ns.len() as u64;
        (n / count)
            .saturating_mul(self.period_ns)
            .saturating_add(self.due_ns[(n % count) as usize])
    }

    /// Returns the number of operations that are due before the time `ns`, in ns since the first
    /// operation.
    pub fn count_before(&self, ns: u64) -> u64 {
        let rounds = ns / self.period_ns;
        let within = self.due_ns.partition_point(|due| *due < ns % self.period_ns) as u64;
        rounds * self.due_ns.len() as u64 + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_before_a_time_are_counted_over_all_rounds() {
        let course = ArrivalTimes::new(vec![0, 5, 5, 9], 10);
        let at: Vec<u64> = (0..9).map(|n| course.at_ns(n)).collect();
        assert_eq!(at, [0, 5, 5, 9, 10, 15, 15, 19, 20]);
        for ns in 0..40 {
            let counted = (0..20).filter(|n| course.at_ns(*n) < ns).count() as u64;
            assert_eq!(course.count_before(ns), counted, "{ns}");
        }
        assert_eq!(course.ops_per_s(), 4e8);
        assert_eq!(ArrivalTimes::new(Vec::new(), 0).count_before(1), 1);
    }
}
