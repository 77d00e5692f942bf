//! Tests the panels of hosts, JVMs and database.

use crate::{fixture, lab};
use expect_test::expect_file;
use report::{Block, Chart, Page, ProbeSeries, RunView, Section, compare, html, page, text};

fn section<'a>(page: &'a Page, id: &str) -> &'a Section {
    let found = page.sections().find(|s| s.id == id);
    found.unwrap_or_else(|| panic!("no section {id}"))
}

/// Returns the figures from which the first chooser of a section selects.
fn charts<'a>(page: &'a Page, id: &str) -> &'a [(String, Chart)] {
    let choice = section(page, id).blocks.iter().find_map(|block| match block {
        Block::Choice(_, charts) => Some(charts.as_slice()),
        _ => None,
    });
    choice.expect("a chooser")
}

fn titles(chart: &Chart) -> Vec<&str> {
    chart.panels.iter().map(|p| p.title.as_str()).collect()
}

#[test]
fn every_trial_has_its_rows_on_one_axis_with_its_phases() {
    let page = page(&lab::run());
    crate::golden::keep("lab", &page);
    let charts = charts(&page, "panels");
    assert_eq!(charts.len(), 4);
    let chart = &charts[0].1;
    let expected = [
        "Throughput, op/s",
        "Latency p99, ms",
        "CPU of host1, %",
        "CPU of host2, %",
        "CPU of host3, %",
        "Disk, busy, %",
        "Disk, transferred, MiB/s: solid read, dashed written",
        "Network, MiB/s: solid received, dashed sent",
        "Memory, MiB: solid available, dashed page cache",
        "JVM heap in use, and pauses (marks, ms on the right), MiB",
        "Compactions pending",
        "Tasks pending, the fullest stages",
        "SSTables per read, p99",
        "Dropped messages and failed requests",
        "Hints",
        "Nodes that a node considers down",
        "Waits for the commit log, per second",
    ];
    assert_eq!(titles(chart), expected);
    let bands: Vec<&str> = chart.bands.iter().map(|b| b.label.as_str()).collect();
    assert_eq!(
        bands,
        ["schema", "load", "settle", "restore", "warm-up", "verify"]
    );
    assert_eq!(
        chart.views[1],
        ("Measured window".to_string(), [95.0, 125.0])
    );
}

#[test]
fn a_row_without_series_says_why_and_one_of_zeros_says_none() {
    let page = page(&lab::run());
    let chart = &charts(&page, "panels")[0].1;
    let note = |title: &str| {
        let panel = chart.panels.iter().find(|p| p.title.starts_with(title));
        panel.expect("the row").note.as_str()
    };
    assert_eq!(
        note("Hints"),
        "not recorded; probe cassandra: hints: the MBean is not there"
    );
    assert_eq!(
        note("Waits for the commit log"),
        "no value: the probe cassandra ran, but read no value. Either no event of this kind \
         occurred, or this version of Cassandra does not provide the value."
    );
    assert_eq!(
        note("Dropped messages and failed requests"),
        "none during the trial."
    );
    assert_eq!(note("Disk, busy"), "");
}

#[test]
fn a_host_and_its_only_node_have_one_colour_in_all_rows() {
    let page = page(&lab::run());
    let chart = &charts(&page, "panels")[0].1;
    let series = || chart.panels.iter().flat_map(|p| &p.series);
    let colour = |prefix: &str| {
        let mut all = series()
            .filter(|s| s.name.split([' ', '/']).next() == Some(prefix))
            .filter(|s| s.group.starts_with("place"))
            .map(|s| s.color);
        let first = all.next().expect("a line");
        assert!(all.all(|c| c == first), "{prefix}");
        first
    };
    assert_eq!(colour("host2"), colour("node2"));
    assert_ne!(colour("host1"), colour("host2"));
    let named: Vec<&str> = series().filter(|s| s.in_legend).map(|s| s.name.as_str()).collect();
    assert!(named.contains(&"host3 · node3"), "{named:?}");
}

#[test]
fn a_peak_of_one_second_in_a_day_is_in_the_figure() {
    let mut run = lab::run();
    let long: Vec<(f64, f64)> = (0..86_400).map(|s| (f64::from(s), f64::from(s % 5))).collect();
    for series in run.trials.iter_mut().flat_map(|t| &mut t.probes) {
        if series.name == "iostat.%util" {
            series.values = long.clone();
            series.values[70_001].1 = 99.0;
        }
    }
    let page = page(&run);
    for (name, chart) in charts(&page, "panels") {
        let busy = chart.panels.iter().find(|p| p.title == "Disk, busy, %").expect("the row");
        assert!(busy.series[0].y.contains(&Some(99.0)), "{name}");
        assert!(busy.series[0].y.len() < 2_000, "{}", busy.series[0].y.len());
        assert!(
            chart.what.contains("smallest and the largest"),
            "{}",
            chart.what
        );
    }
}

#[test]
fn unknown_series_and_units_are_in_the_list_as_they_are() {
    let page = page(&lab::run());
    let folded = section(&page, "panels").blocks.iter().find_map(|block| match block {
        Block::Details(title, blocks) if title.starts_with("Every recorded series") => Some(blocks),
        _ => None,
    });
    let Some(Block::Choice(_, charts)) = folded.expect("the list").first() else {
        panic!("no chooser");
    };
    let strange = charts.iter().find(|(name, _)| name.ends_with("· strange")).expect("it");
    assert_eq!(titles(&strange.1), ["strange.thing, furlongs"]);
    assert_eq!(strange.1.panels[0].series.len(), 3);
}

#[test]
fn the_terminal_names_uneven_ineffective_and_costly_settings() {
    expect_file!["golden/lab.txt"].assert_eq(&text(&page(&lab::run())));
}

/// In an earlier version, the page stated that all settings were in effect, although no node had
/// reported any.
#[test]
fn that_all_is_in_effect_is_said_only_where_all_was_seen() {
    const GOOD: &str = "were in effect: ";
    let with = |outcomes: &[&str]| {
        let mut run = lab::run();
        for trial in &mut run.trials {
            let proof = |outcome: &&str| store::record::ProofRecord {
                node: "node1".into(),
                key: format!("key {outcome}"),
                outcome: store::record::ProofOutcome::from_name(outcome),
                why: "no agent".into(),
                ..store::record::ProofRecord::default()
            };
            let nodes = trial.nodes.as_mut().expect("nodes");
            nodes.proofs = outcomes.iter().map(proof).collect();
        }
        let words: Vec<String> = text(&page(&run)).split_whitespace().map(str::to_owned).collect();
        (words.join(" "), report::json(&page(&run)))
    };
    assert!(with(&["in_effect"]).0.contains(GOOD));
    for outcomes in [&["not_shown"][..], &["in_effect", "not_shown"], &[]] {
        let (text, _) = with(outcomes);
        assert!(!text.contains(GOOD), "{outcomes:?}");
        let said = text.contains("not visible: neither confirmed nor refuted");
        assert_eq!(said, !outcomes.is_empty(), "{outcomes:?}");
    }
    let printed: serde_json::Value =
        serde_json::from_str(&with(&["in_effect", "not_shown"]).1).expect("JSON");
    let proofs = &printed["lab"][0]["proofs"];
    assert_eq!(
        (&proofs["held"], &proofs["not_shown"][0]["why"]),
        (&1.into(), &"no agent".into())
    );
}

#[test]
fn programs_get_the_same_facts() {
    let printed: serde_json::Value =
        serde_json::from_str(&report::json(&page(&lab::run()))).expect("JSON");
    let lab = &printed["lab"][0];
    assert_eq!(lab["nodes"][2]["rack"], "r3");
    assert_eq!(lab["proofs"]["held"], 5);
    assert_eq!(lab["proofs"]["failed"][0]["node"], "node2");
    let spread = lab["spread"].as_array().expect("spreads");
    let pending = spread.iter().find(|s| s["quantity"] == "Compactions pending").expect("it");
    assert_eq!(pending["uneven"], true);
    assert!((pending["nodes"]["node2"].as_f64().expect("a mean") - 18.0).abs() < 2.0);
    let writes = &printed["configuration"]["setting: concurrent_writes"];
    assert!(
        writes.as_str().expect("a value").contains("64: node1 in on"),
        "{writes}"
    );
}

#[test]
fn runs_are_compared_by_settings_and_flags_that_were_in_effect() {
    let (a, mut b) = (lab::run(), lab::run());
    for trial in &mut b.trials {
        for node in &mut trial.nodes.as_mut().expect("nodes").nodes {
            node.flags.insert("UseZGC".into(), "true".into());
            node.settings.insert("concurrent_reads".into(), "64".into());
            // Another cluster has other addresses, which must not count as a difference.
            let moved = node.address.replace("10.94.1", "10.94.7");
            let own = moved.split(':').next().expect("an address").to_owned();
            node.settings.insert("listen_address".into(), own);
            node.address = moved;
        }
    }
    let shown = text(&compare(&a, &b));
    assert!(shown.contains("JVM flag: UseZGC"), "{shown}");
    assert!(shown.contains("setting: concurrent_reads"), "{shown}");
    assert!(!shown.contains("listen_address"), "{shown}");
    assert!(!shown.contains("compaction_throughput"), "{shown}");
}

#[test]
fn an_older_run_without_nodes_and_probes_has_a_shorter_page() {
    let mut run = fixture::run(1);
    for trial in &mut run.trials {
        trial.probes.clear();
    }
    let page = page(&run);
    for id in ["panels", "spread", "cluster", "effective"] {
        assert!(page.sections().all(|s| s.id != id), "{id}");
    }
    assert!(html(&page).contains("Cassandra&#39;s own settings"));
}

/// Returns a run with twelve trials of an hour, on six nodes with 200 series each.
fn big() -> RunView {
    let mut run = fixture::run(1);
    for (index, trial) in run.trials.iter_mut().enumerate() {
        trial.nodes = Some(lab::nodes(index, 6, "32"));
        let mut all = Vec::new();
        for number in 0..1_200u32 {
            let names = [
                "mpstat.%usr",
                "iostat.%util",
                "jvm.heap_used",
                "compactions.pending",
            ];
            let name = match names.get(number as usize / 6) {
                Some(name) => (*name).to_owned(),
                None => format!("group{}.series{}", number / 6 % 20, number / 6),
            };
            let value = |s: u32| (f64::from(s), f64::from((s * 7919 + number) % 1_000) / 7.0);
            all.push(ProbeSeries {
                name,
                place: format!("node{}", number % 6 + 1),
                unit: "count".into(),
                values: (0..3_600).map(value).collect(),
                ..ProbeSeries::default()
            });
        }
        trial.probes = all;
        lab::complete(&mut run.findings.trials[index], 3_590.0);
    }
    run
}

#[test]
fn hours_of_1000_series_stay_under_six_mb_and_name_the_omitted() {
    let page = page(&big());
    crate::golden::keep("big", &page);
    let made = html(&page);
    assert!(made.len() < 6_000_000, "{}", made.len());
    assert_eq!(charts(&page, "panels").len(), 12);
    assert!(made.contains("more series, of this or of other trials"));
}
