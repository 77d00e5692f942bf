//! Finds the imports within a crate, file by file, and the cycles that they form.
//!
//! The code is read as tokens, so that paths within macros also count. An arrow is an import, and
//! leads to the file that *defines* the imported name. Re-exports (`pub use`) are followed, and are
//! not arrows themselves. Tests are omitted. These are items with `#[cfg(test)]`, and the files of
//! modules that are declared with this attribute.

use crate::test_items::{is_cfg_test, is_item_end};
use crate::tree::Tree;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// The files of one crate, and the references between them.
pub struct Modules {
    /// Files by their module path. The path is `""` for the root of the crate and `a::b` below it.
    files: BTreeMap<String, Module>,
}

#[derive(Default)]
struct Module {
    path: String,
    lines_count: usize,
    defined: BTreeSet<String>,
    /// Imports of the file, by the name that they have in the file. A glob import has the name `*`.
    imported: Vec<(String, Vec<String>)>,
    /// Paths that the file uses, each from the root of the crate.
    named: BTreeSet<Vec<String>>,
    tests: BTreeSet<String>,
}

impl Modules {
    /// Reads the modules of the crate in `crates/NAME`.
    pub fn read(tree: &Tree, name: &str) -> Modules {
        let source = format!("crates/{name}/src/");
        let mut files = BTreeMap::new();
        for file in tree.with_extension("rs") {
            let Some(inner) = file.path.strip_prefix(&source) else {
                continue;
            };
            let place = module_path(inner);
            let mut module = Module {
                path: file.path.clone(),
                lines_count: lines_without_tests(file.text()),
                ..Module::default()
            };
            if let Ok(tokens) = file.text().parse() {
                read(tokens, &place, &mut module);
            }
            files.insert(place.join("::"), module);
        }
        let tests: Vec<String> = files
            .iter()
            .flat_map(|(place, module)| module.tests.iter().map(|name| joined(place, name)))
            .collect();
        files.retain(|place, _| {
            let is_within =
                |test: &String| place == test || place.starts_with(&format!("{test}::"));
            !tests.iter().any(is_within)
        });
        Modules { files }
    }

    /// Returns the total number of lines of all files, without tests.
    pub fn lines_count(&self) -> usize {
        self.files.values().map(|module| module.lines_count).sum()
    }

    /// Returns the sets of files that form import cycles, that is, files that all reach each other
    /// through imports. The largest set comes first.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.files.keys().map(|from| (from.as_str(), self.reached_from(from))).collect();
        let mut circles = BTreeSet::new();
        for (from, to) in &reached {
            let circle: Vec<&str> =
                to.iter().copied().filter(|other| reached[other].contains(from)).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        let mut circles: Vec<Vec<&str>> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        let path = |place: &str| self.files[place].path.as_str();
        let in_paths = |circle: Vec<&str>| circle.into_iter().map(path).collect();
        circles.into_iter().map(in_paths).collect()
    }

    /// Returns the references between files. Each has the path of the referring file, the path of
    /// the defining file, and the name.
    pub fn arrows(&self) -> Vec<(&str, &str, String)> {
        let mut arrows = Vec::new();
        for (from, module) in &self.files {
            for name in &module.named {
                let to = self.defined_in(name).filter(|to| to != from);
                if let Some(to) = to {
                    arrows.push((
                        module.path.as_str(),
                        self.files[to].path.as_str(),
                        name.join("::"),
                    ));
                }
            }
        }
        arrows
    }

    fn reached_from<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(place) = open.pop() {
            for name in &self.files[place].named {
                let to = self.defined_in(name).filter(|to| *to != place);
                open.extend(to.filter(|to| reached.insert(*to)));
            }
        }
        reached
    }

    /// Returns the file that defines the item at a path, and follows re-exports. Returns `None` if
    /// no file does.
    fn defined_in(&self, name: &[String]) -> Option<&str> {
        let mut name = name.to_vec();
        for _ in 0..8 {
            let depth = (0..=name.len())
                .rev()
                .find(|depth| self.files.contains_key(&name[..*depth].join("::")))?;
            let (place, module) = self.files.get_key_value(&name[..depth].join("::"))?;
            let Some(first) = name.get(depth) else {
                return Some(place);
            };
            if module.defined.contains(first) {
                return Some(place);
            }
            let by_name = module.imported.iter().find(|(known, _)| known == first);
            let Some((_, from)) = by_name.or_else(|| self.passed_on(module, first)) else {
                return Some(place);
            };
            let mut further = from.clone();
            if by_name.is_none() {
                further.push(first.clone());
            }
            further.extend_from_slice(&name[depth + 1..]);
            name = further;
        }
        None
    }

    /// Returns the glob import through which a module has a name. Returns `None` if no glob import
    /// provides the name.
    fn passed_on<'a>(&self, module: &'a Module, name: &str) -> Option<&'a (String, Vec<String>)> {
        let has = |from: &[String]| {
            let known = self.files.get(&from.join("::"));
            known.is_some_and(|known| {
                known.defined.contains(name) || known.imported.iter().any(|(it, _)| it == name)
            })
        };
        let all = module.imported.iter();
        all.into_iter().find(|(known, from)| known == "*" && has(from))
    }
}

fn module_path(inner: &str) -> Vec<String> {
    let inner = inner.trim_end_matches(".rs");
    let parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
    match parts.split_last() {
        Some((last, above)) if last == "mod" => above.to_vec(),
        Some((last, [])) if last == "lib" || last == "main" => Vec::new(),
        _ => parts,
    }
}

fn joined(place: &str, name: &str) -> String {
    match place {
        "" => name.to_owned(),
        place => format!("{place}::{name}"),
    }
}

fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let ends = lines.windows(2).position(|two| {
        two[0] == "#[cfg(test)]" && two[1].starts_with("mod ") && two[1].ends_with('{')
    });
    ends.unwrap_or(lines.len())
}

fn read(tokens: TokenStream, place: &[String], module: &mut Module) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < all.len() {
        if is_cfg_test(&all[at]) {
            at = after_item(&all, at + 1, module);
            continue;
        }
        match &all[at] {
            TokenTree::Ident(word) if word == "use" => {
                let is_public = is_public(&all, at);
                let ends =
                    (at..all.len()).find(|at| is_punct(all.get(*at), ';')).unwrap_or(all.len());
                let mut found = Vec::new();
                tree(&all[at + 1..ends], &[], &mut found);
                for (name, path) in found {
                    let Some(path) = from_root(&path, place, module) else {
                        continue;
                    };
                    if !is_public {
                        module.named.insert(path.clone());
                    }
                    module.imported.push((name, path));
                }
                at = ends;
            }
            TokenTree::Ident(word) => {
                if let Some(TokenTree::Ident(name)) = all.get(at + 1) {
                    if DEFINING.iter().any(|known| word == known) {
                        module.defined.insert(name.to_string());
                    }
                    if word == "mod" && is_punct(all.get(at + 2), ';') {
                        module.defined.remove(&name.to_string());
                    }
                }
                let begins = !is_punct(at.checked_sub(1).and_then(|at| all.get(at)), ':');
                if begins && is_double_colon(&all, at + 1) {
                    let (path, ends) = path_at(&all, at);
                    if let Some(path) = from_root(&path, place, module) {
                        module.named.insert(path);
                    }
                    at = ends;
                    continue;
                }
            }
            TokenTree::Group(group) => read(group.stream(), place, module),
            _ => {}
        }
        at += 1;
    }
}

/// Keywords that precede the name in a definition.
const DEFINING: [&str; 9] = [
    "struct", "enum", "fn", "trait", "type", "const", "static", "union", "mod",
];

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_double_colon(all: &[TokenTree], at: usize) -> bool {
    is_punct(all.get(at), ':') && is_punct(all.get(at + 1), ':')
}

/// Returns the index after the item that begins at `at`. If the item declares a module in a
/// separate file, records this module as a test module.
fn after_item(all: &[TokenTree], mut at: usize, module: &mut Module) -> usize {
    while at < all.len() {
        if let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) = (&all[at], all.get(at + 1))
            && word == "mod"
        {
            module.tests.insert(name.to_string());
        }
        at += 1;
        if is_item_end(&all[at - 1]) {
            break;
        }
    }
    at
}

/// Returns true if the `use` at index `at` is a re-export.
fn is_public(all: &[TokenTree], at: usize) -> bool {
    let before = |by: usize| at.checked_sub(by).and_then(|at| all.get(at));
    let is_pub =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Ident(word)) if word == "pub");
    is_pub(before(1)) || (matches!(before(1), Some(TokenTree::Group(_))) && is_pub(before(2)))
}

/// Returns the path that begins at index `at`, and the index after the end of the path.
fn path_at(all: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(word)) = all.get(at) {
        path.push(word.to_string());
        if !is_double_colon(all, at + 1) {
            return (path, at + 1);
        }
        at += 3;
    }
    (path, at)
}

/// Collects every name that a `use` imports, with its whole path.
fn tree(all: &[TokenTree], above: &[String], found: &mut Vec<(String, Vec<String>)>) {
    for part in all.split(|token| is_punct(Some(token), ',')) {
        let (path, ends) = path_at(part, 0);
        let mut whole = above.to_vec();
        whole.extend(path);
        match part.get(ends) {
            Some(TokenTree::Group(group)) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                tree(&inner, &whole, found);
            }
            Some(TokenTree::Punct(sign)) if sign.as_char() == '*' => {
                found.push(("*".to_owned(), whole));
            }
            Some(TokenTree::Ident(word)) if word == "as" => {
                if let Some(TokenTree::Ident(name)) = part.get(ends + 1) {
                    found.push((name.to_string(), whole));
                }
            }
            _ => {
                if whole.last().is_some_and(|last| last == "self") {
                    whole.pop();
                }
                found.extend(whole.last().cloned().map(|name| (name, whole.clone())));
            }
        }
    }
}

/// Returns a path from the root of the crate. Returns `None` if the path belongs to another crate.
fn from_root(path: &[String], place: &[String], module: &Module) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let mut whole = match first.as_str() {
        "crate" => Vec::new(),
        "self" => place.to_vec(),
        "super" => {
            let ups = path.iter().take_while(|word| *word == "super").count();
            let mut whole = place[..place.len().checked_sub(ups)?].to_vec();
            whole.extend_from_slice(&path[ups..]);
            return Some(whole);
        }
        name => {
            let known = module.imported.iter().find(|(known, _)| known == name);
            match known {
                Some((_, from)) => from.clone(),
                // The path is that of a module below this module, or of another crate. In the
                // latter case, no file has this path.
                None => {
                    let mut whole = place.to_vec();
                    whole.push(name.to_owned());
                    whole
                }
            }
        }
    };
    whole.extend_from_slice(rest);
    Some(whole)
}
