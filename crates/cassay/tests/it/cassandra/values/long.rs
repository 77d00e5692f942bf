//! Compares values of settings with the class that reads `cassandra.yaml`, from the jar of each
//! Cassandra line. The tests show that plan and server refuse the same values. The server refuses
//! every value that a plan refuses. A plan refuses every value that the server refuses when it
//! reads `cassandra.yaml`.

use crate::cassandra::dirs_with;
use crate::cassandra::lexer::answered;
use serde_json::{Value, json};
use versions::{LINES, Lack, Line, Release, Setting, SettingRefusal};

/// End of an error message about a truth value. The server treats some other values of such a
/// setting as not set. cassay refuses them, because users never intend them.
const TAKES_ANYTHING: [&str; 2] = ["accepts true or false", "accepts true or false; or nothing"];

fn values() -> Vec<Value> {
    let texts = [
        "64",
        "-1",
        "16.5",
        "yes",
        "text",
        "2500us",
        "5ms",
        "1s",
        "1 s",
        "-1s",
        "3m",
        "2h",
        "1d",
        "5ns",
        "1MiB",
        "64MB/s",
        "64MiB/s",
        "64KiB/s",
        "10B/s",
        "24Mbit/s",
        "10KiB",
        "1024B",
        "1GiB",
        "99999999999ms",
        "99999999999MiB",
        "9223372036854775807s",
        "batch",
        "",
        "0s",
    ];
    let others = [
        json!(0),
        json!(1),
        json!(64),
        json!(-1),
        json!(16.0),
        json!(16.5),
        json!(1_u64 << 31),
        json!(i64::MAX),
        json!(true),
        json!(null),
        json!(["a"]),
        json!({"a": "b"}),
    ];
    texts.into_iter().map(Value::from).chain(others).collect()
}

/// Setting with one value, as a line of `cassandra.yaml`.
struct Question {
    name: String,
    value: Value,
    /// True if only the server checks the items of the list or the names of the map.
    is_free: bool,
}

/// Returns questions about a setting or a part. The name may contain dots.
fn questions(line: &Line, name: &str, values: &[Value]) -> Vec<Question> {
    let has_parts = line.names_with_parts().any(|other| is_part(other, name));
    let all = values.iter().map(|value| Question {
        name: name.to_owned(),
        value: value.clone(),
        is_free: value.is_array() || value.is_object() && !has_parts,
    });
    let mut all: Vec<Question> = all.collect();
    // cassay does not know the form of such a value, or knows that it has many forms.
    let is_wrong = |refusal: SettingRefusal| refusal.lack == Lack::Value;
    let is_known = all.iter().any(|one| one.nested().refusal(line).is_some_and(is_wrong));
    all.iter_mut().for_each(|one| one.is_free |= !is_known);
    all
}

impl Question {
    /// Returns the same question with objects instead of dots in the name.
    fn nested(&self) -> Question {
        let mut names: Vec<&str> = self.name.split('.').collect();
        let whole = names.remove(0).to_owned();
        let whole_value = |value: Value, part: &str| json!({part: value});
        let value = names.into_iter().rev().fold(self.value.clone(), whole_value);
        Question {
            name: whole,
            value,
            is_free: self.is_free,
        }
    }

    fn refusal(&self, line: &Line) -> Option<SettingRefusal> {
        match line.setting(&self.name, &self.value) {
            Setting::Refused(refusal) => Some(refusal),
            Setting::Known | Setting::Named { .. } => None,
        }
    }

    /// Returns true if the answer of the server shows a defect of cassay.
    fn is_other(&self, line: &Line, is_refused_by_server: bool) -> bool {
        match self.refusal(line) {
            Some(own) => {
                !is_refused_by_server && !TAKES_ANYTHING.iter().any(|end| own.why.ends_with(end))
            }
            None => is_refused_by_server && !self.is_free,
        }
    }

    fn text(&self) -> String {
        format!("{}: {}\n", self.name, self.value)
    }
}

fn is_part(name: &str, whole: &str) -> bool {
    name.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

/// Asks the class of a line that reads `cassandra.yaml`. Returns the questions to which cassay
/// gives another answer.
fn disagreements(line: &Line, questions: &[Question]) -> Vec<String> {
    let texts: Vec<String> = questions.iter().map(Question::text).collect();
    let cache = dirs_with(std::path::Path::new("unused")).cache;
    let release = Release::parse(line.pinned).expect("a release");
    let answers = answered(&cache, &release, "Values.java", &texts);
    let said: Vec<&str> = answers.lines().filter_map(|line| line.strip_prefix("ANSWER ")).collect();
    assert_eq!(said.len(), texts.len(), "{}", line.name);
    questions
        .iter()
        .zip(&said)
        .filter(|(question, said)| question.is_other(line, said.starts_with("refused")))
        .map(|(question, said)| format!("{} {}: {said}", line.name, question.text().trim_end()))
        .collect()
}

fn assert_same(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Leaves out settings for which cassay refuses no value.
#[test]
#[ignore = "needs a Cassandra: cargo xtask ci"]
fn values_that_the_servers_reader_refuses_are_refused() {
    let values = values();
    let mut wrong = Vec::new();
    for line in &LINES {
        let questions: Vec<Question> = line
            .names()
            .map(|name| questions(line, name, &values))
            .filter(|all| all.iter().any(|question| question.refusal(line).is_some()))
            .flatten()
            // cassay itself converts a value with another unit, so the test skips these values.
            .filter(|one| !matches!(line.setting(&one.name, &one.value), Setting::Named { .. }))
            .collect();
        assert!(questions.len() > 100 * values.len(), "{}", questions.len());
        wrong.extend(disagreements(line, &questions));
    }
    assert_same(&wrong);
}

/// Asks about every part in an object, and about its name with dots.
#[test]
#[ignore = "needs a Cassandra: cargo xtask ci"]
fn parts_that_the_servers_reader_refuses_are_refused() {
    let values = values();
    let dotted = [
        json!(64),
        json!("yes"),
        json!("text"),
        json!("5ms"),
        json!(null),
    ];
    let mut wrong = Vec::new();
    for line in &LINES {
        let mut all = Vec::new();
        for name in line.names_with_parts().filter(|name| name.contains('.')) {
            let own = questions(line, name, &values);
            all.extend(own.iter().map(Question::nested));
            // The reader finds a name with dots in another way, so a few values are enough.
            let mut own: Vec<Question> =
                own.into_iter().filter(|one| dotted.contains(&one.value)).collect();
            // The reader compares such an empty value with the default of the server. cassay knows
            // only the default of the part's class.
            own.iter_mut().for_each(|one| one.is_free |= one.value.is_null());
            all.extend(own);
            let unknown = questions(line, &format!("{name}x"), &[json!(null), json!(true)]);
            all.extend(unknown.iter().map(Question::nested));
            all.extend(unknown);
        }
        assert!(all.len() > 40 * values.len(), "{}", all.len());
        wrong.extend(disagreements(line, &all));
    }
    assert_same(&wrong);
}

/// Configuration of a node. The test adds the settings under test to this configuration and starts
/// the node.
const AROUND: &str = "\
cluster_name: values
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
endpoint_snitch: SimpleSnitch
seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, \
parameters: [{seeds: 127.0.0.1}]}]
";

/// Returns the text of a `cassandra.yaml` that contains [`AROUND`], folders and the settings. Adds
/// a sync mode of the commit log if the settings contain none.
fn whole(folder: &std::path::Path, settings: &serde_json::Map<String, Value>) -> String {
    let mut text = AROUND.to_owned();
    let below = |name: &str| folder.join(name).display().to_string();
    for (key, value) in [
        ("data_file_directories", json!([below("data")])),
        ("commitlog_directory", json!(below("log"))),
        ("hints_directory", json!(below("hints"))),
        ("saved_caches_directory", json!(below("caches"))),
        ("cdc_raw_directory", json!(below("cdc"))),
    ] {
        text += &format!("{key}: {value}\n");
    }
    if !settings.contains_key("commitlog_sync") {
        text += "commitlog_sync: periodic\n";
    }
    for (key, value) in settings {
        text += &format!("{key}: {value}\n");
    }
    text
}

/// Returns settings, each with true if a node starts with them.
fn settings() -> Vec<(Value, bool)> {
    let log = json!([{"class_name": "LZ4Compressor"}]);
    vec![
        (json!({"concurrent_reads": 1}), false),
        (json!({"concurrent_reads": 2}), true),
        (json!({"concurrent_writes": 1}), false),
        (json!({"concurrent_counter_writes": 1}), false),
        (json!({"concurrent_compactors": 0}), false),
        (json!({"phi_convict_threshold": 4}), false),
        (json!({"phi_convict_threshold": 16}), true),
        (json!({"phi_convict_threshold": 17}), false),
        (
            json!({"commitlog_sync": "batch", "commitlog_sync_period": "10000ms"}),
            false,
        ),
        (
            json!({"commitlog_sync": "group", "commitlog_sync_period": "10000ms"}),
            false,
        ),
        (json!({"commitlog_sync": "group"}), false),
        (
            json!({"commitlog_sync": "group", "commitlog_sync_group_window": "5ms"}),
            true,
        ),
        (
            json!({"commitlog_disk_access_mode": "direct", "commitlog_compression": log}),
            false,
        ),
        (
            json!({"commitlog_disk_access_mode": "mmap", "commitlog_compression": log}),
            false,
        ),
        (
            json!({"commitlog_disk_access_mode": "legacy", "commitlog_compression": log}),
            true,
        ),
        (json!({"commitlog_disk_access_mode": "standard"}), false),
        (
            json!({"commitlog_disk_access_mode": "mmap_index_only"}),
            false,
        ),
        (json!({"commitlog_segment_size": "0MiB"}), false),
        (json!({"repair_session_space": "0MiB"}), false),
        (json!({"memtable_heap_space": "0MiB"}), false),
        (json!({"concurrent_reads": "0x20"}), true),
        (json!({"page_size_fail_threshold": 0}), false),
        (json!({"page_size_fail_threshold": -1}), true),
        (json!({"max_value_size": "2047MiB"}), true),
        (json!({"max_value_size": "2048MiB"}), false),
        (json!({"auto_snapshot_ttl": "abc"}), false),
        (json!({"table_properties_warned": ["compresion"]}), false),
        (json!({"table_properties_warned": ["CDC"]}), true),
        (json!({"max_mutation_size": "16MiB"}), true),
        (json!({"max_mutation_size": "17MiB"}), false),
        (
            json!({"page_size_warn_threshold": 100, "page_size_fail_threshold": 100}),
            true,
        ),
        (
            json!({"page_size_warn_threshold": 101, "page_size_fail_threshold": 100}),
            false,
        ),
        (
            json!({"user_defined_functions_threads_enabled": false}),
            false,
        ),
        (json!({"user_defined_functions_warn_timeout": "2s"}), false),
    ]
}

/// Tests values that the type allows, but that a node refuses when it starts.
#[test]
#[ignore = "needs a Cassandra: cargo xtask cassandra"]
fn a_value_that_a_node_refuses_at_its_start_is_refused_before() {
    let cache = dirs_with(std::path::Path::new("unused")).cache;
    for line in &LINES {
        let release = Release::parse(line.pinned).expect("a release");
        for (settings, begins) in settings() {
            let own = settings.as_object().expect("settings");
            if own
                .keys()
                .any(|name| matches!(line.setting(name, &own[name]), Setting::Refused(_)))
            {
                continue;
            }
            let of = (&release, &target_spec::Origin::Maven);
            let is_refused = own
                .iter()
                .any(|(key, value)| target_spec::yaml_refusal(of, key, value).is_some())
                || !target_spec::yaml_together(of, own, &serde_json::Map::new()).is_empty();
            assert_eq!(is_refused, !begins, "{} {settings}", line.name);
            let folder = tempfile::tempdir().expect("a folder");
            let mut named = target_spec::yaml_named(line, own);
            if !own.contains_key("commitlog_sync") {
                let usual = json!({"commitlog_sync_period": "10000ms"});
                named.extend(target_spec::yaml_named(
                    line,
                    usual.as_object().expect("settings"),
                ));
            }
            let file = folder.path().join("cassandra.yaml");
            std::fs::write(&file, whole(folder.path(), &named)).expect("write");
            let said = started(&cache, &release, &file);
            assert_eq!(said == "taken", begins, "{} {settings}: {said}", line.name);
        }
    }
}

fn started(cache: &std::path::Path, release: &Release, file: &std::path::Path) -> String {
    let supply = supply::resolve(cache, (release, &target_spec::Origin::Maven), &mut |_| ());
    let program = format!(
        "{}/tests/it/cassandra/Started.java",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut command = crate::program::command("java");
    command.args([
        "-XX:TieredStopAtLevel=1",
        "-cp",
        &supply.expect("jars").classpath,
    ]);
    for package in [
        "java.lang",
        "java.io",
        "java.nio",
        "sun.nio.ch",
        "jdk.internal.ref",
    ] {
        command.arg(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
        command.arg(format!("--add-exports=java.base/{package}=ALL-UNNAMED"));
    }
    let folder = file.parent().expect("a folder").display().to_string();
    command.arg(format!("-Dcassandra.storagedir={folder}"));
    let said = command.arg(program).arg(file).output().expect("java");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let answer = said.lines().find_map(|line| line.strip_prefix("ANSWER "));
    answer.unwrap_or_else(|| panic!("{said}")).to_owned()
}
