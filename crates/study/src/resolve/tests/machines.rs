//! Tests machines as hosts, from a list of machines or from a file with such a list. Also tests
//! trust in the file, and the limits that only simulated hosts have.

use super::*;
use std::net::Ipv4Addr;

const FILE: &str = "\
machines:
- {ssh: db1, folder: /data/cassay, price_per_hour: 1}
- {ssh: user@db2, folder: /data/cassay, sudo: true, address: 10.0.0.2, price_per_hour: 0.25}
- {ssh: db3, folder: /data/cassay, price_per_hour: 0.5}
clients: [here, {ssh: c1, workers: 4}]
";

/// Returns overrides with the setting `set`, and with the text of the file `lab.yaml`.
fn with(set: &str) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.set.push(set.to_owned());
    overrides.inputs.insert("lab.yaml".to_owned(), FILE.to_owned());
    overrides
}

fn study(target: &str) -> String {
    GOOD.replace("{local: {nodes: 2}}", target)
        .replace(", target.local.nodes: 1", "")
}

#[test]
fn a_file_names_the_machines_of_hosts_and_a_study_their_number() {
    let named = with("target.local.machines=lab.yaml");
    let settings = |target: &str| {
        let study = resolve("s.yaml", &study(target), &named).unwrap();
        study.variants[0].settings.clone()
    };
    let two = settings("{local: {hosts: 2, nodes_per_host: 2}}");
    let local = two.target.local().unwrap();
    assert_eq!(local.nodes, 4);
    let names: Vec<&str> = local.machines().iter().map(|one| one.ssh.as_str()).collect();
    assert_eq!(names, ["db1", "user@db2"]);
    assert_eq!(
        local.machines()[1].address,
        Some(Ipv4Addr::new(10, 0, 0, 2))
    );
    assert!(local.machines()[1].sudo && !local.machines()[0].sudo);
    // If the study does not state a price, cassay uses the price of the machines in use.
    assert_eq!(two.price.map(|price| price.per_hour), Some(1.25));
    // If the study does not state a number of hosts, all machines are used. If the study does not
    // name clients, the clients in the file are used.
    let all = settings("{local: {}}");
    assert_eq!(all.target.local().unwrap().nodes, 3);
    assert_eq!(
        all.target.local().unwrap().racks,
        ["rack1", "rack2", "rack3"]
    );
    let clients: Vec<&str> = all.client.machines.iter().map(|one| one.place()).collect();
    assert_eq!(clients, ["here", "c1"]);
}

#[test]
fn names_in_a_study_need_trust_including_those_in_its_file() {
    let mut overrides = with("seed=2");
    let text = study("{local: {machines: lab.yaml}}");
    let said = resolve("s.yaml", &text, &overrides).unwrap_err().to_string();
    assert!(
        said.contains("runs this program on db1 as your user, and starts nodes there"),
        "{said}"
    );
    assert!(said.contains("runs this program on c1"), "{said}");
    overrides.granted.trust = true;
    resolve("s.yaml", &text, &overrides).unwrap();
}

#[test]
fn settings_impossible_on_machines_are_refused_at_their_place() {
    let named = with("target.local.machines=lab.yaml");
    mistakes(
        &study("{local: {hosts: 4, isolation: loopback, host: {link: {delay: 1ms}}}}"),
        &named,
        expect![[r#"
            s.yaml:3:39: `target.local.isolation: loopback` only applies to nodes on this machine
              hint: remove this key, or `target.local.machines`: machines are already isolated
            s.yaml:3:62: `target.local.host.link` is not available with `isolation: loopback`
              hint: use `isolation: hosts`, as root: `loopback` only gives each host an address
            s.yaml:3:62: `target.local.host.link` applies only to simulated hosts, not to machines
              hint: remove it, or `target.local.machines`
            --set:1:23: `target.local.hosts` is 4, but `target.local.machines` names 3 machines
              hint: name more machines, or lower `target.local.hosts`
        "#]],
    );
    let list = "target.local.machines=[{ssh: -v, folder: /x}, {ssh: db1, folder: data}, {ssh: \
                db1, folder: /data, address: db1}]";
    mistakes(
        &study("{local: {}}"),
        &with(list),
        expect![[r#"
        --set:1:30: `target.local.machines.ssh`: "-v" is not a destination for ssh
          hint: write HOST, USER@HOST or ssh://USER@HOST:PORT
        --set:1:66: `target.local.machines.folder`: "data" is not a valid folder
          hint: write an absolute path, such as /data/cassay, of letters, digits, `-`, `_` and `.`
        --set:1:79: `target.local.machines.ssh`: db1 is duplicated
          hint: name each machine once; `nodes_per_host: 2` puts two nodes on each machine
        --set:1:108: `target.local.machines.address`: "db1" is not an IPv4 address
          hint: write the address at which all machines reach it, such as 10.0.0.7
    "#]],
    );
}

/// Every shipped study with hosts runs unchanged on eight machines with eight clients. Each study
/// has the size of the publication that it follows.
#[test]
fn each_study_of_a_source_is_planned_over_machines_as_it_is() {
    let list = |keys: &str, names: &str| -> String {
        let item = |number: usize| format!("- {{ssh: {names}{number}{keys}}}\n");
        (1..=8).map(item).collect()
    };
    let lab = format!(
        "machines:\n{}clients:\n{}",
        list(", folder: /data, sudo: true", "h"),
        list("", "c")
    );
    let mut overrides = with("target.local.machines=lab.yaml");
    overrides.inputs.insert("lab.yaml".to_owned(), lab);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut planned = Vec::new();
    for study in [
        "dse-vsan/failures.yaml",
        "dse-vsan/dse-peak.yaml",
        "dse-vsan/dse-consistency.yaml",
        "azure-local-storage/azure-fixed.yaml",
        "nvme-vs-hdd/nvme-vs-hdd.yaml",
        "scale-up/scale-up.yaml",
        "vsphere-vtopology/vsphere-vtopology.yaml",
    ] {
        // The test omits variants that start a node on another host, because a machine's volume is
        // not available on another machine.
        overrides.set.truncate(1);
        if study.ends_with("failures.yaml") {
            overrides.set.push("variants.host-ha=none".to_owned());
        }
        let study = read(&folder.join(study), &overrides).unwrap_or_else(|why| panic!("{why}"));
        crate::plan::plan(&study).unwrap_or_else(|why| panic!("{}: {why}", study.name));
        for variant in &study.variants {
            let local = variant.settings.target.local().unwrap();
            let hosts = local.hosts.as_ref().unwrap();
            assert_eq!(hosts.machines.len(), hosts.count, "{}", study.name);
            assert_eq!(variant.settings.client.machines.len(), 8, "{}", study.name);
            planned.push((local.nodes, hosts.count));
        }
    }
    assert!(planned.contains(&(16, 8)), "{planned:?}");
}

#[test]
fn machines_of_several_kinds_say_how_many_nodes_they_take() {
    let mut named = with("target.local.machines=lab.yaml");
    let kinds = FILE.replace("db1, folder", "db1, nodes: 3, folder");
    named.inputs.insert("lab.yaml".to_owned(), kinds.clone());
    let local = |target: &str| {
        let study = resolve("s.yaml", &study(target), &named).unwrap();
        study.variants[0].settings.target.local().unwrap().clone()
    };
    let dealt = local("{local: {hosts: 2}}");
    assert_eq!((dealt.nodes, dealt.nodes_of_hosts()), (4, vec![3, 1]));
    assert_eq!(dealt.racks, ["rack1", "rack2", "rack1", "rack1"]);
    let dealt = local("{local: {hosts: 3, nodes_per_host: 2}}");
    assert_eq!(dealt.nodes_of_hosts(), [3, 2, 2]);
    // cassay refuses a number of nodes that no machine uses, and a total that does not match.
    let refused = |target: &str| resolve("s.yaml", &study(target), &named).unwrap_err().to_string();
    let said = refused("{local: {hosts: 1, nodes_per_host: 2}}");
    assert!(
        said.contains("machines without `nodes`, but all machines have `nodes`"),
        "{said}"
    );
    let said = refused("{local: {hosts: 2, nodes: 2}}");
    assert!(
        said.contains("the number of nodes on all hosts is 4"),
        "{said}"
    );
    let said = refused("{local: {hosts: 2, host: {memory: 4GiB}}}");
    assert!(said.contains("3 nodes with 1GiB of heap"), "{said}");
}

/// In an earlier version, `3.0` was not parsed as a number, so the machine had `nodes_per_host`
/// nodes.
#[test]
fn a_machines_number_of_nodes_counts_in_any_form() {
    let mut named = with("target.local.machines=lab.yaml");
    let kinds = FILE.replace("db1, folder", "db1, nodes: 3.0, folder");
    named.inputs.insert("lab.yaml".to_owned(), kinds);
    let two = study("{local: {hosts: 2, nodes: 2}}");
    let refused = resolve("s.yaml", &two, &named).unwrap_err().to_string();
    assert!(
        refused.contains("the number of nodes on all hosts is 4"),
        "{refused}"
    );
}
