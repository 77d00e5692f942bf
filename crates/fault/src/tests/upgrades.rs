//! Courses of rolling upgrades: all nodes, a canary, one that does not become what it is to be.

use super::sim::Sim;
use super::works::Works;
use super::*;
use cluster::UpgradeStep;
use target::fault::{Hit, Kind, Options};

fn upgrades(works: Works, options: Options) -> (FaultVerdict, Vec<Step>, Sim) {
    let kind = Kind::of("rolling-upgrade").unwrap();
    let mut sim = Sim {
        works,
        ordered_ns: 60 * S,
        ..Sim::default()
    };
    let (what, length) = ((&Hit::Cluster, &options), Duration::from_secs(60));
    let outcome = run(&kind, what, &mut sim, length, &mut |_| ());
    (outcome.verdict(), outcome.steps.clone(), sim)
}

#[test]
fn all_nodes_are_brought_to_another_release_and_stay_it() {
    let to = |line: &str| Options {
        to: versions::Release::of(line).ok(),
        upgrade_sstables: true,
        ..Options::default()
    };
    let (verdict, steps, sim) = upgrades(Works::default(), to("5.0"));
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    assert_eq!(
        sim.works.releases,
        [versions::Line::of("5.0").unwrap().pinned; 3]
    );
    assert_eq!(sim.works.starts.map(|(count, _)| count), [1, 1, 1]);
    assert_eq!(
        sim.works.told,
        [UpgradeStep::Drain, UpgradeStep::Drain, UpgradeStep::Drain]
    );
    let said = |words: &str| steps.iter().any(|step| step.words.contains(words));
    assert!(
        said("node3: ") && said("its files have the format nb"),
        "{steps:#?}"
    );
    assert!(said("3 of 3 nodes are Cassandra 5.0."), "{steps:#?}");
    assert_eq!(
        words(&steps)[steps.len() - 3..],
        ["done", "healing", "whole"]
    );
    // The metadata of a cluster is begun once all nodes know what that is.
    let (_, _, sim) = upgrades(Works::default(), to("6.0"));
    assert_eq!(sim.works.told.last(), Some(&UpgradeStep::BeginMetadataLog));
}

#[test]
fn a_canary_is_one_node_and_nothing_is_drained_that_is_not_to_be() {
    let options = Options {
        to: versions::Release::of("6.0").ok(),
        nodes: vec![1],
        drain: Some(false),
        ..Options::default()
    };
    let (verdict, steps, sim) = upgrades(Works::default(), options);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    assert_eq!(sim.works.starts.map(|(count, _)| count), [0, 1, 0]);
    assert_eq!(sim.works.told, []);
    let said = |words: &str| steps.iter().any(|step| step.words.contains(words));
    assert!(said("1 of 3 nodes are Cassandra 6.0-alpha2"), "{steps:#?}");
    assert!(said("node1 is 4.1.10, node2 is 6.0-alpha2"), "{steps:#?}");
}

#[test]
fn a_node_that_comes_up_as_what_it_was_ends_the_upgrade_with_the_reason() {
    let works = Works::staying();
    let options = Options {
        to: versions::Release::of("5.0").ok(),
        ..Options::default()
    };
    let (verdict, steps, sim) = upgrades(works, options);
    assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
    let failed = steps.iter().find(|step| step.what == FaultStep::Failed).unwrap();
    assert!(
        failed.words.contains("node1 says that it is Cassandra 4.1.10"),
        "{steps:#?}"
    );
    assert_eq!(sim.works.starts.map(|(count, _)| count), [1, 0, 0]);
}
