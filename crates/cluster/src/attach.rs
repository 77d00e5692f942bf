//! Attaches to a cluster that cassay did not start. Attaching requires only CQL, and changes
//! nothing except that it undoes changes of killed commands. With Jolokia agents in the JVMs,
//! cassay can also read MBeans, flush tables and take snapshots.

mod control;
mod faults;
pub(crate) mod from_kubernetes;
pub(crate) mod hosts;
pub(crate) mod machine_capabilities;
mod machines;
mod permitted_actions;
pub(crate) mod pods;

use crate::capability::{self, Sources};
use crate::cluster::Cluster;
use anyhow::{Context, Error, Result, anyhow, bail};
use cassandra::{
    Access, BehindProxy, Credentials, Jolokia, NoPassword, NodeAddressMap, NodeInfo, Session,
    addresses_of, credentials, joined_nodes, others_may_read, tls_of,
};
use faults::Agent;
pub(crate) use faults::AttachedControl;
use host::process;
use hosts::AttachedHosts;
use kubernetes::NodePod;
use measure::clock::{self, Deadline};
use pods::Pods;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use target_spec::fault::START_LIMIT;
use target_spec::{AttachSpec, CapabilityStatus, JolokiaAccess};

/// Time limit of each discovery request.
const LIMIT: Duration = Duration::from_secs(10);

/// Connects to the first contact point that answers, and discovers the other nodes from it.
///
/// # Errors
/// No contact point answers (the message contains the reason for each), the data center has no
/// node, or credentials or TLS files cannot be read.
pub(crate) fn attach(spec: &AttachSpec, say: &mut dyn FnMut(&str)) -> Result<Cluster> {
    let (described, pods);
    let (spec, pods) = match &spec.kubernetes {
        Some(there) => {
            (described, pods) = from_kubernetes::spec(spec, there, say)?;
            (&described, pods)
        }
        None => (spec, Pods::default()),
    };
    let behind = spec.secure_connect_bundle.as_deref().map(BehindProxy::read).transpose()?;
    let by_ids = behind.as_ref().map(|behind| behind.spec(spec));
    let spec = by_ids.as_ref().unwrap_or(spec);
    let access = match behind {
        None => access_of(spec)?,
        Some(behind) => Access {
            tls: Some(behind.tls),
            moves: behind.moves,
            ..access_of(spec)?
        },
    };
    if let Some(told) = spec.tls.as_ref().and_then(others_may_read) {
        say(&told);
    }
    mend_here(say);
    if spec.contact_points.is_empty() {
        bail!("attaching needs at least one contact point (host or host:port)");
    }
    // The machines come before the nodes, because an earlier command may have left nodes stopped.
    // The agents on the machines restart these nodes.
    let hosts = AttachedHosts::reach(&spec.hosts, say)?;
    let patience = if hosts.is_mended() {
        START_LIMIT
    } else {
        Duration::ZERO
    };
    let deadline = Deadline::after(patience);
    let (point, nodes) = loop {
        match first_that_answers(spec, &access) {
            Err(_) if !deadline.passed() && !process::is_interrupted() => clock::sleep(POLL),
            answered => break answered?,
        }
    };
    let nodes = pods.name_nodes(in_datacenter(nodes, spec.datacenter.as_deref())?);
    let count = nodes.len();
    let noun = if count == 1 { "node" } else { "nodes" };
    say(&format!("attached to {count} {noun} through {point}"));
    let agents = agents_of(&nodes, spec.jolokia.as_ref(), &access.moves, say)?;
    with_hosts(spec, nodes, (access, hosts, pods), agents, say)
}

/// Undoes the changes of killed commands and agents on the machine that runs cassay. A change that
/// cannot be undone may belong to another cluster, so this function only reports it.
fn mend_here(say: &mut dyn FnMut(&str)) {
    match host::undo_file::mend(None) {
        Ok(undone) => {
            for what in undone {
                say(&format!(
                    "cassay was killed during an earlier command, and now undid its changes: {what}"
                ));
            }
        }
        Err(error) => say(&format!(
            "cassay could not undo the changes of an earlier command that was killed: {error:#}"
        )),
    }
}

/// Returns the first contact point that answers, and the nodes that it lists.
fn first_that_answers<'a>(
    spec: &'a AttachSpec,
    access: &Access,
) -> Result<(&'a str, Vec<NodeInfo>)> {
    let (mut failures, mut hints) = (Vec::new(), Vec::new());
    for point in &spec.contact_points {
        match discover(point, access) {
            Ok(nodes) => return Ok((point, nodes)),
            // The other contact points would require the password, too.
            Err(error) if error.is::<NoPassword>() => return Err(error),
            Err(error) => {
                failures.push(format!("{point}: {error:#}"));
                hints.extend(hint(&error).filter(|hint| !hints.contains(hint)));
            }
        }
    }
    let hints: String = hints.iter().map(|hint| format!("\nhint: {hint}")).collect();
    bail!(
        "no contact point answers:\n  {}{hints}",
        failures.join("\n  ")
    )
}

/// Returns a remedy for a connection error, if the kind of the error suggests one.
fn hint(error: &Error) -> Option<&'static str> {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    match io.map(io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => Some(
            "no program listens on this port: check that Cassandra runs, and compare the port with \
             `native_transport_port` in cassandra.yaml",
        ),
        Some(
            ErrorKind::TimedOut
            | ErrorKind::WouldBlock
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable,
        ) => Some("the address does not answer: check the address, the network and firewalls"),
        Some(ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::InvalidData) => {
            Some("check that the port is a CQL port (usually 9042), and whether it needs `tls`")
        }
        _ => None,
    }
}

/// Interval between two attempts to reach a node that is starting.
const POLL: Duration = Duration::from_secs(1);

/// Builds the cluster with its nodes and their machines.
fn with_hosts(
    spec: &AttachSpec,
    mut nodes: Vec<NodeInfo>,
    (access, hosts, pods): (Access, AttachedHosts, Pods),
    agents: Vec<Agent>,
    say: &mut dyn FnMut(&str),
) -> Result<Cluster> {
    let hosts = hosts.with_nodes(&nodes, say)?;
    for (index, node) in nodes.iter_mut().enumerate() {
        if let Some(host) = hosts.for_node(index) {
            node.host.clone_from(&host.name);
        }
    }
    let metrics = pods.metrics_of(&nodes, say);
    let (operator, pods) = (pods.operator.clone(), pods.node_pods(&nodes)?);
    let capabilities = capabilities(&nodes, &agents, &hosts, &pods);
    let attached = AttachedControl::new(
        spec,
        (agents, hosts, pods),
        (operator, metrics),
        access.moves.clone(),
    );
    Ok(Cluster::from_attached(
        nodes,
        access,
        capabilities,
        attached,
    ))
}

/// Time limit for the first response of a Jolokia agent.
const AGENT_LIMIT: Duration = Duration::from_secs(5);

/// Returns the nodes' Jolokia agents in node order, after one request to each agent. The list is
/// empty without `access`. The entry of an agent that does not answer contains the reason.
fn agents_of(
    nodes: &[NodeInfo],
    access: Option<&JolokiaAccess>,
    moves: &NodeAddressMap,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Agent>> {
    const VERSION: (&str, &str) = (
        "org.apache.cassandra.db:type=StorageService",
        "ReleaseVersion",
    );
    let Some(access) = access else {
        return Ok(Vec::new());
    };
    let mut agents = Vec::with_capacity(nodes.len());
    for node in nodes {
        let address = SocketAddr::new(node.address.ip(), access.port);
        let agent =
            Jolokia::attached(address, access, moves).context("connect to the Jolokia agents")?;
        let agent = match agent.with_limit(AGENT_LIMIT).read(&[VERSION]) {
            Ok(answer) if answer.first().is_some_and(Option::is_some) => Ok(agent),
            Ok(_) => Err(format!(
                "the Jolokia agent at {address} provides no MBeans of Cassandra: check that the \
                 agent runs in the JVM of a node"
            )),
            Err(error) => Err(format!("{error:#}")),
        };
        if let Err(reason) = &agent {
            say(&format!(
                "{} provides no MBeans to cassay: {reason}",
                node.name
            ));
        }
        agents.push(agent);
    }
    Ok(agents)
}

fn access_of(spec: &AttachSpec) -> Result<Access> {
    let credentials = match (&spec.user, &spec.password) {
        (Some(user), Some(source)) => Some(Credentials {
            user: user.clone(),
            password: credentials::read(source)?,
        }),
        (None, None) => None,
        (Some(user), None) => bail!(
            "the user {user} has no password: set the file or the environment variable that \
             contains the password"
        ),
        (None, Some(_)) => bail!("the target has a password but no user: also set the user"),
    };
    let tls = spec.tls.as_ref().map(tls_of).transpose()?;
    Ok(Access {
        moves: NodeAddressMap::translated(spec.addresses.clone()),
        ..Access::for_attached(credentials, tls)
    })
}

/// Returns all nodes that the contact point lists, beginning with the contact point. Behind a
/// proxy, `point` is the host id of a node.
fn discover(point: &str, access: &Access) -> Result<Vec<NodeInfo>> {
    if let Some(proxy) = access.moves.proxy() {
        let mut session = Session::open_named(proxy.address(), Some(point), access, LIMIT)?;
        return joined_nodes(&mut session);
    }
    let (host, addresses) = addresses_of(point)?;
    let mut last = anyhow!("name resolution returned no address for {host}");
    for address in addresses {
        let name = host.parse::<IpAddr>().is_err().then_some(host.as_str());
        let known = access.moves.cluster_address(address);
        let opened = Session::open_named(known, name, access, LIMIT);
        match opened.and_then(|mut session| joined_nodes(&mut session)) {
            Ok(nodes) => return Ok(nodes),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn in_datacenter(nodes: Vec<NodeInfo>, datacenter: Option<&str>) -> Result<Vec<NodeInfo>> {
    let Some(wanted) = datacenter else {
        return Ok(nodes);
    };
    let mut names: Vec<String> = nodes.iter().map(|node| node.datacenter.clone()).collect();
    names.sort();
    names.dedup();
    let of_wanted = |node: &NodeInfo| node.datacenter == wanted;
    let found: Vec<NodeInfo> = nodes.into_iter().filter(of_wanted).collect();
    if found.is_empty() {
        bail!(
            "no node is in data center {wanted:?}; the data centers are {}",
            names.join(", ")
        );
    }
    Ok(found)
}

fn capabilities(
    nodes: &[NodeInfo],
    agents: &[Agent],
    hosts: &AttachedHosts,
    pods: &[Option<Arc<NodePod>>],
) -> Vec<CapabilityStatus> {
    let major = |node: &NodeInfo| node.version.split('.').next().and_then(|n| n.parse().ok());
    let mut majors = nodes.iter().map(major);
    let tables = if majors.all(|major| major.is_some_and(|n: u32| n >= 4)) {
        Ok("virtual tables".to_string())
    } else {
        Err("cassay needs virtual tables, which only Cassandra 4.0 and later have".to_string())
    };
    let on_machines = match hosts.all[..] {
        [] => capability::OnMachines::none(),
        _ => machine_capabilities::on_machines(hosts, nodes),
    };
    let in_pods = pods::every(nodes, pods);
    let metrics = if nodes.iter().all(|node| cassandra::has_metric_tables(&node.version)) {
        Ok(capability::BY_METRICS.to_owned())
    } else {
        Err(NO_METRICS.to_owned())
    };
    let shown = Sources {
        tables,
        mbeans: mbeans(nodes, agents),
        metrics,
    };
    capability::attached_capabilities(&shown, &on_machines, &in_pods)
}

pub(crate) const NO_METRICS: &str = "the nodes have no tables of metrics, which only Cassandra 6.0 \
                                     and later have";

pub(crate) const NO_AGENTS: &str = "cassay cannot read MBeans, because the study does not name \
                                    Jolokia agents (`attach: {jolokia: {port: 8778}}`)";

/// Describes the access to the MBeans. The error contains the reason why they are not accessible,
/// and how to enable them.
fn mbeans(nodes: &[NodeInfo], agents: &[Agent]) -> std::result::Result<String, String> {
    if agents.is_empty() {
        return Err(NO_AGENTS.to_string());
    }
    let missing: Vec<String> = nodes
        .iter()
        .zip(agents)
        .filter_map(|(node, agent)| Some(format!("{}: {}", node.name, agent.as_ref().err()?)))
        .collect();
    if missing.is_empty() {
        Ok("MBeans, through the Jolokia agent of every node".to_string())
    } else {
        Err(format!(
            "not all nodes provide MBeans: {}; `jolokia` must contain the port, user and password \
             of the agents",
            missing.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use target_spec::SecretSource;

    #[test]
    fn every_contact_point_that_fails_has_its_reason() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let spec = AttachSpec {
            contact_points: vec![format!("127.0.0.1:{port}"), "[".to_string()],
            ..AttachSpec::default()
        };
        let text = attach(&spec, &mut |_| ()).unwrap_err().to_string();
        assert!(
            text.contains(&format!("127.0.0.1:{port}: connect to")),
            "{text}"
        );
        assert!(text.contains("no closing bracket"), "{text}");
        assert!(
            text.ends_with("`native_transport_port` in cassandra.yaml"),
            "{text}"
        );
        let error = attach(&AttachSpec::default(), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("at least one contact point"));
    }

    #[test]
    fn incomplete_credentials_are_refused_and_files_hold_secrets() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter2\nsecond line\n").unwrap();
        let mut spec = AttachSpec {
            user: Some("anna".to_string()),
            ..AttachSpec::default()
        };
        assert!(access_of(&spec).unwrap_err().to_string().contains("anna has no password"));
        spec.password = Some(SecretSource::File(file.path().to_path_buf()));
        let access = access_of(&spec).unwrap();
        assert_eq!(access.credentials.unwrap().password.reveal(), "hunter2");
        std::fs::write(file.path(), "\n").unwrap();
        assert!(access_of(&spec).unwrap_err().to_string().contains("is empty"));
        spec.password = Some(SecretSource::Env("CASSAY_TEST_IS_NOT_SET".to_string()));
        let error = access_of(&spec).unwrap_err().to_string();
        assert!(
            error.contains("CASSAY_TEST_IS_NOT_SET is not set"),
            "{error}"
        );
    }
}
