//! Rules about external files and programs. Files must be opened through the crate `foreign`, and
//! the output of programs must be read through `remote::process`, because these never wait forever.

use super::Violation;
use crate::test_items::without_tests;
use crate::tree::{File, Tree};
use proc_macro2::{TokenStream, TokenTree};

/// Functions that may wait forever for the content of a pipe, or read a device without end.
const OPENING: [&str; 9] = [
    "fs::read",
    "fs::read_to_string",
    "fs::copy",
    "File::open",
    "File::options",
    "OpenOptions::new",
    "fs::open",
    "fs::openat",
    "Reader::from_path",
];
/// Functions that read a program's output without a time limit.
const LISTENING: [&str; 3] = ["Stdio::piped", "wait_with_output", "io::pipe"];

/// Exceptions for opening files. Each exception is a file or a folder of the sources, with the
/// reason.
const OPENS: [(&str, &str); 27] = [
    (
        "crates/agent/build.rs",
        "it runs while the program is built",
    ),
    ("crates/foreign/", "this file is crate `foreign` itself"),
    (
        "crates/linux/src/cgroup",
        "control groups, which it has made or found by itself",
    ),
    (
        "crates/linux/src/cpu_affinity",
        "files of a control group and of a process",
    ),
    (
        "crates/linux/src/capability/",
        "a folder on a volume that it has made",
    ),
    (
        "crates/linux/src/volume",
        "volumes and loop devices, which are not plain files",
    ),
    ("crates/linux/src/net.rs", "namespaces of the kernel"),
    (
        "crates/linux/src/probe/",
        "files of the kernel, which are kept open and read again",
    ),
    (
        "crates/linux/src/listener.rs",
        "tables of sockets below /proc",
    ),
    (
        "crates/linux/src/skip_report.rs",
        "the gate's list of skipped tests, which a test writes",
    ),
    ("crates/linux/src/links.rs", "facts about a link in /sys"),
    ("crates/linux/src/mounts.rs", "tables of mounts below /proc"),
    ("crates/linux/src/ports.rs", "tables of sockets below /proc"),
    ("crates/linux/src/tcp.rs", "settings below /proc/sys"),
    (
        "crates/agent/src/descriptors.rs",
        "limits of a process below /proc",
    ),
    (
        "crates/agent/src/faults/volume.rs",
        "a file that it makes itself, on a volume of its own",
    ),
    (
        "crates/agent/src/disk_check.rs",
        "a file that it makes itself, past the page cache",
    ),
    (
        "crates/fleet/src/client_figures.rs",
        "the control group that it is in",
    ),
    (
        "crates/remote/src/process.rs",
        "facts about a process, and the identity of the machine, from the kernel",
    ),
    ("crates/remote/src/agent_loop.rs", "/dev/null"),
    (
        "crates/engine/src/trial_record_check.rs",
        "facts about the machine in /proc",
    ),
    ("crates/host/src/undo_file.rs", "a note that it creates"),
    (
        "crates/cluster/src/local/roles.rs",
        "a password that it creates, and random bytes",
    ),
    (
        "crates/supply/src/fetch.rs",
        "a part of a jar, which it writes in its own cache",
    ),
    (
        "crates/cassay/src/command/new.rs",
        "a study that it creates",
    ),
    (
        "crates/cassay/src/command/topology.rs",
        "exported files that it creates",
    ),
    (
        "crates/kubernetes/src/kubectl.rs",
        "the name that Kubernetes itself writes into a pod",
    ),
];

/// Exceptions for reading programs. Each exception is a file, with the reason.
const LISTENS: [(&str, &str); 6] = [
    (
        "crates/agent/src/disk_check.rs",
        "a child that is this program, with a separate limit",
    ),
    (
        "crates/remote/src/process/listen.rs",
        "this file contains `ask` and `listen` themselves",
    ),
    (
        "crates/remote/src/ssh.rs",
        "a conversation in frames, each with a limit of size and time",
    ),
    (
        "crates/remote/src/link.rs",
        "a conversation in frames, each with a limit of size",
    ),
    (
        "crates/agent/src/guard.rs",
        "the guard is this program, and only receives data",
    ),
    (
        "crates/kubernetes/src/kubectl.rs",
        "watches and logs are read as they come, until they end",
    ),
];

/// Checks that code opens external files only through the crate `foreign`.
pub fn files(tree: &Tree) -> Vec<Violation> {
    let hint = "open it by crate `foreign`, or name the file of the sources in \
                xtask/src/tidy/opening.rs with the reason";
    violations(tree, &OPENING, &OPENS, hint)
}

/// Checks that code reads the output of programs only through `remote::process`.
pub fn programs(tree: &Tree) -> Vec<Violation> {
    let hint = "listen to it by `remote::process::ask` or `listen`, or name the source file \
                in xtask/src/tidy/opening.rs with the reason";
    violations(tree, &LISTENING, &LISTENS, hint)
}

fn violations(tree: &Tree, bans: &[&str], excepted: &[(&str, &str)], hint: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut used = vec![false; excepted.len()];
    let is_shipped = |file: &&File| {
        file.path.starts_with("crates/")
            && !["/tests/", "/tests.rs", "/examples/", "/benches/"]
                .iter()
                .any(|part| file.path.contains(part))
            && !file.path.ends_with("_tests.rs")
    };
    for file in tree.with_extension("rs").filter(is_shipped) {
        let mut calls = Vec::new();
        collect(without_tests(file.text()), bans, &mut calls);
        let exception = excepted.iter().position(|(place, _)| file.path.starts_with(place));
        match exception {
            Some(at) => used[at] |= !calls.is_empty(),
            None => found.extend(calls.into_iter().map(|(line, name)| {
                Violation::on_line(
                    &file.path,
                    line,
                    format!("`{name}` may wait without a limit: {hint}"),
                )
            })),
        }
    }
    // Only the whole tree is checked for obsolete exceptions. The tree in a test of a rule does not
    // contain all of the files.
    if tree.file("Cargo.toml").is_some() {
        let idle = excepted.iter().zip(used).filter(|(_, used)| !used);
        found.extend(idle.map(|((place, _), _)| {
            Violation::in_file(place, "is an exception of tidy that is no longer needed")
        }));
    }
    found
}

/// Collects calls and imports of the names in `bans` outside of tests, with their lines. A call
/// whose argument is a literal path of the kernel is permitted.
fn collect(tokens: TokenStream, bans: &[&str], calls: &mut Vec<(usize, String)>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < all.len() {
        match &all[at] {
            TokenTree::Group(group) => collect(group.stream(), bans, calls),
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                let path = before(&all, at).map(|parent| format!("{parent}::{name}"));
                let banned = bans
                    .iter()
                    .find(|ban| **ban == name || path.as_deref() == Some(**ban))
                    .filter(|_| !is_of_kernel(all.get(at + 1)));
                if let Some(ban) = banned {
                    calls.push((ident.span().start().line, (*ban).to_owned()));
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at += 1;
    }
}

/// Returns the name in front of the `::` that precedes the token at index `at`. Returns `None` if
/// no such name precedes the token.
fn before(all: &[TokenTree], at: usize) -> Option<String> {
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    let parent = at.checked_sub(3)?;
    match &all[parent] {
        TokenTree::Ident(parent_name) if all[parent + 1..at].iter().all(is_colon) => {
            Some(parent_name.to_string())
        }
        _ => None,
    }
}

/// Returns true if the argument is a literal path, or the format of a path, below /proc or /sys.
fn is_of_kernel(arguments: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = arguments else {
        return false;
    };
    let text: String = group.stream().to_string().split_whitespace().collect();
    let text = text.trim_start_matches('&');
    let path = text.strip_prefix("format!(").unwrap_or(text);
    ["\"/proc/", "\"/sys/"].iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: fn(&Tree) -> Vec<Violation>, path: &str, source: &str) -> Vec<usize> {
        rule(&Tree::from_texts(&[(path, source)])).iter().map(|one| one.line).collect()
    }

    #[test]
    fn every_other_way_to_open_a_file_is_found_outside_the_kernel() {
        let source = "//! H\nfn a() {\n    let b = std::fs::read_to_string(path);\n    let c = \
            File::open(&path)?;\n    x(fs::read(p));\n    let d = \
            OpenOptions::new().read(true);\n    let e = foreign::read(FileKind::Study, p);\n    \
            let f = std::fs::read_to_string(\"/proc/stat\");\n    let g = \
            fs::read(format!(\"/proc/{pid}/x\"));\n    file.read_to_string(&mut text);\n    \
            KernelFile::open(p);\n}\n";
        assert_eq!(lines(files, "crates/study/src/a.rs", source), [3, 4, 5, 6]);
        assert_eq!(lines(files, "crates/foreign/src/a.rs", source), [0; 0]);
        assert_eq!(lines(files, "crates/study/tests/a.rs", source), [0; 0]);
    }

    #[test]
    fn a_test_may_open_what_it_has_made_and_what_follows_it_may_not() {
        let source = "//! H\n#[cfg(test)]\nmod tests {\n    fn a() { std::fs::read(p); }\n}\n\
            fn b() { std::fs::read(p); }\n#[cfg(test)]\nuse std::fs::read;\nfn c() { \
            File::open(p); }\n";
        assert_eq!(lines(files, "crates/study/src/a.rs", source), [6, 9]);
    }

    #[test]
    fn a_pipe_to_a_program_is_found() {
        let source = "//! H\nfn a() {\n    command.stdout(Stdio::piped());\n    \
            child.wait_with_output();\n    remote::process::ask(command, b\"\", limit);\n}\n";
        assert_eq!(lines(programs, "crates/supply/src/a.rs", source), [3, 4]);
    }
}
