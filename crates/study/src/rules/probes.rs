//! Rules for probes. They check that the target meets the requirements of the probes, and check the
//! files and addresses of other programs.

use super::{Subject, harmless};
use crate::inputs;
use ::yaml::{Diagnostics, Node, Raw};

/// Applies the rules for probes.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    check_null(subject, out);
    check_profile(subject, out);
    let import = subject.node.find("probes.import");
    let items = match import.map(|node| &node.raw) {
        Some(Raw::List(items)) => items.as_slice(),
        _ => return,
    };
    for item in items {
        self::import(subject, item, out);
    }
}

fn check_null(subject: &Subject<'_>, out: &mut Diagnostics) {
    if !subject.has("target.null") || subject.target_replaced {
        return;
    }
    for key in ["hosts", "processes", "jvm", "cassandra", "gc_log"] {
        let path = format!("probes.{key}");
        if subject.wrote(&path) && subject.text(&path) != Some("false") {
            let message = format!("`{path}` has no metrics to read on the null target");
            subject.say(
                &path,
                message,
                Some("remove it, or use another target"),
                out,
            );
        }
    }
}

fn check_profile(subject: &Subject<'_>, out: &mut Diagnostics) {
    const PROFILE: &str = "probes.profile";
    if !subject.wrote(PROFILE) || subject.has("target.local") || subject.target_replaced {
        return;
    }
    let message = format!(
        "`{PROFILE}` requires nodes that cassay starts, because they load the profiler at their \
         start"
    );
    let hint = "remove it, or use `target: {local: {…}}`";
    subject.say(PROFILE, message, Some(hint), out);
}

fn import(subject: &Subject<'_>, item: &Node, out: &mut Diagnostics) {
    let entry = |key: &str| item.entry(key);
    let text = |key: &str| entry(key).and_then(|entry| entry.value.text());
    let mut say = |key: &str, message: String, hint: Option<&str>| {
        let place = entry(key).map_or(&item.place, |entry| &entry.value.place);
        out.add(place, message, hint.map(str::to_owned));
    };
    let file = |name: &str| {
        let folder = subject.overrides.files.as_ref();
        folder.map_or(Ok(()), |f| inputs::stays_inside(f, name))
    };
    let mut is_url = false;
    if let Some(name) = text("esxtop")
        && let Err(why) = file(name)
    {
        say("esxtop", why, None);
    }
    if let Some(name) = text("prometheus") {
        is_url = name.contains("://");
        if is_url && !name.starts_with("http://") && !name.starts_with("https://") {
            let message = format!("`{name}` is neither a file nor an http or https address");
            say("prometheus", message, None);
        } else if is_url && let Err(why) = harmless::may_be_asked(subject, item, name) {
            say("prometheus", why, Some(harmless::HINT));
        } else if !is_url && let Err(why) = file(name) {
            say("prometheus", why, None);
        }
    }
    if entry("columns").is_some() && text("esxtop").is_none() {
        let message = "`columns` only applies to `esxtop`".to_owned();
        say("columns", message, Some("remove it"));
    }
    if entry("period").is_some() && !is_url {
        let message = "`period` only applies to the address of an endpoint; a file has its own \
                       times";
        say("period", message.to_owned(), Some("remove it"));
    }
}
