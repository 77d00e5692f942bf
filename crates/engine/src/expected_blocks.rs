//! Estimates the number of blocks of a study, before the first measurement.
//!
//! The estimate uses the noise of the study's last run, if such a run exists. The smallest
//! difference that a comparison can detect depends on the machine and the workload, so it cannot be
//! known in advance.

use analysis::{Design, Looks, Metric};
use measure::number::significant;
use store::record::FindingsRecord;
use study::settings::{PrimaryMetric, Study};

/// Difference to detect, as a share, if the study does not set one.
const DETECT: f64 = 0.05;
/// Noise levels to assume if the study has no earlier run, as shares.
const NOISES: [f64; 3] = [0.02, 0.05, 0.10];
/// Minimum share of repeated studies that must find a difference for it to count as detectable.
const SHARE_MIN: f64 = 0.5;

/// Returns sentences about the result that the user can expect from the blocks of a study. The list
/// is empty if the study does not request these sentences, has no comparison, has a sequential
/// order, or has only one block. `last` contains the name and the findings of the last run.
pub fn expected(study: &Study, last: Option<(&str, &FindingsRecord)>) -> Vec<String> {
    let blocks = study.repeat.blocks;
    let has_question = study.repeat.detect.is_some() || study.repeat.first_look.is_some();
    if !has_question || study.contenders() == 0 || !study.repeat.interleaved || blocks < 2 {
        return Vec::new();
    }
    let noise = last.and_then(|(name, findings)| {
        let noise = findings::noise(study, &findings.trials);
        noise.map(|noise| (name, noise))
    });
    let Some((name, noise)) = noise else {
        let why = match last {
            None => "No run of this study has been finished yet".to_owned(),
            Some((name, _)) => format!("The run {name} has fewer than two comparable blocks"),
        };
        let mut said = vec![format!(
            "{why}, so the noise of this study (the scatter of the ratio between two trials of a \
             block) is unknown:"
        )];
        let each = NOISES.map(|noise| noise_sentence(study, noise));
        said.extend(each.map(|words| format!("  {words}")));
        return said;
    };
    vec![format!(
        "Estimated from the run {name}: {}",
        noise_sentence(study, noise)
    )]
}

/// Describes how often the blocks find the difference at this noise level, and how often they show
/// equivalence.
fn noise_sentence(study: &Study, noise: f64) -> String {
    let most = study.repeat.blocks;
    let (looks, least) = match study.repeat.first_look {
        Some(min) => (Looks::Repeated { min, max: most }, min),
        None => (Looks::Once, most),
    };
    let metric = metric(study);
    let detect = study.repeat.detect.unwrap_or(DETECT);
    let design = Design::for_study(looks, [least, most], study.contenders());
    let (there, equal) = (
        design.expect(metric, noise, detect),
        design.expect(metric, noise, 0.0),
    );
    let percent = |share: f64| format!("{} %", (share * 1e6).round() / 1e4);
    let of_hundred = |share: f64| format!("{:.0} of 100 studies", share * 100.0);
    let blocks = match looks {
        Looks::Once => format!("{most} blocks"),
        _ => format!("about {} blocks", significant(there.blocks, 2)),
    };
    let found = if there.different >= SHARE_MIN {
        format!(
            "{blocks} detect a difference of {} in {}",
            percent(detect),
            of_hundred(there.different)
        )
    } else {
        format!(
            "{most} blocks detect a difference of {} in only {}",
            percent(detect),
            of_hundred(there.different)
        )
    };
    let margin = percent(metric.margin);
    let same = if equal.equivalent >= SHARE_MIN {
        format!(
            "these blocks report variants without a difference as equivalent (within {margin}) in \
             {}",
            of_hundred(equal.equivalent)
        )
    } else {
        format!(
            "{most} blocks report variants without a difference as equivalent (within {margin}) in \
             only {}",
            of_hundred(equal.equivalent)
        )
    };
    let noise = significant(noise * 100.0, 2);
    format!("with {noise} % scatter {found}; {same}.")
}

/// Returns the metric of the primary comparison. If the study does not name a metric, returns
/// latency if a point is a rate, and otherwise throughput.
fn metric(study: &Study) -> Metric {
    let outlooks = study.variants.iter();
    let mut points = outlooks.flat_map(|variant| variant.settings.procedure.outlook().points);
    let is_latency = match study.primary.metric {
        PrimaryMetric::Named(name) => name != "ops_per_s",
        PrimaryMetric::Auto => points.any(|point| point.is_rate()),
    };
    if is_latency {
        Metric::LATENCY
    } else {
        Metric::THROUGHPUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::procedure::Point;
    use store::record::TrialFinding;
    use store::record::Verdict;
    use study::resolve::resolve;
    use study::settings::Overrides;

    fn study(rest: &str) -> Study {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {{fixed: {{threads: 8}}}}\n{rest}"
        );
        resolve("s", &text, &Overrides::default()).unwrap()
    }

    /// Returns the findings of a run in which the ratios of the pairs have the standard deviation
    /// `noise`.
    fn ran(noise: f64) -> FindingsRecord {
        let trial = |block: usize, variant: &str, ops: f64| {
            let mut finding = TrialFinding {
                variant: variant.into(),
                point: Some(Point::Threads(8)),
                block,
                verdict: Verdict::Valid,
                ..TrialFinding::default()
            };
            finding.all.ops_per_s = ops;
            finding
        };
        // Four values of ±1 have a standard deviation of 1.15.
        let side = |block: usize| [1.0, -1.0][block % 2] * noise / 1.1547;
        let both = (0..4).flat_map(|block| {
            let ratio = side(block).exp();
            [trial(block, "a", 100.0), trial(block, "b", 100.0 * ratio)]
        });
        let study = study("variants: {a: {}, b: {}}\nrepeat: {blocks: 4}\n");
        findings::combine(&study, both.collect(), &|_| None, None)
    }

    const ANSWERED: &str =
        "variants: {a: {}, b: {}}\nrepeat: {until: answered, min: 4, max: 12, detect: 5%}\n";

    #[test]
    fn the_noise_of_the_last_run_says_how_many_blocks() {
        let said = expected(&study(ANSWERED), Some(("r1", &ran(0.02))));
        assert_eq!(said.len(), 1);
        let begin = "Estimated from the run r1: with 2.0 % scatter about 5";
        assert!(said[0].starts_with(begin), "{said:?}");
        assert!(
            said[0].contains("detect a difference of 5 % in 100 of 100 studies"),
            "{said:?}"
        );
        let loud = expected(&study(ANSWERED), Some(("r1", &ran(0.1))));
        assert!(loud[0].contains("of 5 % in only "), "{loud:?}");
        let cannot = "12 blocks report variants without a difference as equivalent (within 3 %) in \
             only 0 of 100 studies";
        assert!(loud[0].contains(cannot), "{loud:?}");
    }

    #[test]
    fn without_a_run_three_noise_levels_give_three_block_counts() {
        let said = expected(&study(ANSWERED), None);
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said[0].starts_with("No run of this study"), "{said:?}");
        for (line, noise) in said[1..].iter().zip(["2.0 %", "5.0 %", "10 %"]) {
            assert!(
                line.starts_with(&format!("  with {noise} scatter ")),
                "{line}"
            );
        }
        let fixed = study("variants: {a: {}, b: {}}\nrepeat: {blocks: 5, detect: 5%}\n");
        let said = expected(&fixed, Some(("r1", &ran(0.02))));
        assert!(
            said[0].contains("scatter 5 blocks detect a difference of 5 %"),
            "{said:?}"
        );
        for rest in [
            "variants: {a: {}, b: {}}\nrepeat: {blocks: 5}\n",
            "repeat: {blocks: 5, detect: 5%}\n",
        ] {
            assert_eq!(expected(&study(rest), None), Vec::<String>::new(), "{rest}");
        }
    }
}
