//! Reads the blocks and operations of a workload file, in all forms of nb4 and nb5. Converts them
//! to one form.

use super::inline;
use super::params::{self, On};
use yaml::{Diagnostics, Entry, Node, Place, Raw};

/// An operation, combined with the settings of its block and of the file.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) name: String,
    pub(crate) tags: Vec<(String, String)>,
    /// Parameters of the operation. The parameters of inner levels come before those of outer
    /// levels.
    pub(crate) params: Vec<Entry>,
    /// Bindings of the operation. The bindings of inner levels come before those of outer levels.
    pub(crate) bindings: Vec<Entry>,
    pub(crate) cql: Node,
    /// The key of the statement's text, such as `raw`. It is empty if the operation consists only
    /// of the text.
    pub(crate) shape: String,
    /// Number of statements of a batch, as written in the file.
    pub(crate) repeat: Option<Node>,
    /// Settings of the statements in a batch. They have no effect, because only the settings of the
    /// batch itself have an effect.
    pub(crate) inner: Vec<Entry>,
    /// Reason why the operation cannot run. The reason is a mistake only in a run that selects this
    /// operation.
    pub(crate) unreadable: Option<(Place, String)>,
}

impl Op {
    pub(super) fn from_text(name: &str, node: &Node) -> Op {
        Op {
            name: name.to_owned(),
            tags: Vec::new(),
            params: Vec::new(),
            bindings: Vec::new(),
            cql: node.clone(),
            shape: String::new(),
            repeat: None,
            inner: Vec::new(),
            unreadable: None,
        }
    }
}

const OPS: [&str; 7] = [
    "ops",
    "op",
    "operations",
    "operation",
    "statements",
    "statement",
    "stmts",
];
const SHAPES: [&str; 7] = [
    "prepared",
    "simple",
    "raw",
    "stmt",
    "statement",
    "op",
    "cql",
];

pub(crate) fn operations(root: &Node, out: &mut Diagnostics) -> Vec<Op> {
    check_bindings(root, out);
    let mut ops = Vec::new();
    let level = BlockLevel::default().within(root);
    match root.entry("blocks").map(|entry| &entry.value.raw) {
        None => {}
        Some(Raw::Map(blocks)) => {
            for block in blocks {
                let level = level.within(&block.value).name_block(&block.key);
                collect(&block.value, &level, &mut ops);
            }
        }
        Some(Raw::List(blocks)) => {
            for (number, block) in blocks.iter().enumerate() {
                let name = block
                    .find("name")
                    .and_then(Node::text)
                    .map(str::to_owned)
                    .unwrap_or_else(|| format!("block{number}"));
                collect(block, &level.within(block).name_block(&name), &mut ops);
            }
        }
        Some(_) => out.add(
            &root.nearest("blocks").place,
            "blocks must be a map or a list",
            None,
        ),
    }
    collect(root, &level, &mut ops);
    ops
}

/// Reports bindings that are not a map. NoSQLBench stops with an error at such bindings.
fn check_bindings(node: &Node, out: &mut Diagnostics) {
    if let Raw::List(items) = &node.raw {
        items.iter().for_each(|item| check_bindings(item, out));
    }
    for entry in node.entries().unwrap_or(&[]) {
        let is_map = matches!(entry.value.raw, Raw::Map(_) | Raw::Null);
        match entry.key.as_str() {
            "scenarios" => {}
            "bindings" if is_map => {}
            "bindings" => {
                let message = format!("bindings must be a map, not {}", entry.value.describe());
                let hint = "write a line `name: Recipe()` for each binding, without a dash";
                out.add(&entry.value.place, message, Some(hint.to_owned()));
            }
            _ => check_bindings(&entry.value, out),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct BlockLevel {
    tags: Vec<(String, String)>,
    params: Vec<Entry>,
    bindings: Vec<Entry>,
}

impl BlockLevel {
    fn within(&self, node: &Node) -> BlockLevel {
        let entries = |key| node.entry(key).and_then(|e| e.value.entries()).unwrap_or(&[]);
        let mut tags: Vec<(String, String)> = entries("tags")
            .iter()
            .map(|tag| (tag.key.clone(), tag.value.text().unwrap_or("").to_owned()))
            .collect();
        tags.extend(self.tags.iter().cloned());
        let joined = |key, outer: &[Entry]| [entries(key), outer].concat();
        BlockLevel {
            tags,
            params: joined("params", &self.params),
            bindings: joined("bindings", &self.bindings),
        }
    }

    fn name_block(mut self, block: &str) -> BlockLevel {
        self.tags.push(("block".to_owned(), block.to_owned()));
        self
    }
}

fn collect(node: &Node, level: &BlockLevel, ops: &mut Vec<Op>) {
    for list in OPS.iter().filter_map(|key| node.entry(key)) {
        match &list.value.raw {
            Raw::Map(entries) => {
                for entry in entries {
                    operation(&entry.key, &entry.value, level, ops);
                }
            }
            Raw::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    listed(number, item, level, ops);
                }
            }
            Raw::Scalar { .. } => operation("stmt1", &list.value, level, ops),
            Raw::Null => {}
        }
    }
}

/// Reads an operation in a list. It is a text, or a map whose first entry has the name and the text
/// of the operation.
fn listed(number: usize, item: &Node, level: &BlockLevel, ops: &mut Vec<Op>) {
    match item.entries() {
        None => operation(&format!("stmt{}", number + 1), item, level, ops),
        Some(entries) => {
            let named = item.find("name").and_then(Node::text);
            match (named, entries.first()) {
                (None, Some(first)) if !SHAPES.contains(&first.key.as_str()) => {
                    let level = statement_level(item, level);
                    operation(&first.key, &first.value, &level, ops);
                }
                _ => operation(named.unwrap_or("stmt"), item, level, ops),
            }
        }
    }
}

/// Returns the level of a statement whose parameters are in the same map as its text.
fn statement_level(item: &Node, level: &BlockLevel) -> BlockLevel {
    let mut level = level.within(item);
    let aside = ["tags", "params", "bindings", "name"];
    let others = item.entries().unwrap_or(&[]).iter().skip(1);
    let params = others.filter(|entry| !aside.contains(&entry.key.as_str()));
    level.params.splice(0..0, params.cloned().collect::<Vec<_>>());
    level
}

fn operation(name: &str, node: &Node, level: &BlockLevel, ops: &mut Vec<Op>) {
    let mut op = Op {
        tags: level.tags.clone(),
        params: level.params.clone(),
        bindings: level.bindings.clone(),
        ..Op::from_text(name, node)
    };
    let own = ["name", "op"].map(|tag| (tag.to_owned(), name.to_owned()));
    op.tags.splice(0..0, own.clone());
    if let Some(entries) = node.entries() {
        let inner = level.within(node);
        op.tags = [own.to_vec(), inner.tags].concat();
        (op.params, op.bindings) = (inner.params, inner.bindings);
        op.repeat = node.find("repeat").cloned();
        let body = node.find("op_template").or_else(|| node.find("op")).unwrap_or(node);
        let text = SHAPES
            .iter()
            .find_map(|shape| body.entry(shape))
            .filter(|e| e.value.text().is_some());
        let Some(text) = text else {
            // The file may contain a parameter such as `verify-fields: …` where an operation is
            // expected.
            let message = format!(
                "operation {name} has none of the keys {}",
                SHAPES.join(", ")
            );
            op.unreadable = Some((node.place.clone(), message));
            return ops.push(op);
        };
        op.shape.clone_from(&text.key);
        let has_map = node.find("op").is_some_and(|op| op.entries().is_some());
        let aside = |e: &&Entry| {
            !["tags", "params", "bindings", "op_template", "name"].contains(&e.key.as_str())
                && e.key != text.key
                && !(has_map && e.key == "op")
        };
        let mut own: Vec<Entry> = entries.iter().filter(aside).cloned().collect();
        let body_entries = body.entries().unwrap_or(&[]).iter();
        if node.find("op_template").is_some() {
            op.inner = body_entries.filter(aside).cloned().collect();
        } else if has_map {
            own.extend(body_entries.filter(aside).cloned());
        }
        op.params.splice(0..0, own);
        op.cql = text.value.clone();
    }
    if op.cql.text().is_none() {
        let message = format!("operation {name} must be CQL, not {}", op.cql.describe());
        op.unreadable = Some((op.cql.place.clone(), message));
    } else if let Err(message) = inline::name_recipes(&mut op) {
        op.unreadable = Some((op.cql.place.clone(), message));
    }
    ops.push(op);
}

impl Op {
    /// Returns a parameter of the operation. If the operation lacks the parameter, returns that of
    /// the block or the file.
    pub(crate) fn param(&self, key: &str) -> Option<&Node> {
        // If code reads a parameter that is not in a list, cassay would also report the parameter
        // as unused.
        debug_assert!(
            params::acting(On::Operation).any(|known| known == key),
            "{key}"
        );
        self.params.iter().find(|e| e.key == key).map(|e| &e.value)
    }
}
