//! Describes the frames in which the profiles of two variants differ, and the cost of the profiler.

use crate::result_place::variant_words;
use analysis::profile::BLOCKS_MIN;
use measure::number::{change, changes, counted, significant};
use store::record::{
    FrameDifferenceRecord, ProfileDifferenceRecord, ProfileUnit, ProfilerCostRecord,
    ProfilesRecord, frame_label,
};

/// Maximum number of frames in the sentences of one comparison. The table has all of them.
const FRAMES_MAX: usize = 3;

/// Returns sentences about the frames of each comparison, and then about the cost of the profiler.
/// If the run has no profiles, returns a sentence with the reason.
pub fn sentences(record: &ProfilesRecord) -> Vec<String> {
    if !record.reason.is_empty() {
        return vec![format!("There are no profiles: {}.", record.reason)];
    }
    let differences = record.differences.iter().flat_map(|one| difference(record, one));
    let costs = record.profiler_costs.iter().map(profiler_cost);
    differences.chain(costs).collect()
}

/// Returns the sentence for the answer of the run, about the first comparison in which a frame
/// differs. `None` if no frame differs.
pub fn answer(record: &ProfilesRecord) -> Option<String> {
    let mut named = record.differences.iter().filter(|one| causes(one).next().is_some());
    named.next().and_then(|one| difference(record, one).into_iter().next())
}

/// Returns the named frames that no other frame explains.
fn causes(record: &ProfileDifferenceRecord) -> impl Iterator<Item = &FrameDifferenceRecord> {
    record.frames.iter().filter(|frame| frame.named && frame.explained_by.is_none())
}

fn difference(of: &ProfilesRecord, record: &ProfileDifferenceRecord) -> Vec<String> {
    let (baseline, contender) = (
        variant_words(&record.baseline),
        variant_words(&record.contender),
    );
    let blocks = counted(record.blocks, "block");
    if record.blocks < BLOCKS_MIN {
        return vec![format!(
            "The profiles of {baseline} and {contender} cover only {blocks}. cassay compares \
             frames only from {BLOCKS_MIN} blocks on."
        )];
    }
    let named: Vec<&FrameDifferenceRecord> = causes(record).collect();
    let unit = of.unit.words();
    let Some(first) = named.first() else {
        return vec![format!(
            "No frame costs significantly more or less in {contender} than in {baseline} (margin \
             {} {unit} per operation; {}, {blocks}).",
            significant(record.margin, 2),
            counted(record.frames.len(), "frame")
        )];
    };
    let mut said = vec![format!(
        "Per operation, {contender} spends {} {unit} {} than {baseline} in {}{}. An operation of \
         {baseline} takes {} {unit} in total.",
        significant(first.difference.abs(), 3),
        word(first),
        place(first),
        interval(first, of.unit),
        significant(record.costs[0], 3)
    )];
    let others: Vec<String> = named
        .iter()
        .skip(1)
        .take(FRAMES_MAX - 1)
        .map(|frame| {
            format!(
                "{} {unit} {} in {}",
                significant(frame.difference.abs(), 3),
                word(frame),
                place(frame)
            )
        })
        .collect();
    if !others.is_empty() {
        said.push(format!("It also spends {}.", others.join(", and ")));
    }
    said
}

fn word(frame: &FrameDifferenceRecord) -> &'static str {
    if frame.difference > 0.0 {
        "more"
    } else {
        "less"
    }
}

fn place(frame: &FrameDifferenceRecord) -> String {
    if frame.is_pool {
        format!("the threads of {}", frame.frame)
    } else {
        frame_label(&frame.frame)
    }
}

fn interval(frame: &FrameDifferenceRecord, unit: ProfileUnit) -> String {
    let [low, high] = match frame.ci95 {
        Some(ends) if frame.difference < 0.0 => [-ends[1], -ends[0]],
        Some(ends) => ends,
        None => return String::new(),
    };
    format!(
        " (95 % interval {} to {} {})",
        significant(low, 3),
        significant(high, 3),
        unit.words()
    )
}

fn profiler_cost(record: &ProfilerCostRecord) -> String {
    let metric = match record.metric.as_str() {
        "ops_per_s" => "throughput",
        _ => "p99",
    };
    let of = match record.variant.name() {
        Some(name) => format!(" of {name}"),
        None => String::new(),
    };
    let interval = record.ci95.map_or_else(String::new, |ends| {
        format!("95 % interval {}, ", changes(ends))
    });
    let (change, blocks) = (change(record.ratio), counted(record.blocks, "block"));
    let is_shown = record.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
    if is_shown {
        format!("The profiler changed the {metric}{of} by {change} ({interval}{blocks}).")
    } else {
        format!(
            "The trials show no effect of the profiler on the {metric}{of}: {change} \
             ({interval}{blocks})."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, difference: f64) -> FrameDifferenceRecord {
        FrameDifferenceRecord {
            frame: name.to_owned(),
            difference,
            ci95: Some([difference - 2.0, difference + 2.0]),
            named: true,
            ..FrameDifferenceRecord::default()
        }
    }

    fn record(blocks: usize, frames: Vec<FrameDifferenceRecord>) -> ProfilesRecord {
        ProfilesRecord {
            differences: vec![ProfileDifferenceRecord {
                baseline: "old".into(),
                contender: "new".into(),
                blocks,
                costs: [310.0, 360.0],
                margin: 3.1,
                frames,
            }],
            ..ProfilesRecord::default()
        }
    }

    #[test]
    fn the_first_frame_is_named_with_its_interval() {
        let mut caller = frame("org/apache/cassandra/S.run", 50.4);
        caller.explained_by = Some("lab/Burn.burn".to_owned());
        let more = frame("ReadStage", -7.0);
        let frames = vec![
            frame("lab/Burn.burn", 50.3),
            FrameDifferenceRecord {
                is_pool: true,
                ..more
            },
            caller,
        ];
        let record = record(4, frames);
        let first = "Per operation, “new” spends 50.3 µs more than “old” in Burn.burn (95 % \
                     interval 48.3 to 52.3 µs). An operation of “old” takes 310 µs in total.";
        assert_eq!(
            sentences(&record),
            [
                first,
                "It also spends 7.00 µs less in the threads of ReadStage."
            ]
        );
        assert_eq!(answer(&record).as_deref(), Some(first));
    }

    #[test]
    fn without_a_named_frame_the_answer_says_nothing() {
        let plain = FrameDifferenceRecord {
            named: false,
            ..frame("a/B.c", 1.0)
        };
        let record = record(4, vec![plain]);
        assert_eq!(
            sentences(&record),
            [
                "No frame costs significantly more or less in “new” than in “old” (margin 3.1 µs \
                 per operation; 1 frame, 4 blocks)."
            ]
        );
        assert_eq!(answer(&record), None);
    }

    #[test]
    fn few_blocks_and_a_missing_profile_are_stated() {
        let few = sentences(&record(2, Vec::new())).remove(0);
        assert!(few.contains("cover only 2 blocks"), "{few}");
        let missing = ProfilesRecord {
            reason: "the jar has no library for this machine".to_owned(),
            ..ProfilesRecord::default()
        };
        assert_eq!(
            sentences(&missing),
            ["There are no profiles: the jar has no library for this machine."]
        );
    }

    #[test]
    fn the_cost_of_the_profiler_has_its_interval() {
        let cost = ProfilerCostRecord {
            variant: "old".into(),
            metric: "ops_per_s".to_owned(),
            ratio: 0.992,
            ci95: Some([0.981, 1.004]),
            blocks: 4,
        };
        assert_eq!(
            profiler_cost(&cost),
            "The trials show no effect of the profiler on the throughput of old: -0.8 % (95 % \
             interval -1.9 to +0.4 %, 4 blocks)."
        );
        let slower = ProfilerCostRecord {
            ratio: 0.97,
            ci95: Some([0.96, 0.98]),
            ..cost
        };
        assert_eq!(
            profiler_cost(&slower),
            "The profiler changed the throughput of old by -3.0 % (95 % interval -4.0 to -2.0 %, 4 \
             blocks)."
        );
    }
}
