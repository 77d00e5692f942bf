//! Clusters that outlive the command that starts them, for the commands `target up`, `status` and
//! `down`.
//!
//! The processes of a kept cluster run in separate sessions, without a parent death signal, until
//! [`down`] ends them.

use crate::cluster::Cluster;
use crate::dirs::Dirs;
use crate::local::{self, Nodes, persistent_state, roles};
use anyhow::{Result, bail};
use cassandra::{Access, Session, process_tags};
use host::HostsState;
use host::process::Identity;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use target_spec::{Authentication, LocalSpec};

/// Time limit for the response of a node to `status`.
const STATUS_LIMIT: Duration = Duration::from_secs(2);

/// Cluster on this machine.
#[derive(Clone, Debug)]
pub struct KeptCluster {
    /// The alphabetical order of ids is the order of creation.
    pub id: String,
    /// False if the cluster belongs to a running command.
    pub keep: bool,
    /// Nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Cassandra version of the nodes.
    pub version: String,
    pub datacenter: String,
    /// Folder of all files of the cluster.
    pub folder: PathBuf,
    pub nodes: Vec<KeptNode>,
    /// Credentials for clients. `None` if every user of this machine may connect.
    pub login: Option<Login>,
    /// The credentials in [`KeptCluster::login`], for cassay's own sessions.
    pub(crate) access: Access,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    /// File with the password in its first line. Only the file's owner can read it.
    pub password_file: PathBuf,
}

#[derive(Clone, Debug)]
pub struct KeptNode {
    /// Name such as `node1`.
    pub name: String,
    /// Host such as `host1`.
    pub host: String,
    /// CQL address.
    pub address: SocketAddr,
    pub rack: String,
    /// Process id of the running node.
    pub pid: Option<u32>,
    /// True if the node answers CQL.
    pub answers: bool,
}

/// Starts a cluster that outlives this command.
///
/// # Errors
/// The errors of [`crate::start`].
pub fn up(spec: &LocalSpec, dirs: &Dirs, say: &mut dyn FnMut(&str)) -> Result<KeptCluster> {
    let (folder, state) = local::start(spec, dirs, say)?.keep()?;
    Ok(look(folder, &state))
}

/// Opens the kept cluster `id`, or the only kept cluster for `None`. The cluster and all changes
/// remain after the returned value is dropped.
///
/// # Errors
/// The number of matching kept clusters is not 1, another command is using the cluster, or another
/// machine started it.
pub fn open(dirs: &Dirs, id: Option<&str>, say: &mut dyn FnMut(&str)) -> Result<Cluster> {
    let (states, _) = persistent_state::all(dirs);
    let kept: Vec<_> = states.into_iter().filter(|(_, one)| one.keep).collect();
    let names: Vec<&str> = kept.iter().map(|(_, one)| one.id.as_str()).collect();
    let index = match id {
        Some(id) => names.iter().position(|name| *name == id),
        None if names.len() > 1 => bail!(
            "{} kept clusters are running; name one of them: {}",
            names.len(),
            names.join(", ")
        ),
        None => (!names.is_empty()).then_some(0),
    };
    let Some(index) = index else {
        bail!(
            "{}\nhint: `cassay target up` starts a cluster",
            no_such(id, &names)
        );
    };
    let (folder, state) = &kept[index];
    if let Some(machine) = state.elsewhere() {
        bail!(
            "another machine ({machine}) started the cluster {}: run this command on that machine",
            folder.display()
        );
    }
    let nodes = Nodes::reopen(folder, state.clone(), dirs, say)?;
    Ok(Cluster::from_local(nodes))
}

/// Returns the message for a missing kept cluster, which lists the existing ones.
fn no_such(id: Option<&str>, names: &[&str]) -> String {
    let known = if names.is_empty() {
        "none".to_string()
    } else {
        names.join(", ")
    };
    let name = id.map(|id| format!(" {id}")).unwrap_or_default();
    format!("no kept cluster{name} exists; the kept clusters are: {known}")
}

/// Returns all clusters on this machine, oldest first, including those of running commands.
pub fn status(dirs: &Dirs) -> Vec<KeptCluster> {
    let (states, _) = persistent_state::all(dirs);
    states.iter().map(|(folder, state)| look(folder.clone(), state)).collect()
}

/// Ends the kept cluster `id`, or all kept clusters for `None`, and deletes their data. Returns the
/// ids of the ended clusters.
///
/// # Errors
/// The kept cluster does not exist, or cannot be removed.
pub fn down(dirs: &Dirs, id: Option<&str>, say: &mut dyn FnMut(&str)) -> Result<Vec<String>> {
    let (states, _) = persistent_state::all(dirs);
    let kept = states.iter().filter(|(_, state)| state.keep);
    let wanted: Vec<_> = kept.clone().filter(|(_, s)| id.is_none_or(|id| s.id == id)).collect();
    if let Some(id) = id
        && wanted.is_empty()
    {
        let names: Vec<&str> = kept.map(|(_, state)| state.id.as_str()).collect();
        bail!(no_such(Some(id), &names));
    }
    let mut ended = Vec::new();
    for (folder, cluster) in wanted {
        let processes = persistent_state::remove(folder, cluster)?;
        say(&format!("ended {} ({processes} processes)", cluster.id));
        ended.push(cluster.id.clone());
    }
    Ok(ended)
}

fn look(folder: PathBuf, state: &persistent_state::State) -> KeptCluster {
    let is_elsewhere = state.hosts.as_ref().is_some_and(HostsState::are_machines);
    let processes = process_tags::processes(&state.id);
    let authentication = state.spec().map(|spec| spec.authentication);
    let login = (authentication == Some(Authentication::Password)).then(|| Login {
        user: roles::USER.to_string(),
        password_file: roles::password_file(&folder),
    });
    // Without a readable password, the session fails with a message that the nodes require a
    // password.
    let access = roles::read(authentication.unwrap_or_default(), &folder).unwrap_or_default();
    let runs = |process: &Identity| processes.contains(process);
    let node = |node: &persistent_state::NodeState| {
        // Processes on another machine are not visible, so only the node's CQL response counts.
        let process = node.process.filter(|one| is_elsewhere || runs(one));
        let address = node.cql_address();
        let answers = process.is_some()
            && Session::open(address, &access, STATUS_LIMIT)
                .and_then(|mut session| session.query("SELECT key FROM system.local"))
                .is_ok();
        KeptNode {
            name: node.name.clone(),
            host: node.host.clone(),
            address,
            rack: node.rack.clone(),
            pid: process.filter(|_| answers || !is_elsewhere).map(|process| process.pid),
            answers,
        }
    };
    KeptCluster {
        id: state.id.clone(),
        keep: state.keep,
        started_unix_ns: state.started_unix_ns,
        version: state.version.clone(),
        datacenter: state.datacenter.clone(),
        folder,
        nodes: state.nodes.iter().map(node).collect(),
        login,
        access,
    }
}
