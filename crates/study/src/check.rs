//! Checks nodes against the table of [`crate::format`]. If the check finds a mistake, it reports
//! the mistake and continues.
//!
//! The result is a [`Tree`] that contains the defaults. The tree is complete only if no mistake was
//! reported, so callers check [`Diagnostics::is_empty`] first.

mod partial;

use crate::checked_tree::Tree;
use crate::format::{self, Exclusive, Type};
use crate::settings::secret_kind;
use crate::units;
use std::ops::RangeInclusive;
use versions::{Release, UnknownRelease};
use yaml::{Diagnostics, Place, did_you_mean};
use yaml::{Node, Raw};

/// Names in the results folder that cassay uses for links or files. A study must not have one of
/// these names.
pub const RESERVED_NAMES: [&str; 1] = ["latest"];

/// Checks a whole study.
pub fn study(root: &Node, diagnostics: &mut Diagnostics) -> Tree {
    if !matches!(root.raw, Raw::Map(_)) {
        let message = format!("a study is a mapping of keys, not {}", root.describe());
        let hint = "begin the file with `study: a-name`".to_owned();
        diagnostics.add(&root.place, message, Some(hint));
        return Tree::Null;
    }
    section(root, "", diagnostics)
}

fn section(node: &Node, path: &str, diagnostics: &mut Diagnostics) -> Tree {
    let entries = match &node.raw {
        Raw::Map(entries) => entries.as_slice(),
        Raw::Null => &[],
        Raw::Scalar { .. } | Raw::List(_) => {
            let message = format!("`{path}` is {}; it must be a mapping", node.describe());
            let keys: Vec<_> = format::children(path).map(|(key, _)| key).collect();
            let hint = match (path, &node.raw) {
                ("target.attach", Raw::Scalar { text, .. }) => {
                    format!("write `attach: {{contact_points: ['{text}']}}`")
                }
                _ => format!("its keys: {}", keys.join(", ")),
            };
            diagnostics.add(&node.place, message, Some(hint));
            return Tree::Null;
        }
    };
    let mut checked = Vec::new();
    for entry in entries {
        let field = format::children(path).find(|(key, _)| *key == entry.key);
        if let Some((key, field)) = field {
            let tree = value(
                &entry.value,
                field.path,
                &field.typ,
                &entry.place,
                diagnostics,
            );
            checked.push((key.to_owned(), tree));
        } else {
            unknown_key(&entry.key, &entry.place, path, diagnostics);
        }
    }
    for group in format::EXCLUSIVE.iter().filter(|group| group.path == path) {
        exclusive(node, group, diagnostics);
    }
    absent(node, path, &mut checked, diagnostics);
    Tree::Map(checked)
}

/// Fills in the defaults of absent keys, and reports required keys that are missing.
fn absent(
    node: &Node,
    path: &str,
    checked: &mut Vec<(String, Tree)>,
    diagnostics: &mut Diagnostics,
) {
    for (key, field) in format::children(path) {
        if node.entry(key).is_some() {
            continue;
        }
        if field.required {
            let message = format!("`{}` is missing", field.path);
            let choice = format::EXCLUSIVE.iter().find(|group| group.path == field.path);
            let example = match choice.filter(|group| group.needed) {
                Some(group) => format!("{}: `cassay explain {key}`", group.keys.join(", ")),
                None => format!("the key means: {}", field.what),
            };
            diagnostics.add(&head(&node.place), message, Some(example));
        } else if let Some(default) = field.default {
            let tree = default_tree(default, field.path, &field.typ);
            checked.push((key.to_owned(), tree));
        }
    }
}

fn default_tree(default: &str, path: &str, typ: &Type) -> Tree {
    // Mistakes in a default are not reported here, because a test of all defaults finds them.
    let mut none = Diagnostics::new(Vec::new());
    let node = yaml::parse(0, default, yaml::Limits::STUDY, &mut none);
    node.map_or(Tree::Null, |node| {
        value(&node, path, typ, &node.place.clone(), &mut none)
    })
}

/// Returns the start of a place. The report of a missing key points to the start of its section, so
/// that it does not mark the whole section.
fn head(place: &Place) -> Place {
    Place {
        source: place.source,
        span: place.span.start..place.span.start,
    }
}

fn unknown_key(key: &str, place: &Place, path: &str, diagnostics: &mut Diagnostics) {
    let whole = join(path, key);
    let message = format!("`{whole}` is not a key of a study");
    let elsewhere = format::ELSEWHERE.iter().find(|(name, _)| *name == whole);
    let hint = match elsewhere {
        Some((_, path)) => Some(format!("use `{path}`")),
        None => did_you_mean(key, format::children(path).map(|(key, _)| key)),
    };
    diagnostics.add(place, message, hint);
}

fn exclusive(node: &Node, group: &Exclusive, diagnostics: &mut Diagnostics) {
    let present: Vec<_> = group.keys.iter().filter_map(|key| node.entry(key)).collect();
    let names = group.keys.join("`, `");
    if let [first, second, ..] = present.as_slice() {
        let (a, b) = (&first.key, &second.key);
        let whole = match group.path {
            "" => "the study".to_owned(),
            path => format!("`{path}`"),
        };
        let message = format!("{whole} has both `{a}` and `{b}`");
        let hint = format!("use one of `{names}`");
        diagnostics.add(&second.place, message, Some(hint));
    } else if present.is_empty() && group.needed && !misspells_one(node, group) {
        let message = format!("`{}` requires one of `{names}`", group.path);
        diagnostics.add(&head(&node.place), message, None);
    }
}

/// Returns true if an unknown key resembles a key of the group. In this case, the report of the
/// unknown key suggests the key of the group.
fn misspells_one(node: &Node, group: &Exclusive) -> bool {
    let is_unknown = |key: &str| format::children(group.path).all(|(known, _)| known != key);
    let resembles = |key: &str| yaml::near_name(key, group.keys.iter().copied()).is_some();
    let mut entries = node.entries().into_iter().flatten();
    entries.any(|entry| is_unknown(&entry.key) && resembles(&entry.key))
}

fn value(
    node: &Node,
    path: &str,
    typ: &Type,
    key_place: &Place,
    diagnostics: &mut Diagnostics,
) -> Tree {
    match typ {
        Type::Section(_) => section(node, path, diagnostics),
        Type::Variants => partial::variants(node, path, diagnostics),
        Type::Matrix => partial::matrix(node, path, diagnostics),
        Type::Phase => partial::phase(node, path, diagnostics),
        Type::Scales => partial::scales(node, path, diagnostics),
        Type::Secret(_) => secret(node, path, key_place, diagnostics),
        Type::Any(_) => any(node),
        Type::List(item) => list(node, path, item, diagnostics),
        Type::Map(item) => map(node, path, item, diagnostics),
        Type::Either(scalar, mapping) => {
            let typ = if matches!(node.raw, Raw::Map(_)) {
                mapping
            } else {
                scalar
            };
            value(node, path, typ, key_place, diagnostics)
        }
        Type::WordOr(_, inner) => match node.text() {
            Some(text) if typ.words().contains(&text) => Tree::Text(text.to_owned()),
            _ => value(node, path, inner, key_place, diagnostics),
        },
        _ => scalar(node, path, typ, diagnostics),
    }
}

fn list(node: &Node, path: &str, item: &Type, diagnostics: &mut Diagnostics) -> Tree {
    let Raw::List(items) = &node.raw else {
        // A single value without brackets counts as a list of one item.
        if matches!(node.raw, Raw::Scalar { .. }) {
            let tree = value(node, path, item, &node.place, diagnostics);
            return Tree::List(vec![tree]);
        }
        let message = format!("`{path}` is {}; it must be a list", node.describe());
        diagnostics.add(&node.place, message, Some("write it as [a, b]".to_owned()));
        return Tree::Null;
    };
    if items.is_empty() {
        let hint = format!("write at least one item, or remove `{path}`");
        let message = format!("`{path}` is an empty list");
        diagnostics.add(&node.place, message, Some(hint));
    }
    let check = |node| value(node, path, item, &node.place, diagnostics);
    Tree::List(items.iter().map(check).collect())
}

fn map(node: &Node, path: &str, item: &Type, diagnostics: &mut Diagnostics) -> Tree {
    let entries = match &node.raw {
        Raw::Map(entries) => entries.as_slice(),
        Raw::Null => &[],
        Raw::Scalar { .. } | Raw::List(_) => {
            let message = format!("`{path}` is {}; it must be a mapping", node.describe());
            let hint = "write a mapping such as {key: value}".to_owned();
            diagnostics.add(&node.place, message, Some(hint));
            return Tree::Null;
        }
    };
    let mut checked = Vec::new();
    for entry in entries {
        let path = match item {
            // The path of an entry does not contain the name of the entry, because all entries have
            // the same rows in the table.
            Type::Section(_) => path.to_owned(),
            _ => join(path, &entry.key),
        };
        let tree = value(&entry.value, &path, item, &entry.place, diagnostics);
        checked.push((entry.key.clone(), tree));
    }
    Tree::Map(checked)
}

/// Returns the value of a node as the user wrote it. The value may have any type.
pub(crate) fn any(node: &Node) -> Tree {
    match &node.raw {
        Raw::Null => Tree::Null,
        Raw::List(items) => Tree::List(items.iter().map(any).collect()),
        Raw::Map(entries) => {
            let entries = entries.iter();
            Tree::Map(entries.map(|e| (e.key.clone(), any(&e.value))).collect())
        }
        Raw::Scalar { text, quoted } => match text.as_str() {
            _ if *quoted => Tree::Text(text.clone()),
            "true" => Tree::Bool(true),
            "false" => Tree::Bool(false),
            _ => {
                // Integers are not converted to floats, because the server writes "no limit" as
                // `-1` and does not accept `-1.0`.
                let count = text.parse().map(Tree::Count);
                let whole = count.or_else(|_| text.parse().map(Tree::Negative));
                whole.unwrap_or_else(|_| match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => Tree::Number(number),
                    _ => Tree::Text(text.clone()),
                })
            }
        },
    }
}

/// Checks the source of a secret, which is a name, a file or an environment variable. cassay
/// refuses a literal secret, and the message does not contain it.
fn secret(node: &Node, path: &str, key_place: &Place, diagnostics: &mut Diagnostics) -> Tree {
    let hint = || {
        Some(format!(
            "set `{path}: {{secret: NAME}}` and pass --secret NAME=file:PATH"
        ))
    };
    let [entry] = node.entries().unwrap_or_default() else {
        let message = format!("`{path}` does not name the source of the secret");
        diagnostics.add_secret(key_place, message, hint());
        return Tree::Null;
    };
    if secret_kind(&entry.key).is_none() {
        let message = format!(
            "`{path}` accepts `secret`, `file` and `env`, not `{}`",
            entry.key
        );
        diagnostics.add_secret(&entry.place, message, hint());
        return Tree::Null;
    }
    let tree = scalar(
        &entry.value,
        &join(path, &entry.key),
        &Type::Text(|_, _| {}),
        diagnostics,
    );
    Tree::Map(vec![(entry.key.clone(), tree)])
}

fn scalar(node: &Node, path: &str, typ: &Type, diagnostics: &mut Diagnostics) -> Tree {
    let Some(text) = node.text() else {
        let message = format!("`{path}` is {}; it must be {}", node.describe(), words(typ));
        diagnostics.add(&node.place, message, example(typ));
        return Tree::Null;
    };
    let parsed = match typ {
        Type::Text(_) if text.trim().is_empty() => Err("it is empty".to_owned()),
        Type::Text(_) => Ok(Tree::Text(text.to_owned())),
        Type::Name(_) if path == "study" && RESERVED_NAMES.contains(&text) => Err(format!(
            "`results/{text}` is reserved for the link to the latest run"
        )),
        // A later step checks that the target has the named object.
        Type::Name(_) | Type::Fault(_) => name(text).map(|()| Tree::Text(text.to_owned())),
        Type::Release(_) => return release(node, text, path, diagnostics),
        Type::CqlName(_) => cql_name(text).map(|()| Tree::Text(text.to_owned())),
        Type::Bool(_) => {
            text.parse().map(Tree::Bool).map_err(|_| "it must be true or false".to_owned())
        }
        Type::Count(min, max, _) => units::parse_count(text)
            .map_err(|why| limit_instead(why, *max, units::format_count))
            .and_then(|n| within(n, *min, *max, units::format_count))
            .map(Tree::Count),
        Type::Duration(min, max, _) => units::parse_duration_ns(text)
            .map_err(|why| limit_instead(why, *max, units::format_duration_ns))
            .and_then(|n| within(n, *min, *max, units::format_duration_ns))
            .map(Tree::DurationNs),
        Type::Bytes(min, max, _) => units::parse_bytes(text)
            .map_err(|why| limit_instead(why, *max, units::format_bytes))
            .and_then(|n| within(n, *min, *max, units::format_bytes))
            .map(Tree::Bytes),
        Type::BitRate(min, max, _) => units::parse_bit_rate(text)
            .map_err(|why| limit_instead(why, *max, units::format_bit_rate))
            .and_then(|n| within(n, *min, *max, units::format_bit_rate))
            .map(Tree::BitRate),
        Type::Number(min, max, _) => units::parse_number(text)
            .and_then(|n| within(n, *min, *max, |n| n.to_string()))
            .map(Tree::Number),
        Type::Share(min, max, _) => units::parse_share(text)
            .and_then(|n| within(n, *min, *max, units::format_share))
            .map(Tree::Number),
        Type::Choice(_) | Type::Level(..) => {
            return choice(node, text, path, &typ.words(), diagnostics);
        }
        // All other types are not scalars, so `value` handles them.
        _ => Ok(Tree::Null),
    };
    parsed.unwrap_or_else(|why| {
        // An example helps the user if the form of the value is wrong, but not if the value is
        // outside the limits.
        let limit = why.starts_with("the maximum") || why.starts_with("the minimum");
        let hint = match typ {
            _ if limit => None,
            Type::Count(min, max, _) => number_at_end(text, *min..=*max).or_else(|| example(typ)),
            _ => example(typ),
        };
        diagnostics.add(&node.place, format!("`{path}` is `{text}`: {why}"), hint);
        Tree::Null
    })
}

fn release(node: &Node, text: &str, path: &str, diagnostics: &mut Diagnostics) -> Tree {
    match Release::parse(text) {
        Ok(release) => Tree::Release(release, text.to_owned()),
        Err(UnknownRelease { why, hint }) => {
            diagnostics.add(&node.place, format!("`{path}`: {why}"), Some(hint));
            Tree::Null
        }
    }
}

/// Number of permitted words from which on a message does not list the words.
const KNOWN_SHOWN_MAX: usize = 16;

/// Returns a message about a word that is not permitted. Also returns a hint if `text` resembles a
/// permitted word, or if the message does not list the words.
pub(crate) fn unknown(path: &str, text: &str, known: &[&str]) -> (String, Option<String>) {
    let one_of = match known.len() {
        // A longer list does not help a user who has misspelt a word.
        KNOWN_SHOWN_MAX.. => format!("{} values", known.len()),
        _ => known.join(", "),
    };
    let message = format!("`{path}` is `{text}`; it must be one of {one_of}");
    let hint = did_you_mean(text, known.iter().copied());
    let omits_names = known.len() >= KNOWN_SHOWN_MAX;
    (
        message,
        hint.filter(|hint| omits_names || hint.starts_with("did")),
    )
}

fn choice(
    node: &Node,
    text: &str,
    path: &str,
    known: &[&str],
    diagnostics: &mut Diagnostics,
) -> Tree {
    if let Some(word) = known.iter().find(|word| word.eq_ignore_ascii_case(text)) {
        return Tree::Text((*word).to_owned());
    }
    let (message, hint) = unknown(path, text, known);
    diagnostics.add(&node.place, message, hint);
    Tree::Null
}

/// Returns the error for a value above the maximum, if the value is too large to represent.
/// Otherwise returns the given error.
fn limit_instead<T>(why: String, max: T, show: impl Fn(T) -> String) -> String {
    if units::is_too_large(&why) {
        format!("the maximum is {}", show(max))
    } else {
        why
    }
}

/// Returns a hint if the text is a word before a number, such as `node2`, and the number is within
/// the limits.
fn number_at_end(text: &str, limits: RangeInclusive<u64>) -> Option<String> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_alphabetic() || "-_ ".contains(c));
    let is_word_before = text.starts_with(|c: char| c.is_ascii_alphabetic());
    match digits.parse::<u64>() {
        Ok(number) if is_word_before && limits.contains(&number) => Some(format!("write {number}")),
        _ => None,
    }
}

fn within<T: PartialOrd + Copy>(
    value: T,
    min: T,
    max: T,
    show: impl Fn(T) -> String,
) -> Result<T, String> {
    if value < min {
        Err(format!("the minimum is {}", show(min)))
    } else if value > max {
        Err(format!("the maximum is {}", show(max)))
    } else {
        Ok(value)
    }
}

/// Checks a name that becomes the name of a folder. The name must not lead outside the parent
/// folder.
pub(crate) fn name(text: &str) -> Result<(), String> {
    // Maximum length of a name. It leaves space for the rest of the folder's name, because file
    // systems limit a name to 255 bytes.
    const NAME_BYTES_MAX: usize = 64;
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() || text.len() > NAME_BYTES_MAX {
        Err(format!("a name has 1 to {NAME_BYTES_MAX} characters"))
    } else if !text.chars().all(good) || text.starts_with(['.', '-']) {
        Err(
            "a name consists of letters, digits, `.`, `_` and `-`, and does not begin with `.` or \
             `-`"
            .into(),
        )
    } else {
        Ok(())
    }
}

/// Checks a CQL name. Cassandra limits names of keyspaces and tables to 48 characters.
fn cql_name(text: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.len() <= 48
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(good)
    {
        Ok(())
    } else {
        Err("a CQL name has at most 48 letters, digits and `_`, and begins with a letter".into())
    }
}

/// Describes a type, with the indefinite article.
pub fn words(typ: &Type) -> String {
    match typ {
        Type::Text(_) => "a string".into(),
        Type::Name(_) | Type::CqlName(_) => "a name".into(),
        Type::Release(_) => "a release".into(),
        Type::Count(..) => "a whole number".into(),
        Type::Number(..) => "a number".into(),
        Type::Share(..) => "a share".into(),
        Type::Duration(..) => "a duration".into(),
        Type::Bytes(..) => "a size".into(),
        Type::BitRate(..) => "a bit rate".into(),
        Type::Bool(_) => "true or false".into(),
        Type::Choice(_) | Type::Level(..) | Type::Fault(_) => {
            format!("one of {}", typ.words().join(", "))
        }
        Type::List(item) => format!("a list of {}", plural(&words(item))),
        Type::Map(item) => format!("a mapping of names to {}", plural(&words(item))),
        Type::Any(_) => "any value".into(),
        Type::WordOr(_, other) => format!("`{}` or {}", typ.words().join("`, `"), words(other)),
        Type::Either(a, b) => format!("{}, or {}", words(a), words(b)),
        Type::Section(_) => "a section".into(),
        Type::Secret(_) => "`{secret: NAME}`, `{file: PATH}` or `{env: NAME}`".into(),
        Type::Variants => "a mapping of names to settings".into(),
        Type::Matrix => "a mapping of axes to names to settings".into(),
        Type::Phase => "a mapping of settings in this phase".into(),
        Type::Scales => "a mapping of names to dotted keys with values".into(),
    }
}

/// Puts the words of a type into the plural: `a size, 1B to 1GiB` becomes `sizes, 1B to 1GiB`.
/// Words without an article stay the same.
pub fn plural(words: &str) -> String {
    let Some(one) = words.strip_prefix("a ") else {
        return words.replacen("any value", "values of any type", 1);
    };
    let (noun, limits) = one.split_at(one.find(',').unwrap_or(one.len()));
    format!("{noun}s{limits}")
}

pub(crate) fn example(typ: &Type) -> Option<String> {
    let example = match typ {
        Type::Count(..) => "write a whole number such as 250, 10k or 2M",
        Type::Share(..) => "write a share such as 5% or 0.05",
        Type::Duration(..) => "write a duration with its unit, such as 10s or 250ms",
        Type::BitRate(..) => "write a bit rate with its unit, such as 1Gbit or 100Mbit",
        Type::Bytes(..) => "write a size with its unit, such as 1GiB or 512MiB",
        _ => return None,
    };
    Some(example.to_owned())
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_own_type() {
        for field in format::fields() {
            let Some(default) = field.default else {
                continue;
            };
            let mut diagnostics = Diagnostics::new(Vec::new());
            let node = yaml::parse(0, default, yaml::Limits::STUDY, &mut diagnostics).unwrap();
            value(
                &node,
                field.path,
                &field.typ,
                &Place::default(),
                &mut diagnostics,
            );
            assert_eq!(diagnostics.to_string(), "", "{}", field.path);
        }
    }

    #[test]
    fn a_wrong_value_has_the_limit_or_a_hint() {
        let count = Type::Count(1, 128, |_, _| {});
        let duration = Type::Duration(1, 1_000_000_000, |_, _| {});
        for (typ, text, part) in [
            (&count, "node2", "hint: write 2"),
            (&count, "n-3", "hint: write 3"),
            (&count, "node900", "hint: write a whole number"),
            (&count, "node", "hint: write a whole number"),
            (&count, "99999999999999999999", "the maximum is 128"),
            (&duration, "99999999d", "the maximum is 1s"),
        ] {
            let mut diagnostics = Diagnostics::new(Vec::new());
            let node = Node::plain(text, Place::default());
            value(&node, "key", typ, &Place::default(), &mut diagnostics);
            let shown = diagnostics.to_string();
            assert!(shown.contains(part), "{text}: {shown}");
        }
    }
}
