//! Tests of CPUs reserved for the client, and of the sentences about them.

use super::*;

#[test]
fn nodes_that_run_anywhere_keep_off_the_cpus_of_the_client() {
    for placing in [Placing::OneSocketPerVcpu, Placing::None] {
        let topology = Topology {
            client: Some(4),
            ..placed(placing)
        };
        let layout = Layout::plan(&spec(2, topology), &xeon()).unwrap();
        let cores = xeon().parts(Units::Cores);
        let last: CpuSet = cores[54..].iter().flat_map(|core| core.cpus.iter()).collect();
        assert_eq!(client_of(&layout), last);
        let floats = layout.nodes[0].confinement.memory == Memory::Anywhere;
        assert_eq!(layout.nodes[0].reaches == set("0-1"), floats, "{placing:?}");
        let rest = xeon().allowed_cpus().difference(&last);
        assert_eq!(cpus(&layout), [rest.clone(), rest]);
    }
    let all = Topology {
        client: Some(2),
        ..placed(Placing::OneSocketPerVcpu)
    };
    let error = format!("{:#}", Layout::plan(&spec(1, all), &small()).unwrap_err());
    assert!(error.contains("no CPU remains for nodes"), "{error}");
}

#[test]
fn client_cpus_outside_the_hosts_allowance_can_be_assigned() {
    let host = HostSpec {
        cpus: Some((0..110).collect()),
        ..HostSpec::default()
    };
    // One thread of each of the last two cores remains for the client.
    for (client, nodes) in [(1, 110), (2, 110), (3, 109), (4, 108), (5, 106)] {
        let topology = Topology {
            client: Some(client),
            ..placed(Placing::OneSocketPerVcpu)
        };
        let spec = on_hosts(spec(1, topology), host.clone());
        let layout = Layout::plan(&spec, &xeon()).unwrap();
        assert!(layout.client.as_ref().unwrap().len() >= client as usize);
        assert_eq!(layout.taken().len(), nodes, "{client}");
    }
}

#[test]
fn nodes_that_run_anywhere_can_keep_no_core_free() {
    let topology = Topology {
        housekeeping: 2,
        ..placed(Placing::OneSocketPerVcpu)
    };
    let error = format!(
        "{:#}",
        Layout::plan(&spec(1, topology), &xeon()).unwrap_err()
    );
    assert!(
        error.contains("2 cores of each NUMA node are free"),
        "{error}"
    );
    assert!(error.contains("hint: use `placing: auto`"), "{error}");
}

/// Without reported L3 caches, NUMA nodes replace them.
#[test]
fn nothing_is_said_of_an_l3_that_nobody_tells() {
    for (nodes, tells, expected) in [
        (1, true, "under an L3 cache that no node uses"),
        (1, false, "on a NUMA node that no Cassandra node uses"),
        (2, true, "nodes use every L3 cache"),
        (
            2,
            false,
            "on cores that no node uses; this machine does not report",
        ),
    ] {
        let mut machine = xeon();
        machine.l3.iter_mut().for_each(|group| group.is_real = tells);
        let topology = Topology {
            cpus: Some(16),
            ..placed(Placing::Pinned)
        };
        let said = Layout::plan(&spec(nodes, topology), &machine).unwrap().of_client.unwrap();
        assert!(said.contains(expected), "{said}");
    }
}
