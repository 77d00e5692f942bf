//! Tests how cassay reads the text of a study, and the message for each mistake. This file tests
//! hosts and table options.

mod states;

use super::*;
use crate::settings::GrantedPermissions;
use serde_json::json;
use std::time::Duration;
use target_spec::{
    Collector, DiskSpec, HostSpec, HostsSpec, Isolation, JolokiaAccess, LinkSpec, SecretSource,
};

/// Returns the text of a study with this target. `rest` contains further sections.
fn text(target: &str, rest: &str) -> String {
    format!(
        "study: s\nquestion: q\ntarget: {{{target}}}\n\
         workload: {{use: standard1, mix: {{write: 1}}}}\n\
         procedure: {{fixed: {{threads: 1}}}}\n{rest}\n"
    )
}

fn resolved(target: &str, rest: &str) -> Study {
    let study = resolve("s", &text(target, rest), &Overrides::default());
    study.unwrap_or_else(|mistakes| panic!("{target} {rest}: {mistakes}"))
}

fn settings(target: &str, rest: &str) -> Settings {
    resolved(target, rest).variants.remove(0).settings
}

/// Returns the messages of a study's mistakes, without places and hints.
fn messages(target: &str, rest: &str) -> Vec<String> {
    let overrides = Overrides {
        files: Some(Folder {
            path: "/studies".into(),
            open: false,
        }),
        ..Overrides::default()
    };
    match resolve("s", &text(target, rest), &overrides) {
        Ok(_) => Vec::new(),
        Err(diagnostics) => diagnostics.list.into_iter().map(|d| d.message).collect(),
    }
}

fn check(cases: &[(&str, &str, &str)]) {
    for (target, rest, expected) in cases {
        assert_eq!(messages(target, rest), [*expected], "{target} | {rest}");
    }
}

#[test]
fn hosts_have_their_settings_and_nodes_alone_use_loopback() {
    let hosts = |target: &str| settings(target, "").target.local().unwrap().hosts.clone();
    assert_eq!(hosts("local: {nodes: 3}"), None);
    assert_eq!(hosts("local: {}"), None);
    let plain = HostsSpec {
        count: 3,
        ..HostsSpec::default()
    };
    assert_eq!(hosts("local: {hosts: 3}").as_ref(), Some(&plain));
    let whole = "local: {hosts: 2, nodes_per_host: 4, isolation: hosts, host: {cpus: [0, 1], \
                 cpu_quota: 1.5, memory: 8GiB, volume: 20GiB, \
                 disk: {read_iops: 500, write_rate: 200MiB}, link: {rate: 1Gbit, delay: 1ms}}}";
    let expected = HostsSpec {
        count: 2,
        isolation: Isolation::Hosts,
        host: HostSpec {
            cpus: Some(vec![0, 1]),
            cpu_quota: Some(1.5),
            memory_bytes: Some(8 << 30),
            volume_bytes: Some(20 << 30),
            disk: DiskSpec {
                read_iops: Some(500),
                write_bytes_per_s: Some(200 << 20),
                ..DiskSpec::default()
            },
            link: LinkSpec {
                rate_bits_per_s: Some(1_000_000_000),
                delay: Some(Duration::from_millis(1)),
            },
        },
        ..HostsSpec::default()
    };
    assert_eq!(hosts(whole), Some(expected));
    assert_eq!(settings(whole, "").target.local().unwrap().nodes, 8);
}

#[test]
fn racks_follow_hosts_unless_they_are_named() {
    for (target, expected) in [
        ("local: {nodes: 3}", "rack1 rack1 rack1"),
        ("local: {nodes: 3, racks: [a, b]}", "a b a"),
        ("local: {hosts: 3}", "rack1 rack2 rack3"),
        (
            "local: {hosts: 2, nodes_per_host: 2}",
            "rack1 rack2 rack1 rack2",
        ),
        (
            "local: {hosts: 2, nodes_per_host: 2, racks: per-host}",
            "rack1 rack2 rack1 rack2",
        ),
        ("local: {hosts: 3, racks: [a, b]}", "a b a"),
        ("local: {hosts: 3, racks: a}", "a a a"),
    ] {
        let target = settings(target, "").target;
        let local = target.local().unwrap();
        assert_eq!(local.racks.join(" "), expected, "{target:?}");
    }
}

#[test]
fn mistakes_about_hosts_are_said() {
    check(&[
        (
            "local: {hosts: 43, nodes_per_host: 3}",
            "",
            "hosts × nodes per host is 129; the maximum is 128",
        ),
        (
            "local: {nodes: 129}",
            "",
            "`target.local.nodes` is `129`: the maximum is 128",
        ),
        (
            "local: {nodes: 4, hosts: 3}",
            "",
            "`target.local.nodes` is 4, but the number of nodes on all hosts is 3",
        ),
        (
            "local: {nodes: 3, host: {memory: 3GiB}}",
            "",
            "`target.local.host` applies to hosts, but the target has no hosts",
        ),
        (
            "local: {isolation: hosts}",
            "",
            "`target.local.isolation` applies to hosts, but the target has no hosts",
        ),
        (
            "local: {nodes_per_host: 2}",
            "",
            "`target.local.nodes_per_host` applies to hosts, but the target has no hosts",
        ),
        (
            "local: {racks: per-host}",
            "",
            "`target.local.racks: per-host` needs hosts",
        ),
        (
            "local: {hosts: 2, nodes_per_host: 2, racks: [a, b, c]}",
            "",
            "the target has 3 racks but only 2 hosts, so at least one rack would be empty",
        ),
        (
            "local: {nodes: 1, racks: [a, b]}",
            "",
            "the target has 2 racks but only 1 node, so at least one rack would be empty",
        ),
    ]);
}

#[test]
fn limits_that_cannot_hold_are_said() {
    check(&[
        (
            "local: {hosts: 2, isolation: loopback, host: {link: {rate: 1Gbit}}}",
            "",
            "`target.local.host.link` is not available with `isolation: loopback`",
        ),
        (
            "local: {hosts: 2, host: {link: {rate: 1GiB}}}",
            "",
            "`target.local.host.link.rate` is `1GiB`: unknown unit `GiB`; use bit, Kbit, Mbit or \
             Gbit",
        ),
        (
            "local: {hosts: 2, nodes_per_host: 2, heap: 1GiB, host: {memory: 2GiB}}",
            "",
            "`target.local.host.memory` is 2GiB, but 2 nodes with 1GiB of heap take at least \
             2.93 GiB",
        ),
        (
            "local: {gc: zgc, jvm: ['-XX:+UseParallelGC']}",
            "",
            "`-XX:+UseParallelGC` and `target.local.gc` both choose a garbage collector",
        ),
        (
            "local: {hosts: 2}",
            "keyspace: {replication: 3}",
            "`keyspace.replication` is 3, but the target has 2 nodes",
        ),
    ]);
}

/// In an earlier version, cassay found these mistakes only when the nodes started, half a minute
/// into the run.
#[test]
fn settings_that_no_machine_can_start_are_a_mistake() {
    check(&[(
        "local: {gc: zgc, class_sharing: true}",
        "",
        "the study requests class data sharing, which is impossible with ZGC: the layout of \
         objects, or of pointers to them, differs from the archive",
    )]);
}

#[test]
fn collectors_and_jolokia_are_read() {
    for (word, expected) in [
        ("g1", Collector::G1),
        ("zgc", Collector::Z),
        ("shenandoah", Collector::Shenandoah),
        ("parallel", Collector::Parallel),
    ] {
        let target = settings(&format!("local: {{gc: {word}}}"), "").target;
        assert_eq!(target.local().unwrap().collector, Some(expected));
    }
    let target = "attach: {contact_points: h, tls: true, \
                  jolokia: {user: u, password: {secret: s}, tls: {verify: false}}}";
    let overrides = Overrides {
        granted: GrantedPermissions {
            secrets: [("s".to_owned(), SecretSource::Env("P".to_owned()))].into(),
            ..GrantedPermissions::default()
        },
        ..Overrides::default()
    };
    let mut study = resolve("s", &text(target, ""), &overrides).expect("a study");
    let Target::Attach(attach) = study.variants.remove(0).settings.target else {
        panic!("attached")
    };
    assert!(attach.tls.is_some_and(|tls| tls.verify && tls.ca.is_none()));
    let Some(JolokiaAccess {
        port,
        user,
        password,
        tls,
    }) = attach.jolokia
    else {
        panic!("a way to the JVMs")
    };
    assert_eq!((port, user.as_deref()), (8778, Some("u")));
    assert_eq!(password, Some(SecretSource::Env("P".to_owned())));
    assert!(tls.is_some_and(|tls| !tls.verify));
    check(&[
        (
            "attach: {contact_points: h, jolokia: {user: u}}",
            "",
            "`target.attach.jolokia.user` is set, but `target.attach.jolokia.password` is missing",
        ),
        (
            "attach: {contact_points: h, jolokia: {user: u, password: hunter2}}",
            "",
            "`target.attach.jolokia.password` does not name the source of the secret",
        ),
    ]);
}

#[test]
fn options_of_tables_are_read_and_judged() {
    let keyspace = settings(
        "local: {}",
        "keyspace: {durable_writes: false, \
         compaction: {class: UnifiedCompactionStrategy, scaling_parameters: T4}, \
         compression: {enabled: false}, \
         options: {gc_grace_seconds: 60, caching: {keys: NONE}}}",
    )
    .keyspace;
    let own = keyspace.own_options();
    assert_eq!(own.as_deref(), Some("durable_writes = false"));
    assert_eq!(keyspace.compaction.len(), 2);
    assert_eq!(
        keyspace.compression,
        [("enabled".to_owned(), "false".to_owned())]
    );
    assert_eq!(
        keyspace.options,
        [
            ("gc_grace_seconds".to_owned(), json!(60)),
            ("caching".to_owned(), json!({"keys": "NONE"})),
        ]
    );
    check(&[
        (
            "local: {}",
            "keyspace: {compaction: {min_threshold: 4}}",
            "`keyspace.compaction` has no `class`",
        ),
        (
            "local: {}",
            "keyspace: {compression: {class: [a]}}",
            "`keyspace.compression.class` must be one word or number",
        ),
        (
            "local: {}",
            "keyspace: {options: {gc_grace_second: 4}}",
            "`gc_grace_second` is not a table option of Cassandra 5.0",
        ),
        (
            "local: {}",
            "keyspace: {options: {compaction: {class: x}}}",
            "`keyspace.options.compaction` has a separate key",
        ),
        (
            "attach: {contact_points: h}",
            "keyspace: {options: {\"a = 1 and b\": 4}}",
            "`a = 1 and b` is not a valid option name: use letters, digits and `_`",
        ),
        (
            "local: {}",
            "keyspace: {options: {comment: [a]}}",
            "`keyspace.options.comment` must be a word, a number or a mapping",
        ),
    ]);
    // cassay accepts unknown options for an attached cluster, because its server may have other
    // options.
    assert_eq!(
        messages(
            "attach: {contact_points: h}",
            "keyspace: {options: {own_option: 4}}"
        ),
        Vec::<String>::new()
    );
}

/// In an earlier version, cassay refused these keys only shortly before the nodes started.
#[test]
fn cassandra_yaml_keys_that_cassay_sets_are_refused_in_the_plan() {
    let cases = [
        (
            "local: {yaml: {listen_address: 1.2.3.4}}",
            "",
            "you cannot set listen_address of cassandra.yaml: cassay chooses a separate address \
             for every node",
        ),
        (
            "local: {yaml: {num_tokens: 0}}",
            "",
            "num_tokens must be 1 to 1024, not 0",
        ),
    ];
    check(&cases);
    let variant = "variants: {a: {}, b: {target: {local: {yaml: {storage_port: 7}}}}}";
    let said = messages("local: {}", variant);
    assert!(
        said.iter().any(|text| text.starts_with("you cannot set storage_port of")),
        "{said:?}"
    );
    assert_eq!(
        messages("local: {yaml: {concurrent_reads: 7}}", ""),
        Vec::<String>::new()
    );
}

#[test]
fn a_load_that_overfills_the_volumes_is_foreseen() {
    let warnings = |rows: &str| {
        let target = "local: {hosts: 3, host: {volume: 1GiB}}";
        let rest = format!("keyspace: {{replication: 3}}\ndata: {{load: {{operations: {rows}}}}}");
        let study = resolved(target, &rest);
        crate::plan::plan(&study).expect("a plan").warnings
    };
    assert_eq!(warnings("10k"), Vec::<String>::new());
    let said = warnings("20M");
    assert_eq!(said.len(), 1);
    for part in [
        "20M rows",
        "on each host",
        "The volume of a host has 1GiB",
        "`target.local.host.volume`",
    ] {
        assert!(said[0].contains(part), "{part}: {said:?}");
    }
}

/// In an earlier version, the plan showed "about 1 rows", and the first round loaded only one row.
#[test]
fn a_share_of_a_small_volume_is_more_than_a_row() {
    let target = "local: {hosts: 1, host: {volume: 1GiB}}";
    let settings = settings(target, "data: {load: {fraction: 0.4}}");
    assert!(
        settings.data.load_rows > 100_000,
        "{}",
        settings.data.load_rows
    );
}

/// In an earlier version, cassay rounded `warmup: 500ms` to a second without a message.
#[test]
fn a_window_between_two_intervals_is_refused() {
    check(&[
        (
            "local: {}",
            "window: {warmup: 500ms}",
            "`window.warmup` is 500ms; it must be whole seconds, because intervals are seconds",
        ),
        (
            "null: {}",
            "window: {warmup: 0s, measure: 1500ms}",
            "`window.measure` is 1500ms; it must be whole seconds, because intervals are seconds",
        ),
        (
            "local: {}",
            "variants: {a: {}, b: {window: {warmup_max: 2500ms}}}",
            "`window.warmup_max` is 2500ms; it must be whole seconds, because intervals are \
             seconds",
        ),
    ]);
}

/// In an earlier version, one document stated that the automatic warm-up lasted one second. Another
/// document stated two seconds.
#[test]
fn an_auto_warm_up_on_the_null_target_is_what_the_documents_say() {
    let warmup = settings("null: {}", "").window.warmup;
    assert_eq!(warmup, Warmup::Fixed(WARMUP_NULL_NS));
    assert_eq!(
        WARMUP_NULL_NS, SECOND_NS,
        "or change the words below, and what they stand in"
    );
    let reference = include_str!("../../../../../docs/study-file.md");
    assert!(
        reference
            .contains("On the null target, which needs no warm-up, the warm-up ends after 1 s")
    );
    let measurement = include_str!("../../../../../docs/measurement.md").replace('\n', " ");
    assert!(measurement.contains("`auto` is a fixed second."));
}

/// `-1` means "no limit" in many settings of cassandra.yaml, which the server parses as an integer.
#[test]
fn whole_numbers_below_zero_stay_whole() {
    let target = "local: {yaml: {concurrent_validations: -1, \
                  dynamic_snitch_badness_threshold: -1.5, role_manager: '-1', \
                  concurrent_writes: 7, memtable_cleanup_threshold: 0.5}}";
    let target = settings(target, "").target;
    let yaml = target.local().unwrap().yaml.clone();
    let expected = json!({
        "concurrent_validations": -1,
        "dynamic_snitch_badness_threshold": -1.5,
        "role_manager": "-1",
        "concurrent_writes": 7,
        "memtable_cleanup_threshold": 0.5,
    });
    assert_eq!(json!(yaml).to_string(), expected.to_string());
}
