//! Generates the schema for the values of one key.

use super::{exclusions, properties, reference, whole};
use crate::check;
use crate::format::{self, Field, Type};
use crate::units;
use serde_json::{Map, Value, json};

/// Name of the form of a variant. It cannot conflict with a key, because no key of a study has this
/// name.
pub(super) const VARIANT: &str = "a-variant";

const NAME: &str = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$";

/// Returns the form of the value in a row of the table, with the description in the row.
pub(super) fn field_form(field: &Field) -> Value {
    let mut form = object(form(field.path, &field.typ));
    if field.path == "study" {
        form.insert("not".to_owned(), json!({"enum": check::RESERVED_NAMES}));
    }
    let mut said = Map::new();
    said.insert("description".to_owned(), json!(field.what));
    if let Some(default) = field.default.filter(|default| *default != "{}") {
        let plain = serde_json::from_str(default).unwrap_or_else(|_| json!(default));
        said.insert("default".to_owned(), plain);
    }
    said.extend(form);
    said.into()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        // This case does not occur, because a form is always a mapping of keywords.
        _ => Map::new(),
    }
}

fn form(path: &str, typ: &Type) -> Value {
    match typ {
        Type::Text(_) => json!({"type": ["string", "number", "boolean"], "pattern": "\\S"}),
        // The schema also accepts numbers, because a version such as 5.0 is a number to an editor.
        Type::Name(_) | Type::Release(_) => {
            json!({"type": ["string", "number", "boolean"], "pattern": NAME, "minimum": 0})
        }
        Type::CqlName(_) => json!({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]{0,47}$"}),
        Type::Bool(_) => json!({"type": ["boolean", "string"], "pattern": "^(true|false)$"}),
        Type::Count(min, max, _) => number("integer", *min, *max, units::pattern::COUNT, typ),
        Type::Number(min, max, _) => number("number", *min, *max, units::pattern::NUMBER, typ),
        Type::Share(min, max, _) => number("number", *min, *max, units::pattern::SHARE, typ),
        Type::Duration(..) => quantity(&units::pattern::duration(), typ),
        Type::Bytes(..) => quantity(&units::pattern::bytes(), typ),
        Type::BitRate(..) => quantity(&units::pattern::bit_rate(), typ),
        Type::Choice(_) | Type::Level(..) => choice(&typ.words()),
        // The schema accepts other names, because the owner of an attached target may define
        // faults.
        Type::Fault(_) => json!({"anyOf": [
            {"enum": typ.words()},
            {"type": "string", "pattern": NAME},
        ]}),
        Type::List(item) => list(path, item),
        Type::Map(item) => {
            json!({"type": ["object", "null"], "additionalProperties": form(path, item)})
        }
        Type::Any(_) => json!({}),
        Type::WordOr(_, other) => {
            json!({"anyOf": [{"enum": words(&typ.words())}, form(path, other)]})
        }
        Type::Either(one, other) => json!({"anyOf": [form(path, one), form(path, other)]}),
        Type::Section(_) => section(path),
        Type::Secret(_) => secret(),
        Type::Variants => mapping(&reference(VARIANT)),
        Type::Matrix => {
            let mut values = mapping(&reference(VARIANT));
            values["minProperties"] = json!(1);
            mapping(&values)
        }
        Type::Phase => phase(""),
        Type::Scales => mapping(&scale()),
    }
}

/// Returns the form of a number. Users may write it as a number, or as text in the format that
/// people use.
fn number<N: Into<Value>>(kind: &str, min: N, max: N, pattern: &str, typ: &Type) -> Value {
    json!({
        "type": [kind, "string"],
        "minimum": min.into(),
        "maximum": max.into(),
        "pattern": pattern,
        "errorMessage": message(typ),
    })
}

fn quantity(pattern: &str, typ: &Type) -> Value {
    json!({"type": "string", "pattern": pattern, "errorMessage": message(typ)})
}

fn message(typ: &Type) -> String {
    check::example(typ).unwrap_or_else(|| format!("it must be {}", check::words(typ)))
}

/// Returns the form of a choice. It accepts words in lower-case and upper-case letters, and an
/// editor suggests the spelling of the table.
fn choice(known: &[&str]) -> Value {
    let either = |c: char| {
        if c.is_ascii_alphabetic() {
            format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase())
        } else {
            c.to_string()
        }
    };
    let alike: Vec<String> = known.iter().map(|word| word.chars().map(either).collect()).collect();
    let pattern = format!("^({})$", alike.join("|"));
    json!({"anyOf": [{"enum": known}, {"type": "string", "pattern": pattern}]})
}

/// Returns the accepted values of a choice: the words, and the booleans that YAML makes of some
/// words.
fn words(known: &[&str]) -> Vec<Value> {
    let more = known.iter().filter_map(|word| word.parse::<bool>().ok()).map(Value::from);
    known.iter().map(|word| json!(word)).chain(more).collect()
}

/// Returns the form of a list. It accepts a single item without brackets, unless the item is a
/// section.
fn list(path: &str, item: &Type) -> Value {
    let one = form(path, item);
    if matches!(item, Type::Section(_)) {
        let items = json!({"allOf": [one, whole(path)]});
        return json!({"type": "array", "items": items, "minItems": 1});
    }
    let list = json!({"type": "array", "items": one.clone(), "minItems": 1});
    json!({"anyOf": [one, list]})
}

fn section(path: &str) -> Value {
    let mut form = json!({
        "type": ["object", "null"],
        "properties": properties(path),
    });
    // Editors do not recognize an unquoted key `null` as text. They find such a key among required
    // keys, but not among optional keys. Exactly one key is required here, so this form of the
    // check is equally strict.
    let has_null = format::children(path).any(|(key, _)| key == "null");
    if has_null {
        form["maxProperties"] = json!(1);
    } else {
        form["additionalProperties"] = json!(false);
    }
    let excluded = exclusions(path);
    if !excluded.is_empty() {
        form["allOf"] = excluded.into();
    }
    form
}

fn secret() -> Value {
    let text = json!({"type": ["string", "number", "boolean"], "pattern": "\\S"});
    json!({
        "type": "object",
        "properties": {"secret": text, "file": text, "env": text},
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
    })
}

fn mapping(one: &Value) -> Value {
    json!({
        "type": "object",
        "patternProperties": {NAME: one},
        "additionalProperties": false,
    })
}

/// Returns the form of the changes below a path that a phase may make.
fn phase(path: &str) -> Value {
    let mut properties = Map::new();
    for (key, field) in format::children(path) {
        let below = format!("{}.", field.path);
        if format::PHASE_PATHS.contains(&field.path) {
            properties.insert(key.to_owned(), reference(field.path));
        } else if format::PHASE_PATHS.iter().any(|known| known.starts_with(&below)) {
            properties.insert(key.to_owned(), phase(field.path));
        }
    }
    json!({
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Returns the form of a scale, which has dotted keys with values. Such keys cannot lead into
/// lists.
fn scale() -> Value {
    let in_list = |path: &str| {
        let lists = format::fields().filter(|field| matches!(field.typ, Type::List(_)));
        lists.into_iter().any(|list| path.starts_with(&format!("{}.", list.path)))
    };
    let known = format::fields().filter(|field| !in_list(field.path));
    let keys: Map<_, _> = known
        .map(|field| {
            let value = match field.typ {
                // A scale may omit an entry by the word `none`, so it accepts any value here.
                Type::Variants | Type::Matrix => json!({}),
                _ => reference(field.path),
            };
            (field.path.to_owned(), value)
        })
        .collect();
    let free: Map<_, _> = format::fields()
        .filter(|field| has_free_keys(&field.typ))
        .map(|field| (format!("^{}\\.", field.path.replace('.', "\\.")), json!({})))
        .collect();
    json!({
        "type": "object",
        "properties": keys,
        "patternProperties": free,
        "additionalProperties": false,
    })
}

/// Returns true if a mapping of this type has keys that are not rows of the table.
fn has_free_keys(typ: &Type) -> bool {
    match typ {
        Type::Map(_) | Type::Any(_) | Type::Secret(_) => true,
        Type::Variants | Type::Matrix | Type::Phase | Type::Scales => true,
        Type::Either(_, mapping) => has_free_keys(mapping),
        _ => false,
    }
}
