//! Describes the resource that was full at a knee, a peak, a difference, a fault or a drift.
//!
//! Without an experiment, the sentences state only a hypothesis, because a full resource may merely
//! coincide with a limit of the load. An experiment that changes the result as predicted shows that
//! the resource causes the limit.

use crate::result_place::{point_words, variant_words};
use analysis::limits::LimitKind;
use measure::number::{counted, short, significant};
use store::record::ExperimentOutcome::{self, Confirmed};
use store::record::{
    ChangedSettingRecord, ExperimentRecord, LimitCandidateRecord, LimitEvent, LimitRecord,
    NodeCpuRecord,
};

/// Returns the sentences about one event. The first sentence names the event and the first full
/// resource, or the resource nearest its limit. The last sentence states the CPU use of the busiest
/// node.
pub fn sentences(record: &LimitRecord) -> String {
    let cpu = cpu_sentence(&record.nodes).map(|cpu| format!(" {cpu}"));
    sentence(record) + &others(record) + &cpu.unwrap_or_default()
}

fn sentence(record: &LimitRecord) -> String {
    let event = event(record);
    let confirmed = record.candidates.iter().find(|one| outcome(one) == Some(Confirmed));
    if let Some((one, experiment)) = confirmed.and_then(|one| Some((one, one.experiment.as_ref()?)))
    {
        return format!(
            "{event}, limited by {}. {}",
            resource(one),
            moved(experiment)
        );
    }
    match (record.candidates.first(), &record.nearest) {
        (Some(first), _) => format!("{event}, which coincides with {}.", resource(first)),
        (None, _) if record.event.is_change() => {
            format!("{event}, but no observed resource became full.")
        }
        (None, Some(nearest)) => format!(
            "{event}, but no observed resource was full. The resource nearest to its limit was {}.",
            resource(nearest)
        ),
        (None, None) => format!("{event}, but the probes observed no resources of the target."),
    }
}

fn outcome(candidate: &LimitCandidateRecord) -> Option<ExperimentOutcome> {
    Some(candidate.experiment.as_ref()?.outcome)
}

/// Returns a sentence for each experiment that refuted a candidate or was inconclusive, and one
/// sentence about the candidates without an experiment.
fn others(record: &LimitRecord) -> String {
    let mut said = String::new();
    let mut untested = Vec::new();
    for one in &record.candidates {
        let Some(experiment) = &one.experiment else {
            continue;
        };
        let name = short_name(one.kind);
        match experiment.outcome {
            ExperimentOutcome::Confirmed => {}
            ExperimentOutcome::Refuted => {
                let moved = uncapitalized(&moved(experiment));
                said.push_str(&format!(
                    " An experiment shows that the limit is not {name}: {moved}"
                ));
            }
            ExperimentOutcome::Inconclusive => {
                let moved = uncapitalized(&moved(experiment));
                said.push_str(&format!(
                    " The experiment with {name} is inconclusive: {moved}"
                ));
            }
            ExperimentOutcome::NotRun => untested.push(format!("{name} ({})", experiment.reason)),
        }
    }
    if !untested.is_empty() {
        said.push_str(&format!(" No experiment tested {}.", untested.join(", ")));
    }
    said
}

fn short_name(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Client => "the client",
        LimitKind::OtherPrograms => "other programs",
        LimitKind::CpuQuota => "the CPU quota",
        LimitKind::GarbageCollection => "garbage collection",
        LimitKind::DiskRate | LimitKind::DiskQueue => "the disk",
        LimitKind::Network => "the network link",
        LimitKind::CompactionThroughput => "the compaction throughput",
        LimitKind::Thread => "the busiest thread",
        LimitKind::Cpu => "the CPU",
        LimitKind::CommitLogSync => "the sync of the commit log",
        LimitKind::CommitLogSegments => "the wait for commit log segments",
        LimitKind::MemtableSpace => "the wait for memtable space",
        LimitKind::FlushWriters => "the flush writers",
        LimitKind::Compactors => "the compactors",
        LimitKind::Safepoints => "the safepoints",
        LimitKind::Pause => "the longest pause",
        LimitKind::PacketLoss => "packet loss",
        LimitKind::BetweenNodes => "the time that requests spend between nodes",
        LimitKind::ClientLink => "the time outside of the coordinator",
        LimitKind::ReadRepair => "read repairs",
        LimitKind::SstablesPerRead => "the number of SSTables per read",
        LimitKind::Tombstones => "the number of tombstones per read",
        LimitKind::Caches => "the caches",
        LimitKind::Stage => "the read and write threads",
        LimitKind::TransportQueue => "the coordinator threads",
        LimitKind::Shedding => "dropped requests",
    }
}

fn uncapitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Describes the result of an experiment, such as `With A 2 instead of 1, throughput was 1.21 times
/// as high (95 % interval 1.15 to 1.27, 5 pairs of trials).`
fn moved(experiment: &ExperimentRecord) -> String {
    let said = |one: &ChangedSettingRecord| {
        let key = one.setting.rsplit('.').next().unwrap_or(&one.setting);
        format!("{key} {} instead of {}", one.to, one.from)
    };
    let changes: Vec<String> = experiment.changes.iter().map(said).collect();
    let head = format!("With {}", changes.join(" and "));
    let Some(ratio) = experiment.ratio else {
        return format!("{head}, {}.", experiment.reason);
    };
    let metric = match experiment.metric.as_str() {
        "ops_per_s" => "throughput",
        _ => "p99",
    };
    let interval = experiment.ci95.map_or_else(String::new, |[low, high]| {
        format!(
            "95 % interval {} to {}, ",
            significant(low, 3),
            significant(high, 3)
        )
    });
    format!(
        "{head}, {metric} was {} times as high ({interval}{} of trials).",
        significant(ratio, 3),
        counted(experiment.blocks, "pair")
    )
}

/// States how much CPU the busiest node used, for example `The node used 1.7 of 2 CPUs (85 %).`
/// `None` if the CPU use is unknown.
fn cpu_sentence(nodes: &[NodeCpuRecord]) -> Option<String> {
    let share = |node: &&NodeCpuRecord| node.used / node.available;
    let fullest = nodes.iter().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let (used, available) = (short(fullest.used, 2), short(fullest.available, 2));
    let percent = percent(share(&fullest));
    Some(match nodes {
        [_] => format!("The node used {used} of {available} CPUs ({percent})."),
        _ => format!(
            "The busiest node, {}, used {used} of {available} CPUs ({percent}).",
            fullest.node
        ),
    })
}

fn event(record: &LimitRecord) -> String {
    let (who, at) = (variant_words(&record.variant), point_words(record.point));
    match record.event {
        LimitEvent::Knee => format!("Above {at}, more load mostly increased the latency of {who}")
            .replace("The target", "the target"),
        LimitEvent::Peak => format!("{who} had its peak at {at}"),
        LimitEvent::HighestLoad => format!("{who} had its highest load at {at}"),
        LimitEvent::OnlyLoad => format!("{who} reached its throughput at {at}"),
        LimitEvent::Difference => {
            let other = record.other.as_ref().map(variant_words).unwrap_or_default();
            format!("{who} was slower than {other}")
        }
        LimitEvent::Fault => {
            let number = record.fault.map_or(1, |number| number);
            format!(
                "Fault {number} of trial {} was in effect",
                record.trial.unwrap_or_default()
            )
        }
        LimitEvent::Drift => {
            format!(
                "Throughput drifted in trial {}",
                record.trial.unwrap_or_default()
            )
        }
    }
}

/// Describes a full resource with its value and the node, host, device or thread that was measured.
fn resource(one: &LimitCandidateRecord) -> String {
    let (place, share) = (one.place.as_str(), percent(one.value));
    let number = significant(one.value, 2);
    let (node, thread) = place.split_once('/').unwrap_or((place, ""));
    match one.kind {
        LimitKind::Client => {
            let limit = percent(one.limit);
            format!("the client itself, at {share} of its capacity (full from {limit})")
        }
        LimitKind::OtherPrograms => {
            format!(
                "other programs, which used {share} of the CPUs while the machine was fully busy"
            )
        }
        LimitKind::CpuQuota => {
            format!("the CPU quota of {place}, which throttled {share} of its periods")
        }
        LimitKind::GarbageCollection => {
            format!("garbage collection on {place}, which stopped the node for {share} of the time")
        }
        LimitKind::DiskRate => format!("the disk {place} at {share} of its limit"),
        LimitKind::DiskQueue => format!("a queue of {number} requests at the disk {place}"),
        LimitKind::Network => format!("the network link of {place} at {share} of its rate"),
        LimitKind::CompactionThroughput => format!(
            "compaction on {place} at {share} of compaction_throughput while compactions wait"
        ),
        LimitKind::Thread => format!("the thread {thread} of {node}, which uses {share} of a CPU"),
        LimitKind::Cpu => format!("the CPU of {place}, of which {share} was in use"),
        LimitKind::CommitLogSync => format!(
            "writes that wait for the sync of the commit log on {place}: the p99 of that wait is \
             {share} of the p99 of the writes"
        ),
        LimitKind::CommitLogSegments => {
            format!("{number} waits per second for a commit log segment on {place}")
        }
        LimitKind::MemtableSpace => {
            format!("{number} waits per second for memtable space on {place}")
        }
        LimitKind::FlushWriters => {
            format!("flushes that wait for a flush writer on {place} for {share} of the time")
        }
        LimitKind::Compactors => {
            format!("the compactors of {place}, {share} of which are busy while compactions wait")
        }
        LimitKind::Safepoints => format!(
            "threads of {place} that are slow to reach a safepoint: this wait was {share} of the \
             time in which the JVM was stopped"
        ),
        LimitKind::Pause => format!(
            "a pause of {place}, whose length was {share} of the p99.9 \
                                     latency"
        ),
        LimitKind::PacketLoss => {
            format!("retransmitted segments on {place}: {share} of all sent segments")
        }
        LimitKind::BetweenNodes => {
            format!("time between nodes: {share} of the time of requests on coordinator {place}")
        }
        LimitKind::ClientLink => {
            format!("time outside of coordinator {place}: {share} of the service time")
        }
        LimitKind::ReadRepair => format!("read repairs on {place}: {share} of its reads"),
        LimitKind::SstablesPerRead => format!("reads of {number} SSTables each on {place} (p99)"),
        LimitKind::Tombstones => format!("reads of {number} tombstones each on {place} (p99)"),
        LimitKind::Caches => format!("cache misses on {place}: {share} of the requests to a cache"),
        LimitKind::Stage => {
            format!(
                "requests that wait for a read or write thread of {place} for {share} of the \
                     time"
            )
        }
        LimitKind::TransportQueue => {
            format!(
                "requests that wait for a coordinator thread of {place} for {share} of the \
                     time"
            )
        }
        LimitKind::Shedding => format!("{number} dropped requests per second on {place}"),
    }
}

fn percent(share: f64) -> String {
    format!("{} %", short(share * 100.0, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::limits::Confidence;
    use analysis::procedure::Point;
    use store::record::{limit_name, limit_value};

    fn candidate(kind: LimitKind, place: &str, value: f64) -> LimitCandidateRecord {
        LimitCandidateRecord {
            kind,
            place: place.to_owned(),
            value,
            limit: kind.row().limit,
            before: None,
            confidence: Confidence::High,
            experiment: None,
        }
    }

    #[test]
    fn the_first_full_resource_is_named_as_a_hypothesis() {
        let record = LimitRecord {
            event: LimitEvent::Knee,
            point: Some(Point::Threads(16)),
            candidates: vec![candidate(LimitKind::Cpu, "host1", 0.968)],
            ..LimitRecord::default()
        };
        assert_eq!(
            sentence(&record),
            "Above 16 threads, more load mostly increased the latency of the target, which \
             coincides with the CPU of host1, of which 97 % was in use."
        );
    }

    #[test]
    fn without_a_full_resource_the_nearest_is_named() {
        let record = LimitRecord {
            event: LimitEvent::HighestLoad,
            point: Some(Point::Rate(500)),
            nearest: Some(candidate(LimitKind::DiskQueue, "machine/vda", 0.31)),
            ..LimitRecord::default()
        };
        assert_eq!(
            sentence(&record),
            "The target had its highest load at 500 op/s, but no observed resource was full. The \
             resource nearest to its limit was a queue of 0.31 requests at the disk machine/vda."
        );
    }

    #[test]
    fn every_resource_has_its_words() {
        for kind in LimitKind::ALL {
            let words = resource(&candidate(kind, "node1/GC Thread#0", 0.5));
            assert!(words.len() > 10 && words.len() < 150, "{kind}: {words}");
            assert!(!limit_name(kind).is_empty() && !limit_value(kind, 0.5).is_empty());
        }
    }

    #[test]
    fn the_busiest_node_is_named() {
        let node = |name: &str, used: f64| NodeCpuRecord {
            node: name.to_owned(),
            used,
            available: 2.0,
        };
        assert_eq!(
            cpu_sentence(&[node("node1", 1.7)]).unwrap(),
            "The node used 1.7 of 2 CPUs (85 %)."
        );
        assert_eq!(
            cpu_sentence(&[node("node1", 0.2), node("node2", 1.0)]).unwrap(),
            "The busiest node, node2, used 1 of 2 CPUs (50 %)."
        );
        assert_eq!(cpu_sentence(&[]), None);
    }

    fn tested(kind: LimitKind, outcome: ExperimentOutcome) -> LimitCandidateRecord {
        let change = ChangedSettingRecord {
            setting: "target.local.host.cpu_quota".to_owned(),
            from: "0.5".to_owned(),
            to: "0.625".to_owned(),
        };
        let is_run = outcome != ExperimentOutcome::NotRun;
        let experiment = ExperimentRecord {
            outcome,
            reason: if is_run {
                String::new()
            } else {
                "too long".to_owned()
            },
            changes: vec![change],
            metric: "ops_per_s".to_owned(),
            ratio: is_run.then_some(1.21),
            ci95: is_run.then_some([1.15, 1.27]),
            blocks: 5,
            ..ExperimentRecord::default()
        };
        LimitCandidateRecord {
            experiment: Some(experiment),
            ..candidate(kind, "host1", 0.9)
        }
    }

    #[test]
    fn each_experiment_is_named_with_its_outcome() {
        use ExperimentOutcome::{Confirmed, Inconclusive, NotRun, Refuted};
        let of = |candidates: Vec<LimitCandidateRecord>| {
            sentences(&LimitRecord {
                event: LimitEvent::HighestLoad,
                point: Some(Point::Threads(16)),
                candidates,
                ..LimitRecord::default()
            })
        };
        assert_eq!(
            of(vec![tested(LimitKind::CpuQuota, Confirmed)]),
            "The target had its highest load at 16 threads, limited by the CPU quota of host1, \
             which throttled 90 % of its periods. With cpu_quota 0.625 instead of 0.5, \
             throughput was 1.21 times as high (95 % interval 1.15 to 1.27, 5 pairs of trials)."
        );
        let said = of(vec![
            tested(LimitKind::CpuQuota, Refuted),
            tested(LimitKind::Cpu, Inconclusive),
            tested(LimitKind::Stage, NotRun),
            tested(LimitKind::Pause, NotRun),
        ]);
        let refuted = " An experiment shows that the limit is not the CPU quota: with cpu_quota \
                       0.625 instead of 0.5, ";
        assert!(said.contains(refuted), "{said}");
        assert!(
            said.contains(" The experiment with the CPU is inconclusive: with "),
            "{said}"
        );
        let untested = " No experiment tested the read and write threads (too long), the longest \
                        pause (too long).";
        assert!(said.ends_with(untested), "{said}");
    }
}
