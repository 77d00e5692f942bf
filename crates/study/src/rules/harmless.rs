//! Trust rules. A study may come from any author, so it may only describe data. cassay refuses a
//! setting that does more, unless the user permits it on the command line. The text on the command
//! line comes from the user. The text in a study, or in the record of a run, may come from an
//! unknown author (decision 028).

use super::preset::USE;
use super::rule_input::Subject;
use super::statements::is_foreign_class;
use super::yaml::{YamlKeys, refusal, written};
use crate::inputs;
use crate::settings::{Draft, Overrides, StudyFault};
use std::net::IpAddr;
use target_spec::fault::Means;
use target_spec::{
    SecretSource, Target, TlsSpec,
    harmless_settings::{harmful_settings, is_harmless_option},
};
use yaml::{Diagnostics, Node, Raw};

/// Applies the trust rules.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    jvm(subject, out);
    yaml(subject, out);
    classes(subject, out);
    programs(subject, out);
    if let Some(node) = subject.node.find(BUNDLE) {
        file(subject, BUNDLE, node, out);
    }
    for path in ["target.attach", "target.attach.jolokia"] {
        secret(subject, &format!("{path}.password"), out);
        for key in TLS_FILES {
            let written = format!("{path}.tls.{key}");
            if let Some(node) = subject.node.find(&written) {
                file(subject, &written, node, out);
            }
        }
    }
}

const BUNDLE: &str = "target.attach.secure_connect_bundle";

const TLS_FILES: [&str; 3] = ["ca", "cert", "key"];

const COMMANDS: &str = "target.attach.faults";

/// Keys of the programs of a fault.
const PROGRAMS: [&str; 3] = ["inject", "see", "heal"];

pub(super) const HINT: &str = "remove this setting, or pass --trust if you trust the author of the \
                               study";

/// Returns true if the user is responsible for a node. This is the case if the node is on the
/// command line, or if the user trusts the whole study.
pub fn is_own_word(overrides: &Overrides, node: &Node) -> bool {
    let is_open = overrides.files.as_ref().is_some_and(|files| files.open);
    // Source 0 is the study. The other sources are arguments of the command line, and files of
    // machines, whose names the rules check separately. In a recorded run, the arguments come from
    // the record.
    let is_written_there = node.place.source != 0 && !overrides.recorded;
    overrides.granted.trust || is_open || is_written_there
}

fn jvm(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(node) = subject.node.find("target.local.jvm") else {
        return;
    };
    let items = match &node.raw {
        Raw::List(items) => items.as_slice(),
        Raw::Scalar { .. } => std::slice::from_ref(node),
        Raw::Map(_) | Raw::Null => &[],
    };
    for item in items {
        let Some(option) = item.text() else { continue };
        if is_harmless_option(option) || is_own_word(subject.overrides, item) {
            continue;
        }
        // The message contains only the name of the option, because the value may be long, or a
        // secret.
        let name = option.split(['=', ' ']).next().unwrap_or_default();
        let message = format!(
            "`target.local.jvm`: cassay does not consider `{name}` harmless: it may run a program, \
             load code, or read and write files of this machine"
        );
        out.add(&item.place, message, Some(HINT.to_owned()));
    }
}

fn yaml(subject: &Subject<'_>, out: &mut Diagnostics) {
    let local = super::cassandra::found(&Draft::from_tree(subject.tree), subject);
    for keys in written(subject) {
        let YamlKeys {
            path, node, tree, ..
        } = keys;
        for (key, value) in tree.entries() {
            let Some(entry) = node.entry(key) else {
                continue;
            };
            // The key `use` needs no trust, because its value is one of two words. The check
            // refuses any other value.
            if key == USE || is_own_word(subject.overrides, &entry.value) {
                continue;
            }
            // No trust helps if the nodes cannot have the value. Another rule reports this mistake.
            if refusal(&keys, &local, key, value).is_some() {
                continue;
            }
            for setting in harmful_settings(key, &value.to_json()) {
                let message = format!(
                    "`{path}`: the value of `{setting}` is neither a number nor a word that cassay \
                     considers harmless: it may name a program, a class or a file"
                );
                out.add(&entry.value.place, message, Some(HINT.to_owned()));
            }
        }
    }
}

/// Checks the classes in table options, because the server loads these classes by name.
fn classes(subject: &Subject<'_>, out: &mut Diagnostics) {
    for path in ["compaction", "compression", "options"].map(|key| format!("keyspace.{key}")) {
        let entries = subject.node.find(&path).and_then(Node::entries);
        for entry in entries.into_iter().flatten() {
            let may_say_anything = entry.key == "comment" && path.ends_with("options");
            let inner = entry.value.entries().unwrap_or_default().iter();
            let inner = inner.map(|inner| &inner.value);
            for node in std::iter::once(&entry.value).chain(inner) {
                let class = node.text().filter(|text| is_foreign_class(text));
                let Some(class) = class.filter(|_| !may_say_anything) else {
                    continue;
                };
                if !is_own_word(subject.overrides, node) {
                    let message = format!(
                        "`{path}.{}`: {class} is not one of Cassandra's own classes, so it may run \
                         other code",
                        entry.key
                    );
                    out.add(&node.place, message, Some(HINT.to_owned()));
                }
            }
        }
    }
}

fn programs(subject: &Subject<'_>, out: &mut Diagnostics) {
    let kinds = subject.node.find(COMMANDS).and_then(Node::entries);
    for kind in kinds.unwrap_or_default() {
        for key in PROGRAMS {
            let written = kind.value.entry(key).map(|entry| &entry.value);
            let Some(node) = written.filter(|node| !is_own_word(subject.overrides, node)) else {
                continue;
            };
            let message = format!(
                "`{COMMANDS}.{}.{key}` runs a program on this machine",
                kind.key
            );
            out.add(&node.place, message, Some(HINT.to_owned()));
        }
    }
}

fn secret(subject: &Subject<'_>, path: &str, out: &mut Diagnostics) {
    let Some([entry]) = subject.node.find(path).and_then(Node::entries) else {
        return;
    };
    let (node, Some(text)) = (&entry.value, entry.value.text()) else {
        return;
    };
    match entry.key.as_str() {
        "file" => file(subject, path, node, out),
        "env" if !is_own_word(subject.overrides, node) => {
            let message = format!(
                "`{path}` reads your environment variable {text}, and a study must not send \
                 environment variables without permission"
            );
            let hint = format!(
                "write `{path}: {{secret: NAME}}` in the study and pass --secret NAME=env:{text}; \
                 or pass --trust if you trust the author of the study"
            );
            out.add(&node.place, message, Some(hint));
        }
        "secret" if !subject.overrides.granted.secrets.contains_key(text) => {
            let message = format!(
                "`{path}` is the secret `{text}`, but the command line does not name its source"
            );
            let hint = format!("pass --secret {text}=file:PATH or --secret {text}=env:NAME");
            out.add(&node.place, message, Some(hint));
        }
        _ => {}
    }
}

/// Checks a file whose text cassay sends to other machines. The file must be in the folder of the
/// study, unless the user is responsible for its name (see [`is_own_word`]).
fn file(subject: &Subject<'_>, path: &str, node: &Node, out: &mut Diagnostics) {
    let Some(name) = node.text().filter(|_| !is_own_word(subject.overrides, node)) else {
        return;
    };
    let why = match &subject.overrides.files {
        None => Some(format!(
            "cassay does not read {name}: the study's folder comes from the record of the run, \
             which cassay does not trust"
        )),
        Some(folder) => inputs::leads_nowhere_else(folder, name).err(),
    };
    if let Some(why) = why {
        let hint = if path.ends_with("password") {
            "or write {secret: NAME} and pass --secret NAME=file:PATH; or pass --trust if you \
             trust the author of the study"
        } else {
            "or pass --trust if you trust the author of the study"
        };
        out.add(
            &node.place,
            format!("`{path}`: {why}"),
            Some(hint.to_owned()),
        );
    }
}

/// Checks that cassay may contact an address in `probes.import`. Unless the user is responsible for
/// the address (see [`is_own_word`]), it must belong to this machine or to a contact point.
pub(super) fn may_be_asked(subject: &Subject<'_>, node: &Node, url: &str) -> Result<(), String> {
    if is_own_word(subject.overrides, node) {
        return Ok(());
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host_of(authority);
    let points = subject
        .tree
        .find("target.attach.contact_points")
        .map(crate::checked_tree::Tree::items)
        .unwrap_or_default();
    let mut points = points.iter().filter_map(crate::checked_tree::Tree::text);
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if is_local || points.any(|point| host_of(point) == host) {
        return Ok(());
    }
    Err(format!(
        "the study makes cassay contact {host}, which is neither this machine nor a contact point \
         of the study's target"
    ))
}

/// Returns the host in `host`, `host:port` or `[v6]:port`. Returns any other text unchanged, so
/// that it matches no host.
fn host_of(authority: &str) -> &str {
    if let Some((host, _)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return host;
    }
    match authority.split_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Sets the folder in which programs of faults run. Programs that the study names run in the folder
/// of the study. Programs that the command line names run in the current folder.
pub fn settle_programs(faults: &mut [StudyFault], node: &Node, overrides: &Overrides) {
    for fault in faults {
        let Means::Programs(commands) = &mut fault.kind.means else {
            continue;
        };
        let of = [&mut commands.inject, &mut commands.see, &mut commands.heal];
        for (key, program) in PROGRAMS.into_iter().zip(of) {
            let path = format!("{COMMANDS}.{}.{key}", commands.name);
            let stands_in_study = node.find(&path).is_some_and(|node| node.place.source == 0);
            let folder = overrides.files.as_ref().filter(|_| stands_in_study);
            program.folder = folder.map_or_else(|| ".".into(), |folder| folder.path.clone());
        }
    }
}

/// Resolves paths and secrets of a target. Paths in a study are relative to the folder of the
/// study. Paths on the command line are relative to the current folder. The values of named secrets
/// come from the command line.
pub fn settle(target: &mut Target, node: &Node, overrides: &Overrides) {
    let Target::Attach(attach) = target else {
        return;
    };
    let locate = |path: &str, file: &mut std::path::PathBuf| {
        let stands_in_study = node.find(path).is_some_and(|node| node.place.source == 0);
        if let Some(folder) = overrides.files.as_ref().filter(|_| stands_in_study) {
            *file = folder.path.join(&*file);
        }
    };
    if let Some(bundle) = &mut attach.secure_connect_bundle {
        locate(BUNDLE, bundle);
    }
    let mut parts: Vec<(&str, Option<&mut SecretSource>, Option<&mut TlsSpec>)> = vec![(
        "target.attach",
        attach.password.as_mut(),
        attach.tls.as_mut(),
    )];
    if let Some(jolokia) = &mut attach.jolokia {
        parts.push((
            "target.attach.jolokia",
            jolokia.password.as_mut(),
            jolokia.tls.as_mut(),
        ));
    }
    for (path, password, tls) in parts {
        match password {
            Some(SecretSource::File(file)) => locate(&format!("{path}.password.file"), file),
            Some(secret @ SecretSource::Named(_)) => {
                let SecretSource::Named(name) = &*secret else {
                    continue;
                };
                if let Some(given) = overrides.granted.secrets.get(name) {
                    *secret = given.clone();
                }
            }
            _ => {}
        }
        let files = tls.map(|tls| [&mut tls.ca, &mut tls.cert, &mut tls.key]);
        for (key, file) in TLS_FILES.into_iter().zip(files.into_iter().flatten()) {
            if let Some(file) = file {
                locate(&format!("{path}.tls.{key}"), file);
            }
        }
    }
}
