//! Reads meanings from the program's own tables, and from the schemas of its records.

use super::meaning::{About, Meaning};
use crate::command::schema;
use crate::exit::Exit;
use anyhow::Result;
use serde_json::Value;
use study::{format, reference};
use target_spec::fault::KINDS;

pub(super) fn keys() -> Vec<Meaning> {
    let of = |field: &'static format::Field| {
        let mut meaning = Meaning::new(About::Key, field.path, field.what);
        let mut add = |what: &str, text: String| meaning.more.push((what.to_owned(), text));
        add("value", reference::value_words(&field.typ));
        match field.default {
            _ if field.required => add("required", "if its section is present".to_owned()),
            Some("{}") | None => {}
            Some(default) => add("default", default.to_owned()),
        }
        let below: Vec<&str> = format::children(field.path).map(|(key, _)| key).collect();
        if !below.is_empty() {
            add("keys", below.join(", "));
        }
        meaning
    };
    format::fields().map(of).collect()
}

/// Returns every field of findings and intervals, and every word that is a value of such a field.
pub(super) fn figures() -> Result<Vec<Meaning>> {
    let mut found: Vec<Meaning> = Vec::new();
    for (text, file) in [
        (schema::FINDINGS, "findings.json"),
        (schema::INTERVAL, "intervals.ndjson"),
    ] {
        let schema = schema::parsed(text)?;
        add_object(&schema, file, &mut found);
        for (_, form) in schema["$defs"].as_object().into_iter().flatten() {
            add_object(form, file, &mut found);
        }
    }
    Ok(found)
}

/// Adds the fields of an object. If a field has the same meaning in several objects, adds the field
/// once.
fn add_object(form: &Value, file: &str, found: &mut Vec<Meaning>) {
    let of = form["description"].as_str().unwrap_or(file);
    for (name, field) in form["properties"].as_object().into_iter().flatten() {
        let Some(text) = field["description"].as_str() else {
            continue;
        };
        if found.iter().any(|known| known.name == *name && known.text == text) {
            continue;
        }
        let mut meaning = Meaning::new(About::Figure, name.clone(), text);
        meaning.more.push(("in".to_owned(), format!("{file}: {of}")));
        found.push(meaning);
    }
    for word in form["oneOf"].as_array().into_iter().flatten() {
        let (Some(name), Some(text)) = (word["const"].as_str(), word["description"].as_str())
        else {
            continue;
        };
        let mut meaning = Meaning::new(About::Figure, name, text);
        meaning.more.push(("a word of".to_owned(), of.to_owned()));
        if !found.contains(&meaning) {
            found.push(meaning);
        }
    }
}

pub(super) fn faults() -> Vec<Meaning> {
    let of = |kind: &target_spec::fault::FaultKind| {
        let mut meaning = Meaning::new(About::Fault, kind.name.clone(), kind.what.clone());
        let mut add = |what: &str, words: Vec<&str>| {
            if !words.is_empty() {
                meaning.more.push((what.to_owned(), words.join(", ")));
            }
        };
        add(
            "needs",
            kind.needs.iter().map(|capability| capability.name()).collect(),
        );
        add("takes", kind.takes.iter().map(|knob| knob.name()).collect());
        meaning
    };
    KINDS.iter().map(of).collect()
}

pub(super) fn exits() -> Vec<Meaning> {
    let of = |exit: Exit| Meaning::new(About::Exit, exit.code().to_string(), exit.what());
    Exit::ALL.map(of).into()
}
