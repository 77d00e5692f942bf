//! Describes the effects of faults, compared with the same trials without faults. A few faults have
//! one sentence each, and many faults share one sentence.

use crate::comparison::change_words;
use store::record::{ComparisonRecord, FaultStretch, Finding, WithoutFaultsRecord};

/// Minimum number of faults that one sentence summarizes together.
const SUMMARY_MIN: usize = 4;

/// Returns one sentence for each of a few faults, or one sentence for many faults together.
pub fn sentences(records: &[WithoutFaultsRecord]) -> Vec<String> {
    let faults: Vec<&[WithoutFaultsRecord]> = records
        .chunk_by(|a, b| (&a.variant, &a.point, a.fault) == (&b.variant, &b.point, b.fault))
        .collect();
    match faults.len() {
        0 => Vec::new(),
        few if few < SUMMARY_MIN => faults.into_iter().map(sentence).collect(),
        _ => vec![many(&faults)],
    }
}

fn sentence(stretches: &[WithoutFaultsRecord]) -> String {
    let first = &stretches[0];
    let name = match &first.place {
        None => format!("“{}”", first.kind),
        Some(place) => format!("“{}” of {place}", first.kind),
    };
    let said: Vec<String> = stretches.iter().map(stretch_words).collect();
    format!(
        "Against the same trials without faults, {name} in “{}”: {}.",
        first.variant,
        said.join("; ")
    )
}

/// Describes the effect of a fault in one period, such as `during the fault −31.2 % throughput (…),
/// +310 % p99 (…), 12 operations failed, 0 without the fault`.
fn stretch_words(record: &WithoutFaultsRecord) -> String {
    let [without, with] = record.failed;
    let mut said: Vec<String> = Vec::new();
    if record.ops_per_s[1] == 0.0 {
        said.push("nothing was done".to_owned());
    }
    let asked = |c: &&ComparisonRecord| c.metric != "latency_ms.p50";
    said.extend(record.comparisons.iter().filter(asked).map(change_words));
    said.push(format!(
        "{with} operations failed, {without} without the fault"
    ));
    let when = match record.stretch {
        FaultStretch::Broken => "during the fault",
        FaultStretch::After => "after that",
    };
    format!("{when} {}", said.join(", "))
}

fn many(faults: &[&[WithoutFaultsRecord]]) -> String {
    let is_worse = |record: &WithoutFaultsRecord| {
        let mut all = record.comparisons.iter();
        record.ops_per_s[1] == 0.0 || all.any(|one| one.verdict == Finding::Slower)
    };
    let worse = |stretch: FaultStretch| {
        let here = |of: &&&[WithoutFaultsRecord]| {
            let mut records = of.iter();
            records.any(|one| one.stretch == stretch && is_worse(one))
        };
        faults.iter().filter(here).count()
    };
    format!(
        "Compared with the same trials without faults, {1} of {0} faults made throughput or \
         latency worse during the fault, and {2} afterwards.",
        faults.len(),
        worse(FaultStretch::Broken),
        worse(FaultStretch::After)
    )
}
