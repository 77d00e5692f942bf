//! Every template with every target is a study that can be planned, and says what it is about.

use super::*;

fn places() -> [Place; 3] {
    ["null", "local", "attach:10.0.0.1:9042"].map(|text| Place::parse(text).unwrap())
}

fn defaults(template: &Template) -> Answers {
    let questions = template.questions.iter();
    questions.map(|question| (question.key, question.default.to_owned())).collect()
}

fn plans(template: &Template) {
    for place in places().into_iter().filter(|place| template.takes(place)) {
        let text = text(template, &place, &defaults(template), Path::new("x.yaml"));
        let resolved = resolve::resolve(template.name, &text, &Overrides::default());
        let study = resolved.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
        assert_eq!(study.name, template.name);
        let plan = study::plan::plan(&study).unwrap();
        assert!(!plan.trials.is_empty(), "{text}");
        let gap = text.lines().find(|line| line.contains('<') && line.contains('>'));
        assert_eq!(gap, None, "what is not answered");
        // Of each thing that is set, something is said nearby.
        let comments = text.lines().filter(|line| line.trim_start().starts_with('#'));
        assert!(comments.count() >= 5, "{text}");
    }
}

#[test]
fn every_template_with_every_target_is_a_study_that_can_be_planned() {
    TEMPLATES.iter().for_each(plans);
}

#[test]
fn a_table_that_is_there_is_on_a_cluster_that_is_there() {
    let own = template("own-table").unwrap();
    let [null, local, attach] = places();
    assert!(!own.takes(&null) && !own.takes(&local) && own.takes(&attach));
    assert!(own.takes(&own.usual_place()));
}

/// With the target: who is asked more goes away.
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
fn a_target_is_one_of_three_and_its_address_stays_between_its_quotes() {
    assert_eq!(
        Place::parse("attach 10.0.0.1"),
        Ok(Place::Attach("10.0.0.1".to_owned()))
    );
    for wrong in [
        "",
        "attach",
        "attach:",
        "attach:a'b",
        "cluster",
        "attach:a b",
    ] {
        assert!(Place::parse(wrong).is_err(), "{wrong}");
    }
}
