//! Refuses anchors at positions where CQL does not allow a value, and template parameters without a
//! value. If the client sent such statements unchanged, the server would refuse them with a message
//! about its grammar.

use super::statement::MarkedStatement;
use cql::tokens::{Token, TokenKind};
use std::collections::BTreeSet;

/// Words that precede the name of a table or keyspace.
const BEFORE_NAMES: [&str; 6] = ["into", "from", "update", "table", "keyspace", "use"];

/// A description of a mistake, and a hint for its correction.
pub(super) type Refusal = (String, String);

/// Returns an error for the first anchor of a statement that is at a position where CQL does not
/// allow a value. Also returns an error for a `?` without a name.
pub(super) fn misplaced(anchored: &MarkedStatement) -> Option<Refusal> {
    let tokens = cql::tokens::tokens(&anchored.cql).ok()?;
    let is_marker = |token: &Token| token.kind == TokenKind::Symbol && token.text == "?";
    let markers: Vec<usize> =
        (0..tokens.len()).filter(|index| is_marker(&tokens[*index])).collect();
    for (name, at) in anchored.names.iter().zip(&anchored.places) {
        let Some(index) = markers.iter().find(|index| tokens[**index].at == *at) else {
            return Some((
                format!("binding {name} is in quotes or in a comment, so its value has no effect"),
                format!(
                    "define a binding for the full text, such as Template('a-{{}}', Identity()), \
                     and write {{{name}}} without quotes"
                ),
            ));
        };
        let before = index.checked_sub(1).map(|before| &tokens[before]);
        let is_name = before.is_some_and(|token| {
            token.kind == TokenKind::Symbol && token.text == "."
                || token.kind == TokenKind::Word && BEFORE_NAMES.contains(&token.text.as_str())
        });
        if is_name {
            return Some((
                format!(
                    "binding {name} is the name of a table or keyspace, but cassay sends values \
                     separately from the text"
                ),
                format!("write the name itself, or TEMPLATE({name},NAME) and {name}=NAME"),
            ));
        }
    }
    (markers.len() > anchored.names.len()).then(|| {
        (
            "a `?` does not name a binding".to_owned(),
            "write ?name or {name}".to_owned(),
        )
    })
}

/// Returns an error if a text contains a template parameter that has neither a value nor a default.
pub(super) fn unset(text: &str, parameters: &BTreeSet<String>) -> Option<Refusal> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let name = text.split("UNSET:").skip(1).find_map(|rest| {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        // Other text may follow directly after the parameter, as in `<<keyspace>>.t`.
        let mut prefixes = (1..=end).rev().map(|end| &rest[..end]);
        prefixes.find(|prefix| parameters.contains(*prefix))
    })?;
    Some((
        format!("the template parameter {name} has neither a value nor a default"),
        format!("add {name}=VALUE to the command line, or write TEMPLATE({name},DEFAULT)"),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::statement::anchors;
    use super::*;

    #[test]
    fn anchors_where_no_value_can_stand_are_found() {
        for (cql, part) in [
            (
                "insert into t (k) values ('user-{k}')",
                "binding k is in quotes",
            ),
            (
                "insert into t (k) values (\"{k}\")",
                "binding k is in quotes",
            ),
            (
                "insert into t (k) values ({k}) -- and {v}",
                "binding v is in quotes or in a comment",
            ),
            (
                "insert into shop.{t} (k) values ({k})",
                "the name of a table",
            ),
            ("insert into {t} (k) values ({k})", "the name of a table"),
            ("select * from {t}", "the name of a table"),
            (
                "insert into t (k, v) values ({k}, ?)",
                "a `?` does not name a binding",
            ),
        ] {
            let said = misplaced(&anchors(cql)).unwrap_or_default().0;
            assert!(said.contains(part), "{cql}: {said}");
        }
        for cql in [
            "insert into shop.t (k, v) values ('{k}', 'a? b') using ttl {n}",
            "select v from t where k = ?k and m['x'] = {v} limit {n}",
            "update t set m = {'a': {v}} where k in ({k}, {l})",
        ] {
            assert_eq!(misplaced(&anchors(cql)), None, "{cql}");
        }
    }

    #[test]
    fn parameters_without_value_and_default_are_found() {
        let names: BTreeSet<String> = ["keyspace".to_owned()].into();
        let said = unset("insert into UNSET:keyspace.t (k)", &names).unwrap();
        assert!(
            said.0.contains("parameter keyspace has neither"),
            "{said:?}"
        );
        assert!(said.1.contains("keyspace=VALUE"), "{said:?}");
        assert_eq!(unset("UNSET:other", &names), None);
        assert_eq!(unset("insert into t", &names), None);
    }
}
