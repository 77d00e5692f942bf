//! What faults did, in the answer: a sentence for each of a few, or one for many; and whether
//! anything acknowledged was lost.

use measure::number::{count, short};
use store::record::{FaultRecord, RecoveryRecord, StretchRecord, TrialFinding, read_back_words};

/// Faults from which on one sentence stands for all.
const MANY: usize = 4;

/// The sentences; none without a fault whose effect could be told.
pub fn sentences(trials: &[TrialFinding]) -> Vec<String> {
    let faults = trials.iter().flat_map(|trial| &trial.faults);
    let told: Vec<FaultEffect> = faults.filter_map(FaultEffect::of).collect();
    let mut said = match told.len() {
        0 => Vec::new(),
        few if few < MANY => told.iter().map(FaultEffect::sentence).collect(),
        _ => vec![many(&told)],
    };
    // Of rows that must not be lost the first sentence of the answer tells.
    let is_told = trials.iter().any(|trial| trial.data_against().rows.is_some());
    if trials.iter().any(|trial| !trial.faults.is_empty()) && !is_told {
        let read: Vec<_> = trials.iter().filter_map(|trial| trial.read_back.as_ref()).collect();
        said.extend(read_back_words(&read));
    }
    said
}

/// A fault of which there is a level before it.
struct FaultEffect<'a> {
    fault: &'a FaultRecord,
    failed: u64,
    /// How deep and for how long throughput fell.
    depth: f64,
    seconds: f64,
}

impl<'a> FaultEffect<'a> {
    fn of(fault: &'a FaultRecord) -> Option<FaultEffect<'a>> {
        let found = fault.recovery.as_ref()?;
        let dip = found.dip?;
        Some(FaultEffect {
            fault,
            failed: failed(found),
            depth: dip.depth,
            seconds: dip.seconds,
        })
    }

    fn sentence(&self) -> String {
        let FaultRecord { kind, place, .. } = self.fault;
        let name = match &place {
            None => format!("“{kind}”"),
            Some(place) => format!("“{kind}” of {place}"),
        };
        let failed = match self.failed {
            0 => "no operation failed".to_owned(),
            1 => "one operation failed".to_owned(),
            failed => format!("{} operations failed", count(failed)),
        };
        if self.depth == 0.0 {
            return format!("{name} did not lower throughput; {failed}.");
        }
        format!(
            "{name}: {} % less throughput at worst, below normal for {} s, {}; {failed}.",
            short(self.depth * 100.0, 3),
            short(self.seconds, 3),
            self.back()
        )
    }

    fn back(&self) -> String {
        let from = match self.fault.healing_s {
            Some(_) => "healing",
            None => "injection",
        };
        match self.fault.recover_s {
            Some(recover_s) => {
                format!("normal {} s after the {from}", short(recover_s, 3))
            }
            None => "and not seen normal again".to_owned(),
        }
    }
}

fn failed(found: &RecoveryRecord) -> u64 {
    let stretches = [&found.during, &found.after].into_iter().flatten();
    stretches.map(StretchRecord::failed).sum()
}

fn many(told: &[FaultEffect]) -> String {
    let all = told.len();
    let lowered: Vec<&FaultEffect> = told.iter().filter(|one| one.depth > 0.0).collect();
    let most = |of: fn(&FaultEffect) -> f64| lowered.iter().map(|one| of(one)).reduce(f64::max);
    let below = lowered.iter().map(|one| one.seconds).reduce(f64::min);
    let dip = match (below, most(|one| one.seconds), most(|one| one.depth)) {
        (Some(shortest), Some(longest), Some(depth)) => {
            let of = if lowered.len() == all {
                "each".to_owned()
            } else {
                lowered.len().to_string()
            };
            format!(
                "{of} lowered throughput, for {} s, by {} % at worst",
                between(shortest, longest),
                short(depth * 100.0, 3)
            )
        }
        _ => "none lowered throughput".to_owned(),
    };
    let failed: u64 = told.iter().map(|one| one.failed).sum();
    let by_one = told
        .iter()
        .max_by_key(|one| one.failed)
        .filter(|one| one.failed > failed / 2)
        .map(|one| {
            let FaultRecord { kind, place, .. } = one.fault;
            let place = place.as_deref().unwrap_or_default();
            format!(" ({} by “{kind}” of {place})", count(one.failed))
        });
    let back = told.iter().filter_map(|one| one.fault.recover_s);
    let back_count = back.clone().count();
    let normal = match (back.reduce(f64::max), all - back_count) {
        (Some(longest_s), 0) => {
            format!(
                "all was normal {} s after the healing at the latest",
                short(longest_s, 3)
            )
        }
        (Some(longest_s), unseen) => format!(
            "after {back_count} all was normal, {} s after the healing at the latest; after \
             {unseen} that was not seen",
            short(longest_s, 3)
        ),
        (None, _) => "that all was normal again was not seen".to_owned(),
    };
    format!(
        "Of {all} faults {dip}; {} operations failed{}; {normal}.",
        count(failed),
        by_one.unwrap_or_default()
    )
}

/// `29`, `6 to 25`.
fn between(least: f64, most: f64) -> String {
    let [least, most] = [least, most].map(|seconds| short(seconds, 3));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::DipRecord;

    fn fault(depth: f64, recover_s: Option<f64>, failed: u64) -> FaultRecord {
        let errors = [("overloaded".to_owned(), failed)];
        FaultRecord {
            kind: "node-kill".to_owned(),
            place: Some("node2".to_owned()),
            healing_s: Some(1.0),
            recover_s,
            recovery: Some(RecoveryRecord {
                dip: Some(DipRecord {
                    depth,
                    seconds: 29.0,
                    ..DipRecord::default()
                }),
                during: Some(StretchRecord {
                    errors: [("write".to_owned(), errors.into())].into(),
                    ..StretchRecord::default()
                }),
                ..RecoveryRecord::default()
            }),
            ..FaultRecord::default()
        }
    }

    fn said(faults: Vec<FaultRecord>) -> Vec<String> {
        sentences(&[TrialFinding {
            faults,
            ..TrialFinding::default()
        }])
    }

    #[test]
    fn a_few_faults_have_a_sentence_each_and_many_have_one() {
        let few = said(vec![
            fault(0.62, Some(21.8), 38),
            fault(0.0, Some(0.0), 0),
            fault(0.5, None, 1),
        ]);
        assert_eq!(
            few,
            [
                "“node-kill” of node2: 62 % less throughput at worst, below normal for 29 s, \
                 normal 21.8 s after the healing; 38 operations failed.",
                "“node-kill” of node2 did not lower throughput; no operation failed.",
                "“node-kill” of node2: 50 % less throughput at worst, below normal for 29 s, \
                 and not seen normal again; one operation failed.",
            ]
        );
        let mut faults = vec![fault(0.3, Some(4.0), 2); 4];
        faults.push(fault(0.9, None, 1000));
        assert_eq!(
            said(faults),
            [
                "Of 5 faults each lowered throughput, for 29 s, by 90 % at worst; 1,008 operations \
                 failed (1,000 by “node-kill” of node2); after 4 all was normal, 4 s after the \
                 healing at the latest; after 1 that was not seen."
            ]
        );
        assert_eq!(said(vec![FaultRecord::default()]), Vec::<String>::new());
    }
}
