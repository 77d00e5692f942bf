//! Rules for machines that serve as local hosts. They check the addresses of the machines, the
//! folder that cassay uses on them, and limits that only simulated hosts have.

use super::destination;
use super::harmless::is_own_word;
use super::rule_input::Subject;
use crate::machines::PATH;
use crate::units::parse_count;
use measure::number::counted;
use std::path::Path;
use yaml::{Diagnostics, Node, Raw};

pub(super) fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(node) = subject.node.find(PATH) else {
        return;
    };
    let Raw::List(items) = &node.raw else {
        return;
    };
    // If the user trusts the file, the machines in the file are trusted too.
    let is_named = is_own_word(subject.overrides, node);
    for item in items {
        let is_trusted = is_named && is_own_word(subject.overrides, item);
        if let Some((node, _)) = value(item, "ssh") {
            let path = format!("{PATH}.ssh");
            destination::check(is_trusted, (&path, node), "starts nodes there", out);
        }
        folder(item, out);
        address(item, out);
    }
    once_each(items, out);
    count(subject, node, items.len(), out);
    shares(subject, out);
    let isolation = "target.local.isolation";
    if subject.text(isolation) == Some("loopback") {
        let message = format!("`{isolation}: loopback` only applies to nodes on this machine");
        let hint = format!("remove this key, or `{PATH}`: machines are already isolated");
        subject.say(isolation, message, Some(&hint), out);
    }
    for (path, why) in [
        (
            "target.local.host.link",
            "applies only to simulated hosts, not to machines",
        ),
        (
            "target.local.address",
            "only applies to loopback addresses, but machines have their own addresses",
        ),
    ] {
        if subject.wrote(path) {
            let hint = format!("remove it, or `{PATH}`");
            subject.say(path, format!("`{path}` {why}"), Some(&hint), out);
        }
    }
}

/// Returns the number of nodes on each machine of a study. The number is `None` for a machine that
/// does not state a number. Returns no list if a stated value is not a number, because the check of
/// the value's type reports this.
pub(super) fn nodes(study: &Node) -> Option<Vec<Option<u64>>> {
    let Some(Raw::List(items)) = study.find(PATH).map(|node| &node.raw) else {
        return Some(Vec::new());
    };
    let stated = |item: &Node| match value(item, "nodes").map(|(_, text)| parse_count(text)) {
        None => Some(None),
        Some(Ok(number)) => Some(Some(number)),
        Some(Err(_)) => None,
    };
    items.iter().map(stated).collect()
}

/// Reports `nodes_per_host` if every machine states its own number of nodes.
fn shares(subject: &Subject<'_>, out: &mut Diagnostics) {
    const EACH: &str = "target.local.nodes_per_host";
    let Some(all) = nodes(subject.node) else {
        return;
    };
    let hosts = subject.count("target.local.hosts").unwrap_or(all.len() as u64);
    let used: Vec<_> = all.into_iter().take(usize::try_from(hosts).unwrap_or(usize::MAX)).collect();
    if subject.wrote(EACH) && !used.is_empty() && used.iter().all(Option::is_some) {
        let message =
            format!("`{EACH}` applies to machines without `nodes`, but all machines have `nodes`");
        let hint = format!("remove `{EACH}`, or the `nodes` of `{PATH}`");
        subject.say(EACH, message, Some(&hint), out);
    }
}

fn value<'a>(item: &'a Node, key: &str) -> Option<(&'a Node, &'a str)> {
    let node = &item.entry(key)?.value;
    Some((node, node.text()?))
}

/// Checks that the path of a folder is acceptable to a JVM, and that it is a single word in a
/// shell.
fn folder(item: &Node, out: &mut Diagnostics) {
    let Some((node, text)) = value(item, "folder") else {
        return;
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let is_down = !Path::new(text).components().any(|part| part.as_os_str() == "..");
    if !text.starts_with('/') || text.len() < 2 || !text.chars().all(is_plain) || !is_down {
        let message = format!("`{PATH}.folder`: {text:?} is not a valid folder");
        let hint = "write an absolute path, such as /data/cassay, of letters, digits, `-`, `_` \
                    and `.`";
        out.add(&node.place, message, Some(hint.to_owned()));
    }
}

fn address(item: &Node, out: &mut Diagnostics) {
    let Some((node, text)) = value(item, "address") else {
        return;
    };
    let address = text.parse::<std::net::Ipv4Addr>();
    if address.is_err() {
        let message = format!("`{PATH}.address`: {text:?} is not an IPv4 address");
        let hint = "write the address at which all machines reach it, such as 10.0.0.7";
        out.add(&node.place, message, Some(hint.to_owned()));
    }
}

/// Reports a machine that is listed twice, because two hosts on one machine would share its memory
/// and its disk.
fn once_each(items: &[Node], out: &mut Diagnostics) {
    let mut seen: Vec<&str> = Vec::new();
    for (node, text) in items.iter().filter_map(|item| value(item, "ssh")) {
        if seen.contains(&text) {
            let message = format!("`{PATH}.ssh`: {text} is duplicated");
            let hint = "name each machine once; `nodes_per_host: 2` puts two nodes on each machine";
            out.add(&node.place, message, Some(hint.to_owned()));
        }
        seen.push(text);
    }
}

fn count(subject: &Subject<'_>, node: &Node, machines: usize, out: &mut Diagnostics) {
    const HOSTS: &str = "target.local.hosts";
    let Some(hosts) = subject.count(HOSTS) else {
        return;
    };
    if hosts > machines as u64 {
        let message = format!(
            "`{HOSTS}` is {hosts}, but `{PATH}` names {}",
            counted(machines, "machine")
        );
        let hint = "name more machines, or lower `target.local.hosts`";
        out.add(&node.place, message, Some(hint.to_owned()));
    }
}
