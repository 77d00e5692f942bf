//! Options of a statement in a workload file, in addition to its text.

use super::File;
use super::expr;
use super::sections::{NamedStatement, Options};
use super::statement::{Read, Verb};
use crate::program::BatchKind;
use crate::schema::Table;
use cql::Consistency;
use cql::value::CqlType;
use yaml::Node;

impl<'a> File<'a, '_> {
    pub(super) fn options(&mut self, node: &'a Node) -> Options {
        let mut options = Options {
            is_write: self.one_of(node, "kind", &[("read", false), ("write", true)]),
            consistency: self.level(node, "consistency", false),
            serial: self.level(node, "serial_consistency", true),
            page_size: self.whole(node, "page_size").map(|size| size as i32),
            pages_max: self.whole(node, "pages_max"),
            idempotent: self.one_of(node, "idempotent", &[("true", true), ("false", false)]),
            client_timestamp: self
                .one_of(node, "timestamps", &[("client", true), ("server", false)])
                .unwrap_or(false),
            adds_rows: self
                .one_of(node, "rows", &[("new", true), ("loaded", false)])
                .unwrap_or(false),
            ..Options::default()
        };
        if let Some(batch) = node.find("batch") {
            self.batch(batch, &mut options);
        }
        options
    }

    fn batch(&mut self, node: &'a Node, options: &mut Options) {
        self.check_keys(node, &["kind", "size", "partition"], "batch");
        let kind = self.one_of(node, "kind", &BatchKind::NAMES);
        options.batch = Some(kind.unwrap_or(BatchKind::Logged));
        options.same_partition = self
            .one_of(node, "partition", &[("same", true), ("each", false)])
            .unwrap_or(false);
        if let Some(size) = node.find("size")
            && let Some(text) = self.text_of(size, "size")
        {
            let place = self.inside(size);
            match expr::parse(text) {
                Ok(expr) => options.size = Some((expr, place)),
                Err(wrong) => self.wrong(&place, wrong),
            }
        }
    }

    /// Returns one of a few permitted words. Returns `None` if the key is absent. For any other
    /// word, reports a mistake and returns `None`.
    fn one_of<T: Copy>(&mut self, node: &'a Node, key: &str, known: &[(&str, T)]) -> Option<T> {
        let found = node.find(key)?;
        let text = self.text_of(found, key)?;
        let chosen = known.iter().find(|(word, _)| *word == text);
        if chosen.is_none() {
            let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
            let message = format!("{key} is `{text}`; it can be {}", words.join(" or "));
            let hint = yaml::did_you_mean(text, words);
            self.out.add(&found.place, message, hint);
        }
        chosen.map(|(_, value)| *value)
    }

    fn level(&mut self, node: &'a Node, key: &str, is_serial: bool) -> Option<Consistency> {
        let found = node.find(key)?;
        let text = self.text_of(found, key)?;
        match text.parse::<Consistency>() {
            Ok(level) if !is_serial || level.is_serial() => return Some(level),
            Ok(level) => {
                let message = format!("{key} is {level}; it can be SERIAL or LOCAL_SERIAL");
                self.say(&found.place, message);
            }
            Err(wrong) => self.say(&found.place, wrong.to_string()),
        }
        None
    }

    /// Returns a whole number from 1 up to the maximum of an int in the CQL protocol. Returns
    /// `None` if the key is absent, or after a mistake.
    fn whole(&mut self, node: &'a Node, key: &str) -> Option<u32> {
        let found = node.find(key)?;
        let text = self.text_of(found, key)?;
        let number = text.parse().ok();
        let number = number.filter(|number| (1..=i32::MAX as u32).contains(number));
        if number.is_none() {
            let message = format!("{key} is `{text}`; it must be 1 to {}", i32::MAX);
            self.say(&found.place, message);
        }
        number
    }

    pub(super) fn check_statement(&mut self, named: &NamedStatement, tables: &[Table]) {
        let (options, name) = (&named.options, &named.name);
        let reads = named.parts.iter().any(|part| part.verb == Verb::Select);
        let is_batch = named.parts.len() > 1 || options.batch.is_some();
        let kind = options.batch.unwrap_or(BatchKind::Logged);
        let is_counter = |part: &Read| {
            let mut columns = tables[part.table].columns.iter();
            columns.any(|column| column.typ == CqlType::Counter)
        };
        let counters = named.parts.iter().filter(|part| is_counter(part)).count();
        let wrong = if reads && is_batch {
            "a batch cannot contain a SELECT: use separate statements"
        } else if is_batch && counters > 0 && counters < named.parts.len() {
            "counters and other values cannot be in one batch: use separate batches"
        } else if is_batch && counters > 0 && kind == BatchKind::Logged {
            "counters cannot be in a logged batch: write `batch: {kind: counter}`"
        } else if is_batch && counters == 0 && kind == BatchKind::Counter {
            "a counter batch may contain only counters: omit `kind: counter`, or the other values"
        } else if reads && options.adds_rows {
            "`rows: new` is not possible for a read, which adds no rows"
        } else if !reads && (options.page_size.is_some() || options.pages_max.is_some()) {
            "only a SELECT has pages: remove page_size and pages_max"
        } else if options.pages_max.is_some() && options.page_size.is_none() {
            "pages_max needs a page_size"
        } else if options.adds_rows && options.size.is_some() {
            "an operation with `rows: new` adds exactly one row, so its batch cannot have a size: \
             omit the size, or `rows: new`"
        } else {
            return;
        };
        self.say(&named.place, format!("{name}: {wrong}"));
    }
}
