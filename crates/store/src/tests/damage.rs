//! Tests a run folder with every known kind of damage. A reader must never return wrong numbers.

#[expect(
    dead_code,
    reason = "a file of workload, and this test uses only a part of it"
)]
#[path = "../../../workload/src/random.rs"]
mod random;

use super::{findings, interval, plan, started, trial};
use crate::record::{HostRecord, JournalEvent, NodesRecord, SampleRecord, TrialFinding, Verdict};
use crate::{DamagedRun, HistogramKind, Run, RunWriter, list};
use random::Draws;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Number of damaged folders that the test reads.
const SEEDS: u64 = 1000;

/// Source of random damage. The same seed produces the same damage.
struct Chance(Draws);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        (self.0.bits() % end.max(1) as u64) as usize
    }
}

fn write_trial(run: &mut RunWriter, index: usize) {
    let record = trial(index);
    let mut writer = run.begin_trial(&record, &["write".to_owned()]).unwrap();
    let start_ns = writer.start_ns();
    for second in 0..3 {
        let phase = if second == 0 { "warmup" } else { "measure" };
        let interval = interval(start_ns + index as u64 * 1_000_000, second);
        writer.write_interval(phase, &interval).unwrap();
        let sample = SampleRecord {
            t_s: second as f64,
            name: "jvm.heap_used".to_owned(),
            place: "node1".to_owned(),
            unit: "B".to_owned(),
            value: (index as f64 + 1.0) * second as f64,
        };
        writer.write_samples("jvm", &[sample]).unwrap();
    }
    let host = HostRecord {
        name: format!("host{index}"),
        ..HostRecord::default()
    };
    let nodes = NodesRecord {
        format: 1,
        hosts: vec![host],
        ..NodesRecord::default()
    };
    writer.write_nodes(&nodes).unwrap();
    let log = writer.logs_dir("node1").unwrap().join("system.log");
    fs::write(log, format!("node of trial {index}\n")).unwrap();
}

fn finding(index: usize) -> TrialFinding {
    let mut finding = TrialFinding {
        index,
        verdict: Verdict::Valid,
        ops_total: 400 + index as u64,
        ..TrialFinding::default()
    };
    finding.all.ops_per_s = 100.25 * (index + 1) as f64;
    finding
}

/// Creates a run of two trials. It has a renamed earlier attempt, files added after the end of a
/// trial, and a report. The run is finished if `is_finished`, and otherwise interrupted after the
/// trials.
fn make(results: &Path, is_finished: bool) -> RunWriter {
    let mut run = RunWriter::create(results, "study: first\n", &plan("first")).unwrap();
    run.journal(None, started()).unwrap();
    write_trial(&mut run, 0);
    for index in [0, 1] {
        let slug = trial(index).slug;
        let started = JournalEvent::TrialStarted { slug: slug.clone() };
        run.journal(Some(index), started).unwrap();
        write_trial(&mut run, index);
        run.finish_trial(index, &slug, &finding(index)).unwrap();
        let late = run.trial_folder(&slug).unwrap().join("logs/node1/gc.log");
        fs::write(late, format!("pause {index}\n")).unwrap();
        run.note_added(&slug).unwrap();
    }
    if is_finished {
        let mut all = findings(Verdict::Valid);
        all.trials = vec![finding(0), finding(1)];
        all.answer = vec!["It did 200.5 op/s.".to_owned()];
        run.finish(&all, "0.1.0", None).unwrap();
        run.write_report("<html>200.5</html>", None).unwrap();
    }
    run
}

/// Returns all numbers and texts that a reader can read from the run, except the journal.
fn numbers(run: &Run) -> String {
    let mut text = String::new();
    let mut add = |value: &dyn std::fmt::Debug| writeln!(text, "{value:?}").unwrap();
    add(&run.study_yaml().unwrap());
    add(&(&run.plan, &run.findings, &run.findings_by));
    add(&run.trial_findings());
    for trial in run.trials().unwrap() {
        add(&(&trial.record, trial.nodes().unwrap()));
        let intervals = trial.intervals().unwrap();
        add(&intervals.map(Result::unwrap).collect::<Vec<_>>());
        for probe in trial.probes().unwrap() {
            let samples = trial.samples(&probe).unwrap();
            add(&samples.map(Result::unwrap).collect::<Vec<_>>());
        }
        for which in [
            HistogramKind::Latency,
            HistogramKind::Service,
            HistogramKind::Errors,
        ] {
            let histogram = trial.histogram(which, "measure", "write").unwrap();
            add(&(histogram.count(), histogram.mean_ns(), histogram.max_ns()));
        }
        add(&fs::read(trial.logs_dir().join("node1/system.log")).unwrap());
    }
    text
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = crate::file_digests::files_in(folder).unwrap().into_iter();
    names
        .map(|name| {
            let bytes = fs::read(folder.join(&name)).unwrap();
            (name, bytes)
        })
        .collect()
}

fn restore(folder: &Path, as_it_was: &BTreeMap<String, Vec<u8>>) {
    if files(folder) == *as_it_was {
        return;
    }
    fs::remove_dir_all(folder).unwrap();
    for (name, bytes) in as_it_was {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Damages the folder in a way that depends on the seed. Returns a description of the damage.
fn damage(folder: &Path, whole: &BTreeMap<String, Vec<u8>>, seed: u64) -> String {
    let mut chance = Chance(Draws::sequence(seed));
    let names: Vec<&String> = whole.keys().collect();
    let name = names[chance.below(names.len())];
    let path = folder.join(name);
    let trials = [0, 1].map(|index| folder.join("trials").join(trial(index).slug));
    let how = match chance.below(11) {
        0 => {
            fs::remove_file(&path).unwrap();
            "deleted"
        }
        1 => {
            let inner = name.split('/').skip(2).collect::<Vec<_>>().join("/");
            let [a, b] = [&trials[0], &trials[1]].map(|trial| trial.join(&inner));
            if a.is_file() && b.is_file() {
                let (of_a, of_b) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
                fs::write(&a, of_b).unwrap();
                fs::write(&b, of_a).unwrap();
            }
            "swapped between two trials"
        }
        2 => {
            let parent = path.parent().unwrap();
            if parent != folder {
                fs::remove_dir_all(parent).unwrap();
            }
            "its folder removed"
        }
        3 => {
            let aside = folder.join("aside");
            fs::rename(&trials[0], &aside).unwrap();
            fs::rename(&trials[1], &trials[0]).unwrap();
            fs::rename(&aside, &trials[1]).unwrap();
            "the folders of the trials swapped"
        }
        _ => {
            let (how, bytes) = changed(&whole[name], &mut chance);
            fs::write(&path, bytes).unwrap();
            how
        }
    };
    format!("seed {seed}: {name}: {how}")
}

/// Changes the content of a file at random. Returns a description of the change, and the new
/// content.
fn changed(whole: &[u8], chance: &mut Chance) -> (&'static str, Vec<u8>) {
    let mut bytes = whole.to_vec();
    let at = chance.below(bytes.len());
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    let line = chance.below(lines.len());
    match chance.below(7) {
        0 => ("cut", whole[..at].to_vec()),
        1 => ("emptied", Vec::new()),
        2 => {
            bytes[at] ^= 1 << chance.below(8);
            ("a bit changed", bytes)
        }
        3 => {
            let all = 0..bytes.len();
            let digits: Vec<usize> = all.filter(|at| bytes[*at].is_ascii_digit()).collect();
            if let Some(at) = digits.get(chance.below(digits.len())) {
                bytes[*at] = b'0' + (bytes[*at] - b'0' + 1) % 10;
            }
            ("another digit", bytes)
        }
        4 => (
            "a line doubled",
            [&lines[..=line], &lines[line..]].concat().concat(),
        ),
        5 => (
            "a line taken out",
            [&lines[..line], &lines[line + 1..]].concat().concat(),
        ),
        _ => ("a line added", [whole, b"{\"a\":1}\n"].concat()),
    }
}

/// Reads damaged folders, one for each seed. Returns the number of folders that the reader
/// rejected, and the number that it read.
fn read_damaged(is_finished: bool, seeds: std::ops::Range<u64>) -> (usize, usize) {
    let results = tempfile::tempdir().unwrap();
    let folder = make(results.path(), is_finished).path().to_owned();
    let as_it_was = files(&folder);
    let expected = numbers(&Run::open(&folder).unwrap());
    let (mut refused, mut read) = (0, 0);
    for seed in seeds {
        let how = damage(&folder, &as_it_was, seed);
        match Run::open(&folder) {
            Ok(run) => {
                // The reader reports damage to the journal. Such damage does not affect the numbers
                // of any trial.
                let is_same = numbers(&run) == expected;
                let said = !run.notes.is_empty();
                assert!(is_same || (!is_finished && said), "{how}");
                let unsaid = how.contains("report.html") || how.contains("attempt");
                assert!(said || unsaid || files(&folder) == as_it_was, "{how}");
                read += 1;
            }
            Err(error) => {
                if let Some(damaged) = error.downcast_ref::<DamagedRun>() {
                    let text = damaged.to_string();
                    assert!(!damaged.files.is_empty(), "{how}");
                    assert!(
                        text.contains("expected ") && text.contains("found "),
                        "{text}"
                    );
                }
                refused += 1;
            }
        }
        if seed % 4 == 0
            && let Ok(salvaged) = Run::salvage(&folder)
        {
            for (index, whole) in salvaged.whole {
                assert_eq!(
                    format!("{whole:?}"),
                    format!("{:?}", finding(index)),
                    "{how}"
                );
            }
        }
        let listed = match seed % 4 {
            1 => list(results.path()).unwrap(),
            _ => Vec::new(),
        };
        for line in listed {
            let is_said =
                line.error.is_some() || (line.verdict == Some(Verdict::Valid)) == is_finished;
            assert!(is_said, "{how}: {line:?}");
        }
        restore(&folder, &as_it_was);
    }
    (refused, read)
}

#[test]
fn no_damaged_folder_of_a_thousand_is_read_with_other_numbers() {
    let (refused, read) = read_damaged(true, 0..SEEDS);
    // If the reader rejected all folders or none, the test would be meaningless.
    assert!(refused > 500 && read > 50, "{refused} refused, {read} read");
}

#[test]
fn nor_is_an_interrupted_run() {
    let (refused, read) = read_damaged(false, SEEDS..SEEDS + 200);
    assert!(refused > 100 && read > 5, "{refused} refused, {read} read");
}

/// In an earlier version, the reader accepted each of these files without a message and returned
/// other numbers.
#[test]
fn a_damaged_file_is_named_with_what_it_was_and_what_it_is() {
    let results = tempfile::tempdir().unwrap();
    let folder = make(results.path(), true).path().to_owned();
    let as_it_was = files(&folder);
    let first = format!("trials/{}", trial(0).slug);
    let halve = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    };
    type Do<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Do<'_>, &str); 5] = [
        (
            "",
            &|path: &Path| fs::remove_dir_all(path).unwrap(),
            "finding.json: expected",
        ),
        ("/latency.hlog", &halve, "latency.hlog: expected"),
        (
            "/logs/node1/system.log",
            &|path: &Path| fs::write(path, "").unwrap(),
            "system.log: expected 16 bytes",
        ),
        ("/intervals.ndjson", &halve, "intervals.ndjson: expected"),
        (
            "/trial.json",
            &|path: &Path| {
                fs::rename(path, path.with_extension("away")).unwrap();
                std::os::unix::fs::symlink(path.with_extension("away"), path).unwrap();
            },
            "an object other than a file",
        ),
    ];
    for (path, harm, expected) in cases {
        harm(&folder.join(format!("{first}{path}")));
        let said = format!("{:#}", Run::open(&folder).unwrap_err());
        assert!(
            said.contains(expected) && said.contains("cassay resume"),
            "{said}"
        );
        let salvaged = Run::salvage(&folder).unwrap();
        assert_eq!(salvaged.whole.keys().collect::<Vec<_>>(), [&1], "{path}");
        assert!(salvaged.run.findings.is_none());
        fs::remove_dir_all(&folder).unwrap();
        restore_all(&folder, &as_it_was);
    }
}

fn restore_all(folder: &Path, as_it_was: &BTreeMap<String, Vec<u8>>) {
    fs::create_dir_all(folder).unwrap();
    restore(folder, as_it_was);
}

/// The journal has an incomplete line in the middle. The findings are intact, so the run can be
/// read and resumed. After the resume, only a note about the damage remains.
#[test]
fn a_torn_line_of_the_journal_stops_nobody() {
    let results = tempfile::tempdir().unwrap();
    let folder = make(results.path(), false).path().to_owned();
    let path = folder.join("journal.ndjson");
    let text = fs::read_to_string(&path).unwrap();
    let torn = text.replacen("\"event\":\"run_started\"", "\"ev\n", 1);
    assert_ne!(text, torn);
    fs::write(&path, torn).unwrap();
    let run = Run::open(&folder).unwrap();
    assert!(run.is_journal_damaged);
    assert!(
        run.notes[0].contains("journal.ndjson line 2"),
        "{:?}",
        run.notes
    );
    assert_eq!(run.trial_findings().len(), 2);
    let mut writer = RunWriter::resume(&folder).unwrap();
    let found = findings(Verdict::Valid);
    writer.finish(&found, "0.1.0", None).unwrap();
    let run = Run::open(&folder).unwrap();
    assert!(!run.is_journal_damaged && !run.notes.is_empty());
}

/// A name in a record points to another folder. In an earlier version, `report` read the folder of
/// another run.
#[test]
fn a_name_that_leads_out_of_the_run_is_not_followed() {
    for (file, from, to) in [
        ("plan.json", "00-threads-4", "../../../../outside"),
        ("plan.json", "\"first\"", "\"latest\""),
        ("plan.json", "\"first\"", "\"a/b\""),
    ] {
        let results = tempfile::tempdir().unwrap();
        let folder = make(results.path(), true).path().to_owned();
        // Without its journal, the run lacks the checksums that would detect the change.
        fs::write(folder.join("journal.ndjson"), "").unwrap();
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(from, to)).unwrap();
        let said = format!("{:#}", Run::open(&folder).unwrap_err());
        assert!(said.contains("cannot "), "{said}");
    }
    let results = tempfile::tempdir().unwrap();
    let run = make(results.path(), true);
    let latest = results.path().join("latest");
    let outside = tempfile::tempdir().unwrap();
    let stranger = make(outside.path(), true);
    fs::remove_file(&latest).unwrap();
    std::os::unix::fs::symlink(stranger.path(), &latest).unwrap();
    let found = crate::find(results.path(), "latest").unwrap();
    assert_eq!(found.path, fs::canonicalize(run.path()).unwrap());
}

#[test]
fn a_folder_called_latest_stops_a_run_before_it_makes_anything() {
    let results = tempfile::tempdir().unwrap();
    let refused = RunWriter::create(results.path(), "", &plan("latest")).unwrap_err();
    assert!(refused.to_string().contains("cannot have the name \"latest\""));
    fs::create_dir(results.path().join("latest")).unwrap();
    let refused = RunWriter::create(results.path(), "", &plan("first")).unwrap_err();
    assert!(
        refused.to_string().contains("move it elsewhere"),
        "{refused}"
    );
    assert!(!results.path().join("first").exists());
}

/// Two kinds of files are added after the finding of a trial was written. The logs of nodes are
/// copied when the nodes stop, and external series are added when the run ends.
#[test]
fn additions_to_a_finished_trial_are_vouched_and_others_ignored() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(results.path(), "", &plan("first")).unwrap();
    write_trial(&mut writer, 0);
    let slug = trial(0).slug;
    let finding = TrialFinding::default();
    writer.finish_trial(0, &slug, &finding).unwrap();
    let folder = writer.trial_folder(&slug).unwrap();
    fs::write(folder.join("logs/node1/gc.log.0.current"), "pause").unwrap();
    writer.note_added(&slug).unwrap();
    for value in [1.0, 2.0] {
        let sample = SampleRecord {
            t_s: 0.0,
            name: "a".to_owned(),
            place: String::new(),
            unit: "count".to_owned(),
            value,
        };
        writer.write_imported(&slug, "esxtop-a", &[sample]).unwrap();
    }
    fs::write(folder.join("probes/stranger.ndjson"), "{}\n").unwrap();
    let path = writer.path().to_owned();
    let probes = || Run::open(&path).map(|run| run.trial(0).unwrap().unwrap().probes().unwrap());
    assert_eq!(probes().unwrap(), ["esxtop-a", "jvm"]);
    // The reader makes the same check when another process resumes the run.
    drop(writer);
    let mut writer = RunWriter::resume(&path).unwrap();
    writer.finish(&findings(Verdict::Valid), "0.1.0", None).unwrap();
    assert_eq!(probes().unwrap(), ["esxtop-a", "jvm"]);
    fs::write(folder.join("logs/node1/gc.log.0.current"), "Pause").unwrap();
    let said = format!("{:#}", probes().unwrap_err());
    assert!(
        said.contains("gc.log.0.current: expected 5 bytes"),
        "{said}"
    );
}
