//! Tests that each kind of term is found by its name in reports, with the text of its table.

use super::*;
use analysis::limits::LimitKind;

fn texts(wanted: &str) -> String {
    let all = all().unwrap();
    // The test does not compare lines, because line breaks depend on the width of the terminal.
    let text = |one: &&Meaning| {
        let more = one.more.iter().map(|(what, text)| format!("{what}: {text}"));
        format!(
            "{} {} {}\n",
            one.name,
            one.text,
            more.collect::<Vec<_>>().join(" ")
        )
    };
    find(&all, wanted).iter().map(text).collect()
}

#[test]
fn terms_of_the_output_are_found_by_their_names() {
    for (wanted, part) in [
        ("V12", "shorter than 5 s"),
        ("v12", "Theil"),
        ("The wall clock did not jump", "V20"),
        ("window.warmup", "Time before the measured window"),
        ("warmup_max", "Maximum length of an `auto` warm-up"),
        ("procedure", "keys: sweep, band, peak"),
        ("p99_ms", "require.p99_ms"),
        ("ops_total", "operations that ended in the measured window"),
        ("latency_ms", "findings.json"),
        ("server_cpu_ms_per_op", "pidstat"),
        ("due_never_sent", "not sent when the"),
        ("rows_missing", "reads that ended without a row"),
        ("release lag", "from the intended start to the send"),
        ("lag_us", "release lag: sent"),
        ("service time", "ended − sent"),
        ("suspect", "something disturbed them"),
        ("Closed loop", "always in flight"),
        ("net-loss", "packets"),
        ("3", "the run is invalid"),
        ("exit 3", "the run is invalid"),
        ("exit code 3", "the run is invalid"),
        ("short", "less than 30 s"),
        ("operations in flight", "from its send until its answer"),
    ] {
        let texts = texts(wanted);
        assert!(texts.contains(part), "{wanted}: {texts}");
    }
    assert_eq!(texts("no such thing"), "");
}

#[test]
fn every_rule_says_what_it_asks_and_when_it_warns_or_fails() {
    for rule in pages::rules() {
        let heads: Vec<&str> = rule.more.iter().map(|(head, _)| head.as_str()).collect();
        assert!(
            heads.contains(&"asks"),
            "{} is not a row of the page",
            rule.name
        );
        let judges = heads.contains(&"warns") || heads.contains(&"fails");
        // Rules V5 and V16 never warn or fail here. A single client process has only one clock, and
        // V16 reports undeclared data as unknown.
        let is_lenient = ["V5", "V16"].contains(&rule.name.as_str());
        assert!(judges || is_lenient, "{}: {heads:?}", rule.name);
    }
}

#[test]
fn every_resource_that_may_limit_a_load_has_a_meaning() {
    let all = all().unwrap();
    for kind in LimitKind::ALL {
        let all_found = for_people(find(&all, kind.name()));
        let found = all_found.iter().find(|one| one.about == About::Limit);
        let limit = found.unwrap_or_else(|| panic!("`{kind}` is not explained"));
        let (label, full_from) = &limit.more[0];
        assert_eq!(label, "full from", "{kind}");
        // The page states the same limit as the table in the code. The client is an exception,
        // because it has two limits.
        let row = kind.row();
        let stated = match row.unit {
            "ratio" => format!("{} %", measure::number::short(row.limit * 100.0, 3)),
            _ => measure::number::short(row.limit, 4),
        };
        let is_other = kind == LimitKind::Client;
        assert!(
            *full_from == stated || is_other,
            "{kind}: {full_from}, not {stated}"
        );
    }
}

/// A field without a comment would be missing in `explain` and in the schema.
#[test]
fn every_figure_of_the_records_has_a_meaning() {
    let schema = crate::command::schema::parsed(crate::command::schema::FINDINGS).unwrap();
    let forms = schema["$defs"].as_object().unwrap().values().chain([&schema]);
    for (name, field) in forms.flat_map(|form| form["properties"].as_object()).flatten() {
        // `at_least` belongs to an older form, in which the description of the containing object
        // also covers `at_least`.
        let is_said = field["description"].is_string() || name == "at_least";
        assert!(is_said, "{name} has no comment");
    }
}

/// For a common word, `explain` shows the glossary entry first, and no field of a file.
#[test]
fn words_of_a_first_screen_are_explained_before_file_fields() {
    let all = all().unwrap();
    for word in [
        "throughput",
        "op/s",
        "p50",
        "p99",
        "p99.9",
        "latency",
        "verdict",
        "valid",
        "suspect",
        "invalid",
        "trial",
        "block",
        "variant",
        "point",
        "run",
        "window",
        "warm-up",
        "lag",
        "faster",
        "slower",
        "equivalent",
        "inconclusive",
        "in flight",
        "closed loop",
        "rate",
        "scatter",
        "error",
        "interval",
        "results",
        "ports",
        "limits",
        "exit code",
        "target",
        "measured share",
        "fault",
        "recovery",
        "lost",
        "cost",
        "requirement",
        "peak",
        "short window",
        "short_window",
        "in-flight",
        "warmup",
        "noise",
        "client machines",
        "errors",
        "load",
        "measure",
        "schema",
        "verify",
    ] {
        let found = for_people(find(&all, word));
        let first = found.first().unwrap_or_else(|| panic!("`{word}` is not explained"));
        assert_eq!(first.about, About::Word, "{word}");
        assert!(first.text.len() > 20, "{word}: {}", first.text);
    }
}

#[test]
fn the_limit_of_a_short_window_is_that_of_the_code() {
    let limit = format!("less than {} s", analysis::autocorrelation::SHORT_WINDOW_S);
    let text = texts("short window");
    assert!(text.contains(&limit), "{text}");
}

#[test]
fn the_page_for_operators_has_every_exit_code() {
    let page = include_str!("../../../../../docs/operating.md");
    for exit in Exit::ALL {
        let (first, row) = (
            exit.what().split(' ').next(),
            format!("| {} | ", exit.code()),
        );
        let line = page.lines().find_map(|line| line.strip_prefix(&row));
        let word = line.and_then(|line| line.split([' ', ';', ',']).next());
        assert_eq!(word, first, "{}", exit.code());
    }
}
