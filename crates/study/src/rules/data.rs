//! Rules for the state of the data. They check the amounts of data that each target supports, and
//! the methods of resetting the data.

use super::rule_input::Subject;
use ::yaml::Diagnostics;

/// Applies the rules for the data.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    reset(subject, out);
    restore(subject, out);
    amount(subject, out);
    page_cache(subject, out);
    sample(subject, out);
}

fn reset(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "data.reset";
    match subject.text(path) {
        Some("truncate") if subject.wrote("data.present") => {
            let message = "`data.reset: truncate` would delete the rows of `data.present`";
            let hint = "use `reset: none`, or load the rows with `data.load`";
            subject.say(path, message.to_owned(), Some(hint), out);
        }
        Some("snapshot")
            if subject.has("target.attach") && !subject.has("target.attach.jolokia") =>
        {
            let message = "`data.reset: snapshot` needs access to the MBeans of an attached \
                           cluster's nodes";
            let hint = "add `target.attach.jolokia`, or use `truncate`, which loads the data again \
                        before each trial";
            subject.say(path, message.to_owned(), Some(hint), out);
        }
        Some("snapshot") if !subject.wrote("data.load") => {
            let message = "`data.reset: snapshot` restores loaded data, but the study loads none";
            let hint = "add `data: {load: …}`";
            subject.say(path, message.to_owned(), Some(hint), out);
        }
        _ => {}
    }
}

fn restore(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "data.restore";
    if subject.wrote(path) && subject.text("data.reset").is_some_and(|r| r != "snapshot") {
        let message =
            format!("`{path}` selects how to restore a snapshot, but the study has no snapshot");
        subject.say(path, message, Some("add `reset: snapshot`"), out);
    }
}

fn amount(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "data.load.fraction";
    if subject.wrote(path) {
        if subject.has("target.attach") {
            let message = format!("`{path}`: the volume size of an attached cluster is unknown");
            subject.say(path, message, Some("use `bytes_per_node`"), out);
        } else if subject.has("target.local") && !subject.wrote("target.local.host.volume") {
            let message = format!(
                "`{path}` is a share of the data volume, but the hosts have no volumes: the load \
                 would fill this machine's own disk"
            );
            let hint = "add `target.local.host.volume`, or use `bytes_per_node`";
            subject.say(path, message, Some(hint), out);
        }
    }
    let is_null = subject.has("target.null") && !subject.target_replaced;
    for path in ["data.load.fraction", "data.load.bytes_per_node"] {
        if is_null && subject.wrote(path) {
            let message = format!("`{path}` is not possible: the null target stores no data");
            subject.say(path, message, Some("use `operations`"), out);
        }
        let is_hidden = path == "data.load.fraction" && subject.has("target.attach");
        if !subject.wrote(path) || is_hidden {
            continue;
        }
        if subject.text("data.settle") == Some("none") {
            let message = format!(
                "`{path}` checks the size on disk after a flush, but `data.settle: none` flushes \
                 nothing"
            );
            let hint = "remove `data.settle`, or use `data.load.operations`";
            subject.say("data.settle", message, Some(hint), out);
        }
        if subject.has("target.attach") && !subject.has("target.attach.jolokia") {
            let message = format!(
                "`{path}` checks the size on disk after a flush, which needs access to the MBeans \
                 of an attached cluster's nodes"
            );
            let hint = "add `target.attach.jolokia`, or use `operations`";
            subject.say(path, message, Some(hint), out);
        }
    }
}

fn page_cache(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "data.page_cache";
    if subject.text(path) == Some("drop") && subject.has("target.attach") {
        let message = format!(
            "`{path}: drop` is not possible, because cassay does not control the machines of this \
             target"
        );
        let hint = "remove this key, or drop the page cache yourself between runs";
        subject.say(path, message, Some(hint), out);
    }
    let is_apart = subject.wrote("target.local.hosts")
        && subject.text("target.local.isolation") != Some("loopback");
    let mode = subject.text("target.local.yaml.disk_access_mode");
    if subject.text(path) == Some("drop")
        && subject.has("target.local")
        && !is_apart
        && mode != Some("standard")
    {
        let message = format!(
            "`{path}: drop` is not possible: the nodes map their files, and mapped pages remain \
             in memory"
        );
        let hint = "add `target.local.yaml: {disk_access_mode: standard}`, or give the nodes \
                    separate hosts (`target.local.hosts`)";
        subject.say(path, message, Some(hint), out);
    }
}

fn sample(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "verify.sample";
    let loaded = subject.wrote("data.load") || subject.wrote("data.present");
    let asked = subject.count(path) > Some(0) || subject.text(path) == Some("all");
    if !loaded && subject.wrote(path) && asked {
        let message = format!("`{path}` reads rows back, but the study loads none");
        subject.say(path, message, Some("add data.load.operations"), out);
    }
}
