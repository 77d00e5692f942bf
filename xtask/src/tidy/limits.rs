//! Checks that the limits in `docs/measurement.md` are those of the code. Readers who doubt a
//! verdict use this table, and a wrong table would mislead them.

use super::Violation;
use crate::tree::Tree;
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const CODE: &str = "crates/analysis/src/rules/limits.rs";
const DOCUMENT: &str = "docs/measurement.md";
const TABLE_HEAD: &str = "| limit | value | of |";

/// Checks that each field of `Limits::default()` has a row with its value, and that the table has
/// no other rows.
pub fn limits(tree: &Tree) -> Vec<Violation> {
    let text = |path: &str| tree.file(path).map(|file| file.text().to_owned()).unwrap_or_default();
    let coded = coded(&text(CODE));
    if coded.is_empty() {
        // Missing code is a violation, so that moving the code does not silently disable the rule.
        let what = "has no `impl Default for Limits`; name its file in xtask/src/tidy/limits.rs";
        return vec![Violation::in_file(CODE, what)];
    }
    let stated = stated(&text(DOCUMENT));
    let mut found = Vec::new();
    for (name, value) in &coded {
        match stated.get(name) {
            Some((_, written)) if written == value => {}
            Some((line, written)) => {
                let what = format!("states `{name}` as {written}, but {CODE} has {value}");
                found.push(Violation::on_line(DOCUMENT, *line, what));
            }
            None => {
                let what = format!("does not state the limit `{name}`, which is {value}");
                found.push(Violation::in_file(DOCUMENT, what));
            }
        }
    }
    for (name, (line, _)) in stated.iter().filter(|(name, _)| !coded.contains_key(*name)) {
        let what = format!("states the limit `{name}`, which {CODE} does not have");
        found.push(Violation::on_line(DOCUMENT, *line, what));
    }
    found
}

/// Returns the name and the value of each limit, as they are written in the code.
fn coded(source: &str) -> BTreeMap<String, String> {
    let mut fields = Fields {
        source,
        found: BTreeMap::new(),
    };
    if let Ok(file) = syn::parse_file(source) {
        fields.visit_file(&file);
    }
    fields.found
}

struct Fields<'a> {
    source: &'a str,
    found: BTreeMap<String, String>,
}

impl<'ast> Visit<'ast> for Fields<'_> {
    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        if node.path.is_ident("Limits") {
            for field in &node.fields {
                let value = &self.source[field.expr.span().byte_range()];
                if let syn::Member::Named(name) = &field.member {
                    self.found.insert(name.to_string(), value.to_owned());
                }
            }
        }
        visit::visit_expr_struct(self, node);
    }

    /// Skips the modules of tests, because tests use limits other than the defaults.
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}
}

/// Returns the line and the value of each row of the table, by the name of the limit.
fn stated(document: &str) -> BTreeMap<String, (usize, String)> {
    let lines = document.lines().enumerate().skip_while(|(_, line)| *line != TABLE_HEAD);
    let rows = lines.skip(2).take_while(|(_, line)| line.starts_with('|'));
    rows.filter_map(|(index, line)| {
        let mut cells = line.split('|').map(|cell| cell.trim().trim_matches('`')).skip(1);
        Some((
            cells.next()?.to_owned(),
            (index + 1, cells.next()?.to_owned()),
        ))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        impl Default for Limits {
            fn default() -> Self {
                Limits { late: [0.01, 0.10], silence_s: 2.0 }
            }
        }
        mod tests { fn a() { Limits { late: 9.0 } } }";

    #[test]
    fn a_limit_that_is_stated_wrongly_or_not_at_all_is_found() {
        let rows = "| --- | --- | --- |\n| `late` | `[0.01, 0.2]` | a |\n| `old` | `1` | b |\n";
        let page = format!("# A\n\n{TABLE_HEAD}\n{rows}");
        let found = limits(&Tree::from_texts(&[(CODE, SOURCE), (DOCUMENT, &page)]));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                format!("{DOCUMENT}:5: states `late` as [0.01, 0.2], but {CODE} has [0.01, 0.10]"),
                format!("{DOCUMENT}: does not state the limit `silence_s`, which is 2.0"),
                format!("{DOCUMENT}:6: states the limit `old`, which {CODE} does not have"),
            ]
        );
    }

    #[test]
    fn code_that_moved_is_a_violation_not_a_pass() {
        assert_eq!(
            limits(&Tree::from_texts(&[(DOCUMENT, TABLE_HEAD)])).len(),
            1
        );
    }
}
