//! The limits of settings that follow from the server's class `DatabaseDescriptor`, in addition to
//! the types. A node with a value beyond them does not start.
//!
//! The documentation of the crate describes the rows of `limits.txt`.

use crate::kind::ValueKind;
use crate::line::Line;
use crate::settings::similar;
use serde_json::{Map, Value};

/// Reason why a node does not start with a value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLimit {
    /// Name of the setting in this line. If two settings contradict each other, the name of one
    /// that the study writes.
    pub name: String,
    /// The error message, including the name of the setting.
    pub why: String,
    /// Advice on the next step.
    pub hint: String,
}

/// A row of `limits.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row<'a> {
    /// `NAME LEAST..MOST [not 0] [if OTHER WORD]`
    Range {
        name: &'a str,
        least: &'a str,
        most: &'a str,
        takes_zero: bool,
        only_if: Option<(&'a str, &'a str)>,
    },
    /// `NAME not WORD|WORD`
    Not(&'a str, &'a str),
    Is(&'a str, &'a str),
    /// `NAME items WORD|WORD`
    Items(&'a str, &'a str),
    /// `NAME WORD needs OTHER WORD`
    Needs((&'a str, &'a str), (&'a str, &'a str)),
    /// `COUNT NAME <= COUNT OTHER [unless 0]`, or with `<`
    Order(Order<'a>),
    /// `NAME = VALUE`, the server's default
    Default(&'a str, &'a str),
}

/// Order of two numbers. Each number is a factor multiplied by the value of a setting. A pair
/// contains the factor and the name of the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order<'a> {
    smaller: (&'a str, &'a str),
    larger: (&'a str, &'a str),
    may_be_equal: bool,
    /// True if the number 0 of the larger setting means "off".
    zero_is_off: bool,
}

impl<'a> Row<'a> {
    /// Parses a row. Returns `None` for a comment.
    fn parse(row: &'a str) -> Option<Row<'a>> {
        let words: Vec<&str> = row.split(' ').collect();
        Some(match *words.as_slice() {
            ["#", ..] => return None,
            [name, "=", value] => Row::Default(name, value),
            [name, "not", words] => Row::Not(name, words),
            [name, "is", kind] => Row::Is(name, kind),
            [name, "items", words] => Row::Items(name, words),
            [name, word, "needs", other, needed] => Row::Needs((name, word), (other, needed)),
            [
                count,
                name,
                sign @ ("<" | "<="),
                other_count,
                other,
                ref rest @ ..,
            ] => Row::Order(Order {
                smaller: (count, name),
                larger: (other_count, other),
                may_be_equal: sign == "<=",
                zero_is_off: rest == ["unless", "0"],
            }),
            [name, range, ref rest @ ..] => {
                let (least, most) = range.split_once("..")?;
                Row::Range {
                    name,
                    least,
                    most,
                    takes_zero: !rest.starts_with(&["not", "0"]),
                    only_if: match *rest {
                        [.., "if", other, word] => Some((other, word)),
                        _ => None,
                    },
                }
            }
            _ => return None,
        })
    }
}

/// Settings of a node: the settings that a study writes, then other known settings of the node,
/// then the server's defaults.
struct KnownSettings<'a> {
    line: &'a Line,
    written: &'a Map<String, Value>,
    rest: &'a Map<String, Value>,
}

impl KnownSettings<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        let known = self.written.get(name).or_else(|| self.rest.get(name));
        known.cloned().or_else(|| self.line.default_of(name))
    }

    /// Returns a value for a sentence, with a note if it is the server's default.
    fn show(&self, name: &str, value: &Value) -> String {
        let text = plain(value);
        if self.written.contains_key(name) || self.rest.contains_key(name) {
            text
        } else {
            format!("{text} by default")
        }
    }
}

/// Formats a value without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

const WITHIN: &str = "remove the setting, or write a value in the accepted form";

impl Line {
    /// Returns the reason why a node does not start with a value, regardless of its other settings.
    /// Returns `None` if no limit excludes the value, or if the type of the setting does not allow
    /// the value. The name is the name in this line.
    pub fn beyond_limit(&self, name: &str, value: &Value) -> Option<BrokenLimit> {
        self.rows().find_map(|row| match row {
            Row::Range {
                name: own,
                only_if: None,
                ..
            } if own == name => self.out_of_range(row, value),
            Row::Not(own, words) if own == name => {
                let is_word = words.split('|').any(|word| is_word(value, word));
                is_word.then(|| BrokenLimit {
                    name: name.to_owned(),
                    why: format!("{name} cannot be {value}: no node starts with this value"),
                    hint: WITHIN.to_owned(),
                })
            }
            Row::Is(own, kind) if own == name && !value.is_null() => {
                let wrong = ValueKind::parse(kind).wrong(value)?;
                Some(BrokenLimit {
                    name: name.to_owned(),
                    why: format!(
                        "{name} of cassandra.yaml is {value}, but Cassandra {} accepts {}",
                        self.name, wrong.takes
                    ),
                    hint: wrong.example.map_or_else(
                        || "write a value in the accepted form".to_owned(),
                        |meant| format!("did you mean `{meant}`?"),
                    ),
                })
            }
            Row::Items(own, words) if own == name => self.unknown_item(name, words, value),
            _ => None,
        })
    }

    /// Returns the settings of `written` that contradict each other, the other settings of the same
    /// nodes, or the server's defaults. All names are names in this line.
    pub fn misfits(
        &self,
        written: &Map<String, Value>,
        rest: &Map<String, Value>,
    ) -> Vec<BrokenLimit> {
        let known = KnownSettings {
            line: self,
            written,
            rest,
        };
        self.rows().filter_map(|row| self.misfit(row, &known)).collect()
    }

    fn misfit(&self, row: Row<'_>, known: &KnownSettings<'_>) -> Option<BrokenLimit> {
        match row {
            Row::Range {
                name,
                only_if: Some((other, word)),
                ..
            } => {
                let value = known.written.get(name)?;
                let applies = known.get(other).is_some_and(|value| is_word(&value, word));
                let mut broken = self.out_of_range(row, value).filter(|_| applies)?;
                broken.why.push_str(&format!(", with `{other}: {word}`"));
                Some(broken)
            }
            Row::Needs((name, word), (other, needed)) => {
                let is_other = known.get(other).is_some_and(|value| !is_word(&value, needed));
                let is_broken = is_other && known.get(name).is_some_and(|v| is_word(&v, word));
                let written = [name, other].into_iter().find(|n| known.written.contains_key(*n))?;
                is_broken.then(|| BrokenLimit {
                    name: written.to_owned(),
                    why: format!("`{name}: {word}` of cassandra.yaml requires `{other}: {needed}`"),
                    hint: format!("remove {name}, or add `{other}: {needed}`"),
                })
            }
            Row::Order(order) => self.wrong_order(order, known),
            _ => None,
        }
    }

    /// Compares two settings, and returns `None` if they are in the required order. An empty value
    /// or a negative number means "off", or a value that depends on the machine, so it never
    /// violates the order.
    fn wrong_order(&self, order: Order<'_>, known: &KnownSettings<'_>) -> Option<BrokenLimit> {
        let (count, name) = order.smaller;
        let (other_count, other) = order.larger;
        let written = [name, other].into_iter().find(|n| known.written.contains_key(*n))?;
        let (value, beside) = (known.get(name)?, known.get(other)?);
        let number = |name, value: &Value| self.number(name, value).filter(|n| *n >= 0.0);
        let left = number(name, &value)? * count.parse::<f64>().ok()?;
        let right = number(other, &beside)? * other_count.parse::<f64>().ok()?;
        let is_off = order.zero_is_off && right == 0.0;
        let fits = is_off || left < right || order.may_be_equal && left == right;
        let times = |count: &str, name: &str, value: &Value| {
            let times = if count == "1" {
                String::new()
            } else {
                format!("{count} × ")
            };
            format!("{times}{name} ({})", known.show(name, value))
        };
        let limit = if order.may_be_equal {
            "at most"
        } else {
            "less than"
        };
        (!fits).then(|| BrokenLimit {
            name: written.to_owned(),
            why: format!(
                "{} of cassandra.yaml must be {limit} {}",
                times(count, name, &value),
                times(other_count, other, &beside)
            ),
            hint: format!("change {name} or {other}"),
        })
    }

    fn out_of_range(&self, row: Row<'_>, value: &Value) -> Option<BrokenLimit> {
        let Row::Range {
            name,
            least,
            most,
            takes_zero,
            ..
        } = row
        else {
            return None;
        };
        let number = self.number(name, value)?;
        let bound = |text: &str| self.number(name, &Value::from(text));
        // The server's comparisons do not refuse a value that is not a number.
        let is_in = number.is_nan()
            || bound(least).is_none_or(|least| number >= least)
                && bound(most).is_none_or(|most| number <= most)
                && (takes_zero || number != 0.0);
        let range = match (least, most) {
            ("-1", "") if !takes_zero => "more than 0, or -1".to_owned(),
            (least, "") => format!("at least {least}"),
            ("", most) => format!("at most {most}"),
            (least, most) => format!("{least} to {most}"),
        };
        let says_zero = takes_zero || range.ends_with("-1");
        let range = if says_zero {
            range
        } else {
            format!("{range} without 0")
        };
        (!is_in).then(|| BrokenLimit {
            name: name.to_owned(),
            why: format!("{name} must be {range}, not {value}"),
            hint: WITHIN.to_owned(),
        })
    }

    fn unknown_item(&self, name: &str, words: &str, value: &Value) -> Option<BrokenLimit> {
        let items = value.as_array()?.iter().map(plain);
        // The server compares the words in lower case.
        let is_known = |item: &str| words.split('|').any(|word| item.eq_ignore_ascii_case(word));
        let unknown = items.into_iter().find(|item| !is_known(item))?;
        Some(BrokenLimit {
            name: name.to_owned(),
            why: format!(
                "{name} of cassandra.yaml has the item {unknown}, but Cassandra {} accepts {}",
                self.name,
                words.replace('|', ", ")
            ),
            hint: similar(&unknown, words.split('|')).map_or_else(
                || "remove the item".to_owned(),
                |near| format!("did you mean `{near}`?"),
            ),
        })
    }

    fn number(&self, name: &str, value: &Value) -> Option<f64> {
        self.kind(name)?.number(value)
    }

    fn default_of(&self, name: &str) -> Option<Value> {
        self.rows().find_map(|row| match row {
            Row::Default(own, value) if own == name => Some(Value::from(value)),
            _ => None,
        })
    }

    fn rows(&self) -> impl Iterator<Item = Row<'static>> + use<> {
        self.limits.lines().filter_map(Row::parse)
    }
}

/// Returns true if a value is a word, or the same truth value as this word.
fn is_word(value: &Value, word: &str) -> bool {
    let other = ValueKind::switch(&Value::from(word));
    plain(value) == word || other.is_some() && ValueKind::switch(value) == other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release_lines::LINES;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn line(name: &str) -> &'static Line {
        Line::find(name).unwrap()
    }

    #[test]
    fn every_row_is_read_and_names_settings_of_its_line() {
        for line in LINES {
            for text in line.limits.lines().filter(|text| !text.starts_with('#')) {
                let row = Row::parse(text).unwrap_or_else(|| panic!("{} {text}", line.name));
                let names = match row {
                    Row::Range { name, only_if, .. } => {
                        vec![name, only_if.map_or(name, |(other, _)| other)]
                    }
                    Row::Not(name, _)
                    | Row::Is(name, _)
                    | Row::Items(name, _)
                    | Row::Default(name, _) => vec![name],
                    Row::Needs((name, _), (other, _)) => vec![name, other],
                    Row::Order(order) => vec![order.smaller.1, order.larger.1],
                };
                for name in names {
                    assert!(line.names().any(|known| known == name), "{text}");
                }
                // A bound without a number would permit every value.
                if let Row::Range {
                    name, least, most, ..
                } = row
                {
                    for bound in [least, most].into_iter().filter(|bound| !bound.is_empty()) {
                        let number = line.number(name, &Value::from(bound));
                        assert!(number.is_some(), "{} {text}", line.name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_value_beyond_a_limit_is_refused_and_a_legal_one_not() {
        for (name, setting, legal, refused) in [
            ("5.0", "page_size_fail_threshold", json!(-1), json!(0)),
            (
                "5.0",
                "collection_size_fail_threshold",
                json!(null),
                json!("0MiB"),
            ),
            ("5.0", "max_value_size", json!("2047MiB"), json!("4GiB")),
            ("5.0", "column_index_size", json!("64KiB"), json!("4GiB")),
            ("5.0", "concurrent_reads", json!("64"), json!("0x1")),
            ("5.0", "concurrent_writes", json!("1_000"), json!(1)),
            ("5.0", "phi_convict_threshold", json!("8"), json!(17)),
            (
                "5.0",
                "max_space_usable_for_compactions_in_percentage",
                json!(0.95),
                json!(4.5),
            ),
            ("5.0", "auto_snapshot_ttl", json!("5m"), json!("abc")),
            (
                "5.0",
                "table_properties_disallowed",
                json!(["CDC"]),
                json!(["compresion"]),
            ),
            (
                "5.0",
                "scripted_user_defined_functions_enabled",
                json!(false),
                json!("yes"),
            ),
            (
                "5.0",
                "commitlog_disk_access_mode",
                json!("mmap"),
                json!("standard"),
            ),
            ("5.0", "commitlog_sync", json!("batch"), json!(null)),
            ("4.1", "repair_session_space", json!("1MiB"), json!("0MiB")),
            ("4.0", "key_cache_size_in_mb", json!(0), json!(-1)),
            (
                "4.0",
                "native_transport_max_frame_size_in_mb",
                json!(2047),
                json!(2048),
            ),
            ("6.0", "gc_log_threshold", json!("1ms"), json!("0ms")),
        ] {
            let line = line(name);
            assert_eq!(line.beyond_limit(setting, &legal), None, "{name} {setting}");
            let broken = line.beyond_limit(setting, &refused).map(|broken| broken.name);
            assert_eq!(broken.as_deref(), Some(setting), "{name} {setting}");
        }
        let item = line("5.0").beyond_limit("table_properties_warned", &json!(["compresion"]));
        assert_eq!(item.unwrap().hint, "did you mean `compression`?");
        let zero = line("5.0").beyond_limit("tables_warn_threshold", &json!(0)).unwrap();
        assert_eq!(
            zero.why,
            "tables_warn_threshold must be more than 0, or -1, not 0"
        );
    }

    /// Settings of a line, other settings of the nodes, and true if they do not fit together.
    type Case = (&'static str, Value, Value, bool);

    /// Returns cases of settings that limit each other.
    fn pairs() -> Vec<Case> {
        let none = || json!({});
        vec![
            (
                "5.0",
                json!({"page_size_warn_threshold": 5000, "page_size_fail_threshold": 100}),
                none(),
                true,
            ),
            (
                "5.0",
                json!({"page_size_warn_threshold": 5000}),
                none(),
                false,
            ),
            (
                "5.0",
                json!({"sai_sstable_indexes_per_query_fail_threshold": 1}),
                none(),
                true,
            ),
            (
                "5.0",
                json!({"sai_sstable_indexes_per_query_fail_threshold": 1}),
                json!({"sai_sstable_indexes_per_query_warn_threshold": 1}),
                false,
            ),
            ("5.0", json!({"max_mutation_size": "64MiB"}), none(), true),
            ("5.0", json!({"max_mutation_size": "16MiB"}), none(), false),
            (
                "4.0",
                json!({"max_mutation_size_in_kb": 16385}),
                none(),
                true,
            ),
            (
                "4.0",
                json!({"max_mutation_size_in_kb": 16384}),
                none(),
                false,
            ),
            (
                "5.0",
                json!({
                    "native_transport_max_message_size": "2MiB",
                    "native_transport_max_request_data_in_flight_per_ip": "1MiB",
                }),
                none(),
                true,
            ),
            (
                "5.0",
                json!({"native_transport_min_backoff_on_queue_overload": "200ms"}),
                none(),
                true,
            ),
        ]
    }

    /// Returns cases of settings that apply only with the value of another setting.
    fn requirements() -> Vec<Case> {
        let none = || json!({});
        vec![
            (
                "5.0",
                json!({"user_defined_functions_warn_timeout": "2s"}),
                none(),
                true,
            ),
            (
                "5.0",
                json!({"user_defined_functions_threads_enabled": false}),
                none(),
                true,
            ),
            (
                "5.0",
                json!({"user_defined_functions_threads_enabled": "no"}),
                json!({"allow_insecure_udfs": true}),
                false,
            ),
            ("5.0", json!({"commitlog_sync_period": "0ms"}), none(), true),
            (
                "5.0",
                json!({"commitlog_sync": "batch", "commitlog_sync_period": "0ms"}),
                none(),
                false,
            ),
            (
                "5.0",
                json!({"commitlog_sync": "group", "commitlog_sync_group_window": "0ms"}),
                none(),
                true,
            ),
            (
                "6.0",
                json!({"gc_concurrent_phase_warn_threshold": "5ms"}),
                none(),
                true,
            ),
            (
                "6.0",
                json!({"gc_concurrent_phase_warn_threshold": "0ms"}),
                none(),
                false,
            ),
            // A limit that only the other settings of the nodes violate is not reported.
            ("5.0", none(), json!({"max_mutation_size": "64MiB"}), false),
        ]
    }

    #[test]
    fn settings_that_do_not_fit_are_found_with_defaults() {
        for (name, written, rest, found) in pairs().into_iter().chain(requirements()) {
            let misfits = line(name).misfits(&map(written.clone()), &map(rest.clone()));
            assert_eq!(!misfits.is_empty(), found, "{name} {written}: {misfits:?}");
        }
        let written = map(json!({"max_mutation_size": "64MiB"}));
        let misfit = line("5.0").misfits(&written, &Map::new()).remove(0);
        assert_eq!(misfit.name, "max_mutation_size");
        assert_eq!(
            misfit.why,
            "2 × max_mutation_size (64MiB) of cassandra.yaml must be at most \
             commitlog_segment_size (32MiB by default)"
        );
    }
}
