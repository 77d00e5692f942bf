//! Finds strings of known forms in a text: addresses, names of hosts and users, paths and
//! identifiers.

use crate::private_string::{PrivateKind, is_identifying};
use regex_lite::{Captures, Regex};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// Hosts that cassay's own pages and shipped studies cite, with their subdomains.
const CITED: [&str; 14] = [
    "adoptium.net",
    "apache.org",
    "bugs.openjdk.org",
    "datastax.com",
    "docs.kernel.org",
    "docs.oracle.com",
    "github.com",
    "instaclustr.com",
    "json-schema.org",
    "kernel.org",
    "micron.com",
    "openjdk.org",
    "vmware.com",
    "w3.org",
];

/// Last labels of host names. Without this list, `study.yaml` and `a.b` would be hosts.
const TOP_LEVELS: [&str; 36] = [
    "app", "arpa", "au", "biz", "ca", "ch", "cloud", "cluster", "cn", "co", "com", "corp", "de",
    "dev", "edu", "eu", "fr", "gov", "home", "in", "info", "int", "internal", "intranet", "io",
    "it", "jp", "lan", "local", "mil", "net", "nl", "org", "private", "uk", "us",
];

/// First labels of the names of Java packages, which have the form of a host name.
const PACKAGES: [&str; 13] = [
    "ch", "com", "de", "edu", "io", "java", "javax", "jdk", "kotlin", "net", "org", "scala", "sun",
];

/// Top levels that are also the last words of keys of a study, such as `target.local`.
const WORDS: [&str; 8] = ["app", "cluster", "home", "in", "info", "int", "it", "local"];

/// First words of keys of a study.
const SECTIONS: [&str; 9] = [
    "client",
    "data",
    "keyspace",
    "procedure",
    "study",
    "target",
    "variants",
    "window",
    "workload",
];

/// Beginnings of paths of the kernel, which are the same on every machine.
const KERNEL_PATHS: [&str; 3] = ["/proc/", "/sys/", "/dev/"];
/// Part of `/dev` with names that the owner of the machine chooses.
const MAPPER: &str = "/dev/mapper/";

struct Pattern {
    form: LazyLock<Regex>,
    /// Kinds of the groups of the form, in order.
    groups: &'static [PrivateKind],
}

macro_rules! pattern {
    ($form:literal, $($kind:ident),+) => {
        Pattern {
            form: LazyLock::new(|| Regex::new($form).expect("the pattern is valid")),
            groups: &[$(PrivateKind::$kind),+],
        }
    };
}

static PATTERNS: [Pattern; 12] = [
    // Addresses of mail, and destinations of ssh.
    pattern!(
        r"([A-Za-z0-9][A-Za-z0-9._+-]*)@([A-Za-z0-9][A-Za-z0-9.-]*)",
        User,
        Host
    ),
    pattern!(
        r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@\s]*@)?([A-Za-z0-9][A-Za-z0-9.-]*)",
        Host
    ),
    pattern!(
        r"\b(?:attach|ssh):\s*\[?\s*([A-Za-z0-9][A-Za-z0-9.-]*)",
        Host
    ),
    pattern!(
        r"([[:alnum:]](?:[[:alnum:]-]*[[:alnum:]])?(?:\.(?:[[:alnum:]-]*[[:alnum:]]))+)",
        Host
    ),
    pattern!(r"\b(ip-\d+-\d+-\d+-\d+)\b", Host),
    pattern!(r"\b(?i:host_?name)\W{1,3}([A-Za-z0-9][A-Za-z0-9.-]*)", Host),
    pattern!(
        r"\b(?i:user_?name|user)\s*=\W?([A-Za-z][A-Za-z0-9._-]*)",
        User
    ),
    pattern!(r"/(?:home|Users)/([A-Za-z0-9][A-Za-z0-9._-]*)", User),
    pattern!(
        r#"\b(?i:cluster_?name)\W{1,3}([A-Za-z0-9][^'",;}\n]*)"#,
        Cluster
    ),
    pattern!(
        r"\b([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})\b",
        Identifier
    ),
    pattern!(
        r"(?:docker|containerd|crio|libpod)[-/:]+([0-9a-f]{12,64})",
        Identifier
    ),
    pattern!(r"\b(i-[0-9a-f]{8,17})\b", Identifier),
];

static PATH: LazyLock<Regex> = LazyLock::new(|| {
    // A name in a path has no blanks and no marks that end a path in a sentence or in a list.
    let name = r#"[^\s/'",;:()\[\]{}<>|*?&#$`\\]+"#;
    let form = format!("~?(?:/{name}){{2,}}/?|~/{name}");
    Regex::new(&form).expect("the pattern is valid")
});

/// Returns the private strings in a text, with their kinds. A string may occur several times.
pub fn scan(text: &str) -> Vec<(PrivateKind, String)> {
    let mut found: Vec<(PrivateKind, String)> = Vec::new();
    let address = |one: &str| (PrivateKind::Address, one.to_owned());
    found.extend(addresses(text).into_iter().map(address));
    for pattern in &PATTERNS {
        for captures in pattern.form.captures_iter(text) {
            found.extend(strings_of(&captures, pattern.groups, text));
        }
    }
    found.extend(paths(text).map(|path| (PrivateKind::Path, path.to_owned())));
    found
}

fn strings_of(
    captures: &Captures<'_>,
    kinds: &[PrivateKind],
    text: &str,
) -> Vec<(PrivateKind, String)> {
    // The name of a host has no underscores, but a key such as `client.in_flight` has.
    let is_name = |end: usize| !text[end..].starts_with('_');
    let groups = captures.iter().skip(1).zip(kinds);
    let is_wanted = |kind: PrivateKind, text: &str| match kind {
        PrivateKind::Host if text.contains('.') => is_host(text),
        PrivateKind::Host => is_identifying(text) && !is_hash(text),
        PrivateKind::User => is_identifying(text) && !is_class(text),
        _ => is_identifying(text),
    };
    groups
        .filter_map(|(group, kind)| Some((*kind, group?)))
        .filter(|(kind, group)| *kind != PrivateKind::Host || is_name(group.end()))
        .map(|(kind, group)| (kind, group.as_str()))
        .map(|(kind, text)| (kind, text.trim_end_matches(['.', '-', ' '])))
        .filter(|(kind, text)| is_wanted(*kind, text))
        .map(|(kind, text)| (kind, text.to_owned()))
        .collect()
}

/// Returns true for the full name of a Java class, as in `java.lang.Object@1b6d3586`.
fn is_class(text: &str) -> bool {
    text.split_once('.').is_some_and(|(first, _)| PACKAGES.contains(&first))
}

/// Minimum number of digits of a hash code. The codes of Java have seven or eight digits.
const HASH_DIGITS_MIN: usize = 6;

/// Returns true for the hash code of a Java object, as in `Object@1b6d3586`.
fn is_hash(text: &str) -> bool {
    text.len() >= HASH_DIGITS_MIN
        && text.chars().all(|c| c.is_ascii_hexdigit())
        && text.chars().any(|c| c.is_ascii_digit())
}

/// Returns true if a text with dots is the name of a host, and not one that cassay's pages cite.
fn is_host(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut labels = lower.split('.');
    let first = labels.next().unwrap_or_default();
    let last = labels.next_back().unwrap_or_default();
    let is_cited = CITED.iter().any(|cited| {
        lower
            .strip_suffix(cited)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let is_key = WORDS.contains(&last) && SECTIONS.contains(&first);
    TOP_LEVELS.contains(&last) && !is_key && !PACKAGES.contains(&first) && !is_cited
}

fn paths(text: &str) -> impl Iterator<Item = &str> {
    let is_path = move |range: &std::ops::Range<usize>| {
        let before = text[..range.start].chars().next_back();
        // After a word, a slash means "or" or "per", as in `ops/s/node`. The slashes of a URL
        // belong to its host.
        before.is_none_or(|c| !c.is_alphanumeric() && !"_/.)>".contains(c))
    };
    let is_private = |path: &&str| {
        path.starts_with(MAPPER) || !KERNEL_PATHS.iter().any(|kernel| path.starts_with(kernel))
    };
    PATH.find_iter(text)
        .map(|found| found.range())
        .filter(is_path)
        .map(|range| text[range].trim_end_matches(['/', '.', '-']))
        .filter(is_private)
}

/// Returns the addresses in a text: IPv4, IPv6 and MAC.
pub fn addresses(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for run in runs(text, |b| b.is_ascii_digit() || b == b'.') {
        let one = text[run].trim_matches('.');
        if one.parse::<Ipv4Addr>().is_ok() {
            found.push(one);
        }
    }
    for run in runs(text, |b| b.is_ascii_hexdigit() || b == b':' || b == b'.') {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let is_part = is_word(text[..run.start].chars().next_back())
            || is_word(text[run.end..].chars().next());
        let one = text[run].trim_matches('.');
        let one = match one.strip_suffix(':') {
            Some(rest) if !rest.ends_with(':') => rest,
            _ => one,
        };
        if !is_part && (is_ipv6(one) || is_mac(one)) {
            found.push(one);
        }
    }
    found
}

/// Returns the longest ranges whose bytes all satisfy a condition. The bytes must be ASCII.
fn runs(text: &str, is_part: impl Fn(u8) -> bool) -> Vec<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| is_part(**byte)).count();
        if length > 0 {
            found.push(at..at + length);
        }
        at += length + 1;
    }
    found
}

/// Minimum number of digits of an IPv6 address that has only the digits a to f. In C++, `C::a` is a
/// name.
const IPV6_LETTERS_MIN: usize = 6;

fn is_ipv6(text: &str) -> bool {
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    (has_digit || letters >= IPV6_LETTERS_MIN)
        && text.matches(':').count() >= 2
        && text.parse::<Ipv6Addr>().is_ok()
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let is_pair = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
    parts.len() == 6 && parts.iter().all(is_pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        scan(text).into_iter().map(|(kind, text)| format!("{kind} {text}")).collect()
    }

    #[test]
    fn every_known_form_is_found() {
        for (text, expected) in [
            ("node 10.1.2.3:9042 left", "address 10.1.2.3"),
            ("at 10.1.2.3.", "address 10.1.2.3"),
            ("[2001:db8::7]:9042", "address 2001:db8::7"),
            ("fe80::1%eth0 is down", "address fe80::1"),
            ("02:42:ac:11:00:02", "address 02:42:ac:11:00:02"),
            ("mail ann.b@corp.example.com now", "user ann.b"),
            ("mail ann.b@corp.example.com now", "host corp.example.com"),
            ("ssh me@db1", "host db1"),
            ("attach:db7:9042", "host db7"),
            ("http://db9:8778/jolokia", "host db9"),
            ("client.acme.com lost", "host client.acme.com"),
            ("db1.eu.corp lost", "host db1.eu.corp"),
            ("from ip-10-0-0-7", "host ip-10-0-0-7"),
            ("-Dlog=/opt/acme/logs -x", "path /opt/acme/logs"),
            ("in ~/acme/studies", "path ~/acme/studies"),
            ("/Users/ann/x.yaml", "user ann"),
            ("/dev/mapper/acme-data", "path /dev/mapper/acme-data"),
            ("cluster_name: 'Acme Prod'", "cluster Acme Prod"),
            (
                "id 0f8fad5b-d9cb-469f-a165-70867728950e",
                "id 0f8fad5b-d9cb-469f-a165-70867728950e",
            ),
            ("docker-0123456789ab.scope", "id 0123456789ab"),
        ] {
            assert!(
                found(text).iter().any(|one| one == expected),
                "{text}: {:?} lacks {expected}",
                found(text)
            );
        }
    }

    #[test]
    fn numbers_units_and_java_names_are_not_private() {
        for text in [
            "12:30:45 took 1.234 ms at 5.0.8",
            "org.apache.cassandra.net and study.yaml",
            "100 ops/s/node, and/or",
            "/sys/block/vda/queue/scheduler",
            "https://cassandra.apache.org/doc",
            "client.in_flight and target.local",
            "std::abs, C::a and :: and node1",
            "java.lang.Object@1b6d3586",
            "p99.9",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }
}
