//! Rules for Kubernetes. `kubectl` gets names as arguments, and may run a program that its
//! configuration names.

use super::harmless::{HINT, is_own_word};
use super::rule_input::Subject;
use target_spec::is_kubernetes_name;
use yaml::Diagnostics;

const ATTACHED: &str = "target.attach.kubernetes";

/// Keys of the resources that can describe an attached cluster.
const OWNERS: [&str; 3] = ["k8ssandra", "cass_operator", "service"];

/// Checks an attached cluster in Kubernetes. The section requires trust, valid names and valid
/// folders, and other keys must not repeat the facts that the section provides.
pub(super) fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(node) = subject.node.find(ATTACHED) else {
        return;
    };
    if !is_own_word(subject.overrides, node) {
        let message = format!(
            "`{ATTACHED}` reads the description of a cluster and its secret with your kubectl, and \
             sends the secret to its nodes"
        );
        out.add(&node.place, message, Some(HINT.to_owned()));
    }
    names(subject, ATTACHED, &OWNERS, out);
    for key in ["folder", "logs", "data"] {
        let path = format!("{ATTACHED}.agents.{key}");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
        let is_folder = |text: &str| {
            text.starts_with('/') && text.chars().all(is_plain) && !text.contains("..")
        };
        if let Some(text) = subject.text(&path).filter(|text| !is_folder(text)) {
            let hint = "write an absolute path of letters, digits, `-`, `_` and `.`";
            subject.say(
                &path,
                format!("`{path}`: {text:?} is not a valid folder"),
                Some(hint),
                out,
            );
        }
    }
    for other in [
        "target.attach.user",
        "target.attach.password",
        "target.attach.hosts",
    ] {
        if subject.wrote(other) {
            let message = format!(
                "you cannot combine `{other}` with `{ATTACHED}`, which provides this setting"
            );
            subject.say(other, message, Some("remove one of them"), out);
        }
    }
}

/// Checks pods of local nodes. The pods require trust, and other keys must not describe the nodes
/// as well.
pub(super) fn check_node_pods(subject: &Subject<'_>, out: &mut Diagnostics) {
    const PODS: &str = "target.local.pods";
    let Some(node) = subject.node.find(PODS) else {
        return;
    };
    if !is_own_word(subject.overrides, node) {
        let message = format!(
            "`{PODS}` creates pods in a cluster with your kubectl, and starts nodes in \
                     them"
        );
        out.add(&node.place, message, Some(HINT.to_owned()));
    }
    names(
        subject,
        PODS,
        &["storage_class", "image", "machine_type"],
        out,
    );
    for other in [
        "target.local.host",
        "target.local.nodes",
        "target.local.isolation",
        "target.local.address",
    ] {
        if subject.wrote(other) {
            let message = format!("you cannot combine `{other}` with `{PODS}`");
            let hint = "remove one of the two keys; `target.local.hosts` is the number of pods";
            subject.say(other, message, Some(hint), out);
        }
    }
    if subject.wrote("target.local.pods.storage_class")
        && !subject.wrote("target.local.pods.volume")
    {
        let message =
            format!("`{PODS}.storage_class` applies to volumes, but the pods have no volumes");
        let hint = "set the size of the volumes, such as `volume: 100GiB`";
        subject.say("target.local.pods.storage_class", message, Some(hint), out);
    }
}

/// Checks the names in a section: the context, the namespace, a secret, and the keys in `others`.
pub(super) fn names(subject: &Subject<'_>, section: &str, others: &[&str], out: &mut Diagnostics) {
    for key in ["context", "namespace", "secret"].iter().chain(others) {
        let path = format!("{section}.{key}");
        let Some(text) = subject.text(&path) else {
            continue;
        };
        let (is_one, what, hint) = match *key {
            "context" => (
                is_context(text),
                "context of kubectl",
                "use a context that `kubectl config get-contexts` lists",
            ),
            "image" => (
                is_image(text),
                "name of an image",
                "write an image name such as cassandra:5.0 or registry.example/cassandra@sha256:…",
            ),
            "machine_type" => (
                is_label(text),
                "value of a label",
                "use a machine type that `kubectl get nodes -L node.kubernetes.io/instance-type` \
                 shows",
            ),
            _ => (
                is_kubernetes_name(text),
                "name in Kubernetes",
                "use only lower-case letters, digits, `-` and `.`",
            ),
        };
        if !is_one {
            subject.say(
                &path,
                format!("`{path}`: {text:?} is not a valid {what}"),
                Some(hint),
                out,
            );
        }
    }
}

fn is_context(text: &str) -> bool {
    !text.starts_with('-') && !text.chars().any(char::is_control)
}

fn is_image(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-:@".contains(c))
}

fn is_label(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || "-_.".contains(c))
}
