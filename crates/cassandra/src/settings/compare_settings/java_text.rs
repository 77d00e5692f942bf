//! Parses structured settings in Java's text form of maps, lists and classes with parameters, such
//! as `{default=TrieMemtable{shards=4}, other=[a, b]}`. Servers before 6.0 report this form.
//!
//! Invariants: a requested value is compared only with the reported value of the same key. If the
//! text lacks this key, the result is unknown.

use super::{plain, same};
use serde_json::Value;

/// Maximum depth of nesting, which no setting of the server reaches. The limit protects against
/// unexpected input.
const DEPTH_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Text {
    Plain(String),
    Map(Vec<(String, Text)>),
    List(Vec<Text>),
    /// Class name with parameters.
    Class(String, Vec<(String, Text)>),
}

/// Returns true if `row` contains the requested `value`, and false if `row` contains another value.
/// Returns `None` if `row` cannot be parsed or lacks requested keys.
pub(super) fn says(value: &Value, row: &str) -> Option<bool> {
    if !value.is_object() && !value.is_array() {
        return Some(same(&plain(value), row));
    }
    // Since 6.0, the server reports structures as JSON.
    if let Ok(shown) = serde_json::from_str::<Value>(row) {
        return Some(stands_in(value, &shown));
    }
    let mut reader = Reader { rest: row.trim() };
    let text = reader.text(0)?;
    reader.rest.is_empty().then(|| holds(value, &text))?
}

/// Returns true if `shown` contains all requested entries. Maps in `shown` may contain others.
fn stands_in(value: &Value, shown: &Value) -> bool {
    match (value, shown) {
        (Value::Object(map), Value::Object(shown)) => map
            .iter()
            .all(|(key, value)| shown.get(key).is_some_and(|shown| stands_in(value, shown))),
        // A class may be given as a list of one element.
        (Value::Array(list), Value::Object(_)) if list.len() == 1 => stands_in(&list[0], shown),
        (Value::Array(list), Value::Array(shown)) => {
            let stands = |value: &Value| shown.iter().any(|shown| stands_in(value, shown));
            list.len() == shown.len() && list.iter().all(stands)
        }
        (value, shown) => same(&plain(value), &plain(shown)),
    }
}

fn holds(value: &Value, text: &Text) -> Option<bool> {
    match (value, text) {
        (Value::Object(map), Text::Map(shown)) => all(map.iter().map(|(key, value)| {
            let found = shown.iter().find(|(name, _)| name == key);
            holds(value, &found?.1)
        })),
        (Value::Object(map), Text::Class(name, parameters)) => class(map, name, parameters),
        (Value::Object(map), Text::Plain(name)) => class(map, name, &[]),
        // A class may be given as a list of one element.
        (Value::Array(list), shown) if matches!(list.as_slice(), [Value::Object(_)]) => match shown
        {
            Text::List(shown) if shown.len() == 1 => holds(&list[0], &shown[0]),
            Text::List(_) => Some(false),
            shown => holds(&list[0], shown),
        },
        (Value::Array(list), Text::List(shown)) if list.len() != shown.len() => Some(false),
        // The server stores some lists as sets, so the order may differ.
        (Value::Array(list), Text::List(shown)) => {
            all(list.iter().map(|value| among(value, shown)))
        }
        (Value::Array(_) | Value::Object(_), _) => None,
        (value, Text::Plain(shown)) => Some(same(&plain(value), shown)),
        _ => None,
    }
}

/// Searches a list for a value. The result is `None` if no element matches and some elements cannot
/// be compared.
fn among(value: &Value, shown: &[Text]) -> Option<bool> {
    let found: Vec<Option<bool>> = shown.iter().map(|text| holds(value, text)).collect();
    if found.contains(&Some(true)) {
        Some(true)
    } else if found.contains(&None) {
        None
    } else {
        Some(false)
    }
}

/// Compares a class and its parameters with the keys `class_name` and `parameters` of
/// `cassandra.yaml`.
fn class(
    wanted: &serde_json::Map<String, Value>,
    name: &str,
    parameters: &[(String, Text)],
) -> Option<bool> {
    all(wanted.iter().map(|(key, value)| match key.as_str() {
        "class_name" => Some(same(&plain(value), name)),
        "parameters" => holds(value, &Text::Map(parameters.to_vec())),
        _ => None,
    }))
}

/// Combines results. A mismatch takes precedence over an unknown result.
fn all(each: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut told = Some(true);
    for one in each {
        match one {
            Some(false) => return Some(false),
            Some(true) => {}
            None => told = None,
        }
    }
    told
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Parses the next value. Returns `None` for invalid text.
    fn text(&mut self, depth: usize) -> Option<Text> {
        if depth > DEPTH_MAX {
            return None;
        }
        if self.takes('[') {
            let mut list = Vec::new();
            while !self.takes(']') {
                list.push(self.text(depth + 1)?);
                self.separator(']')?;
            }
            return Some(Text::List(list));
        }
        if self.takes('{') {
            return self.map(depth).map(Text::Map);
        }
        let end = self.rest.find([',', '}', ']', '{', '[']);
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let name = name.trim().to_string();
        if self.takes('{') {
            return self.map(depth).map(|parameters| Text::Class(name, parameters));
        }
        Some(Text::Plain(name))
    }

    /// Parses map entries, including the closing brace.
    fn map(&mut self, depth: usize) -> Option<Vec<(String, Text)>> {
        let mut map = Vec::new();
        while !self.takes('}') {
            let (key, rest) = self.rest.split_once('=')?;
            if key.contains([',', '}', ']', '{', '[']) {
                return None;
            }
            let key = key.trim().to_string();
            self.rest = rest;
            map.push((key, self.text(depth + 1)?));
            self.separator('}')?;
        }
        Some(map)
    }

    /// Consumes a comma, or stops before the closing character.
    fn separator(&mut self, close: char) -> Option<()> {
        if self.takes(',') {
            self.rest = self.rest.trim_start();
            return Some(());
        }
        self.rest.starts_with(close).then_some(())
    }

    fn takes(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_compared_with_that_of_its_own_key_and_whole() {
        let row = "{default=TrieMemtable{shards=10, seed=1}, other=SkipListMemtable, l=[a, b]}";
        let cases = [
            (
                json!({"default": {"class_name": "TrieMemtable"}}),
                Some(true),
            ),
            (
                json!({"default": {"class_name": "a.TrieMemtable", "parameters": {"shards": 10}}}),
                Some(true),
            ),
            (
                json!({"default": {"parameters": {"shards": 1}}}),
                Some(false),
            ),
            (
                json!({"default": {"parameters": [{"shards": 1}]}}),
                Some(false),
            ),
            (json!({"default": {"parameters": {"unheard": 1}}}), None),
            (json!({"default": {"inherits": "other"}}), None),
            (
                json!({"other": {"class_name": "TrieMemtable"}}),
                Some(false),
            ),
            (json!({"other": {"class_name": "SkipList"}}), Some(false)),
            (json!({"absent": 1}), None),
            (
                json!({"absent": 1, "other": {"class_name": "x"}}),
                Some(false),
            ),
            (json!({"l": ["b", "a"]}), Some(true)),
            (json!({"l": ["a"]}), Some(false)),
            (json!({"l": ["a", "c"]}), Some(false)),
            (json!([{"l": ["a", "b"]}]), Some(true)),
        ];
        for (value, expected) in cases {
            assert_eq!(says(&value, row), expected, "{value}");
        }
        assert_eq!(says(&json!(["/d"]), "[/d]"), Some(true));
        assert_eq!(says(&json!(1), "10"), Some(false));
    }

    #[test]
    fn a_row_of_another_form_says_nothing() {
        let deep = "{a=".repeat(10_000);
        for row in ["{a", "{a=1", "{a=1} x", "{a=[}", "[a=1", "", "{,}", &deep] {
            assert_eq!(says(&json!({"a": 1}), row), None, "{row:.20}");
        }
    }

    #[test]
    fn structures_that_are_shown_as_json_are_looked_into() {
        let shown = r#"{"default":{"class_name":"TrieMemtable","parameters":null}}"#;
        let asked = |class: &str| says(&json!({"default": {"class_name": class}}), shown);
        assert_eq!(asked("TrieMemtable"), Some(true));
        assert_eq!(asked("SkipListMemtable"), Some(false));
        let one = |value: Value| says(&value, r#"{"a":[1,{"b":"c"}]}"#);
        assert_eq!(one(json!({"a": [{"b": "c"}, 1]})), Some(true));
        assert_eq!(one(json!({"a": [1]})), Some(false));
    }
}
