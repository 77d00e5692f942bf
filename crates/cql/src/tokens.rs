//! Splits CQL into tokens, which are names, texts and symbols, and omits comments. The rules are
//! those of Cassandra's lexer (`Lexer.g`, which is the same in 4.0 to 6.0).
//!
//! Invariants: a server interprets an accepted text in the same way as this module. The encoders of
//! [`crate::request`] never send a comment to a server. If programs disagree about where a line
//! ends, this module refuses the text ([`AMBIGUOUS`]).

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word or number.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A text in single quotes or between dollar signs.
    Text,
    /// One character of punctuation.
    Symbol,
}

/// A token of CQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    /// Text of the token. Words are in lower case. Names and texts are without their quotes.
    pub text: String,
    /// Offset of the token's first byte.
    pub at: usize,
    /// Offset after the token's last byte.
    pub end: usize,
}

/// The first mistake in a text, at which the text is not CQL or is ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {message}")]
pub struct CqlMistake {
    /// Description of the mistake.
    pub message: String,
    /// Byte offset of the mistake in the text.
    pub at: usize,
}

impl CqlMistake {
    /// Returns the message with the line and column of the mistake in the text. Lines and columns
    /// start at one, and a line feed ends a line.
    pub fn describe(&self, text: &str) -> String {
        let before = &text[..self.at];
        let line_at = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_at..].chars().count() + 1;
        format!("line {line}, column {column}: {}", self.message)
    }
}

/// Characters that some programs treat as the end of a line or as a change of text direction, but
/// Cassandra does not.
const AMBIGUOUS: [char; 14] = [
    '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}', // ends of lines
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', // directions
    '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}',
];

/// Returns a text as a CQL literal in single quotes. Doubles each quote within the text.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns a name for use in a statement, in double quotes. The name may contain any characters.
/// Doubles each quote within the name.
pub fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the `transactional_mode` in the definition of an Accord table (6.0). Returns `None` if
/// the mode is off. Only `DESCRIBE` shows the mode, because no table of `system_schema` contains it
/// (6.0-alpha2).
pub fn transactional_mode(statement: &str) -> Option<String> {
    let tokens = tokens(statement).unwrap_or_default();
    let found = tokens.windows(3).find(|three| {
        three[0].kind == TokenKind::Word
            && three[0].text == "transactional_mode"
            && three[1].text == "="
    });
    found.map(|three| three[2].text.clone()).filter(|mode| mode != "off")
}

/// Splits a text into statements at each `;` outside of texts and comments. Returns each statement
/// with its offset.
///
/// # Errors
/// As for [`tokens`].
pub fn split(text: &str) -> Result<Vec<(usize, &str)>, CqlMistake> {
    let mut statements = Vec::new();
    let mut start = None;
    let mut end = 0;
    for piece in Pieces::split(text) {
        let piece = piece?;
        let is_end = piece.form == Form::Symbol && &text[piece.at..piece.end] == ";";
        if is_end && let Some(start) = start.take() {
            statements.push((start, &text[start..end]));
        } else if !is_end && !piece.form.is_blank() {
            start.get_or_insert(piece.at);
            end = piece.end;
        }
    }
    if let Some(start) = start {
        statements.push((start, &text[start..end]));
    }
    Ok(statements)
}

/// Splits a schema into its statements with their offsets, like [`split`]. Omits `COMMENT ON …` and
/// `SECURITY LABEL ON …`, since these do not define objects. DESCRIBE of Cassandra 6.0 writes these
/// statements for elements that have a comment or a label, but earlier versions cannot parse them.
///
/// # Errors
/// As for [`tokens`].
pub fn definitions(schema: &str) -> Result<Vec<(usize, &str)>, CqlMistake> {
    let mut statements = split(schema)?;
    statements.retain(|(_, statement)| {
        let word = statement.split_whitespace().next().unwrap_or_default();
        !["comment", "security"].iter().any(|remark| remark.eq_ignore_ascii_case(word))
    });
    Ok(statements)
}

/// Returns the tokens of a text without its comments.
///
/// # Errors
/// A comment, name or text is not closed. A character outside of comments, names and texts is not
/// part of CQL. A comment contains a character that ends a line only for some programs.
pub fn tokens(cql: &str) -> Result<Vec<Token>, CqlMistake> {
    let tokens = Pieces::split(cql).filter_map(|piece| piece.map(|one| one.token(cql)).transpose());
    tokens.collect()
}

/// Returns a text in the form in which cassay sends it, with a blank instead of each comment.
///
/// # Errors
/// As for [`tokens`].
pub fn without_comments(cql: &str) -> Result<Cow<'_, str>, CqlMistake> {
    let mut has_comment = false;
    for piece in Pieces::split(cql) {
        has_comment |= piece?.form == Form::Comment;
    }
    if !has_comment {
        return Ok(Cow::Borrowed(cql));
    }
    let mut text = String::with_capacity(cql.len());
    for piece in Pieces::split(cql) {
        text.push_str(piece?.sent(cql));
    }
    Ok(Cow::Owned(text))
}

/// Appends a text without its comments, as a *long string* of the protocol. Allocates only to
/// extend `out`.
///
/// # Errors
/// As for [`tokens`]. `out` then ends in the middle of the text.
pub(crate) fn append_statement_text(out: &mut Vec<u8>, cql: &str) -> Result<(), CqlMistake> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    for piece in Pieces::split(cql) {
        out.extend_from_slice(piece?.sent(cql).as_bytes());
    }
    let length = i32::try_from(out.len() - start - 4).expect("a statement is under 2 GiB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The token forms of Cassandra's lexer that this module distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Blank,
    Comment,
    Word,
    Quoted,
    Text,
    /// A text between dollar signs.
    Dollars,
    Symbol,
}

impl Form {
    fn is_blank(self) -> bool {
        matches!(self, Form::Blank | Form::Comment)
    }
}

/// A part of a text that has a single form.
struct Piece {
    form: Form,
    at: usize,
    end: usize,
}

impl Piece {
    fn sent<'a>(&self, cql: &'a str) -> &'a str {
        match self.form {
            Form::Comment => " ",
            _ => &cql[self.at..self.end],
        }
    }

    fn token(&self, cql: &str) -> Option<Token> {
        let whole = &cql[self.at..self.end];
        let inside = |length: usize| &whole[length..whole.len() - length];
        let (kind, text) = match self.form {
            Form::Blank | Form::Comment => return None,
            Form::Word => (TokenKind::Word, whole.to_ascii_lowercase()),
            Form::Quoted => (TokenKind::Quoted, inside(1).replace("\"\"", "\"")),
            Form::Text => (TokenKind::Text, inside(1).replace("''", "'")),
            Form::Dollars => (TokenKind::Text, inside(2).to_owned()),
            Form::Symbol => (TokenKind::Symbol, whole.to_owned()),
        };
        let (at, end) = (self.at, self.end);
        Some(Token {
            kind,
            text,
            at,
            end,
        })
    }
}

/// Iterator over the adjacent [`Piece`]s of a text. The iterator ends after the first mistake.
struct Pieces<'a> {
    cql: &'a str,
    at: usize,
}

impl Pieces<'_> {
    fn split(cql: &str) -> Pieces<'_> {
        Pieces { cql, at: 0 }
    }

    /// Returns the form and length of the piece that begins at the current position. If the piece
    /// has a mistake, returns the offset and the message of the mistake.
    fn next_piece(&self, first: char) -> Result<(Form, usize), (usize, String)> {
        let rest = &self.cql[self.at..];
        let open = |what: &str| (0, format!("the {what} that begins here is unterminated"));
        let behind = |length: usize, end: &str| rest[length..].find(end).map(|at| at + length);
        let run = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if is_white(first) {
            Ok((Form::Blank, run(is_white)))
        } else if rest.starts_with("--") || rest.starts_with("//") {
            line_comment(rest).map(|length| (Form::Comment, length))
        } else if rest.starts_with("/*") {
            let length = behind(2, "*/").ok_or_else(|| open("comment"))? + 2;
            is_read_in_one_way(&rest[..length]).map(|()| (Form::Comment, length))
        } else if rest.starts_with("$$") {
            let length = behind(2, "$$").ok_or_else(|| open("text"))? + 2;
            Ok((Form::Dollars, length))
        } else if first == '\'' {
            Ok((Form::Text, quoted(rest, "'").ok_or_else(|| open("text"))?))
        } else if first == '"' {
            let length = quoted(rest, "\"").ok_or_else(|| open("name"))?;
            Ok((Form::Quoted, length))
        } else if is_word(first) {
            Ok((Form::Word, run(is_word)))
        } else if first.is_ascii_graphic() {
            Ok((Form::Symbol, 1))
        } else {
            let named = first.escape_unicode();
            Err((0, format!("the character {named} is outside of quotes")))
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece, CqlMistake>;

    fn next(&mut self) -> Option<Result<Piece, CqlMistake>> {
        let first = self.cql[self.at..].chars().next()?;
        let at = self.at;
        Some(match self.next_piece(first) {
            Ok((form, length)) => {
                self.at += length;
                let end = self.at;
                Ok(Piece { form, at, end })
            }
            Err((offset, message)) => {
                self.at = self.cql.len();
                let at = at + offset;
                Err(CqlMistake { message, at })
            }
        })
    }
}

fn is_white(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the length of a quoted token including its quotes. Returns `None` if the token is not
/// closed. Within the token, a doubled quote means one quote.
fn quoted(rest: &str, quote: &str) -> Option<usize> {
    let mut at = quote.len();
    loop {
        at += rest[at..].find(quote)? + quote.len();
        if !rest[at..].starts_with(quote) {
            return Some(at);
        }
        at += quote.len();
    }
}

/// Returns the length of a comment without the end of its line. Cassandra also ends the comment at
/// a carriage return, which other programs treat as part of the comment. Therefore the function
/// accepts a lone carriage return only if blanks alone follow it before the end of the line.
fn line_comment(rest: &str) -> Result<usize, (usize, String)> {
    let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
    is_read_in_one_way(&rest[..length])?;
    let line = rest[length..].split('\n').next().unwrap_or_default();
    if line.chars().all(is_white) {
        return Ok(length);
    }
    let message = "this comment ends at a carriage return for Cassandra, but at a line feed for \
                   other programs: end the line with a line feed, or remove the comment";
    Err((length, message.to_owned()))
}

fn is_read_in_one_way(comment: &str) -> Result<(), (usize, String)> {
    let found = comment.char_indices().find(|(_, c)| AMBIGUOUS.contains(c));
    found.map_or(Ok(()), |(at, c)| {
        let named = c.escape_unicode();
        let message = format!(
            "the character {named} is in a comment, and some programs end or reverse the line at \
             this character, unlike Cassandra: remove the character"
        );
        Err((at, message))
    })
}

#[cfg(test)]
mod tests;
