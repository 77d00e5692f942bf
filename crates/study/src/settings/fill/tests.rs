//! Tests that every key in the table of study keys sets a value.

use super::*;
use crate::settings::LADDER_POINTS_MAX;
use target_spec::Latency;

fn range(text: &str) -> Vec<u64> {
    let mut diagnostics = yaml::Diagnostics::new(Vec::new());
    let text = format!("study: s\nprocedure: {{sweep: {{threads: {text}}}}}");
    let node = yaml::parse(0, &text, yaml::Limits::STUDY, &mut diagnostics).unwrap();
    let tree = crate::check::study(&node, &mut diagnostics);
    let points = Draft::from_tree(&tree).points();
    points.iter().map(|point| point.value() as u64).collect()
}

#[test]
fn points_come_from_lists_steps_and_factors() {
    for (text, expected) in [
        ("[4, 8, 16]", vec![4, 8, 16]),
        ("8", vec![8]),
        ("{from: 28, step: 28, to: 100}", vec![28, 56, 84]),
        ("{from: 1, factor: 2, to: 8}", vec![1, 2, 4, 8]),
        ("{from: 1, factor: 1.1, to: 4}", vec![1, 2, 3, 4]),
    ] {
        assert_eq!(range(text), expected, "{text}");
    }
    assert_eq!(range("{from: 28, step: 28}").len(), LADDER_POINTS_MAX);
    // A range without an upper limit ends at the limit of the table, because no client can have
    // more operations in flight.
    let thousands = vec![1, 1_000, 1_000_000];
    assert_eq!(range("{from: 1, factor: 1000}, until: timeout"), thousands);
}

/// Returns values that a type accepts. A mapping by node has two keys: the name of a node of the
/// null target, and an address.
fn samples(typ: &Type) -> Vec<Tree> {
    let words = |typ: &Type| typ.words().into_iter().map(|word| Tree::Text(word.to_owned()));
    let text = Tree::Text("some".to_owned());
    match typ {
        Type::Text(_) | Type::Name(_) | Type::CqlName(_) | Type::Any(_) => vec![text],
        Type::Release(_) => {
            let release = versions::Release::parse("4.1").unwrap();
            vec![Tree::Release(release, "4.1".to_owned())]
        }
        Type::Count(least, most, _) => vec![Tree::Count(*least), Tree::Count(*most)],
        Type::Number(least, most, _) | Type::Share(least, most, _) => {
            vec![Tree::Number(*least), Tree::Number(*most)]
        }
        Type::Duration(_, most, _) => vec![Tree::DurationNs(*most)],
        Type::Bytes(_, most, _) => vec![Tree::Bytes(*most)],
        Type::BitRate(_, most, _) => vec![Tree::BitRate(*most)],
        Type::Bool(_) => vec![Tree::Bool(true), Tree::Bool(false)],
        Type::Choice(_) | Type::Level(..) | Type::Fault(_) => words(typ).collect(),
        Type::WordOr(_, other) => words(typ).chain(samples(other)).collect(),
        Type::Either(scalar, mapping) => [samples(scalar), samples(mapping)].concat(),
        Type::List(item) => vec![Tree::List(samples(item))],
        Type::Map(item) => {
            let entries = samples(item).into_iter();
            let address = || "10.0.0.5".to_owned();
            vec![
                Tree::Map(entries.map(|one| ("overloaded".to_owned(), one)).collect()),
                Tree::Map(vec![(address(), Tree::Text(address()))]),
            ]
        }
        Type::Secret(_) => vec![Tree::Map(vec![("env".to_owned(), text)])],
        Type::Section(_) => vec![Tree::Map(Vec::new())],
        Type::Variants | Type::Matrix | Type::Phase | Type::Scales => Vec::new(),
    }
}

/// Without this test, cassay could accept a key whose row does nothing.
#[test]
fn every_key_but_those_of_sections_sets_something() {
    let mut before = Draft::default();
    // The distribution is already `uniform`, because the key for its upper limit changes only an
    // existing `uniform`.
    before.null.latency = Latency::Uniform {
        from_ns: 1,
        to_ns: 1,
    };
    for field in format::fields() {
        let values = samples(&field.typ);
        let sets = values.iter().any(|value| {
            let mut draft = before.clone();
            draft.take(value, "", &field.typ);
            format!("{draft:?}") != format!("{before:?}")
        });
        let is_section = matches!(field.typ, Type::Section(_));
        assert!(sets || is_section || values.is_empty(), "{}", field.path);
    }
}

#[test]
fn every_procedure_that_may_be_written_is_made() {
    let table = format::EXCLUSIVE.iter().find(|one| one.path == "procedure");
    for key in table.unwrap().keys {
        let field = format::field(&format!("procedure.{key}")).unwrap();
        let mut draft = Draft::default();
        draft.take(&Tree::Map(Vec::new()), field.path, &field.typ);
        assert!(draft.procedure.is_some(), "{key}");
    }
}
