//! Describes the results of searches. One text describes all searches of a variant.

use crate::result_place::{block_words, point_words, sentence_of};
use analysis::VariantName;
use analysis::autocorrelation;
use analysis::procedure::{Percentile, Point, grid};
use measure::Known;
use measure::number::{significant, whole};
use store::record::{SearchOutcome, SearchProcedure, SearchRecord};

/// Results of trials at a share of the load that a search found.
pub struct PointAtShare {
    /// Share of the found load, from 0 to 1.
    pub share: f64,
    /// Percentile that the search uses.
    pub of: Percentile,
    /// Usable trials at that share of the load, each with its point, its operations per second, and
    /// the percentile in ms.
    pub trials: Vec<(Option<Point>, f64, Known)>,
}

/// Returns a sentence for each result of a variant's searches. `blocks` is the number of blocks of
/// the run.
pub fn sentences(
    variant: &VariantName,
    blocks: usize,
    searches: &[SearchRecord],
    at_share: Option<&PointAtShare>,
) -> Vec<String> {
    let of: Vec<&SearchRecord> = searches.iter().filter(|one| one.variant == *variant).collect();
    let is_exact = |one: &&&SearchRecord| matches!(one.found(), Some(Known::Exactly(_)));
    let exact: Vec<&SearchRecord> = of.iter().filter(is_exact).copied().collect();
    let together = exact.len() > 1;
    let mut said: Vec<(String, Vec<usize>)> = Vec::new();
    for one in of.iter().filter(|one| !(together && is_exact(one))) {
        let words = with_throughput(one);
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, blocks)) => blocks.push(one.block + 1),
            None => said.push((words, vec![one.block + 1])),
        }
    }
    let mut clauses: Vec<String> = Vec::new();
    if together {
        clauses.push(mean_words(&exact));
    }
    clauses.extend(said.into_iter().map(|(words, numbers)| match blocks {
        1 => words,
        _ => format!("{words} ({})", block_words(&numbers)),
    }));
    if let Some(words) = at_share.and_then(at_share_words) {
        match clauses.as_mut_slice() {
            // One sentence states both the load that was found and the result at a share of that
            // load.
            [one] => *one += &format!("; {words}"),
            _ => clauses.push(words),
        }
    }
    let sentences = clauses.into_iter();
    sentences.map(|clause| sentence_of(variant, &clause)).collect()
}

/// Describes the end of a search. If the search found a number of threads, the text includes the
/// throughput, such as `8 threads (3,030 op/s)`.
fn with_throughput(search: &SearchRecord) -> String {
    let did = search.found_ops_per_s().filter(|_| !search.at.is_some_and(Point::is_rate));
    match (&search.ending, did) {
        (Some(ending), Some(did)) => ending.words(Some(&format!("{} op/s", whole(did.least())))),
        _ => search.words.clone(),
    }
}

/// Describes the mean result of several searches with its error. An example is `48,200 op/s (± 2.1
/// %, geometric mean of 5 searches) is the highest load with a p99 within 10 ms`.
fn mean_words(searches: &[&SearchRecord]) -> String {
    let first = searches[0];
    let mean = |of: &dyn Fn(&SearchRecord) -> Option<Known>| -> Option<(f64, Option<[f64; 2]>)> {
        let logs: Option<Vec<f64>> =
            searches.iter().map(|one| Some(of(one)?.least().ln())).collect();
        let logs = logs?;
        let interval = autocorrelation::mean_of_blocks_ci95(&logs);
        Some((autocorrelation::mean(&logs).exp(), interval))
    };
    let least = searches.iter().filter_map(|one| one.found());
    let least = least.map(Known::least).fold(f64::INFINITY, f64::min);
    // A search ends at a grid point below the true value. So the mean has an error even if all
    // results are equal.
    let half = |[low, high]: [f64; 2]| ((high - low) / 2.0).exp() * grid(least) - 1.0;
    let error = |interval: Option<[f64; 2]>| {
        let half = interval.map(|interval| significant(half(interval) * 100.0, 2));
        half.map(|half| format!("± {half} %"))
    };
    let count = searches.len();
    let found = mean(&SearchRecord::found);
    let at = found.map_or(String::new(), |(at, interval)| match first.at {
        Some(Point::Rate(_)) => {
            let error = error(interval).map_or(String::new(), |error| format!("{error}, "));
            let at = whole(at);
            format!("{at} op/s ({error}geometric mean of {count} searches)")
        }
        Some(Point::Threads(_)) | None => {
            format!("{} threads (geometric mean of {count} searches)", whole(at))
        }
    });
    let did =
        mean(&SearchRecord::found_ops_per_s).filter(|_| !first.at.is_some_and(Point::is_rate));
    let did = did.map_or(String::new(), |(did, interval)| {
        let error = error(interval).map_or(String::new(), |error| format!(" ({error})"));
        format!(", with {} op/s{error}", whole(did))
    });
    let held = match first.outcome {
        SearchOutcome::Held => ", each confirmed twice",
        _ => "",
    };
    match first.procedure {
        SearchProcedure::Band => format!("{} at {at}{did}", first.goal),
        _ => format!("{at} is the highest load with a {}{held}{did}", first.goal),
    }
}

/// Describes the trials at a share of the load, such as `at 70 % of that load, it achieved 1,667
/// op/s at 6 threads with a p99 of 22.1 ms`.
fn at_share_words(at_share: &PointAtShare) -> Option<String> {
    let in_words = at_share.trials.iter().map(|(point, ops_per_s, ms)| {
        // If the target kept up with a rate, the throughput equals the rate, so the text states
        // only the rate.
        let did = if point.is_some_and(Point::is_rate) {
            point_words(*point)
        } else {
            format!("{} op/s at {}", whole(*ops_per_s), point_words(*point))
        };
        let (of, sign) = (at_share.of.words(), ms.sign());
        format!(
            "{did} with a {of} of {sign}{} ms",
            significant(ms.least(), 3)
        )
    });
    let of_each: Vec<String> = in_words.collect();
    let percent = (at_share.share * 1000.0).round() / 10.0;
    (!of_each.is_empty()).then(|| {
        format!(
            "at {percent} % of that load, it achieved {}",
            of_each.join(", ")
        )
    })
}
