//! Describes the number of client machines that a study needs.

use super::facts::{
    Facts, HERE, LINK_SHARE_MAX, Link, LinkBy, MeasuredClient, PointThroughput, Shape,
};
use analysis::rules::Limits;
use measure::number::{bytes, counted, significant, whole};

/// Describes the number of machines and the reason for this number. If the number is unknown,
/// describes how to find it. `source` is the file of the study.
pub fn sentence(
    facts: &Facts,
    ceiling: Option<&MeasuredClient>,
    shape: &Shape,
    source: &str,
) -> String {
    let by_link = link_words(facts, shape);
    match (&facts.reached, ceiling) {
        (None, _) => format!(
            "{} is unknown: no finished run of this study shows its throughput on this target. The \
             first run shows the throughput, and measures the ceiling of a client.",
            unknown(facts)
        ),
        (Some(_), None) => without_ceiling(facts, by_link, shape, source),
        (Some(reached), Some(ceiling)) => {
            let by_link = by_link.map(|link| format!("; {link}"));
            format!(
                "The highest point, {}, needs {}: {}, and rule V3 allows at most {:.0} % of this \
                 ceiling{}.",
                point_words(facts, reached),
                machines_words(shape.machines().unwrap_or(1), shape),
                ceiling_words(ceiling, shape),
                Limits::default().ceiling_share[0] * 100.0,
                by_link.unwrap_or_default()
            )
        }
    }
}

/// Returns the first words of the sentence for a variant whose need is unknown.
fn unknown(facts: &Facts) -> String {
    let point = facts.point.words();
    format!("The number of client machines for the highest point, {point},")
}

fn without_ceiling(facts: &Facts, by_link: Option<String>, shape: &Shape, source: &str) -> String {
    // Other machines cannot reach a null target on the machine that runs cassay.
    let alone = match (facts.names_machines, facts.splits_range) {
        (false, _) => "",
        (true, false) => " --set 'client.machines=[here]'",
        (true, true) => " --set 'client.machines=[here]' --set client.split=stride",
    };
    let least = match shape.machines() {
        Some(machines) if machines > 1 => format!(", so at least {machines}"),
        _ => String::new(),
    };
    let by_link = by_link.map(|link| format!(" By links: {link}{least}."));
    format!(
        "{} is unknown: no finished run of this study has measured the ceiling of a client. Each \
         run measures the ceiling before its first trial, even without the cluster: `cassay run \
         {source} --target null{alone}`.{}",
        unknown(facts),
        by_link.unwrap_or_default()
    )
}

fn point_words(facts: &Facts, reached: &PointThroughput) -> String {
    let highest = facts.point.words();
    let ops_per_s = whole(reached.ops_per_s);
    match &reached.shown {
        None => highest,
        Some((run, at)) if *at == facts.point => {
            format!("{highest} ({ops_per_s} op/s in the run {run})")
        }
        Some((run, at)) => format!(
            "{highest} (the run {run} reached {ops_per_s} op/s, at {})",
            at.words()
        ),
    }
}

/// Returns a text such as `3 client machines of 8 workers each`.
fn machines_words(machines: usize, shape: &Shape) -> String {
    let workers = workers_words(shape.workers_each);
    let (on_average, each) = match (shape.are_alike, machines) {
        (true, 1) => ("", ""),
        (true, _) => ("", " each"),
        (false, _) => (" on average", ""),
    };
    format!(
        "{} of {workers}{each}{on_average}",
        counted(machines, "client machine")
    )
}

fn workers_words(workers: f64) -> String {
    if workers == 1.0 {
        return "1 worker".to_owned();
    }
    let number = measure::number::without_zeros(&format!("{workers:.1}")).to_owned();
    format!("{number} workers")
}

fn ceiling_words(one: &MeasuredClient, shape: &Shape) -> String {
    let place = match one.place.as_str() {
        HERE => "here".to_owned(),
        place => format!("on {place}"),
    };
    let scaled = if shape.workers_each == one.workers as f64 {
        String::new()
    } else {
        let ops_per_s = one.per_worker() * shape.workers_each;
        format!(
            ", so about {} op/s with {}",
            whole(ops_per_s),
            workers_words(shape.workers_each)
        )
    };
    format!(
        "a client {place} with {} achieved at most {} op/s (run {}){scaled}",
        workers_words(one.workers as f64),
        whole(one.ceiling_ops_per_s),
        one.run
    )
}

/// Describes the share of the links' rate that the load takes. Returns `None` if the load uses no
/// link, or if the share is unknown.
fn link_words(facts: &Facts, shape: &Shape) -> Option<String> {
    let (link, bits_per_s) = facts.link.as_ref().zip(shape.bits_per_s)?;
    let payload = facts.payload;
    let (what, each) = if payload.request_bytes >= payload.answer_bytes {
        ("requests", payload.request_bytes)
    } else {
        ("answers", payload.answer_bytes)
    };
    let rate = rate_words(link.bits_per_s as f64);
    let how = match &link.by {
        LinkBy::Kernel(name) => format!("{name} of this machine"),
        LinkBy::Run(place) => format!("{place}'s"),
        LinkBy::Assumed(place) if place == HERE => "assumed rate of this machine".to_owned(),
        LinkBy::Assumed(place) => format!("assumed of {place}"),
    };
    let carries = carried(link);
    let relation = if bits_per_s > carries {
        "more than"
    } else {
        "within"
    };
    Some(format!(
        "the {what} of about {} per operation need {}, which is {relation} the {} for payload on a \
         link of {rate} ({how})",
        bytes(each.round() as u64),
        rate_words(bits_per_s),
        rate_words(carries)
    ))
}

fn carried(link: &Link) -> f64 {
    link.bits_per_s as f64 * LINK_SHARE_MAX
}

/// Returns a text such as `10.6 Gbit/s`.
fn rate_words(bits_per_s: f64) -> String {
    let (unit, name) = match bits_per_s {
        1e9.. => (1e9, "Gbit/s"),
        1e6.. => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    };
    let number = significant(bits_per_s / unit, 3);
    format!("{} {name}", measure::number::without_zeros(&number))
}

/// Returns advice if the load needs more machines than the study names.
pub fn warning(facts: &Facts, shape: &Shape) -> String {
    let named = facts.workers.len();
    let needed = shape.machines().unwrap_or(1);
    let what = match &facts.reached {
        Some(PointThroughput { shown: Some(_), .. }) => "the throughput of the highest point",
        _ => "the highest point",
    };
    let who = if facts.names_machines {
        format!("`client.machines` names {}", counted(named, "machine"))
    } else {
        "one client applies the load".to_owned()
    };
    let is_beyond = |by: Option<usize>| by.is_some_and(|machines| machines > named);
    let why = match (is_beyond(shape.by_ceiling), is_beyond(shape.by_link)) {
        (true, true) => {
            "the clients would exceed the limit of rule V3, and a link would be saturated"
        }
        (false, true) => "a link would be saturated",
        _ => "rule V3 would warn, so trials would be suspect",
    };
    let remedy = match (facts.names_machines, facts.only_here) {
        (_, true) => {
            "only this machine can reach the target: lower the highest point, or use a target that \
             other machines can reach (`target.attach`, `target.local.machines`)"
        }
        (true, false) => "name more machines, or lower the highest point",
        (false, false) => {
            "name client machines, such as `client.machines: [here, {ssh: HOST}]`, or lower the \
             highest point"
        }
    };
    format!("{who}, but {what} needs {needed}: {why}; {remedy}")
}
