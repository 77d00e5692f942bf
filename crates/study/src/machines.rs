//! Reads the files in `target.local.machines`, and replaces the names of the files by the machines
//! that they list. So every rule handles only machines. Such a file may also list the machines of
//! clients, if the study does not.
//!
//! A file is trusted if its name is trusted. A file that the study names is in the folder of the
//! study. The path of a file that the command line names is relative to the current folder. cassay
//! keeps the text of the file with the run, so that the run can be resumed without the file.

use crate::inputs::Inputs;
use crate::merge::{merge, nested};
use crate::rules::harmless::is_own_word;
use crate::settings::Overrides;
use foreign::FileKind;
use yaml::{Diagnostics, Limits, Node, Raw, SourceText};

/// Path of the key for the machines of a local target.
pub const PATH: &str = "target.local.machines";

const HOSTS: &str = "target.local.hosts";

const CLIENTS: &str = "client.machines";

const MACHINES_KEY: &str = "machines";
const CLIENTS_KEY: &str = "clients";

/// Replaces the names of files by the machines in the files. If the study does not name clients,
/// adds the clients in the files. If the study does not state the number of hosts, uses the number
/// of machines. Reports wrong parts and omits them.
pub fn expand(node: &mut Node, overrides: &Overrides, inputs: &Inputs<'_>, out: &mut Diagnostics) {
    let Some(asked) = node.find(PATH).cloned() else {
        return;
    };
    let items = match &asked.raw {
        Raw::List(items) => items.clone(),
        _ => vec![asked.clone()],
    };
    let (mut machines, mut clients) = (Vec::new(), Vec::new());
    for item in items {
        let Some(name) = item.text() else {
            machines.push(item);
            continue;
        };
        if let Some(root) = read_file(name, &item, overrides, inputs, out) {
            machines.extend(list(&root, MACHINES_KEY));
            clients.extend(list(&root, CLIENTS_KEY));
        }
    }
    let count = machines.len();
    let place = asked.place.clone();
    // The list of machines keeps the place of the key's value, because trust depends on that place.
    let listed = |items: Vec<Node>| Node {
        raw: Raw::List(items),
        place: place.clone(),
    };
    merge(node, &nested(PATH, &place, listed(machines)), "");
    if node.find(CLIENTS).is_none() && !clients.is_empty() {
        merge(node, &nested(CLIENTS, &place, listed(clients)), "");
    }
    if node.find(HOSTS).is_none() && count > 0 {
        let number = Node::plain(&count.to_string(), place.clone());
        merge(node, &nested(HOSTS, &place, number), "");
    }
}

/// Returns the items of a list in a file. A single item without brackets counts as a list of one
/// item.
fn list(root: &Node, key: &str) -> Vec<Node> {
    match root.find(key).map(|node| &node.raw) {
        Some(Raw::List(items)) => items.clone(),
        Some(Raw::Scalar { .. } | Raw::Map(_)) => root.find(key).cloned().into_iter().collect(),
        Some(Raw::Null) | None => Vec::new(),
    }
}

/// Reads and parses a file. If the file has mistakes, reports them and returns `None`.
fn read_file(
    name: &str,
    item: &Node,
    overrides: &Overrides,
    inputs: &Inputs<'_>,
    out: &mut Diagnostics,
) -> Option<Node> {
    let stands_in_study = item.place.source == 0;
    let text = if stands_in_study || !is_own_word(overrides, item) {
        inputs.read_kind(FileKind::Machines, name)
    } else {
        inputs.read_own(FileKind::Machines, name)
    };
    let text = match text {
        Ok(text) => text,
        Err(why) => {
            let hint = "name a file with `machines: [{ssh: db1, folder: /data/cassay}, …]`";
            out.add(&item.place, format!("`{PATH}`: {why}"), Some(hint.into()));
            return None;
        }
    };
    parse(name, &text, out)
}

/// Parses a text. Messages refer to the text as `name`. `None` if the text is not a file of
/// machines.
fn parse(name: &str, text: &str, out: &mut Diagnostics) -> Option<Node> {
    let source = match out.sources.iter().position(|one| one.name == name && one.text == text) {
        Some(known) => known,
        None => {
            let (name, text) = (name.to_owned(), text.to_owned());
            out.sources.push(SourceText { name, text });
            out.sources.len() - 1
        }
    };
    let root = yaml::parse(source, text, Limits::STUDY, out)?;
    let is_known = |key: &str| [MACHINES_KEY, CLIENTS_KEY].contains(&key);
    let entries = root.entries().unwrap_or_default().iter();
    for other in entries.filter(|entry| !is_known(&entry.key)) {
        let message = format!("`{}` is not a key of a machines file", other.key);
        let hint = format!("use {MACHINES_KEY} or {CLIENTS_KEY}");
        out.add(&other.place, message, Some(hint));
    }
    if list(&root, MACHINES_KEY).is_empty() {
        let message = format!("{name} has no list `{MACHINES_KEY}`");
        let hint = "write `machines:` and under it `- {ssh: db1, folder: /data/cassay}`";
        out.add(&root.place, message, Some(hint.to_owned()));
        return None;
    }
    Some(root)
}
