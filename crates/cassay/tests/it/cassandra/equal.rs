//! Audits studies of two variants. With equal variants on a real node, an audit counts the reported
//! differences, and checks that cassay favours no variant. With a planted difference, an audit
//! checks that cassay finds the difference.

use super::KeptClusterGuard;
use crate::program::{Lab, command};
use serde_json::Value;
use std::process::{Child, Stdio};

/// A study of two equal variants on one node. It runs until the primary comparison is answered. The
/// node is already warm, because blocks vary too much while its JVM compiles.
const EQUAL: &str = "\
study: equal
question: Are equal sides called different?
target: {attach: {contact_points: [ADDRESS]}}
keyspace: {replication: 1}
workload: {use: kv, mix: {write: 1, read: 1}, consistency: ONE}
data: {load: {operations: 20k}, settle: none}
client: {timeout: 60s}
procedure: {fixed: {threads: 8}}
variants: {a: {}, b: {}}
repeat: {until: answered, min: 4, max: 6, primary: ops_per_s}
window: {warmup: 1s, measure: 2s}
verify: {reads: none, sample: 0}
";

const WARM: &str = "\
study: warm
question: Is the node warm?
target: {attach: {contact_points: [ADDRESS]}}
keyspace: {replication: 1}
workload: {use: kv, mix: {write: 1, read: 1}, consistency: ONE}
data: {load: {operations: 20k}, settle: none}
client: {timeout: 60s}
procedure: {fixed: {threads: 8}}
window: {warmup: 0s, measure: 100s}
verify: {reads: none, sample: 0}
";

/// A study that compares a null target with another null target that is a tenth slower.
const PLANTED: &str = "\
study: planted
question: Is the slow one found?
target: {null: {}}
workload: {use: standard1, mix: {write: 1}}
client: {timeout: 60s}
procedure: {fixed: {threads: 2}}
variants: {a: {target: {null: {latency: 2ms}}}, b: {target: {null: {latency: 2200us}}}}
repeat: {until: answered, min: 4, max: 8, primary: ops_per_s}
window: {warmup: 0s, measure: 1s}
";

/// A program that uses one CPU half of the time, until it is dropped or the test is killed.
struct Neighbour(Child);

impl Neighbour {
    fn start() -> Neighbour {
        let half = "while kill -0 $PPID; do timeout 0.5 sh -c 'while :; do :; done'; \
                    sleep 0.5; done";
        let mut shell = command("sh");
        shell.args(["-c", half]).stdout(Stdio::null()).stderr(Stdio::null());
        Neighbour(shell.spawn().expect("a shell"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the number of studies of each kind. `CASSAY_AUDIT_STUDIES` sets this number.
fn studies_count(usual: u64) -> u64 {
    let said = std::env::var("CASSAY_AUDIT_STUDIES").ok().and_then(|text| text.parse().ok());
    said.unwrap_or(usual)
}

/// Arguments that permit the studies to write to the kept node.
const ALLOWED: [&str; 2] = ["--allow", "create=cassay"];

/// Starts a kept node, and warms it up with the study [`WARM`]. The JVM has then compiled the hot
/// paths that the studies use.
fn warm(lab: &Lab) -> KeptClusterGuard<'_> {
    let up = ["target", "up", "--heap", "1GiB", "--json"];
    let up = lab.cassay(&up).ended_with(0).json();
    let kept = KeptClusterGuard(lab);
    let address = up[0]["nodes"][0]["address"].as_str().expect("an address");
    for (name, study) in [("study.yaml", EQUAL), ("warm.yaml", WARM)] {
        lab.write(name, &study.replace("ADDRESS", address));
    }
    lab.cassay(&["run", "warm.yaml", "--allow", "create=cassay"]).measured(lab);
    kept
}

/// Runs `count` studies with different seeds. Returns the verdict and the ratio of the primary
/// comparison of each study.
fn compared(
    lab: &Lab,
    more: &[&str],
    count: u64,
    say: &mut dyn FnMut(String),
) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for seed in 1..=count {
        let seed = seed.to_string();
        let run = ["run", "study.yaml", "--json", "--seed", &seed];
        let findings = lab.cassay(&[&run, more].concat()).json();
        let comparisons = findings["comparisons"].as_array().expect("a list");
        let primary = comparisons.iter().find(|one| one["primary"] == true).expect("one");
        let verdict = primary["verdict"].as_str().expect("a word").to_owned();
        let ratio = primary["ratio"].as_f64().unwrap_or(1.0);
        let run = findings["verdict"].as_str().unwrap_or_default();
        let looks = &primary["looks"]["ended"];
        let interval = &primary["ci95"];
        say(format!(
            "{seed}: {verdict} {ratio:.4} {interval} ({run}, {looks})"
        ));
        all.push((verdict, ratio));
    }
    all
}

/// Returns the binomial probability of at least `successes` successes in `count` trials.
fn at_least(successes: u64, count: u64, probability: f64) -> f64 {
    let chance = |k: u64| {
        let ways = (0..k).fold(1.0, |ways, i| ways * (count - i) as f64 / (i + 1) as f64);
        ways * probability.powi(k as i32) * (1.0 - probability).powi((count - k) as i32)
    };
    (successes..=count).map(chance).sum()
}

/// Fails if more studies report a difference than chance allows at a level of 5 %, or if the
/// studies favour one variant.
fn assert_fair(all: &[(String, f64)], say: &mut dyn FnMut(String)) {
    let of = |word: &str| all.iter().filter(|(verdict, _)| verdict == word).count() as u64;
    let (different, count) = (of("faster") + of("slower"), all.len() as u64);
    let above = all.iter().filter(|(_, ratio)| *ratio > 1.0).count() as u64;
    let lean = (2.0 * at_least(above.max(count - above), count, 0.5)).min(1.0);
    let (equivalent, open) = (of("equivalent"), of("inconclusive"));
    say(format!(
        "{different} of {count} different, {equivalent} equivalent, {open} not answered; the \
         second side is above in {above} (two-sided p {lean:.3})"
    ));
    assert!(
        at_least(different, count, 0.05) > 0.01,
        "{different} of {count}"
    );
    assert!(lean > 0.01, "{above} of {count} lean to one side");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long: cargo xtask audit"]
    fn audit_of_fifty_studies_of_equal_sides_on_a_quiet_node() {
        let say = &mut |line: String| println!("{line}");
        let lab = Lab::new();
        let _kept = warm(&lab);
        let all = compared(&lab, &ALLOWED, studies_count(50), say);
        assert_fair(&all, say);
    }

    #[test]
    #[ignore = "long: cargo xtask audit"]
    fn audit_of_twenty_studies_of_equal_sides_beside_a_neighbour() {
        let lab = Lab::new();
        let _kept = warm(&lab);
        let _neighbour = Neighbour::start();
        let say = &mut |line: String| println!("{line}");
        let all = compared(&lab, &ALLOWED, studies_count(20), say);
        let is_different =
            |(verdict, _): &&(String, f64)| verdict == "faster" || verdict == "slower";
        assert_eq!(all.iter().filter(is_different).count(), 0, "{all:?}");
    }

    #[test]
    #[ignore = "long: cargo xtask audit"]
    fn audit_of_a_tenth_that_is_planted_beside_a_neighbour() {
        let _neighbour = Neighbour::start();
        let lab = Lab::with(PLANTED);
        let say = &mut |line: String| println!("{line}");
        let all = compared(&lab, &[], studies_count(20), say);
        // The verdict of a study is wrong if it is equivalence or the reversed order.
        let is_wrong =
            |(verdict, _): &&(String, f64)| verdict == "faster" || verdict == "equivalent";
        assert_eq!(all.iter().filter(is_wrong).count(), 0, "{all:?}");
        assert!(
            all.iter().any(|(verdict, _)| verdict == "slower"),
            "{all:?}"
        );
    }
}

#[test]
fn chances_of_counts_are_those_of_the_binomial_distribution() {
    assert!((at_least(0, 10, 0.3) - 1.0).abs() < 1e-12);
    assert!((at_least(10, 10, 0.5) - 0.5_f64.powi(10)).abs() < 1e-12);
    // The expected value comes from tables. It is the probability of three or more successes out of
    // fifty at 5 %.
    assert!((at_least(3, 50, 0.05) - 0.4595).abs() < 1e-3);
}

/// Checks the names of values in a record, so that a renamed value fails here at once and not after
/// an hour.
#[test]
fn a_comparison_has_the_values_that_the_audits_read() {
    let schema = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/schema/findings.schema.json"
    ));
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    let text = schema.to_string();
    for name in [
        "\"ratio\"",
        "\"ci95\"",
        "\"looks\"",
        "\"verdict\"",
        "\"primary\"",
    ] {
        assert!(text.contains(name), "{name}");
    }
}
