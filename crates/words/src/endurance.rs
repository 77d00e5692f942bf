//! What hours under one load came to.

use crate::place::{point_words, variant_before};
use analysis::VariantName;
use analysis::endurance::{Agreed, Course};
use measure::number::{short, whole};
use store::record::{DriftRecord, EnduranceRecord, EnduredRecord, TrialFinding};

/// The answer of a variant: what throughput did, what drifts, what grows.
pub fn sentence(
    variant: &VariantName,
    found: Option<&EnduredRecord>,
    trials: &[TrialFinding],
) -> String {
    let who = variant_before(variant);
    match found.and_then(|found| of(found, trials)) {
        Some(sentence) => format!("{who}{sentence}"),
        None => format!("{who}No long trial may be believed."),
    }
}

fn of(found: &EnduredRecord, trials: &[TrialFinding]) -> Option<String> {
    let long = found.turns.last()?;
    let shown: Vec<&EnduranceRecord> = trials
        .iter()
        .filter(|trial| long.trials.contains(&trial.index))
        .filter_map(|trial| trial.endurance.as_ref())
        .collect();
    // Of several blocks the one that went furthest.
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
    let p99 = drift("latency_ms.p99");
    let length = length_words(long.seconds);
    let mut parts = vec![format!(
        "{} {length}: {} op/s at {}{}",
        held_words(found, rate),
        whole(long.ops_per_s),
        point_words(found.point),
        apart_words(found)
    )];
    let p99 = p99.map_or(String::new(), |p99| {
        format!(", p99 by {}", drift_words(p99))
    });
    parts.push(format!(
        "it drifts by {}{p99} over the {length}",
        drift_words(rate)
    ));
    if let Some(change) = found.mean_ms_change {
        parts.push(format!(
            "mean latency was {} % {} than before",
            short(change.abs() * 100.0, 2),
            if change < 0.0 { "lower" } else { "higher" }
        ));
    }
    parts.push(growth_words(&shown));
    Some(parts.join("; ") + ".")
}

/// What throughput did, in a manager's words.
fn held_words(found: &EnduredRecord, rate: &DriftRecord) -> &'static str {
    match (rate.course, found.agreed) {
        (Course::Rising, _) => "Throughput rose over",
        (Course::Falling, _) | (_, Some(Agreed::Outside)) => "Throughput did not hold for",
        (Course::Steady, Some(Agreed::Inside) | None) => "Throughput held for",
        (Course::Untold, _) | (_, Some(Agreed::Untold)) => {
            "It cannot be told whether throughput held for"
        }
    }
}

/// How far apart the turns were.
fn apart_words(found: &EnduredRecord) -> String {
    let (Some(apart), Some(ci95)) = (found.apart, found.apart_ci95) else {
        return String::new();
    };
    let before = &found.turns[..found.turns.len().saturating_sub(1)];
    let before: Vec<String> = before.iter().map(|turn| length_words(turn.seconds)).collect();
    let percent = |share: f64| short(share * 100.0, 2);
    let (apart, before) = (percent(apart), before.join(" and "));
    let near = match found.agreed {
        Some(Agreed::Inside) => format!("within {apart} % of the {before} before"),
        _ => format!("{apart} % apart from the {before} before"),
    };
    let [low, high] = ci95.map(percent);
    format!(", {near} [{low} to {high}]")
}

/// `-0.3 % [-0.8, 0.2]`.
fn drift_words(drift: &DriftRecord) -> String {
    let percent = |share: f64| {
        let sign = if share < 0.0 { "-" } else { "" };
        format!("{sign}{}", short(share.abs() * 100.0, 2))
    };
    let ci95 = drift.ci95.map_or(String::new(), |[low, high]| {
        format!(" [{}, {}]", percent(low), percent(high))
    });
    format!("{} %{ci95}", percent(drift.change))
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
                length_words(days * 86_400.0)
            )
        })
        .collect();
    let horizon_days = shown.iter().flat_map(|one| &one.growths).map(|one| one.horizon_days);
    match (leaks.is_empty(), horizon_days.reduce(f64::min)) {
        (false, _) => leaks.join(", "),
        (true, None) => "whether anything grows was not seen".to_owned(),
        (true, Some(days)) => format!(
            "nothing grows that would reach its limit within {}",
            length_words(days * 86_400.0)
        ),
    }
}

/// `24 h`, `3 min`, `30 days`, as short as it can be said.
pub fn length_words(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 172_800.0 => (s / 86_400.0, "days"),
        s if s >= 3600.0 => (s / 3600.0, "h"),
        s if s >= 60.0 => (s / 60.0, "min"),
        s => (s, "s"),
    };
    format!("{} {unit}", short(value, 3))
}
