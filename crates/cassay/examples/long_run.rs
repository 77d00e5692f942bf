//! Writes the files of runs that would take days to measure. The writers of the store write these
//! files, so they are like the files of a real run. `cargo xtask long` measures the program on
//! them.
//!
//! ```text cargo run --profile launch -p cassay --example long_run -- RESULTS STUDY SECONDS NODES
//! RUNS ``` Every trial of the study's plan gets `SECONDS` intervals of one second, with three
//! kinds of operation. It also gets one reading per second of each series of the probes, for
//! `NODES` hosts and `NODES` nodes. The files of the first trial are linked into the folders of the
//! other trials. If RUNS is 1, the run has no findings, like a run that was interrupted after its
//! last trial, and `cassay resume` does the analysis. If RUNS is higher, each run has findings.

use anyhow::{Context, Result};
use measure::{Interval, KindInterval, Times, clock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::record::{
    FORMAT, FindingsRecord, JournalEvent, PhaseTimeRecord, PlanRecord, PointRecord, ProbeRecord,
    SampleRecord, SeriesRecord, TrialFinding, TrialRecord, Verdict,
};
use store::{RunWriter, TrialWriter, convert};
use study::settings::Overrides;

/// Kinds of operation, and the number of operations per second of each kind.
const KINDS: [(&str, u64); 3] = [("read", 4_000), ("scan", 200), ("write", 4_000)];
/// Names of series of a host, among them the series in the panels of a report. `samples` adds
/// unnamed series up to the number in [`PROBES`].
const HOST: [&str; 18] = [
    "mpstat.%usr",
    "mpstat.%nice",
    "mpstat.%sys",
    "mpstat.%irq",
    "mpstat.%soft",
    "mpstat.%iowait",
    "mpstat.%steal",
    "iostat.%util",
    "iostat.rkB/s",
    "iostat.wkB/s",
    "vmstat.bi",
    "vmstat.bo",
    "sar.rxkB/s",
    "sar.txkB/s",
    "free.available",
    "vmstat.cache",
    "vmstat.free",
    "vmstat.cs",
];
const NODE: [&str; 16] = [
    "compactions.pending",
    "thread_pools.MutationStage.pending",
    "thread_pools.ReadStage.pending",
    "sstables_per_read.p99",
    "dropped.READ/s",
    "dropped.MUTATION/s",
    "client_request.Read.timeouts/s",
    "client_request.Write.timeouts/s",
    "client_request.Read.unavailables/s",
    "hints.in_progress",
    "hints.total/s",
    "commit_log.waiting_on_commit/s",
    "commit_log.waiting_on_segment/s",
    "tables.live_bytes",
    "tables.sstables",
    "compactions.bytes/s",
];
/// Names of the series of a JVM. [`MACHINE`] contains the series of the client's machine.
const JVM: [&str; 3] = ["jvm.heap_used", "gc.pause.young", "jvm.threads"];
const MACHINE: [&str; 8] = [
    "cpu.others",
    "cpu.nodes",
    "cpu.client",
    "cpu.stolen",
    "cpu.count",
    "psi.cpu.some",
    "psi.io.some",
    "disk.busy_for_others",
];
/// Probes: the name, the names of some series, and the number of series that a real probe reads on
/// one host or node.
const PROBES: [(&str, &[&str], usize); 3] = [
    ("hosts", &HOST, 62),
    ("cassandra", &NODE, 84),
    ("jvm", &JVM, 42),
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| {
        let usage = "long_run RESULTS STUDY SECONDS NODES RUNS";
        words.get(at).with_context(|| format!("usage: {usage}"))
    };
    let number = |at: usize| -> Result<u64> {
        let text = word(at)?;
        text.parse().with_context(|| format!("read the number {text:?}"))
    };
    let (seconds, nodes, runs) = (number(2)?, number(3)? as usize, number(4)?);
    for run in 0..runs {
        let of = Shape {
            seconds,
            nodes,
            run,
            is_last: runs == 1,
        };
        of.write(Path::new(word(0)?), Path::new(word(1)?))?;
    }
    Ok(())
}

struct Shape {
    seconds: u64,
    nodes: usize,
    run: u64,
    /// True if the run stays unfinished, so that `resume` can finish the run.
    is_last: bool,
}

impl Shape {
    fn write(&self, results: &Path, study: &Path) -> Result<()> {
        let study = study::resolve::read(study, &Overrides::default())?;
        let plan = study::plan::plan(&study).map_err(anyhow::Error::msg)?;
        let record = engine::plan_record::plan_record(&study, &plan, "0.1.0");
        let mut run = RunWriter::create(results, &study.text, &record)?;
        let started = JournalEvent::RunStarted {
            cassay: "0.1.0".to_owned(),
            machine: Default::default(),
            finished_before: Vec::new(),
        };
        run.journal(None, started)?;
        let mut first: Option<(PathBuf, TrialFinding)> = None;
        let mut findings = Vec::new();
        for trial in &record.trials {
            let slug = trial.slug.clone();
            run.journal(Some(trial.index), JournalEvent::TrialStarted { slug })?;
            let mut writer = run.begin_trial(trial, &KINDS.map(|(name, _)| name.to_owned()))?;
            let found = match &first {
                None => {
                    let found = self.fill(&mut writer)?;
                    first = Some((writer.path().to_owned(), found.clone()));
                    found
                }
                Some((path, found)) => {
                    let to = writer.path().to_owned();
                    drop(writer);
                    link(path, &to)?;
                    found.clone()
                }
            };
            let finding = self.trial_finding(trial, found);
            run.finish_trial(trial.index, &trial.slug, &finding)?;
            findings.push(finding);
        }
        if !self.is_last {
            run.finish(&self.findings(&record, findings), "0.1.0", None)?;
        }
        Ok(())
    }

    /// Writes the trial second by second. Returns the finding of the trial.
    fn fill(&self, files: &mut TrialWriter) -> Result<TrialFinding> {
        let mut chance = Chance(self.run + 1);
        let mut sums: Vec<(Times, Times)> = KINDS.iter().map(|_| Default::default()).collect();
        let start_ns = files.start_ns();
        for second in 0..self.seconds {
            let kinds: Vec<KindInterval> =
                KINDS.iter().map(|(_, count)| interval(*count, &mut chance)).collect();
            for (sum, kind) in sums.iter_mut().zip(&kinds) {
                sum.0.add(&kind.latency, &kind.censored.latency);
                sum.1.add(&kind.service, &kind.censored.service);
            }
            let begin_ns = start_ns + second * clock::SECOND_NS;
            let interval = Interval {
                start_ns: begin_ns,
                end_ns: begin_ns + clock::SECOND_NS,
                window_from_ns: start_ns,
                ..Interval::second(second, kinds)
            };
            files.write_interval("measure", &interval)?;
            for (probe, samples) in self.samples(second, &mut chance) {
                files.write_samples(probe, &samples)?;
            }
        }
        let found = finding_of(self.seconds as f64, &sums);
        files.write_overview(&found)?;
        Ok(found)
    }

    fn samples(&self, second: u64, chance: &mut Chance) -> Vec<(&'static str, Vec<SampleRecord>)> {
        let mut all = Vec::new();
        let mut sample = |name: String, place: &str| SampleRecord {
            t_s: second as f64 + 0.001 * chance.share(),
            name,
            place: place.to_owned(),
            unit: "count".to_owned(),
            value: (chance.share() * 1e6).round() / 1e3,
        };
        for (probe, names, count) in PROBES {
            let mut samples = Vec::new();
            for node in 1..=self.nodes {
                let place = match probe {
                    "hosts" => format!("host{node}"),
                    _ => format!("node{node}"),
                };
                let more = (names.len()..count).map(|n| format!("{probe}.more.{n}"));
                let names = names.iter().map(|name| (*name).to_owned()).chain(more);
                samples.extend(names.map(|name| sample(name, &place)));
            }
            all.push((probe, samples));
        }
        let machine = MACHINE.iter().map(|name| sample((*name).to_owned(), "machine"));
        all.push(("others", machine.collect()));
        all
    }

    /// Returns a trial's finding, which is a copy of the first trial's finding with another
    /// throughput. The throughput grows with the logarithm of the load, and varies by at most 1 %.
    fn trial_finding(&self, trial: &TrialRecord, found: TrialFinding) -> TrialFinding {
        let load = trial.point.map_or(1.0, store::record::Point::value);
        let factor = (1.0 + load).ln() * (1.0 + 0.01 * Chance(trial.index as u64).share());
        let mut all = found.all.clone();
        all.ops_per_s *= factor;
        let probe = |(probe, _, _): (&str, &[&str], usize)| ProbeRecord {
            probe: probe.to_owned(),
            place: "host1".to_owned(),
            period_s: 1.0,
            looks: self.seconds,
            ..ProbeRecord::default()
        };
        TrialFinding {
            index: trial.index,
            variant: trial.variant.clone(),
            point: trial.point,
            block: trial.block,
            probes: PROBES.map(probe).to_vec(),
            all,
            ..found
        }
    }

    fn findings(&self, plan: &PlanRecord, trials: Vec<TrialFinding>) -> FindingsRecord {
        let point = |trial: &TrialFinding| PointRecord {
            variant: trial.variant.clone(),
            point: trial.point,
            verdict: Verdict::Valid,
            blocks: 1,
            trials: vec![trial.index],
            ops_per_s: trial.all.ops_per_s * (1.0 + 0.02 * Chance(self.run).share()),
            latency_ms: trial.all.latency_ms.clone(),
            ..PointRecord::default()
        };
        FindingsRecord {
            format: FORMAT,
            study: plan.study.clone(),
            verdict: Verdict::Valid,
            points: trials.iter().map(point).collect(),
            trials,
            ..FindingsRecord::default()
        }
    }
}

/// Returns one second of measurements of one kind of operation. As on a real server, most latencies
/// are short.
fn interval(count: u64, chance: &mut Chance) -> KindInterval {
    let mut kind = KindInterval::default();
    let buckets = 250;
    for _ in 0..buckets {
        let rare = 1.0 / (1.0 - 0.999 * chance.share());
        let ns = (4e5 * rare.powf(0.7) * (1.0 + chance.share())) as u64;
        kind.succeed(false, ns + 20_000, ns, (count / buckets).max(1));
    }
    kind
}

fn finding_of(seconds: f64, sums: &[(Times, Times)]) -> TrialFinding {
    let (mut latency, mut service) = (Times::default(), Times::default());
    for (l, s) in sums {
        latency.merge(l);
        service.merge(s);
    }
    let series = |latency: &Times, service: &Times| SeriesRecord {
        ops: latency.all().count(),
        ops_per_s: latency.all().count() as f64 / seconds,
        latency_ms: convert::times_ms(latency),
        service_ms: convert::times_ms(service),
        ..SeriesRecord::default()
    };
    let of =
        |((name, _), (l, s)): (&(&str, u64), &(Times, Times))| ((*name).to_owned(), series(l, s));
    TrialFinding {
        started_unix_ns: clock::unix_ns(),
        phase: "measure".to_owned(),
        verdict: Verdict::Valid,
        seconds,
        ops_total: latency.all().count(),
        all: series(&latency, &service),
        kinds: KINDS.iter().zip(sums).map(of).collect::<BTreeMap<_, _>>(),
        phases: vec![PhaseTimeRecord {
            name: "measure".to_owned(),
            from_s: 0.0,
            to_s: seconds,
        }],
        ..TrialFinding::default()
    }
}

/// Hard-links the files of a trial, except `trial.json` and `finding.json`, into the folder of
/// another trial.
fn link(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            link(&entry.path(), &target)?;
        } else if name != "trial.json" && name != "finding.json" {
            // The folder may already contain an empty file of this name. A link needs a free name,
            // so this code removes the file.
            _ = std::fs::remove_file(&target);
            std::fs::hard_link(entry.path(), &target)
                .with_context(|| format!("link {}", target.display()))?;
        }
    }
    Ok(())
}

/// Pseudo-random numbers between 0 and 1, which are the same in every run (SplitMix64).
struct Chance(u64);

impl Chance {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
