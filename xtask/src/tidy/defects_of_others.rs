//! Checks that the tests named in `docs/defects-of-other-load-generators.md` exist. Without this
//! check, the table would silently become wrong when a test is renamed or removed.

use super::Violation;
use crate::tree::Tree;

const DOCUMENT: &str = "docs/defects-of-other-load-generators.md";

/// Checks the last column of the table, which names tests and their files. Each test must be a
/// function in its file.
pub fn tests_exist(tree: &Tree) -> Vec<Violation> {
    let Some(document) = tree.file(DOCUMENT) else {
        return vec![Violation::in_file(DOCUMENT, "is missing")];
    };
    let lines = document.text().lines().enumerate();
    let rows: Vec<_> = lines
        .filter_map(|(index, line)| Some((index + 1, line.strip_prefix('|')?)))
        .filter(|(_, row)| row.contains('`'))
        .collect();
    if rows.is_empty() {
        return vec![Violation::in_file(DOCUMENT, "names no test")];
    }
    let promised = rows.iter().flat_map(|(line, row)| {
        let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or("");
        let named: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        named.into_iter().map(move |name| (*line, name.to_owned()))
    });
    promised
        .filter_map(|(line, name)| {
            let (path, test) = name.split_once("::")?;
            let text = tree.file(path).map_or("", |file| file.text());
            let is_there = text.contains(&format!("fn {test}()"));
            (!is_there).then(|| Violation::on_line(DOCUMENT, line, format!("no test `{name}`")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promised_test_that_is_not_there_is_found() {
        let page = "| defect | test |\n| --- | --- |\n| a | `src/a.rs::one`, `src/a.rs::two` |\n";
        let tree = Tree::from_texts(&[(DOCUMENT, page), ("src/a.rs", "#[test]\nfn one() {}")]);
        let found: Vec<String> = tests_exist(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["docs/defects-of-other-load-generators.md:3: no test `src/a.rs::two`"]
        );
        assert_eq!(
            tests_exist(&Tree::from_texts(&[(DOCUMENT, "# Defects")])).len(),
            1
        );
        assert_eq!(tests_exist(&Tree::from_texts(&[])).len(), 1);
    }
}
