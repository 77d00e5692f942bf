//! Rules for procedures. They check ranges of points, bands and searches.

use super::rule_input::Subject;
use crate::checked_tree::Tree;
use crate::settings::{Draft, LADDER_POINTS_MAX};
use crate::units;
use ::yaml::{Diagnostics, Raw};
use analysis::procedure::Endurance;
use std::collections::BTreeSet;

/// Reports contradictions in a procedure.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    for axis in ["threads", "rate"] {
        ladder(subject, axis, out);
    }
    band(subject, out);
    for path in [
        "procedure.peak.rate",
        "procedure.peak.threads",
        "procedure.latency_target.threads",
    ] {
        ends(subject, path, out);
    }
    endurance(subject, out);
    arrival(subject, out);
}

/// Checks an endurance run. Its windows replace the windows of the study, so their lengths must
/// also be whole seconds.
fn endurance(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "procedure.endurance";
    if !subject.wrote(path) {
        return;
    }
    if subject.wrote("window.measure") {
        let message = "`window.measure` and `procedure.endurance` both set the window length";
        let hint = "remove `window.measure`: `for` and `beside` set the lengths";
        subject.say("window.measure", message.to_owned(), Some(hint), out);
    }
    let beside = subject
        .tree
        .find("procedure.endurance.beside")
        .map(Tree::items)
        .unwrap_or_default();
    if beside.len() > Endurance::BESIDE_MAX {
        let message = format!(
            "`{path}.beside` has {} windows; the maximum is {}",
            beside.len(),
            Endurance::BESIDE_MAX
        );
        let hint = Some("remove some windows, or repeat the study: `repeat: {blocks: 3}`");
        subject.say(&format!("{path}.beside"), message, hint, out);
    }
    let long = subject.tree.find("procedure.endurance.for");
    for (key, tree) in long
        .map(|long| ("for", long))
        .into_iter()
        .chain(beside.iter().map(|tree| ("beside", tree)))
    {
        super::rule_input::whole(subject, &format!("{path}.{key}"), tree, out);
    }
    let shortest = long.and_then(Tree::duration_ns).unwrap_or(u64::MAX);
    if beside.iter().filter_map(Tree::duration_ns).any(|ns| ns > shortest) {
        let message = format!("`{path}.beside` has a window that is longer than `for`");
        let hint = Some("swap the two: the window in `for` must be the longest");
        subject.say(&format!("{path}.beside"), message, hint, out);
    }
}

/// Checks that the last point of a search is not below its first point.
fn ends(subject: &Subject<'_>, path: &str, out: &mut Diagnostics) {
    let (from, to) = (format!("{path}.from"), format!("{path}.to"));
    let ends = subject.count(&from).zip(subject.count(&to));
    if ends.is_some_and(|(first, last)| last < first) {
        subject.say(&to, format!("`{to}` is below `{from}`"), None, out);
    }
}

fn ladder(subject: &Subject<'_>, axis: &str, out: &mut Diagnostics) {
    let path = format!("procedure.sweep.{axis}");
    let Some(tree) = subject.tree.find(&path) else {
        return;
    };
    let until = subject.wrote("procedure.sweep.until");
    if axis == "threads" && subject.text("procedure.sweep.until") == Some("saturation") {
        let path = "procedure.sweep.until";
        let message = format!(
            "`{path}: saturation` requires a sweep over `rate`, because a closed loop has no \
             offered rate"
        );
        let hint = "sweep over `rate`, or end at a `plateau`";
        subject.say(path, message, Some(hint), out);
    }
    let (from, to) = (format!("{path}.from"), format!("{path}.to"));
    if let (Some(first), last) = (subject.count(&from), subject.count(&to)) {
        if last.is_some_and(|last| last < first) {
            subject.say(&to, format!("`{to}` is below `{from}`"), None, out);
        }
        if last.is_none() && !subject.wrote(&to) && !until {
            let message = format!("`{path}` has no end");
            subject.say(
                &path,
                message,
                Some("add `to`, or `until: timeout` to the sweep"),
                out,
            );
        }
    }
    if let Some(last) = subject.count(&to) {
        points_max(subject, (&path, &to), last, out);
    }
    let points: Vec<u64> = tree.items().iter().filter_map(Tree::count).collect();
    if let Some((index, point)) = repeated(tree) {
        let point = units::format_count(point);
        let message = format!("`{path}` contains the point {point} more than once");
        let list = subject.node.nearest(&path);
        let place = match &list.raw {
            Raw::List(items) => items.get(index).map_or(&list.place, |item| &item.place),
            _ => &list.place,
        };
        out.add(place, message, Some("remove the duplicates".to_owned()));
    } else if until && points.windows(2).any(|pair| pair[0] > pair[1]) {
        let message = format!(
            "the values of `{path}` must increase, because the sweep ends at the first point that \
             fulfils `until`"
        );
        subject.say(&path, message, None, out);
    }
}

/// Returns the first point that is equal to an earlier point, with its index in the list.
fn repeated(list: &Tree) -> Option<(usize, u64)> {
    let mut earlier = BTreeSet::new();
    let items = list.items().iter().enumerate();
    let mut points = items.filter_map(|(index, item)| Some((index, item.count()?)));
    points.find(|(_, point)| !earlier.insert(*point))
}

fn band(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "procedure.band";
    if !subject.wrote(path) {
        return;
    }
    ends(subject, "procedure.band.threads", out);
    let p99 = "procedure.band.p99_ms";
    let items = subject.tree.find(p99).map(Tree::items).unwrap_or_default();
    let ms: Vec<f64> = items.iter().filter_map(Tree::number).collect();
    if subject.wrote(p99) && !matches!(ms.as_slice(), [least, most] if least <= most) {
        let message = format!("`{p99}` must be a lower and an upper limit, in this order");
        subject.say(p99, message, Some("write `[50, 100]`"), out);
    }
    let turns = Draft::from_tree(subject.tree).band().outlook().turns_max;
    if turns > LADDER_POINTS_MAX {
        let message = format!(
            "`{path}` may need {turns} trials per variant and block; the maximum is \
             {LADDER_POINTS_MAX}"
        );
        subject.say(
            path,
            message,
            Some("use larger steps, or a lower `to`"),
            out,
        );
    }
}

/// Checks that a range with a stated end can have all of its points. If cassay omitted points
/// silently, the results would mislead readers.
fn points_max(subject: &Subject<'_>, (path, to): (&str, &str), last: u64, out: &mut Diagnostics) {
    let range = Draft::from_tree(subject.tree).range;
    let points = range.map_or_else(Vec::new, |range| range.points(LADDER_POINTS_MAX + 1));
    if points.len() <= LADDER_POINTS_MAX {
        return;
    }
    let message = format!(
        "`{to}` is {last}, so `{path}` has more points than the maximum of {LADDER_POINTS_MAX} for \
         a range"
    );
    let hint = format!(
        "lower `to` to {} or less, use larger steps, or write the points as a list",
        points[LADDER_POINTS_MAX - 1]
    );
    subject.say(to, message, Some(&hint), out);
}

fn arrival(subject: &Subject<'_>, out: &mut Diagnostics) {
    let rate = [
        "procedure.sweep.rate",
        "procedure.fixed.rate",
        "procedure.endurance.rate",
        "procedure.peak.rate",
    ];
    let path = "procedure.arrival";
    if subject.text(path) == Some("poisson") && !rate.iter().any(|path| subject.wrote(path)) {
        let message = "`procedure.arrival: poisson` needs a rate: a closed loop has no arrivals";
        subject.say(
            path,
            message.to_owned(),
            Some("sweep over `rate` instead"),
            out,
        );
    }
}
