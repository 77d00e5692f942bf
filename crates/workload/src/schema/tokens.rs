//! The words of CQL: names, texts, symbols, without comments.

use super::Fault;

/// The statements of a text, split at `;` outside of texts and comments, each with its offset.
pub fn split(text: &str) -> Result<Vec<(usize, &str)>, Fault> {
    let mut statements = Vec::new();
    let mut start = None;
    for token in tokens(text)? {
        if token.kind == Kind::Symbol && token.text == ";" {
            if let Some(start) = start.take() {
                statements.push((start, text[start..token.at].trim_end()));
            }
        } else {
            start.get_or_insert(token.at);
        }
    }
    if let Some(start) = start {
        statements.push((start, text[start..].trim_end()));
    }
    Ok(statements)
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word or number.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A text in single quotes or dollars.
    Text,
    /// One character of punctuation.
    Symbol,
}

/// A piece of CQL that cannot be cut further.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Words in lower case, names and texts without their quotes.
    pub text: String,
    /// Where it begins, in bytes.
    pub at: usize,
}

/// The tokens of a text, comments left out.
pub fn tokens(cql: &str) -> Result<Vec<Token>, Fault> {
    let bytes = cql.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &cql[at..];
        let first = rest.chars().next().unwrap_or(' ');
        let start = at;
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("--") || rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(comment) = rest.strip_prefix("/*") {
            at += 2 + until(comment, "*/", start, "comment")? + 2;
        } else if let Some(text) = rest.strip_prefix("$$") {
            let length = until(text, "$$", start, "text")?;
            tokens.push(Token {
                kind: Kind::Text,
                text: rest[2..2 + length].to_owned(),
                at: start,
            });
            at += length + 4;
        } else if first == '\'' || first == '"' {
            let (text, length) = quoted(rest, first, start)?;
            let kind = if first == '"' {
                Kind::Quoted
            } else {
                Kind::Text
            };
            tokens.push(Token {
                kind,
                text,
                at: start,
            });
            at += length;
        } else if first.is_alphanumeric() || first == '_' {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(Token {
                kind: Kind::Word,
                text: rest[..length].to_lowercase(),
                at: start,
            });
            at += length;
        } else {
            tokens.push(Token {
                kind: Kind::Symbol,
                text: first.to_string(),
                at: start,
            });
            at += first.len_utf8();
        }
    }
    Ok(tokens)
}

fn until(rest: &str, end: &str, at: usize, what: &str) -> Result<usize, Fault> {
    rest.find(end).ok_or_else(|| Fault {
        message: format!("the {what} that begins here does not end"),
        at,
    })
}

/// The text of a quoted token, and its length with quotes; a doubled quote is one.
fn quoted(rest: &str, quote: char, at: usize) -> Result<(String, usize), Fault> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((offset, c)) = characters.next() {
        if c != quote {
            text.push(c);
        } else if characters.peek().is_some_and(|(_, next)| *next == quote) {
            characters.next();
            text.push(quote);
        } else {
            return Ok((text, offset + 1));
        }
    }
    Err(Fault {
        message: format!("the {quote} that stands here is not closed"),
        at,
    })
}
