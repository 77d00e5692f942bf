//! Rules that the table cannot express. They report settings that contradict each other, or that
//! are not supported yet.
//!
//! Each rule examines a checked tree that may have gaps, because values with mistakes are absent. A
//! rule reports mistakes and ignores gaps, so that one pass finds all mistakes.

mod attached;
pub(crate) mod cassandra;
mod client;
mod data;
mod destination;
mod faults;
pub(crate) mod harmless;
mod hosts;
mod kubernetes;
mod machines;
mod options;
mod own_table;
mod preset;
mod probes;
mod procedure;
mod recorded_traffic;
mod repeat;
mod rule_input;
pub(crate) mod statements;
pub(crate) mod upgrade_rollback;
mod upgrades;
mod yaml;

pub use rule_input::Subject;

use crate::checked_tree::Tree;
use crate::format;
use ::yaml::{Diagnostics, Entry, Node, Raw, did_you_mean};
use measure::outcome::OUTCOMES;
use rule_input::whole;

/// Applies all rules to a study.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    cassandra::check(subject, out);
    hosts::check(subject, out);
    machines::check(subject, out);
    attach_credentials(subject, out);
    client_certificates(subject, out);
    kubernetes::check(subject, out);
    kubernetes::check_node_pods(subject, out);
    harmless::check(subject, out);
    client::check(subject, out);
    attached::check(subject, out);
    options::check(subject, out);
    self::yaml::check(subject, out);
    phases(subject, out);
    probes::check(subject, out);
    null_behaviour(subject, out);
    null_errors(subject, out);
    null_data(subject, out);
    data::check(subject, out);
    faults::commands(subject, out);
    faults::check(subject, out);
    upgrades::check(subject, out);
    repeat::check(subject, out);
    procedure::check(subject, out);
    imported(subject, out);
    own_table::check(subject, out);
    recorded_traffic::check(subject, out);
    whole_seconds(subject, out);
    until_faults(subject, out);
    tuning(subject, out);
    empty_requirements(subject, out);
}

/// Checks that `require` names a requirement. A requirement with a wrong key or value counts,
/// because another message already reports it.
fn empty_requirements(subject: &Subject<'_>, out: &mut Diagnostics) {
    // These keys only modify other requirements.
    const MODIFIERS: [&str; 3] = ["worse_by", "at", "inconclusive"];
    let entries = match subject.node.find("require").map(|node| &node.raw) {
        Some(Raw::Map(entries)) => entries.as_slice(),
        Some(Raw::Null) => &[],
        Some(Raw::Scalar { .. } | Raw::List(_)) | None => return,
    };
    let is_requirement =
        |entry: &Entry| !MODIFIERS.contains(&&*entry.key) && !matches!(entry.value.raw, Raw::Null);
    if !entries.iter().any(is_requirement) {
        let message = "`require` requires nothing".to_owned();
        let hint = "for example: require: {p99_ms: 10, error_rate: 0.1%}";
        subject.say("require", message, Some(hint), out);
    }
}

fn tuning(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.tree.find("tune").is_some() && subject.node.find("screen").is_none() {
        out.add(
            &subject.node.nearest("tune").place,
            "`tune` requires `screen`, because it tunes the settings in `screen`".to_owned(),
            Some("add `screen: {settings: {…}}`, or remove `tune`".to_owned()),
        );
    }
}

/// Checks a window that ends after its faults. The study must have faults, and the window must not
/// be compared with a window without faults.
fn until_faults(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "window.until";
    if subject.text(path) != Some("faults") {
        return;
    }
    if subject.tree.find("faults").is_none() {
        let message = format!(
            "`{path}: faults` ends the window after the last fault, but the study has no faults"
        );
        let hint = Some("remove `window.until`, or add `faults`");
        subject.say(path, message, hint, out);
    }
    if subject.tree.find("repeat.without_faults") == Some(&Tree::Bool(true)) {
        let message = format!(
            "`repeat.without_faults` compares windows of equal length, but `{path}: faults` ends \
             some windows early"
        );
        let hint = Some("remove one of them");
        subject.say(path, message, hint, out);
    }
}

/// Requires that the lengths of a window and of the phases before it are whole seconds. A window
/// consists of intervals of one second, so cassay would change any other length without notice.
fn whole_seconds(subject: &Subject<'_>, out: &mut Diagnostics) {
    for path in [
        "window.warmup",
        "window.warmup_max",
        "window.first_warmup",
        "window.measure",
        "window.after_faults",
    ] {
        if let Some(tree) = subject.tree.find(path) {
            whole(subject, path, tree, out);
        }
    }
}

/// Requires `procedure` in a study without an imported command line. A study with an imported
/// command line must not set the load, the tables or the length, because the command line
/// determines them.
fn imported(subject: &Subject<'_>, out: &mut Diagnostics) {
    let tools = imports::Tool::ALL.into_iter().map(imports::Tool::name);
    let import = tools.map(|tool| format!("workload.{tool}")).find(|path| subject.wrote(path));
    let Some(import) = import else {
        let says_it = ["procedure", recorded_traffic::SPEED].iter().any(|path| subject.wrote(path));
        if subject.node.entries().is_some() && !says_it {
            let message = "`procedure` is missing".to_owned();
            let hint = "for example: procedure: {fixed: {threads: 16}}";
            subject.say("procedure", message, Some(hint), out);
        }
        return;
    };
    for path in [
        "procedure",
        "window",
        "keyspace",
        "data.load",
        "data.present",
        "workload.mix",
        "workload.params",
        "phases",
    ] {
        if subject.wrote(path) {
            let message =
                format!("`{path}` does not apply to `{import}`, whose command line sets it");
            let hint = "change the command line, or write a workload file";
            subject.say(path, message, Some(hint), out);
        }
    }
}

fn attach_credentials(subject: &Subject<'_>, out: &mut Diagnostics) {
    for section in ["target.attach", "target.attach.jolokia"] {
        let (user, password) = (format!("{section}.user"), format!("{section}.password"));
        match (subject.wrote(&user), subject.wrote(&password)) {
            (true, false) => {
                let message = format!("`{user}` is set, but `{password}` is missing");
                let hint = "add `password: {secret: NAME}`, and pass --secret NAME=file:PATH";
                subject.say(&user, message, Some(hint), out);
            }
            (false, true) => {
                let message = format!("`{password}` is set, but `{user}` is missing");
                subject.say(&password, message, None, out);
            }
            _ => {}
        }
    }
}

/// Checks that a study with a client certificate also sets its private key, and vice versa.
fn client_certificates(subject: &Subject<'_>, out: &mut Diagnostics) {
    for section in ["target.attach.tls", "target.attach.jolokia.tls"] {
        let (cert, key) = (format!("{section}.cert"), format!("{section}.key"));
        let (there, missing) = match (subject.wrote(&cert), subject.wrote(&key)) {
            (true, false) => (cert, key),
            (false, true) => (key, cert),
            _ => continue,
        };
        let message = format!("`{there}` is set, but `{missing}` is missing");
        let hint = "set both PEM files: `cert` (the certificate) and `key` (its private key)";
        subject.say(&there, message, Some(hint), out);
    }
}

/// Checks the phases of a study. A setting of one phase must not remain in effect in the other
/// phase. Also reports settings of a phase that cannot have an effect.
fn phases(subject: &Subject<'_>, out: &mut Diagnostics) {
    for phase in format::PHASES {
        let target = format!("{phase}.target");
        let has_local = subject.tree.find("target.local").is_some();
        if subject.wrote(&target) && !has_local && !subject.target_replaced {
            let message = format!("`{target}` changes local nodes, but the target is not local");
            subject.say(&target, message, None, out);
        }
        let options = subject
            .node
            .find(&format!("{phase}.keyspace.options"))
            .and_then(Node::entries)
            .unwrap_or_default();
        let options = options.iter().map(|entry| format!("options.{}", entry.key));
        for key in ["compaction".to_owned(), "compression".to_owned()].into_iter().chain(options) {
            let (here, whole) = (format!("{phase}.keyspace.{key}"), format!("keyspace.{key}"));
            if subject.wrote(&here) && !subject.wrote(&whole) {
                let message = format!("`{here}` is set in a phase, but not outside the phase");
                let hint = format!(
                    "also set `{whole}`: without it, the tables would keep the value after the \
                     phase"
                );
                subject.say(&here, message, Some(&hint), out);
            }
        }
    }
    let load = "phases.load";
    if subject.wrote(load) && !subject.wrote("data.load") {
        let message = format!("`{load}` has no effect: the study loads no rows");
        subject.say(load, message, Some("add `data: {load: …}`"), out);
    }
}

fn null_behaviour(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.wrote("target.null.drift") && !subject.wrote("target.null.capacity") {
        let path = "target.null.drift";
        let message = format!("`{path}` requires `capacity` of the null target");
        let hint = "add `capacity` to `target.null`, in operations per second";
        subject.say(path, message, Some(hint), out);
    }
    let ns = |path: &str| subject.tree.find(path).and_then(Tree::duration_ns);
    for (short, long, word) in [
        (
            "target.null.latency.uniform.from",
            "target.null.latency.uniform.to",
            "above",
        ),
        (
            "target.null.stall.length",
            "target.null.stall.every",
            "longer than",
        ),
    ] {
        if let (Some(a), Some(b)) = (ns(short), ns(long))
            && a > b
        {
            subject.say(short, format!("`{short}` is {word} `{long}`"), None, out);
        }
    }
}

fn null_errors(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "target.null.errors";
    let entries = subject.tree.find(path).map(Tree::entries).unwrap_or_default();
    for (name, _) in entries {
        // A study may use only errors that a server can send, so outcomes that the client itself
        // determines are excluded.
        let known = OUTCOMES
            .iter()
            .map(|outcome| outcome.name())
            .filter(|name| cql::response::ErrorCode::parse_for_any_request(name).is_some());
        if !known.clone().any(|outcome| outcome == name) {
            let hint = did_you_mean(name, known);
            let message = format!("`{name}` is not an error of the CQL protocol");
            subject.say(&format!("{path}.{name}"), message, hint.as_deref(), out);
        }
    }
    let sum: f64 = entries.iter().filter_map(|(_, share)| share.number()).sum();
    if sum > 1.0 {
        let message = format!("the shares of `{path}` add up to {sum}; the maximum is 1");
        subject.say(path, message, None, out);
    }
}

/// Checks keys that need stored data. The null target stores no data. So cassay refuses a study for
/// the null target that explicitly requests data. A study for real Cassandra that runs with
/// `--target null` gets only a note.
fn null_data(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.tree.find("target.null").is_none() || subject.target_replaced {
        return;
    }
    let reads = subject.text("verify.reads").is_some_and(|reads| reads != "none");
    let sample = subject.count("verify.sample").is_some_and(|sample| sample > 0)
        || subject.text("verify.sample") == Some("all");
    let settle = subject.text("data.settle") == Some("compactions");
    for (path, asked) in [
        ("verify.reads", reads),
        ("verify.sample", sample),
        ("data.settle", settle),
    ] {
        if asked && subject.wrote(path) {
            let message = format!("`{path}` needs data, but the null target stores nothing");
            subject.say(
                path,
                message,
                Some("remove this key, or use another target"),
                out,
            );
        }
    }
}
