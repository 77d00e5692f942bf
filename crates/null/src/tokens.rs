//! CQL text cut into tokens, and a cursor over them.

/// The longest statement that is looked into; Cassandra warns about batches above 5 KiB.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// The longest name; Cassandra allows 48 characters for tables, and 64 KiB for columns, which
/// nobody has ever needed. It bounds every name that is sent back.
const NAME_BYTES_MAX: usize = 1024;

/// A token of CQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A keyword or a name. Lower case unless it was quoted.
    Name {
        /// Without quotes.
        name: String,
        /// Whether it was quoted, so that it cannot be a keyword.
        quoted: bool,
    },
    /// A text literal without its quotes.
    Text(String),
    /// A number, a UUID or a blob literal.
    Number(String),
    /// `?` or `:name`.
    Marker(Option<String>),
    /// Any other character.
    Symbol(char),
}

impl Token {
    /// The unquoted word `name`.
    pub fn keyword(name: &str) -> Token {
        Token::Name {
            name: name.to_owned(),
            quoted: false,
        }
    }

    /// Whether it is the unquoted word `keyword`, in any case.
    pub fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self, Token::Name { name, quoted: false } if name == keyword)
    }

    /// The name, if it is one (keywords included).
    pub fn as_name(&self) -> Option<&str> {
        match self {
            Token::Name { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The marker's own name, if it is a marker.
    pub fn as_marker(&self) -> Option<Option<&str>> {
        match self {
            Token::Marker(name) => Some(name.as_deref()),
            _ => None,
        }
    }

    /// Its text without quotes.
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

/// Cuts `text` into tokens. None: it is longer than a mebibyte, a quote is left open,
/// or a name is longer than a kibibyte.
pub fn tokenize(text: &str) -> Option<Vec<Token>> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '\'' | '"' => quoted(rest, first, &mut tokens)?,
            '-' if rest.starts_with("--") => after_line(rest),
            '/' if rest.starts_with("//") => after_line(rest),
            '/' if rest.starts_with("/*") => rest.split_once("*/").map_or("", |(_, after)| after),
            '$' if rest.starts_with("$$") => {
                let (inside, after) = rest[2..].split_once("$$")?;
                tokens.push(Token::Text(inside.to_owned()));
                after
            }
            '?' => {
                tokens.push(Token::Marker(None));
                &rest[1..]
            }
            ':' if rest[1..].starts_with(starts_name) => {
                let (name, after) = word(&rest[1..]);
                tokens.push(Token::Marker(Some(name.to_lowercase())));
                after
            }
            first if starts_name(first) => {
                let (name, after) = word(rest);
                tokens.push(Token::Name {
                    name: name.to_lowercase(),
                    quoted: false,
                });
                after
            }
            first if first.is_ascii_digit() => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)));
                let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
                tokens.push(Token::Number(number.to_owned()));
                after
            }
            first => {
                if !first.is_whitespace() {
                    tokens.push(Token::Symbol(first));
                }
                &rest[first.len_utf8()..]
            }
        };
    }
    let too_long = |token: &Token| token.as_name().is_some_and(|n| n.len() > NAME_BYTES_MAX);
    if tokens.iter().any(too_long) {
        None
    } else {
        Some(tokens)
    }
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    text.split_at(end.unwrap_or(text.len()))
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, after)| after)
}

/// Reads what `text` opens with, up to the same `quote` again; two in a row stand for one.
fn quoted<'a>(text: &'a str, quote: char, tokens: &mut Vec<Token>) -> Option<&'a str> {
    let mut inside = String::new();
    let mut rest = &text[1..];
    loop {
        let (before, after) = rest.split_once(quote)?;
        inside.push_str(before);
        rest = after;
        if !rest.starts_with(quote) {
            break;
        }
        inside.push(quote);
        rest = &rest[1..];
    }
    tokens.push(match quote {
        '"' => Token::Name {
            name: inside,
            quoted: true,
        },
        _ => Token::Text(inside),
    });
    Some(rest)
}

/// The parts between commas that are inside of no bracket.
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

/// A place in a list of tokens.
pub struct TokenReader<'a> {
    rest: &'a [Token],
}

impl<'a> TokenReader<'a> {
    /// At the beginning of `tokens`.
    pub fn new(tokens: &'a [Token]) -> TokenReader<'a> {
        TokenReader { rest: tokens }
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [Token] {
        self.rest
    }

    fn next(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Reads a token; Some if it is an unquoted word.
    pub fn next_keyword(&mut self) -> Option<&'a str> {
        match self.next()? {
            Token::Name {
                name,
                quoted: false,
            } => Some(name),
            _ => None,
        }
    }

    /// Reads a token; Some if it is a name.
    pub fn next_name(&mut self) -> Option<String> {
        self.next()?.as_name().map(str::to_owned)
    }

    /// Reads a token; Some if it is a name or a text.
    pub fn next_name_or_text(&mut self) -> Option<String> {
        match self.next()? {
            Token::Name { name: text, .. } | Token::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Reads a token; Some if it is a number.
    pub fn next_number(&mut self) -> Option<&'a str> {
        match self.next()? {
            Token::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Passes over `symbol` if it comes next.
    pub fn skip_symbol(&mut self, symbol: char) -> bool {
        let is_next = self.rest.first() == Some(&Token::Symbol(symbol));
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    /// Passes over `keyword` if it comes next.
    pub fn skip_keyword(&mut self, keyword: &str) -> bool {
        self.skip_keywords(&[keyword])
    }

    /// Passes over all of `keywords` if they come next.
    pub fn skip_keywords(&mut self, keywords: &[&str]) -> bool {
        let are_next = self.rest.len() >= keywords.len()
            && self
                .rest
                .iter()
                .zip(keywords)
                .all(|(token, keyword)| token.is_keyword(keyword));
        if are_next {
            self.rest = &self.rest[keywords.len()..];
        }
        are_next
    }

    /// Passes over everything up to and including `keyword`; over all when it never comes.
    pub fn skip_past_keyword(&mut self, keyword: &str) {
        let position = self.rest.iter().position(|token| token.is_keyword(keyword));
        self.rest = position.map_or(&[], |position| &self.rest[position + 1..]);
    }

    /// Reads what stands between `(` and its `)`. None: no parenthesis, or it is left open.
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
            texts("{'class': 'x', 'n':1}")
                .iter()
                .filter(|t| *t == ":")
                .count(),
            2
        );
    }
}
