//! Parses value expressions such as `uniform(1..100)`, `text(gaussian(10..200), compressible=0.5)`
//! and `list(uuid, 3)`. The module only parses the text. The type of the column determines which
//! expressions are valid.

use yaml::did_you_mean;

/// Maximum nesting of expressions. The parser is recursive, so it needs a limit, and deeper
/// expressions do not occur in practice.
const DEPTH_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    /// Byte offset of the mistake in the expression.
    pub(super) at: usize,
    pub(super) hint: Option<String>,
}

impl Wrong {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Wrong {
        Wrong {
            message: message.into(),
            at,
            hint: None,
        }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Wrong {
        Wrong {
            hint: Some(hint.into()),
            ..self
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub(super) at: usize,
    /// The text of the expression, as written.
    pub(super) text: String,
    pub(super) form: Form,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// A number, a range of numbers, or a time span. Each begins with a digit or a sign.
    Number,
    /// A text in single quotes, without the quotes.
    Text(String),
    /// A name, with arguments in parentheses if it has arguments.
    Call {
        name: String,
        arguments: Vec<Argument>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Argument {
    /// The name before the `=` of a named argument. A colon may replace the `=` where YAML permits
    /// a colon. `None` for a positional argument.
    pub(super) name: Option<String>,
    pub(super) value: Expr,
}

impl Expr {
    /// Returns the name of the function. The name of a literal is empty.
    pub(super) fn name(&self) -> &str {
        match &self.form {
            Form::Call { name, .. } => name,
            _ => "",
        }
    }

    pub(super) fn arguments(&self) -> &[Argument] {
        match &self.form {
            Form::Call { arguments, .. } => arguments,
            _ => &[],
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Expr, Wrong> {
    let mut reader = Reader { text, at: 0 };
    let expr = reader.expr(0)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        let rest = &text[reader.at..];
        return Err(Wrong::new(reader.at, format!("`{rest}` follows the value")));
    }
    Ok(expr)
}

/// Returns the positional arguments of a call, and its named arguments. `known` lists the permitted
/// names, and the named arguments have the same order.
pub(super) fn split<'a>(
    expr: &'a Expr,
    known: &[&str],
) -> Result<(Vec<&'a Expr>, Vec<Option<&'a Expr>>), Wrong> {
    let mut positional = Vec::new();
    let mut named = vec![None; known.len()];
    for argument in expr.arguments() {
        let Some(name) = &argument.name else {
            positional.push(&argument.value);
            continue;
        };
        let Some(index) = known.iter().position(|known| known == name) else {
            let message = format!("{} has no argument `{name}`", expr.name());
            return Err(Wrong {
                hint: did_you_mean(name, known.iter().copied()),
                ..Wrong::new(argument.value.at, message)
            });
        };
        if named[index].replace(&argument.value).is_some() {
            let message = format!("`{name}` occurs twice");
            return Err(Wrong::new(argument.value.at, message));
        }
    }
    Ok((positional, named))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, symbol: char) -> bool {
        self.skip_blanks();
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    /// Reads a sequence of letters, digits and the other characters of numbers and ranges.
    fn word(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        word
    }

    fn expr(&mut self, depth: usize) -> Result<Expr, Wrong> {
        self.skip_blanks();
        let start = self.at;
        if depth > DEPTH_MAX {
            let message = format!("values are nested deeper than {DEPTH_MAX} levels");
            return Err(Wrong::new(start, message));
        }
        let form = if self.take('\'') {
            Form::Text(self.quoted(start)?)
        } else {
            let word = self.word().to_owned();
            match word.chars().next() {
                None => {
                    let found = self.text[start..]
                        .chars()
                        .next()
                        .map_or("the end".to_owned(), |c| format!("`{c}`"));
                    let message = format!("expected a value, not {found}");
                    return Err(Wrong::new(start, message));
                }
                Some(first) if first.is_ascii_alphabetic() => Form::Call {
                    name: word.to_ascii_lowercase(),
                    arguments: self.arguments(depth)?,
                },
                Some(_) => self.number(),
            }
        };
        Ok(Expr {
            at: start,
            text: self.text[start..self.at].to_owned(),
            form,
        })
    }

    /// Reads the rest of a number or range. A range may have blanks around its dots.
    fn number(&mut self) -> Form {
        let mark = self.at;
        self.skip_blanks();
        let is_open = self.text[..mark].ends_with("..");
        if is_open || self.text[self.at..].starts_with("..") {
            if self.word().ends_with("..") {
                self.skip_blanks();
                self.word();
            }
        } else {
            self.at = mark;
        }
        Form::Number
    }

    /// Reads the text up to the closing quote. In the text, two single quotes mean one single
    /// quote.
    fn quoted(&mut self, start: usize) -> Result<String, Wrong> {
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(length) = rest.find('\'') else {
                return Err(Wrong::new(
                    start,
                    "the closing quote of this text is missing",
                ));
            };
            text += &rest[..length];
            self.at += length + 1;
            if !self.text[self.at..].starts_with('\'') {
                return Ok(text);
            }
            text.push('\'');
            self.at += 1;
        }
    }

    fn arguments(&mut self, depth: usize) -> Result<Vec<Argument>, Wrong> {
        let mut arguments = Vec::new();
        let open = self.at;
        if !self.text[self.at..].starts_with('(') {
            return Ok(arguments);
        }
        self.at += 1;
        if self.take(')') {
            return Ok(arguments);
        }
        loop {
            let value = self.expr(depth + 1)?;
            let is_name =
                matches!(&value.form, Form::Call { arguments, .. } if arguments.is_empty());
            if is_name && (self.take('=') || self.take(':')) {
                arguments.push(Argument {
                    name: Some(value.text),
                    value: self.expr(depth + 1)?,
                });
            } else {
                arguments.push(Argument { name: None, value });
            }
            if self.take(')') {
                return Ok(arguments);
            }
            if !self.take(',') {
                let message = "the parenthesis that opens here is not closed";
                return Err(Wrong::new(open, message).hint("separate arguments with commas"));
            }
        }
    }
}
