//! Shows the state of clusters' nodes, as a table for people and as JSON.

use crate::args::Common;
use crate::terminal;
use ::cluster::Cluster;
use ::cluster::kept_cluster::{KeptCluster, Login};
use cassandra::{NodeState, Overview};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Identity of a cluster, and the state and the ownership of its nodes.
pub struct ClusterStatus {
    /// Id of the cluster, or the contact point of an attached cluster.
    id: String,
    /// True if the cluster keeps running after its command ends. Always true for an attached
    /// cluster.
    keep: bool,
    folder: Option<PathBuf>,
    nodes: Vec<Member>,
    login: Option<Login>,
    overview: Overview,
}

/// Properties of a node that are known without contacting the node.
struct Member {
    name: String,
    host: String,
    datacenter: String,
    rack: String,
    address: String,
    pid: Option<u32>,
    version: String,
}

impl ClusterStatus {
    /// Returns true if the ownership of the keyspace is known.
    pub fn has_keyspace(&self, name: &str) -> bool {
        self.overview.owned.contains_key(name)
    }
}

/// Queries the nodes of a local cluster. `keyspace` selects the ownership, as in
/// [`KeptCluster::overview`].
pub fn kept_status(cluster: &KeptCluster, keyspace: Option<&str>) -> ClusterStatus {
    let member = |node: &::cluster::kept_cluster::KeptNode| Member {
        name: node.name.clone(),
        host: node.host.clone(),
        datacenter: cluster.datacenter.clone(),
        rack: node.rack.clone(),
        address: node.address.to_string(),
        pid: node.pid,
        version: cluster.version.clone(),
    };
    ClusterStatus {
        id: cluster.id.clone(),
        keep: cluster.keep,
        folder: Some(cluster.folder.clone()),
        nodes: cluster.nodes.iter().map(member).collect(),
        login: cluster.login.clone(),
        overview: cluster.overview(keyspace),
    }
}

/// Queries the nodes of an attached cluster, whose contact point `point` becomes its id.
pub fn attached_status(cluster: &Cluster, point: &str, keyspace: Option<&str>) -> ClusterStatus {
    let member = |node: &cassandra::NodeInfo| Member {
        name: node.name.clone(),
        host: node.host.clone(),
        datacenter: node.datacenter.clone(),
        rack: node.rack.clone(),
        address: node.address.to_string(),
        pid: node.pid,
        version: node.version.clone(),
    };
    ClusterStatus {
        id: point.to_owned(),
        keep: true,
        folder: None,
        nodes: cluster.nodes().iter().map(member).collect(),
        login: None,
        overview: cluster.overview(keyspace),
    }
}

/// Prints the status of clusters. Prints to stderr the parts of a status that could not be read.
pub fn show(clusters: &[ClusterStatus], common: &Common) {
    for cluster in clusters {
        for problem in &cluster.overview.problems {
            terminal::say(&format!("note: {}: {problem}", cluster.id));
        }
    }
    if common.json {
        terminal::json(&clusters.iter().map(to_json).collect());
        return;
    }
    let texts: Vec<String> = clusters.iter().map(text).collect();
    if !texts.is_empty() {
        terminal::data(&texts.join("\n"));
    }
}

fn text(cluster: &ClusterStatus) -> String {
    let one_of = |field: fn(&Member) -> &String| {
        let mut all: Vec<&str> = cluster.nodes.iter().map(|node| field(node).as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all.join(" and ")
    };
    let whose = match (&cluster.folder, cluster.keep) {
        (None, _) => "attached",
        (Some(_), true) => "kept",
        (Some(_), false) => "of a running command",
    };
    let title = format!(
        "{} (Cassandra {}, {}, {whose})\n",
        cluster.id,
        one_of(|node| &node.version),
        one_of(|node| &node.datacenter),
    );
    let login = cluster.login.as_ref().map(|login| {
        format!(
            "user {}, password in {}\n",
            login.user,
            login.password_file.display()
        )
    });
    let more = more_words(cluster.overview.owned.len(), owners(&cluster.overview));
    title + &login.unwrap_or_default() + &table(cluster) + &more
}

/// Maximum number of ownership columns. A line has room for only a few.
const OWNERS_MAX: usize = 4;

/// Keyspaces with the same distribution over the nodes, and the share of each node.
type Owners<'s> = (Vec<&'s str>, &'s BTreeMap<String, f64>);

/// Groups keyspaces by their distribution, the largest group first.
fn owners(overview: &Overview) -> Vec<Owners<'_>> {
    let mut alike: Vec<Owners<'_>> = Vec::new();
    for (name, shares) in &overview.owned {
        match alike.iter_mut().find(|(_, known)| *known == shares) {
            Some((names, _)) => names.push(name),
            None => alike.push((vec![name], shares)),
        }
    }
    alike.sort_by_key(|(names, _)| std::cmp::Reverse(names.len()));
    alike
}

/// Returns the title of an ownership column: `Owns shop`, `Owns shop + 64`.
fn owners_title((names, _): &Owners<'_>) -> String {
    match names.as_slice() {
        [] => "Owns".to_owned(),
        [name] => format!("Owns {name}"),
        [name, others @ ..] => format!("Owns {name} + {}", others.len()),
    }
}

/// Describes the keyspaces that the columns do not name. Returns an empty text if the columns name
/// all keyspaces.
fn more_words(keyspaces: usize, owners: Vec<Owners<'_>>) -> String {
    let shown: usize = owners.iter().take(OWNERS_MAX).map(|(names, _)| names.len()).sum();
    let alike = owners.iter().any(|(names, _)| names.len() > 1);
    match (keyspaces - shown, alike) {
        (0, false) => String::new(),
        (0, true) => {
            "`+ N` in a title: N other keyspaces with the same ownership; --json lists all \
             keyspaces\n"
                .to_owned()
        }
        (left, _) => format!(
            "`+ N` in a title: N other keyspaces with the same ownership. This table omits {left} \
             more: --keyspace NAME shows one of them, --json lists all\n"
        ),
    }
}

fn table(cluster: &ClusterStatus) -> String {
    let overview = &cluster.overview;
    // If no keyspace has copies that can be counted, the column shows the primary ranges of each
    // node.
    let owned: Vec<Owners<'_>> = if overview.owned.is_empty() {
        vec![(Vec::new(), &overview.primary)]
    } else {
        owners(overview).into_iter().take(OWNERS_MAX).collect()
    };
    let text = |text: &str| (text.to_owned(), false);
    let number = |text: &str| (text.to_owned(), true);
    let mut head = ["State", "Host", "Rack", "Node", "Address"].map(text).to_vec();
    head.extend(["Load", "Tokens"].map(number));
    head.extend(owned.iter().map(|owners| number(&owners_title(owners))));
    head.push(number("Pid"));
    let (titles, is_right): (Vec<String>, Vec<bool>) = head.into_iter().unzip();
    let mut rows = vec![titles];
    for (member, state) in cluster.nodes.iter().zip(&overview.nodes) {
        let known = |value: Option<String>| value.unwrap_or_else(|| "?".to_owned());
        let mut row = vec![
            state_words(member, state, cluster.folder.is_some()),
            member.host.clone(),
            member.rack.clone(),
            member.name.clone(),
            member.address.clone(),
            known(state.load_bytes.map(measure::number::bytes)),
            known(state.tokens.map(|count| count.to_string())),
        ];
        let share = |(_, shares): &Owners<'_>| {
            known(shares.get(&member.name).map(|share| format!("{:.1} %", 100.0 * share)))
        };
        row.extend(owned.iter().map(share));
        row.push(member.pid.map_or("-".to_owned(), |pid| pid.to_string()));
        rows.push(row);
    }
    terminal::table(&rows, &is_right)
}

/// Returns the state of a node in two letters. Adds that the node does not answer, or that its
/// process has ended. The letters cannot express this, because other nodes may report an old state.
fn state_words(member: &Member, state: &NodeState, is_ours: bool) -> String {
    match (member.pid, state.answers) {
        (Some(_), false) => format!("{} does not answer", state.state),
        (None, false) if is_ours => format!("{} has ended", state.state),
        _ => state.state.clone(),
    }
}

fn to_json(cluster: &ClusterStatus) -> Value {
    let overview = &cluster.overview;
    let share = |shares: &BTreeMap<String, f64>, name: &str| json!(shares.get(name));
    let nodes = cluster.nodes.iter().zip(&overview.nodes).map(|(member, state)| {
        let owned = overview
            .owned
            .iter()
            .map(|(name, shares)| (name.clone(), share(shares, &member.name)));
        json!({
            "name": member.name,
            "host": member.host,
            "datacenter": member.datacenter,
            "rack": member.rack,
            "address": member.address,
            "version": member.version,
            "pid": member.pid,
            "answers": state.answers,
            "state": state.state,
            "load_bytes": state.load_bytes,
            "tokens": state.tokens,
            "owns": share(&overview.primary, &member.name),
            "owned": owned.collect::<serde_json::Map<_, _>>(),
        })
    });
    json!({
        "id": cluster.id,
        "version": cluster.nodes.first().map(|node| &node.version),
        "keep": cluster.keep,
        "folder": cluster.folder,
        "user": cluster.login.as_ref().map(|login| &login.user),
        "password_file": cluster.login.as_ref().map(|login| &login.password_file),
        "nodes": nodes.collect::<Vec<_>>(),
        "problems": overview.problems,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In this test, the row of a node has no room for sixty-six columns.
    #[test]
    fn keyspaces_with_equal_ownership_share_a_column() {
        let shares = |share: f64| BTreeMap::from([("node1".to_owned(), share)]);
        let owned = (0..66).map(|n| {
            (
                format!("k{n:02}"),
                shares(if n < 60 { 1.0 } else { f64::from(n) }),
            )
        });
        let overview = Overview {
            nodes: Vec::new(),
            primary: BTreeMap::new(),
            owned: owned.collect(),
            problems: Vec::new(),
        };
        let all = owners(&overview);
        let titles: Vec<String> = all.iter().take(OWNERS_MAX).map(owners_title).collect();
        assert_eq!(
            titles,
            ["Owns k00 + 59", "Owns k60", "Owns k61", "Owns k62"]
        );
        let more = more_words(overview.owned.len(), all);
        assert!(more.contains("omits 3 more"), "{more}");
    }
}
