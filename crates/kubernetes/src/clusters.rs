//! Attached clusters, as Kubernetes operators describe them: addresses of nodes, data centers, and
//! login. All access is read-only.
//!
//! The module reads names instead of deriving them. For example, the services are those that a
//! CassandraDatacenter owns. Only an unstated name of the superuser's secret is derived, by the
//! rule of cass-operator.

use crate::kubectl::Kubectl;
use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use target_spec::{CQL_PORT, KubernetesOwner, Secret};

const DATACENTERS: &str = "cassandradatacenters.cassandra.datastax.com";
const K8SSANDRA: &str = "k8ssandraclusters.k8ssandra.io";

/// Label by which k8ssandra-operator marks the objects of a cluster.
const OF_K8SSANDRA: &str = "k8ssandra.io/cluster-name";

/// Names of metrics ports in services. The first one belongs to the newer agent in cass-operator's
/// images.
const METRICS: [&str; 2] = ["metrics", "prometheus"];
/// Names of the management API's port in services.
const MANAGEMENT: [&str; 2] = ["mgmt-api-http", "mgmt-api"];

/// Cluster, as described in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundCluster {
    /// Ready nodes. They are ordered by their pods, because their addresses change.
    pub nodes: Vec<FoundNode>,
    /// Data centers by their names in Cassandra.
    pub datacenters: Vec<String>,
    /// Data centers by the names of their objects.
    pub operated: Vec<String>,
    /// User name and password. `None` if no secret contains them.
    pub credentials: Option<(String, Secret)>,
}

/// Ready node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundNode {
    /// Address for CQL connections.
    pub point: SocketAddr,
    /// `None` for an endpoint that is not a pod.
    pub pod: Option<FoundPod>,
    /// Ports that may provide metrics in Prometheus's text format. A node may have several, because
    /// Kubernetes operators name the ports of all possible agents.
    pub metrics_ports: Vec<u16>,
    /// Port of cass-operator's management API, if the node's service names one.
    pub management_port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundPod {
    pub namespace: String,
    pub name: String,
    /// Kubernetes node that runs the pod.
    pub node: String,
}

/// Data center, as its CassandraDatacenter describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Datacenter {
    object: String,
    /// Name of the data center in Cassandra.
    name: String,
    secret: String,
}

/// Finds a cluster. `secret` is the name of a secret with `username` and `password` that replaces
/// the operator's secret.
///
/// # Errors
/// The cluster does not exist, none of its nodes is ready, or the user may not read some of its
/// objects.
pub fn find(
    kubectl: &Kubectl,
    owner: &KubernetesOwner,
    secret: Option<&str>,
) -> Result<FoundCluster> {
    let datacenters: Vec<Datacenter> = match owner {
        KubernetesOwner::Service(_) => Vec::new(),
        KubernetesOwner::CassOperator(name) => vec![datacenter(&kubectl.get(DATACENTERS, name)?)?],
        KubernetesOwner::K8ssandra(name) => {
            // Fails if the cluster does not exist. A search by its label would only find nothing.
            kubectl.get(K8SSANDRA, name)?;
            let all = kubectl.list(DATACENTERS, &format!("{OF_K8SSANDRA}={name}"))?;
            ensure!(
                !all.is_empty(),
                "the K8ssandraCluster {name} has no data center in this namespace; attach data \
                 centers in other contexts by the name of the data center (`cass_operator: NAME`)"
            );
            all.iter().map(datacenter).collect::<Result<_>>()?
        }
    };
    let services: Vec<String> = match owner {
        KubernetesOwner::Service(name) => vec![name.clone()],
        _ => {
            let all = kubectl.list("services", "")?;
            let of = |one: &Datacenter| service_of(&all, &one.object);
            datacenters.iter().map(of).collect::<Result<_>>()?
        }
    };
    let mut nodes = BTreeSet::new();
    for service in &services {
        let slices = kubectl.list(
            "endpointslices",
            &format!("kubernetes.io/service-name={service}"),
        )?;
        nodes.extend(nodes_of(&slices));
    }
    ensure!(
        !nodes.is_empty(),
        "no node of the service {} is ready; see `{} get endpointslices`",
        services.join(", "),
        kubectl.words()
    );
    let secret = secret.or(datacenters.first().map(|one| one.secret.as_str()));
    let credentials = secret.map(|name| {
        let kept = kubectl.get("secret", name)?;
        credentials(&kept).with_context(|| format!("read the secret {name}"))
    });
    let mut nodes: Vec<FoundNode> = nodes.into_iter().collect();
    nodes.sort_by_cached_key(place_of);
    Ok(FoundCluster {
        nodes,
        operated: datacenters.iter().map(|one| one.object.clone()).collect(),
        datacenters: datacenters.into_iter().map(|one| one.name).collect(),
        credentials: credentials.transpose()?,
    })
}

/// Returns the sort key of a node: the StatefulSet and number of its pod, or else its address.
fn place_of(node: &FoundNode) -> (Option<(String, String, u64)>, SocketAddr) {
    let pod = node.pod.as_ref().map(|pod| {
        let (set, number) = pod.name.rsplit_once('-').unwrap_or((&pod.name, ""));
        let number = number.parse().unwrap_or(u64::MAX);
        (pod.namespace.clone(), set.to_owned(), number)
    });
    (pod, node.point)
}

fn datacenter(object: &Value) -> Result<Datacenter> {
    let (name, spec) = (&object["metadata"]["name"], &object["spec"]);
    let name = name.as_str().context("a CassandraDatacenter has a name")?;
    let silent = || format!("the CassandraDatacenter {name} has no clusterName");
    let cluster = spec["clusterName"].as_str().with_context(silent)?;
    let text = |key: &str| spec[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Ok(Datacenter {
        object: name.to_owned(),
        name: text("datacenterName").unwrap_or_else(|| name.to_owned()),
        secret: text("superuserSecretName")
            .unwrap_or_else(|| format!("{}-superuser", cleaned(cluster))),
    })
}

/// Returns a cluster's name as cass-operator converts it for Kubernetes. A valid name remains.
/// Other names are converted to lower case, with `-` for `_` and without invalid characters.
fn cleaned(cluster: &str) -> String {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = cluster.len() <= 63
        && cluster.starts_with(|c: char| c.is_ascii_lowercase())
        && cluster.chars().all(is_inner)
        && !cluster.ends_with('-');
    if is_label {
        return cluster.to_owned();
    }
    let lower = cluster.to_lowercase().replace('_', "-");
    // A label must begin with a letter, and end with a letter or digit. So each run of valid
    // characters is shortened at both ends.
    let runs = lower.split(|c: char| !is_inner(c));
    let valid = runs.filter_map(|run| {
        let from = run.find(|c: char| c.is_ascii_lowercase())?;
        Some(run[from..].trim_end_matches('-'))
    });
    valid.collect()
}

/// Returns the name of the service for a data center's ready nodes. `all` are the services of the
/// namespace.
fn service_of(all: &[Value], datacenter: &str) -> Result<String> {
    const OTHER_SERVICE_ENDINGS: [&str; 4] = [
        "-seed-service",
        "-all-pods-service",
        "-additional-seed-service",
        "-node-port-service",
    ];
    let is_own = |service: &&Value| {
        let owners = service["metadata"]["ownerReferences"].as_array();
        owners
            .into_iter()
            .flatten()
            .any(|owner| owner["kind"] == "CassandraDatacenter" && owner["name"] == datacenter)
    };
    let names = all.iter().filter(is_own).filter_map(|one| one["metadata"]["name"].as_str());
    let fit = names.filter(|name| {
        name.ends_with("-service") && !OTHER_SERVICE_ENDINGS.iter().any(|end| name.ends_with(end))
    });
    match fit.collect::<Vec<_>>()[..] {
        [one] => Ok(one.to_owned()),
        [] => bail!("the CassandraDatacenter {datacenter} has no service for its nodes yet"),
        ref several => bail!(
            "the CassandraDatacenter {datacenter} has several services: {}\nhint: choose one with \
             `attach.kubernetes.service`",
            several.join(", ")
        ),
    }
}

fn nodes_of(slices: &[Value]) -> Vec<FoundNode> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut nodes = Vec::new();
    for slice in slices {
        let ports = list(&slice["ports"]);
        let number = |port: &Value| u16::try_from(port["port"].as_u64()?).ok();
        let named = |name: &&str| ports.iter().find(|port| port["name"] == **name).and_then(number);
        let port = match ["native", "cql"].iter().find_map(named) {
            Some(port) => port,
            None if ports.len() == 1 => ports.first().and_then(number).unwrap_or(CQL_PORT),
            None => CQL_PORT,
        };
        for end in list(&slice["endpoints"]) {
            if end["conditions"]["ready"] == false {
                continue;
            }
            let of = &end["targetRef"];
            let pod = (of["kind"] == "Pod").then(|| FoundPod {
                namespace: text(&of["namespace"]),
                name: text(&of["name"]),
                node: text(&end["nodeName"]),
            });
            let addresses = list(&end["addresses"]);
            let addresses = addresses.iter().filter_map(|one| one.as_str()?.parse::<IpAddr>().ok());
            nodes.extend(addresses.map(|address| FoundNode {
                point: SocketAddr::new(address, port),
                pod: pod.clone(),
                metrics_ports: METRICS.iter().filter_map(named).collect(),
                management_port: MANAGEMENT.iter().find_map(named),
            }));
        }
    }
    nodes
}

/// # Errors
/// The pod does not exist, or has no container.
pub fn default_container(kubectl: &Kubectl, pod: &FoundPod) -> Result<String> {
    const NAMED: &str = "kubectl.kubernetes.io/default-container";
    let object = kubectl.within(&pod.namespace)?.get("pod", &pod.name)?;
    let named = object["metadata"]["annotations"][NAMED].as_str();
    let first = object["spec"]["containers"][0]["name"].as_str();
    let name = named
        .or(first)
        .with_context(|| format!("the pod {} has no container", pod.name))?;
    Ok(name.to_owned())
}

fn credentials(secret: &Value) -> Result<(String, Secret)> {
    let read = |key: &str| -> Result<String> {
        let kept = secret["data"][key]
            .as_str()
            .with_context(|| format!("the secret does not contain the key `{key}`"))?;
        // The error must not reveal the content of the secret.
        let bytes = BASE64.decode(kept).ok().with_context(|| format!("`{key}` is not base64"))?;
        String::from_utf8(bytes).ok().with_context(|| format!("`{key}` is not text"))
    };
    Ok((read("username")?, Secret::new(read("password")?)))
}

#[cfg(test)]
mod tests;
