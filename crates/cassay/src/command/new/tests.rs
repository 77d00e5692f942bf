//! Tests that `cassay plan` accepts every template with every target, and that every written study
//! has comments.

use super::*;

fn places() -> [TargetChoice; 3] {
    ["null", "local", "attach:10.0.0.1:9042"].map(|text| TargetChoice::parse(text).unwrap())
}

fn plans(template: &Template) {
    for place in places().into_iter().filter(|place| template.takes(place)) {
        let text = text(
            template,
            &place,
            &usual_answers(template, &place),
            Path::new("x.yaml"),
        );
        let resolved = resolve::resolve(template.name, &text, &Overrides::default());
        let study = resolved.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
        assert_eq!(study.name, template.name);
        let plan = study::plan::plan(&study).unwrap();
        assert!(!plan.trials.is_empty(), "{text}");
        let gap = text.lines().find(|line| line.contains('<') && line.contains('>'));
        assert_eq!(gap, None, "what is not answered");
        // A template explains its settings in comments, so every written study must contain
        // comments.
        let comments = text.lines().filter(|line| line.trim_start().starts_with('#'));
        assert!(comments.count() >= 5, "{text}");
    }
}

#[test]
fn every_template_with_every_target_can_be_planned() {
    TEMPLATES.iter().for_each(plans);
}

#[test]
fn a_table_that_is_there_is_on_a_cluster_that_is_there() {
    let own = template("own-table").unwrap();
    let [null, local, attach] = places();
    assert!(!own.takes(&null) && !own.takes(&local) && own.takes(&attach));
    assert!(own.takes(&own.usual_place()));
}

/// The limit of five questions includes the question about the target. Users give up if a template
/// asks more questions.
#[test]
fn a_template_asks_at_most_five_questions_and_uses_every_answer() {
    assert_eq!(TEMPLATES.len(), 8);
    for template in TEMPLATES {
        assert!(template.questions.len() < 5, "{}", template.name);
        for question in template.questions {
            let gap = format!("<{}>", question.key);
            assert!(template.text.contains(&gap), "{}: {gap}", template.name);
        }
    }
}

#[test]
fn a_target_is_one_of_three_and_keeps_its_address_quoted() {
    assert_eq!(
        TargetChoice::parse("attach 10.0.0.1"),
        Ok(TargetChoice::Attach("10.0.0.1".to_owned()))
    );
    for wrong in [
        "",
        "attach",
        "attach:",
        "attach:a'b",
        "cluster",
        "attach:a b",
    ] {
        assert!(TargetChoice::parse(wrong).is_err(), "{wrong}");
    }
}

/// For each subject that a target supports, the sides of the template have names, and its plan has
/// no warnings. If the subject depends on compression, the rows are compressible.
#[test]
fn every_comparison_template_is_a_study_without_a_warning() {
    let compare = template("compare").unwrap();
    let made = |place: &TargetChoice, words: &[(&'static str, &str)]| {
        let mut answers: Answers =
            words.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        complete(compare, place, &mut answers);
        compare::check(place, &answers).map_err(|why| why.to_string())?;
        Ok::<_, String>(text(compare, place, &answers, Path::new("x.yaml")))
    };
    let [null, local, attach] = places();
    for (place, words, names) in [
        (&local, vec![("compare", "compressor")], ["lz4", "zstd"]),
        (&attach, vec![], ["lz4", "zstd"]),
        (&local, vec![("compare", "collector")], ["g1", "zgc"]),
        (
            &local,
            vec![("compare", "heap")],
            ["heap-1gib", "heap-2gib"],
        ),
        (
            &local,
            vec![("compare", "version")],
            ["cassandra-4.1", "cassandra-5.0"],
        ),
        (&null, vec![], ["200us", "220us"]),
        (
            &local,
            vec![
                ("compare", "concurrent_writes"),
                ("baseline", "32"),
                ("contender", "64"),
            ],
            ["concurrent_writes-32", "concurrent_writes-64"],
        ),
    ] {
        let text = made(place, &words).unwrap();
        let resolved = resolve::resolve("compare", &text, &Overrides::default());
        let study = resolved.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
        let own: Vec<&str> = study.variants.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(own, names);
        let plan = study::plan::plan(&study).unwrap();
        assert_eq!(plan.warnings, Vec::<String>::new(), "{text}");
    }
    for (place, words, part) in [
        (
            &local,
            vec![("compare", "concurrent_writes")],
            "--set baseline=VALUE",
        ),
        (&attach, vec![("compare", "heap")], "--target local"),
        (&null, vec![("compare", "compressor")], "--target local"),
        (
            &local,
            vec![("compare", "concurent_writes")],
            "did you mean `concurrent_writes`",
        ),
        (&local, vec![("compare", "colour")], "Which setting?"),
        (
            &local,
            vec![("compare", "heap"), ("baseline", "2GiB")],
            "two different values",
        ),
    ] {
        let why = made(place, &words).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
}

/// A line and its pinned release are different words for one version.
#[test]
fn sides_with_equal_settings_are_refused() {
    let compare = template("compare").unwrap();
    let check = |subject: &str, baseline: &str, contender: &str| {
        let words = [
            ("compare", subject),
            ("baseline", baseline),
            ("contender", contender),
            ("procedure.fixed.threads", "4"),
        ];
        let answers: Answers =
            words.into_iter().map(|(key, value)| (key, value.to_owned())).collect();
        let text = text(compare, &TargetChoice::Local, &answers, Path::new("x.yaml"));
        let study = resolve::resolve("compare", &text, &Overrides::default()).unwrap();
        compare::check_sides(&study, &answers).map_err(|why| why.to_string())
    };
    let line = versions::DEFAULT;
    for (subject, baseline, contender) in [
        ("version", line.name, line.pinned),
        ("heap", "1GiB", "1024MiB"),
    ] {
        let why = check(subject, baseline, contender).expect_err(subject);
        for part in [baseline, contender, subject, "two different values"] {
            assert!(why.contains(part), "{why}");
        }
    }
    assert_eq!(check("heap", "1GiB", "2GiB"), Ok(()));
}
