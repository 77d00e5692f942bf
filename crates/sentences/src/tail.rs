//! Describes the events that explain the slowest operations of a trial.

use measure::number::{counted, significant};
use store::record::{TailEventKind, TailEventsRecord, TailRecord};

/// Returns the sentences about the slowest operations of a trial, such as `71 of the 100 slowest
/// operations (31 ms or more) fell into 3 garbage collections of node2.` The sentences name the
/// trial if `names_trial` is true.
pub fn sentences(record: &TailRecord, names_trial: bool) -> String {
    let trial = if names_trial {
        format!("In trial {}, ", record.trial)
    } else {
        String::new()
    };
    let explaining: Vec<&TailEventsRecord> =
        record.events.iter().filter(|events| events.explains).collect();
    if explaining.is_empty() {
        let said = format!("{trial}no event that cassay observes explains the slowest operations.");
        return capital(&said) + &unobserved(record);
    }
    let all = format!(
        "the {} slowest operations ({} ms or more)",
        record.operations,
        significant(record.from_ms, 2)
    );
    let mut parts = Vec::new();
    for (index, events) in explaining.iter().enumerate() {
        let of = if index == 0 {
            format!("{} of {all}", events.matched)
        } else {
            events.matched.to_string()
        };
        parts.push(format!("{of} {}", happened(events)));
    }
    let said = capital(&format!("{trial}{}.", joined(&parts)));
    if record.is_explained() {
        return said;
    }
    format!(
        "{said} No event that cassay observes explains the other {}.{}",
        record.operations - record.explained,
        unobserved(record)
    )
}

/// Returns the sentence on the first screen. `explained` are the records in which events explain
/// at least half of the operations, and `all` is the number of records. `None` if no record is
/// explained.
pub fn of_run(explained: &[&TailRecord], all: usize) -> Option<String> {
    let best = explained.iter().max_by_key(|one| (one.explained, usize::MAX - one.trial))?;
    if all == 1 {
        return Some(best.says.clone());
    }
    let count = match explained.len() {
        1 => "one trial".to_owned(),
        count => format!("{count} trials"),
    };
    Some(format!(
        "Events explain most of the slowest operations in {count} of {all}. {}",
        best.says
    ))
}

fn happened(events: &TailEventsRecord) -> String {
    match events.kind {
        TailEventKind::Retry => "were sent again after a failed attempt".to_owned(),
        TailEventKind::Speculation => "had a speculative attempt".to_owned(),
        TailEventKind::Fault if events.events == 1 => {
            format!("fell into the {}{}", events.event_name(), of_place(events))
        }
        TailEventKind::Fault | TailEventKind::Collection | TailEventKind::AllocationStall => {
            let events_words = counted(events.events as u64, &events.event_name());
            format!("fell into {events_words}{}", of_place(events))
        }
    }
}

fn of_place(events: &TailEventsRecord) -> String {
    match events.place.as_str() {
        "" => String::new(),
        place => format!(" of {place}"),
    }
}

/// States that cassay did not observe garbage collections. Returns an empty string if it observed
/// them.
fn unobserved(record: &TailRecord) -> String {
    if record.unobserved.contains(&TailEventKind::Collection) {
        " cassay did not observe garbage collections in this trial.".to_owned()
    } else {
        String::new()
    }
}

fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(kind: TailEventKind, place: &str, matched: usize, events: usize) -> TailEventsRecord {
        TailEventsRecord {
            kind,
            place: place.to_owned(),
            matched,
            events,
            explains: true,
            ..TailEventsRecord::default()
        }
    }

    fn record(explained: usize, events: Vec<TailEventsRecord>) -> TailRecord {
        TailRecord {
            trial: 3,
            operations: 100,
            from_ms: 31.25,
            explained,
            events,
            ..TailRecord::default()
        }
    }

    #[test]
    fn collections_and_faults_are_named_with_their_node() {
        let collections = events(TailEventKind::Collection, "node2", 71, 3);
        let one = record(71, vec![collections.clone()]);
        let expected = "71 of the 100 slowest operations (31 ms or more) fell into 3 garbage \
                        collections of node2.";
        assert_eq!(sentences(&one, false), "71 of".to_owned() + &expected[5..]);
        assert!(sentences(&one, true).starts_with("In trial 3, 71 of the 100"));
        let pause = TailEventsRecord {
            fault: "node-pause".to_owned(),
            ..events(TailEventKind::Fault, "node1", 20, 1)
        };
        let retried = events(TailEventKind::Retry, "", 4, 0);
        let said = sentences(&record(95, vec![collections, pause, retried]), false);
        let expected = "71 of the 100 slowest operations (31 ms or more) fell into 3 garbage \
                        collections of node2, 20 fell into the fault node-pause of node1, and 4 \
                        were sent again after a failed attempt.";
        assert_eq!(said, expected);
    }

    #[test]
    fn unexplained_operations_are_said_to_be_unexplained() {
        let mut chance = events(TailEventKind::Collection, "node2", 9, 9);
        chance.explains = false;
        let said = sentences(&record(0, vec![chance]), false);
        assert_eq!(
            said,
            "No event that cassay observes explains the slowest operations."
        );
        let few = record(9, vec![events(TailEventKind::Collection, "node2", 9, 1)]);
        assert!(!few.is_explained());
        let said = sentences(&few, false);
        let end = "fell into 1 garbage collection of node2. No event that cassay observes explains \
                   the other 91.";
        assert!(said.ends_with(end), "{said}");
        let blind = TailRecord {
            unobserved: vec![TailEventKind::Collection],
            ..record(0, Vec::new())
        };
        let said = sentences(&blind, true);
        assert!(said.starts_with("In trial 3, no event"), "{said}");
        assert!(said.ends_with("did not observe garbage collections in this trial."));
    }

    #[test]
    fn the_first_screen_names_the_best_explained_trial() {
        let tail = |trial: usize, explained: usize| TailRecord {
            trial,
            says: format!("In trial {trial}."),
            ..record(explained, Vec::new())
        };
        let (one, two) = (tail(1, 60), tail(2, 80));
        assert_eq!(of_run(&[], 3), None);
        assert_eq!(of_run(&[&one], 1).as_deref(), Some("In trial 1."));
        let said = of_run(&[&one, &two], 3).unwrap();
        let expected =
            "Events explain most of the slowest operations in 2 trials of 3. In trial 2.";
        assert_eq!(said, expected);
    }
}
