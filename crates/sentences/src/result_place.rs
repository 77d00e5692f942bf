//! Names the parts to which a result belongs: a point on the axis, blocks, variants and metrics.

use analysis::VariantName;
use analysis::procedure::Point;
use store::record::PEAK;

/// Names a point, such as `28 threads` or `10,000 op/s`.
pub fn point_words(point: Option<Point>) -> String {
    point.map_or_else(String::new, Point::words)
}

/// Names blocks, such as `block 3` or `blocks 1 to 4, 7`.
pub fn block_words(blocks: &[usize]) -> String {
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|one, next| one + 1 == *next);
    let words = |run: &[usize]| match run {
        [one] => one.to_string(),
        [one, next] => format!("{one}, {next}"),
        run => format!("{} to {}", run[0], run[run.len() - 1]),
    };
    let noun = if sorted.len() == 1 { "block" } else { "blocks" };
    format!("{noun} {}", runs.map(words).collect::<Vec<_>>().join(", "))
}

/// Returns the beginning of a sentence about a point, such as `At 28 threads`. Results of searches
/// have no common point, so their sentences begin with `At the loads that the searches found`.
pub fn where_words(metric: &str, place: Option<Point>) -> String {
    match metric {
        PEAK => "At the loads that the searches found".to_owned(),
        _ => format!("At {}", point_words(place)),
    }
}

/// Returns the name of the compared metric, such as `throughput` or `p99`.
pub fn metric_words(metric: &str) -> &str {
    match metric {
        "ops_per_s" => "throughput",
        PEAK => "throughput",
        other => other.rsplit('.').next().unwrap_or(other),
    }
}

/// Returns the name of a variant for the beginning of a sentence. If the study has only one
/// variant, the name is `The target`.
pub fn variant_words(variant: &VariantName) -> String {
    match variant.name() {
        None => "The target".to_owned(),
        Some(name) => format!("“{name}”"),
    }
}

/// Turns a clause about a variant into a sentence. The sentence begins with the variant's name. If
/// the study has only one variant, the sentence begins with the clause, whose first letter becomes
/// a capital. A clause that begins with a name or a number does not change.
pub fn sentence_of(variant: &VariantName, clause: &str) -> String {
    let first: String = clause.chars().take_while(|c| c.is_alphanumeric()).collect();
    let is_word = first.chars().all(char::is_alphabetic);
    match (variant.name(), clause.chars().next()) {
        (None, Some(letter)) if is_word => {
            let rest = &clause[letter.len_utf8()..];
            format!("{}{rest}.", letter.to_uppercase())
        }
        _ => format!("{}{clause}.", variant_before(variant)),
    }
}

/// Returns the prefix of a sentence about a variant, such as `“large”: `. Returns an empty string
/// if the study has only one variant.
pub fn variant_before(variant: &VariantName) -> String {
    match variant.name() {
        None => String::new(),
        Some(name) => format!("“{name}”: "),
    }
}
