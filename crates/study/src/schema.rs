//! Generates the JSON Schema of a study from the table in [`crate::format`]. `cassay schema study`
//! prints this schema.
//!
//! Editors use the schema for completion and for checks while the user writes a study. The schema
//! does not use keywords that have another meaning in draft-07, because many editors support only
//! draft-07. The schema must accept every study that [`crate::resolve`] accepts. It may accept
//! studies that cassay refuses later, because only `cassay plan` checks relations between keys, and
//! limits of values with a unit.
//!
//! The forms of keys and the lists of required keys are separate parts of the schema. The reason is
//! that variants may contain required keys that the study itself lacks.

mod value_schema;

use crate::format::{self, Exclusive, Type};
use imports::Tool;
use serde_json::{Map, Value, json};

const SCHEMA_DESCRIPTION: &str = "A study of cassay: one question about an Apache Cassandra \
                                  cluster. Generated from the program's table of keys; \
                                  docs/study-file.md has the same content.";

/// Keys with which a study declares its sides.
const SIDES: [&str; 3] = ["variants", "matrix", "screen"];

/// Returns the whole schema.
pub fn study() -> Value {
    let sides: Vec<Value> = SIDES.iter().map(|key| json!({"required": [key]})).collect();
    let mut rules = exclusions("");
    rules.push(json!({"if": {"anyOf": sides}, "else": whole("")}));
    let mut defs = Map::new();
    for field in format::fields() {
        defs.insert(field.path.to_owned(), value_schema::field_form(field));
    }
    defs.insert(value_schema::VARIANT.to_owned(), variant());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "cassay study",
        "description": SCHEMA_DESCRIPTION,
        "type": "object",
        "properties": properties(""),
        "required": ["study", "question"],
        "additionalProperties": false,
        "allOf": rules,
        "$defs": defs,
    })
}

/// Returns the keys directly below a path. Each key has a reference to its form.
fn properties(path: &str) -> Value {
    let keys = format::children(path);
    keys.map(|(key, field)| (key.to_owned(), reference(field.path)))
        .collect::<Map<_, _>>()
        .into()
}

fn reference(path: &str) -> Value {
    json!({"$ref": format!("#/$defs/{path}")})
}

/// Returns the form of a variant. It describes the permitted changes, which need not be a complete
/// study.
fn variant() -> Value {
    let keys = format::VARIANT_SECTIONS.iter();
    let properties: Map<_, _> = keys.map(|key| ((*key).to_owned(), reference(key))).collect();
    json!({
        "description": "Settings that differ from the study.",
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Returns the rules for keys that exclude each other. The rules are conditions, because editors
/// then mark the later key. For a `not`, editors would only report that the mapping is not allowed.
fn exclusions(path: &str) -> Vec<Value> {
    let groups = format::EXCLUSIVE.iter().filter(|group| group.path == path);
    groups.flat_map(exclusion).collect()
}

fn exclusion(group: &'static Exclusive) -> impl Iterator<Item = Value> {
    let others = |at: usize| {
        let others = group.keys[at + 1..].iter().map(|key| ((*key).to_owned(), json!(false)));
        Value::from(others.collect::<Map<_, _>>())
    };
    let last = group.keys.len().saturating_sub(1);
    group.keys[..last].iter().enumerate().map(
        move |(at, key)| json!({"if": {"required": [key]}, "then": {"properties": others(at)}}),
    )
}

/// Returns the rule for the keys that a complete study requires below a path. The forms of these
/// keys are defined with the keys.
fn whole(path: &str) -> Value {
    let mut must = Map::new();
    let required: Vec<_> = format::children(path)
        .filter(|(_, field)| field.required)
        .map(|(key, _)| key)
        .collect();
    if !required.is_empty() {
        must.insert("required".to_owned(), json!(required));
    }
    let mut rules: Vec<Value> = Vec::new();
    for group in format::EXCLUSIVE.iter().filter(|group| group.path == path && group.needed) {
        let one = group.keys.iter().map(|key| json!({"required": [key]}));
        rules.push(json!({"anyOf": one.collect::<Vec<_>>()}));
    }
    if path.is_empty() {
        rules.push(procedure_or_import());
    }
    if !rules.is_empty() {
        must.insert("allOf".to_owned(), rules.into());
    }
    let below = format::children(path).filter_map(|(key, field)| {
        let below = match field.typ {
            // The items of a list are always complete, so the form of the items already contains
            // the required keys.
            Type::List(_) => return None,
            Type::Map(_) => json!({"additionalProperties": whole(field.path)}),
            Type::Section(_) => in_section(whole(field.path)),
            _ => whole(field.path),
        };
        let says_something = below.as_object().is_some_and(|must| !must.is_empty())
            && below != json!({"additionalProperties": {}});
        says_something.then(|| (key.to_owned(), below))
    });
    let properties: Map<_, _> = below.collect();
    if !properties.is_empty() {
        must.insert("properties".to_owned(), properties.into());
    }
    must.into()
}

/// Returns the requirements of a section. If a key of the section is required, the section must be
/// a mapping.
fn in_section(mut must: Value) -> Value {
    if must.get("required").or(must.get("allOf")).is_some() {
        must["type"] = json!("object");
    }
    must
}

/// Returns the rule that a study needs a procedure, unless an imported command line states the
/// points.
fn procedure_or_import() -> Value {
    let imported = Tool::ALL.map(|tool| json!({"required": [tool.name()]}));
    json!({
        "if": {
            "required": ["workload"],
            "properties": {"workload": {"anyOf": imported}},
        },
        "else": {"required": ["procedure"]},
    })
}

#[cfg(test)]
pub(crate) mod tests;
