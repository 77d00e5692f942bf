//! Reads properties as YCSB does. Java's `.properties` files come first, in the order of the
//! command line, and then `-p name=value`. Each property has its position for messages.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use yaml::{Diagnostics, Place, SourceText, did_you_mean, java_properties};

#[derive(Clone, Debug)]
struct Property {
    value: String,
    place: Place,
}

/// All properties. If a property is stated several times, only its last value is kept.
#[derive(Debug)]
pub(super) struct Properties {
    all: BTreeMap<String, Property>,
    pub(super) out: Diagnostics,
}

impl Properties {
    /// Creates an empty set of properties. Mistakes refer to the command line `command` as source
    /// 0.
    pub(super) fn new(command: String) -> Properties {
        let source = SourceText {
            name: "command line".to_owned(),
            text: command,
        };
        Properties {
            all: BTreeMap::new(),
            out: Diagnostics::new(vec![source]),
        }
    }

    /// Adds the properties of a file. They replace earlier values of the same properties.
    pub(super) fn file(&mut self, name: &str, text: &str) {
        let source = self.out.sources.len();
        self.out.sources.push(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        for entry in java_properties(text) {
            let place = Place {
                source,
                span: entry.span,
            };
            let value = entry.value;
            self.all.insert(entry.key, Property { value, place });
        }
    }

    pub(super) fn set(&mut self, key: &str, value: &str, span: Range<usize>) {
        let place = Place { source: 0, span };
        let value = value.to_owned();
        self.all.insert(key.to_owned(), Property { value, place });
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.all.get(key).map(|property| property.value.as_str())
    }

    /// Returns the names of properties with this ending, in alphabetical order.
    pub(super) fn names_with(&self, end: &str) -> Vec<String> {
        let names = self.all.keys().filter(|name| name.ends_with(end));
        names.cloned().collect()
    }

    pub(super) fn wrong(&mut self, key: &str, message: String, hint: Option<String>) {
        let place = self.all.get(key).map(|property| property.place.clone());
        self.out.add(&place.unwrap_or_default(), message, hint);
    }

    /// Records a mistake in a file that a property names.
    pub(super) fn wrong_in(&mut self, name: &str, text: &str, span: Range<usize>, message: String) {
        let source = self.out.sources.len();
        self.out.sources.push(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        self.out.add(&Place { source, span }, message, None);
    }

    /// Records a mistake like [`Properties::wrong`], for a value that messages must not show.
    pub(super) fn wrong_secret(&mut self, key: &str, message: String) {
        let place = self.all.get(key).map(|property| property.place.clone());
        self.out.add_secret(&place.unwrap_or_default(), message, None);
    }

    /// Returns the value of a property that is a whole number within limits. If the property is
    /// absent or invalid, returns the default.
    pub(super) fn count(&mut self, key: &str, default: u64, limits: RangeInclusive<u64>) -> u64 {
        let Some(text) = self.text(key).map(str::to_owned) else {
            return default;
        };
        match text.parse::<u64>() {
            Ok(count) if limits.contains(&count) => count,
            _ => {
                let (least, most) = limits.into_inner();
                let message =
                    format!("{key} is `{text}`; it must be a whole number from {least} to {most}");
                self.wrong(key, message, None);
                default
            }
        }
    }

    /// Returns the value of a property that is a number within limits. If the property is absent or
    /// invalid, returns the default.
    pub(super) fn number(&mut self, key: &str, default: f64, limits: RangeInclusive<f64>) -> f64 {
        let Some(text) = self.text(key).map(str::to_owned) else {
            return default;
        };
        match text.parse::<f64>() {
            Ok(number) if limits.contains(&number) => number,
            _ => {
                let (least, most) = limits.into_inner();
                let message =
                    format!("{key} is `{text}`; it must be a number from {least} to {most}");
                self.wrong(key, message, None);
                default
            }
        }
    }

    /// Returns true if the value of a property is `true`. As in Java, any other text counts as
    /// false.
    pub(super) fn flag(&self, key: &str, default: bool) -> bool {
        self.text(key).map_or(default, |text| text.eq_ignore_ascii_case("true"))
    }

    /// Returns the value of a property, which must be one of `words`. The first of these words is
    /// the default.
    pub(super) fn word(&mut self, key: &str, words: &[&'static str]) -> &'static str {
        let Some(text) = self.text(key).map(str::to_owned) else {
            return words[0];
        };
        match words.iter().find(|word| **word == text) {
            Some(word) => word,
            None => {
                let message = format!("{key} is `{text}`; it must be one of {}", words.join(", "));
                self.wrong(key, message, did_you_mean(&text, words.iter().copied()));
                words[0]
            }
        }
    }

    /// Returns the names that are not `known`, which the caller mentions in a note. Reports an
    /// error instead if such a name is probably a misspelling of a `known` name, because YCSB
    /// ignores such names silently. Names in `others`, such as properties of YCSB's forks, are
    /// never errors. An element of `others` that ends with a dot is a prefix.
    pub(super) fn unknown(&mut self, known: &[&str], others: &[&str]) -> Vec<String> {
        let idle = others;
        let names: Vec<String> = self.all.keys().cloned().collect();
        let mut others = Vec::new();
        for name in names {
            if known.contains(&name.as_str()) {
                continue;
            }
            let is_idle =
                |idle: &&str| name == **idle || idle.ends_with('.') && name.starts_with(*idle);
            if idle.iter().any(is_idle) {
                others.push(name);
                continue;
            }
            match known.iter().find(|known| is_slip(&name, known)) {
                Some(near) => {
                    let message = format!("`{name}` is not a property of YCSB's core workload");
                    self.wrong(&name, message, Some(format!("did you mean `{near}`?")));
                }
                None => others.push(name),
            }
        }
        others
    }
}

/// Returns true if a single change turns one name into the other, ignoring case. A change removes,
/// adds or replaces one character, or exchanges two neighbouring characters.
fn is_slip(written: &str, meant: &str) -> bool {
    let [mut a, mut b] = [written, meant].map(|name| name.to_lowercase().into_bytes());
    if a.len() > b.len() {
        std::mem::swap(&mut a, &mut b);
    }
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    match (a, b) {
        ([], _) => b.len() <= 1,
        ([x, y, a @ ..], [y2, x2, b @ ..]) if (x, y) == (x2, y2) && a == b => true,
        _ => a == &b[1..] || a.len() == b.len() && a[1..] == b[1..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_value_is_shown_where_it_stands() {
        let mut properties = Properties::new(String::new());
        properties.file("w", "# x\nrecordcount=many\n");
        assert_eq!(properties.count("recordcount", 7, 1..=9), 7);
        let mistake = &properties.out.list[0];
        assert_eq!((mistake.line, mistake.column), (2, 1));
        assert!(mistake.message.contains("`many`"));
    }

    #[test]
    fn a_slip_of_the_finger_is_a_mistake_and_a_strange_name_is_told() {
        let mut properties = Properties::new(String::new());
        properties.file("w", "recordcuont=1\nzzz=1\nhdrhistogram.x=1\n");
        let others = properties.unknown(&["recordcount"], &["hdrhistogram."]);
        assert_eq!(others, ["hdrhistogram.x", "zzz"]);
        assert_eq!(properties.out.list.len(), 1);
    }

    #[test]
    fn one_slip_is_near_and_a_name_of_a_fork_is_not() {
        for (written, meant, expected) in [
            ("host", "hosts", true),
            ("filedlength", "fieldlength", true),
            ("recordcuont", "recordcount", true),
            ("Cassandra.usessl", "cassandra.useSSL", true),
            ("fieldcounts", "fieldcount", true),
            ("fieldcoumt", "fieldcount", true),
            ("operationretrylimit", "operationcount", false),
            ("hostsFile", "hosts", false),
            ("tagcount", "threadcount", false),
            (
                "cassandra.maxpendingrequests",
                "cassandra.maxconnections",
                false,
            ),
            ("a", "bc", false),
        ] {
            assert_eq!(is_slip(written, meant), expected, "{written}");
            assert_eq!(is_slip(meant, written), expected, "{written}");
        }
    }
}
