//! Builds the runs of a screening. They are the sides of a study that identifies the important
//! settings among many settings.
//!
//! The first side of a screening is the original study, `default`. The other sides are the runs of
//! the screening's design. In each of these runs, every setting has one of its two values.

use crate::matrix::{Side, overlaps};
use analysis::screening::{Design, SETTINGS};
use yaml::{Diagnostics, Entry, Node, Raw};

/// Path of the key for the settings of a screening.
pub const PATH: &str = "screen.settings";
/// Name of the side that is the original study.
pub const DEFAULT: &str = "default";

pub fn settings(base: &Node) -> &[Entry] {
    let settings = base.find(PATH).and_then(Node::entries);
    settings.unwrap_or_default()
}

fn is_folded(base: &Node) -> bool {
    base.find("screen.fold").and_then(Node::text) == Some("true")
}

/// Returns the sides of a study's screening. `None` for a study without a screening. If the
/// screening as a whole has mistakes, reports them and makes each value a side, so that each value
/// is still checked once.
pub fn sides<'n>(base: &'n Node, out: &mut Diagnostics) -> Option<Vec<Side<'n>>> {
    base.find("screen")?;
    let settings = settings(base);
    let values = |setting: &'n Entry| setting.value.entries().unwrap_or_default();
    let has_design = is_sized(base, settings, out);
    let all: Vec<&Entry> = settings.iter().collect();
    overlaps(&all, "settings", out);
    dependent(settings, out);
    let mut is_good = has_design.is_some();
    for setting in settings {
        let count = values(setting).len();
        // A setting without values is skipped here, because the check of the form refuses it.
        if count != 2 && count != 0 {
            let message = format!(
                "`{}` has {count} values, but a screening needs exactly two",
                setting.key
            );
            let hint = "keep the two values that are furthest apart, or use `matrix` to compare \
                        all values"
                .to_owned();
            out.add(&setting.place, message, Some(hint));
        }
        is_good &= count == 2;
    }
    let default = Side {
        name: DEFAULT.into(),
        ..Side::default()
    };
    let Some(design) = has_design.filter(|_| is_good) else {
        let each = settings.iter().flat_map(values).map(|value| Side {
            name: value.key.as_str().into(),
            overs: vec![&value.value],
            ..Side::default()
        });
        return Some(std::iter::once(default).chain(each).collect());
    };
    let run = |(number, signs): (usize, Vec<i8>)| {
        let cell: Vec<usize> =
            signs.iter().take(settings.len()).map(|sign| usize::from(*sign > 0)).collect();
        let over = settings.iter().zip(&cell).filter_map(|(s, at)| values(s).get(*at));
        Side {
            name: format!("run-{:02}", number + 1).into(),
            overs: over.map(|entry| &entry.value).collect(),
            cell,
        }
    };
    let runs = design.signs().into_iter().enumerate().map(run);
    Some(std::iter::once(default).chain(runs).collect())
}

/// Returns the design for this number of settings. If no design exists for this number, reports the
/// reason.
fn is_sized(base: &Node, settings: &[Entry], out: &mut Diagnostics) -> Option<Design> {
    let (count, fold) = (settings.len(), is_folded(base));
    let [least, most] = SETTINGS;
    let design = Design::smallest(count, fold);
    if design.is_some() || base.find(PATH).is_none() {
        return design;
    }
    let (path, message, hint) = if count < least {
        let message = format!("the screening has {count} settings; the minimum is {least}");
        (
            PATH,
            message,
            "measure every combination of the settings: use `matrix`",
        )
    } else if count > most {
        let message = format!("the screening has {count} settings; the maximum is {most}");
        (
            PATH,
            message,
            "remove some settings, or split the study into two",
        )
    } else {
        let message = format!("`fold` has no advantage in the design for {count} settings");
        (
            "screen.fold",
            message,
            "remove `fold`: the design already separates the effects",
        )
    };
    out.add(&base.nearest(path).place, message, Some(hint.to_owned()));
    None
}

/// Settings of cassandra.yaml that have an effect only with one value of another setting. Each
/// entry contains the key, the other key, and the value of the other key. A screening would call
/// such a setting unimportant, because it has no effect in half of the runs.
const ONLY_WITH: [(&str, &str, &str); 2] = [
    ("commitlog_sync_period", "commitlog_sync", "periodic"),
    ("commitlog_sync_group_window", "commitlog_sync", "group"),
];

/// Refuses a screening of two settings if one of them has an effect only with one value of the
/// other.
fn dependent(settings: &[Entry], out: &mut Diagnostics) {
    const YAML: &str = "target.local.yaml";
    let sets = |setting: &Entry, key: &str| {
        let values = setting.value.entries().unwrap_or_default();
        let path = format!("{YAML}.{key}");
        values.iter().any(|value| value.value.find(&path).is_some())
    };
    for setting in settings {
        for (key, other, value) in ONLY_WITH {
            let of_other = settings.iter().find(|s| s.key != setting.key && sets(s, other));
            let Some(of_other) = of_other.filter(|_| sets(setting, key)) else {
                continue;
            };
            let message = format!(
                "`{}` sets `{key}`, which requires `{other}: {value}`, but `{}` changes that value",
                setting.key, of_other.key
            );
            let hint = "move one of the two settings to another study".to_owned();
            out.add(&setting.place, message, Some(hint));
        }
    }
}

/// Formats an entry as YAML on one line.
pub fn flow_entry(entry: &Entry) -> String {
    format!("{}: {}", scalar(&entry.key, false), flow(&entry.value))
}

/// Formats a node as YAML on one line.
pub fn flow(node: &Node) -> String {
    match &node.raw {
        Raw::Null => "{}".to_owned(),
        Raw::Scalar { text, quoted } => scalar(text, *quoted),
        Raw::List(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Raw::Map(entries) => {
            let entries: Vec<String> = entries.iter().map(flow_entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Formats a scalar. Adds quotes if YAML would interpret the text differently without them.
pub(crate) fn scalar(text: &str, quoted: bool) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+');
    let plain = !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-');
    if plain && !quoted {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use crate::resolve::resolve;
    use crate::settings::{Overrides, Study};

    const SETTINGS: [&str; 5] = [
        "timeout: {low: {client: {timeout: 5s}}, high: {client: {timeout: 10s}}}",
        "compression: {low: {}, high: {client: {compression: lz4}}}",
        "connections: {low: {client: {connections_per_node: 1}}, high: {client: \
         {connections_per_node: 4}}}",
        "quantum: {low: {client: {release_quantum: 0s}}, high: {client: {release_quantum: 1ms}}}",
        "latency: {low: {}, high: {target: {'null': {latency: 1ms}}}}",
    ];

    fn study(settings: &[&str], rest: &str) -> Result<Study, String> {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {{fixed: {{threads: 4}}}}\nscreen:\n  settings:\n    {}\n{rest}\n",
            settings.join("\n    ")
        );
        resolve("s", &text, &Overrides::default()).map_err(|out| out.to_string())
    }

    #[test]
    fn a_screening_is_the_study_as_it_is_and_the_runs_of_its_design() {
        let study = study(&SETTINGS, "").unwrap();
        let names: Vec<&str> = study.variants.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(
            (names.len(), names[0], names[1], names[8]),
            (9, "default", "run-01", "run-08")
        );
        assert!(study.variants[0].cell.is_empty());
        for variant in &study.variants[1..] {
            let high = variant.cell[2] == 1;
            let connections = variant.settings.client.connections_per_node;
            assert_eq!(connections, if high { 4 } else { 1 }, "{}", variant.name);
        }
        let axes: Vec<&str> = study.axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(axes[4], "latency");
        assert_eq!(
            study.axes[4].text,
            "latency: {low: {}, high: {target: {null: {latency: 1ms}}}}"
        );
    }

    #[test]
    fn screenings_that_make_no_sense_are_refused_with_what_to_do() {
        let said = |settings: &[&str], rest: &str| study(settings, rest).unwrap_err();
        let few = said(&SETTINGS[..3], "");
        assert!(
            few.contains("the minimum is 4") && few.contains("matrix"),
            "{few}"
        );
        let mut three = SETTINGS;
        three[0] = "a: {x: {}, y: {client: {timeout: 5s}}, z: {client: {timeout: 6s}}}";
        assert!(said(&three, "").contains("a screening needs exactly two"));
        let mut same = SETTINGS;
        same[0] = "a: {x: {}, y: {client: {compression: snappy}}}";
        let same = said(&same, "");
        assert!(same.contains("`a` and `compression` both set"), "{same}");
        let both = said(&SETTINGS, "variants: {a: {}, b: {}}");
        assert!(both.contains("both"), "{both}");
        let named =
            |n: usize| format!("s{n}: {{low: {{}}, high: {{workload: {{params: {{p{n}: 1}}}}}}}}");
        let eight: Vec<String> = (0..8).map(named).collect();
        let eight: Vec<&str> = eight.iter().map(String::as_str).collect();
        let fold = said(&eight, "  fold: true");
        assert!(fold.contains("`fold` has no advantage"), "{fold}");
    }

    #[test]
    fn a_setting_that_depends_on_another_is_refused_in_a_screening() {
        let yaml =
            |key: &str, value: &str| format!("{{target: {{local: {{yaml: {{{key}: {value}}}}}}}}}");
        let one = format!("sync: {{a: {{}}, b: {}}}", yaml("commitlog_sync", "batch"));
        let two = format!(
            "period: {{a: {{}}, b: {}}}",
            yaml("commitlog_sync_period", "1s")
        );
        let settings = [&one, &two, SETTINGS[0], SETTINGS[1]];
        let said = study(&settings, "").unwrap_err();
        assert!(
            said.contains("requires `commitlog_sync: periodic`"),
            "{said}"
        );
    }

    #[test]
    fn runs_come_in_an_order_of_chance_whatever_they_change() {
        let study = study(&SETTINGS, "").unwrap();
        let outlooks = crate::plan::order::outlooks(&study);
        let order = |seed: u64| -> Vec<usize> {
            let study = Study {
                seed,
                ..study.clone()
            };
            let cells = crate::plan::order::order(&study, &outlooks);
            cells.iter().map(|cell| cell.variant.0).collect()
        };
        // The first half of the order does not always contain the same target. Over several seeds,
        // every run follows every other run.
        let mut pairs = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let order = order(seed);
            assert_eq!(order.len(), 9);
            pairs.extend(order.windows(2).map(|two| (two[0], two[1])));
        }
        assert_eq!(pairs.len(), 9 * 8);
    }
}
