//! Parses YAML text into a tree of nodes with their places.
//!
//! The tree is built from the parser's events. The tree of the parser itself keeps only one of two
//! equal keys, but a duplicate key is a mistake that must be shown. Scalars remain text. The code
//! that reads a scalar determines its meaning.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostics, Place};
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

/// Maximum nesting depth. All files of cassay need at most eight levels. The limit is necessary,
/// because dropping the tree is recursive.
const DEPTH_MAX: usize = 32;
/// Maximum number of nodes that aliases add. A few lines of aliases of aliases could fill any
/// amount of memory.
const ALIASED_NODES_MAX: usize = 100_000;

/// Maximum number of keys in one mapping. The limit is necessary, because the parser compares each
/// key with the keys before it, and readers compare the keys again.
const KEYS_MAX: usize = 10_000;

/// Limits on the texts that the parser accepts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Name of the kind of text in messages, such as `study`.
    pub what: &'static str,
    /// Command that writes an example of such a text, for messages. `None` if no command does so.
    pub example: Option<&'static str>,
    /// Maximum length of the text, in bytes.
    pub text_bytes_max: usize,
    /// True if anchors, aliases and `<<` are accepted. Otherwise the parser refuses a text that
    /// contains them.
    pub aliases: bool,
    /// True if a duplicate key gets its last value, as in other tools. Otherwise the parser refuses
    /// the text.
    pub last_wins: bool,
}

impl Limits {
    /// Limits of a study. The largest study with all its variants has a few kilobytes.
    pub const STUDY: Limits = Limits {
        what: "study",
        example: Some("cassay new"),
        text_bytes_max: 1 << 20,
        aliases: false,
        last_wins: false,
    };
    /// Limits of a workload file, of cassay or of another tool.
    pub const WORKLOAD: Limits = Limits {
        what: "workload file",
        example: None,
        text_bytes_max: 1 << 22,
        aliases: true,
        last_wins: false,
    };
}

/// A node of the tree, and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Content of the node.
    pub raw: Raw,
    pub place: Place,
}

/// Content of a node, as it is written in the text.
#[derive(Clone, Debug)]
pub enum Raw {
    /// A node without a value: nothing, `~`, or `null` without quotes.
    Null,
    /// A scalar, either plain or in quotes.
    Scalar {
        /// Text of the scalar, without its quotes.
        text: String,
        /// True if the scalar was quoted. A quoted scalar is text, even if it looks like another
        /// value.
        quoted: bool,
    },
    /// A sequence of nodes.
    List(Vec<Node>),
    /// A mapping, with its entries in the order of the text.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    /// Place of the key.
    pub place: Place,
    pub value: Node,
    /// Earlier place of the key, if the key occurs twice and duplicates are allowed.
    pub earlier: Option<Place>,
}

impl Node {
    /// Creates a plain scalar.
    pub fn plain(text: &str, place: Place) -> Node {
        let raw = if matches!(text, "" | "~" | "null") {
            Raw::Null
        } else {
            Raw::Scalar {
                text: text.to_owned(),
                quoted: false,
            }
        };
        Node { raw, place }
    }

    /// Returns the entries of the node, if the node is a mapping.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.raw {
            Raw::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the entry of `key`, if the node is a mapping that contains the key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// Returns the node at a dotted path. Returns `None` if the tree does not have this path.
    pub fn find(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, key| Some(&node.entry(key)?.value))
    }

    /// Returns the node at a dotted path, or the deepest existing node along the path. A message
    /// about a missing node refers to that deepest node.
    pub fn nearest(&self, path: &str) -> &Node {
        let mut node = self;
        for key in path.split('.') {
            match node.entry(key) {
                Some(entry) => node = &entry.value,
                None => break,
            }
        }
        node
    }

    /// Returns the text of the scalar. Returns `None` if the node is not a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.raw {
            Raw::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Describes the node for messages.
    pub fn describe(&self) -> String {
        match &self.raw {
            Raw::Null => "nothing".to_owned(),
            Raw::Scalar { text, .. } => format!("`{text}`"),
            Raw::List(_) => "a list".to_owned(),
            Raw::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// Parses the text of source number `source`, and adds mistakes to `diagnostics`. If the content
/// cannot be used, for example because the text is empty, adds at least one mistake and returns
/// `None`.
pub fn parse(
    source: usize,
    text: &str,
    limits: Limits,
    diagnostics: &mut Diagnostics,
) -> Option<Node> {
    let before = diagnostics.list.len();
    let root = root_of(source, text, limits, diagnostics);
    if root.is_none() && diagnostics.list.len() == before {
        let message = format!("the {} is empty", limits.what);
        let hint = limits.example.map(|command| format!("`{command}` writes one"));
        diagnostics.add(&Place { source, span: 0..0 }, message, hint);
    }
    root
}

fn root_of(
    source: usize,
    text: &str,
    limits: Limits,
    diagnostics: &mut Diagnostics,
) -> Option<Node> {
    let place = |span: std::ops::Range<usize>| Place { source, span };
    if text.len() > limits.text_bytes_max {
        let message = format!(
            "the text has {} bytes; a {} has at most {}",
            text.len(),
            limits.what,
            limits.text_bytes_max
        );
        diagnostics.add(&place(0..0), message, None);
        return None;
    }
    let mut builder = Builder::new(source, text, limits, diagnostics);
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => {
                builder.take(event, span)?;
            }
            Err(error) => {
                let at = builder.byte(error.marker().index());
                let message = format!("not valid YAML: {}", error.info());
                let hint = syntax_hint(text, at);
                builder.diagnostics.add(&place(at..at), message, hint);
                return None;
            }
        }
    }
    builder.root
}

/// Returns the most likely reason for a syntax error at byte `at`. Returns `None` if none is known.
fn syntax_hint(text: &str, at: usize) -> Option<String> {
    if text.contains('\t') {
        return Some("YAML indents with spaces; the text contains tabs".to_owned());
    }
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    // The hint is for `key: text with: a colon`, and for CQL such as `{'class': 'x'}`, which looks
    // like a quoted key.
    let colons = line.matches(": ").count();
    if colons > 1 || line.contains("': ") {
        let hint = "put a string with `: ` in quotes, or on separate lines under `|`";
        return Some(hint.to_owned());
    }
    misplaced(text, start)
}

/// Returns a message if the column in which a line begins is not that of the keys of an open
/// section.
fn misplaced(text: &str, start: usize) -> Option<String> {
    let column = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let own = column(text[start..].lines().next().filter(is_said)?);
    // Columns of the sections that contain the line, beginning with the innermost section.
    let mut open = Vec::new();
    for line in text[..start].lines().rev().filter(is_said) {
        if open.last().is_none_or(|last| column(line) < *last) {
            open.push(column(line));
        }
    }
    if open.is_empty() || open.contains(&own) {
        return None;
    }
    let columns: Vec<String> = open.iter().rev().map(usize::to_string).collect();
    Some(format!(
        "the line begins with {own} spaces, but the previous keys of this section begin with {}: \
         keys of one section must begin in the same column",
        columns.join(" or ")
    ))
}

/// Names of the tags of scalars in the core schema (YAML 1.2.2, section 10.3).
const SCALAR_TAGS: &[&str] = &["str", "int", "float", "bool", "null"];

/// Returns true for the tag `!`. It makes a scalar a string, and changes no collection (YAML 1.2.2,
/// section 6.9.1).
fn is_non_specific(tag: &Tag) -> bool {
    format!("{}{}", tag.handle, tag.suffix) == "!"
}

/// A collection whose end has not been read yet.
struct Open {
    node: Node,
    /// Key of a mapping whose value has not been read yet. `None` if the next node is a key or an
    /// item.
    key: Option<(String, Place)>,
    /// Number of the collection's anchor. 0 means no anchor.
    anchor: usize,
    /// Entries from `<<`. They are used for keys that the mapping itself does not have.
    merged: Vec<Entry>,
}

struct Builder<'a, 'd> {
    source: usize,
    text: &'a str,
    limits: Limits,
    anchors: BTreeMap<usize, Node>,
    aliased_nodes: usize,
    /// Byte offset of every character and of the end of the text. The offsets are needed because
    /// the parser counts characters.
    offsets: Vec<usize>,
    diagnostics: &'d mut Diagnostics,
    open: Vec<Open>,
    root: Option<Node>,
}

impl<'a, 'd> Builder<'a, 'd> {
    fn new(source: usize, text: &'a str, limits: Limits, diagnostics: &'d mut Diagnostics) -> Self {
        let offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        Builder {
            source,
            text,
            limits,
            anchors: BTreeMap::new(),
            aliased_nodes: 0,
            offsets: offsets.collect(),
            diagnostics,
            open: Vec::new(),
            root: None,
        }
    }

    fn byte(&self, character: usize) -> usize {
        self.offsets.get(character).copied().unwrap_or(self.text.len())
    }

    fn place(&self, span: Span) -> Place {
        let start = self.byte(span.start.index());
        let end = self.byte(span.end.index()).max(start);
        // The span of a block scalar extends into the next line, so the white space at its end is
        // removed.
        let written = self.text.get(start..end).unwrap_or("").trim_end();
        Place {
            source: self.source,
            span: start..start + written.len(),
        }
    }

    /// Processes one event of the parser. Returns `None` if parsing cannot continue.
    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let place = self.place(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_string = match tag {
                    None => style != ScalarStyle::Plain,
                    Some(tag) if is_non_specific(&tag) => true,
                    Some(tag) => match self.core_name(&tag, SCALAR_TAGS, &place) {
                        Some("str") => true,
                        Some(_) => false,
                        None => style != ScalarStyle::Plain,
                    },
                };
                let node = if !is_string {
                    Node::plain(&text, place)
                } else {
                    let raw = Raw::Scalar {
                        text: text.into_owned(),
                        quoted: true,
                    };
                    Node { raw, place }
                };
                self.name(anchor, &node);
                self.finish(node)?;
            }
            Event::SequenceStart(anchor, tag) => {
                tag.filter(|tag| !is_non_specific(tag))
                    .map(|tag| self.core_name(&tag, &["seq"], &place));
                self.begin(Raw::List(Vec::new()), place, anchor)?;
            }
            Event::MappingStart(anchor, tag) => {
                tag.filter(|tag| !is_non_specific(tag))
                    .map(|tag| self.core_name(&tag, &["map"], &place));
                self.begin(Raw::Map(Vec::new()), place, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(mut open) = self.open.pop() {
                    if let Raw::Map(entries) = &mut open.node.raw {
                        merge(entries, open.merged);
                    }
                    // The place of a collection on one line is the whole collection. The place of a
                    // longer collection is only its first line.
                    let span = open.node.place.span.start..place.span.end;
                    if !self.text.get(span.clone()).unwrap_or("\n").contains('\n') {
                        open.node.place.span = span;
                    }
                    self.name(open.anchor, &open.node);
                    self.finish(open.node)?;
                }
            }
            Event::Alias(anchor) if self.limits.aliases => {
                let node = self.aliased(anchor, &place)?;
                self.finish(node)?;
            }
            Event::Alias(_) => {
                let hint = "write all settings in full; use `variants` for settings that differ"
                    .to_owned();
                let message = "a study must not contain anchors or aliases";
                self.diagnostics.add(&place, message, Some(hint));
                self.finish(Node::plain("", place))?;
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                let message = format!(
                    "a second YAML document begins here; a {} is one document",
                    self.limits.what
                );
                self.diagnostics.add(&place, message, None);
                return None;
            }
            _ => {}
        }
        Some(())
    }

    /// Returns the name of a tag of YAML's core schema, if it is one of `names`. Otherwise reports
    /// the tag as a mistake.
    fn core_name<'n>(&mut self, tag: &Tag, names: &[&'n str], place: &Place) -> Option<&'n str> {
        let name = names.iter().find(|name| tag.is_yaml_core_schema() && tag.suffix == **name);
        if name.is_none() {
            let handle = if tag.is_yaml_core_schema() {
                "!!"
            } else {
                &tag.handle
            };
            let written = format!("{handle}{}", tag.suffix);
            let message = format!(
                "a {} cannot have the tag `{written}` here",
                self.limits.what
            );
            let hint = "cassay reads the tags !!str, !!int, !!float, !!bool and !!null of scalars, \
                        !!seq of lists and !!map of mappings";
            self.diagnostics.add(place, message, Some(hint.to_owned()));
        }
        name.copied()
    }

    /// Stores a node under the number of its anchor.
    fn name(&mut self, anchor: usize, node: &Node) {
        if anchor != 0 && self.limits.aliases {
            self.anchors.insert(anchor, node.clone());
        }
    }

    /// Returns a copy of the node of an anchor. The copy has the place of the alias. Returns `None`
    /// after a mistake.
    fn aliased(&mut self, anchor: usize, place: &Place) -> Option<Node> {
        let Some(node) = self.anchors.get(&anchor) else {
            let message = "this alias is inside the value of its own anchor";
            self.diagnostics.add(place, message, None);
            return None;
        };
        self.aliased_nodes += count(node);
        if self.aliased_nodes > ALIASED_NODES_MAX {
            let message = format!("aliases add more than {ALIASED_NODES_MAX} values");
            self.diagnostics.add(place, message, None);
            return None;
        }
        Some(Node {
            raw: node.raw.clone(),
            place: place.clone(),
        })
    }

    fn begin(&mut self, raw: Raw, place: Place, anchor: usize) -> Option<()> {
        if self.open.len() >= DEPTH_MAX {
            let message = format!("this value is nested deeper than {DEPTH_MAX} levels");
            self.diagnostics.add(&place, message, None);
            return None;
        }
        let node = Node { raw, place };
        self.open.push(Open {
            node,
            key: None,
            anchor,
            merged: Vec::new(),
        });
        Some(())
    }

    /// Adds a complete node to the innermost open collection, or makes it the root. Returns `None`
    /// if parsing cannot continue.
    fn finish(&mut self, node: Node) -> Option<()> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        let entries = match &mut open.node.raw {
            Raw::List(items) => {
                items.push(node);
                return Some(());
            }
            Raw::Map(entries) => entries,
            Raw::Null | Raw::Scalar { .. } => return Some(()),
        };
        if entries.len() + open.merged.len() >= KEYS_MAX {
            let message = format!("this mapping has more than {KEYS_MAX} keys");
            self.diagnostics.add(&open.node.place, message, None);
            return None;
        }
        let Some((key, place)) = open.key.take() else {
            let key = match &node.raw {
                Raw::Scalar { text, .. } => text.clone(),
                Raw::Null => self.text.get(node.place.span.clone()).unwrap_or("").to_owned(),
                Raw::List(_) | Raw::Map(_) => {
                    self.diagnostics.add(&node.place, "a key must be a word", None);
                    String::new()
                }
            };
            open.key = Some((key, node.place));
            return Some(());
        };
        if let Some(first) = entries.iter_mut().find(|entry| entry.key == key) {
            if self.limits.last_wins {
                first.earlier = Some(std::mem::replace(&mut first.place, place));
                first.value = node;
                return Some(());
            }
            let source = &self.text[..first.place.span.start];
            let line = source.matches('\n').count() + 1;
            let message = format!("`{key}` occurs a second time; the first is in line {line}");
            self.diagnostics.add(&place, message, None);
            return (!self.diagnostics.is_full()).then_some(());
        }
        match node.raw {
            Raw::Map(merged) if key == "<<" && self.limits.aliases => open.merged.extend(merged),
            raw => {
                let value = Node {
                    raw,
                    place: node.place,
                };
                entries.push(Entry {
                    key,
                    place,
                    value,
                    earlier: None,
                });
            }
        }
        Some(())
    }
}

/// Applies YAML's merge key. It adds the merged entries whose keys the mapping does not have.
fn merge(entries: &mut Vec<Entry>, merged: Vec<Entry>) {
    for entry in merged {
        if entries.iter().all(|known| known.key != entry.key) {
            entries.push(entry);
        }
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.raw {
        Raw::Null | Raw::Scalar { .. } => 0,
        Raw::List(items) => items.iter().map(count).sum(),
        Raw::Map(entries) => entries.iter().map(|entry| count(&entry.value)).sum(),
    }
}

#[cfg(test)]
mod tests;
