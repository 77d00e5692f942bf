//! Describes the curve that was fitted to the points of a sweep.

use crate::result_place::variant_words;
use measure::number::{significant, whole};
use store::record::{CurveRecord, WithoutPeak};

/// Returns a sentence for each curve that could be fitted.
pub fn sentences(curves: &[CurveRecord]) -> Vec<String> {
    curves.iter().filter_map(sentence).collect()
}

fn sentence(curve: &CurveRecord) -> Option<String> {
    let who = variant_words(&curve.variant);
    let serial = significant(curve.sigma? * 100.0, 2);
    let scales = format!(
        "{who} follows the Universal Scalability Law: {serial} % of the work is serial \
         (contention, σ)"
    );
    Some(match (&curve.peak, curve.without_peak) {
        (Some(peak), _) => {
            let least = peak.threads_ci95[0].map_or_else(String::new, whole);
            let between = match peak.threads_ci95[1] {
                Some(most) => format!("{least} to {}", whole(most)),
                None => format!("{least} or more"),
            };
            format!(
                "{scales}. According to its curve, the maximum is {} op/s at {} operations in \
                 flight (95 %: {between}), and more operations in flight reduce throughput.",
                whole(peak.ops_per_s),
                whole(peak.threads)
            )
        }
        (None, Some(WithoutPeak::First)) => format!(
            "{scales}, and according to its curve, throughput falls from the first load. cassay \
             did not measure the load with the highest throughput."
        ),
        (None, Some(WithoutPeak::Beyond)) => format!(
            "{scales}; the peak would be beyond twice the last load, where the curve is unreliable."
        ),
        _ => format!(
            "{scales}; the coherency delay κ does not differ significantly from 0, so the curve \
             predicts no peak."
        ),
    })
}
