//! Tests that the flame graphs of a real node name the method that uses more CPU time.

use super::{assert_nothing_is_left, dirs, small};
use crate::program::{Lab, command};
use std::fs;
use std::path::PathBuf;

/// CPU time that the agent adds to each read, in microseconds.
const PLANTED_US: f64 = 50.0;
/// The method of `Burner.java` that uses [`PLANTED_US`], as a frame of the profile.
const PLANTED_FRAME: &str = "Burner.plantedWork";

/// A study that compares a node without the agent and a node with the agent. AGENT is the path of
/// the agent.
const BURNING: &str = "\
study: burning
question: Which method does the agent add?
target: {local: {heap: 512MiB, class_sharing: true}}
workload: {use: standard1, mix: {read: 1}}
data: {load: {operations: 20k}}
procedure: {fixed: {threads: 4}}
window: {warmup: 8s, measure: 8s}
repeat: {blocks: 1}
verify: {reads: none, sample: 0}
probes: {profile: {event: ctimer}}
variants:
  plain: {}
  burning: {target: {local: {jvm: [\"-javaagent:AGENT\"]}}}
";

/// Builds the agent with the ASM library of Cassandra. Returns the path of its jar.
fn agent(lab: &Lab) -> PathBuf {
    let folder = lab.path().join("agent");
    let (cache, release) = (dirs(lab).cache, small(1).release);
    let supply = supply::resolve(&cache, (&release, &target_spec::Origin::Maven), &mut |_| ());
    let jars = supply.expect("the jars").classpath;
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/it/cassandra/Burner.java"
    );
    fs::create_dir_all(&folder).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let ended = command(program).args(arguments).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{program}: {said}");
    };
    run(
        "javac",
        &[
            "--release",
            "11",
            "-cp",
            &jars,
            "-proc:none",
            "-d",
            "classes",
            source,
        ],
    );
    fs::write(folder.join("manifest"), "Premain-Class: Burner\n").unwrap();
    run(
        "jar",
        &["cfm", "burner.jar", "manifest", "-C", "classes", "."],
    );
    folder.join("burner.jar")
}

/// Tests that are too long for the gate.
mod long {
    use super::*;

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn the_planted_method_is_the_first_difference() {
        let lab = Lab::new();
        let agent = format!("{}={PLANTED_US}", agent(&lab).display());
        lab.write("study.yaml", &BURNING.replace("AGENT", &agent));
        lab.cassay(&["run", "study.yaml", "--trust"]).measured(&lab);
        assert_nothing_is_left(&lab);
        let run = lab.run();
        let profiles = run.findings.expect("findings").profiles.expect("profiles");
        assert_eq!(profiles.reason, "");
        let [difference] = &profiles.differences[..] else {
            panic!("{:#?}", profiles.differences)
        };
        let first =
            difference.frames.iter().find(|one| one.named && !one.is_pool).expect("a frame");
        assert_eq!(first.frame, PLANTED_FRAME, "{difference:#?}");
        let [low, high] = first.ci95.expect("an interval");
        assert!(low <= PLANTED_US && PLANTED_US <= high, "{first:#?}");
        let page = fs::read_to_string(run.path.join("report.html")).unwrap();
        assert!(page.contains(PLANTED_FRAME));
    }
}
