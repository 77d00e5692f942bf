//! Tests that each mistake of a study is reported at its line and column. Also tests how scales,
//! variants and options of the command line change a study.

mod attached;
mod endurance;
mod faults;
mod kubernetes;
mod lab;
mod machines;
mod repeat;
mod required;
mod trust;
mod versions;
mod way_back;
mod without_faults;

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

const GOOD: &str = "\
study: s
question: Does it?
target: {local: {nodes: 2}}
workload: {use: standard1, mix: {write: 9, read: 1}}
data: {load: {operations: 10k}}
variants:
  a: {}
  b: {workload: {mix: {write: 1}}, target: {local: {yaml: {concurrent_writes: 64}}}}
procedure: {sweep: {threads: [4, 8]}}
scales:
  small: {data.load.operations: 1k, procedure.sweep.threads: [2], target.local.nodes: 1}
";

fn mistakes(text: &str, overrides: &Overrides, expect: Expect) {
    let shown = match resolve("s.yaml", text, overrides) {
        Ok(_) => "no mistakes".to_owned(),
        Err(diagnostics) => diagnostics.to_string(),
    };
    expect.assert_eq(&shown);
}

fn good(overrides: &Overrides) -> Study {
    resolve("s.yaml", GOOD, overrides).unwrap()
}

/// In an earlier version, cassay planned a range without its last point and did not report it.
#[test]
fn a_range_with_an_end_has_all_its_points_or_is_refused() {
    let with = |axis: &str| GOOD.replace("threads: [4, 8]", axis);
    let refused = |axis: &str| {
        let refused = resolve("s.yaml", &with(axis), &Overrides::default());
        refused.unwrap_err().to_string()
    };
    let said = refused("threads: {from: 1, to: 40, step: 1}");
    for part in [
        "s.yaml:9:44: ",
        "`procedure.sweep.threads.to` is 40",
        "32",
        "lower `to` to 32",
    ] {
        assert!(said.contains(part), "{said}");
    }
    for axis in [
        "threads: {from: 1, to: 33, step: 1}",
        "rate: {from: 1, to: 1M, factor: 1.1}",
    ] {
        assert!(
            refused(axis).contains("more points than the maximum of 32"),
            "{axis}"
        );
    }
    let study = resolve(
        "s.yaml",
        &with("threads: {from: 1, to: 32, step: 1}"),
        &Overrides::default(),
    );
    let procedure = &study.unwrap().variants[0].settings.procedure;
    assert_eq!(procedure.outlook().points.len(), 32);
}

#[test]
fn a_study_that_replaces_a_link_of_ours_is_refused_by_its_name() {
    let study = GOOD.replace("study: s", "study: latest");
    let refused = resolve("s.yaml", &study, &Overrides::default());
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("s.yaml:1:8: `study` is `latest`"), "{said}");
}

#[test]
fn five_mistakes_get_five_messages_with_line_and_column() {
    let text = "\
study: s
question: Does it?
target: {local: {nodes: 700, heep: 1GiB}}
workload: {use: standard1}
window: {measure: 10}
procedure: {sweep: {threads: [4, 8, 4]}}
verifi: {sample: 5}
";
    mistakes(
        text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:3:25: `target.local.nodes` is `700`: the maximum is 128
            s.yaml:3:30: `target.local.heep` is not a key of a study
              hint: did you mean `heap`?
            s.yaml:4:11: the mix has `read`, but the study loads no rows that this kind can read
              hint: add `data: {load: {operations: 100k}}`, or `present` if the rows exist
            s.yaml:5:19: `window.measure` is `10`: the value has no unit
              hint: write a duration with its unit, such as 10s or 250ms
            s.yaml:6:37: `procedure.sweep.threads` contains the point 4 more than once
              hint: remove the duplicates
            s.yaml:7:1: `verifi` is not a key of a study
              hint: did you mean `verify`?
        "#]],
    );
}

#[test]
fn contradictions_are_mistakes() {
    let text = "\
study: s
question: Does it?
target:
  null: {stall: {every: 1s, length: 2s}, errors: {overloadd: 0.5}}
  local: {}
workload: {use: standard1}
data: {load: {operations: 5}, present: 7, reset: snapshot}
window: {warmup: 3s, warmup_max: 4s}
procedure: {sweep: {threads: {from: 8}}, arrival: poisson}
verify: {reads: all}
";
    mistakes(
        text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:4:3: `target` has both `local` and `null`
              hint: use one of `local`, `attach`, `null`
            s.yaml:4:37: `target.null.stall.length` is longer than `target.null.stall.every`
            s.yaml:4:62: `overloadd` is not an error of the CQL protocol
              hint: did you mean `overloaded`?
            s.yaml:7:31: `data` has both `load` and `present`
              hint: use one of `load`, `present`
            s.yaml:9:30: `procedure.sweep.threads` requires one of `step`, `factor`
            s.yaml:9:30: `procedure.sweep.threads` has no end
              hint: add `to`, or `until: timeout` to the sweep
            s.yaml:9:51: `procedure.arrival: poisson` needs a rate: a closed loop has no arrivals
              hint: sweep over `rate` instead
            s.yaml:10:17: `verify.reads` needs data, but the null target stores nothing
              hint: remove this key, or use another target
        "#]],
    );
}

#[test]
fn a_misspelt_choice_of_a_section_is_one_mistake() {
    let text = "\
study: s
question: Does it?
target: {null: {}}
workload: {use: kv, mix: {write: 1}}
procedure: {fixd: {threads: 4}}
";
    mistakes(
        text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:5:13: `procedure.fixd` is not a key of a study
              hint: did you mean `fixed`?
        "#]],
    );
}

#[test]
fn missing_and_unknown_keys_are_reported_together() {
    let text = "study: s\ntarget: {}\nrequires: []\nvariants: {a: {topology: auto}}\n";
    mistakes(
        text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:1:1: `question` is missing
              hint: the key means: Question that the report answers first, in words.
            s.yaml:1:1: `workload` is missing
              hint: use, file, table, stress, nb, ycsb, easy, recorded: `cassay explain workload`
            s.yaml:1:1: `procedure` is missing
              hint: for example: procedure: {fixed: {threads: 16}}
            s.yaml:2:9: `target` requires one of `local`, `attach`, `null`
            s.yaml:3:1: `requires` is not a key of a study
              hint: did you mean `require`?
            s.yaml:4:16: a variant cannot change `topology`
              hint: use `target.local.topology`
            s.yaml:4:16: `topology` is not a key of a study
              hint: use `target.local.topology`
        "#]],
    );
}

#[test]
fn yaml_errors_have_a_place() {
    mistakes(
        "study: s\nworkload: {use: [\n",
        &Overrides::default(),
        expect![[r#"
            s.yaml:3:1: not valid YAML: while parsing a node, did not find expected node content
        "#]],
    );
    mistakes(
        "",
        &Overrides::default(),
        expect![[r#"
        s.yaml:1:1: the study is empty
          hint: `cassay new` writes one
    "#]],
    );
    mistakes(
        "just words",
        &Overrides::default(),
        expect![[r#"
            s.yaml:1:1: a study is a mapping of keys, not `just words`
              hint: begin the file with `study: a-name`
        "#]],
    );
}

#[test]
fn a_literal_password_is_refused_and_not_repeated() {
    let text = GOOD.replace(
        "{local: {nodes: 2}}",
        "{attach: {contact_points: [h], user: u, password: hunter2}}",
    );
    let diagnostics = resolve("s.yaml", &text, &Overrides::default()).unwrap_err();
    assert!(!diagnostics.to_string().contains("hunter2"));
    let about = diagnostics.list.iter().filter(|d| d.secret);
    let lines: Vec<_> = about.map(|d| (d.line, d.message.as_str())).collect();
    let message = "`target.attach.password` does not name the source of the secret";
    assert_eq!(lines, [(3, message)]);
}

#[test]
fn mistakes_on_the_command_line_look_like_those_in_the_file() {
    let overrides = Overrides {
        target: Some("nul".into()),
        scale: Some("smal".into()),
        set: vec![
            "window.measure=fast".into(),
            "windo.measure=1s".into(),
            "x".into(),
        ],
        ..Overrides::default()
    };
    mistakes(
        GOOD,
        &overrides,
        expect![[r#"
        --target:1:1: `nul` is not a target
          hint: write null, local, or attach:HOST[:PORT]
        --set:1:16: `window.measure` is `fast`: the value does not begin with a digit
          hint: write a duration with its unit, such as 10s or 250ms
        --set:1:1: `windo` is not a key of a study
          hint: did you mean `window`?
        --set:1:1: `x` does not have the form dotted.path=value
          hint: for example --set window.measure=5s
        --scale:1:1: `smal` is not a scale of the study
          hint: did you mean `small`?
    "#]],
    );
}

#[test]
fn a_mistake_in_a_scale_that_was_not_asked_for_is_found() {
    let text = GOOD.replace("[2]", "[0]");
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
        s.yaml:11:63: `procedure.sweep.threads` is `0`: the minimum is 1
    "#]],
    );
}

#[test]
fn variants_change_what_they_name_and_nothing_else() {
    let study = good(&Overrides::default());
    let [a, b] = study.variants.as_slice() else {
        panic!("two variants")
    };
    assert_eq!(
        a.settings.workload.mix,
        [("write".into(), 9.0), ("read".into(), 1.0)]
    );
    assert_eq!(b.settings.workload.mix, [("write".into(), 1.0)]);
    let (Target::Local(a), Target::Local(b)) = (&a.settings.target, &b.settings.target) else {
        panic!("local targets")
    };
    assert_eq!((a.nodes, b.nodes), (2, 2));
    assert_eq!((a.yaml.len(), b.yaml.len()), (0, 1));
}

#[test]
fn scale_set_and_seed_are_laid_over_the_study() {
    let study = good(&Overrides {
        scale: Some("small".into()),
        set: vec![
            "window.measure=2s".into(),
            "procedure.sweep.rate=[5k]".into(),
        ],
        seed: Some(42),
        ..Overrides::default()
    });
    let settings = &study.variants[0].settings;
    assert_eq!(study.seed, 42);
    assert_eq!(settings.data.load_rows, 1000);
    assert_eq!(settings.window.measure_ns, 2_000_000_000);
    assert_eq!(
        settings.procedure.outlook().points,
        [analysis::procedure::Point::Rate(5000)]
    );
}

#[test]
fn the_target_flag_replaces_all_targets_and_names_the_dropped() {
    let overrides = Overrides {
        target: Some("null".into()),
        ..Overrides::default()
    };
    let study = good(&overrides);
    for variant in &study.variants {
        assert_eq!(variant.settings.target.kind(), "null");
        assert_eq!(
            variant.settings.verify.sample,
            crate::settings::Sample::Rows(0)
        );
    }
    assert_eq!(study.notes.len(), 1);
}

fn notes_of(one: &str, other: &str) -> Vec<String> {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{stress: '{one}'}}\n\
         variants:\n  one: {{}}\n  other: {{workload: {{stress: '{other}'}}}}\n"
    );
    let study = resolve("s", &text, &Overrides::default());
    let mut notes = study.unwrap_or_else(|mistakes| panic!("{mistakes}")).notes;
    // These variants may be equal. Another test covers the note about that.
    notes.retain(|note| !note.contains("(an A/A test)"));
    notes
}

#[test]
fn notes_of_imports_appear_once_and_name_variants_if_not_all() {
    let plain = "write n=10 no-warmup -rate threads=1 -errors retries=0";
    let graph = format!("{plain} -graph file=x");
    let jmx = format!("{graph} -jmx user=x");
    let note = "`-graph` has no effect: the report contains the graphs.";
    assert_eq!(notes_of(plain, plain), Vec::<String>::new());
    assert_eq!(notes_of(&graph, &graph), [note]);
    assert_eq!(notes_of(plain, &graph), [format!("other: {note}")]);
    let both = notes_of(&graph, &jmx);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.contains(&note.to_owned()), "{both:?}");
    assert!(
        both.iter().any(|n| n.starts_with("other: `-jmx`")),
        "{both:?}"
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        let _ = resolve("s", &text, &Overrides::default());
    }

    #[test]
    fn no_damaged_study_makes_it_panic(
        cut in 0..GOOD.len(), insert in "[-a:{}\\[\\],0-9kM \n]{0,8}", to in 0..GOOD.len()
    ) {
        let (a, b) = (cut.min(to), cut.max(to));
        let text = format!("{}{insert}{}", &GOOD[..a], &GOOD[b..]);
        let _ = resolve("s", &text, &Overrides::default());
    }

    #[test]
    fn no_set_makes_it_panic(set in "[a-z.=\\[{:,µ 0-9]{0,30}") {
        let overrides = Overrides { set: vec![set], ..Overrides::default() };
        let _ = resolve("s", GOOD, &overrides);
    }
}

#[test]
fn a_band_that_cannot_be_searched_for_is_refused() {
    let band = |text: &str| GOOD.replace("sweep: {threads: [4, 8]}", &format!("band: {text}"));
    let text = band("{threads: {from: 300, step: 1, to: 200}, p99_ms: [100, 50]}")
        .replace("procedure.sweep.threads: [2], ", "");
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
        s.yaml:9:19: `procedure.band` may need 301 trials per variant and block; the maximum is 32
          hint: use larger steps, or a lower `to`
        s.yaml:9:54: `procedure.band.threads.to` is below `procedure.band.threads.from`
        s.yaml:9:68: `procedure.band.p99_ms` must be a lower and an upper limit, in this order
          hint: write `[50, 100]`
    "#]],
    );
    let text = band("{threads: {from: 300, step: 50}, p99_ms: 50}")
        .replace("procedure.sweep.threads: [2], ", "");
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
        s.yaml:9:29: `procedure.band.threads.to` is missing
          hint: the key means: Maximum number of operations in flight.
        s.yaml:9:60: `procedure.band.p99_ms` must be a lower and an upper limit, in this order
          hint: write `[50, 100]`
    "#]],
    );
}

#[test]
fn a_search_says_where_it_begins_and_ends_and_what_it_keeps_to() {
    let study = |procedure: &str| {
        format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {procedure}\n"
        )
    };
    let refused = |procedure: &str| {
        let refused = resolve("s.yaml", &study(procedure), &Overrides::default());
        refused.unwrap_err().to_string()
    };
    for (procedure, why) in [
        (
            "{peak: {rate: {from: 1k, to: 100}, p99_ms: 10}}",
            "`procedure.peak.rate.to` is below `procedure.peak.rate.from`",
        ),
        ("{peak: {rate: {from: 1k, to: 2k}}}", "p99_ms"),
        (
            "{peak: {rate: {from: 1k, to: 2k}, p99_ms: 1, p50_ms: 1}}",
            "p50_ms",
        ),
        (
            "{peak: {rate: {from: 1k}, p99_ms: 1}}",
            "`procedure.peak.rate.to` is missing",
        ),
        ("{peak: {p99_ms: 10}}", "rate"),
        (
            "{peak: {threads: {from: 1, to: 8}, p99_ms: 10, errors: 0.5}}",
            "procedure.peak.errors",
        ),
        (
            "{latency_target: {threads: {from: 4, to: 2}, p50_ms: 10}}",
            "`procedure.latency_target.threads.to` is below",
        ),
        (
            "{sweep: {threads: [1, 2], until: saturation}}",
            "`procedure.sweep.until: saturation` requires a sweep over `rate`",
        ),
        (
            "{peak: {threads: {from: 1, to: 8}, p99_ms: 10}, arrival: poisson}",
            "needs a rate",
        ),
    ] {
        let said = refused(procedure);
        assert!(said.contains(why), "{procedure}: {said}");
    }
    for (procedure, points) in [
        (
            "{peak: {rate: {from: 1k, to: 64k}, p999_ms: 10, expected: 0.7}, arrival: poisson}",
            1,
        ),
        ("{peak: {threads: {from: 4, to: 64}, p95_ms: 10}}", 1),
        (
            "{latency_target: {threads: {from: 4, to: 64}, p50_ms: 10, pending_compactions: 9}}",
            1,
        ),
        ("{sweep: {threads: [1, 2], until: plateau}}", 2),
        ("{sweep: {rate: [10, 20], until: saturation}}", 2),
    ] {
        let study = resolve("s", &study(procedure), &Overrides::default())
            .unwrap_or_else(|why| panic!("{procedure}: {why}"));
        let outlook = study.variants[0].settings.procedure.outlook();
        assert_eq!(
            (outlook.points.len(), outlook.certain),
            (points, 1),
            "{procedure}"
        );
        assert!(outlook.decided_by.is_some());
    }
}
