//! Tests of rolling upgrades of all nodes, of a canary, and of a node that fails to upgrade.

use super::long_operations::Works;
use super::sim::Sim;
use super::*;
use cassandra::UpgradeStep;
use target_spec::fault::{FaultKind, Hit, Options, Rollback};

fn upgrades(works: Works, options: Options) -> (FaultVerdict, Vec<LifeCycleStep>, Sim) {
    let kind = FaultKind::find("rolling-upgrade").unwrap().with(&options);
    let mut sim = Sim {
        works,
        ordered_ns: 60 * S,
        ..Sim::default()
    };
    let ((hit, options), length) = (
        (&Hit::cluster(&options.nodes), &options),
        Duration::from_secs(60),
    );
    let outcome = run(&kind, hit, options, &mut sim, length, &mut |_| ());
    (outcome.verdict(), outcome.steps.clone(), sim)
}

#[test]
fn all_nodes_are_brought_to_another_release_and_stay_it() {
    let to = |line: &str| Options {
        to: versions::Release::parse(line).ok(),
        upgrade_sstables: true,
        ..Options::default()
    };
    let (verdict, steps, sim) = upgrades(Works::default(), to("5.0"));
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    assert_eq!(
        sim.works.releases,
        [versions::Line::find("5.0").unwrap().pinned; 3]
    );
    assert_eq!(sim.works.starts.map(|(count, _)| count), [1, 1, 1]);
    assert_eq!(
        sim.works.told,
        [UpgradeStep::Drain, UpgradeStep::Drain, UpgradeStep::Drain]
    );
    let said = |words: &str| steps.iter().any(|step| step.words.contains(words));
    assert!(
        said("node3: ") && said("the node rewrote no file: it has 3 files of nb"),
        "{steps:#?}"
    );
    assert!(said("3 of 3 nodes run Cassandra 5.0."), "{steps:#?}");
    assert_eq!(
        words(&steps)[steps.len() - 3..],
        ["done", "healing", "whole"]
    );
    // The metadata log begins when all nodes run a release that supports it.
    let (_, _, sim) = upgrades(Works::default(), to("6.0"));
    assert_eq!(sim.works.told.last(), Some(&UpgradeStep::BeginMetadataLog));
}

#[test]
fn a_canary_is_one_node_and_only_requested_nodes_are_drained() {
    let options = Options {
        to: versions::Release::parse("6.0").ok(),
        nodes: vec![NodeIndex(1)],
        drain: Some(false),
        ..Options::default()
    };
    let (verdict, steps, sim) = upgrades(Works::default(), options);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    assert_eq!(sim.works.starts.map(|(count, _)| count), [0, 1, 0]);
    assert_eq!(sim.works.told, []);
    let said = |words: &str| steps.iter().any(|step| step.words.contains(words));
    assert!(said("1 of 3 nodes run Cassandra 6.0-alpha2"), "{steps:#?}");
    assert!(said("node1 is 4.1.10, node2 is 6.0-alpha2"), "{steps:#?}");
}

#[test]
fn a_node_that_restarts_unchanged_ends_the_upgrade() {
    let works = Works::staying();
    let options = Options {
        to: versions::Release::parse("5.0").ok(),
        ..Options::default()
    };
    let (verdict, steps, sim) = upgrades(works, options);
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
    let failed = steps.iter().find(|step| step.what == FaultStep::Failed).unwrap();
    assert!(
        failed.words.contains("node1 reports Cassandra 4.1.10"),
        "{steps:#?}"
    );
    assert_eq!(sim.works.starts.map(|(count, _)| count), [1, 0, 0]);
}

fn indexes(nodes: &[usize]) -> Vec<NodeIndex> {
    nodes.iter().copied().map(NodeIndex).collect()
}

fn taken_back(line: &str, nodes: &[usize]) -> Options {
    Options {
        to: versions::Release::parse(line).ok(),
        nodes: indexes(nodes),
        back: Rollback::Snapshot,
        ..Options::default()
    }
}

#[test]
fn nodes_go_back_with_the_files_that_they_had_and_are_repaired() {
    let (verdict, steps, sim) = upgrades(Works::default(), taken_back("5.0", &[0, 2]));
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    assert_eq!(sim.works.releases, ["4.1.10"; 3]);
    assert_eq!(sim.works.files, ["4.1.10"; 3]);
    assert_eq!(sim.works.kept, [None; 3], "nothing is left");
    assert_eq!(sim.works.starts.map(|(count, _)| count), [2, 0, 2]);
    assert_eq!(sim.works.repaired, indexes(&[2, 0]));
    assert_eq!(sim.works.told, vec![UpgradeStep::Drain; 4]);
    let said: Vec<&str> = steps.iter().map(|step| step.words.as_str()).collect();
    let at = |words: &str| said.iter().position(|one| one.contains(words)).expect(words);
    let order = [
        at("node1 is 5.0.9, node2 is 4.1.10, node3 is 5.0.9"),
        at("nodes go back to their earlier release"),
        at("cassay stopped node3 0.0 s after the start"),
        at("node3 was repaired (it was done): node1 and node2 compared 3 tables with the node"),
        at("node1 was repaired (it was done)"),
    ];
    assert!(order.is_sorted(), "{order:?}: {steps:#?}");
    let kept = "cassay stopped node3";
    let (kept, back) = (at("cassay saved the node's files from 4.1.10"), at(kept));
    assert!(kept < back, "{steps:#?}");
    at("the node runs 4.1.10 again, with its files from that release: 3 files of nb");
    let last = steps.last().unwrap();
    assert_eq!(last.what, FaultStep::Whole);
    assert!(last.words.contains("node1 is 4.1.10"), "{last:?}");
}

/// With a rollback, the duration counts from the time when the canary is up. Otherwise it counts
/// from the injection.
#[test]
fn a_canary_holds_for_its_time_from_when_it_was_upgraded() {
    let kind = FaultKind::find("rolling-upgrade").unwrap();
    let (back, stays) = (
        taken_back("5.0", &[0]),
        Options {
            back: Rollback::Never,
            ..taken_back("5.0", &[0])
        },
    );
    assert_eq!(holds_from(&kind.clone().with(&back)), FaultStep::Done);
    assert_eq!(holds_from(&kind.with(&stays)), FaultStep::Injecting);
    let (_, steps, _) = upgrades(Works::default(), back);
    let healing = steps.iter().find(|step| step.what == FaultStep::Healing).unwrap();
    assert_eq!(healing.at_ns, 60 * S, "{steps:#?}");
}

/// The node kept its former release although it was started with the new one.
#[test]
fn a_node_that_does_not_become_the_other_release_goes_back_too() {
    let (verdict, steps, sim) = upgrades(Works::staying(), taken_back("5.0", &[1]));
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
    assert!(words(&steps).contains(&"failed"), "{steps:#?}");
    assert_eq!(sim.works.starts.map(|(count, _)| count), [0, 2, 0]);
    assert_eq!(
        (sim.works.files[1], &sim.works.repaired[..]),
        ("4.1.10", &[NodeIndex(1)][..])
    );
    assert_eq!(steps.last().unwrap().what, FaultStep::Whole);
}

#[test]
fn nodes_with_unsaved_files_or_without_repair_are_not_healthy() {
    let full = Works::without_room();
    let (verdict, steps, sim) = upgrades(full, taken_back("5.0", &[0]));
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
    let said = |words: &str| steps.iter().any(|step| step.words.contains(words));
    assert!(said("the disk has no room left"), "{steps:#?}");
    assert_eq!(steps.last().unwrap().what, FaultStep::NotWhole);
    assert!(sim.works.repaired.is_empty(), "{steps:#?}");

    let (verdict, steps, _) = upgrades(
        Works::failing("a replica has gone"),
        taken_back("5.0", &[0]),
    );
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
    let last = steps.last().unwrap();
    assert_eq!(last.what, FaultStep::NotWhole);
    let why = "repair node1: a replica has gone";
    assert!(last.words.contains(why), "{last:?}");
}
