//! The comparisons, each with its ratio, its interval and its verdict.

use crate::merged_points::{place, variant_name};
use crate::number;
use crate::page::{Block, Cell, Section, Table, TableBuilder, Tone};
use crate::run_view::RunView;
use crate::sections::results::metric_name;
use crate::sections::verdict_tone;
use analysis::{Metric, TENFOLD};
use store::record::{Bound, ComparisonRecord, Finding, MultiplicityRecord};

pub fn section(view: &RunView) -> Option<Section> {
    let records = &view.findings.comparisons;
    if records.is_empty() {
        return None;
    }
    let table = comparison_table(records, "", |table| {
        table
            .text("Baseline", |c| variant_name(&c.baseline, view))
            .text("Contender", |c| variant_name(&c.contender, view))
    });
    let many = multiplicity(view.findings.multiplicity.as_ref());
    Some(Section {
        id: "comparisons",
        title: "Comparisons".into(),
        lead: String::new(),
        blocks: std::iter::once(Block::Table(table)).chain(many.map(Block::Text)).collect(),
    })
}

/// Returns comparisons as a table. `sides` adds the columns that name the two variants or runs.
pub fn comparison_table<'a>(
    records: &'a [ComparisonRecord],
    caption: &str,
    sides: impl FnOnce(TableBuilder<&'a ComparisonRecord>) -> TableBuilder<&'a ComparisonRecord>,
) -> Table {
    let rank = |c: &ComparisonRecord| match (c.primary, &c.looks) {
        (true, _) => "primary",
        (false, Some(_)) => "secondary",
        (false, None) => "",
    };
    let compared = Table::from_records(caption, records)
        .text("Metric", |c| {
            Cell::new(metric_name(&c.metric)).detail(rank(c))
        })
        .text("Point", |c| place(c.point));
    sides(compared)
        .number("Ratio", "to baseline", |c| {
            Cell::new(ratio_words(c)).detail(beside(c)).tone(Tone::Strong)
        })
        .number("95 % interval", "", |c| {
            interval_words(c).map_or_else(Cell::absent, Cell::new)
        })
        .wide_number("p adjusted", "", |c| {
            c.p_adjusted.map_or_else(Cell::absent, |p| number::significant(p, 2).into())
        })
        // This cell is not grey, because a terminal would show an asterisk instead of the number of
        // blocks in a grey cell.
        .text("Verdict", |c| {
            Cell::new(verdict_words(c.verdict))
                .detail(verdict_detail(c))
                .tone(verdict_tone(c))
        })
        .foot(format!(
            "“Inconclusive”: the data is not decisive. “Equivalent”: the whole interval is within \
             the margin of equal variants (throughput {} %, latency {} %), even if the interval \
             excludes 1. The report states a larger difference if p is at most {} %. For \
             comparisons that are not primary, it first adjusts p for their number (Holm). So an \
             interval may exclude 1 without a decision. “Detects differences from”: the smallest \
             difference that four of five studies of this kind would find.",
            number::short(Metric::THROUGHPUT.margin * 100.0, 3),
            number::short(Metric::LATENCY.margin * 100.0, 3),
            analysis::DIFFERENCE_LEVEL * 100.0
        ))
        .build()
}

/// Describes the robust ratio. Returns an empty text unless one block is an outlier.
fn beside(c: &ComparisonRecord) -> String {
    let beside = c.robust.as_ref();
    beside.map_or_else(String::new, |beside| {
        format!(
            "({} without the weight of block {}, which differs)",
            number::ratio(beside.ratio),
            beside.block
        )
    })
}

/// Formats a ratio, such as `≥ 1.82` for a lower bound.
pub fn ratio_words(c: &ComparisonRecord) -> String {
    format!("{}{}", bound_sign(c), number::ratio(c.ratio))
}

/// Returns the 95 % interval of a ratio, or only the known end for a bound. Returns `None` if the
/// comparison has no interval.
pub fn interval_words(c: &ComparisonRecord) -> Option<String> {
    match (c.ci95, c.ci95_end) {
        (Some([low, high]), _) => {
            Some(format!("{} to {}", number::ratio(low), number::ratio(high)))
        }
        (None, end) => Some(format!("{}{}", bound_sign(c), number::ratio(end?))),
    }
}

fn bound_sign(c: &ComparisonRecord) -> &'static str {
    match c.bound {
        Some(Bound::AtLeast) => "≥ ",
        Some(Bound::AtMost) => "≤ ",
        None => "",
    }
}

pub fn verdict_words(verdict: Finding) -> String {
    verdict.name().replace('_', " ")
}

fn verdict_detail(c: &ComparisonRecord) -> String {
    let is_certain = c.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    if c.verdict == Finding::Equivalent && is_certain {
        return "(different, but within the margin)".into();
    }
    undecided(c)
}

/// Describes the difference that an undecided comparison could have detected, and the number of
/// blocks that would decide the comparison.
fn undecided(c: &ComparisonRecord) -> String {
    if !matches!(c.verdict, Finding::Inconclusive | Finding::LooksDifferent) {
        return String::new();
    }
    if c.bound.is_some() {
        return "(one value is only a lower bound)".into();
    }
    let Some(share) = c.could_see else {
        if c.blocks > 1 {
            return "(too few blocks for an interval)".into();
        }
        return "(one block: begin with 5)".into();
    };
    let detects = if share < TENFOLD {
        format!("detects differences from {}", number::percent(share))
    } else {
        "detects no difference below tenfold".to_owned()
    };
    match (c.blocks_to_settle, c.between_runs) {
        (_, Some(_)) => format!("({detects}; measure both runs in one interleaved study)"),
        (Some(blocks), None) => format!("({detects}; {blocks} blocks would decide)"),
        (None, None) => format!("({detects}; no number of blocks would decide)"),
    }
}

/// Describes the expected number of false findings.
pub fn multiplicity(many: Option<&MultiplicityRecord>) -> Option<String> {
    let many = many?;
    Some(format!(
        "{} comparisons, {} of them primary. Without real differences, separate judgements would \
         report {} differences by chance. This judgement reports at most {}.",
        many.comparisons,
        many.primary,
        number::significant(many.false_findings_one_by_one, 2),
        number::significant(many.false_findings_expected, 2)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In an earlier version, the note stated that the interval of every equivalent comparison
    /// contains 1.
    #[test]
    fn an_equivalent_beside_1_is_said_to_be_different() {
        let of = |ci95| ComparisonRecord {
            verdict: Finding::Equivalent,
            ci95: Some(ci95),
            ..ComparisonRecord::default()
        };
        let [beside, around] = [[1.094, 1.099], [0.98, 1.02]].map(of);
        assert_eq!(
            verdict_detail(&beside),
            "(different, but within the margin)"
        );
        assert_eq!(verdict_detail(&around), "");
        let foot = comparison_table(&[beside], "", |table| table).foot;
        assert!(foot.contains("throughput 3 %, latency 10 %"), "{foot}");
        assert!(!foot.contains("Sees"), "{foot}");
    }
}
