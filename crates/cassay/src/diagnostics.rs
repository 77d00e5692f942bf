//! Mistakes in a study as a compiler shows them: the line, a caret, what to do.

use crate::terminal;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use yaml::{Diagnostic, Diagnostics};

/// All mistakes, ready for stderr.
pub fn render(diagnostics: &Diagnostics) -> String {
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
    text + &format!("{count} {noun}; nothing was started\n")
}

/// For `--json`: the same as data.
pub fn to_json(diagnostics: &Diagnostics) -> serde_json::Value {
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
        // A line with a secret is named and not shown.
        Some(source) if diagnostic.secret => {
            let place = format!("{}:{}:{}", source.name, diagnostic.line, diagnostic.column);
            groups.push(title.element(Level::NOTE.message(format!("in {place}, not shown here"))));
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
                error: `target.attach.password` does not say where the secret is
                 |
                 = note: in s.yaml:5:49, not shown here
                help: write `target.attach.password` as `{file: PATH}` or `{env: NAME}`
            "#]],
        );
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
