//! Tests nodes that are placed on a part of their machine. The kernel and the JVMs of the nodes
//! report the placement.

use super::{KeptClusterGuard, dirs, small, up};
use crate::program::{Lab, skip};
use host::{CpuSet, EffectiveAffinity};
use serde_json::Value;
use target_spec::{HostsSpec, Isolation, LocalSpec, Placing, Restarts, Target, Topology};
use topology::Units;

/// Returns the usable CPUs of this machine, or `None` if the machine has only one. The tests of
/// this module need two.
fn cpus() -> Option<Vec<u32>> {
    let all: Vec<u32> = EffectiveAffinity::own().unwrap().all_cpus().iter().collect();
    (all.len() > 1).then_some(all)
}

fn one_core(isolation: Isolation) -> LocalSpec {
    LocalSpec {
        topology: Topology {
            placing: Placing::Pinned,
            part: Some((Units::Cores, 1)),
            ..Topology::default()
        },
        hosts: Some(HostsSpec {
            count: 1,
            isolation,
            ..HostsSpec::default()
        }),
        ..small(1)
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_node_pinned_to_one_core_shows_it_until_the_undo() {
    let Some(all) = cpus() else {
        skip("this machine has one CPU");
        return;
    };
    let lab = Lab::new();
    let say = &mut |text: &str| eprintln!("{text}");
    // In the first case, the placement uses control groups if this machine has them. In the second
    // case, it uses inherited affinity.
    for isolation in [Isolation::Auto, Isolation::Loopback] {
        let spec = one_core(isolation);
        let mut cluster = cluster::start(&Target::Local(spec.clone()), &dirs(&lab), say).unwrap();
        let proofs = cluster.observe().unwrap().proofs;
        let of = |key: &str| proofs.iter().find(|proof| proof.key == key).expect("the key");
        for key in [
            "topology cpus",
            "topology processors",
            "-XX:ParallelGCThreads",
        ] {
            assert!(of(key).effect.is_proved(), "{:#?}", of(key));
        }
        let places = cluster.places().unwrap();
        let taken = cluster.taken_cpus();
        let expected: CpuSet = taken.iter().map(|cpu| *cpu as u32).collect();
        assert!(places[0].found.threads > 20);
        assert!(places[0].found.cpus.keys().eq([&expected]), "{places:?}");
        let client = cluster.client_cpus().expect("what the node leaves");
        assert!(client.iter().all(|cpu| !taken.contains(cpu)));
        // After the placement is undone, the node has all CPUs again.
        let free = LocalSpec {
            topology: Topology::default(),
            ..spec
        };
        cluster.reconfigure(&free, Restarts::InTurn, say).unwrap();
        let found = cluster.places().unwrap().remove(0).found;
        assert_eq!(found.all_cpus(), all.iter().copied().collect());
        assert_eq!(cluster.client_cpus(), None);
        cluster.stop().unwrap();
    }
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_kept_cluster_is_placed_and_impossible_plans_are_refused() {
    if cpus().is_none() {
        skip("this machine has one CPU");
        return;
    }
    let lab = Lab::new();
    up(&lab, &[]);
    let _kept = KeptClusterGuard(&lab);
    let apply = |more: &[&str]| {
        let arguments = [&["topology", "apply", "--json"], more].concat();
        lab.cassay(&arguments)
    };
    let placed = apply(&["--topology", "pinned", "--node-cpus", "1"]).ended_with(0).json();
    let cpus = placed["nodes"][0]["cpus"].as_str().expect("a list");
    assert_eq!(CpuSet::parse_list(cpus).unwrap().len(), 1, "{placed:#}");
    let effects: Vec<&Value> = placed["proofs"]
        .as_array()
        .expect("proofs")
        .iter()
        .map(|proof| &proof["effect"])
        .collect();
    assert!(
        effects.iter().all(|effect| *effect == "in effect"),
        "{placed:#}"
    );
    let refused = apply(&[
        "--topology",
        "pinned",
        "--units",
        "cores",
        "--count",
        "4096",
    ]);
    refused.ended_with(1);
    let free = apply(&["--topology", "none"]).ended_with(0).json();
    assert!(
        free["why"].as_array().expect("sentences").is_empty(),
        "{free:#}"
    );
}

/// A study that places one node first on one core, then on two cores.
const SCALE_UP: &str = "\
study: scale
question: What does a second core bring?
target: {local: {hosts: 1, heap: 512MiB, class_sharing: true}}
workload: {use: standard1, mix: {write: 1}, consistency: ONE}
client: {timeout: 60s}
procedure: {scale_up: {units: cores, counts: [1, 2]}, fixed: {threads: 8}}
window: {warmup: 2s, measure: 4s}
verify: {reads: none}
repeat: {blocks: 2}
";

/// Tests that are too long for the gate.
mod long {
    use super::*;

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn one_core_to_two_gives_an_efficiency_with_its_interval() {
        if cpus().is_none() {
            skip("this machine has one CPU");
            return;
        }
        let lab = Lab::with(SCALE_UP);
        // A short window next to other tests may be invalid. The run records the results even then.
        lab.cassay(&["run", "study.yaml"]).measured(&lab);
        let findings = lab.run().findings.expect("findings");
        let findings = serde_json::to_value(findings).unwrap();
        let arms = findings["scale_ups"].as_array().expect("arms");
        assert_eq!((arms.len(), &arms[0]["unit"]), (1, &Value::from("cores")));
        let points = arms[0]["points"].as_array().expect("points");
        assert_eq!(points.len(), 2);
        let usable = points.iter().all(|point| point["verdict"] != "invalid");
        if usable {
            let ends = points[1]["efficiency"]["ci95"].as_array().expect("an interval");
            assert_eq!(ends.len(), 2);
        }
        let said = arms[0]["sentences"].to_string();
        assert!(said.contains("socket"), "{said}");
        let parts = findings["trials"].as_array().expect("trials").iter();
        let mut counts: Vec<u64> = parts
            .map(|trial| trial["part"]["split"][0].as_u64().expect("a number"))
            .collect();
        counts.sort_unstable();
        counts.dedup();
        assert_eq!(counts, [1, 2]);
    }
}
