//! Tests with objects of cass-operator and k8ssandra-operator. A script that prints files replaces
//! `kubectl`.

use super::*;
use serde_json::json;

#[test]
fn a_cluster_is_cleaned_as_cass_operator_does_it() {
    for (name, is) in [
        ("cluster1", "cluster1"),
        ("Test Cluster", "testcluster"),
        ("My_Cluster", "my-cluster"),
        ("1st", "st"),
        ("Prod (EU)", "prodeu"),
    ] {
        assert_eq!(cleaned(name), is, "{name}");
    }
}

#[test]
fn a_data_center_says_its_name_and_its_secret() {
    let object = json!({
        "kind": "CassandraDatacenter",
        "metadata": {"name": "dc1", "namespace": "db"},
        "spec": {"clusterName": "My_Cluster", "serverType": "cassandra", "size": 3},
    });
    let one = datacenter(&object).unwrap();
    assert_eq!(
        (one.name.as_str(), one.secret.as_str()),
        ("dc1", "my-cluster-superuser")
    );
    let object = json!({
        "metadata": {"name": "demo-east"},
        "spec": {"clusterName": "demo", "datacenterName": "East",
                 "superuserSecretName": "root"},
    });
    let one = datacenter(&object).unwrap();
    assert_eq!((one.name.as_str(), one.secret.as_str()), ("East", "root"));
}

fn service(name: &str, owner: &str) -> Value {
    json!({"metadata": {"name": name, "ownerReferences": [
        {"kind": "CassandraDatacenter", "name": owner},
    ]}})
}

#[test]
fn the_service_is_that_of_ready_nodes() {
    let all = [
        service("demo-seed-service", "dc1"),
        service("demo-dc1-all-pods-service", "dc1"),
        service("demo-dc1-additional-seed-service", "dc1"),
        service("demo-dc1-service", "dc1"),
        service("demo-dc2-service", "dc2"),
        json!({"metadata": {"name": "kubernetes"}}),
    ];
    assert_eq!(service_of(&all, "dc1").unwrap(), "demo-dc1-service");
    assert!(service_of(&all, "dc3").unwrap_err().to_string().contains("no service"));
}

#[test]
fn only_ready_end_points_count_at_the_port_of_cql() {
    let slice = json!({
        "ports": [{"name": "mgmt-api", "port": 8080}, {"name": "native", "port": 9142}],
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "nodeName": "n1",
             "targetRef": {"kind": "Pod", "name": "demo-0", "namespace": "db"}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": false}},
            {"addresses": ["10.0.0.3"], "conditions": {}},
        ],
    });
    let nodes = nodes_of(&[slice]);
    let points: Vec<String> = nodes.iter().map(|node| node.point.to_string()).collect();
    assert_eq!(points, ["10.0.0.1:9142", "10.0.0.3:9142"]);
    let pod = nodes[0].pod.as_ref().expect("a pod");
    assert_eq!((pod.name.as_str(), pod.node.as_str()), ("demo-0", "n1"));
    assert_eq!(nodes[1].pod, None);
    let only = json!({"ports": [{"port": 9999}], "endpoints": [{"addresses": ["10.0.0.1"]}]});
    assert_eq!(nodes_of(&[only])[0].point.port(), 9999);
}

#[test]
fn a_secret_is_read_and_never_said() {
    let secret = json!({"data": {"username": "ZGVtbw==", "password": "aHVudGVyMg=="}});
    let (user, password) = credentials(&secret).unwrap();
    assert_eq!((user.as_str(), password.reveal()), ("demo", "hunter2"));
    assert!(!format!("{password:?}").contains("hunter2"));
    let broken = json!({"data": {"username": "ZGVtbw==", "password": "hunter2!"}});
    let error = format!("{:#}", credentials(&broken).unwrap_err());
    assert!(!error.contains("hunter2"), "{error}");
}

/// Creates a `kubectl` that answers these questions and, like the real one, refuses others.
fn answering(answers: &[(&str, Value)]) -> (tempfile::TempDir, Kubectl) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mut script = "#!/bin/sh\ncase \"$*\" in\n".to_owned();
    for (number, (question, answer)) in answers.iter().enumerate() {
        let file = folder.path().join(number.to_string());
        std::fs::write(&file, answer.to_string()).unwrap();
        script += &format!("*'{question}'*) exec cat {} ;;\n", file.display());
    }
    script += "*) echo \"Error from server (NotFound): $* not found\" >&2; exit 1 ;;\nesac\n";
    let program = folder.path().join("kubectl");
    // A file cannot be executed while it is open for writing.
    let new = folder.path().join("new");
    std::fs::write(&new, script).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::rename(new, &program).unwrap();
    let kubectl = Kubectl::new(Some("lab"), Some("db")).unwrap().by_program(&program);
    (folder, kubectl)
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn slice(service: &str, addresses: &[&str]) -> Value {
    let end = |address: &&str| {
        json!({
            "addresses": [address],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "nodeName": "worker-1",
            "targetRef": {"kind": "Pod", "namespace": "db", "name": format!("{service}-pod")},
        })
    };
    json!({
        "kind": "EndpointSlice",
        "metadata": {"labels": {"kubernetes.io/service-name": service}},
        "ports": [
            {"name": "native", "port": 9042, "protocol": "TCP"},
            {"name": "tls-native", "port": 9142, "protocol": "TCP"},
            {"name": "mgmt-api", "port": 8080, "protocol": "TCP"},
            {"name": "prometheus", "port": 9103, "protocol": "TCP"},
        ],
        "endpoints": addresses.iter().map(end).collect::<Vec<_>>(),
    })
}

fn secret() -> Value {
    json!({
        "kind": "Secret", "type": "Opaque",
        "data": {"username": "ZGVtby1zdXBlcnVzZXI=", "password": "aHVudGVyMg=="},
    })
}

#[test]
fn a_data_center_of_cass_operator_is_found_whole() {
    let dc1 = json!({
        "apiVersion": "cassandra.datastax.com/v1beta1",
        "kind": "CassandraDatacenter",
        "metadata": {"name": "dc1", "namespace": "db"},
        "spec": {"clusterName": "Demo Cluster", "serverType": "cassandra", "size": 2},
        "status": {"cassandraOperatorProgress": "Ready"},
    });
    let services = ["seed-service", "dc1-all-pods-service", "dc1-service"]
        .map(|name| service(&format!("democluster-{name}"), "dc1"));
    let name = "democluster-dc1-service";
    let (_folder, kubectl) = answering(&[
        ("get cassandradatacenters.cassandra.datastax.com dc1", dc1),
        ("get services -l", list(&services)),
        (
            "kubernetes.io/service-name=democluster-dc1-service",
            list(&[slice(name, &["10.0.0.1", "10.0.0.2"])]),
        ),
        ("get secret democluster-superuser", secret()),
    ]);
    let owner = KubernetesOwner::CassOperator("dc1".to_owned());
    let found = find(&kubectl, &owner, None).unwrap();
    let points: Vec<String> = found.nodes.iter().map(|node| node.point.to_string()).collect();
    assert_eq!(points, ["10.0.0.1:9042", "10.0.0.2:9042"]);
    assert_eq!(found.datacenters, ["dc1"]);
    let (user, password) = found.credentials.unwrap();
    assert_eq!(
        (user.as_str(), password.reveal()),
        ("demo-superuser", "hunter2")
    );

    let missing = find(
        &kubectl,
        &KubernetesOwner::CassOperator("dc9".to_owned()),
        None,
    );
    let said = format!("{:#}", missing.unwrap_err());
    assert!(
        said.contains("(NotFound)") && said.contains("dc9"),
        "{said}"
    );
}

#[test]
fn a_cluster_of_k8ssandra_is_all_of_its_data_centers() {
    let datacenter = |name: &str, called: Value| {
        json!({
            "kind": "CassandraDatacenter",
            "metadata": {"name": name, "labels": {"k8ssandra.io/cluster-name": "demo"}},
            "spec": {"clusterName": "demo", "datacenterName": called,
                     "superuserSecretName": "demo-superuser", "size": 1},
        })
    };
    let both = [
        datacenter("dc1", Value::Null),
        datacenter("dc2", "West".into()),
    ];
    let services = [
        service("demo-dc1-service", "dc1"),
        service("demo-dc2-service", "dc2"),
    ];
    let (_folder, kubectl) = answering(&[
        (
            "get k8ssandraclusters.k8ssandra.io demo",
            json!({"kind": "K8ssandraCluster"}),
        ),
        ("-l k8ssandra.io/cluster-name=demo", list(&both)),
        ("get services -l", list(&services)),
        (
            "service-name=demo-dc1-service",
            list(&[slice("demo-dc1-service", &["10.0.0.1"])]),
        ),
        (
            "service-name=demo-dc2-service",
            list(&[slice("demo-dc2-service", &["10.0.1.1"])]),
        ),
        ("get secret demo-superuser", secret()),
    ]);
    let found = find(
        &kubectl,
        &KubernetesOwner::K8ssandra("demo".to_owned()),
        None,
    )
    .unwrap();
    assert_eq!(found.datacenters, ["dc1", "West"]);
    assert_eq!(found.nodes.len(), 2);
    assert!(found.credentials.is_some());
}

#[test]
fn a_service_without_secret_has_no_password_and_needs_nodes() {
    let (_folder, kubectl) = answering(&[
        ("service-name=db", list(&[slice("db", &["10.0.0.1"])])),
        ("service-name=empty", list(&[slice("empty", &[])])),
    ]);
    let found = find(&kubectl, &KubernetesOwner::Service("db".to_owned()), None).unwrap();
    assert_eq!(found.credentials, None);
    let empty = find(
        &kubectl,
        &KubernetesOwner::Service("empty".to_owned()),
        None,
    );
    let said = format!("{:#}", empty.unwrap_err());
    assert!(
        said.contains("no node of the service empty is ready"),
        "{said}"
    );
    assert!(
        said.contains("kubectl --context lab -n db get endpointslices"),
        "{said}"
    );
}
