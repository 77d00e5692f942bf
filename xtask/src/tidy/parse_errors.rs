//! A rule about values of studies and records. If such a value cannot be parsed, the error must be
//! returned or reported. With `.ok()` or a default, cassay would use another value instead of the
//! one that it cannot read.

use super::Violation;
use crate::test_items::without_tests;
use crate::tree::Tree;
use syn::Expr;
use syn::visit::{self, Visit};

/// Crates that read values of studies and records.
const READERS: [&str; 6] = [
    "study",
    "engine",
    "findings",
    "target_spec",
    "cassandra",
    "cluster",
];

/// Methods of `Result` that drop its error.
const DROPS: [&str; 4] = ["ok", "unwrap_or", "unwrap_or_default", "unwrap_or_else"];

/// Exceptions to the rule. Each exception is a file or a folder of the sources, with the reason.
const EXCEPTIONS: [(&str, &str); 22] = [
    (
        "crates/study/src/schema/",
        "defaults and words of the table of keys, which may be texts",
    ),
    (
        "crates/study/src/format/fields/machines.rs",
        "an address: `rules/machines.rs` reports every text that is not an address",
    ),
    (
        "crates/study/src/settings/attached.rs",
        "addresses: `rules/attached.rs` reports every text that is not an address",
    ),
    (
        "crates/engine/src/missing_capabilities.rs",
        "facts about the machine in /proc",
    ),
    (
        "crates/engine/src/running_target.rs",
        "facts about the machine in /proc",
    ),
    (
        "crates/engine/src/nodes/process_placement.rs",
        "facts about CPUs and memory from the kernel",
    ),
    (
        "crates/engine/src/nodes/limit_facts.rs",
        "settings as nodes show them: a resource with an unreadable limit is unobserved",
    ),
    (
        "crates/cassandra/src/probe/beans.rs",
        "a number of an MBean: a value that is not a number becomes no reading",
    ),
    (
        "crates/engine/src/trial/finding.rs",
        "facts about this process in /proc",
    ),
    (
        "crates/target_spec/src/heap.rs",
        "options of a JVM: its callers expect `None` for a text that is not a size",
    ),
    (
        "crates/target_spec/src/java.rs",
        "a version as a Java states it",
    ),
    (
        "crates/cluster/src/attach.rs",
        "a version as a server states it",
    ),
    (
        "crates/cassandra/src/settings/compare_settings.rs",
        "values of servers: other texts are compared as texts",
    ),
    (
        "crates/cluster/src/local/host_info.rs",
        "facts about a control group from the kernel",
    ),
    (
        "crates/cluster/src/local/node_process.rs",
        "names of log files, some of which have no number",
    ),
    (
        "crates/cluster/src/local/settings_check/hosts.rs",
        "facts of a JVM, which states a text instead of an absent limit",
    ),
    (
        "crates/cassandra/src/metrics/tables.rs",
        "values of a server's tables, some of which are texts",
    ),
    (
        "crates/cassandra/src/probe/gc_log",
        "lines of a JVM's log, many of which describe no pause",
    ),
    (
        "crates/cassandra/src/ring_members.rs",
        "addresses as a server states them",
    ),
    (
        "crates/cassandra/src/compaction_sample.rs",
        "tasks as a server states them",
    ),
    (
        "crates/cluster/src/snapshot/attached.rs",
        "names of snapshots, some of which cassay did not create",
    ),
    (
        "crates/cassandra/src/status/gossip.rs",
        "addresses and sizes as a server states them",
    ),
];

/// Checks that the error of a parse is never dropped.
pub fn parse_errors(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut used = [false; EXCEPTIONS.len()];
    for file in tree.with_extension("rs").filter(|file| is_reader(&file.path)) {
        let mut dropped = Dropped::default();
        match syn::parse2(without_tests(file.text())) {
            Ok(syntax) => dropped.visit_file(&syntax),
            Err(why) => found.push(Violation::in_file(&file.path, why.to_string())),
        }
        match EXCEPTIONS.iter().position(|(place, _)| file.path.starts_with(place)) {
            Some(at) => used[at] |= !dropped.found.is_empty(),
            None => found.extend(dropped.found.into_iter().map(|(line, call)| {
                let what = format!(
                    "`{call}` drops the error: return it or report it, or name the file in \
                     xtask/src/tidy/parse_errors.rs with the reason"
                );
                Violation::on_line(&file.path, line, what)
            })),
        }
    }
    // Only the whole tree is checked for obsolete exceptions. The tree in a test of a rule does not
    // contain all of the files.
    if tree.file("Cargo.toml").is_some() {
        let idle = EXCEPTIONS.iter().zip(used).filter(|(_, used)| !used);
        found.extend(idle.map(|((place, _), _)| {
            Violation::in_file(place, "is an exception of tidy that is no longer needed")
        }));
    }
    found
}

/// Returns true for a source file of one of the [`READERS`], except for test files.
fn is_reader(path: &str) -> bool {
    let is_of = |name: &&str| path.starts_with(&format!("crates/{name}/src/"));
    READERS.iter().any(is_of) && !path.contains("/tests/") && !path.ends_with("/tests.rs")
}

/// Calls that drop the error of a parse. Each entry has the line, and the names of the parsing and
/// the dropping call.
#[derive(Default)]
struct Dropped {
    found: Vec<(usize, String)>,
}

impl<'ast> Visit<'ast> for Dropped {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        if let Some(parser) = parser(&call.receiver).filter(|_| DROPS.contains(&method.as_str())) {
            let line = call.method.span().start().line;
            self.found.push((line, format!("{parser}(…).{method}()")));
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Returns the name of the function that parses a value, if an expression is the result of a parse.
fn parser(value: &Expr) -> Option<String> {
    let name = match value {
        Expr::MethodCall(call) => call.method.to_string(),
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => path.path.segments.last()?.ident.to_string(),
            _ => return None,
        },
        _ => return None,
    };
    let is_parser = ["parse", "from_str", "from_spec"].contains(&name.as_str());
    (is_parser || name.starts_with("parse_")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, source: &str) -> Vec<usize> {
        parse_errors(&Tree::from_texts(&[(path, source)]))
            .iter()
            .map(|one| one.line)
            .collect()
    }

    #[test]
    fn every_way_to_drop_the_error_of_a_parse_is_found() {
        let source = "//! H\nfn a() -> Option<u64> {\n    let b = text.parse().ok()?;\n    \
            let c = text.parse::<u64>().unwrap_or_default();\n    \
            let d = units::parse_count(text).unwrap_or(5);\n    \
            let e = all.map(|one| serde_json::from_str(one).ok());\n    \
            let f = u8::from_str(text)\n        .unwrap_or_else(|_| 3);\n    \
            let g = text.parse::<u64>()?;\n    let h = list.first().unwrap_or_default();\n    \
            let i = text.parse::<u64>().map_err(why).ok();\n}\n\
            #[cfg(test)]\nmod tests {\n    fn a() { text.parse().ok(); }\n}\n";
        assert_eq!(lines("crates/study/src/a.rs", source), [3, 4, 5, 6, 8]);
        assert_eq!(lines("crates/findings/src/a/b.rs", source).len(), 5);
        for other in [
            "crates/study/src/a/tests.rs",
            "crates/load/src/a.rs",
            "crates/study/src/schema/a.rs",
        ] {
            assert_eq!(lines(other, source), [0; 0], "{other}");
        }
    }

    #[test]
    fn an_exception_that_nothing_needs_is_found() {
        let tree = Tree::from_texts(&[("Cargo.toml", "")]);
        let found = parse_errors(&tree);
        assert_eq!(found.len(), EXCEPTIONS.len());
        assert!(found[0].to_string().starts_with("crates/study/src/schema/: is an exception"));
    }
}
