//! Rules about Rust source. They use the syntax tree or the tokens, so that braces in strings and
//! words in comments cannot mislead them.

use super::Violation;
use crate::test_items::without_tests;
use crate::tree::{File, Tree};
use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// Maximum number of lines of a function. A function that fits on a screen is easier to read, and a
/// screen shows about 80 lines.
const FUNCTION_LINES_MAX: usize = 80;
/// Beginning of a placeholder that formats the cause of an error.
const SOURCE: &str = "{source";
/// Maximum number of lines between an `unsafe` and the reason above it. The number is large enough
/// for a long comment before a wrapped statement.
const SAFETY_LINES_MAX: usize = 8;
/// File with the data plane, whose modules are in the folder [`HOT_LOOP_MODULES`].
const HOT_LOOP: &str = "crates/load/src/worker.rs";
const HOT_LOOP_MODULES: &str = "crates/load/src/worker/";
/// Words that the data plane must not contain, because they indicate code that is slow, blocking or
/// unpredictable.
const HOT_LOOP_BANS: [&str; 8] = [
    "dyn", "Mutex", "RwLock", "HashMap", "BTreeMap", "Regex", "async", "await",
];
/// Crates whose results depend only on the arguments of their functions.
const PURE_CRATES: [&str; 4] = ["cql", "workload", "imports", "analysis"];
/// Words that indicate access to files, the network, threads or clocks. Addresses of `std::net` are
/// data and are permitted.
const PURE_BANS: [&str; 9] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "std::time",
    "std::io",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
];
/// The crate that makes plans, which reads only the files of the study.
const PLANS: &str = "study";
/// Words that the crate [`PLANS`] must not contain, because only the execution of a plan requires
/// these accesses.
const PLAN_BANS: [&str; 6] = [
    "std::env",
    "std::process",
    "std::thread",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
];

/// Checks that each source file begins with `//!`.
pub fn headers(tree: &Tree) -> Vec<Violation> {
    let without = tree.with_extension("rs").filter(|file| !file.text().starts_with("//!"));
    without
        .map(|file| Violation::on_line(&file.path, 1, "begins without a `//!` header"))
        .collect()
}

/// Checks that functions have at most [`FUNCTION_LINES_MAX`] lines, from `fn` to the closing brace.
pub fn function_lengths(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        let syntax = match syn::parse_file(file.text()) {
            Ok(syntax) => syntax,
            Err(error) => {
                let what = format!("does not parse: {error}");
                found.push(Violation::on_line(
                    &file.path,
                    error.span().start().line,
                    what,
                ));
                continue;
            }
        };
        let mut functions = Functions::default();
        functions.visit_file(&syntax);
        for (name, first, last) in functions.found {
            let lines = last + 1 - first;
            if lines > FUNCTION_LINES_MAX {
                let what = format!("`{name}` has {lines} lines, limit {FUNCTION_LINES_MAX}");
                found.push(Violation::on_line(&file.path, first, what));
            }
        }
    }
    found
}

/// Name, first and last line of every function with a body.
#[derive(Default)]
struct Functions {
    found: Vec<(String, usize, usize)>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        self.found.push((signature.ident.to_string(), first, last));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.add(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.add(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(body) = &node.default {
            self.add(&node.sig, body);
        }
        visit::visit_trait_item_fn(self, node);
    }
}

/// Checks that each `unsafe` has a comment above it with `SAFETY:` and the reason. For functions, a
/// section `# Safety` is accepted.
pub fn safety(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        let lines: Vec<&str> = file.text().lines().collect();
        for line in words(file).iter().filter(|word| word.text == "unsafe").map(|word| word.line) {
            let above = &lines[line.saturating_sub(SAFETY_LINES_MAX + 1)..line];
            if !above.iter().any(|text| text.contains("SAFETY:") || text.contains("# Safety")) {
                found.push(Violation::on_line(
                    &file.path,
                    line,
                    "`unsafe` without `SAFETY:` above",
                ));
            }
        }
    }
    found
}

/// Checks that the text of an error does not contain its `source`. Otherwise a printed chain of
/// errors would contain the text of the source twice.
pub fn causes(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        for (at, line) in file.text().lines().enumerate() {
            if line.trim_start().starts_with("#[error(") && line.contains(SOURCE) {
                let what = "the chain of causes also shows `source`: rename the field";
                found.push(Violation::on_line(&file.path, at + 1, what));
            }
        }
    }
    found
}

/// Checks that the hot loop does not contain the words of [`HOT_LOOP_BANS`].
pub fn hot_loop(tree: &Tree) -> Vec<Violation> {
    if tree.file(HOT_LOOP).is_none() {
        // A missing file is a violation, so that renaming the file does not silently disable the
        // rule.
        let what = "the hot loop is gone; name its new file in xtask/src/tidy/code.rs";
        return vec![Violation::in_file(HOT_LOOP, what)];
    }
    let is_hot = |file: &&File| file.path == HOT_LOOP || file.path.starts_with(HOT_LOOP_MODULES);
    let mut found = Vec::new();
    for file in tree.with_extension("rs").filter(is_hot) {
        for word in shipped_words(file) {
            if HOT_LOOP_BANS.contains(&word.text.as_str()) {
                let what = format!("`{}` in the hot loop", word.text);
                found.push(Violation::on_line(&file.path, word.line, what));
            }
        }
    }
    found
}

/// Checks that pure crates do not contain the words of [`PURE_BANS`], and that the crate of plans
/// does not contain those of [`PLAN_BANS`].
pub fn pure_crates(tree: &Tree) -> Vec<Violation> {
    let pure = PURE_CRATES.map(|name| (name, &PURE_BANS[..], "must be pure"));
    let all = pure.into_iter().chain([(PLANS, &PLAN_BANS[..], "may only plan")]);
    let mut found = Vec::new();
    for (name, bans, is) in all {
        let folder = format!("crates/{name}/src/");
        for file in tree.with_extension("rs").filter(|file| file.path.starts_with(&folder)) {
            for word in shipped_words(file) {
                if bans.contains(&word.text.as_str()) {
                    let what = format!("`{}` in `{name}`, which {is}", word.text);
                    found.push(Violation::on_line(&file.path, word.line, what));
                }
            }
        }
    }
    found
}

/// An identifier, a keyword or a path, with its line. For `a::b`, the words are `a::b`, `a` and
/// `b`.
struct Word {
    text: String,
    line: usize,
}

/// Returns all words of the file. The list is empty for a file that cannot be parsed, which
/// `function_lengths` reports.
fn words(file: &File) -> Vec<Word> {
    let mut words = Vec::new();
    collect(file.text().parse().unwrap_or_default(), &mut words);
    words
}

/// Returns all words of the file like [`words`], but without items with `#[cfg(test)]`.
fn shipped_words(file: &File) -> Vec<Word> {
    let mut words = Vec::new();
    collect(without_tests(file.text()), &mut words);
    words
}

fn collect(tokens: TokenStream, words: &mut Vec<Word>) {
    let mut colons = 0;
    for token in tokens {
        let after_path = colons == 2;
        match token {
            TokenTree::Ident(ident) => {
                colons = 0;
                let (text, line) = (ident.to_string(), ident.span().start().line);
                if after_path {
                    let before = words.last().map(|word| word.text.clone()).unwrap_or_default();
                    words.push(Word {
                        text: format!("{before}::{text}"),
                        line,
                    });
                }
                words.push(Word { text, line });
            }
            TokenTree::Group(group) => {
                colons = 0;
                imports(&group, after_path, words);
                collect(group.stream(), words);
            }
            TokenTree::Punct(punct) => {
                let is_colon = punct.as_char() == ':';
                let joins = colons == 1 || punct.spacing() == Spacing::Joint;
                colons = if is_colon && joins { colons + 1 } else { 0 };
            }
            TokenTree::Literal(_) => colons = 0,
        }
    }
}

/// Collects the words of a group of imports. For `use std::{fs, io}`, these are `std::fs` and
/// `std::io`.
fn imports(group: &proc_macro2::Group, after_path: bool, words: &mut Vec<Word>) {
    let Some(before) = words.last().filter(|_| after_path).map(|word| word.text.clone()) else {
        return;
    };
    for token in group.stream() {
        if let TokenTree::Ident(ident) = token {
            let line = ident.span().start().line;
            words.push(Word {
                text: format!("{before}::{ident}"),
                line,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(violations: &[Violation]) -> Vec<(usize, &str)> {
        violations.iter().map(|v| (v.line, v.what.as_str())).collect()
    }

    #[test]
    fn a_function_is_measured_from_fn_to_its_closing_brace() {
        let body = |lines: usize| "    let _ = \"}\";\n".repeat(lines);
        let source = format!(
            "//! H\n\n#[inline]\nfn fits() {{\n{}}}\nimpl A {{\nfn long() {{\n{}}}\n}}\n",
            body(78),
            body(79)
        );
        let tree = Tree::from_texts(&[("a.rs", &source)]);
        assert_eq!(
            lines(&function_lengths(&tree)),
            [(85, "`long` has 81 lines, limit 80")]
        );
    }

    #[test]
    fn a_file_that_does_not_parse_is_reported() {
        let found = function_lengths(&Tree::from_texts(&[("a.rs", "//! H\nfn {")]));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_missing_header_is_found() {
        assert_eq!(
            headers(&Tree::from_texts(&[
                ("a.rs", "fn a() {}"),
                ("b.rs", "//! B")
            ]))
            .len(),
            1
        );
    }

    #[test]
    fn unsafe_needs_its_reason_but_the_word_in_a_string_does_not() {
        let source = "//! H\nfn a() {\n    // SAFETY: it is.\n    unsafe { b() }\n}\n\n\n\n\n\n\n\n\
            fn c() {\n    let _ = \"unsafe\"; // unsafe\n    unsafe { b() }\n}\n";
        let found = safety(&Tree::from_texts(&[("a.rs", source)]));
        assert_eq!(lines(&found), [(15, "`unsafe` without `SAFETY:` above")]);
    }

    #[test]
    fn a_cause_in_the_text_of_an_error_is_found() {
        let source = "//! H\n#[error(\"cannot read {path}: {source}\")]\n#[error(\"{answer}\")]\n";
        let found = causes(&Tree::from_texts(&[("a.rs", source)]));
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn the_hot_loop_may_use_in_its_tests_what_it_may_not_ship() {
        let source = "//! No dyn here.\nuse std::collections::HashMap;\nfn a(b: &dyn C) {}\n\
            #[cfg(test)]\nmod tests {\n    use std::sync::Mutex;\n}\nasync fn d() {}\n";
        let module = "crates/load/src/worker/release.rs";
        let found = hot_loop(&Tree::from_texts(&[
            (HOT_LOOP, source),
            (module, "//! H\nstruct A(Mutex);"),
        ]));
        let named: Vec<usize> = found.iter().map(|v| v.line).collect();
        assert_eq!(named, [2, 3, 8, 2]);
        assert_eq!(
            hot_loop(&Tree::from_texts(&[])).len(),
            1,
            "a renamed file is reported"
        );
    }

    #[test]
    fn a_pure_crate_has_addresses_but_no_sockets() {
        let source = "//! H\nuse std::net::SocketAddr;\nuse std::{fmt, fs};\n\
            fn a() { std::thread::sleep(b); }\n#[cfg(test)]\nmod tests { use std::io; }\n";
        let tree = Tree::from_texts(&[
            ("crates/cql/src/a.rs", source),
            ("crates/load/src/a.rs", source),
            (
                "crates/study/src/a.rs",
                "//! H\nuse std::fs;\nuse std::{env, path};\n",
            ),
        ]);
        let found = pure_crates(&tree);
        assert_eq!(
            lines(&found),
            [
                (3, "`std::fs` in `cql`, which must be pure"),
                (4, "`std::thread` in `cql`, which must be pure"),
                (3, "`std::env` in `study`, which may only plan"),
            ]
        );
    }
}
