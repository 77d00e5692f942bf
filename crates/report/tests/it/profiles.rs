//! Tests the profiles on the page, with two variants of about two thousand frames each. The second
//! one has a planted method that costs 50 µs per operation.

use crate::{fixture, golden};
use analysis::profile::{CallTree, FrameDifference, Names, TrialProfile, differences};
use base64::Engine;
use expect_test::expect_file;
use fixture::Draws;
use report::{Block, Icicle, RunView, html, markdown, page, text};
use sha2::Digest;
use store::record::{
    CallTreeRecord, FrameDifferenceRecord, ProfileDifferenceRecord, ProfilerCostRecord,
    ProfilesRecord, VariantProfileRecord,
};

/// CPU time between two samples, µs.
const SAMPLE_US: f64 = 10_000.0;
const OPERATIONS: f64 = 210_000.0;
/// Callers of all methods of a stage, between the pool and the stage itself.
const TRUNK: &str = "java/lang/Thread.run;io/netty/util/concurrent/FastThreadLocalRunnable.run;\
                     org/apache/cassandra/concurrent/SEPWorker.run;\
                     org/apache/cassandra/concurrent/ExecutionFailure$1.run";
/// Thread pools, with their CPU time per operation in µs.
const POOLS: [(&str, f64); 7] = [
    ("Native-Transport-Requests", 70.0),
    ("ReadStage", 95.0),
    ("MutationStage", 60.0),
    ("epollEventLoopGroup", 40.0),
    ("CompactionExecutor", 25.0),
    ("GC Thread", 12.0),
    ("C2 CompilerThread", 8.0),
];
const CLASSES: [&str; 10] = [
    "org/apache/cassandra/service/StorageProxy.read",
    "org/apache/cassandra/db/SinglePartitionReadCommand.queryMemtableAndDisk",
    "org/apache/cassandra/db/rows/UnfilteredRowIterators.digest",
    "org/apache/cassandra/db/partitions/AtomicBTreePartition.addAll",
    "org/apache/cassandra/utils/btree/BTree.update",
    "io/netty/channel/epoll/EpollEventLoop.processReady",
    "java/util/concurrent/ConcurrentHashMap.get",
    "java/nio/ByteBuffer.compareTo",
    "jlong_disjoint_arraycopy",
    "__libc_sendmsg",
];
const PLANTED: &str = "lab/SlowStage.burn";

/// Divides the cost of a caller between the caller itself and its callees, up to eight levels deep.
fn grow(stacks: &mut Vec<(String, f64)>, chance: &mut Draws, stack: &str, us: f64, level: usize) {
    if level == 8 || us < 0.35 {
        stacks.push((stack.to_owned(), us));
        return;
    }
    let mut left = us;
    for _ in 0..3 {
        let part = left * (0.3 + 0.4 * chance.unit());
        let class = CLASSES[(chance.unit() * 10.0) as usize % 10];
        let name = format!("{class}{}", (chance.unit() * 40.0) as usize);
        grow(stacks, chance, &format!("{stack};{name}"), part, level + 1);
        left -= part;
    }
    stacks.push((stack.to_owned(), left));
}

/// Returns the stacks of an operation with their true CPU time in µs.
fn stacks(planted_us: f64) -> Vec<(String, f64)> {
    let mut chance = Draws::sequence(11);
    let mut stacks = Vec::new();
    for (pool, us) in POOLS {
        let trunk = match pool {
            "GC Thread" | "C2 CompilerThread" => format!("{pool};start_thread;thread_native_entry"),
            _ => format!("{pool};{TRUNK}"),
        };
        grow(&mut stacks, &mut chance, &trunk, us, 0);
    }
    let caller = format!("ReadStage;{TRUNK};org/apache/cassandra/db/ReadCommandVerbHandler.doVerb");
    stacks.push((caller.clone(), 1.0));
    if planted_us > 0.0 {
        stacks.push((format!("{caller};{PLANTED}"), planted_us));
    }
    stacks
}

fn trial(chance: &mut Draws, names: &mut Names, stacks: &[(String, f64)]) -> TrialProfile {
    let mut tree = CallTree::default();
    let own = 0.98 + 0.04 * chance.unit();
    for (stack, us) in stacks {
        let expected = us * own * OPERATIONS / SAMPLE_US;
        let noise: f64 = (0..12).map(|_| chance.unit()).sum::<f64>() - 6.0;
        let count = (expected + expected.sqrt() * noise).round().max(0.0);
        tree.add(names, stack, count * SAMPLE_US);
    }
    TrialProfile {
        tree,
        operations: OPERATIONS,
        sample_cost: SAMPLE_US,
    }
}

fn variant(name: &str, names: &Names, trials: &[&TrialProfile]) -> VariantProfileRecord {
    let mut tree = CallTree::default();
    for trial in trials {
        tree.merge(&trial.tree, 1.0 / OPERATIONS / trials.len() as f64);
    }
    let mut record = CallTreeRecord::default();
    for frame in tree.pruned(names, 0.0002, 3000) {
        let known = record.names.iter().position(|name| *name == frame.name);
        let number = known.unwrap_or(record.names.len());
        if number == record.names.len() {
            record.names.push(frame.name);
        }
        record.name.push(number as u32);
        record.depth.push(frame.depth as u16);
        record.cost.push((frame.cost * 1e3).round() / 1e3);
    }
    VariantProfileRecord {
        variant: name.into(),
        trials: trials.len(),
        operations: OPERATIONS as u64 * trials.len() as u64,
        samples: (tree.total() * OPERATIONS * trials.len() as f64 / SAMPLE_US) as u64,
        cost: (tree.total() * 1e3).round() / 1e3,
        tree: record,
    }
}

fn frame(frame: FrameDifference) -> FrameDifferenceRecord {
    FrameDifferenceRecord {
        frame: frame.name,
        is_pool: frame.is_pool,
        baseline: frame.baseline,
        contender: frame.contender,
        difference: frame.difference,
        own: frame.own,
        ci95: frame.ci95,
        p: frame.p,
        p_adjusted: frame.p_adjusted,
        named: frame.is_named,
        explained_by: frame.explained_by,
    }
}

/// Returns the run of the fixture with profiles of its two variants in four blocks.
pub fn run() -> RunView {
    let (mut chance, mut names) = (Draws::sequence(5), Names::default());
    let (off, on) = (stacks(0.0), stacks(50.0));
    let pairs: Vec<(TrialProfile, TrialProfile)> = (0..4)
        .map(|_| {
            let baseline = trial(&mut chance, &mut names, &off);
            (baseline, trial(&mut chance, &mut names, &on))
        })
        .collect();
    let sides: [Vec<&TrialProfile>; 2] = [
        pairs.iter().map(|pair| &pair.0).collect(),
        pairs.iter().map(|pair| &pair.1).collect(),
    ];
    let variants = vec![
        variant("off", &names, &sides[0]),
        variant("on", &names, &sides[1]),
    ];
    let difference = ProfileDifferenceRecord {
        baseline: "off".into(),
        contender: "on".into(),
        blocks: 4,
        costs: [variants[0].cost, variants[1].cost],
        margin: variants[0].cost / 100.0,
        frames: differences(&names, &pairs).into_iter().map(frame).collect(),
    };
    let cost = |name: &str, ratio: f64| ProfilerCostRecord {
        variant: name.into(),
        metric: "ops_per_s".to_owned(),
        ratio,
        ci95: Some([ratio - 0.011, ratio + 0.012]),
        blocks: 4,
    };
    let first = &difference.frames[0];
    let says = format!(
        "Per operation, on spends {:.1} µs more than off in SlowStage.burn.",
        first.difference
    );
    let mut view = fixture::run(1);
    view.findings.profiles = Some(ProfilesRecord {
        event: "ctimer".to_owned(),
        variants,
        differences: vec![difference],
        profiler_costs: vec![cost("off", 0.992), cost("on", 0.996)],
        run: "profile/vtopology/20261121T081500Z".to_owned(),
        says: vec![says],
        ..ProfilesRecord::default()
    });
    view
}

fn icicles(view: &RunView) -> Vec<Icicle> {
    let page = page(view);
    let section = page.sections().find(|one| one.id == "profiles").expect("the section");
    let icicles = section.blocks.iter().filter_map(|block| match block {
        Block::Icicle(icicle) => Some(icicle.clone()),
        _ => None,
    });
    icicles.collect()
}

fn drawings(html: &str) -> Vec<&str> {
    let figures = html.split("<figure class=\"icicle\"").skip(1);
    figures
        .map(|figure| figure.split("</figure>").next().unwrap_or_default())
        .collect()
}

#[test]
fn the_planted_method_is_the_first_frame_of_the_page() {
    let view = run();
    let profiles = view.findings.profiles.as_ref().expect("profiles");
    let first = &profiles.differences[0].frames[0];
    assert_eq!((first.frame.as_str(), first.named), (PLANTED, true));
    let [low, high] = first.ci95.expect("an interval");
    assert!(low < 50.0 && 50.0 < high, "{low} to {high}");
    let shown = text(&page(&view));
    let table = &shown[shown.find("Frames that differ between off and on").expect("a table")..];
    let row = table.lines().find(|line| line.contains("SlowStage.burn")).expect("a row");
    assert!(row.contains("+5"), "{row}");
    golden::keep("profiles", &page(&view));
}

#[test]
fn the_widest_200_frames_are_drawn_without_a_script() {
    let view = run();
    let all = icicles(&view);
    assert_eq!(all.len(), 2);
    let html = html(&page(&view));
    let drawn = drawings(&html);
    assert_eq!(drawn.len(), 2);
    for (icicle, figure) in all.iter().zip(drawn) {
        assert!(icicle.frames.len() > 500, "{} frames", icicle.frames.len());
        let (svg, data) = figure.split_once("<script type=\"application/json\">").expect("data");
        let svg = svg.split("<figcaption>").next().unwrap_or_default();
        assert_eq!(svg.matches("<rect").count(), 200);
        // Frames are within the picture, and a frame begins where its caller begins or later.
        for rect in svg.split("<rect x=\"").skip(1) {
            let number = |name: &str| -> f64 {
                let rest = rect.split(&format!(" {name}=\"")).nth(1).expect(name);
                rest.split('"').next().and_then(|text| text.parse().ok()).expect(name)
            };
            let x: f64 = rect.split('"').next().and_then(|text| text.parse().ok()).expect("x");
            assert!(x >= 0.0 && x + number("width") <= 1120.2, "{rect}");
        }
        let data = data.split("</script>").next().unwrap_or_default();
        let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(
            data["frames"].as_array().expect("frames").len(),
            icicle.frames.len()
        );
    }
    assert!(
        html.contains("class=\"library named\""),
        "the planted method is marked"
    );
    let legend = "differs between the variants";
    assert_eq!(
        html.matches(legend).count(),
        3,
        "twice in a legend, once in the script"
    );
}

#[test]
fn a_callee_lies_below_its_caller() {
    for icicle in icicles(&run()) {
        let mut open: Vec<f64> = Vec::new();
        for frame in &icicle.frames {
            assert!(frame.row <= open.len(), "{}", frame.name);
            open.truncate(frame.row);
            if let Some(caller) = open.last() {
                assert!(frame.cost <= caller + 1e-9, "{}", frame.name);
            }
            open.push(frame.cost);
        }
    }
}

#[test]
fn a_page_with_two_profiles_stays_small() {
    let with = html(&page(&run())).len();
    let without = html(&page(&fixture::run(1))).len();
    // The limit of a page is 6 MB.
    assert!(with < 2_000_000, "{with} bytes");
    assert!(
        with - without < 700_000,
        "{} bytes for the profiles",
        with - without
    );
}

#[test]
fn the_script_of_the_pictures_is_only_on_pages_that_have_them() {
    let (with, without) = (html(&page(&run())), html(&page(&fixture::run(1))));
    let script = include_str!("../../assets/icicle.js");
    assert!(with.contains(script) && !without.contains("all threads"));
    let digest = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(script));
    let after = with.split("Content-Security-Policy\" content=\"").nth(1).expect("a policy");
    let policy = after.split('"').next().unwrap_or_default();
    assert!(policy.contains(&format!("'sha256-{digest}'")), "{policy}");
}

#[test]
fn a_run_without_profiles_says_why() {
    let mut view = fixture::run(1);
    view.findings.profiles = Some(ProfilesRecord {
        reason: "no library for this machine".to_owned(),
        says: vec!["There are no profiles: no library for this machine.".to_owned()],
        ..ProfilesRecord::default()
    });
    let page = page(&view);
    let said = "There are no profiles: no library for this machine.";
    assert_eq!(text(&page).matches(said).count(), 1);
    assert!(!html(&page).contains("class=\"icicle\""));
}

#[test]
fn the_terminal_and_markdown_have_the_tables() {
    let page = page(&run());
    let shown = text(&page);
    let from = shown.find("WHERE THE CPU TIME GOES").expect("the section");
    let section = shown[from..].split("\n\n\n").next().unwrap_or_default();
    let end = section[1..].find("\nCAN THESE ").map_or(section.len(), |end| end + 1);
    expect_file!["golden/profiles.txt"].assert_eq(&section[..end]);
    assert!(section.lines().all(|line| line.chars().count() <= 100));
    assert!(markdown(&page, None, None).len() < 60_000);
}

#[test]
fn the_drawing_is_as_before() {
    let html = html(&page(&run()));
    let figure = drawings(&html)[1];
    let svg = figure.split("</svg>").next().unwrap_or_default();
    // The test checks only the first frames, because the page draws the other frames in the same
    // way.
    let groups: Vec<&str> = svg.split("<g ").take(16).collect();
    expect_file!["golden/icicle.svg.part"].assert_eq(&groups.join("\n<g "));
}
