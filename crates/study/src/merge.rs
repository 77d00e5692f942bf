//! Merges one tree of nodes into another. Variants, scales, `--set` and `--target` are such trees.
//!
//! Mappings are merged key by key, and other values are replaced. If a tree sets one of several
//! exclusive keys, the other keys are removed. So a variant may replace a sweep over threads by a
//! sweep over rates. A scale may set a variant, an axis of a matrix or a value of an axis to
//! `none`. The study then omits this part and runs fewer trials.

use crate::format::sections;
use yaml::Place;
use yaml::{Entry, Node, Raw};

/// Merges `over` into `base`. `path` is the path of both nodes in the study. The path is empty for
/// the whole study.
pub fn merge(base: &mut Node, over: &Node, path: &str) {
    let path = sections::outside_phases(path);
    let (Raw::Map(base_entries), Raw::Map(over_entries)) = (&mut base.raw, &over.raw) else {
        // A section without content, such as `verify:`, does not change the study.
        if !matches!(over.raw, Raw::Null) || !matches!(base.raw, Raw::Map(_)) {
            *base = over.clone();
        }
        return;
    };
    if sections::REPLACED_WHOLE.contains(&path) {
        *base = over.clone();
        return;
    }
    for entry in over_entries {
        remove_excluded(base_entries, path, &entry.key);
        let child = if path.is_empty() {
            entry.key.clone()
        } else {
            format!("{path}.{}", entry.key)
        };
        let known = base_entries.iter().position(|e| e.key == entry.key);
        if let Some(at) = known.filter(|_| is_left_out(&child, &entry.value)) {
            base_entries.remove(at);
            continue;
        }
        match base_entries.iter_mut().find(|e| e.key == entry.key) {
            Some(known) => merge(&mut known.value, &entry.value, &child),
            None => base_entries.push(entry.clone()),
        }
    }
}

/// Returns true if a scale sets a variant, an axis, or a value of an axis to `none`, so that it is
/// omitted.
fn is_left_out(path: &str, value: &Node) -> bool {
    let depth = path.split('.').count();
    let may_be = match path.split('.').next() {
        Some("variants") => depth == 2,
        Some("matrix") => depth == 2 || depth == 3,
        _ => false,
    };
    may_be && matches!(&value.raw, Raw::Scalar { text, .. } if text == "none")
}

fn remove_excluded(entries: &mut Vec<Entry>, path: &str, key: &str) {
    for group in sections::EXCLUSIVE {
        if group.path == path && group.keys.contains(&key) {
            entries.retain(|e| e.key == key || !group.keys.contains(&e.key.as_str()));
        }
    }
}

/// Returns the mapping that is equivalent to a dotted key with a value.
pub fn nested(dotted: &str, place: &Place, value: Node) -> Node {
    // If the text contains the key literally, without quotes, each part of the key gets its exact
    // place.
    let exact = place.span.len() == dotted.len();
    let mut end = dotted.len();
    let mut node = value;
    for part in dotted.rsplit('.') {
        let start = end - part.len();
        let span = if exact {
            place.span.start + start..place.span.start + end
        } else {
            place.span.clone()
        };
        let place = Place {
            source: place.source,
            span,
        };
        let entry = Entry {
            key: part.to_owned(),
            place: place.clone(),
            value: node,
            earlier: None,
        };
        node = Node {
            raw: Raw::Map(vec![entry]),
            place,
        };
        end = start.saturating_sub(1);
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use yaml::Diagnostics;

    fn node(text: &str) -> Node {
        yaml::parse(
            0,
            text,
            yaml::Limits::STUDY,
            &mut Diagnostics::new(Vec::new()),
        )
        .unwrap()
    }

    fn flat(node: &Node) -> String {
        match &node.raw {
            Raw::Null => "~".into(),
            Raw::Scalar { text, .. } => text.clone(),
            Raw::List(items) => format!("{:?}", items.iter().map(flat).collect::<Vec<_>>()),
            Raw::Map(entries) => {
                entries.iter().map(|e| format!("{}={{{}}}", e.key, flat(&e.value))).collect()
            }
        }
    }

    #[test]
    fn overrides_merge_replace_and_exclude() {
        for (base, over, expected) in [
            (
                "{window: {measure: 1s, warmup: auto}}",
                "{window: {measure: 2s}}",
                "window={measure={2s}warmup={auto}}",
            ),
            (
                "{workload: {mix: {write: 9, read: 1}}}",
                "{workload: {mix: {write: 1}}}",
                "workload={mix={write={1}}}",
            ),
            (
                "{workload: {params: {a: 1, b: 2}}}",
                "{workload: {params: {b: 3}}}",
                "workload={params={a={1}b={3}}}",
            ),
            (
                "{matrix: {size: {small: {a: 1}, large: {}}, heap: {x: {}}}}",
                "{matrix: {size: {large: none}, heap: none}}",
                "matrix={size={small={a={1}}}}",
            ),
            // The study has no entry `c`, so the override cannot omit it. The check of values then
            // refuses `none`.
            (
                "{variants: {a: {}, b: {}}}",
                "{variants: {b: none, c: none}}",
                "variants={a={}c={none}}",
            ),
            (
                "{workload: {use: none}}",
                "{workload: {use: none}}",
                "workload={use={none}}",
            ),
            (
                "{procedure: {sweep: {threads: [1, 2]}}}",
                "{procedure: {sweep: {rate: [5]}}}",
                "procedure={sweep={rate={[\"5\"]}}}",
            ),
            (
                "{target: {local: {heap: 1GiB}}}",
                "{target: {null: {}}}",
                "target={null={}}",
            ),
            (
                "{phases: {load: {keyspace: {compaction: {class: A, b: 1}}}}}",
                "{phases: {load: {keyspace: {compaction: {class: B}}}}}",
                "phases={load={keyspace={compaction={class={B}}}}}",
            ),
            (
                "{data: {load: {operations: 1k}}}",
                "{data: {load: {fraction: 0.3}}}",
                "data={load={fraction={0.3}}}",
            ),
            (
                "{window: {measure: 1s}}",
                "{window: }",
                "window={measure={1s}}",
            ),
        ] {
            let mut merged = node(base);
            merge(&mut merged, &node(over), "");
            assert_eq!(flat(&merged), expected, "{base} + {over}");
        }
    }

    #[test]
    fn a_dotted_key_is_a_nested_mapping_with_places_of_its_parts() {
        let place = Place {
            source: 0,
            span: 10..24,
        };
        let tree = nested("window.measure", &place, node("5s"));
        assert_eq!(flat(&tree), "window={measure={5s}}");
        let measure = tree.find("window").unwrap().entry("measure").unwrap();
        assert_eq!(measure.place.span, 17..24);
    }
}
