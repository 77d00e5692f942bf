//! The section `procedure` of a checked tree → a procedure of `analysis`.

use crate::settings::LADDER_POINTS_MAX;
use crate::tree::Tree;
use analysis::procedure::{Fixed, Point, Procedure, Sweep, Until};

/// How a procedure is read from its settings.
type Read = fn(&Tree) -> Option<Procedure>;

/// By the key of the settings.
const PROCEDURES: &[(&str, Read)] = &[("sweep", sweep), ("fixed", fixed)];

/// The procedure of the section.
pub(super) fn procedure(tree: &Tree) -> Option<Procedure> {
    let mut there = PROCEDURES.iter();
    there.find_map(|(key, read)| tree.at(key).map(read))?
}

/// Whether arrivals of a rate are a Poisson process.
pub(super) fn is_poisson(tree: &Tree) -> bool {
    tree.at("arrival").and_then(Tree::text) == Some("poisson")
}

fn fixed(section: &Tree) -> Option<Procedure> {
    let point = points(section)?.into_iter().next()?;
    Some(Fixed(point).into())
}

fn sweep(section: &Tree) -> Option<Procedure> {
    let until = match section.at("until") {
        None => None,
        Some(Tree::Text(_)) => Some(Until::Timeout),
        Some(section) => Some(Until::P99Ms(section.at("p99_ms")?.number()?)),
    };
    let points = points(section)?;
    Some(Sweep { points, until }.into())
}

/// The points of `threads` or of `rate`, whichever is there.
fn points(section: &Tree) -> Option<Vec<Point>> {
    let Some(threads) = section.at("threads") else {
        let rates = axis(section.at("rate")?, LADDER_POINTS_MAX);
        return Some(rates.into_iter().map(Point::Rate).collect());
    };
    let threads = axis(threads, LADDER_POINTS_MAX).into_iter();
    let point = |value| u32::try_from(value).ok().map(Point::Threads);
    threads.map(point).collect()
}

/// The points of a list or a range, ascending where a range says so; of a range, the first
/// `points_max`. One with an end that has more is a mistake that the rules find.
pub(crate) fn axis(tree: &Tree, points_max: usize) -> Vec<u64> {
    let Some(from) = tree.at("from").and_then(Tree::count) else {
        return tree.items().iter().filter_map(Tree::count).collect();
    };
    let to = tree.at("to").and_then(Tree::count).unwrap_or(u64::MAX);
    let step = tree.at("step").and_then(Tree::count);
    let factor = tree.at("factor").and_then(Tree::number);
    let mut points = Vec::new();
    let mut point = from;
    while point <= to && points.len() < points_max {
        points.push(point);
        point = match (step, factor) {
            (Some(step), _) => point.saturating_add(step),
            // At least one further, or a small factor would stand still on small numbers.
            (None, Some(factor)) => ((point as f64 * factor).round() as u64).max(point + 1),
            (None, None) => break,
        };
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::EXCLUSIVE;

    fn range(text: &str) -> Vec<u64> {
        let mut diagnostics = yaml::Diagnostics::new(Vec::new());
        let text = format!("study: s\nprocedure: {{sweep: {{threads: {text}}}}}");
        let node = yaml::parse(0, &text, yaml::Limits::STUDY, &mut diagnostics).unwrap();
        let tree = crate::check::study(&node, &mut diagnostics);
        axis(
            tree.at("procedure.sweep.threads").unwrap(),
            LADDER_POINTS_MAX,
        )
    }

    #[test]
    fn points_come_from_lists_steps_and_factors() {
        for (text, expected) in [
            ("[4, 8, 16]", vec![4, 8, 16]),
            ("8", vec![8]),
            ("{from: 28, step: 28, to: 100}", vec![28, 56, 84]),
            ("{from: 1, factor: 2, to: 8}", vec![1, 2, 4, 8]),
            ("{from: 1, factor: 1.1, to: 4}", vec![1, 2, 3, 4]),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
        assert_eq!(range("{from: 28, step: 28}").len(), LADDER_POINTS_MAX);
    }

    #[test]
    fn every_procedure_that_may_be_written_is_read() {
        let table = EXCLUSIVE.iter().find(|one| one.path == "procedure");
        let read: Vec<&str> = PROCEDURES.iter().map(|(key, _)| *key).collect();
        assert_eq!(read, table.unwrap().keys);
    }
}
