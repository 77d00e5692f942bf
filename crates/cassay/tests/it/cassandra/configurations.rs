//! Tests nodes that are restarted with another configuration, and report their settings.

use super::{authentication, dirs, small};
use crate::program::{HANG_LIMIT, Lab, is_of_line};
use ::cassandra::{Proof, Session};
use cluster::{Cluster, kept_cluster};
use serde_json::{Map, Value, json};
use target_spec::{Authentication, Collector, LocalSpec, Restarts, Target};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

/// Returns the spec of a small node that syncs its commit log periodically.
fn periodic() -> LocalSpec {
    LocalSpec {
        yaml: map(json!({"commitlog_sync": "periodic", "commitlog_sync_period": "5s"})),
        ..small(1)
    }
}

fn closed(spec: LocalSpec) -> LocalSpec {
    LocalSpec {
        authentication: Authentication::Password,
        ..spec
    }
}

/// Returns a spec that differs from [`periodic`] in the settings that studies change most often, in
/// all notations.
fn batch() -> LocalSpec {
    LocalSpec {
        heap_bytes: 640 << 20,
        collector: Some(Collector::Parallel),
        yaml: map(json!({
            "commitlog_sync": "batch",
            "concurrent_reads": 16,
            "commitlog_total_space": "1GiB",
            "read_request_timeout": "7s",
            "compaction_throughput": "32MiB/s",
            "commitlog_compression": [{"class_name": "LZ4Compressor"}],
            "memtable": {"configurations": {"default": {"class_name": "TrieMemtable"}}},
        })),
        jvm_options: [
            "-XX:MaxGCPauseMillis=50",
            "-Dcassay.test=a=b",
            "-Xss512k",
            "-Xlog:os*=off",
        ]
        .map(str::to_string)
        .to_vec(),
        ..small(1)
    }
}

#[track_caller]
fn assert_all_hold(proofs: &[Proof], count_min: usize) {
    assert!(proofs.len() >= count_min, "{proofs:#?}");
    for proof in proofs {
        assert!(proof.effect.is_proved(), "{proof:#?}");
    }
}

fn effective(cluster: &Cluster, key: &str) -> String {
    let proofs = cluster.observe().expect("proofs").proofs;
    let found = proofs.iter().find(|proof| proof.key == key);
    let shown = found.expect("the key").effect.shown();
    shown.expect("a value").to_string()
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_is_restarted_with_another_configuration_and_proves_it() {
    // The spec `batch` requests trie memtables, so this test needs Cassandra 5.0.
    if !is_of_line("5.0") {
        return;
    }
    let lab = Lab::new();
    let (from, to) = (periodic(), batch());
    let say = &mut |text: &str| eprintln!("{text}");
    let mut cluster = cluster::start(&Target::Local(from.clone()), &dirs(&lab), say).unwrap();
    assert_all_hold(&cluster.observe().unwrap().proofs, 5);
    assert_eq!(effective(&cluster, "commitlog_sync"), "periodic");
    assert_eq!(effective(&cluster, "class_sharing"), "true");
    let pid = cluster.nodes()[0].pid;

    assert_eq!(
        cluster.reconfigure(&from, Restarts::InTurn, say).unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(cluster.nodes()[0].pid, pid, "nothing to do");
    assert_eq!(
        cluster.reconfigure(&to, Restarts::InTurn, say).unwrap(),
        ["node1"]
    );
    assert_ne!(cluster.nodes()[0].pid, pid);
    assert!(cluster.died(&[]).is_empty());

    let proofs = cluster.observe().unwrap().proofs;
    assert_all_hold(&proofs, 13);
    assert_eq!(effective(&cluster, "commitlog_sync"), "batch");
    assert_eq!(effective(&cluster, "heap"), (640 << 20).to_string());
    assert_eq!(effective(&cluster, "collector"), "parallel");
    let configuration = cluster.observe().unwrap().nodes.remove(0);
    assert!(configuration.settings.len() > 50);
    assert_eq!(configuration.flags["MaxHeapSize"], (640 << 20).to_string());

    let mut other = to.clone();
    other.yaml.insert("num_tokens".into(), json!(4));
    let error = cluster.reconfigure(&other, Restarts::InTurn, say).unwrap_err().to_string();
    assert!(
        error.starts_with("a restart cannot change num_tokens"),
        "{error}"
    );
    // If a node cannot start with a new setting, the error names the node and contains the last
    // lines of its log.
    other = to.clone();
    other.yaml.insert("role_manager".into(), json!("never.heard.of.It"));
    let error = format!(
        "{:#}",
        cluster.reconfigure(&other, Restarts::InTurn, say).unwrap_err()
    );
    assert!(
        error.contains("node1") && error.contains("last log lines"),
        "{error}"
    );
    drop(cluster);
    super::assert_nothing_is_left(&lab);
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_kept_cluster_is_worked_on_by_a_later_command_and_goes_on() {
    let lab = Lab::new();
    let _kept = super::KeptClusterGuard(&lab);
    let up = super::up(&lab, &["--authentication"]);
    let password = authentication::password(&lab);
    assert_eq!(up[0]["user"], "cassay", "{up}");
    let file = up[0]["password_file"].as_str().map(str::to_owned);
    assert!(file.is_some_and(|file| file.ends_with("/password")), "{up}");
    let status = || lab.cassay(&["target", "status", "--json"]).ended_with(0).json();
    assert_eq!(status(), up, "what was started is what is there");
    let (id, node) = (up[0]["id"].clone(), &up[0]["nodes"][0]);
    assert_eq!([&up[0]["keep"], &node["answers"]], [&json!(true); 2]);
    let pids = super::jvms(&lab);
    assert_eq!(json!(pids), json!([node["pid"]]));
    let dirs = dirs(&lab);
    let say = &mut |text: &str| eprintln!("{text}");
    let mut cluster = kept_cluster::open(&dirs, None, say).unwrap();
    assert_all_hold(&cluster.observe().unwrap().proofs, 3);
    let error = kept_cluster::open(&dirs, None, say).unwrap_err().to_string();
    assert!(error.contains("another command is using"), "{error}");
    assert_eq!(
        cluster.reconfigure(&closed(periodic()), Restarts::InTurn, say).unwrap(),
        ["node1"]
    );
    assert_all_hold(&cluster.observe().unwrap().proofs, 5);
    authentication::assert_closed(cluster.nodes()[0].address, &password);
    drop(cluster);
    let now = super::jvms(&lab);
    assert!(now.len() == 1 && now != pids, "{pids:?} {now:?}");
    let later = status();
    assert_eq!(later[0]["nodes"][0]["answers"], json!(true), "{later}");
    let shown = lab.cassay(&["target", "status"]).ended_with(0);
    assert!(
        shown.stdout.contains("user cassay, password in /"),
        "{shown}"
    );
    let state = lab.clusters().join(&super::folders(&lab)[0]);
    let state = std::fs::read_to_string(state.join("state.json")).unwrap();
    for said in [state, up.to_string(), shown.to_string()] {
        assert!(!said.contains(&password), "it is said");
    }
    let down = ["target", "down", id.as_str().expect("a name"), "--json"];
    let down = lab.cassay(&down).ended_with(0).json();
    assert_eq!(down, json!({"stopped": [id]}));
    super::assert_nothing_is_left(&lab);
}

/// Guardrails apply only to ordinary users. The load runs as an ordinary user only if nodes require
/// a password. Only then does cassay report a guardrail as in effect.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_guardrail_binds_the_load_of_nodes_that_ask_for_a_password() {
    if !is_of_line("4.1") {
        return;
    }
    let lab = Lab::new();
    let say = &mut |text: &str| eprintln!("{text}");
    let open = LocalSpec {
        yaml: map(json!({"page_size_fail_threshold": 10})),
        ..small(1)
    };
    let cluster = cluster::start(&Target::Local(open.clone()), &dirs(&lab), say).unwrap();
    let effect = |cluster: &Cluster| {
        let proofs = cluster.observe().unwrap().proofs;
        let found = proofs.into_iter().find(|proof| proof.key == "page_size_fail_threshold");
        found.expect("it is asked for").effect
    };
    assert!(effect(&cluster).shown().is_none(), "{:?}", effect(&cluster));
    cluster.stop().unwrap();
    let cluster = cluster::start(&Target::Local(closed(open)), &dirs(&lab), say).unwrap();
    assert!(effect(&cluster).is_proved(), "{:?}", effect(&cluster));
    let node = cluster.nodes()[0].address;
    let password = authentication::password(&lab);
    let many = "SELECT * FROM system_schema.columns";
    let ask = |user: &str| {
        let access = authentication::access(user, &password);
        let mut session = Session::open(node, &access, HANG_LIMIT).expect("a session");
        session.query(many).map(drop).map_err(|error| format!("{error:#}"))
    };
    assert_eq!(ask("cassay"), Ok(()));
    let refused = ask("cassay_load").expect_err("a page has 10 rows at most");
    assert!(
        refused.contains("Guardrail page_size violated"),
        "{refused}"
    );
}

mod long {
    use super::*;

    /// Parts of the names of settings that the test does not set. cassay writes these settings
    /// itself, or another value would prevent the node from starting.
    const OF_THE_NODE: [&str; 22] = [
        "address",
        "allocate_tokens",
        "authenticator",
        "authorizer",
        "auto_bootstrap",
        // Cassandra 6.0-alpha2 shows this setting, but refuses the setting in `cassandra.yaml`.
        "available_processors",
        "cidr",
        "cluster_name",
        "default_keyspace",
        "directories",
        "directory",
        "encryption",
        "heap_dump",
        "initial_token",
        "interface",
        "num_tokens",
        "partitioner",
        "port",
        "role_manager",
        "seed",
        "snitch",
        "_dir",
    ];

    fn value_of(shown: &str) -> Value {
        match shown {
            "" | "null" => Value::Null,
            number if number.parse::<i64>().is_ok() => json!(number.parse::<i64>().unwrap()),
            number if number.parse::<f64>().is_ok() => json!(number.parse::<f64>().unwrap()),
            "true" | "false" => json!(shown == "true"),
            text => json!(text),
        }
    }

    /// Configures a node with the values that a node with default settings shows. cassay must
    /// report all these values as in effect, in any notation of the server.
    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn a_node_that_is_asked_for_all_that_it_shows_has_it_in_effect() {
        let lab = Lab::new();
        let say = &mut |text: &str| eprintln!("{text}");
        let plain = cluster::start(&Target::Local(small(1)), &dirs(&lab), say).unwrap();
        let (_, shown) = plain.settings().unwrap().remove(0);
        plain.stop().unwrap();
        let spec = small(1);
        let is_free = |name: &&str| !OF_THE_NODE.iter().any(|part| name.contains(part));
        let asked: Map<String, Value> = spec
            .release
            .line()
            .names()
            .filter(is_free)
            // Cassandra 4.1 shows NaN for a number that is not set. JSON cannot express NaN, so
            // such settings are omitted.
            .filter(|name| shown.get(*name).is_none_or(|text| text != "NaN"))
            .filter_map(|name| Some((name.to_owned(), value_of(shown.get(name)?))))
            // Settings that are maps or lists are omitted, because Cassandra 4.0 shows the address
            // of a Java object instead of such a value.
            .filter(|(_, value)| {
                !value.as_str().is_some_and(|text| {
                    text.contains(['{', '[']) || text.starts_with("org.apache.cassandra.config.")
                })
            })
            .collect();
        assert!(asked.len() > 100, "{}", asked.len());
        let spec = LocalSpec {
            yaml: asked,
            ..spec
        };
        let same = cluster::start(&Target::Local(spec), &dirs(&lab), say).unwrap();
        let proofs = same.observe().unwrap().proofs;
        let wrong: Vec<&Proof> = proofs
            .iter()
            .filter(|proof| !proof.effect.is_proved() && proof.effect.shown().is_some())
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
