//! Limits the number of entries in lists and mappings of a study, before other code uses them.
//! Otherwise, a study of a few kilobytes could take minutes of CPU time and all memory.

use crate::matrix::VARIANTS_MAX;
use crate::settings::{FAULTS_MAX, LADDER_POINTS_MAX, Variant};
use analysis::screening::SETTINGS;
use yaml::{Diagnostics, Node, Raw};

/// Maximum number of scales. The number is small because each scale is checked with all variants.
const SCALES_MAX: usize = 16;
/// Maximum number of entries in any other mapping.
const ENTRIES_MAX: usize = 1_000;
/// Maximum number of items in any other list, such as a list of points or addresses.
const ITEMS_MAX: usize = 100_000;

/// Returns true if no list or mapping has too many entries. Otherwise, reports each list or mapping
/// with too many entries. The caller then does not check the study further.
pub fn are_bounded(root: &Node, out: &mut Diagnostics) -> bool {
    let said = out.list.len();
    walk(root, &mut Vec::new(), out);
    out.list.len() == said
}

fn walk<'n>(node: &'n Node, path: &mut Vec<&'n str>, out: &mut Diagnostics) {
    let (count, usual) = match &node.raw {
        Raw::Map(entries) => (entries.len(), ENTRIES_MAX),
        Raw::List(items) => (items.len(), ITEMS_MAX),
        Raw::Null | Raw::Scalar { .. } => return,
    };
    let most = most(path).map_or(usual, |most| most.min(usual));
    if count > most {
        let message = format!(
            "`{}` has {count} entries; the maximum is {most}",
            path.join(".")
        );
        let hint = "remove some entries, or split the study into several studies";
        out.add(&node.place, message, Some(hint.to_owned()));
        return;
    }
    match &node.raw {
        Raw::Map(entries) => {
            for entry in entries {
                path.push(&entry.key);
                walk(&entry.value, path, out);
                path.pop();
            }
        }
        // Items have the path of their list with `-` appended, because a list inside an item has a
        // separate limit.
        Raw::List(items) => {
            path.push("-");
            items.iter().for_each(|item| walk(item, path, out));
            path.pop();
        }
        Raw::Null | Raw::Scalar { .. } => {}
    }
}

/// Returns the maximum number of entries at a path. The path may also be in a scale, a variant or a
/// phase. `None` if the path has no special limit.
fn most(path: &[&str]) -> Option<usize> {
    match path {
        ["scales"] => Some(SCALES_MAX),
        [.., "variants"] => Some(VARIANTS_MAX),
        [.., "matrix"] | [.., "matrix", _] => Some(VARIANTS_MAX),
        [.., "screen", "settings"] => Some(SETTINGS[1]),
        [.., "screen", "settings", _] => Some(VARIANTS_MAX),
        [.., "grid", "threads" | "rate"] => Some(LADDER_POINTS_MAX),
        [.., "grid", _] => Some(VARIANTS_MAX),
        [.., "faults"] => Some(FAULTS_MAX),
        _ => None,
    }
}

/// Maximum number of trials. A larger number is probably a typing error, because the trials would
/// take more than a day at one second each.
const TRIALS_MAX: usize = 100_000;

/// Reports a plan with too many trials.
pub fn trials(root: &Node, variants: &[Variant], blocks: Option<u64>, out: &mut Diagnostics) {
    let outlooks = variants.iter().map(|one| one.settings.procedure.outlook());
    let of_block = outlooks.map(|outlook| outlook.turns_max).fold(0usize, usize::saturating_add);
    let blocks = usize::try_from(blocks.unwrap_or(1)).unwrap_or(usize::MAX);
    let trials = of_block.saturating_mul(blocks);
    if trials > TRIALS_MAX {
        let message = format!("the study has {trials} trials; the maximum is {TRIALS_MAX}");
        let hint = "use fewer blocks, variants or points, or split the study into several studies";
        out.add(
            &root.nearest("repeat").place,
            message,
            Some(hint.to_owned()),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Overrides;
    use std::fmt::Write;

    fn listed(count: usize, of: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        (0..count).for_each(|number| writeln!(text, "{}", of(number)).unwrap());
        text
    }

    fn mistakes(lines: &str) -> String {
        said_on("null", lines)
    }

    /// Returns the messages for a study with `target`, the lines in `lines`, and the required keys.
    fn said_on(target: &str, lines: &str) -> String {
        let study = format!(
            "study: large\nquestion: What is refused at once?\ntarget: {{{target}: {{}}}}\n\
             workload: {{use: kv}}\n{lines}"
        );
        let resolved = crate::resolve::resolve("large.yaml", &study, &Overrides::default());
        resolved.map_or_else(
            |mistakes| mistakes.to_string(),
            |_| "it is planned".to_owned(),
        )
    }

    #[test]
    fn a_list_that_is_too_long_is_the_only_reported_mistake() {
        let load = "procedure: {fixed: {threads: 1}}\n";
        let setting = |n| format!("    s{n}: {{a: {{seed: 1}}, b: {{seed: 2}}}}");
        let variant = |n| format!("  v{n}: {{client: {{in_flight_max: {n}}}}}");
        let number = |n| format!("      - {n}");
        for (lines, words) in [
            (
                format!("{load}screen:\n  settings:\n{}", listed(4000, setting)),
                "`screen.settings` has 4000 entries; the maximum is 11",
            ),
            (
                format!("{load}variants:\n{}", listed(9_000, variant)),
                "`variants` has 9000 entries; the maximum is 64",
            ),
            (
                format!(
                    "{load}scales:\n  big:\n    variants:\n{}",
                    listed(65, |n| { format!("      v{n}: {{}}") })
                ),
                "`scales.big.variants` has 65 entries; the maximum is 64",
            ),
            (
                format!(
                    "procedure:\n  grid:\n    threads:\n{}    payload:\n{}",
                    listed(9_000, number),
                    listed(9_000, number)
                ),
                "`procedure.grid.payload` has 9000 entries; the maximum is 64",
            ),
            (
                format!(
                    "{load}price_per_hour:\n  amount:\n{}",
                    listed(9_000, |n| { format!("    v{n}: 1") })
                ),
                "`price_per_hour.amount` has 9000 entries; the maximum is 1000",
            ),
        ] {
            let said = mistakes(&lines);
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn faults_and_trials_are_counted_before_they_are_made() {
        let faults = listed(100, |_| {
            "  - {kind: node-pause, at: 0s, for: 1s, every: 1s}".to_owned()
        });
        let load = "procedure: {fixed: {rate: 100}}\nwindow: {measure: 720h}\n";
        let broken = said_on("local", &format!("{load}faults:\n{faults}"));
        let words = "`faults` injects too many faults in a window";
        assert!(broken.contains(words), "{broken}");
        let blocks =
            "repeat: {blocks: 1000}\nprocedure: {sweep: {threads: [THREADS]}}\nvariants:\n";
        let threads: Vec<String> = (1..=32).map(|threads: u32| threads.to_string()).collect();
        let variants = listed(64, |n| {
            format!("  v{n}: {{client: {{in_flight_max: {}}}}}", n + 1)
        });
        let text = blocks.replace("THREADS", &threads.join(", ")) + &variants;
        let said = mistakes(&text);
        assert!(
            said.contains("2048000 trials; the maximum is 100000"),
            "{said}"
        );
    }
}
