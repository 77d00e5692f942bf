//! Errors as people see them: once, whole, with the way out; mistakes in a study with their line.

use crate::exit::Exit;
use crate::speech;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::io::IsTerminal;
use study::diagnostic::{Diagnostic, Diagnostics};
use study::resolve::StudyError;

/// Shows an error; mistakes in a study are a matter of usage.
pub fn show(error: &anyhow::Error) -> Exit {
    if let Some(StudyError::Mistakes(mistakes)) = error.downcast_ref::<StudyError>() {
        speech::say(&render(mistakes, std::io::stderr().is_terminal()));
        return Exit::Usage;
    }
    speech::say(&format!("error: {error:#}"));
    if error.downcast_ref::<StudyError>().is_some() {
        Exit::Usage
    } else {
        Exit::Error
    }
}

/// All mistakes, each with its source line, and how many there are.
pub fn render(mistakes: &Diagnostics, color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text: String = mistakes
        .list
        .iter()
        .map(|one| render_one(mistakes, one, &renderer) + "\n\n")
        .collect();
    let count = mistakes.list.len();
    let noun = if count == 1 { "mistake" } else { "mistakes" };
    text.push_str(&format!("error: {count} {noun}; nothing was started"));
    text
}

fn render_one(mistakes: &Diagnostics, one: &Diagnostic, renderer: &Renderer) -> String {
    let title = Level::ERROR.primary_title(&one.message);
    let source = mistakes.sources.get(one.place.source);
    let mut groups: Vec<Group<'_>> = Vec::new();
    match source {
        Some(source) if !one.secret => {
            let span = one.place.span.clone();
            let snippet = Snippet::source(&source.text)
                .path(&source.name)
                .line_start(1)
                .annotation(AnnotationKind::Primary.span(span));
            groups.push(title.element(snippet));
        }
        // A line that holds a secret is named, not shown.
        _ => {
            let name = source.map_or("", |source| source.name.as_str());
            let place = format!("at {name}:{}:{}", one.line, one.column);
            groups.push(title.element(Level::NOTE.message(place)));
        }
    }
    if let Some(hint) = &one.hint
        && let Some(last) = groups.pop()
    {
        groups.push(last.element(Level::HELP.message(hint)));
    }
    renderer.render(&groups)
}
