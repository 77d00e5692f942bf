//! `target.local.machines`: files that name machines are read, and what they hold takes their
//! place. So every rule looks at machines alone, whoever wrote them, and where. Such a file may
//! name the machines of clients, too, where the study itself does not.
//!
//! A file is the user's own word if its name is. Where a study names it, it lies beside the study;
//! where the command line does, it is found from where that was given. Its text is kept with the
//! run, so that the run can be taken up again without it.

use crate::inputs::Inputs;
use crate::merge::{merge, nested};
use crate::rules::trust::is_own_word;
use crate::settings::Overrides;
use yaml::{Diagnostics, Limits, Node, Raw, SourceText};

/// Where they stand.
pub const PATH: &str = "target.local.machines";

/// How many hosts there are.
const HOSTS: &str = "target.local.hosts";

/// Where those of clients stand.
const CLIENTS: &str = "client.machines";

/// The keys of a file of machines.
const MACHINES_KEY: &str = "machines";
const CLIENTS_KEY: &str = "clients";

/// Puts the machines of files in the place of their names, and as many hosts where nothing is said
/// of their number. What is wrong is said, and left out.
pub fn expand(node: &mut Node, overrides: &Overrides, inputs: &Inputs<'_>, out: &mut Diagnostics) {
    let Some(asked) = node.at(PATH).cloned() else {
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
        if let Some(root) = of_file(name, &item, overrides, inputs, out) {
            machines.extend(list(&root, MACHINES_KEY));
            clients.extend(list(&root, CLIENTS_KEY));
        }
    }
    let count = machines.len();
    let place = asked.place.clone();
    // In the place of the name: who is believed for that is for what the file holds.
    let listed = |items: Vec<Node>| Node {
        raw: Raw::List(items),
        place: place.clone(),
    };
    merge(node, &nested(PATH, &place, listed(machines)), "");
    if node.at(CLIENTS).is_none() && !clients.is_empty() {
        merge(node, &nested(CLIENTS, &place, listed(clients)), "");
    }
    if node.at(HOSTS).is_none() && count > 0 {
        let number = Node::plain(&count.to_string(), place.clone());
        merge(node, &nested(HOSTS, &place, number), "");
    }
}

/// The items of a list of a file; one without brackets is a list of one.
fn list(root: &Node, key: &str) -> Vec<Node> {
    match root.at(key).map(|node| &node.raw) {
        Some(Raw::List(items)) => items.clone(),
        Some(Raw::Scalar { .. } | Raw::Map(_)) => root.at(key).cloned().into_iter().collect(),
        Some(Raw::Null) | None => Vec::new(),
    }
}

/// What a file holds; none where something is wrong with it, which is said.
fn of_file(
    name: &str,
    item: &Node,
    overrides: &Overrides,
    inputs: &Inputs<'_>,
    out: &mut Diagnostics,
) -> Option<Node> {
    let stands_in_study = item.place.source == 0;
    let text = if stands_in_study || !is_own_word(overrides, item) {
        inputs.read(name)
    } else {
        inputs.read_own(name)
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

/// The tree of a text that is called `name` in messages, if it is a file of machines.
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
        let message = format!("`{}` is no key of a file of machines", other.key);
        let hint = format!("its keys: {MACHINES_KEY}, {CLIENTS_KEY}");
        out.add(&other.place, message, Some(hint));
    }
    if list(&root, MACHINES_KEY).is_empty() {
        let message = format!("{name} has no list `{MACHINES_KEY}`");
        let hint = "write `machines:` and below it `- {ssh: db1, folder: /data/cassay}`";
        out.add(&root.place, message, Some(hint.to_owned()));
        return None;
    }
    Some(root)
}
