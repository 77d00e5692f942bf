//! Tests the files of a finished run: every field, every file, and a self-contained report.

use super::{assert_counts_agree, rule};
use crate::cli::SMALL;
use crate::program::{Lab, ProgramOutput};
use serde_json::Value;
use std::sync::OnceLock;
use store::{HistogramKind, Run, RunState};

/// Returns the lab and the output of one run, for all tests of this module. The tests only read the
/// run or write next to it.
fn finished() -> &'static (Lab, ProgramOutput) {
    static FINISHED: OnceLock<(Lab, ProgramOutput)> = OnceLock::new();
    FINISHED.get_or_init(|| {
        // The folder is in cargo's target folder, because static values are never dropped and could
        // not remove a temporary folder.
        let lab = Lab::kept("finished", SMALL);
        let said = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab);
        (lab, said)
    })
}

fn run() -> Run {
    finished().0.run()
}

/// Fields of `findings.json` with their types. In a path, `[]` stands for each entry of a list and
/// `{}` for each entry of an object. `?` marks a value that may be null.
const FINDINGS: &[(&str, &str)] = &[
    ("format", "count"),
    ("study", "text"),
    ("verdict", "verdict"),
    ("reasons", "texts"),
    ("answer", "texts"),
    ("trials[].index", "count"),
    ("trials[].variant", "text"),
    ("trials[].point{}", "number"),
    ("trials[].block", "count"),
    ("trials[].phase", "text"),
    ("trials[].verdict", "verdict"),
    ("trials[].reasons", "texts"),
    ("trials[].rules[].rule", "text"),
    ("trials[].rules[].result", "result"),
    ("trials[].rules[].detail", "text"),
    ("trials[].seconds", "number"),
    ("trials[].ops_total", "count"),
    ("trials[].errors", "object"),
    ("trials[].errors{}", "count"),
    ("trials[].sent_in_drain", "count"),
    ("trials[].due_never_sent", "count"),
    ("trials[].late", "count"),
    ("trials[].dropped", "count"),
    ("trials[].warmup.seconds", "number"),
    ("trials[].warmup.steady", "text"),
    ("trials[].all", "series"),
    ("trials[].kinds{}", "series"),
    ("trials[].client.cpu_us_per_op", "number"),
    ("trials[].client.cpu_share", "number"),
    ("trials[].client.lag_us.p50", "number"),
    ("trials[].client.lag_us.p99", "number"),
    ("trials[].client.ceiling_ops_per_s", "number"),
    ("trials[].client.ceilings_ops_per_s[]", "number"),
    ("trials[].client.stall_ms_longest", "number"),
    ("trials[].client.stalled_share", "number"),
    ("trials[].client.quiet_ms_longest", "number"),
    ("trials[].machine.cpus", "count?"),
    ("trials[].machine.cpu_others", "number?"),
    ("trials[].client.workers", "count"),
    ("trials[].client.connections", "count"),
    ("trials[].client.memory_bytes", "count"),
    ("trials[].verify.checked", "count"),
    ("trials[].verify.missing", "count"),
    ("trials[].verify.stale", "count"),
    ("trials[].verify.wrong", "count"),
    ("trials[].server.source", "text"),
    ("trials[].server.writes", "count"),
    ("trials[].server.reads", "count"),
    ("trials[].server.client_writes", "count"),
    ("trials[].server.client_reads", "count"),
    ("comparisons[].metric", "text"),
    ("comparisons[].point{}", "number"),
    ("comparisons[].baseline", "text"),
    ("comparisons[].contender", "text"),
    ("comparisons[].ratio", "number"),
    ("comparisons[].ci95", "interval?"),
    ("comparisons[].verdict", "comparison"),
    ("faults", "list"),
];

const SERIES: &[(&str, &str)] = &[
    ("ops", "count"),
    ("ops_per_s", "number"),
    ("ops_per_s_ci95", "interval?"),
    ("latency_ms", "quantiles"),
    ("service_ms", "quantiles"),
    ("error_ms", "quantiles"),
];

const QUANTILES: &[(&str, &str)] = &[
    ("count", "count"),
    ("mean", "number"),
    ("p50", "number"),
    ("p95", "number"),
    ("p99", "number"),
    ("p999", "number"),
    ("max", "number"),
];

/// Returns the values at a path, each with its full path. A missing field is null.
fn values<'a>(value: &'a Value, path: &str, at: String) -> Vec<(String, &'a Value)> {
    if path.is_empty() {
        return vec![(at, value)];
    }
    if let Some(rest) = path.strip_prefix("[]") {
        let entries = value.as_array().unwrap_or_else(|| panic!("{at} is a list"));
        let each = entries.iter().enumerate();
        return each.flat_map(|(i, v)| values(v, rest, format!("{at}[{i}]"))).collect();
    }
    if let Some(rest) = path.strip_prefix("{}") {
        let entries = value.as_object().unwrap_or_else(|| panic!("{at} is a mapping"));
        return entries.iter().flat_map(|(k, v)| values(v, rest, format!("{at}.{k}"))).collect();
    }
    let path = path.trim_start_matches('.');
    let end = path.find(['.', '[', '{']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    values(&value[name], rest, format!("{at}.{name}"))
}

fn check_fields(value: &Value, fields: &[(&str, &str)], at: &str) {
    for (path, typ) in fields {
        for (at, value) in values(value, path, at.to_owned()) {
            check_type(value, typ, &at);
        }
    }
}

fn check_type(value: &Value, typ: &str, at: &str) {
    if typ.ends_with('?') && value.is_null() {
        return;
    }
    let is_number = |v: &Value| v.as_f64().is_some_and(f64::is_finite);
    let one_of = |words: &[&str]| value.as_str().is_some_and(|text| words.contains(&text));
    let each = |is: fn(&Value) -> bool| value.as_array().is_some_and(|l| l.iter().all(is));
    let fits = match typ.trim_end_matches('?') {
        "count" => value.is_u64(),
        "number" => is_number(value),
        "text" => value.as_str().is_some_and(|text| !text.is_empty()),
        "texts" => each(Value::is_string),
        "list" => value.is_array(),
        "object" => value.is_object(),
        "interval" => value.as_array().is_some_and(|l| l.len() == 2 && l.iter().all(is_number)),
        "verdict" => one_of(&["valid", "suspect", "invalid"]),
        "result" => one_of(&["pass", "warn", "fail", "unknown"]),
        "comparison" => one_of(&[
            "faster",
            "slower",
            "looks_different",
            "equivalent",
            "inconclusive",
        ]),
        "series" => return check_fields(value, SERIES, at),
        "quantiles" => return check_fields(value, QUANTILES, at),
        other => panic!("no type {other}"),
    };
    assert!(fits, "{at} is {value}, not a {typ}");
}

#[test]
fn findings_have_every_field_of_the_design() {
    let findings = finished().1.json();
    check_fields(&findings, FINDINGS, "findings");
    assert_eq!(findings["trials"].as_array().map(Vec::len), Some(4));
    assert!(findings["comparisons"].as_array().is_some_and(|c| !c.is_empty()));
    let rules = findings["trials"][0]["rules"].as_array().unwrap();
    let ids: Vec<_> = rules.iter().map(|r| r["rule"].as_str().unwrap().to_owned()).collect();
    let documented = include_str!("../../../../../docs/measurement.md");
    let rules_count = documented.lines().filter(|line| line.starts_with("| V")).count();
    let all: Vec<_> = (1..=rules_count).map(|number| format!("V{number}")).collect();
    assert_eq!(ids, all);
}

/// The windows of this run are only 1 s long, so rule V12 warns, and the verdict of each trial has
/// a reason.
#[test]
fn rules_and_reasons_have_their_numbers_beside_their_words() {
    let findings = finished().1.json();
    let trials = findings["trials"].as_array().unwrap();
    for trial in trials {
        let measured = rule(trial, "V12")["measured"].as_array().unwrap();
        let length = measured.iter().find(|one| one["quantity"] == "window_length").unwrap();
        let fields = [&length["limit"], &length["unit"], &length["minimum"]];
        assert_eq!(fields.map(Value::to_string), ["5.0", "\"s\"", "true"]);
        assert!(
            (0.9..1.5).contains(&length["value"].as_f64().unwrap()),
            "{length}"
        );
    }
    for judged in trials.iter().chain([&findings]) {
        let [words, records] = ["reasons", "reason_records"].map(|key| {
            let all = judged[key].as_array();
            all.unwrap_or_else(|| panic!("{key} of {judged:#}"))
        });
        assert!(!words.is_empty());
        assert_eq!(words.len(), records.len());
        for (words, record) in words.iter().zip(records) {
            let name = format!("{}: ", record["rule"].as_str().unwrap());
            assert!(words.as_str().unwrap().contains(&name), "{words} {record}");
        }
    }
}

#[test]
fn the_printed_record_equals_findings_json() {
    let mut printed = finished().1.json();
    let text = std::fs::read_to_string(run().path.join("findings.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    // Checksums are useful only next to the files that they cover, so the output must not contain
    // `files`.
    assert!(file.as_object_mut().unwrap().remove("files").is_some());
    let printed = printed.as_object_mut().unwrap();
    for key in ["run", "report"] {
        let path = printed.remove(key).unwrap();
        let path = finished().0.path().join(path.as_str().unwrap());
        assert!(path.exists(), "{key}: {}", path.display());
    }
    assert_eq!(file.as_object(), Some(&*printed));
}

#[test]
fn figures_are_those_of_a_run_that_took_place() {
    for trial in finished().1.json()["trials"].as_array().unwrap() {
        let all = &trial["all"];
        let (ops, seconds) = (
            all["ops"].as_f64().unwrap(),
            trial["seconds"].as_f64().unwrap(),
        );
        // The limits are wide, so that even a client that gets a hundredth of a CPU passes.
        assert!(ops > 10.0 && (0.9..1.5).contains(&seconds), "{trial:#}");
        let rate = all["ops_per_s"].as_f64().unwrap();
        assert!((rate * seconds / ops - 1.0).abs() < 0.01, "{trial:#}");
        let kinds = trial["kinds"].as_object().unwrap();
        let of_kinds: u64 = kinds.values().filter_map(|kind| kind["ops"].as_u64()).sum();
        assert_eq!(all["ops"].as_u64(), Some(of_kinds));
        let client = &trial["client"];
        for figure in [
            "ceiling_ops_per_s",
            "cpu_us_per_op",
            "memory_bytes",
            "connections",
        ] {
            assert!(client[figure].as_f64() > Some(0.0), "{figure}: {client}");
        }
        for clock in ["latency_ms", "service_ms"] {
            let order = ["p50", "p95", "p99", "p999", "max"].map(|q| all[clock][q].as_f64());
            assert!(order.is_sorted() && order[0] > Some(0.0), "{order:?}");
            // `ops` counts operations by completion, and `count` counts operations by intended
            // time. So operations in flight at either end of the window make a difference.
            let [count, ops] = [&all[clock]["count"], &all["ops"]].map(|n| n.as_u64().unwrap());
            assert!(count.abs_diff(ops) <= 4, "{trial:#}");
        }
        // In a closed loop, an operation is due when it is sent, so none is due and never sent.
        assert_eq!(trial["due_never_sent"], 0);
        assert_eq!(
            trial["verify"]["checked"], 0,
            "the null target stores nothing"
        );
    }
}

#[test]
fn the_server_counts_what_the_client_counts() {
    let findings = finished().1.json();
    let trials = findings["trials"].as_array().unwrap();
    trials.iter().for_each(assert_counts_agree);
    let loads = trials.iter().filter(|trial| !trial["load"].is_null());
    assert_eq!(loads.count(), 1, "equal data is loaded once");
    assert!(
        rule(&trials[0], "V7")["detail"]
            .as_str()
            .unwrap()
            .contains("the server counted")
    );
}

#[test]
fn the_files_of_a_run_are_there_and_can_be_read() {
    let run = run();
    assert_eq!(run.state, RunState::Finished);
    assert_eq!(run.study_yaml().unwrap(), SMALL);
    assert!(run.notes.is_empty(), "{:?}", run.notes);
    let latest = finished().0.path().join("results/latest");
    assert_eq!(std::fs::canonicalize(latest).unwrap(), run.path);
    assert_eq!(run.journal[0].event.name(), "run_planned");
    assert_eq!(run.journal[1].event.name(), "run_started");
    assert_eq!(run.journal.last().unwrap().event.name(), "run_finished");
    assert!(run.journal.is_sorted_by_key(|line| line.unix_ns));

    let findings = run.findings.as_ref().unwrap();
    let trials = run.trials().unwrap();
    assert_eq!(trials.len(), 4);
    for (trial, found) in trials.iter().zip(&findings.trials) {
        assert!(trial.path.ends_with(&trial.record.slug));
        let finding = std::fs::read_to_string(trial.path.join("finding.json")).unwrap();
        let finding: Value = serde_json::from_str(&finding).unwrap();
        assert_eq!(finding["ops_total"], found.ops_total);
        let log = std::fs::metadata(trial.path.join("latency.hlog")).unwrap();
        assert_eq!(finding["files"]["latency.hlog"]["bytes"], log.len());
        let measured: Vec<_> = trial
            .intervals()
            .unwrap()
            .map(Result::unwrap)
            .filter(|interval| interval.phase == "measure")
            .collect();
        assert!(measured.iter().any(|interval| interval.client.is_some()));
        for (kind, series) in &found.kinds {
            let lines = measured.iter().filter(|interval| &interval.kind == kind);
            assert_eq!(lines.map(|line| line.ok).sum::<u64>(), series.ops);
            for (which, quantiles) in [
                (HistogramKind::Latency, &series.latency_ms),
                (HistogramKind::Service, &series.service_ms),
            ] {
                let log = trial.histogram(which, "measure", kind).unwrap();
                let merged = store::convert::quantiles_ms(&log);
                let figures = |q: &store::record::QuantilesRecord| {
                    (q.count, [q.p50, q.p95, q.p99, q.p999, q.max])
                };
                assert_eq!(figures(&merged), figures(quantiles), "to the last digit");
            }
        }
    }
}

#[test]
fn a_report_stands_alone_in_one_small_file() {
    let path = run().report().unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    assert!(html.len() < 6_000_000, "{} bytes", html.len());
    for part in [
        "Does the whole way from file to report work?",
        "few",
        "many",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // The page loads no external resource. The chart library's text contains addresses of maps, but
    // the rest of the page contains no addresses.
    let page = without_scripts(&html);
    assert!(page.len() > 10_000 && page.len() < html.len() / 2);
    for opening in ["src=\"", "src='", "href=\"", "href='", "url(", "@import"] {
        for (at, _) in page.match_indices(opening) {
            let rest = page[at + opening.len()..].trim_start_matches(['"', '\'', ' ']);
            let is_inside = rest.starts_with('#') || rest.starts_with("data:");
            assert!(is_inside, "{}", &page[at..(at + 100).min(page.len())]);
        }
    }
    assert!(!html.contains("<script src") && !html.contains("<link "));
}

/// Returns the text of a page outside of `<script>…</script>`.
fn without_scripts(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, script)) = rest.split_once("<script") {
        text += before;
        rest = script.split_once("</script>").map_or("", |(_, after)| after);
    }
    text + rest
}

#[test]
fn a_report_is_written_again_from_the_files() {
    let (lab, _) = finished();
    let written = std::fs::read_to_string(run().report().unwrap()).unwrap();
    let to = lab.path().join("again.html");
    let arguments = ["report", "latest", "--to", to.to_str().unwrap(), "--json"];
    let said = lab.cassay(&arguments).ended_with(0);
    assert_eq!(said.json()["report"], to.to_str().unwrap());
    assert_eq!(std::fs::read_to_string(&to).unwrap(), written);
    let path = run().report().unwrap();
    let said = lab.cassay(&["report"]).ended_with(0);
    assert_eq!(said.stdout.trim(), path.to_str().unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
}

#[test]
fn a_run_is_found_by_every_name_it_has() {
    let (lab, _) = finished();
    let run = run();
    let id = format!("small/{}", run.stamp);
    let path = run.path.to_str().unwrap();
    let mut seen = Vec::new();
    for name in ["latest", "small", &run.stamp, &id, &id[..12], path] {
        seen.push(lab.cassay(&["show", name, "--json"]).ended_with(0).json());
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
    let text = lab.cassay(&["show"]).ended_with(0);
    assert_eq!(text.stderr, "");
    for part in ["Does the whole way", "few", "many", "suspect"] {
        assert!(text.stdout.contains(part), "{part}: {text}");
    }
    let list = lab.cassay(&["list"]).ended_with(0).stdout;
    assert!(list.contains(&format!("{id}  finished")), "{list}");
}

#[test]
fn a_file_of_another_tool_is_laid_beside_a_run_that_has_ended() {
    let lab = Lab::with(SMALL);
    lab.cassay(&["run", "study.yaml"]).measured(&lab);
    let run = lab.run();
    let began_ms = run.trial_findings()[0].started_unix_ns / 1_000_000;
    let line = |ms: u64| format!("power_watts{{instance=\"pdu1\"}} 417 {}\n", began_ms + ms);
    let file = lab.write("power.prom", &(line(100) + &line(600)));
    let file = file.to_str().unwrap();
    let said = lab.cassay(&["import", "latest", file]).ended_with(0);
    assert!(said.stdout.contains("1 series, 2 points"), "{said}");
    let report = std::fs::read_to_string(run.report().expect("a report")).unwrap();
    assert!(report.contains("power_watts"));
    // The run is still complete, because the run's checksums cover the added file.
    lab.cassay(&["show", "latest"]).ended_with(0);
    let again = lab.cassay(&["import", "latest", file]).ended_with(1);
    again.says(&["cassay has already imported"]);
    let other = lab.write("other.prom", "power_watts 417 1000\n");
    let other = lab.cassay(&["import", "latest", other.to_str().unwrap()]);
    other.ended_with(1).says(&["these times do not overlap"]);
    let trial = run.path.join("trials").join(&run.plan.trials[0].slug);
    let laid = trial.join("probes/prometheus-power.ndjson");
    std::fs::write(&laid, "").expect("it is there");
    lab.cassay(&["show", "latest"]).ended_with(5);
}
