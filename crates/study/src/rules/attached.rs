//! Rules for an attached cluster. They check its addresses, the keys that its machines need, and
//! the trust that is required to read files and run programs on the machines.

use super::Subject;
use super::destination;
use super::harmless::{HINT, is_own_word};
use std::net::IpAddr;
use target_spec::{ContactPoint, NODE_PLACE, NodePlace};
use yaml::{Diagnostics, Node, Raw};

const HOSTS: &str = "target.attach.hosts";

const TRANSLATED: &str = "target.attach.addresses";

pub(super) fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    contact_points(subject, out);
    translated(subject, out);
    bundled(subject, out);
    let Some(hosts) = subject.node.find(HOSTS) else {
        return;
    };
    let path = format!("{HOSTS}.ssh");
    let does = "reads metrics and files there";
    let all = hosts.entry("ssh").map(|entry| items(&entry.value)).unwrap_or_default();
    for item in all {
        let named = item.entry("ssh").map_or(item, |entry| &entry.value);
        let is_trusted = is_own_word(subject.overrides, named);
        destination::check(is_trusted, (&path, named), does, out);
        addresses(item, out);
        check_keys(subject, &path, item, out);
    }
    check_keys(subject, HOSTS, hosts, out);
}

/// Checks the contact points, so that the study has no mistake that only a connection would show. A
/// contact point appears in output and records, so it must not contain a login.
fn contact_points(subject: &Subject<'_>, out: &mut Diagnostics) {
    const POINTS: &str = "target.attach.contact_points";
    let points = subject.node.find(POINTS).map(items).unwrap_or_default();
    for point in points {
        let Some(text) = point.text() else {
            continue;
        };
        if text.contains('@') {
            let message = format!("`{POINTS}` contains a login, but it may only contain addresses");
            let hint = "write the login as `target.attach.user` and \
                        `target.attach.password: {secret: NAME}`, and pass --secret NAME=file:PATH";
            out.add(&point.place, message, Some(hint.to_owned()));
        } else if let Err(why) = text.parse::<ContactPoint>() {
            let hint = "write `host`, `host:port` or `[v6]:port`, one contact point per item";
            out.add(
                &point.place,
                format!("the contact point {why}"),
                Some(hint.to_owned()),
            );
        }
    }
}

/// Checks keys that are used together with a bundle. The bundle contains a certificate authority,
/// and the address of the proxy in front of the nodes. So cassay can reach the nodes only by CQL.
fn bundled(subject: &Subject<'_>, out: &mut Diagnostics) {
    const BUNDLE: &str = "target.attach.secure_connect_bundle";
    if !subject.wrote(BUNDLE) {
        return;
    }
    for key in ["tls", "addresses", "jolokia", "hosts"] {
        let path = format!("target.attach.{key}");
        if subject.wrote(&path) {
            let message = format!(
                "you cannot combine `{path}` with `{BUNDLE}`, because cassay then reaches nodes \
                 only by CQL through a proxy"
            );
            subject.say(&path, message, Some("remove one of them"), out);
        }
    }
}

/// Checks that the keys and values of all translations are addresses, and that no address occurs
/// twice.
fn translated(subject: &Subject<'_>, out: &mut Diagnostics) {
    let lines = subject.node.find(TRANSLATED).and_then(Node::entries);
    let mut sides: [Vec<NodePlace>; 2] = Default::default();
    for line in lines.unwrap_or_default() {
        let reached = line.value.text().unwrap_or_default();
        let both = [(&line.place, &*line.key), (&line.value.place, reached)];
        for ((place, text), earlier) in both.into_iter().zip(&mut sides) {
            let why = match text.parse::<NodePlace>() {
                Ok(one) if earlier.contains(&one) => format!("{text} is duplicated"),
                Ok(one) => {
                    earlier.push(one);
                    continue;
                }
                Err(_) if text.is_empty() => continue,
                Err(_) => format!("{text:?} is not an address"),
            };
            let hint = "map each node's address in the cluster to an address that cassay can \
                        reach, such as {10.1.0.5: '127.0.0.1:9043'}";
            out.add(
                place,
                format!("`{TRANSLATED}`: {why}"),
                Some(hint.to_owned()),
            );
        }
    }
}

/// Returns the items of a list. A node that is not a list counts as a list of one item.
fn items(node: &Node) -> &[Node] {
    match &node.raw {
        Raw::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    }
}

fn addresses(host: &Node, out: &mut Diagnostics) {
    let said = host.entry("address").map(|entry| items(&entry.value));
    for node in said.unwrap_or_default() {
        let Some(text) = node.text().filter(|text| text.parse::<IpAddr>().is_err()) else {
            continue;
        };
        let message = format!("`{HOSTS}.ssh.address`: {text:?} is not an address");
        let hint = "write the address that the node has in the cluster, without a port, such as \
                    10.0.0.7";
        out.add(&node.place, message, Some(hint.to_owned()));
    }
}

fn check_keys(subject: &Subject<'_>, path: &str, host: &Node, out: &mut Diagnostics) {
    for key in ["folder", "logs", "data"] {
        let Some(node) = host.entry(key).map(|entry| &entry.value) else {
            continue;
        };
        let Some(text) = node.text() else { continue };
        if !text.starts_with('/') || text.split('/').any(|part| part == "..") {
            let message = format!("`{path}.{key}`: {text:?} is not an absolute path");
            out.add(&node.place, message, None);
        } else if !is_own_word(subject.overrides, node) {
            let message = format!(
                "`{path}.{key}` makes cassay read a folder on one of your machines: {text}"
            );
            out.add(&node.place, message, Some(HINT.to_owned()));
        }
    }
    control(subject, path, host, out);
}

fn control(subject: &Subject<'_>, path: &str, host: &Node, out: &mut Diagnostics) {
    let Some(control) = host.entry("control").map(|entry| &entry.value) else {
        return;
    };
    for entry in control.entries().unwrap_or_default() {
        if let (key @ ("systemd" | "docker"), Some(name)) = (&*entry.key, entry.value.text())
            && !is_name(name)
        {
            let message = format!("`{path}.control.{key}`: {name:?} is not a valid name");
            let hint = format!("write letters, digits, any of @._:- and {NODE_PLACE}");
            out.add(&entry.value.place, message, Some(hint));
        } else if !words(&entry.value).all(|node| is_own_word(subject.overrides, node)) {
            let message = format!(
                "`{path}.control.{}` runs programs on the nodes' machines",
                entry.key
            );
            out.add(&entry.value.place, message, Some(HINT.to_owned()));
        }
    }
}

fn words(node: &Node) -> Box<dyn Iterator<Item = &Node> + '_> {
    match &node.raw {
        Raw::List(items) => Box::new(items.iter().flat_map(words)),
        Raw::Map(entries) => Box::new(entries.iter().flat_map(|entry| words(&entry.value))),
        Raw::Scalar { .. } | Raw::Null => Box::new(std::iter::once(node)),
    }
}

/// Returns true if programs interpret the text as a plain name and not as an option.
fn is_name(text: &str) -> bool {
    let plain = text.replace(NODE_PLACE, "x");
    plain.starts_with(|c: char| c.is_ascii_alphanumeric())
        && plain.chars().all(|c| c.is_ascii_alphanumeric() || "@._:-\\".contains(c))
}
