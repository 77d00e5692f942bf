//! Describes the results of trials that last for hours under one load.

use crate::result_place::{point_words, variant_before};
use analysis::VariantName;
use analysis::endurance::{DriftDirection, MarginResult};
use measure::number::{duration, short, whole, without_zeros};
use store::record::{DriftRecord, EnduranceRecord, EnduredRecord, TrialFinding};

/// Describes the results of a variant. The change of throughput and p99 comes first. Then follow
/// the difference between the long window and the shorter windows before it, and the growth.
pub fn sentences(
    variant: &VariantName,
    found: Option<&EnduredRecord>,
    trials: &[TrialFinding],
) -> Vec<String> {
    let who = variant_before(variant);
    let unbelieved = || vec!["No long trial is usable.".to_owned()];
    let said = found
        .and_then(|found| endurance_sentences(found, trials))
        .unwrap_or_else(unbelieved);
    said.into_iter().map(|sentence| format!("{who}{sentence}")).collect()
}

fn endurance_sentences(found: &EnduredRecord, trials: &[TrialFinding]) -> Option<Vec<String>> {
    let long = found.turns.last()?;
    let shown: Vec<&EnduranceRecord> = trials
        .iter()
        .filter(|trial| long.trials.contains(&trial.index))
        .filter_map(|trial| trial.endurance.as_ref())
        .collect();
    // If the variant has several blocks, the sentence describes the block with the largest change.
    let drift = |of: &str| {
        let all = shown.iter().filter_map(|one| one.drift(of));
        all.reduce(|a, b| {
            if b.change.abs() > a.change.abs() {
                b
            } else {
                a
            }
        })
    };
    let rate = drift("ops_per_s")?;
    let length = duration(long.seconds);
    let p99 = drift("latency_ms.p99").map_or(String::new(), |p99| match p99.course {
        DriftDirection::Rising | DriftDirection::Falling => {
            format!(", and p99 {}", went_words(p99))
        }
        DriftDirection::Steady | DriftDirection::Inconclusive => String::new(),
    });
    let did = match (rate.course, found.agreed) {
        (DriftDirection::Rising | DriftDirection::Falling, _) => {
            format!("Throughput {} within {length}{p99}", went_words(rate))
        }
        (_, Some(MarginResult::Outside)) => {
            format!("Throughput was not sustained for {length}{p99}")
        }
        (DriftDirection::Steady, Some(MarginResult::Inside) | None) => {
            format!(
                "Throughput was sustained for {length} ({}){p99}",
                change_words(rate)
            )
        }
        (DriftDirection::Inconclusive, _) | (_, Some(MarginResult::Inconclusive)) => format!(
            "It is unclear whether throughput was sustained for {length} ({}){p99}",
            change_words(rate)
        ),
    };
    let at = format!(
        "{did}: {} op/s at {}.",
        whole(long.ops_per_s),
        point_words(found.point)
    );
    let mut beside: Vec<String> = apart_words(found).into_iter().collect();
    beside.extend(found.mean_ms_change.map(|change| {
        let way = if change < 0.0 { "lower" } else { "higher" };
        format!(
            "mean latency was {} % {way}",
            short(change.abs() * 100.0, 2)
        )
    }));
    let beside = (!beside.is_empty()).then(|| format!("{}.", beside.join("; ")));
    Some(
        [Some(at), beside, Some(format!("{}.", growth_words(&shown)))]
            .into_iter()
            .flatten()
            .collect(),
    )
}

/// Describes the change, such as `fell by 35 % (95 %: 30 to 40 %)`.
fn went_words(drift: &DriftRecord) -> String {
    let way = if drift.change < 0.0 { "fell" } else { "rose" };
    let sign = if drift.change < 0.0 { -1.0 } else { 1.0 };
    let percent = |share: f64| without_zeros(&format!("{:.1}", share * sign * 100.0)).to_owned();
    let ends = drift.ci95.map_or(String::new(), |[low, high]| {
        let (least, most) = if drift.change < 0.0 {
            (high, low)
        } else {
            (low, high)
        };
        format!(" (95 %: {} to {} %)", percent(least), percent(most))
    });
    format!("{way} by {} %{ends}", percent(drift.change))
}

/// Describes the change for use in parentheses, such as `change -0.3 %, 95 %: -0.8 to +0.2 %`.
fn change_words(drift: &DriftRecord) -> String {
    let percent = |share: f64| format!("{:+.1}", share * 100.0);
    let ends = drift.ci95.map_or(String::new(), |[low, high]| {
        format!(", 95 %: {} to {} %", percent(low), percent(high))
    });
    format!("change {} %{ends}", percent(drift.change))
}

/// Describes the difference between the throughput of the long window and those of the shorter
/// windows, with its direction. Also states the ratio of the extremes, on which the agreement is
/// based.
fn apart_words(found: &EnduredRecord) -> Option<String> {
    let (apart, ci95) = (found.apart?, found.apart_ci95?);
    let (long, before) = found.turns.split_last()?;
    let lengths: Vec<String> = before.iter().map(|turn| duration(turn.seconds)).collect();
    let changes: Vec<f64> =
        before.iter().map(|turn| long.ops_per_s / turn.ops_per_s - 1.0).collect();
    let ratio = |share: f64| short(1.0 + share, 4);
    let margin = match found.agreed {
        Some(MarginResult::Inside) => {
            format!(
                ", within the margin of {} %",
                short(found.within * 100.0, 2)
            )
        }
        _ => String::new(),
    };
    Some(format!(
        "Compared with the windows of {} before it, the long window had {} throughput; the highest \
         of these throughputs was {} times the lowest (95 %: {} to {}){margin}",
        lengths.join(" and "),
        changes_words(&changes)?,
        ratio(apart),
        ratio(ci95[0]),
        ratio(ci95[1])
    ))
}

/// Describes changes as shares, such as `17 to 21 % lower` or `0.2 % lower to 3.7 % higher`.
/// Returns `None` for an empty list.
fn changes_words(changes: &[f64]) -> Option<String> {
    let least = changes.iter().copied().reduce(f64::min)?;
    let most = changes.iter().copied().reduce(f64::max)?;
    let percent = |share: f64| short(share.abs() * 100.0, 2);
    let way = |share: f64| if share < 0.0 { "lower" } else { "higher" };
    let (near, far) = if most <= 0.0 {
        (most, least)
    } else {
        (least, most)
    };
    Some(if percent(near) == percent(far) && way(near) == way(far) {
        format!("{} % {}", percent(far), way(far))
    } else if way(least) == way(most) || near == 0.0 {
        format!("{} to {} % {}", percent(near), percent(far), way(far))
    } else {
        format!("{} % lower to {} % higher", percent(least), percent(most))
    })
}

fn growth_words(shown: &[&EnduranceRecord]) -> String {
    let leaks: Vec<String> = shown
        .iter()
        .flat_map(|one| one.leaks())
        .map(|leak| {
            let days = leak.reaches_days.unwrap_or_default();
            format!(
                "{} of {} would reach its limit in {}",
                leak.of,
                leak.place,
                duration(days * 86_400.0)
            )
        })
        .collect();
    let horizon_days = shown.iter().flat_map(|one| &one.growths).map(|one| one.horizon_days);
    match (leaks.is_empty(), horizon_days.reduce(f64::min)) {
        (false, _) => leaks.join(", "),
        (true, None) => "No probe recorded a resource that may grow".to_owned(),
        (true, Some(days)) => format!(
            "No resource would reach its limit within {}",
            duration(days * 86_400.0)
        ),
    }
}
