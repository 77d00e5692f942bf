//! Tests the faults that a study may have.

use super::*;
use crate::settings::{GrantedPermissions, PlannedHit};
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Means};

const BROKEN: &str = "\
study: s
question: What if a node is silent?
target: {local: {nodes: 3}}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {rate: 100}}
window: {measure: 60s}
faults:
  - {at: 20s, kind: node-pause, where: {node: 2}, for: 10s}
";

fn broken(faults: &str) -> String {
    let (head, _) = BROKEN.split_once("faults:\n").unwrap();
    format!("{head}faults:\n{faults}")
}

#[test]
fn a_fault_is_in_the_settings_and_in_the_conditions() {
    let study = resolve("s.yaml", BROKEN, &Overrides::default()).unwrap();
    let settings = &study.variants[0].settings;
    let [fault] = &settings.faults[..] else {
        panic!("one was asked for")
    };
    assert_eq!(
        (&*fault.kind.name, &fault.hit),
        ("node-pause", &PlannedHit::Known(Hit::Node(NodeIndex(1))))
    );
    assert_eq!(
        (fault.at_ns, fault.for_ns),
        (20_000_000_000, 10_000_000_000)
    );
    let conditions = crate::conditions::conditions(&study);
    let said = conditions.iter().find(|one| one.about == "faults").map(|one| one.what.as_str());
    assert_eq!(said, Some("node-pause of node2 at 20s for 10s"));
    let needs = crate::needs::needs(settings);
    assert!(needs.iter().any(|need| need.why == "faults: node-pause"));
}

#[test]
fn variants_may_differ_by_what_is_broken() {
    let text = format!("{BROKEN}variants: {{broken: {{}}, whole: {{faults: []}}}}\n");
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:9:40: `faults` is an empty list
              hint: write at least one item, or remove `faults`
        "#]],
    );
    let (head, faults) = BROKEN.split_once("faults:\n").unwrap();
    let variants = format!("variants:\n  whole: {{}}\n  broken:\n    faults:\n    {faults}");
    let study = resolve(
        "s.yaml",
        &(head.to_owned() + &variants),
        &Overrides::default(),
    )
    .unwrap();
    let counts = study.variants.iter().map(|one| one.settings.faults.len());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn repetitions_and_random_choices_of_faults_follow_the_seed() {
    let text = broken(
        "  - {at: 10s, kind: [node-pause, node-kill], for: 5s, every: 10s}
  - {at: 1s, kind: node-stop, where: {role: not-contact-point}, for: 2s, seed: 4}
",
    );
    let faults = |text: &str| {
        let study = resolve("s.yaml", text, &Overrides::default()).unwrap();
        study.variants[0].settings.faults.clone()
    };
    let all = faults(&text);
    let times: Vec<u64> = all.iter().map(|fault| fault.at_ns / 1_000_000_000).collect();
    assert_eq!(times, [10, 20, 30, 40, 50, 1]);
    assert_eq!(all, faults(&text), "it is the same again");
    assert_ne!(all, faults(&format!("{text}seed: 77\n")));
    let names = |name: &str| all.iter().filter(|fault| fault.kind.name == name).count();
    assert!(names("node-pause") > 0 && names("node-kill") > 0, "{all:?}");
    assert!(all.iter().any(|fault| fault.hit != all[0].hit), "{all:?}");
    assert_ne!(all[5].hit, PlannedHit::Known(Hit::Node(NodeIndex(0))));
}

#[test]
fn mistakes_of_faults_are_found_together_and_where_they_stand() {
    let text = broken(
        "  - {at: 20s, kind: node-pase, where: {node: 2}, for: 10s}
  - {at: 20s, kind: node-pause, where: {node: 4}, for: 10s}
  - {at: 20s, kind: node-slow, where: {host: 1}, for: 10ms, until: end, loss: 10%}
  - {at: 20s, kind: node-restart, where: {node: 1, role: any}, for: 1s}
  - {at: 20s, kind: node-kill, cpus: 0.1}
  - {kind: node-pause}
",
    );
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:8:21: `faults.kind` is `node-pase`; it must be one of 40 values
              hint: did you mean `node-pause`?
            s.yaml:9:47: `faults.where.node` is 4, but the target has 3 nodes
              hint: use a number from 1 to 3
            s.yaml:10:46: `faults.where.host` is 1, but the target has 0 hosts
              hint: name a node instead, or add `target.local.hosts`
            s.yaml:10:55: `faults.for` is `10ms`: the minimum is 1s
            s.yaml:10:61: `faults` has both `for` and `until`
              hint: use one of `for`, `until`
            s.yaml:10:79: `faults.loss` does not apply to node-slow
              hint: remove it
            s.yaml:11:52: `faults.where` has both `node` and `role`
              hint: use one of `node`, `host`, `hosts`, `role`
            s.yaml:11:69: node-restart is instantaneous and has no duration
              hint: remove `for`
            s.yaml:12:21: node-kill lasts until cassay heals it: `faults.for` is missing
              hint: add `for`, or `until: end`
            s.yaml:12:38: `faults.cpus` does not apply to node-kill
              hint: remove it
            s.yaml:13:5: `faults.at` is missing
              hint: the key means: Start of the fault, counted from the start of the window.
            s.yaml:13:12: node-pause lasts until cassay heals it: `faults.for` is missing
              hint: add `for`, or `until: end`
        "#]],
    );
    let text = broken(
        "  - {at: 55s, kind: node-pause, where: {node: 1}, for: 10s}
  - {at: 50s, kind: node-pause, where: {node: 1}, for: 6s}
  - {at: 60s, kind: node-pause, where: {node: 2}, until: end}
  - {at: 5s, kind: node-pause, where: {node: 3}, for: 9s, every: 8s}
",
    );
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:8:56: this fault ends at 65s, but `window.measure` is 1m
              hint: use a longer window, so that it also covers the recovery
            s.yaml:9:10: this fault overlaps node-pause of node1, 55s to 65s
              hint: end that fault before 50s, or start this fault later
            s.yaml:10:5: this fault ends at 1m, but `window.measure` is 1m
              hint: use a longer window, so that it also covers the recovery
            s.yaml:11:10: this fault overlaps node-pause of node3, 5s to 14s
              hint: end that fault before 13s, or start this fault later
        "#]],
    );
}

/// In an earlier version, cassay planned faults that could never occur on their target, without a
/// message.
#[test]
fn a_fault_that_cannot_occur_on_its_hosts_is_a_mistake() {
    let text = broken(
        "  - {at: 1s, kind: host-power-off, where: {host: 2}, for: 9s,
     ha: {restart_on: 24, after: 24h}}
  - {at: 20s, kind: host-power-off, where: {host: 2}, for: 9s, ha: {restart_on: 2, after: 1s}}
  - {at: 40s, kind: disk-full, where: {host: 1}, for: 9s, leave: 1024TiB}
",
    )
    .replace("{nodes: 3}", "{hosts: 3, host: {volume: 1GiB}}");
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:9:23: `faults.ha.restart_on` is 24, but the target has 3 hosts
              hint: use a number from 1 to 3
            s.yaml:9:34: `faults.ha.after` is 24h, but the host is up again after 9s
              hint: raise `faults.for`, or lower `after`
            s.yaml:10:81: host 2 is off during this fault, so it cannot start its own nodes
              hint: name another host, or `other-host`
            s.yaml:11:66: `faults.leave` is 1024TiB, but the volume has 1GiB and would not be full
              hint: lower `leave`
        "#]],
    );
}

/// A node cannot start on another machine, because its volume is a file on the disk of its own
/// machine.
#[test]
fn nodes_of_machines_are_not_started_on_others() {
    let text = broken(
        "  - {at: 1s, kind: host-power-off, where: {host: 2}, for: 9s}
  - {at: 20s, kind: host-power-off, where: {host: 2}, for: 9s, ha: {after: 1s}}
",
    )
    .replace("{nodes: 3}", "{hosts: 2, host: {volume: 1GiB}}");
    let mut overrides = Overrides::default();
    overrides.set.push("target.local.machines=lab.yaml".to_owned());
    let machines = "machines: [{ssh: db1, folder: /data}, {ssh: db2, folder: /data}]\n";
    overrides.inputs.insert("lab.yaml".to_owned(), machines.to_owned());
    mistakes(
        &text,
        &overrides,
        expect![[r#"
            s.yaml:9:68: `faults.ha` moves volumes between hosts, which is impossible for machines
              hint: remove this key, or the variant that sets it: `--set variants.NAME=none`
        "#]],
    );
}

const ATTACHED: &str = "\
study: s
question: q
target:
  attach:
    contact_points: [db1, db2]
    faults:
      pull-cable: {inject: [ssh, '{node}', down], see: ./is-down, heal: [ssh, '{node}', up]}
      node-kill: {inject: [a], see: [b], heal: [c]}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {rate: 100}}
window: {measure: 60s}
faults:
  - {at: 20s, kind: pull-cable, where: {node: 2}, for: 10s}
";

fn trusted() -> Overrides {
    let mut overrides = Overrides::default();
    overrides.granted.trust = true;
    overrides
}

#[test]
fn fault_programs_of_an_owner_need_trust_first() {
    let good = ATTACHED.replace("      node-kill: {inject: [a], see: [b], heal: [c]}\n", "");
    let study = resolve("s.yaml", &good, &trusted()).unwrap();
    let fault = &study.variants[0].settings.faults[0];
    assert_eq!(fault.words(), "pull-cable of node2");
    assert_eq!(fault.kind.what, "runs ssh {node} down");
    let Means::Programs(commands) = &fault.kind.means else {
        panic!("{:?}", fault.kind);
    };
    assert_eq!(commands.see.words, ["./is-down"]);
    assert_eq!(commands.within, std::time::Duration::from_secs(60));
    mistakes(
        &good,
        &Overrides::default(),
        expect![[r#"
        s.yaml:7:28: `target.attach.faults.pull-cable.inject` runs a program on this machine
          hint: remove this setting, or pass --trust if you trust the author of the study
        s.yaml:7:56: `target.attach.faults.pull-cable.see` runs a program on this machine
          hint: remove this setting, or pass --trust if you trust the author of the study
        s.yaml:7:73: `target.attach.faults.pull-cable.heal` runs a program on this machine
          hint: remove this setting, or pass --trust if you trust the author of the study
    "#]],
    );
    let bad = ATTACHED.replace("node: 2", "node: 3");
    let bad = format!("{bad}  - {{at: 1s, kind: node-pause, for: 1s}}\n");
    mistakes(
        &bad,
        &trusted(),
        expect![[r#"
        s.yaml:8:7: `target.attach.faults.node-kill`: a built-in fault has this name: use another
        s.yaml:13:47: `faults.where.node` is 3, but the target has 2 nodes
          hint: use a number from 1 to 2
        s.yaml:14:20: `faults.kind` is `node-pause`; it must be one of pull-cable, node-kill
    "#]],
    );
    // A setting on the user's own command line does not need `--trust`.
    let own = Overrides {
        set: ["inject", "see", "heal"]
            .map(|key| format!("target.attach.faults.pull-cable.{key}=[true]"))
            .to_vec(),
        ..Overrides::default()
    };
    assert!(resolve("s.yaml", &good, &own).is_ok());
}

#[test]
fn the_hottest_partitions_replica_needs_a_hotter_partition() {
    let hottest =
        "  - {at: 20s, kind: node-kill, for: 10s, where: {role: replica-of-hottest-partition}}\n";
    let zipf = "workload: {use: standard1, mix: {write: 1}, params: {distribution: zipf}}";
    let even = broken(hottest);
    let uneven = even.replace("workload: {use: standard1, mix: {write: 1}}", zipf);
    let study = resolve("s.yaml", &uneven, &Overrides::default()).unwrap();
    let fault = &study.variants[0].settings.faults[0];
    assert_eq!(
        fault.words(),
        "node-kill of a replica of the hottest partition"
    );
    mistakes(
        &even,
        &Overrides::default(),
        expect![[r#"
        s.yaml:8:56: the workload has no partition that it requests much more often than others
          hint: name a node, or skew the rows: `workload: {params: {distribution: zipf}}`
    "#]],
    );
    // The node of the first fault is still unknown, and may be the same as the node of the second
    // fault.
    let other = uneven + "  - {at: 25s, kind: node-pause, where: {node: 3}, for: 10s}\n";
    mistakes(
        &other,
        &Overrides::default(),
        expect![[r#"
        s.yaml:9:10: this fault overlaps node-kill of a replica of the hottest partition, 20s to 30s
          hint: end that fault before 25s, or start this fault later
    "#]],
    );
}

/// cassay refuses these faults, because no other node has a copy of the data.
#[test]
fn a_node_that_is_alone_loses_no_data_and_leaves_no_ring() {
    for kind in ["data-lost", "node-decommission", "node-remove"] {
        let text = BROKEN
            .replace("nodes: 3", "nodes: 1")
            .replace("node: 2", "node: 1")
            .replace("node-pause", kind);
        let refused = resolve("s.yaml", &text, &Overrides::default());
        let said = refused.unwrap_err().to_string();
        let expected =
            format!("s.yaml:8:21: {kind} needs another node from which to stream the data");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn a_fault_of_all_nodes_has_a_limit_and_settings_but_no_place() {
    let text = broken(
        "  - {at: 5s, kind: rolling-change, for: 20s, yaml: {concurrent_reads: 64}}
  - {at: 30s, kind: node-repair, where: {node: 2}, for: 10s}
",
    );
    let study = resolve("s.yaml", &text, &Overrides::default()).unwrap();
    let faults = &study.variants[0].settings.faults;
    assert_eq!(
        (&faults[0].hit, &faults[1].hit),
        (
            &PlannedHit::Known(Hit::Cluster),
            &PlannedHit::Known(Hit::Node(NodeIndex(1)))
        )
    );
    assert_eq!(faults[0].options.yaml["concurrent_reads"], 64);
    assert!(faults[1].options.yaml.is_empty());
    let conditions = crate::conditions::conditions(&study).into_iter();
    let said: Vec<String> =
        conditions.filter(|one| one.about == "faults").map(|one| one.what).collect();
    let expected = "rolling-change of all nodes, yaml concurrent_reads 64 at 5s for 20s, \
         node-repair of node2 at 30s for at most 10s";
    assert_eq!(said.join(", "), expected);

    let text = broken(
        "  - {at: 5s, kind: rolling-restart, where: {node: 2}, for: 10s}
  - {at: 16s, kind: rolling-restart}
  - {at: 5s, kind: node-pause, where: {node: 1}, for: 5s, yaml: {concurrent_reads: 64}}
  - {at: 5s, kind: rolling-change, for: 5s, yaml: {num_tokens: 4}}
  - {at: 30s, kind: rolling-change, for: 5s}
",
    );
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
        s.yaml:8:44: rolling-restart affects all nodes, one after the other
          hint: remove `where`
        s.yaml:9:21: rolling-restart performs a task: its time limit `faults.for` is missing
          hint: add `for`, or `until: end`
        s.yaml:10:65: `faults.yaml` does not apply to node-pause
          hint: remove it
        s.yaml:11:64: cassay cannot change num_tokens: the nodes already have tokens
          hint: remove it
        s.yaml:12:21: `faults.yaml` is missing, but rolling-change requires it
    "#]],
    );
    let text = broken(
        "  - {at: 5s, kind: rolling-restart, for: 20s}
  - {at: 20s, kind: node-pause, where: {node: 3}, for: 2s}
",
    );
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:9:10: this fault overlaps rolling-restart of all nodes, 5s to 25s
              hint: end that fault before 20s, or start this fault later
        "#]],
    );
}

#[test]
fn only_nodes_of_our_own_are_broken() {
    for target in ["null: {}", "attach: {contact_points: [h]}"] {
        let text = BROKEN.replace("local: {nodes: 3}", target);
        let refused = resolve("s.yaml", &text, &Overrides::default());
        let said = refused.unwrap_err().to_string();
        let expected = "s.yaml:8:3: `faults` requires nodes, but this target has none";
        assert!(said.contains(expected), "{said}");
    }
    // On the null target, cassay omits the faults of the study, and adds a note about this.
    let overrides = Overrides {
        target: Some("null".to_owned()),
        ..Overrides::default()
    };
    let study = resolve("s.yaml", BROKEN, &overrides).unwrap();
    assert!(study.variants[0].settings.faults.is_empty());
    assert!(study.notes.iter().any(|note| note.contains("so cassay omits faults")));
}

/// The machines of an attached cluster are hosts, but the nodes on them are still unknown.
#[test]
fn machines_of_others_lose_packets() {
    let target = "attach: {contact_points: [a, b, c], hosts: {ssh: [m1, m2, m3]}}";
    let trusted = Overrides {
        granted: GrantedPermissions {
            trust: true,
            ..GrantedPermissions::default()
        },
        ..Overrides::default()
    };
    let text = |faults: &str| broken(faults).replace("local: {nodes: 3}", target);
    let study = resolve(
        "s.yaml",
        &text(
            "  - {at: 5s, kind: net-partition, where: {host: 3}, for: 5s}
  - {at: 15s, kind: net-down, where: {node: 2}, for: 5s}
  - {at: 25s, kind: net-reset, where: {node: 1}}
",
        ),
        &trusted,
    )
    .unwrap();
    let said: Vec<String> = study.variants[0]
        .settings
        .faults
        .iter()
        .map(|fault| format!("{} of {}", fault.kind.name, fault.place()))
        .collect();
    let expected = [
        "net-partition of host3 from host1 and host2",
        "net-down of the host of node2",
        "net-reset of node1",
    ];
    assert_eq!(said, expected);
    mistakes(
        &text(
            "  - {at: 5s, kind: net-down, where: {host: 4}, for: 5s}
  - {at: 15s, kind: net-down, where: {node: 2}, for: 5s}
  - {at: 17s, kind: net-down, where: {host: 1}, for: 5s}
",
        ),
        &trusted,
        expect![[r#"
            s.yaml:8:44: `faults.where.host` is 4, but the target has 3 hosts
              hint: use a number from 1 to 3
            s.yaml:10:10: this fault overlaps net-down of the host of node2, 15s to 20s
              hint: end that fault before 17s, or start this fault later
        "#]],
    );
}

/// The command line states the length of the measurement. Faults are active while the last step of
/// the command line is measured.
#[test]
fn words_of_other_tools_may_have_faults_beside_them() {
    let head = "study: s\nquestion: q\ntarget: {local: {nodes: 3}}\n";
    let fault = "faults: [{at: 2s, kind: node-pause, where: {node: 2}, for: 3s}]\n";
    let two = "workload: {ycsb: [load cassandra-cql -p recordcount=10, run cassandra-cql -p \
               recordcount=10 -p operationcount=10]}\n";
    let text = format!("{head}{two}{fault}");
    let study = resolve("s.yaml", &text, &Overrides::default()).unwrap();
    let steps: Vec<(&str, usize)> = study
        .variants
        .iter()
        .map(|variant| (variant.name.as_str(), variant.settings.faults.len()))
        .collect();
    assert_eq!(steps, [("load", 0), ("run", 1)]);
    let short = "workload: {stress: write duration=4s no-warmup -rate threads=1}\n";
    let until = fault.replace("for: 3s", "until: end");
    for (faults, expected) in [
        (
            fault,
            expect![[r#"
        s.yaml:5:10: this fault ends at 5s, but the command line measures only for 4s
          hint: make the command run longer, so that it also covers the recovery
    "#]],
        ),
        (
            &*until,
            expect![[r#"
        s.yaml:5:10: this fault ends at 1m, but the command line measures only for 4s
          hint: make the command run longer, so that it also covers the recovery
        s.yaml:5:62: `faults.until` needs a `window`, but an imported command line has none
          hint: set `at` and `for` of each fault
    "#]],
        ),
    ] {
        let text = format!("{head}{short}{faults}");
        mistakes(&text, &Overrides::default(), expected);
    }
}
