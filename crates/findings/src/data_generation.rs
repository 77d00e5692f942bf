//! Identifies the data of a trial, for data that is kept between trials.
//!
//! After an interruption, the engine starts the target and loads its data again. The target then
//! has the same rows, but in other SSTables, which were compacted in another order. Trials before
//! and after the interruption differ in this respect, so they are not a pair.

use store::record::TrialFinding;
use study::settings::{Load, Reset, Settings};
use target_spec::Target;

/// Returns the generation of the data of a trial with these settings. `start` counts the starts of
/// the run, including resumptions. Returns `None` if the generation does not matter.
pub fn compute(settings: &Settings, start: u64) -> Option<u64> {
    let outlives = match (&settings.target, settings.data.reset) {
        // The null target stores no data.
        (Target::Null(_), _) => false,
        // Every trial loads its own data, even in an uninterrupted run, so an interruption makes no
        // difference.
        (_, Reset::Truncate) => false,
        // The data of an attached cluster existed before the run, and remains after the run, unless
        // the run loads data.
        (Target::Attach(_), Reset::None) => settings.data.load != Load::None,
        (_, Reset::None | Reset::Snapshot) => true,
    };
    outlives.then_some(start)
}

/// Returns true if two trials may be compared. This requires that the generations of their data are
/// the same, or that one of them is unknown.
pub fn is_same(one: &TrialFinding, other: &TrialFinding) -> bool {
    match (one.generation, other.generation) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentences::trials::generations;
    use study::resolve::resolve;
    use study::settings::Overrides;

    fn generation(target: &str, data: &str) -> Option<u64> {
        let text = format!(
            "study: s\nquestion: q\ntarget: {target}\n\
             workload: {{use: standard1, mix: {{write: 1}}}}\n\
             data: {data}\nprocedure: {{fixed: {{threads: 4}}}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        compute(&study.variants[0].settings, 2)
    }

    #[test]
    fn data_that_outlives_a_trial_is_that_of_one_start_of_the_run() {
        let local = "{local: {}}";
        assert_eq!(generation(local, "{load: {operations: 1k}}"), Some(2));
        let snapshot = "{load: {operations: 1k}, reset: snapshot}";
        assert_eq!(generation(local, snapshot), Some(2));
        let truncate = "{load: {operations: 1k}, reset: truncate}";
        assert_eq!(generation(local, truncate), None);
        assert_eq!(generation("{null: {}}", "{load: {operations: 1k}}"), None);
        let attach = "{attach: {contact_points: [127.0.0.1]}}";
        assert_eq!(generation(attach, "{load: {operations: 1k}}"), Some(2));
        assert_eq!(generation(attach, "{}"), None);
    }

    #[test]
    fn only_trials_on_the_same_data_are_compared() {
        let on = |generation: Option<u64>| TrialFinding {
            generation,
            ..TrialFinding::default()
        };
        assert!(is_same(&on(Some(1)), &on(Some(1))));
        assert!(!is_same(&on(Some(1)), &on(Some(2))));
        assert!(is_same(&on(None), &on(Some(2))));
        assert_eq!(generations(&[on(Some(1)), on(None), on(Some(1))]), None);
        let said = generations(&[on(Some(1)), on(Some(2))]).unwrap();
        assert!(said.contains("2 times"), "{said}");
    }
}
