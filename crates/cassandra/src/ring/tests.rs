//! Tests with shares that were calculated by hand, and of properties of all rings.

use super::*;
use proptest::prelude::*;
use std::net::SocketAddr;

fn node(name: &str, datacenter: &str, rack: &str, tokens: &[i64]) -> NodeInfo {
    NodeInfo {
        name: name.to_string(),
        host: name.to_string(),
        address: SocketAddr::from(([127, 0, 0, 1], 9042)),
        datacenter: datacenter.to_string(),
        rack: rack.to_string(),
        tokens: tokens.to_vec(),
        pid: None,
        version: "5.0.8".to_string(),
    }
}

fn by(copies: &[(&str, usize)]) -> Replication {
    let pair = |(name, count): &(&str, usize)| (name.to_string(), *count);
    Replication::ByDatacenter(copies.iter().map(pair).collect())
}

const Q: i64 = 1 << 62;

#[test]
fn the_first_range_wraps_around_the_ring() {
    let nodes = [node("a", "dc", "r", &[-Q]), node("b", "dc", "r", &[0])];
    let ring = Ring::new(&nodes);
    assert_eq!(ring.ranges_count(), 2);
    assert_eq!(ring.range(0), (0, -Q));
    assert_eq!(ring.range(1), (-Q, 0));
    assert_eq!(ring.primary_shares(), vec![0.75, 0.25]);
    assert_eq!(ring.shares(&Replication::Simple(2)), vec![1.0, 1.0]);
    assert_eq!(ring.shares(&Replication::Simple(3)), vec![1.0, 1.0]);
}

#[test]
fn a_token_is_held_by_the_range_that_goes_up_to_it() {
    let ring = Ring::new(&[node("a", "dc", "r", &[-10]), node("b", "dc", "r", &[10])]);
    for (token, owner) in [(i64::MIN, 0), (-10, 0), (-9, 1), (10, 1), (11, 0)] {
        let replicas = ring.replicas_of(token, &Replication::Simple(1));
        assert_eq!(replicas, [owner], "{token}");
    }
    let both = ring.replicas_of(-9, &Replication::Simple(2));
    assert_eq!(both, [1, 0], "its owner first");
    let none = Ring::new(&[]).replicas_of(0, &Replication::Simple(1));
    assert!(none.is_empty());
}

#[test]
fn a_single_token_owns_the_whole_ring() {
    let ring = Ring::new(&[node("a", "dc", "r", &[17])]);
    assert_eq!(ring.range(0), (17, 17));
    assert_eq!(ring.primary_shares(), vec![1.0]);
    assert_eq!(ring.shares(&by(&[("dc", 3)])), vec![1.0]);
}

#[test]
fn an_empty_ring_has_no_shares() {
    assert_eq!(Ring::new(&[]).primary_shares(), Vec::<f64>::new());
    let tokenless = Ring::new(&[node("a", "dc", "r", &[])]);
    assert_eq!(tokenless.primary_shares(), vec![0.0]);
}

/// Case, racks of four nodes, replication, and the replicas of each of the four ranges.
type Row<'a> = (&'a str, [&'a str; 4], &'a Replication, [&'a [usize]; 4]);

#[test]
fn nodes_of_a_used_rack_are_skipped_while_there_are_others() {
    let ring_of = |racks: [&str; 4]| {
        let tokens = [-2 * Q, -Q, 0, Q];
        let each = racks.iter().zip(tokens).enumerate();
        let nodes = each.map(|(i, (rack, token))| node(&format!("n{i}"), "dc", rack, &[token]));
        Ring::new(&nodes.collect::<Vec<_>>())
    };
    let replicas = |ring: &Ring, replication: &Replication| -> Vec<Vec<usize>> {
        (0..4).map(|range| ring.replicas(range, replication)).collect()
    };
    let two = by(&[("dc", 2)]);
    let rows: [Row<'_>; 5] = [
        (
            "alternating",
            ["r1", "r2", "r1", "r2"],
            &two,
            [&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
        ),
        (
            "in pairs",
            ["r1", "r1", "r2", "r2"],
            &two,
            [&[0, 2], &[1, 2], &[2, 0], &[3, 0]],
        ),
        (
            "one rack",
            ["r1"; 4],
            &two,
            [&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
        ),
        (
            "simple looks at no rack",
            ["r1", "r1", "r2", "r2"],
            &Replication::Simple(2),
            [&[0, 1], &[1, 2], &[2, 3], &[3, 0]],
        ),
        (
            "one repeat for three copies in two racks",
            ["r1", "r1", "r1", "r2"],
            &by(&[("dc", 3)]),
            [&[0, 1, 3], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]],
        ),
    ];
    for (what, racks, replication, expected) in rows {
        assert_eq!(replicas(&ring_of(racks), replication), expected, "{what}");
    }
    // Neighbours are in the same rack. The first node of each rack also replicates the other rack's
    // ranges.
    let ring = ring_of(["r1", "r1", "r2", "r2"]);
    assert_eq!(ring.shares(&two), vec![0.75, 0.25, 0.75, 0.25]);
}

#[test]
fn data_centers_have_their_own_copies_and_racks_of_their_own() {
    let nodes = [
        node("a", "east", "r1", &[-2 * Q]),
        node("b", "west", "r1", &[-Q]),
        node("c", "east", "r2", &[0]),
    ];
    let ring = Ring::new(&nodes);
    assert_eq!(
        ring.replicas(0, &by(&[("east", 2), ("west", 1)])),
        vec![0, 1, 2]
    );
    assert_eq!(ring.shares(&by(&[("west", 1)])), vec![0.0, 1.0, 0.0]);
    assert_eq!(
        ring.shares(&by(&[("west", 3), ("north", 2)])),
        vec![0.0, 1.0, 0.0]
    );
    assert_eq!(ring.shares(&Replication::Everywhere), vec![1.0; 3]);
    assert_eq!(ring.shares(&Replication::Local), ring.primary_shares());
}

#[test]
fn replication_is_read_as_the_server_writes_it() {
    let parse = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        Replication::parse(&pairs.collect()).map_err(|error| format!("{error:#}"))
    };
    const LOCATOR: &str = "org.apache.cassandra.locator";
    let class = |name: &str| format!("{LOCATOR}.{name}");
    let simple = class("SimpleStrategy");
    let network = class("NetworkTopologyStrategy");
    let read = parse(&[("class", &simple), ("replication_factor", "3")]);
    assert_eq!(read, Ok(Replication::Simple(3)));
    let read = parse(&[("class", &network), ("dc1", "3/1"), ("dc2", "2")]);
    assert_eq!(read, Ok(by(&[("dc1", 3), ("dc2", 2)])));
    assert_eq!(parse(&[("class", "LocalStrategy")]), Ok(Replication::Local));
    assert_eq!(
        parse(&[("class", "EverywhereStrategy")]),
        Ok(Replication::Everywhere)
    );
    for (bad, word) in [
        (&[("dc1", "3")][..], "no class"),
        (
            &[("class", simple.as_str())],
            "contain no replication_factor",
        ),
        (
            &[("class", network.as_str()), ("dc1", "x")],
            "replicas for \"dc1\" in the replication options is \"x\"",
        ),
        (
            &[("class", "org.example.MyStrategy")],
            "the replication strategy org.example.MyStrategy",
        ),
    ] {
        let error = parse(bad).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

/// Generates rings of up to 12 nodes in up to 3 data centers with up to 4 racks each.
fn rings() -> impl Strategy<Value = Vec<NodeInfo>> {
    let one = (
        0..3u8,
        0..4u8,
        proptest::collection::vec(any::<i64>(), 1..9),
    );
    proptest::collection::vec(one, 1..13).prop_map(|nodes| {
        let mut taken = std::collections::BTreeSet::new();
        let info = |(index, (dc, rack, mut tokens)): (usize, (u8, u8, Vec<i64>))| {
            tokens.retain(|token| taken.insert(*token));
            node(
                &format!("n{index}"),
                &format!("dc{dc}"),
                &format!("r{rack}"),
                &tokens,
            )
        };
        let mut nodes: Vec<NodeInfo> = nodes.into_iter().enumerate().map(info).collect();
        nodes.retain(|node| !node.tokens.is_empty());
        nodes
    })
}

proptest! {
    #[test]
    fn simple_shares_add_up_to_the_copies_that_there_are_nodes_for(
        nodes in rings(), copies in 1usize..6,
    ) {
        let shares = Ring::new(&nodes).shares(&Replication::Simple(copies));
        let sum: f64 = shares.iter().sum();
        prop_assert!((sum - copies.min(nodes.len()) as f64).abs() < 1e-9, "{sum}");
        prop_assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    }

    #[test]
    fn every_data_center_has_its_copies_in_as_many_racks_as_it_can(
        nodes in rings(), copies in proptest::collection::vec(0usize..5, 3),
    ) {
        let named = copies.iter().enumerate().map(|(dc, n)| (format!("dc{dc}"), *n));
        let replication = Replication::ByDatacenter(named.collect());
        let ring = Ring::new(&nodes);
        let shares = ring.shares(&replication);
        for (dc, wanted) in copies.iter().enumerate() {
            let is_here = |index: &usize| nodes[*index].datacenter == format!("dc{dc}");
            let here: Vec<usize> = (0..nodes.len()).filter(is_here).collect();
            let rack = |index: &usize| nodes[*index].rack.clone();
            let racks_of = |nodes: &[usize]| {
                nodes.iter().map(rack).collect::<std::collections::BTreeSet<_>>().len()
            };
            let expected = (*wanted).min(here.len());
            let sum: f64 = here.iter().map(|index| shares[*index]).sum();
            prop_assert!((sum - expected as f64).abs() < 1e-9, "dc{dc}: {sum}");
            for range in 0..ring.ranges_count() {
                let mut replicas = ring.replicas(range, &replication);
                replicas.retain(is_here);
                prop_assert_eq!(replicas.len(), expected);
                let racks = racks_of(&here).min(expected);
                prop_assert_eq!(racks_of(&replicas), racks, "{:?}", replicas);
                replicas.sort_unstable();
                replicas.dedup();
                prop_assert_eq!(replicas.len(), expected, "a node twice");
            }
        }
    }
}
