//! Shows mistakes in a study like a compiler: with the line, a caret and a hint.

use crate::exit::Exit;
use crate::terminal;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use yaml::{Diagnostic, Diagnostics, MaskedSource, without_secrets};

/// Prints all mistakes.
pub fn say(diagnostics: &Diagnostics) {
    terminal::styled(&render(&plain(&masked(diagnostics))));
}

/// Prints all mistakes. If `json` is true, also prints them as JSON. Returns the exit of the
/// command.
pub fn refuse(diagnostics: &Diagnostics, json: bool) -> Exit {
    if json {
        terminal::json(&to_json(diagnostics));
    }
    say(diagnostics);
    Exit::Usage
}

/// Returns the same mistakes without the secrets in their sources. Any mistake may be in a line
/// with a secret, also a mistake in the syntax. Places refer to the masked lines. The numbers of
/// lines and columns stay those of the original text.
fn masked(diagnostics: &Diagnostics) -> Diagnostics {
    let mut masked = diagnostics.clone();
    let sources: Vec<MaskedSource<'_>> = diagnostics
        .sources
        .iter()
        .map(|source| MaskedSource::new(&source.text))
        .collect();
    let without_quoted =
        |text: &str| sources.iter().fold(text.to_owned(), |text, one| one.without_quoted(&text));
    for mistake in &mut masked.list {
        if let Some(source) = sources.get(mistake.place.source) {
            mistake.place.span = source.place_of(&mistake.place.span);
        }
        mistake.message = without_quoted(&mistake.message);
        mistake.hint = mistake.hint.as_deref().map(without_quoted);
    }
    for (source, text) in masked.sources.iter_mut().zip(&sources) {
        source.name = without_secrets(&source.name).into_owned();
        source.text = text.text();
    }
    masked
}

/// Returns the same mistakes with texts that cannot control the terminal. The renderer replaces
/// only some control characters in source lines. This function replaces the other control
/// characters, each by a character of the same length, so that positions still match.
fn plain(diagnostics: &Diagnostics) -> Diagnostics {
    let mut plain = diagnostics.clone();
    for source in &mut plain.sources {
        source.name = terminal::shown(&source.name).into_owned();
        source.text = source.text.chars().map(terminal::shown_in_place).collect();
    }
    for mistake in &mut plain.list {
        mistake.message = terminal::shown(&mistake.message).into_owned();
        let hint = mistake.hint.as_deref();
        mistake.hint = hint.map(|hint| terminal::shown(hint).into_owned());
    }
    plain
}

fn render(diagnostics: &Diagnostics) -> String {
    let renderer = if terminal::has_colour() {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text = String::new();
    for diagnostic in &diagnostics.list {
        text += &renderer.render(&groups(diagnostics, diagnostic));
        text += "\n\n";
    }
    let count = diagnostics.list.len();
    let noun = if count == 1 { "mistake" } else { "mistakes" };
    text + &format!("{count} {noun} found\n")
}

/// Formats mistakes for `--json`.
pub fn to_json(diagnostics: &Diagnostics) -> serde_json::Value {
    let diagnostics = &masked(diagnostics);
    let mistake = |diagnostic: &Diagnostic| {
        let source = diagnostics.sources.get(diagnostic.place.source);
        serde_json::json!({
            "message": diagnostic.message,
            "source": source.map(|source| source.name.as_str()),
            "line": diagnostic.line,
            "column": diagnostic.column,
            "hint": diagnostic.hint,
        })
    };
    serde_json::json!({"mistakes": diagnostics.list.iter().map(mistake).collect::<Vec<_>>()})
}

fn groups<'a>(diagnostics: &'a Diagnostics, diagnostic: &'a Diagnostic) -> Vec<Group<'a>> {
    let title = Level::ERROR.primary_title(diagnostic.message.as_str());
    let source = diagnostics.sources.get(diagnostic.place.source);
    let mut groups = Vec::new();
    match source {
        // The message states in which line the secret is, but does not show the line.
        Some(source) if diagnostic.secret => {
            let place = format!("{}:{}:{}", source.name, diagnostic.line, diagnostic.column);
            groups.push(title.element(Level::NOTE.message(format!(
                "{place} contains a secret, so cassay does not show the line"
            ))));
        }
        Some(source) => {
            let span = diagnostic.place.span.clone();
            let annotation = AnnotationKind::Primary.span(span);
            let snippet = Snippet::source(source.text.as_str())
                .path(source.name.as_str())
                .annotation(annotation);
            groups.push(title.element(snippet));
        }
        None => groups.push(Group::with_title(title)),
    }
    if let Some(hint) = &diagnostic.hint {
        groups.push(Group::with_title(
            Level::HELP.secondary_title(hint.as_str()),
        ));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use annotate_snippets::Renderer;
    use expect_test::{Expect, expect};

    fn check(text: &str, expect: Expect) {
        let diagnostics = study::resolve::resolve("s.yaml", text, &Default::default()).unwrap_err();
        let renderer = Renderer::plain();
        let shown = diagnostics
            .list
            .iter()
            .map(|d| renderer.render(&groups(&diagnostics, d)) + "\n");
        expect.assert_eq(&shown.collect::<String>());
    }

    const REST: &str = "question: q\nworkload: {use: standard1, mix: {write: 1}}\n\
                        procedure: {fixed: {threads: 1}}\n";

    #[test]
    fn a_mistake_in_hostile_text_is_inert_and_has_its_place() {
        let text =
            format!("study: s\n{REST}target: {{\"\u{9b}2J\u{202e}\u{200f}\": {{}}, x: 1}}\n");
        let diagnostics = study::resolve::resolve("\x1b]0;s", &text, &Default::default());
        let diagnostics = plain(&diagnostics.unwrap_err());
        let mut shown = String::new();
        for mistake in &diagnostics.list {
            shown += &Renderer::plain().render(&groups(&diagnostics, mistake));
            let place = &mistake.place;
            assert!(diagnostics.sources[0].text.is_char_boundary(place.span.start));
            assert!(diagnostics.sources[0].text.is_char_boundary(place.span.end));
        }
        assert_eq!(terminal::shown(&shown), shown);
        assert!(shown.contains("x: 1"), "{shown}");
    }

    #[test]
    fn a_mistake_shows_its_line_and_the_way_out() {
        check(
            &format!("study: s\n{REST}target: {{local: {{heep: 1GiB}}}}\n"),
            expect![[r#"
                error: `target.local.heep` is not a key of a study
                 --> s.yaml:5:18
                  |
                5 | target: {local: {heep: 1GiB}}
                  |                  ^^^^
                  |
                help: did you mean `heap`?
            "#]],
        );
    }

    #[test]
    fn a_line_with_a_secret_is_not_shown() {
        let target = "target: {attach: {contact_points: [h], user: u, password: hunter2}}\n";
        check(
            &format!("study: s\n{REST}{target}"),
            expect![[r#"
                error: `target.attach.password` does not name the source of the secret
                 |
                 = note: s.yaml:5:49 contains a secret, so cassay does not show the line
                help: set `target.attach.password: {secret: NAME}` and pass --secret NAME=file:PATH
            "#]],
        );
    }

    /// Texts with the planted word, each of which leads to a mistake. Earlier versions showed the
    /// word in the excerpt of another mistake on the same line, or of a mistake in the syntax.
    const PLANTED: [&str; 14] = [
        "target: {attach: {user: u, password: planted}}",
        "target: {attach: {contact_points: [h], jolokia: {user: u, password: planted}, heep: 1}}",
        "target: {attach: {contact_points: [h], passwort: planted}}",
        "target: {attach: {contact_points: [h], tls: {key_password: planted}}}",
        "target: {attach: {contact_points: [h], credentials: {user: u, pass: planted}}}",
        "target: {attach: {contact_points: [h], token: planted}}",
        "target: {attach: {contact_points: ['u:planted@h']}}",
        "target:\n  attach:\n    contact_points: [h]\n    password: 'planted",
        "target:\n  attach:\n    contact_points: [h]\n    password: @planted",
        "target:\n  attach:\n    contact_points: [h]\n    password: planted: x",
        "target:\n  attach:\n    password: {secret: db}\n    password: planted",
        "target:\n  attach:\n    password:\n      - planted",
        "target: {attach: {contact_points: [h], password: {key: planted}}}",
        "target: {null: {}}\nprobes: {scrape: ['http://u:planted@h/metrics'], x: 1}",
    ];

    #[test]
    fn no_mistake_in_a_study_shows_a_password() {
        for target in PLANTED {
            let text = format!("study: s\n{REST}{target}\n");
            let mistakes =
                study::resolve::resolve("s.yaml", &text, &Default::default()).expect_err(target);
            let mut shown = to_json(&mistakes).to_string();
            for mistake in &masked(&mistakes).list {
                shown += &Renderer::plain().render(&groups(&masked(&mistakes), mistake));
            }
            assert!(!shown.contains("planted"), "{target}: {shown}");
        }
    }

    #[test]
    fn no_mistake_on_the_command_line_shows_a_password() {
        for (target, set) in [
            ("{null: {}}", "target.attach.password=planted"),
            ("{null: {}}", "target.attach.jolokia.password=planted"),
            ("{null: {}}", "target.attach.passwort=planted"),
            (
                "{attach: {contact_points: [h]}}",
                "target.attach.password=planted",
            ),
            (
                "{attach: {contact_points: [h]}}",
                "target.attach.contact_points=[u:planted@h]",
            ),
        ] {
            let text = format!("study: s\n{REST}target: {target}\n");
            let overrides = study::settings::Overrides {
                set: vec![set.to_owned()],
                ..Default::default()
            };
            let mistakes = study::resolve::resolve("s.yaml", &text, &overrides).expect_err(set);
            let mut shown = to_json(&mistakes).to_string();
            for mistake in &masked(&mistakes).list {
                shown += &Renderer::plain().render(&groups(&masked(&mistakes), mistake));
            }
            assert!(!shown.contains("planted"), "{set}: {shown}");
        }
    }

    #[test]
    fn a_mistake_at_the_very_end_or_in_an_empty_text_is_shown_too() {
        check(
            "",
            expect![[r#"
            error: the study is empty
             --> s.yaml:1:1
              |
            1 |
              | ^
              |
            help: `cassay new` writes one
        "#]],
        );
        check(
            &format!("{REST}target: {{null: {{}}}}\nstudy: s\nrepeat: ["),
            expect![[r#"
                error: not valid YAML: while parsing a node, did not find expected node content
                 --> s.yaml:6:10
                  |
                6 | repeat: [
                  |          ^
            "#]],
        );
    }
}
