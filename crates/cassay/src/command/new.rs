//! `cassay new` writes a study from a template, with comments that explain the next changes.
//!
//! `cassay plan` accepts every written study. The command never overwrites an existing file. It
//! writes nothing before the user has answered all questions, so Ctrl-C leaves no file.

mod compare;
mod template;
mod template_gaps;
mod template_target;

pub use template::Template;
pub use template_target::TargetChoice;

use crate::args::{Common, NewArgs};
use crate::exit::Exit;
use crate::{study_errors, terminal};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use study::resolve;
use study::settings::{Overrides, Study};
use template::TEMPLATES;
use yaml::{Diagnostics, did_you_mean};

/// Name of the schema file next to a study, for editors.
const SCHEMA: &str = "study.schema.json";

/// Returns the template with this name.
///
/// # Errors
/// No template has this name. The error lists the names of all templates.
pub fn template(name: &str) -> Result<&'static Template, String> {
    let names = || TEMPLATES.iter().map(|template| template.name);
    TEMPLATES.iter().find(|template| template.name == name).ok_or_else(|| {
        let hint = did_you_mean(name, names()).unwrap_or_default();
        format!("unknown template: {hint}")
    })
}

/// Answers to questions, by the key of the question.
type Answers = BTreeMap<&'static str, String>;

/// Writes a study, or lists the templates.
pub fn run(args: &NewArgs, common: &Common) -> Result<Exit> {
    let Some(template) = args.template else {
        list(common);
        return Ok(Exit::Done);
    };
    let path = args
        .to
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.yaml", template.name)));
    // If the file exists, the command ends before it asks a question.
    if path.exists() {
        return Err(is_there(&path));
    }
    let mut answers = set(template, &args.set)?;
    let asks = !args.yes && terminal::has_asker();
    let place = match &args.target {
        Some(place) => place.clone(),
        None if asks => ask_place(template),
        None => template.usual_place(),
    };
    if !template.takes(&place) {
        bail!(
            "the template `{}` measures reads of an existing table, but {} has no tables\nhint: \
             add --target attach:HOST[:PORT], with the cluster that has the table",
            template.name,
            place.word()
        );
    }
    answer_all(template, &place, &mut answers, asks);
    if template.compares() {
        compare::check(&place, &answers)?;
    }
    let text = text(template, &place, &answers, &path);
    let study = match resolve::resolve(&path.display().to_string(), &text, &Overrides::default()) {
        Ok(study) => study,
        Err(mistakes) => {
            return Ok(study_errors::refuse(&mistakes, common.json));
        }
    };
    if template.compares() {
        compare::check_sides(&study, &answers)?;
    }
    write(&path, &text)?;
    tell(&path, &study, &place, template, common);
    Ok(Exit::Done)
}

/// Answers the questions that the command line leaves open. Asks the user, or uses the defaults.
fn answer_all(template: &Template, place: &TargetChoice, answers: &mut Answers, asks: bool) {
    let gaps = template_gaps::filled(template, place, &Answers::new());
    for question in template.questions {
        let is_asked = gaps.contains(&format!("<{}>", question.key));
        if answers.contains_key(question.key) || !is_asked {
            continue;
        }
        let answer = if asks {
            ask(template, place, answers, question)
        } else {
            question.usual(place, answers)
        };
        answers.insert(question.key, answer);
    }
}

fn list(common: &Common) {
    if common.json {
        let of = |template: &Template| {
            let questions = template.questions.iter().map(|question| {
                let place = template.usual_place();
                let usual = question.usual(&place, &usual_answers(template, &place));
                json!({"key": question.key, "asks": question.question(&place), "default": usual})
            });
            json!({
                "template": template.name,
                "what": template.what,
                "questions": questions.collect::<Vec<_>>(),
            })
        };
        terminal::json(&TEMPLATES.iter().map(of).collect());
        return;
    }
    let lines = TEMPLATES.iter().map(|one| format!("{:<10} {}\n", one.name, one.what));
    terminal::data(&lines.collect::<String>());
    terminal::say("next: cassay new peak");
}

fn set(template: &Template, set: &[String]) -> Result<Answers> {
    let mut answers = Answers::new();
    for one in set {
        let (key, value) = one
            .split_once('=')
            .with_context(|| format!("--set {one} does not have the form PATH=VALUE"))?;
        let keys = || template.questions.iter().map(|question| question.key);
        let Some(known) = keys().find(|known| *known == key) else {
            let hint = did_you_mean(key, keys()).unwrap_or_default();
            bail!(
                "--set {one}: `{}` has no question about `{key}`\nhint: {hint}; change other keys \
                 in the file, or, for one run, with `cassay run STUDY --set {one}`",
                template.name
            );
        };
        // A value must fit on one line, because a line break would start another key.
        if value.contains(['\n', '\r']) {
            bail!("--set {key}: a value must fit on one line");
        }
        answers.insert(known, value.to_owned());
    }
    Ok(answers)
}

fn ask_place(template: &Template) -> TargetChoice {
    let (asks, usual) = match template.usual_place() {
        TargetChoice::Attach(address) => (
            "Which cluster has the table? attach:HOST[:PORT]",
            format!("attach:{address}"),
        ),
        usual => (
            "Which target? null (no cluster), local (a cluster on this machine) or \
             attach:HOST[:PORT]",
            usual.word().to_owned(),
        ),
    };
    loop {
        let answer = terminal::ask(asks, &usual);
        match TargetChoice::parse(&answer) {
            Ok(place) if template.takes(&place) => return place,
            Ok(_) => {
                terminal::say("only an existing cluster has the table: write attach:HOST[:PORT]")
            }
            Err(why) => terminal::say(&why),
        }
    }
}

/// Asks until the answers together result in a valid study.
fn ask(
    template: &Template,
    place: &TargetChoice,
    answers: &Answers,
    question: &template::Question,
) -> String {
    let usual = question.usual(place, answers);
    loop {
        let answer = terminal::ask(&question.question(place), &usual);
        let mut with = answers.clone();
        with.insert(question.key, answer.clone());
        // Questions about sides may still be open, because the sides of a setting of cassandra.yaml
        // have no defaults.
        let is_open = complete(template, place, &mut with);
        if template.compares()
            && !is_open
            && let Err(why) = compare::check(place, &with)
        {
            terminal::say(&why.to_string());
            continue;
        }
        let text = template_gaps::filled(template, place, &with);
        match resolve::resolve(question.key, &text, &Overrides::default()) {
            Err(mistakes) if answer != usual && !is_open => say_first(&mistakes),
            Ok(study) if template.compares() && !is_open => {
                match compare::check_sides(&study, &with) {
                    Ok(()) => return answer,
                    Err(why) => terminal::say(&why.to_string()),
                }
            }
            // The command checks the complete study after the last question, and then reports a
            // mistake in a default answer.
            _ => return answer,
        }
    }
}

/// Fills in the defaults of all open questions. Returns true if an open question has no default.
fn complete(template: &Template, place: &TargetChoice, answers: &mut Answers) -> bool {
    let mut is_open = false;
    for question in template.questions {
        let usual = question.usual(place, answers);
        is_open |= !answers.contains_key(question.key) && usual.is_empty();
        answers.entry(question.key).or_insert(usual);
    }
    is_open
}

fn usual_answers(template: &Template, place: &TargetChoice) -> Answers {
    let mut answers = Answers::new();
    complete(template, place, &mut answers);
    answers
}

fn say_first(mistakes: &Diagnostics) {
    let lines = mistakes.to_string();
    terminal::say(lines.lines().next().unwrap_or_default());
}

fn text(template: &Template, place: &TargetChoice, answers: &Answers, path: &Path) -> String {
    let mut text = String::new();
    let beside = path.parent().unwrap_or(Path::new("")).join(SCHEMA);
    if beside.exists() {
        text += &format!("# yaml-language-server: $schema={SCHEMA}\n");
    }
    text += &format!(
        "# Written by `cassay new {}`: {}.\n# Meaning of a key: `cassay explain KEY`. All keys: \
         docs/study-file.md.\n",
        template.name, template.what
    );
    text + &template_gaps::filled(template, place, answers)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    match opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(is_there(path)),
        done => done.with_context(|| format!("write {}", path.display())),
    }
}

fn is_there(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "{} already exists, and cassay does not overwrite it\nhint: use --to with the name of \
         another file",
        path.display()
    )
}

fn tell(path: &Path, study: &Study, place: &TargetChoice, template: &Template, common: &Common) {
    let file = yaml::shell_word(&path.display().to_string());
    let allow = match place {
        TargetChoice::Attach(_) if template.text.contains("<keyspace>") => {
            format!(
                " --allow create={}",
                template_target::keyspace_name(template.name)
            )
        }
        _ => String::new(),
    };
    let next = [
        format!("cassay plan {file}{allow}"),
        format!("cassay run {file}{allow}"),
    ];
    if common.json {
        terminal::json(&json!({
            "study": study.name,
            "file": path,
            "template": template.name,
            "target": place.word(),
            "next": next,
        }));
    } else {
        terminal::data(&path.display().to_string());
    }
    terminal::say(&format!("next: {}\n      {}", next[0], next[1]));
}

#[cfg(test)]
mod tests;
