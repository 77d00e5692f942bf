//! Groups of rows. The groups may have different sizes. They model partitions with different
//! numbers of rows.

/// Groups of rows, whose sizes repeat after the last group. Every row belongs to a group, and has a
/// position in that group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// End of each group, as a number of rows from the start of the first group.
    ends: Vec<u64>,
}

impl Groups {
    /// Creates groups of these sizes. Returns `None` if the list is empty, if a size is 0, or if
    /// the total is too large.
    pub(super) fn new(sizes: &[u64]) -> Option<Groups> {
        let mut end = 0u64;
        let mut ends = Vec::with_capacity(sizes.len());
        for size in sizes {
            end = end.checked_add(*size).filter(|_| *size > 0)?;
            ends.push(end);
        }
        (!ends.is_empty()).then_some(Groups { ends })
    }

    fn rows(&self) -> u64 {
        self.ends.last().copied().unwrap_or(1)
    }

    /// Returns the number of a row's group, and the position of the row in the group, both counted
    /// from 0.
    pub(super) fn position(&self, row: u64) -> (u64, u64) {
        let (round, within) = (row / self.rows(), row % self.rows());
        let group = self.ends.partition_point(|end| *end <= within);
        let begin = if group == 0 { 0 } else { self.ends[group - 1] };
        let groups = round.wrapping_mul(self.ends.len() as u64);
        (groups.wrapping_add(group as u64), within - begin)
    }

    /// Returns the largest position of a row in any group, counted from 0.
    pub(super) fn place_max(&self) -> u64 {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        let sizes = self.ends.iter().zip(begins).map(|(end, begin)| end - begin);
        sizes.max().unwrap_or(1) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_group_and_a_place_of_its_own() {
        let groups = Groups::new(&[1, 3, 2]).expect("sizes");
        let all: Vec<_> = (0..8).map(|row| groups.position(row)).collect();
        let expected = [
            (0, 0),
            (1, 0),
            (1, 1),
            (1, 2),
            (2, 0),
            (2, 1),
            (3, 0),
            (4, 0),
        ];
        assert_eq!(all, expected);
        assert_eq!(groups.place_max(), 2);
    }

    #[test]
    fn sizes_that_make_no_groups_are_refused() {
        assert_eq!(Groups::new(&[]), None);
        assert_eq!(Groups::new(&[3, 0]), None);
        assert_eq!(Groups::new(&[u64::MAX, 1]), None);
    }
}
