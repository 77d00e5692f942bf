//! Handles the inline bindings `{{RECIPE}}` and `{(RECIPE)}`. Reports braces in a statement that
//! are neither a binding nor a CQL literal.

use super::statement::is_name_in_braces;
use super::workload_file::Op;
use yaml::{Entry, Node};

/// CQL functions with which a set may begin. Every other call in braces is a recipe.
const CQL_FUNCTIONS: [&str; 10] = [
    "now",
    "uuid",
    "currenttimestamp",
    "currentdate",
    "currenttime",
    "currenttimeuuid",
    "mintimeuuid",
    "maxtimeuuid",
    "totimestamp",
    "todate",
];

/// Moves the recipes in an operation's text to the operation's bindings, under new names.
///
/// # Errors
/// A pair of braces encloses neither a recipe, nor the name of a binding, nor a literal.
pub(super) fn name_recipes(op: &mut Op) -> Result<(), String> {
    let Some(text) = op.cql.text() else {
        return Ok(());
    };
    let (mut out, mut rest, mut named) = (String::new(), text, Vec::new());
    while let Some((before, pair, after)) = next_pair(rest) {
        out.push_str(before);
        match pair {
            Pair::Recipe(recipe) => {
                let name = format!("inline-{}", named.len() + 1);
                out.push_str(&format!("{{{name}}}"));
                named.push((name, recipe.trim().to_owned()));
            }
            Pair::Other(inner) => {
                if let Some(name) = name_in_braces(inner) {
                    return Err(format!(
                        "`{{{{{name}}}}}` contains a recipe in NoSQLBench, but {name} is not a \
                         recipe; write a binding as {{{name}}}, and a set with its value as {{ \
                         {{{name}}} }}"
                    ));
                }
                if !is_name_in_braces(inner) && !is_literal(inner) {
                    return Err(format!(
                        "`{{{inner}}}` is neither the name of a binding nor a CQL literal; write \
                         an inline recipe as {{{{Recipe()}}}}"
                    ));
                }
                // The text between the braces may itself contain recipes, so the search continues
                // inside.
                out.push('{');
                rest = &rest[before.len() + 1..];
                continue;
            }
        }
        rest = after;
    }
    if named.is_empty() {
        return Ok(());
    }
    out.push_str(rest);
    let place = op.cql.place.clone();
    op.cql = Node::plain(&out, place.clone());
    op.bindings.extend(named.into_iter().map(|(key, recipe)| Entry {
        key,
        place: place.clone(),
        value: Node::plain(&recipe, place.clone()),
        earlier: None,
    }));
    Ok(())
}

/// Returns the name in `{name}`. Here, `inner` is the text between the outer braces of `{{name}}`.
fn name_in_braces(inner: &str) -> Option<&str> {
    let name = inner.strip_prefix('{')?.strip_suffix('}')?;
    is_name_in_braces(name).then_some(name)
}

enum Pair<'a> {
    /// A text between `{{` and `}}`, or between `{(` and `)}`.
    Recipe(&'a str),
    /// A text between `{` and the matching `}`.
    Other(&'a str),
}

/// Returns the first pair of braces outside of quotes, with the text before it and the text after
/// it.
fn next_pair(text: &str) -> Option<(&str, Pair<'_>, &str)> {
    let open = unquoted(text, |rest| rest.starts_with('{'))?;
    let inner = &text[open + 1..];
    for (begin, end) in [("{", "}}"), ("(", ")}")] {
        if inner.starts_with(begin)
            && let Some(close) = unquoted(&inner[1..], |rest| rest.starts_with(end))
            && is_recipe(&inner[1..][..close])
        {
            let after = &inner[1 + close + end.len()..];
            return Some((&text[..open], Pair::Recipe(&inner[1..][..close]), after));
        }
    }
    let mut depth = 1;
    let close = unquoted(inner, |rest| {
        depth += i32::from(rest.starts_with('{')) - i32::from(rest.starts_with('}'));
        depth == 0
    })?;
    let (pair, after) = (Pair::Other(&inner[..close]), &inner[close + 1..]);
    Some((&text[..open], pair, after))
}

/// Returns the first position outside of single quotes at which `is_it` returns true.
fn unquoted(text: &str, mut is_it: impl FnMut(&str) -> bool) -> Option<usize> {
    let mut in_quotes = false;
    text.char_indices().find_map(|(at, c)| {
        in_quotes ^= c == '\'';
        (!in_quotes && is_it(&text[at..])).then_some(at)
    })
}

/// Returns true if a text between doubled braces is a recipe. Otherwise the text is a nested
/// literal. A recipe begins with a function's name and a parenthesis.
fn is_recipe(text: &str) -> bool {
    let text = text.trim_start();
    let name = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    name > 0 && text[name..].trim_start().starts_with('(')
}

/// Returns true if a text in braces may be a set, a map or a value of a user-defined type.
fn is_literal(text: &str) -> bool {
    let text = text.trim();
    if is_recipe(text) {
        let name = text.split('(').next().unwrap_or_default().trim();
        return CQL_FUNCTIONS.contains(&name.to_lowercase().as_str());
    }
    text.is_empty()
        || text.starts_with(|c: char| c.is_ascii_digit() || "'-{[(?:$".contains(c))
            && !text.starts_with("??")
        || text.contains([':', ','])
        || ["true", "false", "null", "nan", "infinity"].contains(&text.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text with names in place of its recipes, and the recipes. If the text cannot be
    /// parsed, returns the reason.
    fn parse(text: &str) -> Result<(String, Vec<String>), String> {
        let mut op = Op::from_text("op", &Node::plain(text, yaml::Place::default()));
        name_recipes(&mut op)?;
        let recipes = op
            .bindings
            .iter()
            .filter_map(|entry| entry.value.text())
            .map(str::to_owned)
            .collect();
        Ok((op.cql.text().unwrap_or_default().to_owned(), recipes))
    }

    #[test]
    fn recipes_where_they_are_used_are_bindings() {
        for (text, expected, recipes) in [
            (
                "insert into t (k, v) values ({k}, {{NumberNameToString()}})",
                "insert into t (k, v) values ({k}, {inline-1})",
                vec!["NumberNameToString()"],
            ),
            (
                "values ({(Mod(10); ToString())}, {{ Template('a-{}}}', Identity()) }})",
                "values ({inline-1}, {inline-2})",
                vec!["Mod(10); ToString()", "Template('a-{}}}', Identity())"],
            ),
            (
                "set m = {'a': {{Mod(5)}}}",
                "set m = {'a': {inline-1}}",
                vec!["Mod(5)"],
            ),
            (
                "with replication = {'class': 'x'}",
                "with replication = {'class': 'x'}",
                vec![],
            ),
            ("set s = {{1, 2}, {3}}", "set s = {{1, 2}, {3}}", vec![]),
            (
                "set s = {now(), uuid()}, t = {}",
                "set s = {now(), uuid()}, t = {}",
                vec![],
            ),
            ("set v = '{???}'", "set v = '{???}'", vec![]),
            (
                "set v = {street: 'x'}, w = {?, ?x}",
                "set v = {street: 'x'}, w = {?, ?x}",
                vec![],
            ),
        ] {
            let recipes: Vec<String> = recipes.into_iter().map(str::to_owned).collect();
            assert_eq!(parse(text), Ok((expected.to_owned(), recipes)), "{text}");
        }
    }

    #[test]
    fn braces_that_are_nothing_are_a_mistake() {
        for text in [
            "{???}",
            "{NumberNameToString()}",
            "{ key }",
            "{a b}",
            "{<value>}",
            "{\"key\"}",
        ] {
            let whole = format!("insert into t (k) values ({text})");
            let said = parse(&whole).expect_err(text);
            assert!(said.starts_with(&format!("`{text}` is neither")), "{said}");
        }
        let said = parse("insert into t (k) values ({{k}})").unwrap_err();
        assert!(
            said.contains("contains a recipe in NoSQLBench") && said.contains(" {k},"),
            "{said}"
        );
    }
}
