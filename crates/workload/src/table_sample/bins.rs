//! Summarizes a distribution of sizes by a few numbers. The numbers have exactly the same mean, and
//! approximately the same shape.

/// Number of sizes that represent all sizes. Each of these sizes is equally likely.
pub(super) const BINS: usize = 24;

/// Divides weighted sizes into bins of equal weight, and returns the mean of each bin in ascending
/// order. Since all bins are equally probable, the average of these means is the overall mean.
/// Returns a single mean if all sizes are equal, and an empty list if `sizes` is empty.
pub(super) fn bins(sizes: &[(f64, f64)], count: usize) -> Vec<f64> {
    let mut sorted: Vec<(f64, f64)> = sizes.iter().copied().filter(|(_, w)| *w > 0.0).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    if first.0 == last.0 {
        return vec![first.0];
    }
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let share = total / count as f64;
    let mut means = Vec::with_capacity(count);
    let (mut sum, mut room) = (0.0, share);
    for (size, weight) in sorted {
        let mut left = weight;
        while left > room && means.len() + 1 < count {
            means.push((sum + size * room) / share);
            left -= room;
            (sum, room) = (0.0, share);
        }
        sum += size * left;
        room -= left;
    }
    let rest = share - room;
    if means.len() < count && rest > 0.0 {
        means.push(sum / rest);
    }
    means
}

/// Returns whole numbers whose mean is as close as possible to the mean of the bins. The function
/// adds the rounding error of each number to the next number.
pub(super) fn whole(means: &[f64], least: u64) -> Vec<u64> {
    let mut carried = 0.0;
    means
        .iter()
        .map(|mean| {
            let wanted = mean + carried;
            let rounded = wanted.round().max(least as f64);
            carried = wanted - rounded;
            rounded as u64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_the_mean_of_all_sizes() {
        let sizes: Vec<(f64, f64)> =
            (0..1000_u64).map(|n| ((n * n % 977) as f64, 1.0 + (n % 3) as f64)).collect();
        let weight: f64 = sizes.iter().map(|(_, w)| w).sum();
        let mean = sizes.iter().map(|(size, w)| size * w).sum::<f64>() / weight;
        let bins = bins(&sizes, BINS);
        assert_eq!(bins.len(), BINS);
        let of_bins = bins.iter().sum::<f64>() / BINS as f64;
        assert!((of_bins / mean - 1.0).abs() < 1e-9, "{of_bins} {mean}");
        assert!(bins.is_sorted());
        let whole = whole(&bins, 0);
        let of_whole = whole.iter().sum::<u64>() as f64 / BINS as f64;
        assert!((of_whole - mean).abs() < 0.1, "{of_whole} {mean}");
    }

    #[test]
    fn one_size_needs_one_bin_and_none_none() {
        assert_eq!(bins(&[(5.0, 1.0), (5.0, 2.0)], 10), [5.0]);
        assert!(bins(&[], 10).is_empty());
    }
}
