//! Tests Kubernetes in a study: pods of clients and of nodes, attached clusters that Kubernetes
//! describes, and the trust that arguments of kubectl require.

use super::*;
use target_spec::{KubernetesOwner, Target};

const REST: &str = "study: s\nquestion: q\nworkload: {use: standard1, mix: {write: 1}}\n\
                    procedure: {fixed: {threads: 1}}\n";

fn resolved(target: &str, client: &str, trust: bool) -> Result<Study, String> {
    let mut overrides = Overrides::default();
    overrides.granted.trust = trust;
    let text = format!("{REST}target: {target}\nclient: {client}\n");
    resolve("s", &text, &overrides).map_err(|out| out.to_string())
}

fn settings(target: &str, client: &str) -> crate::settings::Settings {
    let study = resolved(target, client, true).unwrap_or_else(|said| panic!("{said}"));
    study.variants[0].settings.clone()
}

const ATTACHED: &str = "{attach: {contact_points: [10.0.0.1]}}";
const CLIENTS: &str = "{kubernetes: {namespace: load, clients: 8, cpus: 2.5, image: 'a/b:1'}}";

#[test]
fn each_pod_of_clients_is_a_machine_with_a_worker_for_each_cpu() {
    let client = settings(ATTACHED, CLIENTS).client;
    assert_eq!(client.machines.len(), 8);
    assert!(client.machines.iter().all(|one| one.is_pod && one.workers == Some(2)));
    let pods = client.kubernetes.expect("pods");
    assert_eq!((pods.millicpus, pods.memory_bytes), (2500, 1 << 30));
    assert!(pods.one_per_node);
}

#[test]
fn a_cluster_is_described_by_one_of_three() {
    let owner =
        |text: &str| match settings(&format!("{{attach: {{kubernetes: {text}}}}}"), "{}").target {
            Target::Attach(spec) => spec.kubernetes.expect("a description").owner,
            other => panic!("{other:?}"),
        };
    let named = |name: &str| name.to_owned();
    assert_eq!(
        owner("{k8ssandra: demo}"),
        KubernetesOwner::K8ssandra(named("demo"))
    );
    assert_eq!(
        owner("{cass_operator: dc1}"),
        KubernetesOwner::CassOperator(named("dc1"))
    );
    assert_eq!(
        owner("{service: db, secret: su}"),
        KubernetesOwner::Service(named("db"))
    );
}

#[test]
fn pods_of_nodes_are_hosts_that_are_only_numbered() {
    let target = "{local: {hosts: 3, pods: {image: c, volume: 20GiB, storage_class: fast}}}";
    let Target::Local(local) = settings(target, "{}").target else {
        panic!("no local target")
    };
    assert_eq!((local.nodes, local.machines().len()), (3, 3));
    assert!(local.is_in_pods());
    let pods = local.hosts.and_then(|hosts| hosts.pods).expect("pods");
    assert_eq!(pods.storage_class.as_deref(), Some("fast"));
    let Target::Local(one) = settings("{local: {pods: {image: c}}}", "{}").target else {
        panic!("no local target")
    };
    assert_eq!(one.nodes, 1, "without a number it is one");
}

#[test]
fn somebody_stands_behind_what_kubectl_is_told() {
    for (target, client, path) in [
        (ATTACHED, CLIENTS, "client.kubernetes"),
        ("{local: {pods: {image: c}}}", "{}", "target.local.pods"),
        (
            "{attach: {kubernetes: {service: db}}}",
            "{}",
            "target.attach.kubernetes",
        ),
    ] {
        let said = resolved(target, client, false).expect_err(path);
        assert!(said.contains(&format!("`{path}` ")), "{said}");
        assert!(said.contains("pass --trust"), "{said}");
    }
}

#[test]
fn keys_that_do_not_go_together_are_refused() {
    for (target, client, words) in [
        (
            "{attach: {kubernetes: {service: db, k8ssandra: x}}}",
            "{}",
            "`target.attach.kubernetes` has both `k8ssandra` and `service`",
        ),
        (
            "{attach: {kubernetes: {namespace: db}}}",
            "{}",
            "`cass_operator`",
        ),
        (
            "{attach: {contact_points: [a], kubernetes: {service: db}}}",
            "{}",
            "`target.attach` has both `contact_points` and `kubernetes`",
        ),
        ("{attach: {datacenter: dc1}}", "{}", "`contact_points`"),
        (
            "{local: {nodes: 3, pods: {image: c}}}",
            "{}",
            "you cannot combine `target.local.nodes` with `target.local.pods`",
        ),
        (
            "{local: {pods: {image: c, storage_class: fast}}}",
            "{}",
            "`target.local.pods.storage_class` applies to volumes",
        ),
        (
            ATTACHED,
            "{machines: [here], kubernetes: {clients: 2, image: c}}",
            "`client` has both `machines` and `kubernetes`",
        ),
        (
            ATTACHED,
            "{kubernetes: {clients: 2, image: c, context: --token=x}}",
            "is not a valid context of kubectl",
        ),
        (
            ATTACHED,
            "{kubernetes: {clients: 2, image: c, namespace: a b}}",
            "is not a valid name in Kubernetes",
        ),
        (
            ATTACHED,
            "{kubernetes: {clients: 2, image: '-x'}}",
            "is not a valid name of an image",
        ),
        (
            "{attach: {kubernetes: {service: db, agents: {folder: tmp}}}}",
            "{}",
            "\"tmp\" is not a valid folder",
        ),
    ] {
        let said = resolved(target, client, true).expect_err(words);
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn pods_cannot_reach_what_only_this_machine_does() {
    let study = resolved("{null: {}}", CLIENTS, true).unwrap_or_else(|said| panic!("{said}"));
    let said = crate::client_warnings::warnings(&study).join("\n");
    assert!(
        said.contains("pods of `client.kubernetes` cannot reach the null target"),
        "{said}"
    );
}
