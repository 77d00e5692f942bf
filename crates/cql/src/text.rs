//! The words of CQL: names, texts, symbols, without comments.

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Words in lower case, names and texts without their quotes.
    pub text: String,
    /// Where it begins, in bytes.
    pub at: usize,
}

/// Why a statement cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// Byte offset in the statement.
    pub at: usize,
}

/// A text as a statement has it: in single quotes, those within it doubled.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as a statement has it, whatever its letters: in double quotes, those within it doubled.
pub fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The statements of a text, split at `;` outside of texts and comments, each with its offset.
///
/// # Errors
/// As [`tokens`].
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

/// The tokens of a text, comments left out.
///
/// # Errors
/// A comment, a name or a text is not closed.
pub fn tokens(cql: &str) -> Result<Vec<Token>, Fault> {
    match read(cql) {
        (tokens, None) => Ok(tokens),
        (_, Some(fault)) => Err(fault),
    }
}

/// The tokens of a text as far as it can be read, and why no further: what is not closed goes to
/// the text's end.
pub fn read(cql: &str) -> (Vec<Token>, Option<Fault>) {
    let (mut tokens, mut fault) = (Vec::new(), None);
    let mut at = 0;
    while let Some(first) = cql[at..].chars().next() {
        let (rest, start) = (&cql[at..], at);
        let mut token = |kind, text| {
            let at = start;
            tokens.push(Token { kind, text, at });
        };
        let mut open = |what: String| {
            let message = what;
            fault.get_or_insert(Fault { message, at: start });
        };
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("--") || rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let length = comment.find("*/").map(|length| length + 4);
            if length.is_none() {
                open("the comment that begins here does not end".to_owned());
            }
            at += length.unwrap_or(rest.len());
        } else if let Some(text) = rest.strip_prefix("$$") {
            let length = text.find("$$");
            if length.is_none() {
                open("the text that begins here does not end".to_owned());
            }
            token(Kind::Text, text[..length.unwrap_or(text.len())].to_owned());
            at += length.map_or(rest.len(), |length| length + 4);
        } else if first == '\'' || first == '"' {
            let (text, length) = quoted(rest, first);
            if length.is_none() {
                open(format!("the {first} that stands here is not closed"));
            }
            let is_name = first == '"';
            token(if is_name { Kind::Quoted } else { Kind::Text }, text);
            at += length.unwrap_or(rest.len());
        } else if first.is_alphanumeric() || first == '_' {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            token(Kind::Word, rest[..length].to_lowercase());
            at += length;
        } else {
            token(Kind::Symbol, first.to_string());
            at += first.len_utf8();
        }
    }
    (tokens, fault)
}

/// The text of a quoted token, and its length with quotes, if it is closed; a doubled quote is one.
fn quoted(rest: &str, quote: char) -> (String, Option<usize>) {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((offset, c)) = characters.next() {
        if c != quote {
            text.push(c);
        } else if characters.peek().is_some_and(|(_, next)| *next == quote) {
            characters.next();
            text.push(quote);
        } else {
            return (text, Some(offset + 1));
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_closed_is_a_fault_and_goes_to_the_end() {
        for (cql, last, at) in [
            ("a 'b''c", Some("b'c"), 2),
            ("a \"b", Some("b"), 2),
            ("a $$b'", Some("b'"), 2),
            ("a /* b", Some("a"), 2),
        ] {
            let (tokens, fault) = read(cql);
            assert_eq!(
                tokens.last().map(|token| token.text.as_str()),
                last,
                "{cql}"
            );
            assert_eq!(fault.map(|fault| fault.at), Some(at), "{cql}");
            assert!(super::tokens(cql).is_err(), "{cql}");
        }
    }
}
