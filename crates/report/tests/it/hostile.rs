//! Tests pages made from untrusted text, such as names, questions and errors. None of this text may
//! become markup, script or a terminal's command, and the page must not load anything from
//! elsewhere.

use crate::fixture;
use base64::Engine;
use data_encoding::HEXLOWER;
use report::{RunView, compare, html, page, text};
use sha2::Digest;
use std::io::Read;
use store::record::*;

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">&\u{1b}[2J";

fn hostile_figures() -> PublishedRecord {
    let published = serde_json::json!({
        "title": HOSTILE, "link": HOSTILE, "system": HOSTILE, "claims": [HOSTILE],
        "unknown": [HOSTILE], "figures": [{ "place": HOSTILE, "what": HOSTILE }],
        "ratios": [{ "what": HOSTILE, "metric": HOSTILE, "of": HOSTILE, "to": HOSTILE }],
    });
    serde_json::from_value(published).expect("published figures")
}

fn hostile_scale_up() -> ScaleUpRecord {
    let ratio = serde_json::json!({ "value": 0.9, "blocks": 3 });
    let scale_up = serde_json::json!({
        "load": HOSTILE, "arm": HOSTILE, "unit": HOSTILE, "instances": HOSTILE,
        "units_per_socket": 4, "sockets": 2, "sentences": [HOSTILE], "without_best": HOSTILE,
        "bound": { "name": HOSTILE, "at_most_ns": 1 },
        "points": [{
            "units": 4, "sockets": 2, "split": [2, 2], "variant": HOSTILE, "verdict": "valid",
            "missing": HOSTILE, "ops_per_s": 10.0, "ops_per_s_blocks": [10.0],
        }],
        "efficiencies": [{ "name": "socket", "missing": HOSTILE, "ratio": ratio }],
        "fits": [
            { "model": "amdahl", "refused": HOSTILE, "without_peak": "first" },
            {
                "model": "usl", "best": true, "x1": 5.0, "without_peak": "first",
                "coefficients": [{ "name": HOSTILE, "value": 0.1 }],
            },
        ],
        "improvements": [{
            "against": HOSTILE, "units": 4, "sockets": 2, "baseline_sockets": 1, "fills": "system",
            "missing": HOSTILE, "ratio": ratio,
        }],
    });
    serde_json::from_value(scale_up).expect("a scale-up")
}

fn hostile_profiles() -> ProfilesRecord {
    let tree = serde_json::json!({
        "names": [HOSTILE, HOSTILE], "name": [0, 1, 7], "depth": [0, 1, 2], "cost": [2, 1, 1],
    });
    let frame = serde_json::json!({
        "frame": HOSTILE, "difference": 1, "ci95": [0.5, 1.5], "named": true,
        "explained_by": HOSTILE,
    });
    let profiles = serde_json::json!({
        "event": HOSTILE, "run": HOSTILE, "says": [HOSTILE],
        "variants": [{ "variant": HOSTILE, "cost": 2, "tree": tree }],
        "differences": [{ "baseline": HOSTILE, "contender": HOSTILE, "frames": [frame] }],
        "profiler_costs": [{ "variant": HOSTILE, "metric": HOSTILE, "ratio": 1 }],
    });
    serde_json::from_value(profiles).expect("profiles")
}

/// Returns a run with the hostile text wherever a user's text can occur.
fn hostile_run() -> RunView {
    let mut run = fixture::run(1);
    (run.name, run.folder) = (HOSTILE.into(), HOSTILE.into());
    run.plan.study = HOSTILE.into();
    run.plan.question = HOSTILE.into();
    run.plan.rerun = HOSTILE.into();
    run.plan.scale = Some(HOSTILE.into());
    let request = serde_json::json!({
        "kind": HOSTILE, "cql": HOSTILE, "consistency": HOSTILE, "batch": HOSTILE,
    });
    let resolved = serde_json::json!({
        HOSTILE: [HOSTILE, { "a": HOSTILE }],
        "notes": [HOSTILE],
        "overrides": { "inputs": { HOSTILE: HOSTILE } },
        "requests": { HOSTILE: [request], "on": [] },
    });
    run.plan.resolved = serde_json::from_value(resolved).expect("a plan");
    run.findings.reasons = vec![HOSTILE.into()];
    run.findings.published = Some(hostile_figures());
    run.findings.scale_ups = vec![hostile_scale_up(), hostile_scale_up()];
    run.findings.profiles = Some(hostile_profiles());
    run.findings.answer = vec![HOSTILE.into()];
    run.facts = vec![(HOSTILE.into(), HOSTILE.into())];
    run.nodes[0].name = HOSTILE.into();
    run.nodes[0].settings.insert(HOSTILE.into(), HOSTILE.into());
    for trial in &mut run.plan.trials {
        trial.variant = HOSTILE.into();
        trial.settings = serde_json::json!({ HOSTILE: HOSTILE });
    }
    for point in &mut run.points {
        point.variant = HOSTILE.into();
        point.kind = HOSTILE.into();
    }
    for trial in &mut run.findings.trials {
        trial.variant = HOSTILE.into();
        trial.reasons = vec![HOSTILE.into()];
        trial.errors.insert(HOSTILE.into(), 3);
        for rule in &mut trial.rules {
            rule.detail = HOSTILE.into();
        }
        spoil_lab(trial);
    }
    run.findings.requirements = vec![RequirementRecord {
        variant: HOSTILE.into(),
        says: HOSTILE.into(),
        ..RequirementRecord::default()
    }];
    for comparison in &mut run.findings.comparisons {
        comparison.metric = HOSTILE.into();
    }
    for trial in &mut run.trials {
        for interval in trial.intervals.iter_mut().filter(|i| i.kind == "read") {
            interval.kind = HOSTILE.into();
            interval.errors.insert(HOSTILE.into(), 1);
        }
        for sample in &mut trial.probes {
            sample.name = HOSTILE.into();
            sample.place = HOSTILE.into();
            sample.unit = HOSTILE.into();
        }
        trial.nodes = Some(hostile_nodes());
    }
    run
}

fn spoil_lab(trial: &mut TrialFinding) {
    trial.phases = vec![PhaseTimeRecord {
        name: HOSTILE.into(),
        from_s: 0.0,
        to_s: 5.0,
    }];
    trial.probes = vec![ProbeRecord {
        probe: HOSTILE.into(),
        place: HOSTILE.into(),
        problems: vec![HOSTILE.into()],
        ..ProbeRecord::default()
    }];
    trial.data = Some(DataRecord {
        snapshot: HOSTILE.into(),
        fingerprints: [(HOSTILE.to_string(), HOSTILE.to_string())].into(),
        ..DataRecord::default()
    });
}

/// Returns hosts and nodes with the hostile text wherever an answer of a node can occur.
fn hostile_nodes() -> NodesRecord {
    let pair = || [(HOSTILE.to_string(), HOSTILE.to_string())].into();
    let node = |name: &str| NodeRecord {
        name: name.into(),
        rack: HOSTILE.into(),
        state: HOSTILE.into(),
        settings: pair(),
        flags: pair(),
        jvm: [(HOSTILE.to_string(), name.to_string())].into(),
        ..NodeRecord::default()
    };
    let proof = |holds| ProofRecord {
        key: HOSTILE.into(),
        wanted: HOSTILE.into(),
        holds,
        ..ProofRecord::default()
    };
    let placement = |who: &str| PlacementRecord {
        who: who.into(),
        host: HOSTILE.into(),
        cpus: format!("0-1,{HOSTILE},7-3,1-99999999999"),
        mems: HOSTILE.into(),
        topology: HOSTILE.into(),
        notes: vec![HOSTILE.into()],
        ..PlacementRecord::default()
    };
    NodesRecord {
        isolation: HOSTILE.into(),
        hosts: vec![HostRecord {
            machine: None,
            name: HOSTILE.into(),
            limits: pair(),
            ..HostRecord::default()
        }],
        nodes: vec![node(HOSTILE), node("node2")],
        proofs: vec![proof(true), proof(false)],
        host_settings: vec![HostSettingRecord {
            host: HOSTILE.into(),
            setting: HOSTILE.into(),
            value: HOSTILE.into(),
            verdict: store::record::SettingVerdict::Warning,
            fix: HOSTILE.into(),
            ..HostSettingRecord::default()
        }],
        machines: vec![hostile_machine()],
        placements: vec![placement(HOSTILE), placement("client")],
        unseen: vec![HOSTILE.into()],
        ..NodesRecord::default()
    }
}

/// Returns a machine whose record contains nonsense wherever possible, with one core to draw.
fn hostile_machine() -> MachineTopologyRecord {
    MachineTopologyRecord {
        hosts: vec![MachineHostRecord {
            name: HOSTILE.into(),
            cpus: HOSTILE.into(),
            mems: HOSTILE.into(),
        }],
        source: HOSTILE.into(),
        packages: vec![PackageRecord {
            os: Some(u32::MAX),
            cpus: HOSTILE.into(),
        }],
        numa_nodes: vec![NumaNodeRecord {
            kind: HOSTILE.into(),
            memory_bytes: Some(u64::MAX),
            cpus: "0-3".into(),
            ..NumaNodeRecord::default()
        }],
        cores: vec!["0-1".into(), HOSTILE.into(), String::new(), "1-2".into()],
        kinds: [(HOSTILE.to_string(), "0-1".to_string())].into(),
        offline: HOSTILE.into(),
        distances: vec![vec![1, 2, 3], Vec::new()],
        devices: vec![DeviceRecord {
            kind: HOSTILE.into(),
            name: HOSTILE.into(),
            numa_node: Some(0),
        }],
        notes: vec![HOSTILE.into()],
        ..MachineTopologyRecord::default()
    }
}

/// Returns the page without the chart library, which does not come from the run.
fn own(html: &str) -> String {
    let Some(start) = html.find("id=\"chart-library\">") else {
        return html.into();
    };
    let end = start + html[start..].find("</script>").expect("the element ends");
    format!("{}{}", &html[..start], &html[end..])
}

#[test]
fn no_text_of_a_study_becomes_markup_or_script() {
    let run = hostile_run();
    for page in [
        page(&run),
        compare(&run, &fixture::run(1)),
        compare(&run, &run),
    ] {
        let html = own(&html(&page));
        assert!(!html.contains("<img"), "an element came through");
        assert!(!html.contains("<script>alert"), "a script came through");
        // The page has as many ends as beginnings of script elements, so the text did not close a
        // script element.
        assert_eq!(
            html.matches("<script").count(),
            html.matches("</script>").count()
        );
        assert!(html.contains("&lt;img src=x onerror=&quot;alert(&#39;2&#39;)&quot;&gt;&amp;"));
    }
}

#[test]
fn figures_stay_json_and_their_text_stays_text() {
    let html = own(&html(&page(&hostile_run())));
    let mut figures = 0;
    for part in html.split("<script type=\"application/json\">").skip(1) {
        let json = part.split("</script>").next().expect("an end");
        let figure: serde_json::Value = serde_json::from_str(json).expect("a figure is JSON");
        // This element contains the data of a call tree, whose script writes names only as text.
        if figure["frames"].is_array() {
            continue;
        }
        // plotly interprets tags in names, so names must not contain tags.
        for trace in figure["data"].as_array().expect("traces") {
            let name = trace["name"].as_str().unwrap_or("");
            assert!(!name.contains('<'), "{name}");
        }
        figures += 1;
    }
    assert!(figures > 10, "{figures}");
}

#[test]
fn the_terminal_gets_no_control_characters() {
    let text = text(&page(&hostile_run()));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn the_page_loads_nothing_and_forbids_loading() {
    let html = html(&page(&fixture::run(3)));
    assert!(html.contains("content=\"default-src 'none';"));
    let own = own(&html);
    for load in [
        "http:", "https:", "src=", "@import", "url(", "<link", "<iframe", "fetch(",
    ] {
        assert!(!own.contains(load), "{load}");
    }
    assert_eq!(library(&html).matches("* plotly.js (basic").count(), 1);
}

#[test]
fn the_chart_library_is_the_file_that_its_readme_names() {
    let html = html(&page(&fixture::run(3)));
    let digest = HEXLOWER.encode(&sha2::Sha256::digest(library(&html)));
    assert!(include_str!("../../assets/plotly/README.md").contains(&digest));
}

#[test]
fn no_script_or_style_runs_but_our_own() {
    let digest = |text: &str| {
        let digest = sha2::Sha256::digest(text);
        let digest = base64::engine::general_purpose::STANDARD.encode(digest);
        format!("'sha256-{digest}'")
    };
    let html = html(&page(&hostile_run()));
    let policy = html
        .split("Content-Security-Policy\" content=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a policy");
    let directive = |name: &str| {
        let mut all = policy.split(';').map(str::trim);
        let found = all.find_map(|one| one.strip_prefix(name));
        let sources = found.expect(name).split_whitespace();
        sources.map(str::to_owned).collect::<Vec<_>>()
    };
    let element = |name: &str| {
        let text = html
            .split(&format!("<{name}>"))
            .nth(1)
            .expect(name)
            .split(&format!("</{name}>"))
            .next()
            .expect(name);
        digest(text)
    };
    // The script of tables comes first, then those of call trees and charts.
    let scripts: Vec<String> = html
        .split("<script>")
        .skip(1)
        .map(|rest| digest(rest.split("</script>").next().expect("an end")))
        .collect();
    let [tables, trees, charts] = &scripts[..] else {
        panic!("{} scripts", scripts.len());
    };
    let mut allowed = directive("script-src");
    let mut known = vec![
        tables.clone(),
        trees.clone(),
        charts.clone(),
        digest(&library(&html)),
    ];
    allowed.sort();
    known.sort();
    assert_eq!(allowed, known);
    assert_eq!(directive("style-src-elem"), [element("style"), digest("")]);
    assert_eq!(html.matches("<style").count(), 1);
}

/// Unpacks the chart library in the same way as the page's script.
fn library(html: &str) -> String {
    let mut found = html.split("id=\"chart-library\">").skip(1);
    let packed = found.next().expect("the library is there");
    assert!(found.next().is_none(), "one copy of the chart library");
    let packed = packed.split("</script>").next().expect("the element ends");
    let packed = base64::engine::general_purpose::STANDARD.decode(packed).expect("base64");
    let mut text = String::new();
    let mut unpacked = flate2::read::GzDecoder::new(packed.as_slice());
    unpacked.read_to_string(&mut text).expect("gzip");
    text
}

#[test]
fn an_hour_of_seconds_in_each_of_36_trials_stays_under_six_mb() {
    let mut run = fixture::run(3);
    // The run has 36 trials, and the test extends each trial to an hour.
    for trial in &mut run.trials {
        let second = trial.intervals.clone();
        for repeat in 1..103 {
            trial.intervals.extend(second.iter().cloned().map(|mut interval| {
                interval.t_s += 35.0 * f64::from(repeat);
                interval.phase = "measure".into();
                interval
            }));
        }
    }
    // The test gives each trial thirty probes.
    for trial in &mut run.trials {
        let samples = trial.probes.clone();
        for number in 1..30 {
            trial.probes.extend(samples.iter().cloned().map(|mut sample| {
                sample.name = format!("cassandra.series_{number}");
                sample
            }));
        }
    }
    let bytes = html(&page(&run)).len();
    assert!(bytes < 6_000_000, "{bytes}");
}

/// A program that publishes a page replaces names in all of its texts.
#[test]
fn every_text_of_a_page_can_be_changed() {
    let mut page = page(&hostile_run());
    let is_there = |page: &report::Page| {
        let all = [
            html(page),
            report::json(page),
            report::figure_file(page).unwrap_or_default(),
        ];
        all.map(|one| one.contains("onerror") || one.contains("alert(1)"))
    };
    assert_eq!(is_there(&page)[..2], [true; 2]);
    page.change_texts(&mut |text| *text = text.replace(HOSTILE, "mild"));
    page.remove_links();
    assert_eq!(is_there(&page), [false; 3]);
}
