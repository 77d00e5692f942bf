//! Parses the text of a binding recipe into calls: `Div(10); Mod(5L) -> int; ToString()`.
//!
//! Every call contains its byte offset, so that messages can show the position of a mistake in the
//! file.

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// Byte offset of the function's name in the recipe.
    pub(crate) at: usize,
    pub(crate) args: Vec<Arg>,
    /// Input type of the call. In the recipe, it is written in front of the name, followed by `->`.
    pub(crate) input: Option<String>,
    /// Output type of the call. In the recipe, it is written after the arguments and `->`.
    pub(crate) output: Option<String>,
}

/// An argument of a call. The type of a number is part of its meaning, because the type determines
/// the function's flavour.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arg {
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Text(String),
    Bool(bool),
    Call(Call),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecipeMistake {
    pub(crate) message: String,
    /// Byte offset of the mistake in the recipe.
    pub(crate) at: usize,
    pub(crate) hint: Option<String>,
}

impl RecipeMistake {
    pub(crate) fn new(message: impl Into<String>, at: usize) -> RecipeMistake {
        RecipeMistake {
            message: message.into(),
            at,
            hint: None,
        }
    }
}

/// Maximum nesting of functions in arguments. Real recipes are less deeply nested.
const DEPTH_MAX: usize = 16;

pub(crate) fn parse(text: &str) -> Result<Vec<Call>, RecipeMistake> {
    let mut reader = Reader { text, at: 0 };
    let mut calls = Vec::new();
    loop {
        while reader.take(";") {}
        reader.skip_spaces();
        if reader.rest().is_empty() {
            break;
        }
        calls.push(reader.call(0)?);
        if !reader.take(";") && !reader.rest().is_empty() {
            let message = format!("expected `;` before `{}`", first_line(reader.rest()));
            return Err(RecipeMistake::new(message, reader.at));
        }
    }
    if calls.is_empty() {
        return Err(RecipeMistake::new("the recipe has no function", 0));
    }
    Ok(calls)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
            self.skip_spaces();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), RecipeMistake> {
        if self.take(symbol) {
            return Ok(());
        }
        let found = match first_line(self.rest()) {
            "" => "the end".to_owned(),
            rest => format!("`{rest}`"),
        };
        let message = format!("expected `{symbol}`, found {found}");
        Err(RecipeMistake::new(message, self.at))
    }

    fn word(&mut self) -> Result<&'a str, RecipeMistake> {
        self.skip_spaces();
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if length == 0 || !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let message = format!("expected a function, found `{}`", first_line(rest));
            return Err(RecipeMistake::new(message, self.at));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn call(&mut self, depth: usize) -> Result<Call, RecipeMistake> {
        if depth > DEPTH_MAX {
            let message = format!("functions are nested more than {DEPTH_MAX} deep");
            return Err(RecipeMistake::new(message, self.at));
        }
        self.skip_spaces();
        let mut at = self.at;
        let mut name = self.word()?;
        if name == "compose" && !self.rest().trim_start().starts_with('(') {
            self.skip_spaces();
            at = self.at;
            name = self.word()?;
        }
        let mut input = None;
        if self.take("->") {
            input = Some(name.to_owned());
            at = self.at;
            name = self.word()?;
        }
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.take(")") {
            if self.rest().is_empty() || self.rest().starts_with(';') {
                let message = format!("the parenthesis after {name} is not closed");
                return Err(RecipeMistake::new(message, self.at));
            }
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.arg(depth)?);
        }
        let output = if self.take("->") {
            Some(self.word()?.to_owned())
        } else {
            None
        };
        Ok(Call {
            name: name.to_owned(),
            at,
            args,
            input,
            output,
        })
    }

    fn arg(&mut self, depth: usize) -> Result<Arg, RecipeMistake> {
        self.skip_spaces();
        let rest = self.rest();
        match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            Some('0'..='9' | '-' | '+' | '.') => self.number(),
            Some('$') => Err(RecipeMistake::new(
                "cassay does not understand references with `$`",
                self.at,
            )),
            _ => {
                for (word, value) in [("true", true), ("false", false)] {
                    let ends = |c: char| !c.is_ascii_alphanumeric();
                    if rest.strip_prefix(word).is_some_and(|r| r.starts_with(ends)) {
                        self.at += word.len();
                        return Ok(Arg::Bool(value));
                    }
                }
                Ok(Arg::Call(self.call(depth + 1)?))
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Arg, RecipeMistake> {
        let start = self.at;
        let mut text = String::new();
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            if escaped {
                // The backslash escapes only the quote and the backslash itself.
                if c != quote && c != '\\' {
                    text.push('\\');
                }
                text.push(c);
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == quote {
                self.at += offset + 1;
                return Ok(Arg::Text(text));
            } else {
                text.push(c);
            }
        }
        Err(RecipeMistake::new("a string is unterminated", start))
    }

    fn number(&mut self) -> Result<Arg, RecipeMistake> {
        let (rest, at) = (self.rest(), self.at);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        let digits = &word[..word.len().saturating_sub(1)];
        let parsed = match word.chars().next_back() {
            Some('l' | 'L') => digits.parse().ok().map(Arg::Long),
            Some('d' | 'D') => digits.parse().ok().map(Arg::Double),
            Some('f' | 'F') => digits.parse().ok().map(Arg::Float),
            _ if word.contains(['.', 'e', 'E']) => word.parse().ok().map(Arg::Float),
            _ => word.parse().ok().map(Arg::Int),
        };
        parsed.ok_or_else(|| {
            let mut fault = RecipeMistake::new(
                format!("`{word}` is not a number in the range of its type"),
                at,
            );
            if word.parse::<i64>().is_ok() {
                fault.hint = Some(format!("above 31 bits, write `{word}L`"));
            }
            fault
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_arguments_and_types_are_read_with_their_places() {
        let calls =
            parse("Div(10);Mod(-5L)-> int; A('x\\'y', 1.5, 2d, B(), true, .5f) -> a.b.C").unwrap();
        assert_eq!(calls.len(), 3);
        assert_eq!(calls[0].args, [Arg::Int(10)]);
        assert_eq!((calls[1].at, calls[1].output.as_deref()), (8, Some("int")));
        assert_eq!(calls[1].args, [Arg::Long(-5)]);
        assert_eq!(calls[2].args[0], Arg::Text("x'y".to_owned()));
        assert_eq!(calls[2].args[1..3], [Arg::Float(1.5), Arg::Double(2.0)]);
        assert!(matches!(&calls[2].args[3], Arg::Call(call) if call.name == "B"));
        assert_eq!(calls[2].args[4..], [Arg::Bool(true), Arg::Float(0.5)]);
        assert_eq!(calls[2].output.as_deref(), Some("a.b.C"));
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, at) in [
            ("", 0),
            ("Mod(5", 5),
            ("Mod(5) Mod(6)", 7),
            ("Mod(99999999999)", 4),
            ("F('x)", 2),
            ("5", 0),
        ] {
            assert_eq!(parse(text).unwrap_err().at, at, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[A-C(){};,'\"0-9.L>é\\\\ -]{0,40}") {
            let _ = parse(&text);
        }
    }
}
