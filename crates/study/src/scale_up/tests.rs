//! Tests the expansion of `scale_up`, and values that cassay refuses.

use crate::resolve::resolve;
use crate::settings::{Overrides, Study};
use target_spec::Placing;
use topology::Units;

fn study(rest: &str) -> Result<Study, String> {
    let text =
        format!("study: s\nquestion: q\nworkload: {{use: standard1, mix: {{write: 1}}}}\n{rest}\n");
    resolve("s", &text, &Overrides::default()).map_err(|out| out.to_string())
}

/// Description of a variant: name, number of nodes, placement rule, and part of the machine.
type UnitVariant<'s> = (&'s str, usize, Placing, Option<(Units, u32)>);

fn placed(study: &Study) -> Vec<UnitVariant<'_>> {
    let of = |variant: &'_ crate::settings::Variant| {
        let local = variant.settings.target.local().unwrap();
        (local.nodes, local.topology.placing, local.topology.part)
    };
    let variants = study.variants.iter();
    variants
        .map(|variant| {
            let (nodes, placing, part) = of(variant);
            (variant.name.as_str(), nodes, placing, part)
        })
        .collect()
}

#[test]
fn each_number_of_units_is_a_variant_with_the_procedures_load() {
    let study = study(
        "target: {local: {nodes: 1}}\n\
         procedure: {scale_up: {units: cores, counts: [1, 2, 4]}, sweep: {threads: [8, 16]}}",
    )
    .unwrap();
    let part = |count| Some((Units::Cores, count));
    assert_eq!(
        placed(&study),
        [
            ("1-core", 1, Placing::Pinned, part(1)),
            ("2-cores", 1, Placing::Pinned, part(2)),
            ("4-cores", 1, Placing::Pinned, part(4)),
        ]
    );
    let asked = study.scale_up.as_ref().unwrap();
    assert_eq!(
        (asked.units, &asked.counts[..]),
        (Some(Units::Cores), &[1, 2, 4][..])
    );
    assert_eq!(
        study.variants[0].settings.procedure.outlook().points.len(),
        2
    );
}

/// In an earlier version, `2.0` was omitted from the counts. The variant named for four cores then
/// got the number of the next value.
#[test]
fn a_count_in_another_form_is_a_number_of_units_too() {
    let study = study(
        "target: {local: {nodes: 1}}\n\
         procedure: {scale_up: {units: cores, counts: [1, 2.0, 4]}, fixed: {threads: 8}}",
    )
    .unwrap();
    let names: Vec<&str> = placed(&study).iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, ["1-core", "2-cores", "4-cores"]);
    assert_eq!(study.scale_up.as_ref().unwrap().counts, [1, 2, 4]);
}

#[test]
fn a_node_per_unit_gives_as_many_nodes_and_combines_with_arms() {
    let study = study(
        "target: {local: {hosts: 1}}\nkeyspace: {replication: 1}\n\
         variants:\n  blind: {target: {local: {topology: none}}}\n  \
         planned: {target: {local: {topology: pinned}}}\n\
         procedure:\n  scale_up:\n    {units: numa, counts: [1, 4], instances: one-per-numa, \
         p99_ms: 10}\n  fixed: {threads: 16}",
    )
    .unwrap();
    let part = |count| Some((Units::Numa, count));
    assert_eq!(
        placed(&study),
        [
            ("blind-1-numa", 1, Placing::None, part(1)),
            ("blind-4-numa", 4, Placing::None, part(4)),
            ("planned-1-numa", 1, Placing::Pinned, part(1)),
            ("planned-4-numa", 4, Placing::Pinned, part(4)),
        ]
    );
    let asked = study.scale_up.unwrap();
    assert!(asked.per_unit);
    assert_eq!(asked.p99_bound_ms, Some(10.0));
}

#[test]
fn an_impossible_scale_up_is_refused_with_its_reason() {
    let each = "units: numa, counts: [1], instances: one-per-numa";
    for (target, scale_up, expected) in [
        (
            "null: {}",
            "units: cores, counts: [1]",
            "only applies to nodes that the study starts",
        ),
        (
            "local: {}",
            "units: sockets, counts: [1], instances: one-per-numa",
            "`units: numa`",
        ),
        ("local: {}", "units: threads, counts: [1]", "units"),
        ("local: {}", "units: cores, counts: [0]", "count"),
        ("local: {}", "units: cores, counts: [2, 2]", "2-cores"),
        ("local: {hosts: 2}", each, "needs a single machine"),
        ("local: {nodes: 2}", each, "both set the number of nodes"),
    ] {
        let said = study(&format!(
            "target: {{{target}}}\nprocedure: {{scale_up: {{{scale_up}}}, fixed: {{threads: 1}}}}"
        ))
        .unwrap_err();
        assert!(said.contains(expected), "{target} {scale_up}\n{said}");
    }
    let alone = "target: {local: {}}\nprocedure: {scale_up: {units: cores, counts: [1, 2]}}";
    let said = study(alone).unwrap_err();
    assert!(said.contains("procedure"), "{said}");
}

#[test]
fn it_has_one_bound_and_stands_in_one_place() {
    let of = |procedure: &str, rest: &str| {
        study(&format!(
            "target: {{local: {{}}}}\n\
             procedure: {{scale_up: {{units: cores, counts: [1]{procedure}}}\n{rest}"
        ))
    };
    let peak = "peak: {threads: {from: 1, to: 64}, p99_ms: 50}";
    assert!(of(&format!("}}, {peak}"), "").is_ok());
    for (procedure, rest, expected) in [
        (
            format!(", p99_ms: 10}}, {peak}"),
            "",
            "both set a latency limit",
        ),
        (
            "}, fixed: {threads: 1}".to_owned(),
            "variants: {a: {}, b: {procedure: {scale_up: {counts: [2]}}}}",
            "applies to all variants of the study",
        ),
    ] {
        let refused = of(&procedure, rest).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn where_nodes_and_client_run_is_said_once_and_parts_are_whole() {
    let of = |topology: &str, rest: &str| {
        study(&format!(
            "target: {{local: {{topology: {topology}}}}}\n\
             procedure: {{fixed: {{threads: 1}}}}\n{rest}"
        ))
    };
    let cpus = "client: {cpus: [1]}";
    let kept = "{placing: none, client: 1}";
    for topology in ["pinned", "auto", "{cpus: 1}", "{placing: auto}", kept] {
        let said = of(topology, cpus).unwrap_err();
        assert!(said.contains("both place the client"), "{topology}: {said}");
        of(topology, "").unwrap();
    }
    for topology in ["none", "{placing: none}", "one-socket-per-vcpu"] {
        of(topology, cpus).unwrap();
    }
    for (topology, word) in [
        ("{units: cores}", "needs `count`"),
        ("{count: 2}", "needs `units`"),
        (
            "{cpus: 64, units: cores, count: 2}",
            "do not fit into 2 cores",
        ),
        ("sideways", "topology"),
        (
            "{placing: one-socket-per-vcpu, housekeeping: 1}",
            "with `placing: one-socket-per-vcpu` nodes may use every core",
        ),
        (
            "{placing: none, units: cores, count: 2, housekeeping: 2}",
            "`target.local.topology.housekeeping` is 2, but with `placing: none`",
        ),
    ] {
        let said = of(topology, "").unwrap_err();
        assert!(said.contains(word), "{topology}: {said}");
    }
    for topology in [
        "{placing: auto, housekeeping: 1}",
        "{placing: none, housekeeping: 0}",
    ] {
        of(topology, "").unwrap();
    }
}
