//! `cassay new`: a study from a template, with comments that say what to change next.
//!
//! What must hold: what it writes can be planned; a file that is there is never written over; and
//! until all is answered nothing is written, so Ctrl-C leaves nothing.

mod template;
mod text;

pub use template::Template;
pub use text::Place;

use crate::args::{Common, NewArgs};
use crate::exit::Exit;
use crate::{diagnostics, terminal};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use study::human;
use study::resolve;
use study::settings::{Overrides, Study};
use template::TEMPLATES;
use yaml::{Diagnostics, did_you_mean};

/// The file of the schema beside a study, for editors.
const SCHEMA: &str = "study.schema.json";

/// The template of a name.
///
/// # Errors
/// Which there are.
pub fn template(name: &str) -> Result<&'static Template, String> {
    let names = || TEMPLATES.iter().map(|template| template.name);
    TEMPLATES.iter().find(|template| template.name == name).ok_or_else(|| {
        let hint = did_you_mean(name, names()).unwrap_or_default();
        format!("no template is called so: {hint}")
    })
}

/// Answers to questions, by key.
type Answers = BTreeMap<&'static str, String>;

/// Writes a study, or lists what can be written.
pub fn run(args: &NewArgs, common: &Common) -> Result<Exit> {
    let Some(template) = args.template else {
        list(common);
        return Ok(Exit::Done);
    };
    let path = args
        .to
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.yaml", template.name)));
    // Before anything is asked.
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
            "`{}` reads a table that is there, and {} has none\nhint: name the cluster that has \
             it: --target attach:HOST[:PORT]",
            template.name,
            place.word()
        );
    }
    for question in template.questions {
        let is_asked = text::filled(template, &place, &Answers::new())
            .contains(&format!("<{}>", question.key));
        if answers.contains_key(question.key) || !is_asked {
            continue;
        }
        let answer = if asks {
            ask(template, &place, &answers, question)
        } else {
            question.default.to_owned()
        };
        answers.insert(question.key, answer);
    }
    let text = text(template, &place, &answers, &path);
    let study = match resolve::resolve(&path.display().to_string(), &text, &Overrides::default()) {
        Ok(study) => study,
        Err(mistakes) => {
            return Ok(diagnostics::refuse(&mistakes, common.json));
        }
    };
    write(&path, &text)?;
    tell(&path, &study, &place, template, common);
    Ok(Exit::Done)
}

fn list(common: &Common) {
    if common.json {
        let of = |template: &Template| {
            let questions = template.questions.iter().map(|question| {
                json!({"key": question.key, "asks": question.asks, "default": question.default})
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

/// The answers that the command line gives.
fn set(template: &Template, set: &[String]) -> Result<Answers> {
    let mut answers = Answers::new();
    for one in set {
        let (key, value) = one
            .split_once('=')
            .with_context(|| format!("--set {one}: it is not PATH=VALUE"))?;
        let keys = || template.questions.iter().map(|question| question.key);
        let Some(known) = keys().find(|known| *known == key) else {
            let hint = did_you_mean(key, keys()).unwrap_or_default();
            bail!(
                "--set {one}: `{}` asks nothing about `{key}`\nhint: {hint}; all other keys are \
                 changed in the file, or for one run by `cassay run STUDY --set {one}`",
                template.name
            );
        };
        // A value is one line: what would begin another is no value.
        if value.contains(['\n', '\r']) {
            bail!("--set {key}: a value is one line");
        }
        answers.insert(known, value.to_owned());
    }
    Ok(answers)
}

fn ask_place(template: &Template) -> Place {
    let (asks, usual) = match template.usual_place() {
        Place::Attach(address) => (
            "Which cluster has it? attach:HOST[:PORT]",
            format!("attach:{address}"),
        ),
        _ => (
            "Of what? null (no cluster), local (one on this machine), attach:HOST[:PORT]",
            "null".to_owned(),
        ),
    };
    loop {
        let answer = terminal::ask(asks, &usual);
        match Place::parse(&answer) {
            Ok(place) if template.takes(&place) => return place,
            Ok(_) => terminal::say("the table is on a cluster that is there: attach:HOST[:PORT]"),
            Err(why) => terminal::say(&why),
        }
    }
}

/// Asks until the answer makes a study with the answers so far.
fn ask(
    template: &Template,
    place: &Place,
    answers: &Answers,
    question: &template::Question,
) -> String {
    loop {
        let answer = terminal::ask(question.asks, question.default);
        let mut with = answers.clone();
        for other in template.questions {
            with.entry(other.key).or_insert_with(|| other.default.to_owned());
        }
        with.insert(question.key, answer.clone());
        let text = text::filled(template, place, &with);
        let resolved = resolve::resolve(question.key, &text, &Overrides::default());
        match resolved {
            Err(mistakes) if answer != question.default => say_first(&mistakes),
            // What is wrong with a default is said in the end.
            _ => return answer,
        }
    }
}

fn say_first(mistakes: &Diagnostics) {
    let lines = mistakes.to_string();
    terminal::say(lines.lines().next().unwrap_or_default());
}

/// The whole text of the file.
fn text(template: &Template, place: &Place, answers: &Answers, path: &Path) -> String {
    let mut text = String::new();
    let beside = path.parent().unwrap_or(Path::new("")).join(SCHEMA);
    if beside.exists() {
        text += &format!("# yaml-language-server: $schema={SCHEMA}\n");
    }
    text += &format!(
        "# Written by `cassay new {}`: {}.\n# What a key means: `cassay explain KEY`. All keys: \
         docs/study-file.md.\n",
        template.name, template.what
    );
    text + &text::filled(template, place, answers)
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
        "{} is there already, and is kept\nhint: --to writes another file",
        path.display()
    )
}

/// Says what was written and what comes next.
fn tell(path: &Path, study: &Study, place: &Place, template: &Template, common: &Common) {
    let file = human::quoted(&path.display().to_string());
    let allow = match place {
        Place::Attach(_) if template.text.contains("<keyspace>") => {
            format!(" --allow create={}", text::keyspace_name(template.name))
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
