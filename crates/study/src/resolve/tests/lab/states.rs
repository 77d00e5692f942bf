//! Tests amounts of data, resets, phases, probes and matrices.

use super::*;
use crate::settings::{Import, Load, PageCache, Probes, Reset, RestoreMethod};

#[test]
fn an_amount_of_bytes_becomes_an_estimate_of_rows() {
    let hosts = "local: {hosts: 3, host: {volume: 4GiB}}";
    let rows = |target: &str, rest: &str| settings(target, rest).data.load_rows;
    let whole = |replicas: u64, load: &str| {
        let rest = format!("keyspace: {{replication: {replicas}}}\ndata: {{load: {{{load}}}}}");
        rows(hosts, &rest)
    };
    let once = whole(1, "bytes_per_node: 200MB");
    assert!((1_000_000..4_000_000).contains(&once), "{once}");
    // Each copy needs space, so with three copies on three nodes, only a third of the rows fits.
    assert_eq!(whole(3, "bytes_per_node: 200MB"), once / 3);
    let full = whole(3, "fraction: 0.3");
    assert!(
        whole(3, "fraction: 0.6") > full && full > 1_000_000,
        "{full}"
    );
    let data = settings(hosts, "data: {load: {fraction: 0.3}}").data;
    assert_eq!(data.load, Load::Fraction(0.3));
    assert!(data.has_rows && data.rows == data.load_rows);
}

#[test]
fn the_way_back_is_read() {
    let data = settings(
        "local: {yaml: {disk_access_mode: standard}}",
        "data: {load: {operations: 5}, reset: snapshot, restore: offline, page_cache: drop}",
    )
    .data;
    assert_eq!(
        (data.reset, data.restore, data.page_cache),
        (Reset::Snapshot, RestoreMethod::Offline, PageCache::Drop)
    );
    let data = settings("local: {}", "data: {load: {operations: 5}}").data;
    assert_eq!(
        (data.reset, data.restore, data.page_cache),
        (Reset::None, RestoreMethod::Online, PageCache::Keep)
    );
}

#[test]
fn mistakes_about_data_are_said() {
    let attach = "attach: {contact_points: h}";
    let volume = "local: {hosts: 1, nodes_per_host: 2, host: {volume: 1GiB}}";
    check(&[
        (
            "local: {}",
            "data: {load: {operations: 5, bytes_per_node: 2GiB}}",
            "`data.load` has both `operations` and `bytes_per_node`",
        ),
        (
            "local: {}",
            "data: {load: {}}",
            "`data.load` requires one of `operations`, `bytes_per_node`, `fraction`",
        ),
        (
            "local: {hosts: 1}",
            "data: {load: {fraction: 0.3}}",
            "`data.load.fraction` is a share of the data volume, but the hosts have no volumes: \
             the load would fill this machine's own disk",
        ),
        (
            volume,
            "data: {load: {fraction: 0.99}}",
            "`data.load.fraction` is `0.99`: the maximum is 0.95",
        ),
        (
            attach,
            "data: {load: {fraction: 0.3}}",
            "`data.load.fraction`: the volume size of an attached cluster is unknown",
        ),
        (
            "null: {}",
            "data: {load: {bytes_per_node: 2GiB}}",
            "`data.load.bytes_per_node` is not possible: the null target stores no data",
        ),
        (
            volume,
            "data: {load: {bytes_per_node: 512MiB}}",
            "`data.load.bytes_per_node` is 512MiB on each of 2 nodes per host, but the volume of a \
             host has only 1GiB",
        ),
        (
            "local: {}",
            "data: {reset: snapshot}",
            "`data.reset: snapshot` restores loaded data, but the study loads none",
        ),
        (
            attach,
            "data: {load: {operations: 5}, reset: snapshot}",
            "`data.reset: snapshot` needs access to the MBeans of an attached cluster's nodes",
        ),
        (
            "local: {}",
            "data: {load: {operations: 5}, reset: truncate, restore: online}",
            "`data.restore` selects how to restore a snapshot, but the study has no snapshot",
        ),
        (
            attach,
            "data: {page_cache: drop}",
            "`data.page_cache: drop` is not possible, because cassay does not control the machines \
             of this target",
        ),
    ]);
}

#[test]
fn a_data_state_that_the_settings_prevent_is_refused() {
    let attach = "attach: {contact_points: h}";
    check(&[
        (
            "local: {}",
            "data: {page_cache: drop}",
            "`data.page_cache: drop` is not possible: the nodes map their files, and mapped pages \
             remain in memory",
        ),
        (
            "local: {hosts: 2, isolation: loopback, yaml: {disk_access_mode: mmap}}",
            "data: {page_cache: drop}",
            "`data.page_cache: drop` is not possible: the nodes map their files, and mapped pages \
             remain in memory",
        ),
        (
            "local: {}",
            "data: {load: {bytes_per_node: 2GiB}, settle: none}",
            "`data.load.bytes_per_node` checks the size on disk after a flush, but `data.settle: \
             none` flushes nothing",
        ),
        (
            attach,
            "data: {load: {bytes_per_node: 2GiB}}",
            "`data.load.bytes_per_node` checks the size on disk after a flush, which needs access \
             to the MBeans of an attached cluster's nodes",
        ),
    ]);
}

#[test]
fn a_phase_is_laid_over_the_variant_and_comes_back() {
    let rest = "data: {load: {operations: 5}}\nkeyspace: {options: {gc_grace_seconds: 60}}\n\
                phases:\n  load:\n    target: {local: {heap: 512MiB, \
                yaml: {commitlog_sync: periodic}}}\n\
                \x20   keyspace: {options: {gc_grace_seconds: 0}}\n\
                variants: {a: {}, b: {target: {local: {yaml: {commitlog_sync: batch}}}}}";
    let study = resolved("local: {yaml: {concurrent_writes: 64}}", rest);
    for (variant, sync) in study.variants.iter().zip([None, Some("batch")]) {
        let settings = &variant.settings;
        let (local, loading) = (settings.target.local(), settings.load_target().local());
        let (local, loading) = (local.unwrap(), loading.unwrap());
        assert_eq!((local.heap_bytes, loading.heap_bytes), (1 << 30, 512 << 20));
        let sync_of = |local: &target_spec::LocalSpec| {
            let found = local.yaml.get("commitlog_sync");
            found.map(|value| value.as_str().unwrap().to_owned())
        };
        assert_eq!(sync_of(local).as_deref(), sync, "{}", variant.name);
        assert_eq!(sync_of(loading).as_deref(), Some("periodic"));
        let options = |keyspace: &crate::settings::Keyspace| keyspace.table_options();
        assert_eq!(
            options(&settings.keyspace).unwrap(),
            "gc_grace_seconds = 60"
        );
        assert_eq!(
            options(settings.load_keyspace()).unwrap(),
            "gc_grace_seconds = 0"
        );
    }
    // The measured phase may override the target. A phase that changes no setting is not stored as
    // a phase.
    let rest = "data: {load: {operations: 5}}\nphases: {measure: {target: {local: {heap: 2GiB}}}}";
    let settings = settings("local: {}", rest);
    assert_eq!(settings.target.local().unwrap().heap_bytes, 2 << 30);
    assert_eq!(settings.load_target().local().unwrap().heap_bytes, 1 << 30);
    let rest = "data: {load: {operations: 5}}\nphases: {load: {target: {local: {heap: 1GiB}}}}";
    assert_eq!(self::settings("local: {}", rest).load_phase, None);
}

#[test]
fn mistakes_about_phases_are_said() {
    let load = "data: {load: {operations: 5}}\n";
    let with = |phases: &str| format!("{load}phases: {{load: {{{phases}}}}}");
    let cases = [
        (
            "local: {}",
            with("target: {local: {nodes: 2}}"),
            "`phases.load` cannot change `target.local.nodes`",
        ),
        (
            "local: {}",
            with("window: {measure: 2s}"),
            "`phases.load` cannot change `window`",
        ),
        (
            "local: {}",
            with("target: {local: {heap: 1}}"),
            "`target.local.heap` is `1`: the value has no unit",
        ),
        (
            "local: {}",
            with("keyspace: {compaction: {class: LeveledCompactionStrategy}}"),
            "`phases.load.keyspace.compaction` is set in a phase, but not outside the phase",
        ),
        (
            "local: {}",
            with("keyspace: {options: {gc_grace_seconds: 0}}"),
            "`phases.load.keyspace.options.gc_grace_seconds` is set in a phase, but not outside \
             the phase",
        ),
        (
            "attach: {contact_points: h}",
            with("target: {local: {heap: 1GiB}}"),
            "`phases.load.target` changes local nodes, but the target is not local",
        ),
        (
            "local: {}",
            "phases: {load: {target: {local: {heap: 512MiB}}}}".to_owned(),
            "`phases.load` has no effect: the study loads no rows",
        ),
        (
            "local: {}",
            with("target: {local: {host: {memory: 2GiB}}}"),
            "`target.local.host` applies to hosts, but the target has no hosts",
        ),
    ];
    for (target, rest, expected) in cases {
        check(&[(target, rest.as_str(), expected)]);
    }
}

#[test]
fn probes_are_on_unless_something_is_said() {
    let probes = |target: &str, rest: &str| settings(target, rest).probes;
    assert_eq!(probes("local: {}", ""), Some(Probes::default()));
    assert_eq!(
        probes("attach: {contact_points: h}", ""),
        Some(Probes::default())
    );
    assert_eq!(probes("null: {}", ""), None);
    assert_eq!(probes("local: {}", "probes: none"), None);
    assert_eq!(probes("local: {}", "probes: {}"), Some(Probes::default()));
    let rest = "probes: {period: 2s, hosts: 10s, jvm: false, import: [{esxtop: a.csv, columns: \
         [CPU]}, {prometheus: b.prom}, {prometheus: 'http://localhost:9100/metrics'}, {prometheus: \
         'https://localhost/', period: 5s}]}";
    let probes = probes("local: {}", rest).unwrap();
    let periods: Vec<_> =
        probes.periods().iter().map(|(_, ns)| ns.map(|ns| ns / SECOND_NS)).collect();
    assert_eq!(periods, [Some(10), Some(2), None, Some(2), Some(2)]);
    let url = |url: &str, seconds: u64| Import::PrometheusUrl {
        url: url.to_owned(),
        period_ns: seconds * SECOND_NS,
    };
    let expected = [
        Import::Esxtop {
            file: "a.csv".to_owned(),
            columns: vec!["CPU".to_owned()],
        },
        Import::PrometheusFile {
            file: "b.prom".to_owned(),
        },
        url("http://localhost:9100/metrics", 2),
        url("https://localhost/", 5),
    ];
    assert_eq!(probes.import, expected);
}

#[test]
fn mistakes_about_probes_are_said() {
    check(&[
        (
            "local: {}",
            "probes: {hosts: 1ms}",
            "`probes.hosts` is `1ms`: the minimum is 100ms",
        ),
        (
            "local: {}",
            "probes: {import: [{esxtop: a, prometheus: b}]}",
            "`probes.import` has both `esxtop` and `prometheus`",
        ),
        (
            "local: {}",
            "probes: {import: [{}]}",
            "`probes.import` requires one of `esxtop`, `prometheus`",
        ),
        (
            "local: {}",
            "probes: {import: [{prometheus: 'ftp://h/x'}]}",
            "`ftp://h/x` is neither a file nor an http or https address",
        ),
        (
            "local: {}",
            "probes: {import: [{esxtop: ../a.csv}]}",
            "../a.csv is outside the study's folder /studies: move the file to this folder",
        ),
        (
            "local: {}",
            "probes: {import: [{prometheus: /etc/passwd}]}",
            "/etc/passwd is outside the study's folder /studies: move the file to this folder",
        ),
        (
            "local: {}",
            "probes: {import: [{prometheus: a, period: 2s}]}",
            "`period` only applies to the address of an endpoint; a file has its own times",
        ),
        (
            "local: {}",
            "probes: {import: [{prometheus: a, columns: [b]}]}",
            "`columns` only applies to `esxtop`",
        ),
        (
            "null: {}",
            "probes: {jvm: 2s}",
            "`probes.jvm` has no metrics to read on the null target",
        ),
    ]);
}

#[test]
fn a_matrix_is_every_combination_of_its_values() {
    let rest = "matrix:\n  heap: {s: {target: {local: {heap: 512MiB}}}, l: {}}\n\
                \x20 columns: {a: {workload: {params: {columns: 2}}}, b: {}, c: {}}";
    let study = resolved("local: {}", rest);
    let of = |variant: &Variant| {
        let heap = variant.settings.target.local().unwrap().heap_bytes >> 20;
        format!(
            "{} {heap} {}",
            variant.name,
            variant.settings.workload.params.len()
        )
    };
    let all: Vec<_> = study.variants.iter().map(of).collect();
    assert_eq!(
        all,
        [
            "s-a 512 1",
            "s-b 512 0",
            "s-c 512 0",
            "l-a 1024 1",
            "l-b 1024 0",
            "l-c 1024 0"
        ]
    );
}

#[test]
fn mistakes_about_matrices_are_said() {
    let nine = (0..9).map(|n| format!("v{n}: {{}}")).collect::<Vec<_>>().join(", ");
    let large = format!("matrix: {{a: {{{nine}}}, b: {{{nine}}}}}");
    let rack = "{target: {local: {racks: a}}}";
    let same =
        format!("matrix: {{a: {{x: {rack}}}, b: {{y: {{target: {{local: {{racks: b}}}}}}}}}}");
    check(&[
        (
            "local: {}",
            &large,
            "the matrix has 81 combinations; the maximum is 64",
        ),
        (
            "local: {}",
            &same,
            "the axes `a` and `b` both set `target.local.racks`",
        ),
        (
            "local: {}",
            "variants: {a: {}}\nmatrix: {a: {x: {}}}",
            "the study has both `variants` and `matrix`",
        ),
        ("local: {}", "matrix: {a: {}}", "axis `a` has no values"),
        (
            "local: {}",
            "matrix: {a: {x: {seed: 2}}}",
            "a variant cannot change `seed`",
        ),
        (
            "local: {}",
            "matrix: {a: {x: {window: {measure: 1}}}}",
            "`window.measure` is `1`: the value has no unit",
        ),
        (
            "local: {}",
            "matrix: {a: {x: {}, x-y: {}}, b: {y-z: {}, z: {}}}",
            "two combinations are named `x-y-z`",
        ),
    ]);
}

#[test]
fn the_null_target_leaves_out_what_it_has_not() {
    let overrides = Overrides {
        target: Some("null".to_owned()),
        ..Overrides::default()
    };
    let rest = "data: {load: {fraction: 0.3}, reset: snapshot, page_cache: drop}\n\
                phases: {load: {target: {local: {heap: 512MiB}}}}\nprobes: {hosts: 2s}";
    let text = text("local: {hosts: 3, host: {volume: 4GiB}}", rest);
    let study = resolve("s", &text, &overrides).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let settings = &study.variants[0].settings;
    assert!(matches!(settings.target, Target::Null(_)));
    assert_eq!(settings.load_phase, None);
    assert_eq!(settings.probes, None);
    let data = &settings.data;
    assert_eq!(
        (data.reset, data.page_cache),
        (Reset::None, PageCache::Keep)
    );
    assert_eq!(data.load, Load::Operations(data.load_rows));
}

#[test]
fn the_shipped_study_of_hosts_has_its_sizes() {
    let text = include_str!("../../../../../../studies/hosts.yaml");
    for scale in [None, Some("laptop"), Some("disk-30"), Some("ci")] {
        let overrides = Overrides {
            scale: scale.map(str::to_owned),
            ..Overrides::default()
        };
        let study = resolve("hosts", text, &overrides).unwrap_or_else(|m| panic!("{m}"));
        assert_eq!(study.variants.len(), 4);
        let plan = crate::plan::plan(&study).unwrap();
        assert_eq!(plan.trials.len(), 4 * study.repeat.blocks);
        // This study has three hosts of 3 GiB, and volumes that are large enough.
        assert_eq!(plan.estimate.memory_bytes, 9 << 30);
        assert!(plan.estimate.disk_bytes <= 24 << 30);
        for variant in &study.variants {
            assert!(variant.settings.load_target().local().is_some());
            assert_eq!(variant.settings.data.reset, Reset::Snapshot);
        }
    }
}
