//! Splits CQL text into tokens, and reads them with a cursor.

use cql::tokens::{self, TokenKind};

/// Maximum length of a statement that is parsed, in bytes. Cassandra warns about batches above 5
/// KiB.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// Maximum length of a name in bytes. Cassandra allows 48 characters for the names of tables, and
/// 64 KiB for the names of columns, which is more than any client needs. The limit applies to every
/// name that the server sends back.
const NAME_BYTES_MAX: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A keyword or a name. It is in lower case unless it was quoted in the text.
    Name {
        name: String,
        /// True if the name was quoted, so that it cannot be a keyword.
        quoted: bool,
    },
    /// A text literal without its quotes.
    Text(String),
    /// A number, a UUID or a blob literal.
    Number(String),
    /// A bind marker, which is `?` or `:name`.
    Marker(Option<String>),
    /// Any other character.
    Symbol(char),
}

impl Token {
    /// Returns the token of the unquoted word `name`.
    pub fn keyword(name: &str) -> Token {
        Token::Name {
            name: name.to_owned(),
            quoted: false,
        }
    }

    /// Returns true if the token is the unquoted word `keyword`, in upper or lower case.
    pub fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self, Token::Name { name, quoted: false } if name == keyword)
    }

    /// Returns the name, if the token is a name. Keywords count as names.
    pub fn as_name(&self) -> Option<&str> {
        match self {
            Token::Name { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns the name of the marker, if the token is a marker. The inner value is `None` for `?`.
    pub fn as_marker(&self) -> Option<Option<&str>> {
        match self {
            Token::Marker(name) => Some(name.as_deref()),
            _ => None,
        }
    }

    /// Returns the text of the token without quotes.
    pub fn text(&self) -> String {
        match self {
            Token::Name { name: text, .. } | Token::Text(text) | Token::Number(text) => {
                text.clone()
            }
            Token::Marker(name) => name.clone().unwrap_or_else(|| "?".to_owned()),
            Token::Symbol(symbol) => symbol.to_string(),
        }
    }
}

/// Splits `text` into tokens. Returns `None` if the text is longer than 1 MiB, contains a name of
/// more than 1 KiB, or violates the rules of [`cql::tokens::tokens`].
pub fn tokenize(text: &str) -> Option<Vec<Token>> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let read = cql::tokens::tokens(text).ok()?;
    let mut read = read.into_iter().peekable();
    let mut tokens = Vec::new();
    // The text before this offset was already split into tokens.
    let mut end = 0;
    while let Some(token) = read.next() {
        if token.at < end {
            continue;
        }
        let is_next = |next: &tokens::Token| {
            token.text == ":"
                && next.kind == TokenKind::Word
                && next.at == token.at + 1
                && !next.text.starts_with(|c: char| c.is_ascii_digit())
        };
        tokens.push(match token.kind {
            TokenKind::Word if token.text.starts_with(|c: char| c.is_ascii_digit()) => {
                let rest = &text[token.at..];
                let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)));
                let number = &rest[..length.unwrap_or(rest.len())];
                end = token.at + number.len();
                Token::Number(number.to_owned())
            }
            TokenKind::Word | TokenKind::Quoted => Token::Name {
                quoted: token.kind == TokenKind::Quoted,
                name: token.text,
            },
            TokenKind::Text => Token::Text(token.text),
            TokenKind::Symbol if token.text == "?" => Token::Marker(None),
            TokenKind::Symbol => match read.next_if(is_next) {
                Some(name) => Token::Marker(Some(name.text)),
                None => Token::Symbol(token.text.chars().next()?),
            },
        });
    }
    let too_long = |token: &Token| token.as_name().is_some_and(|n| n.len() > NAME_BYTES_MAX);
    if tokens.iter().any(too_long) {
        None
    } else {
        Some(tokens)
    }
}

/// Splits a list of tokens at those commas that are outside of all brackets.
pub fn split_at_commas(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0i32;
    tokens.split(move |token| {
        if let Token::Symbol(symbol) = token {
            match symbol {
                '(' | '<' | '{' | '[' => depth += 1,
                ')' | '>' | '}' | ']' => depth -= 1,
                ',' => return depth == 0,
                _ => {}
            }
        }
        false
    })
}

/// Reader of a list of tokens, at a position in the list.
pub struct TokenReader<'a> {
    rest: &'a [Token],
}

impl<'a> TokenReader<'a> {
    pub fn new(tokens: &'a [Token]) -> TokenReader<'a> {
        TokenReader { rest: tokens }
    }

    pub fn rest(&self) -> &'a [Token] {
        self.rest
    }

    fn next(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Reads a token, and returns it if it is an unquoted word.
    pub fn next_keyword(&mut self) -> Option<&'a str> {
        match self.next()? {
            Token::Name {
                name,
                quoted: false,
            } => Some(name),
            _ => None,
        }
    }

    /// Reads a token, and returns it if it is a name.
    pub fn next_name(&mut self) -> Option<String> {
        self.next()?.as_name().map(str::to_owned)
    }

    /// Reads a token, and returns it if it is a name or a text.
    pub fn next_name_or_text(&mut self) -> Option<String> {
        match self.next()? {
            Token::Name { name: text, .. } | Token::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Reads a token, and returns it if it is a number.
    pub fn next_number(&mut self) -> Option<&'a str> {
        match self.next()? {
            Token::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Skips `symbol` if it is the next token. Returns true if it was skipped.
    pub fn skip_symbol(&mut self, symbol: char) -> bool {
        let is_next = self.rest.first() == Some(&Token::Symbol(symbol));
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    /// Skips `keyword` if it is the next token. Returns true if it was skipped.
    pub fn skip_keyword(&mut self, keyword: &str) -> bool {
        self.skip_keywords(&[keyword])
    }

    /// Skips all of `keywords` if they are the next tokens. Returns true if they were skipped.
    pub fn skip_keywords(&mut self, keywords: &[&str]) -> bool {
        let are_next = self.rest.len() >= keywords.len()
            && self.rest.iter().zip(keywords).all(|(token, keyword)| token.is_keyword(keyword));
        if are_next {
            self.rest = &self.rest[keywords.len()..];
        }
        are_next
    }

    /// Skips all tokens up to and including `keyword`. If `keyword` does not occur, skips all
    /// tokens.
    pub fn skip_past_keyword(&mut self, keyword: &str) {
        let position = self.rest.iter().position(|token| token.is_keyword(keyword));
        self.rest = position.map_or(&[], |position| &self.rest[position + 1..]);
    }

    /// Reads the tokens between `(` and the matching `)`. Returns `None` if the next token is not
    /// `(`, or if the parenthesis is not closed.
    pub fn parenthesised(&mut self) -> Option<&'a [Token]> {
        if !self.skip_symbol('(') {
            return None;
        }
        let mut depth = 1;
        for (index, token) in self.rest.iter().enumerate() {
            match token {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inside = &self.rest[..index];
                self.rest = &self.rest[index + 1..];
                return Some(inside);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokenize(text).unwrap().iter().map(Token::text).collect()
    }

    #[test]
    fn names_fold_to_lower_case_unless_quoted() {
        assert_eq!(
            texts("UPDATE \"Standard1\" SET C0=? -- why\nWHERE k = :Key;"),
            [
                "update",
                "Standard1",
                "set",
                "c0",
                "=",
                "?",
                "where",
                "k",
                "=",
                "key",
                ";"
            ]
        );
    }

    #[test]
    fn quotes_comments_and_numbers_are_one_token_each() {
        assert_eq!(
            texts("'it''s' \"a\"\"b\" $$x'y$$ /* , */ 0xCAFE 1.5e-3 // end"),
            ["it's", "a\"b", "x'y", "0xCAFE", "1.5e-3"]
        );
        assert_eq!(tokenize("'open"), None);
        assert_eq!(tokenize("$$open"), None);
        assert_eq!(tokenize(&" ".repeat(TEXT_BYTES_MAX + 1)), None);
    }

    #[test]
    fn a_colon_in_a_map_is_not_a_marker() {
        assert_eq!(
            texts("{'class': 'x', 'n':1}").iter().filter(|t| *t == ":").count(),
            2
        );
    }
}
