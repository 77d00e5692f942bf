//! Describes the results of a study's requirements. Each requirement counts once.

use analysis::Verdict;
use store::record::{RequirementOutcome, RequirementRecord};

/// Maximum number of requirements that a sentence names. For further requirements, the sentence
/// states only their number.
const NAMED_MAX: usize = 3;

/// Returns the first sentences of an answer, or an empty list if the study has no requirements.
/// Missed requirements come first, with their numbers. If the run is also invalid, a sentence
/// states whether the missed requirement or the invalid run decides the exit code.
pub fn sentences(requirements: &[RequirementRecord], verdict: Verdict) -> Vec<String> {
    let mut missed: Vec<_> = requirements.iter().filter(|one| one.is_missed()).collect();
    // A sentence names only the first few requirements, so those that are certainly missed come
    // first.
    missed.sort_by_key(|one| one.outcome != RequirementOutcome::Missed);
    let certain = missed.iter().filter(|one| one.outcome == RequirementOutcome::Missed).count();
    let open: Vec<_> = requirements.iter().filter(|one| one.is_open()).collect();
    let mut said = Vec::new();
    if !missed.is_empty() {
        said.push(format!("Missed: {}.", list_names(&missed)));
    }
    said.extend(counts(requirements.len(), missed.len(), &open));
    let uncertain = missed.len() - certain;
    if uncertain > 0 {
        said.push(format!(
            "{} inconclusive, and {} as missed (`require.inconclusive`).",
            if certain == 0 && uncertain == 1 {
                "It is".to_owned()
            } else if certain == 0 {
                "All of them are".to_owned()
            } else if uncertain == 1 {
                "One of them is".to_owned()
            } else {
                format!("{uncertain} of them are")
            },
            if uncertain == 1 { "counts" } else { "count" }
        ));
    }
    if !missed.is_empty() && verdict == Verdict::Invalid {
        said.push(
            "The run is also invalid, and this decides its exit code: a missed requirement decides \
             the exit code only of a run that is not invalid."
                .to_owned(),
        );
    }
    said
}

fn counts(all: usize, missed: usize, open: &[&RequirementRecord]) -> Option<String> {
    let inconclusive = match open.len() {
        0 => String::new(),
        number => format!(" {number} inconclusive: {}.", list_names(open)),
    };
    Some(match (all, missed, open.len()) {
        (0, ..) => return None,
        (1, 1, _) => "This is the only requirement.".to_owned(),
        (1, _, 1) => {
            let one = open.first()?.in_short();
            format!("The only requirement is inconclusive: {one}.")
        }
        (1, ..) => "The only requirement is met.".to_owned(),
        (_, 0, 0) => format!("All {all} requirements are met."),
        (_, 0, _) => format!("None of {all} requirements is missed.{inconclusive}"),
        (_, missed, _) => {
            let are = if missed == 1 { "is" } else { "are" };
            format!("{missed} of {all} requirements {are} missed.{inconclusive}")
        }
    })
}

fn list_names(requirements: &[&RequirementRecord]) -> String {
    let first = requirements.iter().take(NAMED_MAX);
    let mut clauses: Vec<String> = first.map(|one| one.in_short().to_owned()).collect();
    let more = requirements.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        clauses.push(format!("and {more} more"));
    }
    clauses.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(
        clause: &str,
        outcome: RequirementOutcome,
        inconclusive_is_missed: bool,
    ) -> RequirementRecord {
        RequirementRecord {
            clause: clause.to_owned(),
            outcome,
            inconclusive_is_missed,
            ..RequirementRecord::default()
        }
    }

    #[test]
    fn every_requirement_is_counted_once_and_the_missed_come_first() {
        let met = || one("p99 is 9 ms", RequirementOutcome::Met, false);
        let missed = |what: &str| one(what, RequirementOutcome::Missed, false);
        let open = || one("p95 is 8 ms", RequirementOutcome::Inconclusive, false);
        let said = |all: &[RequirementRecord]| sentences(all, Verdict::Valid).join(" ");
        assert_eq!(said(&[]), "");
        assert_eq!(said(&[met()]), "The only requirement is met.");
        assert_eq!(said(&[met(), met()]), "All 2 requirements are met.");
        assert_eq!(
            said(&[open()]),
            "The only requirement is inconclusive: p95 is 8 ms."
        );
        assert_eq!(
            said(&[open(), met()]),
            "None of 2 requirements is missed. 1 inconclusive: p95 is 8 ms."
        );
        assert_eq!(
            said(&[open(), missed("a"), missed("b"), met()]),
            "Missed: a; b. 2 of 4 requirements are missed. 1 inconclusive: p95 is 8 ms."
        );
        // If a study counts an inconclusive requirement as missed, the sentence lists the
        // requirement as missed.
        assert_eq!(
            said(&[one("c", RequirementOutcome::Inconclusive, true)]),
            "Missed: c. This is the only requirement. It is inconclusive, and counts as missed \
             (`require.inconclusive`)."
        );
        // In a user's run, the only certain miss was among those that the sentence did not name.
        let uncertain = |what: &str| one(what, RequirementOutcome::Inconclusive, true);
        assert_eq!(
            said(&[uncertain("a"), uncertain("b"), uncertain("c"), missed("d")]),
            "Missed: d; a; b; and 1 more. 4 of 4 requirements are missed. 3 of them are \
             inconclusive, and count as missed (`require.inconclusive`)."
        );
        let many: Vec<_> = (0..5).map(|n| missed(&n.to_string())).collect();
        assert!(said(&many).starts_with("Missed: 0; 1; 2; and 2 more. 5 of 5"));
    }

    #[test]
    fn of_an_invalid_run_that_missed_it_is_said_what_decides() {
        let missed = [one("a", RequirementOutcome::Missed, false)];
        let said = sentences(&missed, Verdict::Invalid);
        assert!(
            said[2].contains("also invalid, and this decides its exit code"),
            "{said:?}"
        );
        let met = [one("a", RequirementOutcome::Met, false)];
        assert_eq!(sentences(&met, Verdict::Invalid).len(), 1);
    }
}
