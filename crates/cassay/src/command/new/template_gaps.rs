//! Fills the gaps of a template.

use super::compare;
use super::template::Template;
use super::template_target::TargetChoice;
use std::collections::BTreeMap;

/// Returns the text of the study, with the gaps of the template filled in.
pub fn filled(
    template: &Template,
    place: &TargetChoice,
    answers: &BTreeMap<&'static str, String>,
) -> String {
    let mut answers = answers.clone();
    if template.compares() {
        answers.extend(compare::derived(&answers));
    }
    let of_local = answers.get("target.local").filter(|_| *place == TargetChoice::Local);
    let more = of_local.map_or("", String::as_str);
    let mut text = String::new();
    for line in template.text.lines() {
        match line {
            "<target>" => text += &format!("{}{more}\n", place.section(template.name)),
            "<keyspace>" => text += &place.keyspace(template.name),
            _ => {
                if let Some(line) = line_for_place(line, place) {
                    text += &with_answers(line, &answers);
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// Returns the line without its marks if the line applies to this target, and `None` otherwise.
fn line_for_place<'t>(line: &'t str, place: &TargetChoice) -> Option<&'t str> {
    let Some((words, rest)) = line.split_once('|') else {
        return Some(line);
    };
    let is_word = |word: &str| ["null", "local", "attach"].contains(&word);
    if !words.split(',').all(is_word) {
        return Some(line);
    }
    words.split(',').any(|word| word == place.word()).then_some(rest)
}

fn with_answers(line: &str, answers: &BTreeMap<&str, String>) -> String {
    answers.iter().fold(line.to_owned(), |line, (key, answer)| {
        line.replace(&format!("<{key}>"), answer)
    })
}
