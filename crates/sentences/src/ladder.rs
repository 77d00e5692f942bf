//! Describes the result of a sweep: the best point, and the load beyond which more load did not
//! help.

use crate::result_place::{point_words, variant_words};
use analysis::VariantName;
use analysis::procedure::Point;
use analysis::sweep::{Knee, Reading};
use measure::Known;
use measure::number::{significant, whole, wide_ends};
use store::record::PointRecord;

/// Describes the best point of a variant, and the point beyond which the variant did not improve.
/// If the target kept up with a rate, the sentence states this, because the rate is then not a
/// measured throughput. Returns `None` if no trial is usable.
pub fn best(
    variant: &VariantName,
    points: &[&PointRecord],
    sweep: &Reading,
    bound_ms: Option<f64>,
    compared: impl Fn(&PointRecord, &str) -> Option<f64>,
) -> Option<String> {
    let who = variant_words(variant);
    let best = sweep.best_within_bound.or(sweep.best)?;
    let point = points[best];
    let compared_ops = compared(point, "ops_per_s");
    let ops_per_s = compared_ops.unwrap_or(point.ops_per_s);
    let (at, did) = (point_words(point.point), whole(ops_per_s));
    let error = error(point, compared_ops);
    let mut sentence = match (point.point.is_some_and(Point::is_rate), point.saturated) {
        (true, false) => format!("{who} kept up with {at}"),
        (true, true) => format!("{who} did not keep up with {at}, and achieved {did} op/s{error}"),
        (false, _) => format!("{who} achieved {did} op/s{error} at {at}"),
    };
    let p99_ms = point.latency_ms.p99;
    if point.latency_ms.count > 0 || p99_ms.least() > 0.0 {
        let compared_p99 = compared(point, "latency_ms.p99");
        let known = compared_p99.map_or(p99_ms, Known::Exactly);
        let (sign, p99) = (known.sign(), significant(known.least(), 3));
        sentence += &format!(", with a p99 of {sign}{p99} ms");
        // Without this remark, the percentile covers all operations of all blocks.
        if compared_p99.is_some() && point.blocks > 1 {
            sentence += &format!(" (geometric mean of {} blocks)", point.blocks);
        }
    }
    if let Some(bound) = bound_ms {
        sentence += &within_bound(points, sweep, bound);
    }
    // If the study has only one rate and the target did not keep up with it, the sentence already
    // states this.
    let is_said = point.saturated && points.len() == 1;
    let end = if is_said {
        String::new()
    } else {
        end_of_ladder(points, sweep, best)
    };
    Some(sentence + &end + ".")
}

/// States how the rate of recorded traffic relates to the rate at the time of the recording.
pub fn recorded_speed(speed: f64) -> String {
    let speed = if speed == 1.0 {
        "the recorded speed".to_owned()
    } else {
        format!("{speed} times the recorded speed")
    };
    format!("This rate is the average rate of the replay at {speed}.")
}

/// Names the variants that have no usable result, in one sentence.
pub fn unbelieved(variants: &[&VariantName]) -> Option<String> {
    Some(match variants {
        [] => return None,
        [one] if one.is_none() => "No trial has a usable result.".to_owned(),
        [one] => format!("No trial of “{one}” has a usable result."),
        [one, other] => {
            format!("No trial of “{one}” or “{other}” has a usable result.")
        }
        [one, .., last] => format!(
            "No trial of “{one}” to “{last}”, {} variants, has a usable result.",
            variants.len()
        ),
    })
}

/// Returns the error of a throughput and the source of the error, such as ` (± 1.2 %, mean of 3
/// blocks)`.
fn error(point: &PointRecord, compared: Option<f64>) -> String {
    let half = point.ops_per_s_ci95.map(|[low, high]| (high - low) / 2.0);
    let share = half.map(|half| half / point.ops_per_s * 100.0);
    let share = share.filter(|share| share.is_finite() && *share > 0.0);
    let parts: Vec<String> = [
        share.map(
            |share| match wide_ends(point.ops_per_s, point.ops_per_s_ci95, compared) {
                Some([low, high]) => format!("between {} and {}", whole(low), whole(high)),
                None => format!("± {} %", significant(share, 3)),
            },
        ),
        (point.blocks > 1).then(|| {
            let kind = if compared.is_some() {
                "geometric mean"
            } else {
                "mean"
            };
            format!("{kind} of {} blocks", point.blocks)
        }),
        (share.is_some() && point.short_window).then(|| "short window".to_owned()),
        (share.is_some() && point.few_incidents).then(|| "few incidents".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    }
}

/// Describes the loads at which p99 was certainly within a bound.
fn within_bound(points: &[&PointRecord], sweep: &Reading, bound_ms: f64) -> String {
    let inconclusive = sweep.inconclusive_within_bound.map(|at| {
        let (p99_ms, ops) = (points[at].latency_ms.p99, points[at].ops_per_s);
        format!(
            "it is unclear whether {} ({} op/s) did: the p99 there is known only as at least {} ms",
            point_words(points[at].point),
            whole(ops),
            significant(p99_ms.least(), 3)
        )
    });
    match (sweep.best_within_bound, inconclusive) {
        (Some(_), None) => format!(", the highest within {bound_ms} ms"),
        (Some(_), Some(inconclusive)) => {
            format!(", the highest that certainly stayed within {bound_ms} ms; {inconclusive}")
        }
        (None, None) => format!("; no point stayed within {bound_ms} ms"),
        (None, Some(inconclusive)) => {
            format!("; no point certainly stayed within {bound_ms} ms: {inconclusive}")
        }
    }
}

fn end_of_ladder(points: &[&PointRecord], sweep: &Reading, best: usize) -> String {
    let name = |at: usize| point_words(points[at].point);
    if let Some(from) = sweep.saturated_from {
        let most = points[from..].iter().map(|point| point.ops_per_s);
        let most = whole(most.fold(0.0, f64::max));
        return format!(
            "; from {}, it did not keep up, and achieved at most {most} op/s",
            name(from)
        );
    }
    match sweep.knee {
        Knee::At(knee) if knee != best => {
            format!("; beyond {}, more load only increased latency", name(knee))
        }
        Knee::At(_) => String::new(),
        Knee::Growing => {
            "; throughput still grew at the end, so the peak may be at a higher load".to_owned()
        }
        Knee::Inconclusive if sweep.best_is_last && points.len() > 1 => {
            "; the peak may be above the highest offered load".to_owned()
        }
        Knee::Inconclusive if points.len() > 2 => "; these points do not show the knee".to_owned(),
        Knee::Inconclusive => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a user's run, the answer named an average rate without the speed of the replay.
    #[test]
    fn recorded_traffic_names_its_speed() {
        for (speed, words) in [
            (1.0, "at the recorded speed."),
            (0.25, "at 0.25 times the recorded speed."),
        ] {
            assert!(recorded_speed(speed).ends_with(words), "{speed}");
        }
    }
}
