//! YAML text → a tree of nodes that know where they stand.
//!
//! Built from the parser's events rather than its ready-made tree, since the tree keeps only one of
//! two equal keys, and a study with a key twice is a mistake to be shown. Scalars stay text: what a
//! scalar means is decided by the table in [`crate::format`], not by its looks.

use crate::diagnostic::{Diagnostics, Place};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// Deeper nesting than this is refused: no study needs more than eight, and drops recurse.
const DEPTH_MAX: usize = 32;

/// A longer text is refused: the largest study with all its variants is a few kilobytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// A node and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub raw: Raw,
    /// Where it stands.
    pub place: Place,
}

/// What was written.
#[derive(Clone, Debug)]
pub enum Raw {
    /// Nothing, or `~`, or `null` without quotes.
    Null,
    /// A scalar; plain or in quotes.
    Scalar {
        /// The text without quotes.
        text: String,
        /// Whether it stood in quotes, and so is text whatever it looks like.
        quoted: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the text.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Place,
    /// The value.
    pub value: Node,
}

impl Node {
    /// A plain scalar.
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

    /// The entries, if it is a mapping.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.raw {
            Raw::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of `key`, if it is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// The node at a dotted path.
    pub fn at(&self, path: &str) -> Option<&Node> {
        path.split('.')
            .try_fold(self, |node, key| Some(&node.entry(key)?.value))
    }

    /// The node at a dotted path, or the deepest one on the way to it: where to point when
    /// something is missing.
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

    /// The scalar's text.
    pub fn text(&self) -> Option<&str> {
        match &self.raw {
            Raw::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What it is, in words, for messages.
    pub fn describe(&self) -> String {
        match &self.raw {
            Raw::Null => "nothing".to_owned(),
            Raw::Scalar { text, .. } => format!("`{text}`"),
            Raw::List(_) => "a list".to_owned(),
            Raw::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// Parses the text of source `source`; mistakes go to `diagnostics`. None if nothing can be said
/// about its contents.
pub fn parse(source: usize, text: &str, diagnostics: &mut Diagnostics) -> Option<Node> {
    let place = |span: std::ops::Range<usize>| Place { source, span };
    if text.len() > TEXT_BYTES_MAX {
        let message = format!(
            "the text has {} bytes; a study has at most {TEXT_BYTES_MAX}",
            text.len()
        );
        diagnostics.add(&place(0..0), message, None);
        return None;
    }
    let mut builder = Builder::new(source, text, diagnostics);
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => {
                builder.take(event, span)?;
            }
            Err(error) => {
                let at = builder.byte(error.marker().index());
                let message = format!("not valid YAML: {}", error.info());
                let hint = syntax_hint(text);
                builder.diagnostics.add(&place(at..at), message, hint);
                return None;
            }
        }
    }
    builder.root
}

fn syntax_hint(text: &str) -> Option<String> {
    text.contains('\t')
        .then(|| "YAML indents with spaces; the text contains tabs".to_owned())
}

/// A collection whose end has not come yet.
struct Open {
    node: Node,
    /// Key that waits for its value, in a mapping.
    key: Option<(String, Place)>,
}

struct Builder<'a, 'd> {
    source: usize,
    text: &'a str,
    /// Byte offset of every character, and of the end: the parser counts characters.
    offsets: Vec<usize>,
    diagnostics: &'d mut Diagnostics,
    open: Vec<Open>,
    root: Option<Node>,
}

impl<'a, 'd> Builder<'a, 'd> {
    fn new(source: usize, text: &'a str, diagnostics: &'d mut Diagnostics) -> Self {
        let offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        Builder {
            source,
            text,
            offsets: offsets.collect(),
            diagnostics,
            open: Vec::new(),
            root: None,
        }
    }

    fn byte(&self, character: usize) -> usize {
        self.offsets
            .get(character)
            .copied()
            .unwrap_or(self.text.len())
    }

    fn place(&self, span: Span) -> Place {
        let start = self.byte(span.start.index());
        let end = self.byte(span.end.index()).max(start);
        // A block scalar's span runs into the next line: point at what can be underlined.
        let written = self.text.get(start..end).unwrap_or("").trim_end();
        Place {
            source: self.source,
            span: start..start + written.len(),
        }
    }

    /// Takes one event; none if the text cannot be read on.
    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let place = self.place(span);
        match event {
            Event::Scalar(text, style, _, _) => {
                let node = if style == ScalarStyle::Plain {
                    Node::plain(&text, place)
                } else {
                    let raw = Raw::Scalar {
                        text: text.into_owned(),
                        quoted: true,
                    };
                    Node { raw, place }
                };
                self.finish(node);
            }
            Event::SequenceStart(..) => self.begin(Raw::List(Vec::new()), place)?,
            Event::MappingStart(..) => self.begin(Raw::Map(Vec::new()), place)?,
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(mut open) = self.open.pop() {
                    // A collection on one line is shown whole, a longer one by its begin.
                    let span = open.node.place.span.start..place.span.end;
                    if !self.text.get(span.clone()).unwrap_or("\n").contains('\n') {
                        open.node.place.span = span;
                    }
                    self.finish(open.node);
                }
            }
            Event::Alias(_) => {
                let hint = "write the settings out; `variants` says what differs".to_owned();
                let message = "anchors and aliases are not part of a study";
                self.diagnostics.add(&place, message, Some(hint));
                self.finish(Node::plain("", place));
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                let message = "a second YAML document begins here; a study is one document";
                self.diagnostics.add(&place, message, None);
                return None;
            }
            _ => {}
        }
        Some(())
    }

    fn begin(&mut self, raw: Raw, place: Place) -> Option<()> {
        if self.open.len() >= DEPTH_MAX {
            let message = format!("nested deeper than {DEPTH_MAX} levels");
            self.diagnostics.add(&place, message, None);
            return None;
        }
        let node = Node { raw, place };
        self.open.push(Open { node, key: None });
        Some(())
    }

    /// A node is complete: it is the root, a list's item, a mapping's key or a key's value.
    fn finish(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let entries = match &mut open.node.raw {
            Raw::List(items) => return items.push(node),
            Raw::Map(entries) => entries,
            Raw::Null | Raw::Scalar { .. } => return,
        };
        let Some((key, place)) = open.key.take() else {
            let key = match &node.raw {
                Raw::Scalar { text, .. } => text.clone(),
                Raw::Null => self
                    .text
                    .get(node.place.span.clone())
                    .unwrap_or("")
                    .to_owned(),
                Raw::List(_) | Raw::Map(_) => {
                    self.diagnostics
                        .add(&node.place, "a key must be a word", None);
                    String::new()
                }
            };
            open.key = Some((key, node.place));
            return;
        };
        if let Some(first) = entries.iter().find(|entry| entry.key == key) {
            let source = &self.text[..first.place.span.start];
            let line = source.matches('\n').count() + 1;
            let message = format!("`{key}` stands here a second time; the first is in line {line}");
            self.diagnostics.add(&place, message, None);
            return;
        }
        entries.push(Entry {
            key,
            place,
            value: node,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Source;
    use proptest::prelude::*;

    fn parse_text(text: &str) -> (Option<Node>, Diagnostics) {
        let source = Source {
            name: "s.yaml".into(),
            text: text.into(),
        };
        let mut diagnostics = Diagnostics::new(vec![source]);
        let node = parse(0, text, &mut diagnostics);
        (node, diagnostics)
    }

    #[test]
    fn places_are_byte_ranges_even_after_wide_characters() {
        let text = "µ: {a: ö, b: xyz}\n";
        let (node, diagnostics) = parse_text(text);
        assert!(diagnostics.is_empty());
        let node = node.unwrap();
        let place = &node.at("µ.b").unwrap().place;
        assert_eq!(&text[place.span.clone()], "xyz");
    }

    #[test]
    fn null_is_a_key_like_any_other() {
        let (node, _) = parse_text("target: {null: {}}");
        assert!(node.unwrap().at("target.null").is_some());
    }

    #[test]
    fn a_key_that_stands_twice_is_said_with_the_line_of_the_first() {
        let (_, diagnostics) = parse_text("a: 1\nb: 2\na: 3\n");
        assert_eq!(
            diagnostics.to_string(),
            "s.yaml:3:1: `a` stands here a second time; the first is in line 1\n"
        );
    }

    #[test]
    fn deep_nesting_and_second_documents_are_refused() {
        let deep = "[".repeat(DEPTH_MAX + 1);
        for text in [
            deep.as_str(),
            "a: 1\n---\nb: 2\n",
            "a: &x 1\nb: *x\n",
            "? [a]\n: 1\n",
        ] {
            assert!(!parse_text(text).1.is_empty(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = parse_text(&text);
        }

        #[test]
        fn no_yaml_characters_make_it_panic(text in "[-a:{}\\[\\],?&*!|>'\"#%\n\t~]{0,60}") {
            let _ = parse_text(&text);
        }
    }
}
