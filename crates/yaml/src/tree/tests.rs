//! Tests texts that the parser accepts or refuses.

use super::*;
use crate::diagnostic::SourceText;
use proptest::prelude::*;

fn parse_text(text: &str) -> (Option<Node>, Diagnostics) {
    let source = SourceText {
        name: "s.yaml".into(),
        text: text.into(),
    };
    let mut diagnostics = Diagnostics::new(vec![source]);
    let node = parse(0, text, Limits::STUDY, &mut diagnostics);
    (node, diagnostics)
}

#[test]
fn places_are_byte_ranges_even_after_wide_characters() {
    let text = "µ: {a: ö, b: xyz}\n";
    let (node, diagnostics) = parse_text(text);
    assert!(diagnostics.is_empty());
    let node = node.unwrap();
    let place = &node.find("µ.b").unwrap().place;
    assert_eq!(&text[place.span.clone()], "xyz");
}

#[test]
fn null_is_a_key_like_any_other() {
    let (node, _) = parse_text("target: {null: {}}");
    assert!(node.unwrap().find("target.null").is_some());
}

#[test]
fn a_text_with_a_colon_in_it_is_said_to_need_quotes_or_a_block() {
    for (text, is_hinted) in [
        ("a:\n  - x WITH y = {'class': 'Z'}\n", true),
        ("a: b WHERE c = ': d'\n", true),
        ("a: 1\n   b: 2\n", false),
        ("a: [1, 2\n", false),
    ] {
        let (_, diagnostics) = parse_text(text);
        let said = diagnostics.to_string();
        assert!(said.contains("not valid YAML"), "{text}: {said}");
        assert_eq!(said.contains("under `|`"), is_hinted, "{text}: {said}");
    }
}

#[test]
fn a_key_that_stands_twice_is_said_with_the_line_of_the_first() {
    let (_, diagnostics) = parse_text("a: 1\nb: 2\na: 3\n");
    assert_eq!(
        diagnostics.to_string(),
        "s.yaml:3:1: `a` occurs a second time; the first is in line 1\n"
    );
}

#[test]
fn a_permitted_duplicate_key_keeps_its_last_value() {
    let limits = Limits {
        last_wins: true,
        ..Limits::WORKLOAD
    };
    let mut diagnostics = Diagnostics::new(Vec::new());
    let node = parse(0, "a: 1\nb: 2\na: 3\n", limits, &mut diagnostics).unwrap();
    assert!(diagnostics.is_empty());
    let entry = node.entry("a").unwrap();
    assert_eq!(entry.value.text(), Some("3"));
    assert_eq!(entry.place.span, 10..11);
    assert_eq!(
        entry.earlier.as_ref().map(|place| place.span.clone()),
        Some(0..1)
    );
    assert_eq!(node.entry("b").unwrap().earlier, None);
}

#[test]
fn deep_nesting_and_second_documents_are_refused() {
    let deep = "[".repeat(DEPTH_MAX + 1);
    for text in [
        deep.as_str(),
        "a: 1\n---\nb: 2\n",
        "a: &x 1\nb: *x\n",
        "? [a]\n: 1\n",
    ] {
        assert!(!parse_text(text).1.is_empty(), "{text}");
    }
}

#[test]
fn tags_of_the_core_schema_decide_and_others_are_refused() {
    let text = "a: !!str 5\nb: !!int \"5\"\nc: ! 5\nd: !!seq [1]\ne: !!map {f: 1}\ng: !!null ''\n";
    let (node, diagnostics) = parse_text(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let node = node.unwrap();
    let is_quoted = |path: &str| match &node.find(path).unwrap().raw {
        Raw::Scalar { quoted, .. } => Some(*quoted),
        _ => None,
    };
    assert_eq!(
        ["a", "b", "c"].map(is_quoted),
        [Some(true), Some(false), Some(true)]
    );
    assert!(matches!(node.find("g").unwrap().raw, Raw::Null));
    for (text, tag) in [
        ("a: !later 5\n", "`!later`"),
        ("a: !!binary aGk=\n", "`!!binary`"),
        ("a: !!str [1]\n", "`!!str`"),
        ("a: !!seq {b: 1}\n", "`!!seq`"),
    ] {
        let (_, diagnostics) = parse_text(text);
        let all = format!("{diagnostics:?}");
        assert!(all.contains(tag), "{text}: {all}");
    }
}

#[test]
fn aliases_and_merge_keys_are_understood_where_they_are_allowed() {
    let text = "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: *x\n";
    let mut diagnostics = Diagnostics::new(Vec::new());
    let node = parse(0, text, Limits::WORKLOAD, &mut diagnostics).unwrap();
    assert!(diagnostics.is_empty());
    for (path, value) in [("b.k", "1"), ("b.l", "3"), ("c.l", "2")] {
        assert_eq!(node.find(path).unwrap().text(), Some(value), "{path}");
    }
}

#[test]
fn aliases_of_aliases_do_not_fill_the_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let items = vec![format!("*a{}", n - 1); 10].join(", ");
        text += &format!("a{n}: &a{n} [{items}]\n");
    }
    let mut diagnostics = Diagnostics::new(Vec::new());
    assert!(parse(0, &text, Limits::WORKLOAD, &mut diagnostics).is_none());
    assert!(diagnostics.list[0].message.contains("100000 values"));
}

/// In an earlier version, an empty file of another tool made the program end with an exit code and
/// no message.
#[test]
fn a_text_with_nothing_in_it_is_a_mistake_with_words() {
    for text in ["", "\n\n", "# only this\n", "---\n...\n"] {
        let mut diagnostics = Diagnostics::new(Vec::new());
        let root = parse(0, text, Limits::WORKLOAD, &mut diagnostics);
        let said = diagnostics.list.first().map(|first| first.message.as_str());
        assert!(
            root.is_some() || said == Some("the workload file is empty"),
            "{text:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,80}") {
        let mut diagnostics = Diagnostics::new(Vec::new());
        let root = parse(0, &text, Limits::WORKLOAD, &mut diagnostics);
        prop_assert!(root.is_some() || !diagnostics.is_empty());
    }

    #[test]
    fn no_yaml_characters_make_it_panic(text in "[-a:{}\\[\\],?&*!|>'\"#%\n\t~]{0,60}") {
        let _ = parse_text(&text);
    }
}
