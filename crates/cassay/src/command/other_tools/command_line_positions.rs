//! Translates positions of mistakes from the generated study to the command line, because the user
//! has never seen the study.

use std::ops::Range;
use yaml::{Diagnostics, Place, SourceText};

/// Returns the mistakes with positions in texts that the user wrote. Mistakes in the generated
/// study, which is the first source, point into the command line. Such a mistake points at the word
/// with the value in question, or else at the whole command line.
pub(super) fn in_words(mistakes: &Diagnostics, command_line: &str) -> Diagnostics {
    let mut sources = mistakes.sources.clone();
    let Some(written) = sources.first_mut() else {
        return mistakes.clone();
    };
    let study = std::mem::replace(
        written,
        SourceText {
            name: "command line".to_owned(),
            text: command_line.to_owned(),
        },
    );
    let mut mapped = Diagnostics::new(sources);
    for mistake in &mistakes.list {
        let mut place = mistake.place.clone();
        if place.source == 0 {
            let value = study.text.get(place.span).unwrap_or_default();
            let found = word(command_line, value.trim_matches(['\'', '"']));
            let span = found.unwrap_or(0..command_line.len());
            place = Place { source: 0, span };
        }
        let (message, hint) = (mistake.message.clone(), mistake.hint.clone());
        if mistake.secret {
            mapped.add_secret(&place, message, hint)
        } else {
            mapped.add(&place, message, hint)
        }
    }
    mapped
}

/// Returns the position of a value on the command line, if the value occurs on the command line
/// only once.
fn word(line: &str, value: &str) -> Option<Range<usize>> {
    let parts = |c: char| c.is_whitespace() || "=,()'\"".contains(c);
    let mut places = line.match_indices(value).filter_map(|(at, _)| {
        let end = at + value.len();
        let alone = line[..at].chars().next_back().is_none_or(parts)
            && line[end..].chars().next().is_none_or(parts);
        (alone && !value.is_empty()).then_some(at..end)
    });
    let first = places.next()?;
    places.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_the_written_study_stands_in_the_command_line() {
        let line = "write n=5 -mode connectionsPerHost=5000 -node a,b -rate threads=5";
        let study = "client: {connections_per_node: 5000}\ntarget: {nodes: ['b', x]}\nin: 5\n";
        for (value, expected) in [
            ("5000", "5000"),
            ("'b'", "b"),
            // Each of these values occurs twice on the command line, or is missing.
            ("5", line),
            ("x", line),
            ("client", line),
        ] {
            let at = study.rfind(value).expect(value);
            let mut mistakes = Diagnostics::new(vec![
                SourceText {
                    name: "stress".to_owned(),
                    text: study.to_owned(),
                },
                SourceText {
                    name: "--set".to_owned(),
                    text: "a=b".to_owned(),
                },
            ]);
            let span = at..at + value.len();
            mistakes.add(&Place { source: 0, span }, "m", None);
            let other = Place {
                source: 1,
                span: 2..3,
            };
            mistakes.add(&other, "n", Some("h".to_owned()));
            let mapped = in_words(&mistakes, line);
            let shown = mapped.list[0].place.span.clone();
            assert_eq!(&mapped.sources[0].text[shown.clone()], expected);
            assert_eq!(mapped.list[0].column, shown.start + 1, "{value}");
            assert_eq!(
                (mapped.list[1].place.clone(), 3),
                (other, mapped.list[1].column)
            );
            assert!(mapped.sources.iter().all(|source| !source.text.contains("client:")));
        }
    }
}
