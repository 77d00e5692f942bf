//! Reads the private strings of a run from the fields of its records.

use crate::private_string::{PrivateKind, is_identifying};
use regex_lite::Regex;
use report::RunView;
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;
use store::record::{HostRecord, JournalEvent, NodeRecord};

/// Strings for the same thing, which have the same replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringGroup {
    pub kind: PrivateKind,
    pub originals: Vec<String>,
    /// Replacement, if cassay itself has already given the thing a name.
    pub name: Option<String>,
}

/// Beginning of the names of series that come from esxtop.
const ESXTOP: &str = "esxtop.";

/// Names of tables in a statement.
static TABLE: LazyLock<Regex> = LazyLock::new(|| {
    let form = r#"(?i)\b(?:from|into|update|table|index on|exists)\s+"?(\w+)"?\."?(\w+)"?"#;
    Regex::new(form).expect("the pattern is valid")
});

/// Returns the private strings in the records of a run. With `with_names`, also returns the names
/// of keyspaces, tables, data centers and racks.
pub fn read(view: &RunView, with_names: bool) -> Vec<StringGroup> {
    let mut found = Vec::new();
    for node in node_records(view) {
        found.extend(of_node(node));
        let datacenter = [
            (PrivateKind::Datacenter, &node.datacenter),
            (PrivateKind::Rack, &node.rack),
        ];
        if with_names {
            found.extend(datacenter.map(|(kind, name)| group(kind, [name.as_str()])));
        }
    }
    let of_trials = || view.trials.iter().filter_map(|trial| trial.nodes.as_ref());
    found.extend(of_trials().flat_map(|nodes| &nodes.hosts).flat_map(of_host));
    for line in &view.journal {
        if let JournalEvent::ClientsReady { clients } = &line.event {
            found.extend(clients.iter().flat_map(|client| destination(&client.place)));
        }
    }
    let clients = view.findings.trials.iter().flat_map(|trial| &trial.clients);
    found.extend(clients.flat_map(|client| destination(&client.place)));
    found.extend(virtual_machines(view));
    found.extend(of_plan(view));
    if with_names {
        found.extend(tables(view));
    }
    found.retain_mut(|group| {
        group.originals.retain(|text| is_address(text) || is_identifying(text));
        !group.originals.is_empty()
    });
    found
}

fn group<'a>(kind: PrivateKind, originals: impl IntoIterator<Item = &'a str>) -> StringGroup {
    StringGroup {
        kind,
        originals: originals.into_iter().map(str::to_owned).collect(),
        name: None,
    }
}

fn node_records(view: &RunView) -> Vec<&NodeRecord> {
    let of_journal = view.journal.iter().flat_map(|line| match &line.event {
        JournalEvent::TargetReady { nodes, .. } => nodes.as_slice(),
        _ => &[],
    });
    let of_trials = view.trials.iter().filter_map(|trial| trial.nodes.as_ref());
    of_journal.chain(of_trials.flat_map(|nodes| &nodes.nodes)).collect()
}

fn of_node(node: &NodeRecord) -> Vec<StringGroup> {
    let address = host_of(&node.address);
    let mut found = Vec::new();
    let name = host_of(&node.name);
    if is_identifying(name) || is_address(name) {
        found.push(group(PrivateKind::Node, [name, address]));
    } else {
        found.push(StringGroup {
            name: Some(node.name.clone()).filter(|name| !name.is_empty()),
            ..group(PrivateKind::Node, [address])
        });
    }
    if node.host != node.name {
        found.extend(destination(&node.host));
    }
    let cluster = node.settings.get("cluster_name");
    found.extend(cluster.map(|name| group(PrivateKind::Cluster, [name.as_str()])));
    found
}

fn of_host(host: &HostRecord) -> Vec<StringGroup> {
    let mut found = Vec::new();
    let (user, machine) = user_and_host(host.machine.as_deref().unwrap_or_default());
    let originals = [host_of(&host.name), host_of(&host.address), machine];
    let is_named = is_identifying(&host.name) || is_address(host_of(&host.name));
    found.push(StringGroup {
        name: (!is_named && !host.name.is_empty()).then(|| host.name.clone()),
        ..group(PrivateKind::Host, originals)
    });
    found.push(group(PrivateKind::User, [user]));
    found
}

/// Returns the user and the host of a destination of ssh.
fn destination(text: &str) -> Vec<StringGroup> {
    let (user, host) = user_and_host(text);
    vec![
        group(PrivateKind::Host, [host]),
        group(PrivateKind::User, [user]),
    ]
}

/// Splits `ssh://user@db1:2222`, or `user@db1 (i4i.2xlarge)`, into the user and the host.
fn user_and_host(text: &str) -> (&str, &str) {
    let text = text.split_whitespace().next().unwrap_or_default();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    (user, host_of(host))
}

/// Returns an address or a name without its port.
fn host_of(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match text.rsplit_once(':') {
        Some((host, port))
            if !host.contains(':')
                && !port.is_empty()
                && port.bytes().all(|b| b.is_ascii_digit()) =>
        {
            host
        }
        _ => text,
    }
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// Returns the names of hypervisors and VMs in imported series. The place of such a series has the
/// form `esx1/123:vm`.
fn virtual_machines(view: &RunView) -> Vec<StringGroup> {
    let series = view.trials.iter().flat_map(|trial| &trial.probes);
    let mut found = Vec::new();
    for one in series.filter(|one| one.name.starts_with(ESXTOP)) {
        let (hypervisor, instance) = one.place.split_once('/').unwrap_or((&one.place, ""));
        found.push(group(PrivateKind::Host, [hypervisor]));
        let named = instance.split_once(':').filter(|(number, _)| number.parse::<u64>().is_ok());
        found.extend(
            named.map(|(_, name)| {
                group(PrivateKind::Host, [name.split(':').next().unwrap_or(name)])
            }),
        );
    }
    found
}

fn of_plan(view: &RunView) -> Vec<StringGroup> {
    let mut found = Vec::new();
    let folder = view.plan.resolved.overrides.folder.as_deref();
    let folders = [folder, Some(Path::new(&view.folder))];
    let absolute = folders.into_iter().flatten().filter(|path| path.is_absolute());
    let folders: Vec<String> = absolute.map(|path| path.display().to_string()).collect();
    found.extend(folders.iter().map(|path| group(PrivateKind::Path, [path.as_str()])));
    if view.plan.resolved.source.contains('/') {
        found.push(group(
            PrivateKind::Path,
            [view.plan.resolved.source.as_str()],
        ));
    }
    let plan = serde_json::to_value(&view.plan).unwrap_or_default();
    found.extend(of_tree(&plan));
    found
}

/// Returns the private strings of a tree of settings. The key of a value, and the key of the object
/// around it, tell the kind of the value.
fn of_tree(tree: &Value) -> Vec<StringGroup> {
    let mut found = Vec::new();
    let mut open: Vec<(&str, &str, &Value)> = vec![("", "", tree)];
    while let Some((above, key, value)) = open.pop() {
        match value {
            // The last entry is the first that the loop takes.
            Value::Object(map) => {
                open.extend(map.iter().rev().map(|(name, below)| (key, name.as_str(), below)));
            }
            // The items of a list belong to the key of the list.
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (above, key, item))),
            Value::String(text) => found.extend(of_setting(above, key, text)),
            _ => {}
        }
    }
    found
}

fn of_setting(above: &str, key: &str, text: &str) -> Vec<StringGroup> {
    let is_in_kubernetes = ["kubernetes", "pod", "pods"].contains(&above);
    let kind = match key {
        "ssh" | "contact_points" | "server_name" | "sni" => return destination(text),
        "user" | "username" | "login" => PrivateKind::User,
        "namespace" => PrivateKind::Namespace,
        "context" | "container" | "service" | "statefulset" | "pod" => PrivateKind::Pod,
        "name" | "node" | "k8ssandra" | "cass_operator" | "secret" if is_in_kubernetes => {
            PrivateKind::Pod
        }
        "cluster_name" => PrivateKind::Cluster,
        "target" => {
            let (kind, place) = text.split_once(':').unwrap_or_default();
            let is_place = ["attach", "ssh"].contains(&kind);
            return is_place.then(|| destination(place)).into_iter().flatten().collect();
        }
        _ => return Vec::new(),
    };
    vec![group(kind, [text])]
}

fn tables(view: &RunView) -> Vec<StringGroup> {
    let requests = view.plan.resolved.requests.values().flatten();
    let mut found = Vec::new();
    for request in requests {
        for names in TABLE.captures_iter(&request.cql) {
            let kinds = [PrivateKind::Keyspace, PrivateKind::Table];
            let names = names.iter().skip(1).flatten().zip(kinds);
            found.extend(names.map(|(name, kind)| group(kind, [name.as_str()])));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_user_and_a_host_without_port() {
        for (text, expected) in [
            ("ssh://ann@db1:2222", ("ann", "db1")),
            ("ann@db1 (i4i.2xlarge)", ("ann", "db1")),
            ("[2001:db8::1]:9042", ("", "2001:db8::1")),
            ("2001:db8::1", ("", "2001:db8::1")),
            ("10.0.0.1:9042", ("", "10.0.0.1")),
            ("", ("", "")),
        ] {
            assert_eq!(user_and_host(text), expected, "{text}");
        }
    }

    #[test]
    fn the_key_of_a_setting_tells_its_kind() {
        let settings = serde_json::json!({
            "target": { "attach": {
                "contact_points": ["db1.corp:9042"],
                "user": "shop",
                "hosts": [{ "ssh": "ann@db1", "pod": {
                    "namespace": "shop", "name": "cass77-dc1-default-sts-0",
                }}],
                "kubernetes": { "namespace": "prod" },
            }},
            "faults": [{ "host": "any", "name": "net-loss" }],
        });
        let found = of_tree(&settings);
        let texts: Vec<&str> = found
            .iter()
            .flat_map(|group| &group.originals)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(
            texts,
            [
                "db1.corp",
                "shop",
                "db1",
                "ann",
                "shop",
                "cass77-dc1-default-sts-0",
                "prod"
            ]
        );
    }
}
