//! Parameters of a command or an option. One table of known parameters serves for parsing,
//! suggestions and explanations.
//!
//! The parser reports every mistake at its position in the command line. It continues after a
//! mistake, so that the user sees all mistakes at once. Messages never quote the value of a secret.

use yaml::{Diagnostics, Place};

use super::argument_split::Word;
use super::argument_values::{self, WrittenDistribution};
use super::tables::{COMMON, MIXED, USER};

#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownParam {
    /// Text of the parameter up to its value, such as `n=`, `threads>=` or `ratio(`. For a flag,
    /// the complete text.
    pub(crate) form: &'static str,
    /// Bits of the option's alternatives in which the parameter may occur.
    pub(crate) groups: u8,
    /// Default value. It is empty if the parameter has no default.
    pub(crate) default: &'static str,
    /// Description for `help`, on one line.
    pub(crate) about: &'static str,
}

pub(crate) const fn new(
    form: &'static str,
    groups: u8,
    default: &'static str,
    about: &'static str,
) -> KnownParam {
    KnownParam {
        form,
        groups,
        default,
        about,
    }
}

#[derive(Clone)]
struct GivenParam {
    known: KnownParam,
    value: String,
    place: Place,
    value_place: Place,
}

/// The parameters that a command line states for one command or option.
pub(crate) struct Params<'a> {
    /// Name of the command or option, for messages.
    pub(crate) owner: &'a str,
    pub(crate) place: Place,
    given: Vec<GivenParam>,
    /// Words that match no form of the table, with their positions. The list is empty unless the
    /// option accepts such words.
    pub(crate) free: Vec<(String, Place)>,
    /// Bits of the option's alternatives that are compatible with all given parameters.
    pub(crate) groups: u8,
}

impl Params<'_> {
    /// Parses the words after `owner`. If `takes_free` is true, the option also accepts other words
    /// that contain no `=`.
    pub(crate) fn read<'a>(
        owner: &'a str,
        place: Place,
        words: &[Word],
        table: &[KnownParam],
        takes_free: bool,
        diagnostics: &mut Diagnostics,
    ) -> Params<'a> {
        let mut params = Params {
            owner,
            place,
            given: Vec::new(),
            free: Vec::new(),
            groups: u8::MAX,
        };
        for word in words {
            match table
                .iter()
                .filter(|known| fits(known.form, &word.text))
                .max_by_key(|known| known.form.len())
            {
                Some(known) => params.take(*known, word, diagnostics),
                None if takes_free && !word.text.contains('=') => {
                    params.free.push((word.text.clone(), word.place()));
                }
                None => unknown(owner, word, table, diagnostics),
            }
        }
        params
    }

    fn take(&mut self, known: KnownParam, word: &Word, diagnostics: &mut Diagnostics) {
        let owner = self.owner;
        let name = name(known.form);
        if self.given.iter().any(|given| given.known.form == known.form) {
            let message = format!("`{owner}` has `{name}` a second time");
            diagnostics.add(
                &word.place(),
                message,
                Some("remove one of the two options".to_owned()),
            );
            return;
        }
        if self.groups & known.groups == 0 {
            let other = self
                .given
                .iter()
                .find(|given| given.known.groups & known.groups == 0)
                .map_or("what precedes it", |given| given.known.form);
            let message = format!(
                "`{}` and `{other}` of `{owner}` exclude each other",
                known.form
            );
            diagnostics.add(
                &word.place(),
                message,
                Some("remove one of the two options".to_owned()),
            );
            return;
        }
        self.groups &= known.groups;
        let closed = known.form.ends_with('(');
        let end = word.text.len() - usize::from(closed && word.text.ends_with(')'));
        if closed && end == word.text.len() {
            let message = format!("`{name}(` of `{owner}` is not closed");
            let hint = "write `)` at the end of the argument, and quote the argument for the shell"
                .to_owned();
            diagnostics.add(&word.place(), message, Some(hint));
            return;
        }
        let start = known.form.len();
        self.given.push(GivenParam {
            known,
            value: word.text[start..end].to_owned(),
            place: word.place(),
            value_place: word.part(start..end),
        });
    }

    fn find(&self, form: &str) -> Option<&GivenParam> {
        self.given.iter().find(|given| given.known.form == form)
    }

    pub(crate) fn has(&self, form: &str) -> bool {
        self.find(form).is_some()
    }

    /// Returns the position of a parameter. If the parameter is absent, returns the position of the
    /// option.
    pub(crate) fn place_of(&self, form: &str) -> Place {
        self.find(form).map_or(self.place.clone(), |given| given.place.clone())
    }

    pub(crate) fn text(&self, form: &str) -> Option<&str> {
        self.find(form).map(|given| given.value.as_str())
    }

    /// Parses the value of a parameter with `parse`. If `parse` fails, reports the mistake and
    /// treats the parameter as absent.
    pub(crate) fn value<T>(
        &self,
        form: &str,
        diagnostics: &mut Diagnostics,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let given = self.find(form)?;
        match parse(&given.value) {
            Ok(value) => Some(value),
            Err(problem) => {
                let message = format!("{}: {problem}", name(form));
                let default = given.known.default;
                let hint = (!default.is_empty()).then(|| format!("the default is {default}"));
                diagnostics.add(&given.value_place, message, hint);
                None
            }
        }
    }

    /// Returns the text of a distribution after checking it.
    pub(crate) fn distribution(
        &self,
        form: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<WrittenDistribution> {
        self.spelled(form, diagnostics, argument_values::distribution)
    }

    /// Returns the text of a ratio after checking it. A ratio is a distribution with a divisor.
    pub(crate) fn ratio(
        &self,
        form: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<WrittenDistribution> {
        self.spelled(form, diagnostics, argument_values::ratio_distribution)
    }

    fn spelled(
        &self,
        form: &str,
        diagnostics: &mut Diagnostics,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Option<WrittenDistribution> {
        self.value(form, diagnostics, |text| {
            check(text).map(|()| text.to_owned())
        })
        .map(|text| WrittenDistribution {
            text,
            place: self.find(form).map(|given| given.value_place.clone()).unwrap_or_default(),
        })
    }

    /// Returns the `name=value` pairs between the parentheses of a parameter.
    pub(crate) fn pairs(&self, form: &str, diagnostics: &mut Diagnostics) -> Option<Vec<Pair>> {
        let given = self.find(form)?;
        let mut pairs = Vec::new();
        let mut start = given.value_place.span.start;
        // If the line had spaces, their removal shifts the positions after them. The start of the
        // first pair is therefore exact, and the starts of the others are approximate.
        for part in given.value.split(',') {
            let place = Place {
                source: 0,
                span: start..(start + part.len()).min(given.value_place.span.end),
            };
            start = (start + part.len() + 1).min(given.value_place.span.end);
            match part.split_once('=') {
                Some((name, value)) if !name.is_empty() && !value.is_empty() => pairs.push(Pair {
                    name: name.to_owned(),
                    value: value.to_owned(),
                    place,
                }),
                _ => {
                    let message =
                        format!("`{part}` in `{form}…)` does not have the form name=value");
                    let hint = format!("write the parameters as {form}name=value,name=value)");
                    diagnostics.add(&place, message, Some(hint));
                }
            }
        }
        Some(pairs)
    }
}

/// A pair `name=value` in the parentheses of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) place: Place,
}

fn fits(form: &str, word: &str) -> bool {
    if !form.ends_with(['=', '(', '<', '>']) {
        return word.eq_ignore_ascii_case(form);
    }
    let start = word.as_bytes().get(..form.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(form.as_bytes()))
}

/// Returns the name of a parameter for messages. This is the form of the parameter without the sign
/// at the end.
pub(crate) fn name(form: &str) -> &str {
    form.trim_end_matches(['=', '('])
}

/// Returns true if a word after an option is a parameter of a command.
fn is_command_parameter(option: &str, word: &str) -> bool {
    let commands = [&COMMON[..], &MIXED, &USER];
    option.starts_with('-')
        && commands.iter().any(|table| table.iter().any(|known| fits(known.form, word)))
}

fn unknown(owner: &str, word: &Word, table: &[KnownParam], diagnostics: &mut Diagnostics) {
    // The message quotes only the name, because the value may be a secret whose name is misspelt.
    let key = word.key();
    let signs = ['=', '(', '<', '>'];
    let same = |known: &&KnownParam| known.form.trim_end_matches(signs).eq_ignore_ascii_case(key);
    let written = |known: &KnownParam| {
        if known.form.ends_with(signs) {
            format!("`{}…`", known.form)
        } else {
            format!("`{}`", known.form)
        }
    };
    let forms: Vec<String> = table.iter().filter(same).map(written).collect();
    let (message, hint) = if forms.is_empty() {
        (
            format!("`{owner}` has no parameter `{key}`"),
            if is_command_parameter(owner, &word.text) {
                Some(format!(
                    "`{key}` belongs to the command: write it before the first option"
                ))
            } else {
                yaml::did_you_mean(key, table.iter().map(|known| name(known.form)))
            },
        )
    } else {
        (
            format!("`{key}` of `{owner}` does not have the required form"),
            Some(format!("write {}", forms.join(" or "))),
        )
    };
    diagnostics.add(&word.place(), message, hint);
}
