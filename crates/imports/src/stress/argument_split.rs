//! Splits a command line into words in the same way as cassandra-stress. It joins the words with
//! spaces, removes spaces around `,` `=` `(` and before `)`, and splits the result again.
//!
//! Every character of a word has its position in the joined line, so that messages can show the
//! position of a mistake. The line that users see has its secrets masked.

use std::fmt;
use std::ops::Range;

use yaml::{Diagnostics, Place, SourceText};

/// Name of the command line in messages that show mistakes in it.
pub(crate) const NAME: &str = "command line";

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Position in the line of each byte of the text. The last entry is the position after the
    /// text.
    offsets: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The words, joined with spaces. Secrets are masked.
    pub(crate) shown: String,
    pub(crate) words: Vec<Word>,
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The output omits the text of the word, because the word may be a password.
        write!(f, "(word at {:?})", self.span(0..self.text.len()))
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Word {
    pub(crate) fn place(&self) -> Place {
        self.part(0..self.text.len())
    }

    pub(crate) fn part(&self, bytes: Range<usize>) -> Place {
        Place {
            source: 0,
            span: self.span(bytes),
        }
    }

    fn span(&self, bytes: Range<usize>) -> Range<usize> {
        let start = self.offsets[bytes.start.min(self.text.len())];
        match bytes.end.min(self.text.len()) {
            end if end > bytes.start => {
                let last = self.offsets[end - 1];
                start..(last + 1).max(start)
            }
            _ => start..start,
        }
    }

    /// Returns the name of the parameter. This is the text before its value. If the parameter has
    /// no value, it is the whole word.
    pub(crate) fn key(&self) -> &str {
        let end = self.text.find(['=', '(', '<', '>']);
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

impl Line {
    pub(crate) fn new(words: &[String]) -> Line {
        let joined = words.join(" ");
        let words = split(&joined);
        let mut shown = joined.into_bytes();
        for word in &words {
            for at in secret_bytes(word) {
                shown[at] = b'*';
            }
        }
        Line {
            shown: String::from_utf8_lossy(&shown).into_owned(),
            words,
        }
    }

    pub(crate) fn diagnostics(&self) -> Diagnostics {
        Diagnostics::new(vec![SourceText {
            name: NAME.to_owned(),
            text: self.shown.clone(),
        }])
    }

    pub(crate) fn end(&self) -> Place {
        Place {
            source: 0,
            span: self.shown.len()..self.shown.len(),
        }
    }
}

/// Returns the positions of a secret's value in the line. Returns an empty list if the word has no
/// secret. Misspelt names that are similar to `password` also count as names of secrets.
fn secret_bytes(word: &Word) -> Vec<usize> {
    let key = word.key().to_ascii_lowercase();
    let secret = ["pass", "pwd", "secret", "word"].iter().any(|part| key.contains(part));
    if !secret || key.len() == word.text.len() {
        return Vec::new();
    }
    word.offsets[key.len() + 1..word.text.len()].to_vec()
}

fn split(line: &str) -> Vec<Word> {
    let characters: Vec<(usize, char)> = line.char_indices().collect();
    let mut words = Vec::new();
    let mut word = Word {
        text: String::new(),
        offsets: Vec::new(),
    };
    let mut at = 0;
    while at < characters.len() {
        let (offset, character) = characters[at];
        if !character.is_whitespace() {
            word.offsets.extend(offset..offset + character.len_utf8());
            word.text.push(character);
            at += 1;
            continue;
        }
        let next = characters[at..]
            .iter()
            .position(|(_, c)| !c.is_whitespace())
            .map_or(characters.len(), |skipped| at + skipped);
        let joins_next =
            next < characters.len() && matches!(characters[next].1, ',' | '=' | '(' | ')');
        if !(joins_next || word.text.ends_with([',', '=', '('])) {
            finish(&mut word, offset, &mut words);
        }
        at = next;
    }
    finish(&mut word, line.len(), &mut words);
    words
}

fn finish(word: &mut Word, end: usize, words: &mut Vec<Word>) {
    if !word.text.is_empty() {
        word.offsets.push(end);
        words.push(Word {
            text: std::mem::take(&mut word.text),
            offsets: std::mem::take(&mut word.offsets),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let line = Line::new(&words);
        line.words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn spaces_around_signs_are_removed_for_any_split_of_the_words() {
        let whole = vec!["write", "n=5", "-pop", "seq=1..10"];
        for words in [
            &["write", "n=5", "-pop", "seq=1..10"][..],
            &["write n = 5", "-pop", "seq", "=", "1..10"],
            &["write  n= 5 -pop seq =1..10 "],
        ] {
            assert_eq!(texts(words), whole, "{words:?}");
        }
        assert_eq!(
            texts(&["-schema", "replication(strategy=X,", "factor=3)"]),
            ["-schema", "replication(strategy=X,factor=3)"]
        );
        // As in the tool, a closing parenthesis ends a word.
        assert_eq!(texts(&["ops(a=1 ) n=2"]), ["ops(a=1)", "n=2"]);
    }

    #[test]
    fn every_byte_of_a_word_knows_its_column() {
        let line = Line::new(&["write".to_owned(), "n = µ5".to_owned()]);
        let word = &line.words[1];
        assert_eq!(word.text, "n=µ5");
        assert_eq!(word.place().span, 6..13);
        assert_eq!(&line.shown[word.part(2..5).span], "µ5");
        assert_eq!(word.part(5..5).span, 13..13);
    }

    #[test]
    fn a_secret_is_shown_nowhere() {
        for words in [
            "read -mode user=u password=hunter2",
            "read -mode password = hunter2",
            "read -mode pasword=hunter2,x=1",
            "read -transport truststore-password=hunter2",
        ] {
            let line = Line::new(&[words.to_owned()]);
            let shown = format!("{line:?} {:?} {:?}", line.words, line.diagnostics());
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(shown.contains("*******"), "{shown}");
        }
    }
}
