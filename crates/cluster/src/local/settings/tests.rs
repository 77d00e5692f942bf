//! Tests of node configurations with an invented layout.

use super::*;
use cassandra::config_file::change;
use target_spec::Origin;

fn layout() -> NodeLayout {
    NodeLayout {
        name: "node1".to_string(),
        address: Ipv4Addr::new(127, 9, 42, 1),
        ports: Ports {
            cql: 9042,
            storage: 7000,
            jolokia: 8778,
        },
        release: versions::DEFAULT.release(),
        conf_name: CONF.to_owned(),
        datacenter: "dc1".to_string(),
        rack: "rack1".to_string(),
        tokens: ring(1, 4).remove(0),
        seed: SocketAddrV4::new(Ipv4Addr::new(127, 9, 42, 1), 7000),
        all: [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(127, 9, 42, n), 7000)).to_vec(),
        host: "host1".to_string(),
        folder: PathBuf::from("/data/a & b/node1"),
        commitlog_total_mib: 8192,
        authentication: Authentication::None,
    }
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Returns each node's share of 2^64, and the owner of each token in token order.
fn owned(ring: &[Vec<i64>]) -> (Vec<u128>, Vec<usize>) {
    let nodes = ring.iter().enumerate();
    let mut all: Vec<(i64, usize)> = nodes
        .flat_map(|(node, tokens)| tokens.iter().map(move |token| (*token, node)))
        .collect();
    all.sort_unstable();
    let mut owned = vec![0u128; ring.len()];
    for (index, (token, node)) in all.iter().enumerate() {
        let previous = all[(index + all.len() - 1) % all.len()].0;
        owned[*node] += match token.wrapping_sub(previous) as u64 {
            0 => 1 << 64,
            width => u128::from(width),
        };
    }
    (owned, all.into_iter().map(|(_, node)| node).collect())
}

#[test]
fn one_node_more_owns_what_each_of_the_others_then_owns() {
    for (nodes, tokens) in [
        (1, 1),
        (1, 16),
        (2, 16),
        (3, 15),
        (3, 16),
        (23, 256),
        (127, 16),
    ] {
        let mut ring = ring(nodes, tokens);
        ring.push(further_tokens(nodes, tokens));
        assert_eq!(ring[nodes].len(), tokens as usize);
        let (owned, order) = owned(&ring);
        assert_eq!(order.len(), (nodes + 1) * tokens as usize);
        let share = (1u128 << 64) as f64 / (nodes + 1) as f64;
        // A node that gives up one more slice owns a correspondingly smaller share.
        let one = match tokens % nodes as u64 {
            0 => 0.0,
            _ => 1.0 / tokens as f64,
        };
        for owned in owned {
            let off = (owned as f64 / share - 1.0).abs();
            assert!(off <= one + 1e-6, "{nodes} nodes, {tokens} tokens: {off}");
        }
        assert!(!ring[nodes].contains(&i64::MIN), "which is reserved");
    }
}

#[test]
fn the_ring_gives_every_node_the_same_share() {
    for (nodes, tokens) in [(1, 1), (1, 16), (2, 16), (3, 16), (3, 256)] {
        let ring = ring(nodes, tokens);
        let (owned, order) = owned(&ring);
        let in_turn = order.iter().enumerate();
        assert!(
            in_turn.clone().all(|(index, node)| *node == index % nodes),
            "tokens alternate between the nodes"
        );
        let (least, most) = (owned.iter().min().unwrap(), owned.iter().max().unwrap());
        assert!(
            most - least <= 1024,
            "{nodes} nodes, {tokens} tokens: {owned:?}"
        );
        assert_eq!(owned.iter().sum::<u128>(), 1 << 64);
        assert!(ring.iter().all(|tokens| tokens.is_sorted()));
    }
}

#[test]
fn a_setting_that_cassay_owns_is_refused_with_the_reason() {
    let yaml = map(json!({"listen_address": "1.2.3.4", "concurrent_reads": 8,
        "commitlog_directory": "/x", "num_tokens": 0}));
    let check = |yaml: Map<String, Value>| {
        check_overrides(&LocalSpec {
            yaml,
            ..LocalSpec::default()
        })
    };
    let error = check(yaml).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 3, "{error}");
    assert!(error.contains("you cannot set listen_address of cassandra.yaml: "));
    assert!(
        error.contains("num_tokens must be 1 to 1024, not 0"),
        "{error}"
    );
    check(map(json!({"concurrent_reads": 8, "num_tokens": 4}))).unwrap();
    let twice = json!({"compaction_throughput": "1MiB/s", "compaction_throughput_mb_per_sec": 1});
    assert!(check(map(twice)).unwrap_err().to_string().contains("are one setting"));
}

#[test]
fn overrides_replace_ours() {
    let yaml = map(json!({"commitlog_segment_size": "16MiB", "concurrent_reads": 8}));
    let settings = yaml_of(&layout(), &yaml);
    assert_eq!(settings["concurrent_reads"], 8);
    assert_eq!(settings["commitlog_segment_size"], "16MiB");
    assert_eq!(settings["commitlog_sync_period"], "10000ms");
    let settings = yaml_of(&layout(), &map(json!({"commitlog_sync": "batch"})));
    assert!(!settings.contains_key("commitlog_sync_period"));
}

/// A node reports an unknown setting only at its start, and then dies.
#[test]
fn every_setting_of_ours_is_one_that_the_line_has() {
    for line in versions::LINES {
        let node = NodeLayout {
            release: line.release(),
            authentication: Authentication::Password,
            ..layout()
        };
        let user = map(json!({"read_request_timeout": "7s"}));
        for key in yaml_of(&node, &user).keys() {
            assert!(line.has_setting(key), "{key} of {}", line.name);
        }
        let seeds = &yaml_of(&node, &user)["seed_provider"][0]["parameters"][0]["seeds"];
        let asks_itself = *seeds == "127.9.42.1:7000";
        assert_eq!(asks_itself, line.has_cluster_metadata, "{}", line.name);
    }
    let old = NodeLayout {
        release: versions::LINES[0].release(),
        ..layout()
    };
    let settings = yaml_of(&old, &map(json!({"read_request_timeout": "7s"})));
    assert_eq!(settings["read_request_timeout_in_ms"], 7000);
    assert_eq!(settings["commitlog_sync_period_in_ms"], 10_000);
}

/// A joining node that is a seed would not stream its data.
#[test]
fn a_node_that_joins_streams_and_is_no_seed_of_its_own() {
    let batch = map(json!({"commitlog_sync": "batch"}));
    let (own, joining) = (yaml_of(&layout(), &batch), joining_of(&layout(), &batch));
    let differing: Vec<&String> = own
        .iter()
        .filter(|(key, value)| joining[*key] != **value)
        .map(|(key, _)| key)
        .collect();
    assert_eq!(differing, ["auto_bootstrap", "seed_provider"]);
    assert_eq!(joining["auto_bootstrap"], true);
    let seeds = &joining["seed_provider"][0]["parameters"][0]["seeds"];
    assert_eq!(seeds, "127.9.42.2:7000");
    let seeds = &own["seed_provider"][0]["parameters"][0]["seeds"];
    assert_eq!(seeds, "127.9.42.1:7000,127.9.42.2:7000", "it is told of it");
}

#[test]
fn a_file_of_ours_is_changed_as_if_it_had_been_written_so() {
    let written = |yaml: &Map<String, Value>| write_yaml(&yaml_of(&layout(), yaml));
    let one = map(json!({"concurrent_reads": 8}));
    let of = (&versions::DEFAULT.release(), &Origin::Maven);
    for other in [
        json!({"concurrent_reads": 16}),
        json!({"commitlog_sync": "batch", "commitlog_segment_size": "16MiB"}),
    ] {
        let other = map(other);
        let mut both = one.clone();
        both.extend(other.clone());
        assert_eq!(change(&written(&one), of, &other).unwrap(), written(&both));
    }
    let refused = |text: &str, yaml| change(text, of, &map(yaml)).unwrap_err().to_string();
    let text = written(&one);
    assert!(refused(&text, json!({"listen_address": "::1"})).contains("a separate address"));
    assert!(refused(&text, json!({"num_tokens": 4})).contains("already has tokens"));
    let foreign = "seed_provider:\n  - class_name: x\n";
    assert!(refused(foreign, json!({"concurrent_reads": 8})).contains("that cassay wrote"));
}

#[test]
fn every_setting_is_one_line_of_flow_style() {
    let text = write_yaml(&base(&layout()));
    assert!(
        text.contains("\ndata_file_directories: [\"/data/a & b/node1/data\"]\n"),
        "{text}"
    );
    let expected = "seed_provider: [{\"class_name\":";
    assert!(text.contains(expected), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (key, value) = line.split_once(": ").unwrap();
        assert!(
            key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{key}"
        );
        serde_json::from_str::<Value>(value).unwrap();
    }
}

#[test]
fn a_path_is_escaped_for_xml() {
    let text = logback_of(&layout().folder.join("logs"));
    assert!(
        text.contains("<file>/data/a &amp; b/node1/logs/system.log</file>"),
        "{text}"
    );
}

#[test]
fn tokens_that_make_no_ring_are_refused() {
    let spec = |tokens: Vec<Vec<i64>>| LocalSpec {
        nodes: 2,
        tokens,
        ..LocalSpec::default()
    };
    let refused = |tokens| check_tokens(&spec(tokens)).unwrap_err().to_string();
    assert!(
        refused(vec![vec![1]])
            .contains("tokens for 1 node, but the cluster needs tokens for 2 nodes")
    );
    assert!(refused(vec![vec![1], Vec::new()]).contains("no token for node2"));
    assert!(refused(vec![vec![1, 3], vec![2, 3]]).contains("the token 3 of node2"));
    assert!(refused(vec![vec![1], vec![i64::MIN]]).contains("reserved minimum"));
    let own = spec(vec![vec![1, 3], vec![2]]);
    check_tokens(&own).unwrap();
    assert_eq!(ring_of(&own), own.tokens);
    assert_eq!(ring_of(&spec(Vec::new())), ring(2, TOKENS_COUNT));
    let mut both = own;
    both.yaml.insert("num_tokens".to_owned(), json!(4));
    assert!(check_tokens(&both).unwrap_err().to_string().contains("num_tokens"));
}
