//! Tests that cassandra-stress and cassay write the same bytes. Each program reads the rows of the
//! other program and checks that they are correct.
//!
//! The test runs the cassandra-stress of Cassandra 3.11.4, from the folder in which `cargo xtask
//! peers` installs it. If the tool is missing, Maven fetches it.

use super::{assert_counts_agree, assert_rows_are_right, one_node, only_trial, tool};
use crate::program::Lab;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

const VERSION: &str = "3.11.4";

/// Number of rows. With this number, keys and values contain every possible byte.
const ROWS: u32 = 20_000;

/// A study that only reads, and compares every answer.
const READ: &str = "\
study: interoperability
question: Are the rows of the other tool what the seed says?
target: {null: {}}
workload: {use: standard1, mix: {read: 1}, consistency: LOCAL_ONE}
data: {present: 20000, settle: none}
client: {timeout: 60s}
procedure: {fixed: {threads: 32}}
window: {warmup: 0s, measure: 5s}
verify: {reads: all, sample: 20000}
";

/// Returns the folder of the unpacked distribution. One test fetches it for all tests.
pub(super) fn distribution() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(unpacked).clone()
}

fn unpacked() -> PathBuf {
    let home = std::env::home_dir().expect("HOME");
    let peers = home.join(".cache/cassay/peers");
    let folder = peers.join(format!("apache-cassandra-{VERSION}"));
    if folder.join("tools/lib/stress.jar").is_file() {
        return folder;
    }
    std::fs::create_dir_all(&peers).expect("a folder for peers");
    // The test needs the lock, because another test process may be fetching the distribution.
    let lock = std::fs::File::create(peers.join(".lock")).expect("a lock");
    lock.lock().expect("the lock");
    if folder.join("tools/lib/stress.jar").is_file() {
        return folder;
    }
    let artefact = format!("org.apache.cassandra:apache-cassandra:{VERSION}:tar.gz:bin");
    let copy = [
        "-B".to_owned(),
        "-q".to_owned(),
        "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy".to_owned(),
        format!("-Dartifact={artefact}"),
        format!("-DoutputDirectory={}", peers.display()),
    ];
    tool("mvn", &copy, &peers);
    let archive = format!("apache-cassandra-{VERSION}-bin.tar.gz");
    tool("tar", &["-xzf".to_owned(), archive.clone()], &peers);
    std::fs::remove_file(peers.join(archive)).expect("remove the archive");
    folder
}

/// Runs cassandra-stress. The script of the tool requires Java 8, so the test starts Java itself
/// with the options of the script.
pub(super) fn stress_tool(lab: &Lab, node: SocketAddr, words: &[&str]) -> String {
    let folder = distribution();
    let home = folder.display();
    let mut arguments = Vec::new();
    for package in [
        "java.io",
        "java.lang",
        "java.nio",
        "java.util",
        "sun.nio.ch",
    ] {
        arguments.push("--add-opens".to_owned());
        arguments.push(format!("java.base/{package}=ALL-UNNAMED"));
    }
    arguments.push("-Xmx512M".to_owned());
    arguments.push("-Dlogback.configurationFile=logback-tools.xml".to_owned());
    arguments.push("-cp".to_owned());
    arguments.push(format!("{home}/conf:{home}/lib/*:{home}/tools/lib/*"));
    arguments.push("org.apache.cassandra.stress.Stress".to_owned());
    arguments.extend(words.iter().map(|word| (*word).to_owned()));
    let node = format!("-node {} -port native={}", node.ip(), node.port());
    arguments.extend(node.split(' ').map(str::to_owned));
    // In the gate, `JAVA_HOME` names a Java that is set for fast compilation.
    let java = match std::env::var("JAVA_HOME") {
        Ok(home) if !home.is_empty() => format!("{home}/bin/java"),
        _ => "java".to_owned(),
    };
    tool(&java, &arguments, lab.path())
}

fn cassandra_stress(lab: &Lab, node: SocketAddr, operation: &str) -> String {
    let line = format!(
        "{operation} n={ROWS} cl=LOCAL_ONE no-warmup -pop seq=1..{ROWS} \
         -mode native cql3 protocolVersion=4 -rate threads=64"
    );
    let words: Vec<&str> = line.split(' ').collect();
    stress_tool(lab, node, &words)
}

/// Returns the value in a line of cassandra-stress's summary: `Total errors            :          0
/// [..]`.
pub(super) fn summary(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.trim_start().starts_with(name));
    let value = line.and_then(|line| line.split(':').nth(1)?.split_whitespace().next());
    let number = value.and_then(|value| value.replace(',', "").parse().ok());
    number.unwrap_or_else(|| panic!("no {name:?} in\n{text}"))
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn cassandra_stress_and_cassay_read_what_the_other_has_written() {
    let lab = Lab::with(READ);
    let node = one_node::address();
    let target = format!("attach:{node}");
    let run = ["run", "study.yaml", "--json", "--target", &target];

    let wrote = cassandra_stress(&lab, node, "write");
    assert_eq!(summary(&wrote, "Total errors"), 0);
    let read = only_trial(&lab.cassay(&run).measured(&lab));
    let reads = read["all"]["ops"].as_u64().unwrap();
    assert_rows_are_right(&read, u64::from(ROWS) + reads);

    // Checks that the test would notice errors. The test reads rows that were never written, and
    // each must be counted as missing once.
    let beyond = [
        "data.present=20100",
        "verify={reads: none, sample: 20100}",
        "window.measure=1s",
    ];
    let sets: Vec<_> = beyond.iter().flat_map(|set| ["--set", set]).collect();
    let seen = only_trial(&lab.cassay(&[&run[..], &sets].concat()).ended_with(3));
    let counts = ["checked", "missing", "stale", "wrong"].map(|name| &seen["verify"][name]);
    assert_eq!(
        counts.map(serde_json::Value::as_u64),
        [20_100, 100, 0, 0].map(Some)
    );

    // Tests the reverse direction in truncated tables, so that the tool reads only rows that cassay
    // has written.
    let load = "{load: {operations: 20000}, reset: truncate}";
    let load = READ.replace("{present: 20000, settle: none}", load);
    lab.write(
        "load.yaml",
        &load.replace("{read: 1}", "{write: 1, read: 1}"),
    );
    let run = ["run", "load.yaml", "--json", "--target", &target];
    // The tool created the tables, so writing to them needs explicit permission.
    lab.cassay(&run).ended_with(2).says(&["--allow write=keyspace1.standard1"]);
    let run = [&run[..], &["--allow", "write=keyspace1"]].concat();
    let loaded = only_trial(&lab.cassay(&run).measured(&lab));
    assert_eq!(loaded["load"]["operations"], ROWS);
    assert_counts_agree(&loaded);
    assert_rows_are_right(&loaded, u64::from(ROWS));
    let read = cassandra_stress(&lab, node, "read");
    assert_eq!(summary(&read, "Total errors"), 0);
    assert_eq!(summary(&read, "Total partitions"), u64::from(ROWS));
}
