//! What may be broken on purpose.

use super::*;

const BROKEN: &str = "\
study: s
question: What if a node is silent?
target: {local: {nodes: 3}}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {rate: 100}}
window: {measure: 60s}
faults:
  - {at: 20s, kind: node-pause, where: {node: 2}, for: 10s}
";

fn broken(faults: &str) -> String {
    let (head, _) = BROKEN.split_once("faults:\n").unwrap();
    format!("{head}faults:\n{faults}")
}

#[test]
fn what_is_broken_is_in_the_settings_and_in_the_conditions() {
    let study = resolve("s.yaml", BROKEN, &Overrides::default()).unwrap();
    let settings = &study.variants[0].settings;
    let [fault] = settings.faults[..] else {
        panic!("one was asked for")
    };
    assert_eq!((fault.kind.name, fault.node), ("node-pause", 2));
    assert_eq!(
        (fault.at_ns, fault.for_ns),
        (20_000_000_000, 10_000_000_000)
    );
    let conditions = crate::conditions::conditions(&study);
    let said = conditions.iter().find(|one| one.about == "faults");
    let said = said.map(|one| one.what.as_str());
    assert_eq!(said, Some("node-pause of node2 at 20s for 10s"));
    let needs = crate::needs::needs(settings);
    assert!(needs.iter().any(|need| need.why == "faults: node-pause"));
}

#[test]
fn variants_may_differ_by_what_is_broken() {
    let text = format!("{BROKEN}variants: {{broken: {{}}, whole: {{faults: []}}}}\n");
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
            s.yaml:9:40: `faults` is an empty list
        "#]],
    );
    let (head, faults) = BROKEN.split_once("faults:\n").unwrap();
    let variants = format!("variants:\n  whole: {{}}\n  broken:\n    faults:\n    {faults}");
    let study = resolve(
        "s.yaml",
        &(head.to_owned() + &variants),
        &Overrides::default(),
    )
    .unwrap();
    let counts = study.variants.iter().map(|one| one.settings.faults.len());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn mistakes_of_faults_are_found_together_and_where_they_stand() {
    let text = broken(
        "  - {at: 20s, kind: node-pase, where: {node: 2}, for: 10s}
  - {at: 20s, kind: node-pause, where: {node: 4}, for: 10s}
  - {at: 55s, kind: node-pause, where: {node: 1}, for: 10s}
  - {at: 50s, kind: node-pause, where: {node: 1}, for: 6s}
  - {at: 50s, kind: node-pause, where: {host: 1}, for: 10ms}
  - {kind: node-pause}
",
    );
    mistakes(
        &text,
        &Overrides::default(),
        expect![[r#"
        s.yaml:8:21: `faults.kind` is `node-pase`; it must be one of node-pause, node-kill
          hint: did you mean `node-pause`?
        s.yaml:9:47: `faults.where.node` is 4, but the target has 3 node(s)
          hint: they are counted from 1
        s.yaml:10:56: `at` and `for` of this fault end at 65s, and `window.measure` is 1m
          hint: lengthen the window, so that the recovery is in it too
        s.yaml:11:10: node 1 has another fault at that time
          hint: let one end before the other
        s.yaml:12:40: `faults.where.node` is missing
          hint: it means: Number of the node, from 1.
        s.yaml:12:41: `faults.where.host` is not a key of a study
          hint: known here: node
        s.yaml:12:56: `faults.for` is `10ms`: the least is 1s
        s.yaml:13:5: `faults.where` is missing
          hint: it means: What is broken.
        s.yaml:13:5: `faults.at` is missing
          hint: it means: When, after the begin of the measured window.
        s.yaml:13:5: `faults.for` is missing
          hint: it means: For how long; then it is healed.
    "#]],
    );
}

#[test]
fn only_nodes_of_our_own_are_broken() {
    for target in ["null: {}", "attach: {contact_points: [h]}"] {
        let text = BROKEN.replace("local: {nodes: 3}", target);
        let refused = resolve("s.yaml", &text, &Overrides::default());
        let said = refused.unwrap_err().to_string();
        let expected = "s.yaml:8:3: `faults` break nodes of our own, and this target has none";
        assert!(said.contains(expected), "{said}");
    }
    // Who looks at a study without its nodes is told.
    let overrides = Overrides {
        target: Some("null".to_owned()),
        ..Overrides::default()
    };
    let study = resolve("s.yaml", BROKEN, &overrides).unwrap();
    assert!(study.variants[0].settings.faults.is_empty());
    assert!(study.notes.iter().any(|note| note.contains("left out")));
}
