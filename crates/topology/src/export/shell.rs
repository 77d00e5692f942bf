//! Reads shell scripts as far as they set variables and start programs. The reader treats every
//! line as executed, because it cannot evaluate conditions.
//!
//! The reader splits a script into commands, removes the quotes, and replaces variables that the
//! script sets. A variable without a known value and a command substitution remain as written.

use std::collections::BTreeMap;

/// Words before a command that belong to the shell's grammar.
const KEYWORDS: [&str; 10] = [
    "if", "then", "elif", "else", "while", "until", "do", "{", "!", "time",
];

/// Commands that set variables for the commands after them.
const SETTERS: [&str; 5] = ["export", "readonly", "declare", "typeset", "local"];

/// Maximum number of bytes that the values of variables add to a script. Lines that refer to
/// themselves, such as `A=$A$A`, would otherwise fill the memory.
const EXPANDED_BYTES_MAX: usize = 16 << 20;

/// Content of a script.
#[derive(Default)]
pub struct Script {
    /// Variables with their last values.
    pub variables: BTreeMap<String, String>,
    /// Commands in the order of the script. Each command has at least one word. The variables
    /// before a command are in `variables`.
    pub commands: Vec<Vec<String>>,
    /// Lines of which the reader omits at least one command: their numbers, the reasons and their
    /// texts.
    pub unread: Vec<(usize, &'static str, String)>,
    /// Number of bytes that the values of variables added so far.
    expanded_bytes: usize,
}

enum Piece {
    Text(String),
    Variable {
        name: String,
        /// Form of the variable in the script, such as `${NAME}`.
        written: String,
        is_quoted: bool,
    },
}

impl Script {
    /// Reads a script. `variables` are those that other programs set before the script.
    pub fn read(text: &str, variables: BTreeMap<String, String>) -> Script {
        let mut script = Script {
            variables,
            ..Script::default()
        };
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let mut whole = line.to_owned();
            // A backslash at the end of a line continues the line, except in a comment.
            while ends_with_backslash(&whole) && !whole.trim_start().starts_with('#') {
                whole.pop();
                match lines.next() {
                    Some((_, next)) => whole += next,
                    None => break,
                }
            }
            let why = match commands_of(&whole) {
                None => "has an open quote",
                Some(all) => {
                    let omitted = all.iter().filter(|words| !script.run(words)).count();
                    if omitted == 0 {
                        continue;
                    }
                    "has a command with too long values of variables"
                }
            };
            script.unread.push((index + 1, why, whole));
        }
        script
    }

    /// Sets the variables of a command, and adds the rest of the command to the list. Returns false
    /// if the values of variables are too long. In this case, changes nothing.
    fn run(&mut self, pieces: &[Vec<Piece>]) -> bool {
        let added = pieces.iter().flatten().map(|piece| self.bytes_of(piece)).sum::<usize>();
        if added > EXPANDED_BYTES_MAX - self.expanded_bytes {
            return false;
        }
        self.expanded_bytes += added;
        let expanded = pieces.iter().flat_map(|word| self.expand(word)).collect::<Vec<_>>();
        let is_keyword = |word: &String| KEYWORDS.contains(&word.as_str());
        let mut own = expanded.into_iter().skip_while(is_keyword).peekable();
        let sets = own.next_if(|word| SETTERS.contains(&word.as_str())).is_some();
        let mut words = own.filter(|word| !sets || !word.starts_with('-')).peekable();
        while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
            match name.strip_suffix('+') {
                Some(name) => self.variables.entry(name.to_owned()).or_default().push_str(value),
                None => {
                    self.variables.insert(name.to_owned(), value.to_owned());
                }
            }
            words.next();
        }
        let words: Vec<String> = words.collect();
        if !words.is_empty() {
            self.commands.push(words);
        }
        true
    }

    fn bytes_of(&self, piece: &Piece) -> usize {
        match piece {
            Piece::Text(_) => 0,
            Piece::Variable { name, .. } => self.variables.get(name).map_or(0, String::len),
        }
    }

    /// Replaces the variables of a word. A variable outside of quotes may result in several words,
    /// or in none.
    fn expand(&self, pieces: &[Piece]) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut is_assignment = false;
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    let word = word.get_or_insert_default();
                    *word += text;
                    is_assignment |= words.is_empty() && assignment(word).is_some();
                }
                Piece::Variable {
                    name,
                    written,
                    is_quoted,
                } => match self.variables.get(name) {
                    None => *word.get_or_insert_default() += written,
                    // The shell does not split the value of an assignment.
                    Some(value) if *is_quoted || is_assignment => {
                        *word.get_or_insert_default() += value;
                    }
                    Some(value) => {
                        if value.starts_with(' ') {
                            words.extend(word.take());
                        }
                        let mut parts = value.split(' ').filter(|part| !part.is_empty());
                        if let Some(first) = parts.next() {
                            *word.get_or_insert_default() += first;
                        }
                        for part in parts {
                            words.extend(word.replace(part.to_owned()));
                        }
                        if value.ends_with(' ') {
                            words.extend(word.take());
                        }
                    }
                },
            }
        }
        words.extend(word);
        words
    }
}

fn ends_with_backslash(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// Splits `NAME=value` or `NAME+=value`. The name of the second form ends with `+`. Returns `None`
/// for other words.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let plain = name.strip_suffix('+').unwrap_or(name);
    let is_name = !plain.is_empty()
        && !plain.starts_with(|c: char| c.is_ascii_digit())
        && plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, value))
}

/// Splits a line into commands of words. Returns `None` if a quote or a substitution is not closed.
fn commands_of(line: &str) -> Option<Vec<Vec<Vec<Piece>>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<Vec<Piece>> = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '#' if word.is_none() => break,
            '\'' => {
                let (inside, behind) = after.split_once('\'')?;
                word.get_or_insert_default().push(Piece::Text(inside.to_owned()));
                rest = behind;
            }
            '"' => rest = in_quotes(after, word.get_or_insert_default())?,
            '\\' => {
                let mut chars = after.chars();
                let escaped = chars.next().map(String::from).unwrap_or_default();
                word.get_or_insert_default().push(Piece::Text(escaped));
                rest = chars.as_str();
            }
            '$' | '`' => rest = substitution(rest, false, word.get_or_insert_default())?,
            // `2>&1` and `&>` redirect the output, and do not end the command.
            '>' | '<' => {
                rest = after.strip_prefix('&').unwrap_or(after);
                word.get_or_insert_default().push(Piece::Text(c.into()));
            }
            '&' if after.starts_with('>') => rest = after,
            ';' | '&' | '|' | '(' | ')' => {
                commands.last_mut()?.extend(word.take());
                commands.push(Vec::new());
                rest = after;
            }
            c if c.is_whitespace() => {
                commands.last_mut()?.extend(word.take());
                rest = after;
            }
            c => {
                match word.get_or_insert_default().last_mut() {
                    Some(Piece::Text(text)) => text.push(c),
                    _ => word.get_or_insert_default().push(Piece::Text(c.into())),
                }
                rest = after;
            }
        }
    }
    commands.last_mut()?.extend(word);
    Some(commands)
}

/// Reads text in double quotes, up to the closing quote. Returns the text after the quote. Returns
/// `None` if the text lacks the closing quote.
fn in_quotes<'a>(text: &'a str, word: &mut Vec<Piece>) -> Option<&'a str> {
    let mut plain = String::new();
    let mut rest = text;
    loop {
        let c = rest.chars().next()?;
        let after = &rest[c.len_utf8()..];
        match c {
            '"' => {
                word.push(Piece::Text(plain));
                return Some(after);
            }
            '\\' if after.starts_with(['$', '`', '"', '\\']) => {
                plain += &after[..1];
                rest = &after[1..];
            }
            '$' | '`' => {
                word.push(Piece::Text(std::mem::take(&mut plain)));
                rest = substitution(rest, true, word)?;
            }
            c => {
                plain.push(c);
                rest = after;
            }
        }
    }
}

/// Reads `$NAME`, `${NAME}`, `$(command)` or a command in backquotes. Returns the text after it, or
/// `None` if its end is missing.
fn substitution<'a>(text: &'a str, is_quoted: bool, word: &mut Vec<Piece>) -> Option<&'a str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (end, name) = if let Some(command) = text.strip_prefix('`') {
        (command.find('`')? + 2, None)
    } else if text.starts_with("$(") {
        let mut depth = 0;
        let closing = text.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            *c == ')' && depth == 0
        });
        (closing?.0 + 1, None)
    } else if text.starts_with("${") {
        let end = text.find('}')?;
        let name = &text[2..end];
        (
            end + 1,
            Some(name).filter(|name| name.bytes().all(|byte| is_part(&byte))),
        )
    } else {
        let length = text.bytes().skip(1).take_while(is_part).count();
        (
            length + 1,
            Some(&text[1..=length]).filter(|name| !name.is_empty()),
        )
    };
    let written = text[..end].to_owned();
    word.push(match name {
        Some(name) => Piece::Variable {
            name: name.to_owned(),
            written,
            is_quoted,
        },
        None => Piece::Text(written),
    });
    Some(&text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Script {
        Script::read(text, BTreeMap::new())
    }

    #[test]
    fn commands_are_split_and_unquoted_as_by_the_shell() {
        for (text, commands) in [
            ("a b # c\n# d 'e", "a b"),
            ("a \\\n  b\nc", "a b|c"),
            ("[ -x a ] && exec b; c", "[ -x a ]|exec b|c"),
            ("if ! a > x 2>&1; then b & fi", "a > x 2>1|b|fi"),
            ("a 'b $X' \"c\\$\\\"\" d\\ e", "a b $X c$\" d e"),
            (
                "X=1 Y=\"2 3\"; a $X \"$Y\" $Y ${Z} $(b; c)",
                "a 1 2 3 2 3 ${Z} $(b; c)",
            ),
            ("(a)|b", "a|b"),
        ] {
            let found = read(text).commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>();
            assert_eq!(found.join("|"), commands, "{text}");
        }
        let words = &read("X='-a  -b'\nc $X \"$X\"").commands[0];
        assert_eq!(words[..], ["c", "-a", "-b", "-a  -b"]);
    }

    #[test]
    fn variables_have_their_last_value() {
        let script = read("A=1\nexport B=\"$A x\"\nB+=\" y\"\nA=2; readonly C=$A$D\nE=it's");
        let value = |name: &str| script.variables.get(name).map(String::as_str);
        assert_eq!((value("A"), value("B")), (Some("2"), Some("1 x y")));
        assert_eq!((value("C"), value("E")), (Some("2$D"), None));
        assert_eq!(
            script.unread,
            [(5, "has an open quote", "E=it's".to_owned())]
        );
    }

    #[test]
    fn values_that_grow_without_end_are_omitted() {
        let doubled = "A=$A$A\n".repeat(24);
        let script = read(&format!("A=word\n{doubled}b $A; d\nA=1; c $A"));
        assert!(script.variables["A"].len() <= EXPANDED_BYTES_MAX);
        let why = "has a command with too long values of variables";
        assert_eq!(script.unread[0], (23, why, "A=$A$A".to_owned()));
        // The other commands of a line remain.
        assert!(script.commands.contains(&vec!["d".to_owned()]));
        assert_eq!(
            script.commands.last(),
            Some(&vec!["c".to_owned(), "1".to_owned()])
        );
        // The cost of a keyword, and of an addition to a value, must not depend on its position in
        // the script.
        let long = format!("{} d\n{}", "if ".repeat(200_000), "B+=x\n".repeat(200_000));
        let script = read(&long);
        assert_eq!(script.commands, [["d".to_owned()]]);
        assert_eq!(script.variables["B"].len(), 200_000);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[aµ =$(){}`'\"\\\\;&|>#\n]{0,40}") {
            read(&text);
        }
    }
}
