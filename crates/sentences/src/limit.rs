//! Describes the resource that was full at a knee, a peak, a difference, a fault or a drift.
//!
//! Without an experiment, the words are those of a hypothesis: a full resource coincides with a
//! limit of the load. An experiment that moves the result as predicted shows that it causes the
//! limit.

use crate::result_place::{point_words, variant_words};
use analysis::limits::LimitKind;
use measure::number::{counted, short, significant};
use store::record::ExperimentOutcome::{self, Confirmed};
use store::record::{
    ExperimentRecord, LimitCandidateRecord, LimitEvent, LimitRecord, NodeCpuRecord, limit_name,
};

/// Returns the sentences. The first names the event and the first full resource, or the resource
/// nearest its limit. The last states the CPU use of the busiest node.
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
            "{event}, but no observed resource was full. Nearest its limit was {}.",
            resource(nearest)
        ),
        (None, None) => format!("{event}, but the probes observed none of its resources."),
    }
}

fn outcome(candidate: &LimitCandidateRecord) -> Option<ExperimentOutcome> {
    Some(candidate.experiment.as_ref()?.outcome)
}

/// Returns a sentence for each experiment that refuted a candidate or has no result.
fn others(record: &LimitRecord) -> String {
    let said = record.candidates.iter().filter_map(|one| {
        let experiment = one.experiment.as_ref()?;
        let name = limit_name(one.kind);
        match experiment.outcome {
            ExperimentOutcome::Confirmed => None,
            ExperimentOutcome::Refuted => Some(format!(
                " The limit was not this one: {name}. {}",
                moved(experiment)
            )),
            ExperimentOutcome::Inconclusive => Some(format!(
                " The experiment with this resource did not decide: {name}. {}",
                moved(experiment)
            )),
            ExperimentOutcome::NotRun => Some(format!(
                " cassay did not test this resource: {name}. Reason: {}.",
                experiment.reason
            )),
        }
    });
    said.collect()
}

/// Returns the result of an experiment: `With A 2 instead of 1, throughput was 1.21 times as high
/// (95 % interval 1.15 to 1.27, 5 pairs of trials).`
fn moved(experiment: &ExperimentRecord) -> String {
    let ExperimentRecord {
        setting, from, to, ..
    } = experiment;
    let last = |path: &'_ str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let keys: Vec<String> = setting.split(" and ").map(last).collect();
    let head = format!("With {} {to} instead of {from}", keys.join(" and "));
    let Some(ratio) = experiment.ratio else {
        return format!("{head}: {}.", experiment.reason);
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

/// Returns how much CPU the nodes used, such as `The nodes used 1.7 of 2 CPUs (85 %).` `None` if
/// that is not known.
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

/// Describes a full resource with its value and its place.
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
            format!("other programs, which used {share} of the CPUs of a full machine")
        }
        LimitKind::CpuQuota => {
            format!("the CPU quota of {place}, which throttled {share} of its periods")
        }
        LimitKind::GarbageCollection => {
            format!("garbage collection on {place}, which stopped it for {share} of the time")
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
            "threads of {place} that are slow to reach a safepoint: {share} of the time in which \
             the JVM was stopped"
        ),
        LimitKind::Pause => format!("a pause of {place} as long as {share} of p99.9"),
        LimitKind::PacketLoss => {
            format!("retransmitted segments on {place}: {share} of those it sent")
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
    use store::record::limit_value;

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
            "The target had its highest load at 500 op/s, but no observed resource was full. \
             Nearest its limit was a queue of 0.31 requests at the disk machine/vda."
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
}
