//! Tests the program on real Cassandra nodes. These tests are slow: `cargo xtask cassandra` runs as
//! many at a time as the machine has memory for. Each test has a separate cluster, or uses the
//! nodes of [`shared`] and [`shared_pair`] if it accepts any Cassandra.
//!
//! The tests check that the server agrees with the client's counts, and that every row matches the
//! seed. A run must leave no JVM and no folder behind, however it ends.

mod agent;
mod attached_hosts;
mod attached_nodes;
pub(crate) mod authentication;
mod configurations;
mod endings;
mod equal;
mod faults;
pub(crate) mod hosts;
mod lexer;
mod limits;
mod machines;
mod placement;
mod power;
mod probes;
mod profiles;
mod refusals;
mod shared;
mod shared_pair;
mod snapshots;
mod status;
mod tail;
mod travel;
mod upgrades;
mod values;

use crate::program::{Lab, ProgramOutput, Started, command, line};
use cluster::Dirs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use store::record::{JournalEvent, JournalRecord, NodeRecord};
use target_spec::LocalSpec;

/// Heap of a node. A node with this heap starts in seconds, and fits into memory while a build is
/// running.
const HEAP: &str = "512MiB";

/// Request timeouts of the server. They are long, because two replicas of a batch exceeded the
/// server's default of 2 s on a busy machine. Such a timeout is not an error of cassay.
const PATIENCE: [(&str, &str); 5] = [
    ("read_request_timeout", "60s"),
    ("range_request_timeout", "60s"),
    ("write_request_timeout", "60s"),
    ("counter_write_request_timeout", "60s"),
    ("truncate_request_timeout", "60s"),
];

/// A study with one short point on one real node. The data is small enough to reload for every
/// test.
const POINT: &str = "\
study: point
question: What does one point on a real node say?
target: {local: {nodes: 1, heap: 512MiB, class_sharing: true,
  yaml: {read_request_timeout: 60s, write_request_timeout: 60s}}}
workload: {use: standard1, mix: {write: 1, read: 1}, consistency: LOCAL_ONE}
data: {load: {operations: 5k}, settle: none}
client: {timeout: 60s}
procedure: {fixed: {threads: 16}}
window: {warmup: 2s, measure: 6s}
verify: {reads: all, sample: 2000}
";

/// Returns the spec of small nodes, for tests that call the target directly.
fn small(nodes: usize) -> LocalSpec {
    let usual = LocalSpec::default();
    let release = line().map(|line| versions::Release::parse(&line).expect("a line"));
    LocalSpec {
        release: release.unwrap_or_else(|| usual.release.clone()),
        nodes,
        heap_bytes: 512 << 20,
        class_sharing: true,
        ..usual
    }
}

/// Returns the spec of small nodes with longer timeouts than the default, for tests that read and
/// write.
fn patient(nodes: usize) -> LocalSpec {
    let yaml = PATIENCE.map(|(key, value)| (key.to_owned(), value.into()));
    LocalSpec {
        yaml: yaml.into_iter().collect(),
        ..small(nodes)
    }
}

/// Starts small nodes with the timeouts of [`PATIENCE`] by `target up`. Returns the output of the
/// command.
fn up(lab: &Lab, more: &[&str]) -> Value {
    let up = ["target", "up", "--heap", HEAP, "--class-sharing", "--json"];
    let yaml = PATIENCE.map(|(key, value)| format!("--yaml={key}={value}"));
    let mut arguments = [&up[..], more].concat();
    arguments.extend(yaml.iter().map(String::as_str));
    lab.cassay(&arguments).ended_with(0).json()
}

/// Returns the user's cache, which contains the jars, and the lab's folder for clusters.
fn dirs(lab: &Lab) -> Dirs {
    dirs_with(&lab.path().join("data"))
}

/// Returns the user's cache, which contains the jars, and the given folder for clusters.
fn dirs_with(data: &Path) -> Dirs {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || std::env::home_dir().expect("a home folder");
    let cache = set("CASSAY_CACHE").map(PathBuf::from).unwrap_or_else(|| {
        let base = set("XDG_CACHE_HOME").map(PathBuf::from);
        base.unwrap_or_else(|| home().join(".cache")).join("cassay")
    });
    let data = data.to_owned();
    Dirs { cache, data }
}

/// Stops the kept cluster when the value is dropped, even if the test fails.
struct KeptClusterGuard<'a>(&'a Lab);

impl Drop for KeptClusterGuard<'_> {
    fn drop(&mut self) {
        self.0.cassay(&["target", "down"]);
    }
}

/// Returns the process ids of the JVMs whose storage folder is below the lab's folder of clusters.
fn jvms(lab: &Lab) -> Vec<i32> {
    let folder = format!("-Dcassandra.storagedir={}", lab.clusters().display());
    let is_ours = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument.starts_with(folder.as_bytes()))
    };
    let entries = std::fs::read_dir("/proc").expect("read /proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_ours).collect()
}

fn folders(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.clusters()).into_iter().flatten();
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        Some(entry.ok()?.file_name().to_string_lossy().into_owned())
    };
    entries.filter_map(name).collect()
}

#[track_caller]
pub(crate) fn assert_nothing_is_left(lab: &Lab) {
    assert_eq!(jvms(lab), Vec::<i32>::new(), "JVMs are left");
    assert_eq!(folders(lab), Vec::<String>::new(), "folders are left");
}

#[track_caller]
pub(crate) fn only_trial(said: &ProgramOutput) -> Value {
    let findings = said.json();
    assert_eq!(
        findings["trials"].as_array().map(Vec::len),
        Some(1),
        "{said}"
    );
    findings["trials"][0].clone()
}

/// Checks that the counts of server and client agree within 0.1 %.
#[track_caller]
fn assert_counts_agree(trial: &Value) {
    let server = &trial["server"];
    for kind in ["writes", "reads"] {
        let count = |name: &str| server[name].as_f64().expect("a count");
        let (theirs, ours) = (count(kind), count(&format!("client_{kind}")));
        assert!(ours > 0.0, "{trial:#}");
        assert!((theirs - ours).abs() <= ours * 0.001, "{kind}: {server}");
    }
}

/// Checks that at least `checked_min` rows were compared, and that all compared rows were right.
#[track_caller]
fn assert_rows_are_right(trial: &Value, checked_min: u64) {
    let verify = &trial["verify"];
    assert!(verify["checked"].as_u64() >= Some(checked_min), "{trial:#}");
    for wrong in ["missing", "stale", "wrong"] {
        assert_eq!(verify[wrong], 0, "{verify}");
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_run_on_a_local_node_is_believed_and_leaves_nothing() {
    let closed = POINT.replace("512MiB,", "512MiB, authentication: password,");
    assert_ne!(closed, POINT);
    let lab = Lab::with(&closed);
    let mut run = lab.start(&["run", "study.yaml", "--json"]);
    run.wait_for("· measure:");
    let password = authentication::password(&lab);
    authentication::assert_in_no_command_line(&jvms(&lab), &password);
    let journal = lab.run().journal;
    let node = &ready_nodes(&journal)[0].address;
    let node = node.parse().ok();
    authentication::assert_closed(node.expect("its address"), &password);
    let said = run.end().measured(&lab);
    assert_nothing_is_left(&lab);
    authentication::assert_in_no_file(lab.path(), &password);
    assert!(!said.to_string().contains(&password), "it is said");
    let trial = only_trial(&said);
    assert_counts_agree(&trial);
    let reads = trial["kinds"]["read"]["ops"].as_u64().expect("reads");
    assert_rows_are_right(&trial, 2000 + reads / 2);
    assert_eq!(trial["errors"], serde_json::json!({}));
    assert!(trial["all"]["ops_per_s"].as_f64() > Some(0.0), "{trial:#}");

    let run = lab.run();
    let order = [
        "run_started",
        "trial_started",
        "target_starting",
        "target_ready",
        "trial_finished",
        "target_stopped",
        "run_finished",
    ];
    let at = |event: &str| run.journal.iter().position(|line| line.event.name() == event);
    let places = order.map(at);
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?}"
    );
    let ready = ready_nodes(&run.journal);
    assert_eq!(ready.len(), 1, "{ready:#?}");
    let version = small(1).release.to_string();
    assert_eq!(ready[0].version, version);
    assert!(ready[0].settings.len() > 50, "{ready:#?}");

    let logs = run.trial(0).unwrap().expect("the trial").logs_dir();
    let log = std::fs::read_to_string(logs.join("node1/system.log")).unwrap();
    assert!(
        log.contains("Starting listening for CQL clients"),
        "{}",
        log.len()
    );
    let report = std::fs::read_to_string(run.report().unwrap()).unwrap();
    assert!(report.contains("node1") && report.contains(&version));
    let nodes = run.trial(0).unwrap().expect("the trial").nodes().unwrap();
    let nodes = format!("{:?}", nodes.expect("nodes.json"));
    assert!(nodes.contains("authentication"), "proved: {nodes}");
}

/// Starts the program with a fake Java that prints its version and otherwise only waits. This is
/// enough to test the ownership and the end of processes.
fn start_with_stand_in(lab: &Lab, arguments: &[&str]) -> Started {
    let text = "#!/bin/sh\n\
                if [ \"$1\" = -version ]; then echo 'openjdk version \"17.0.1\"' >&2; exit; fi\n\
                mkfifo \"$0.$$\" && read -r never <\"$0.$$\"\n";
    script(lab, "stand-in/bin/java", text);
    let mut command = lab.command(arguments);
    command.env("JAVA_HOME", lab.path().join("stand-in"));
    Started::new(command)
}

fn script(lab: &Lab, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = lab.write(name, text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("make it executable");
}

/// Runs an external tool in a folder until it ends. On failure, the test fails with the tool's
/// output.
#[track_caller]
fn tool(program: &str, arguments: &[String], folder: &Path) -> String {
    let output = command(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let end = output.status;
    assert!(
        end.success(),
        "{program} ended with {end}\n{stdout}\n{stderr}"
    );
    stdout
}

/// Returns the nodes of the first target that became ready.
fn ready_nodes(journal: &[JournalRecord]) -> &[NodeRecord] {
    let nodes = journal.iter().find_map(|line| match &line.event {
        JournalEvent::TargetReady { nodes, .. } => Some(nodes),
        _ => None,
    });
    nodes.expect("a target that was ready")
}
