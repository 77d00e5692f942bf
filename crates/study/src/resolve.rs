//! Text and command line → [`Study`], or all mistakes together.
//!
//! 1. Parse the text.
//! 2. Lay the scale, `--target`, `--set` and `--seed` over it, in this order.
//! 3. For each variant: lay its settings over the result, check it against the table and the
//!    rules, read its settings.
//! 4. The same with every scale that was not asked for, so that a mistake in one is found today.

use crate::check;
use crate::diagnostic::{Diagnostics, Place, Source, did_you_mean};
use crate::merge::{merge, nested};
use crate::rules::{self, Subject};
use crate::settings::{Overrides, Repeat, Settings, Settle, Study, Target, Variant, Warmup};
use crate::tree::Tree;
use crate::work;
use crate::yaml::{self, Node, Raw};
use measure::clock::SECOND_NS;
use std::path::Path;

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The file could not be read.
    #[error("cannot read the study {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The study has mistakes.
    #[error("{0}")]
    Mistakes(Diagnostics),
}

/// Reads and resolves the study in a file.
pub fn read(path: &Path, overrides: &Overrides) -> Result<Study, StudyError> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => resolve(&name, &text, overrides).map_err(StudyError::Mistakes),
        Err(source) => Err(StudyError::Unreadable { path: name, source }),
    }
}

/// Resolves a study; `name` is what the text is called in messages.
pub fn resolve(name: &str, text: &str, overrides: &Overrides) -> Result<Study, Diagnostics> {
    let mut out = Diagnostics::new(vec![Source {
        name: name.to_owned(),
        text: text.to_owned(),
    }]);
    let Some(root) = yaml::parse(0, text, &mut out) else {
        if out.is_empty() {
            out.add(&Place::default(), "the study is empty", None);
        }
        out.into_result()?;
        // Not reached: nothing was parsed, so something was said.
        return Err(Diagnostics::new(Vec::new()));
    };
    let from_flags = flags(overrides, &mut out);
    let (variants, tree) = resolve_scale(&root, overrides, &from_flags, &mut out);
    check_other_scales(&root, overrides, &from_flags, &mut out);
    out.clone().into_result()?;
    let notes = notes(&variants, overrides);
    let source = &out.sources[0];
    study(source, overrides, variants, &tree, notes).ok_or_else(|| {
        // Nothing was said and yet a setting is missing: the table and the reader disagree.
        let message = "the study could not be read; this is a bug in cassay";
        out.add(&Place::default(), message, None);
        out
    })
}

/// What the command line lays over the study.
struct Flags {
    target: Option<Node>,
    rest: Vec<Node>,
}

fn flags(overrides: &Overrides, out: &mut Diagnostics) -> Flags {
    let target = overrides.target.as_deref().and_then(|target| {
        let text = match target.split_once(':') {
            Some(("attach", address)) if !address.is_empty() => {
                format!(
                    "target: {{attach: {{contact_points: ['{}']}}}}",
                    address.replace('\'', "")
                )
            }
            None if matches!(target, "null" | "local") => format!("target: {{{target}: {{}}}}"),
            _ => {
                let place = new_source("--target", target, out);
                let hint = "write null, local, or attach:HOST[:PORT]".to_owned();
                out.add(&place, format!("`{target}` is not a target"), Some(hint));
                return None;
            }
        };
        let source = new_source("--target", &text, out).source;
        yaml::parse(source, &text, out)
    });
    let mut rest: Vec<Node> = overrides
        .set
        .iter()
        .filter_map(|set| set_flag(set, out))
        .collect();
    if let Some(seed) = overrides.seed {
        let text = format!("seed: {seed}");
        let source = new_source("--seed", &text, out).source;
        rest.extend(yaml::parse(source, &text, out));
    }
    Flags { target, rest }
}

/// `dotted.path=value` as a tree. The value is YAML; its places are moved to where it stands.
fn set_flag(set: &str, out: &mut Diagnostics) -> Option<Node> {
    let place = new_source("--set", set, out);
    let Some((path, value)) = set.split_once('=').filter(|(path, _)| !path.is_empty()) else {
        let hint = "for example --set window.measure=5s".to_owned();
        out.add(
            &place,
            format!("`{set}` is not dotted.path=value"),
            Some(hint),
        );
        return None;
    };
    // As many spaces as the path is long: the value keeps its column.
    let padded = format!("{}{value}", " ".repeat(path.len() + 1));
    let value =
        yaml::parse(place.source, &padded, out).unwrap_or_else(|| Node::plain("", place.clone()));
    let key = Place {
        source: place.source,
        span: 0..path.len(),
    };
    Some(nested(path, &key, value))
}

fn new_source(name: &str, text: &str, out: &mut Diagnostics) -> Place {
    out.sources.push(Source {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    Place {
        source: out.sources.len() - 1,
        span: 0..text.len(),
    }
}

/// The study in the scale that was asked for: its variants, and the tree of the first.
fn resolve_scale(
    root: &Node,
    overrides: &Overrides,
    flags: &Flags,
    out: &mut Diagnostics,
) -> (Vec<Variant>, Tree) {
    let scale = overrides.scale.as_deref().and_then(|wanted| {
        let found = root.at("scales").and_then(|scales| scales.entry(wanted));
        if found.is_none() {
            let known = root
                .at("scales")
                .and_then(Node::entries)
                .unwrap_or_default();
            let hint = did_you_mean(wanted, known.iter().map(|entry| entry.key.as_str()))
                .unwrap_or_else(|| "the study has no scales".to_owned());
            let place = new_source("--scale", wanted, out);
            out.add(
                &place,
                format!("the study has no scale `{wanted}`"),
                Some(hint),
            );
        }
        found.map(|entry| &entry.value)
    });
    resolve_all(root, scale, flags, out)
}

fn check_other_scales(root: &Node, overrides: &Overrides, flags: &Flags, out: &mut Diagnostics) {
    let scales = root
        .at("scales")
        .and_then(Node::entries)
        .unwrap_or_default();
    for entry in scales {
        if overrides.scale.as_deref() != Some(entry.key.as_str()) {
            resolve_all(root, Some(&entry.value), flags, out);
        }
    }
}

fn resolve_all(
    root: &Node,
    scale: Option<&Node>,
    flags: &Flags,
    out: &mut Diagnostics,
) -> (Vec<Variant>, Tree) {
    let mut base = root.clone();
    for entry in scale.and_then(Node::entries).unwrap_or_default() {
        merge(
            &mut base,
            &nested(&entry.key, &entry.place, entry.value.clone()),
            "",
        );
    }
    if let Some(target) = &flags.target {
        replace_target(&mut base, target);
    }
    for over in &flags.rest {
        merge(&mut base, over, "");
    }
    let mut variants = Vec::new();
    let mut first = None;
    for (name, over) in sides(&base) {
        let mut node = base.clone();
        if let Some(over) = over {
            merge(&mut node, over, "");
            if let Some(target) = &flags.target {
                replace_target(&mut node, target);
            }
        }
        let tree = check::study(&node, out);
        let subject = Subject {
            node: &node,
            tree: &tree,
            target_replaced: flags.target.is_some(),
        };
        rules::check(&subject, out);
        work::check(&node, &tree, out);
        if let Some(settings) = Settings::read(&tree) {
            let settings = adapt(settings);
            variants.push(Variant {
                name,
                settings,
                tree: sections(&tree),
            });
        }
        first.get_or_insert(tree);
    }
    (variants, first.unwrap_or(Tree::Null))
}

/// The names and settings of the variants; one named `-` if there are none.
fn sides(base: &Node) -> Vec<(String, Option<&Node>)> {
    let variants = base
        .at("variants")
        .and_then(Node::entries)
        .unwrap_or_default();
    if variants.is_empty() {
        return vec![("-".to_owned(), None)];
    }
    let side = |entry: &'_ yaml::Entry| entry.key.clone();
    variants
        .iter()
        .map(|entry| (side(entry), Some(&entry.value)))
        .collect()
}

/// Puts another target in: settings of the same kind of target stay, others go.
fn replace_target(node: &mut Node, target: &Node) {
    let Raw::Map(entries) = &mut node.raw else {
        return;
    };
    let kind = target
        .at("target")
        .and_then(Node::entries)
        .and_then(|kinds| kinds.first());
    if let (Some(kind), Some(old)) = (kind, entries.iter_mut().find(|e| e.key == "target"))
        && let Raw::Map(kinds) = &mut old.value.raw
    {
        kinds.retain(|entry| entry.key == kind.key);
    }
    merge(node, target, "");
}

/// An auto warm-up on the null target: connections and the client's own caches are warm after the
/// first second, and nothing there compiles or fills, so there is nothing to detect.
const WARMUP_NULL_NS: u64 = 2 * SECOND_NS;

/// Switches off what the target cannot do and nobody asked for in so many words.
fn adapt(mut settings: Settings) -> Settings {
    let null = matches!(settings.target, Target::Null(_));
    if null {
        settings.verify.every_nth = None;
        settings.data.settle = Settle::None;
        if let Warmup::Auto(max) = settings.window.warmup {
            settings.window.warmup = Warmup::Fixed(max.min(WARMUP_NULL_NS));
        }
    }
    if null || !settings.data.has_rows {
        settings.verify.sample = 0;
    }
    settings.verify.sample = settings.verify.sample.min(settings.data.rows);
    settings
}

/// The sections that a variant may change, for `plan.json`.
fn sections(tree: &Tree) -> Tree {
    let entries = tree.entries().iter();
    let keep = |key: &str| crate::format::VARIANT_SECTIONS.contains(&key);
    Tree::Map(entries.filter(|(key, _)| keep(key)).cloned().collect())
}

fn notes(variants: &[Variant], overrides: &Overrides) -> Vec<String> {
    let mut notes = Vec::new();
    let null = variants
        .iter()
        .any(|v| matches!(v.settings.target, Target::Null(_)));
    if null && overrides.target.is_some() {
        notes.push(
            "the null target stores nothing: reads are not verified, nothing is settled".to_owned(),
        );
    }
    notes
}

fn study(
    source: &Source,
    overrides: &Overrides,
    variants: Vec<Variant>,
    tree: &Tree,
    notes: Vec<String>,
) -> Option<Study> {
    let word = |key: &str| tree.at(key).and_then(Tree::text).map(str::to_owned);
    Some(Study {
        name: word("study")?,
        question: word("question")?,
        published: word("published"),
        seed: tree.at("seed")?.count()?,
        variants,
        repeat: Repeat::read(tree.at("repeat")?)?,
        source: source.name.clone(),
        text: source.text.clone(),
        overrides: overrides.clone(),
        notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const GOOD: &str = "\
study: s
question: Does it?
target: {local: {nodes: 2}}
workload: {use: standard1, mix: {write: 9, read: 1}}
data: {load: {operations: 10k}}
variants:
  a: {}
  b: {workload: {mix: {write: 1}}, target: {local: {yaml: {concurrent_writes: 64}}}}
procedure: {sweep: {threads: [4, 8]}}
scales:
  small: {data.load.operations: 1k, procedure.sweep.threads: [2], target.local.nodes: 1}
";

    fn mistakes(text: &str, overrides: &Overrides, expect: Expect) {
        let shown = match resolve("s.yaml", text, overrides) {
            Ok(_) => "no mistakes".to_owned(),
            Err(diagnostics) => diagnostics.to_string(),
        };
        expect.assert_eq(&shown);
    }

    fn good(overrides: &Overrides) -> Study {
        resolve("s.yaml", GOOD, overrides).unwrap()
    }

    #[test]
    fn five_mistakes_get_five_messages_with_line_and_column() {
        let text = "\
study: s
question: Does it?
target: {local: {nodes: 7, heep: 1GiB}}
workload: {use: standard1}
window: {measure: 10}
procedure: {sweep: {threads: [4, 8, 8]}}
verifi: {sample: 5}
";
        mistakes(
            text,
            &Overrides::default(),
            expect![[r#"
                s.yaml:3:25: `target.local.nodes` is `7`: the most is 3
                s.yaml:3:28: `target.local.heep` is not a key of a study
                  hint: did you mean `heap`?
                s.yaml:4:11: the mix has `read`, but no rows are loaded to be read
                  hint: add `data: {load: {operations: 100k}}`, or `data: {present: …}` if the rows are there already
                s.yaml:5:19: `window.measure` is `10`: it has no unit
                  hint: write a length of time with its unit, such as 10s or 250ms
                s.yaml:6:30: `procedure.sweep.threads` has a point twice
                s.yaml:7:1: `verifi` is not a key of a study
                  hint: did you mean `verify`?
            "#]],
        );
    }

    #[test]
    fn contradictions_are_mistakes() {
        let text = "\
study: s
question: Does it?
target: {null: {stall: {every: 1s, length: 2s}, errors: {overloadd: 0.5}}, local: {}}
workload: {use: standard1}
data: {load: {operations: 5}, present: 7, reset: snapshot}
window: {warmup: 3s, warmup_max: 4s}
procedure: {sweep: {threads: {from: 8}}, arrival: poisson}
verify: {reads: all}
";
        mistakes(
            text,
            &Overrides::default(),
            expect![[r#"
                s.yaml:3:10: `target` has both `local` and `null`
                  hint: keep one of `local`, `attach`, `null`
                s.yaml:3:44: `target.null.stall.length` is longer than `target.null.stall.every`
                s.yaml:3:69: `overloadd` is not an error that a server answers
                  hint: did you mean `overloaded`?
                s.yaml:5:31: `data` has both `load` and `present`
                  hint: keep one of `load`, `present`
                s.yaml:5:50: `data.reset: snapshot` comes with a later version of cassay
                  hint: use truncate: it loads again
                s.yaml:7:30: `procedure.sweep.threads` needs one of `step`, `factor`
                s.yaml:7:30: `procedure.sweep.threads` has no end
                  hint: add `to`, or `until: timeout` to the sweep
                s.yaml:7:51: `procedure.arrival: poisson` needs a rate; threads send when one is free
                  hint: sweep over `rate` instead
                s.yaml:8:17: `verify.reads` asks for data, but the null target stores nothing
                  hint: remove it, or use another target
            "#]],
        );
    }

    #[test]
    fn what_is_missing_and_what_comes_later_is_said() {
        let text = "study: s\ntarget: {}\nfaults: []\nvariants: {a: {topology: auto}}\n";
        mistakes(
            text,
            &Overrides::default(),
            expect![[r#"
            s.yaml:1:1: `question` is missing
              hint: it means: The question, in words. The report answers it first.
            s.yaml:1:1: `workload` is missing
              hint: it means: What is asked of the target.
            s.yaml:1:1: `procedure` is missing
              hint: it means: Which points are measured: either `sweep` or `fixed`.
            s.yaml:2:9: `target` needs one of `local`, `attach`, `null`
            s.yaml:3:1: `faults` comes with a later version of cassay
            s.yaml:4:16: `topology` comes with a later version of cassay
        "#]],
        );
    }

    #[test]
    fn yaml_errors_have_a_place() {
        mistakes(
            "study: s\nworkload: {use: [\n",
            &Overrides::default(),
            expect![[r#"
                s.yaml:3:1: not valid YAML: while parsing a node, did not find expected node content
            "#]],
        );
        mistakes(
            "",
            &Overrides::default(),
            expect![[r#"
            s.yaml:1:1: the study is empty
        "#]],
        );
        mistakes(
            "just words",
            &Overrides::default(),
            expect![[r#"
            s.yaml:1:1: a study is a mapping of keys, not `just words`
              hint: begin with `study: a-name`
        "#]],
        );
    }

    #[test]
    fn a_literal_password_is_refused_and_not_repeated() {
        let text = GOOD.replace(
            "{local: {nodes: 2}}",
            "{attach: {contact_points: [h], user: u, password: hunter2}}",
        );
        let diagnostics = resolve("s.yaml", &text, &Overrides::default()).unwrap_err();
        assert!(!diagnostics.to_string().contains("hunter2"));
        let about = diagnostics.list.iter().filter(|d| d.secret);
        let lines: Vec<_> = about.map(|d| (d.line, d.message.as_str())).collect();
        let message = "`target.attach.password` does not say where the secret is";
        assert_eq!(lines, [(3, message)]);
    }

    #[test]
    fn mistakes_on_the_command_line_are_shown_like_those_in_the_file() {
        let overrides = Overrides {
            target: Some("nul".into()),
            scale: Some("smal".into()),
            set: vec![
                "window.measure=fast".into(),
                "windo.measure=1s".into(),
                "x".into(),
            ],
            seed: None,
        };
        mistakes(
            GOOD,
            &overrides,
            expect![[r#"
            --target:1:1: `nul` is not a target
              hint: write null, local, or attach:HOST[:PORT]
            --set:1:16: `window.measure` is `fast`: it does not begin with a digit
              hint: write a length of time with its unit, such as 10s or 250ms
            --set:1:1: `windo` is not a key of a study
              hint: did you mean `window`?
            --set:1:1: `x` is not dotted.path=value
              hint: for example --set window.measure=5s
            --scale:1:1: the study has no scale `smal`
              hint: did you mean `small`?
        "#]],
        );
    }

    #[test]
    fn a_mistake_in_a_scale_that_was_not_asked_for_is_found() {
        let text = GOOD.replace("[2]", "[0]");
        mistakes(
            &text,
            &Overrides::default(),
            expect![[r#"
            s.yaml:11:63: `procedure.sweep.threads` is `0`: the least is 1
        "#]],
        );
    }

    #[test]
    fn variants_change_what_they_name_and_nothing_else() {
        let study = good(&Overrides::default());
        let [a, b] = study.variants.as_slice() else {
            panic!("two variants")
        };
        assert_eq!(
            a.settings.workload.mix,
            [("write".into(), 9.0), ("read".into(), 1.0)]
        );
        assert_eq!(b.settings.workload.mix, [("write".into(), 1.0)]);
        let (Target::Local(a), Target::Local(b)) = (&a.settings.target, &b.settings.target) else {
            panic!("local targets")
        };
        assert_eq!((a.nodes, b.nodes), (2, 2));
        assert_eq!((a.yaml.len(), b.yaml.len()), (0, 1));
    }

    #[test]
    fn scale_set_and_seed_are_laid_over_the_study() {
        let study = good(&Overrides {
            scale: Some("small".into()),
            set: vec![
                "window.measure=2s".into(),
                "procedure.sweep.rate=[5k]".into(),
            ],
            seed: Some(42),
            target: None,
        });
        let settings = &study.variants[0].settings;
        assert_eq!(study.seed, 42);
        assert_eq!(settings.data.load_rows, 1000);
        assert_eq!(settings.window.measure_ns, 2_000_000_000);
        assert_eq!(
            settings.procedure.points,
            [crate::settings::Point::Rate(5000)]
        );
    }

    #[test]
    fn the_target_flag_replaces_every_variants_target_and_says_what_is_left_out() {
        let overrides = Overrides {
            target: Some("null".into()),
            ..Overrides::default()
        };
        let study = good(&overrides);
        for variant in &study.variants {
            assert_eq!(variant.settings.target.kind(), "null");
            assert_eq!(variant.settings.verify.sample, 0);
        }
        assert_eq!(study.notes.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}") {
            let _ = resolve("s", &text, &Overrides::default());
        }

        #[test]
        fn no_damaged_study_makes_it_panic(
            cut in 0..GOOD.len(), insert in "[-a:{}\\[\\],0-9kM \n]{0,8}", to in 0..GOOD.len()
        ) {
            let (a, b) = (cut.min(to), cut.max(to));
            let text = format!("{}{insert}{}", &GOOD[..a], &GOOD[b..]);
            let _ = resolve("s", &text, &Overrides::default());
        }

        #[test]
        fn no_set_makes_it_panic(set in "[a-z.=\\[{:,µ 0-9]{0,30}") {
            let overrides = Overrides { set: vec![set], ..Overrides::default() };
            let _ = resolve("s", GOOD, &overrides);
        }
    }
}
