//! Warns of windows that end before the cluster has recovered from a fault, and of faults so early
//! that the level before them is unknown.

use crate::settings::{Settings, Study, StudyFault};
use crate::units::format_duration_ns;
use analysis::recovery::{BEFORE_MIN, EARLIEST_PROPOSED_S, HOLD_S, proposed_window_s};
use measure::clock::SECOND_NS;
use measure::number::about_duration;
use target_spec::fault::Length;

/// Time from the start of a node until the other nodes consider it up, in seconds. Restarts of
/// nodes with 512 MiB on two shared CPUs took 40 and 52 s.
const RESTART_S: f64 = 60.0;
/// Time with normal load that a window must include after a recovery, in seconds.
const NORMAL_LOAD_S: f64 = HOLD_S;
/// Time that a window must include before the first fault, in seconds. An interval of the window
/// takes one second.
const BEFORE_MIN_S: u64 = BEFORE_MIN as u64;

/// Returns a sentence for each window that is too short, and for each first fault that is too
/// early.
pub fn warnings(study: &Study) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for variant in &study.variants {
        let both = [too_early(&variant.settings), too_short(&variant.settings)];
        for warning in both.into_iter().flatten() {
            if !said.contains(&warning) {
                said.push(warning);
            }
        }
    }
    said
}

/// Returns the warning for the first fault, if too few intervals of the window precede it. `None`
/// if the level before the fault will be known.
fn too_early(settings: &Settings) -> Option<String> {
    let first = settings.faults.iter().min_by_key(|fault| fault.at_ns)?;
    let is_early = first.at_ns < BEFORE_MIN_S * SECOND_NS;
    is_early.then(|| {
        format!(
            "cassay will not judge the effect of `{}`: it compares with the window before the \
             first fault, which must last at least {BEFORE_MIN_S} s, but the fault starts after \
             {}. Set `at: {EARLIEST_PROPOSED_S}s` or more",
            first.kind.name,
            about_duration(seconds(first.at_ns))
        )
    })
}

/// Returns the warning for the fault that needs the longest window. `None` if the window is long
/// enough, or if it ends after a number of operations.
fn too_short(settings: &Settings) -> Option<String> {
    let window_s = seconds(settings.window.measure_ns);
    if window_s == 0.0 {
        return None;
    }
    let faults = settings.faults.iter().filter(|fault| is_watched(fault, &settings.faults));
    let ends = faults.map(|fault| (fault, end_s(fault) + back_s(fault)));
    let (fault, whole_s) = ends.max_by(|a, b| a.1.total_cmp(&b.1))?;
    if whole_s + NORMAL_LOAD_S <= window_s {
        return None;
    }
    let restart = if fault.kind.takes_away {
        format!(
            "about {} until its node has started, and ",
            about_duration(RESTART_S)
        )
    } else {
        String::new()
    };
    Some(format!(
        "the window of {} may end before the recovery from `{}` is visible. The fault ends {} \
         after the window begins, and a recovery is visible only after {restart}{} of normal load. \
         Set `window.measure: {}` or more",
        about_duration(window_s),
        fault.kind.name,
        about_duration(end_s(fault)),
        about_duration(NORMAL_LOAD_S),
        format_duration_ns(proposed_window_s(whole_s) as u64 * SECOND_NS),
    ))
}

/// Returns true if cassay should observe the recovery from a fault. Returns false for tasks, which
/// end by themselves, and for repeating faults.
fn is_watched(fault: &StudyFault, all: &[StudyFault]) -> bool {
    let is_repeated = all.iter().filter(|other| other.item == fault.item).count() > 1;
    matches!(fault.kind.length, Length::Stated | Length::Moment) && !is_repeated
}

/// Returns the time at which a fault is healed, in seconds after the start of the window. A
/// momentary fault is healed as soon as it is injected.
fn end_s(fault: &StudyFault) -> f64 {
    match fault.kind.length {
        Length::Moment => seconds(fault.at_ns),
        _ => seconds(fault.end_ns()),
    }
}

fn back_s(fault: &StudyFault) -> f64 {
    if fault.kind.takes_away {
        RESTART_S
    } else {
        0.0
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

#[cfg(test)]
mod tests {
    use crate::resolve::resolve;
    use crate::settings::Overrides;

    fn warnings_for(faults: &str, window: &str) -> Vec<String> {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{nodes: 3}}}}\n\
             workload: {{use: kv, mix: {{write: 1}}}}\n\
             procedure: {{fixed: {{rate: 300}}}}\nfaults: [{faults}]\n\
             window: {{warmup: 5s, measure: {window}}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        super::warnings(&study)
    }

    /// In a user's run, the report showed "not back to normal within 34.9 s". The node was up again
    /// only after the end of the window.
    #[test]
    fn a_window_too_short_for_a_restart_names_a_sufficient_one() {
        let kill = "{kind: node-kill, where: {node: 2}, at: 20s, for: 20s}";
        let all = warnings_for(kill, "75s");
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(
            all[0].contains("recovery from `node-kill` is visible. The fault ends 40 s after"),
            "{all:?}"
        );
        // The report of a run that ends too early proposes the same length.
        assert!(all[0].contains("`window.measure: 3m`"), "{all:?}");
        assert_eq!(warnings_for(kill, "150s"), Vec::<String>::new());
    }

    /// In a user's run, a fault 8 s after the start of the window had no effect in the answer,
    /// although clients waited 4 s.
    #[test]
    fn a_fault_before_its_level_is_known_names_a_later_time() {
        let freeze =
            |at: u64| format!("{{kind: node-pause, where: {{node: 2}}, at: {at}s, for: 4s}}");
        let all = warnings_for(&freeze(8), "60s");
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(
            all[0].contains(
                "of `node-pause`: it compares with the window before the first fault, which must \
                 last at least 10 s"
            ),
            "{all:?}"
        );
        assert!(all[0].contains("after 8.0 s. Set `at: 15s`"), "{all:?}");
        assert_eq!(warnings_for(&freeze(10), "60s"), Vec::<String>::new());
        // Only the intervals before the first fault decide.
        let later = format!("{}, {}", freeze(12), freeze(30));
        assert_eq!(warnings_for(&later, "70s"), Vec::<String>::new());
    }

    #[test]
    fn a_fault_that_ends_no_process_needs_only_seconds() {
        let pause = "{kind: node-pause, where: {node: 2}, at: 20s, for: 20s}";
        assert_eq!(warnings_for(pause, "70s"), Vec::<String>::new());
        assert_eq!(warnings_for(pause, "69s").len(), 1);
        // A restart heals immediately, so the required time counts from the start of the fault.
        let restart = "{kind: node-restart, where: {node: 2}, at: 20s}";
        assert_eq!(warnings_for(restart, "110s"), Vec::<String>::new());
        assert_eq!(warnings_for(restart, "109s").len(), 1);
    }

    #[test]
    fn a_repeating_fault_and_one_that_does_a_task_are_not_awaited() {
        let again = "{kind: node-pause, at: 10s, every: 30s, for: 10s}";
        assert_eq!(warnings_for(again, "100s"), Vec::<String>::new());
        let task = "{kind: node-compact, where: {node: 2}, at: 10s, for: 60s}";
        assert_eq!(warnings_for(task, "75s"), Vec::<String>::new());
    }
}
