//! `target.local.machines`: files that name machines are read, and what they hold takes their
//! place. So every rule looks at machines alone, whoever wrote them, and where.
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

/// The key of a file of machines.
const KEY: &str = "machines";

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
    let mut machines = Vec::new();
    for item in items {
        match item.text() {
            Some(name) => machines.extend(of_file(name, &item, overrides, inputs, out)),
            None => machines.push(item),
        }
    }
    let count = machines.len();
    let place = asked.place.clone();
    let list = Node {
        raw: Raw::List(machines),
        place: place.clone(),
    };
    merge(node, &nested(PATH, &place, list), "");
    if node.at(HOSTS).is_none() && count > 0 {
        let number = Node::plain(&count.to_string(), place.clone());
        merge(node, &nested(HOSTS, &place, number), "");
    }
}

/// The machines of a file; none where something is wrong with it, which is said.
fn of_file(
    name: &str,
    item: &Node,
    overrides: &Overrides,
    inputs: &Inputs<'_>,
    out: &mut Diagnostics,
) -> Vec<Node> {
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
            return Vec::new();
        }
    };
    parse(name, &text, out)
}

/// The machines of a text that is called `name` in messages.
fn parse(name: &str, text: &str, out: &mut Diagnostics) -> Vec<Node> {
    let source = match out.sources.iter().position(|one| one.name == name && one.text == text) {
        Some(known) => known,
        None => {
            let (name, text) = (name.to_owned(), text.to_owned());
            out.sources.push(SourceText { name, text });
            out.sources.len() - 1
        }
    };
    let Some(root) = yaml::parse(source, text, Limits::STUDY, out) else {
        return Vec::new();
    };
    let others = root.entries().unwrap_or_default().iter().filter(|entry| entry.key != KEY);
    for other in others {
        let message = format!("`{}` is no key of a file of machines", other.key);
        out.add(&other.place, message, Some(format!("its key: {KEY}")));
    }
    match root.at(KEY).map(|node| &node.raw) {
        Some(Raw::List(items)) => items.clone(),
        _ => {
            let message = format!("{name} has no list `{KEY}`");
            let hint = "write `machines:` and below it `- {ssh: db1, folder: /data/cassay}`";
            out.add(&root.place, message, Some(hint.to_owned()));
            Vec::new()
        }
    }
}
