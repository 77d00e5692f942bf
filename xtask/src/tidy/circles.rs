//! Limits import cycles. Files of a crate that import each other can be understood only together.

use super::Violation;
use crate::modules::Modules;
use crate::tree::Tree;

/// Maximum number of files in one cycle, for some crates. Cycles of two files, a parent and its
/// child, are permitted in all crates. These numbers may only decrease.
const FILES_MAX: [(&str, usize); 11] = [
    ("cassandra", 3),
    ("cluster", 3),
    ("cql", 4),
    ("imports", 6),
    ("linux", 3),
    ("null_server", 3),
    ("report", 4),
    ("store", 4),
    ("study", 5),
    ("topology", 8),
    ("workload", 5),
];

/// Maximum number of files in one cycle for the crates that are not in [`FILES_MAX`].
const FILES_MAX_ELSEWHERE: usize = 2;

/// Checks that no cycle exceeds its limit, and that limits are lowered when cycles become smaller.
pub fn circles(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in tree.crates() {
        let modules = Modules::read(tree, &name);
        let circles = modules.circles();
        let largest = circles.first().map_or(1, Vec::len);
        let known = FILES_MAX.iter().find(|(known, _)| *known == name);
        let most = known.map_or(FILES_MAX_ELSEWHERE, |(_, most)| *most);
        let path = format!("crates/{name}");
        if largest > most {
            let files = circles.first().map(|circle| circle.join(", "));
            let what = format!(
                "{largest} files import each other in a cycle, but at most {most} may: {} (`cargo \
                 xtask sizes {name}` lists the imports)",
                files.unwrap_or_default()
            );
            found.push(Violation::in_file(&path, what));
        } else if known.is_some() && largest < most {
            let what =
                format!("the largest cycle of the crate has {largest} files: lower FILES_MAX");
            found.push(Violation::in_file(&path, what));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let tree = Tree::from_texts(files);
        circles(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn three_files_in_a_circle_fail_but_a_re_export_does_not_count() {
        let a = ("crates/new/src/a.rs", "use crate::b::B;\npub struct A;\n");
        let b = ("crates/new/src/b.rs", "pub type B = crate::C;\n");
        let root = (
            "crates/new/src/lib.rs",
            "mod a;\nmod b;\nmod c;\npub use c::C;\n",
        );
        let back = ("crates/new/src/c.rs", "pub struct C(crate::a::A);\n");
        let found = messages(&[root, a, b, back]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("3 files"), "{found:?}");
        assert!(
            found[0].contains("new/src/a.rs, crates/new/src/b.rs"),
            "{found:?}"
        );
        let forth = ("crates/new/src/c.rs", "pub struct C;\n");
        assert_eq!(messages(&[root, a, b, forth]), Vec::<String>::new());
    }

    #[test]
    fn imports_of_tests_make_no_circle() {
        let root = ("crates/new/src/lib.rs", "mod a;\nmod b;\nmod c;\n");
        let a = ("crates/new/src/a.rs", "use crate::b::B;\npub struct A;\n");
        let b = ("crates/new/src/b.rs", "use crate::c::C;\npub struct B;\n");
        let tests = "pub struct C;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n";
        assert_eq!(
            messages(&[root, a, b, ("crates/new/src/c.rs", tests)]),
            Vec::<String>::new()
        );
    }
}
