//! What faults did, in the answer: a sentence for each of a few, or one for many.

use measure::number::{count, significant};
use store::record::{FaultRecord, RecoveryRecord, StretchRecord, TrialFinding};

/// Faults from which on one sentence stands for all.
const MANY: usize = 4;

/// The sentences; none without a fault whose effect could be told.
pub fn sentences(trials: &[TrialFinding]) -> Vec<String> {
    let faults = trials.iter().flat_map(|trial| &trial.faults);
    let told: Vec<FaultEffect> = faults.filter_map(FaultEffect::of).collect();
    match told.len() {
        0 => Vec::new(),
        few if few < MANY => told.iter().map(FaultEffect::sentence).collect(),
        _ => vec![many(&told)],
    }
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
            "{name} lowered throughput by {} % at the worst, for {} s in all; {}; {failed}.",
            significant(self.depth * 100.0, 3),
            significant(self.seconds, 3),
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
                let recover = significant(recover_s, 3);
                format!("it was as before {recover} s after the {from}")
            }
            None => "it was not seen as before".to_owned(),
        }
    }
}

fn failed(found: &RecoveryRecord) -> u64 {
    let stretches = [&found.during, &found.after].into_iter().flatten();
    stretches.map(StretchRecord::failed).sum()
}

fn many(told: &[FaultEffect]) -> String {
    let lowered = told.iter().filter(|one| one.depth > 0.0);
    let back = told.iter().filter_map(|one| one.fault.recover_s);
    let longest_s = back.clone().fold(0.0, f64::max);
    let worst = told.iter().map(|one| one.depth).fold(0.0, f64::max);
    let failed: u64 = told.iter().map(|one| one.failed).sum();
    let most = told
        .iter()
        .max_by_key(|one| one.failed)
        .filter(|one| one.failed > failed / 2)
        .map(|one| {
            let FaultRecord { kind, place, .. } = one.fault;
            let place = place.as_deref().unwrap_or_default();
            format!(
                ", most of them, {}, by “{kind}” of {place}",
                count(one.failed)
            )
        });
    let others = match told.len() - back.clone().count() {
        0 => "",
        _ => " (of the others no time was quiet enough to tell)",
    };
    format!(
        "Of {} faults {} lowered throughput, by {} % at the worst; after {} it was seen as \
         before{others}, {} s after the healing at the latest; {} operations failed{}.",
        told.len(),
        lowered.count(),
        significant(worst * 100.0, 3),
        back.count(),
        significant(longest_s, 3),
        count(failed),
        most.unwrap_or_default()
    )
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
                "“node-kill” of node2 lowered throughput by 62.0 % at the worst, for 29.0 s in \
                 all; it was as before 21.8 s after the healing; 38 operations failed.",
                "“node-kill” of node2 did not lower throughput; no operation failed.",
                "“node-kill” of node2 lowered throughput by 50.0 % at the worst, for 29.0 s in \
                 all; it was not seen as before; one operation failed.",
            ]
        );
        let mut faults = vec![fault(0.3, Some(4.0), 2); 4];
        faults.push(fault(0.9, None, 1000));
        assert_eq!(
            said(faults),
            [
                "Of 5 faults 5 lowered throughput, by 90.0 % at the worst; after 4 it was seen as \
                 before (of the others no time was quiet enough to tell), 4.00 s after the healing \
                 at the latest; 1,008 operations failed, most of them, 1,000, by “node-kill” of \
                 node2."
            ]
        );
        assert_eq!(said(vec![FaultRecord::default()]), Vec::<String>::new());
    }
}
