//! Replaces template parameters in the text of a workload file: `<<name:default>>`,
//! `${name:default}` and `TEMPLATE(name,default)`. Parameters may be nested. The replacement comes
//! before the YAML is parsed.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum nesting of parameters. If the nesting is deeper, a parameter contains itself.
const ROUNDS_MAX: usize = 16;

/// Replaces each parameter with the text from `value`. If `value` returns no text, uses the
/// parameter's default. Does not change line numbers. Also returns the names of all parameters.
pub(crate) fn expand(
    text: &str,
    value: &dyn Fn(&str) -> Option<String>,
) -> (String, BTreeSet<String>) {
    let (mut text, mut names) = (text.to_owned(), BTreeSet::new());
    for _ in 0..ROUNDS_MAX {
        let (expanded, found) = round(&text, value, &mut names);
        text = expanded;
        if !found {
            break;
        }
    }
    (text, names)
}

/// Opening and closing texts of a parameter.
const FORMS: [(&str, &str); 3] = [("TEMPLATE(", ")"), ("<<", ">>"), ("${", "}")];

/// Occurrences of a text, for positions that only increase. The searches of all positions together
/// read the whole text once.
struct Occurrences<'t> {
    text: &'t str,
    pattern: &'static str,
    next: Option<usize>,
}

impl<'t> Occurrences<'t> {
    fn new(text: &'t str, pattern: &'static str) -> Occurrences<'t> {
        Occurrences {
            text,
            pattern,
            next: text.find(pattern),
        }
    }

    /// Returns the first occurrence at or after a position, in bytes.
    fn from(&mut self, position: usize) -> Option<usize> {
        if self.next? < position {
            self.next = self.text[position..].find(self.pattern).map(|at| position + at);
        }
        self.next
    }
}

/// Replaces the innermost parameters. Also returns true if the text contained any parameter.
fn round(
    text: &str,
    value: &dyn Fn(&str) -> Option<String>,
    names: &mut BTreeSet<String>,
) -> (String, bool) {
    let mut forms = FORMS.map(|(open, close)| {
        let [opening, closing] = [open, close].map(|pattern| Occurrences::new(text, pattern));
        (opening, closing)
    });
    let mut line_ends = Occurrences::new(text, "\n");
    let parentheses = parentheses(text);
    let (mut out, mut from, mut found) = (String::with_capacity(text.len()), 0, false);
    loop {
        let first = forms
            .iter_mut()
            .enumerate()
            .filter_map(|(form, (opening, _))| Some((opening.from(from)?, form)))
            .min();
        let Some((at, form)) = first else {
            break;
        };
        let (opening, closing) = &mut forms[form];
        let begin = at + opening.pattern.len();
        let end = if closing.pattern == ")" {
            parentheses.get(&(begin - 1)).copied()
        } else {
            // YAML's merge key `<<:` is not a parameter.
            let is_named = text[begin..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let line_end = line_ends.from(begin).unwrap_or(text.len());
            closing.from(begin).filter(|end| is_named && *end < line_end)
        };
        let Some(end) = end else {
            out.push_str(&text[from..begin]);
            from = begin;
            continue;
        };
        let inner = &text[begin..end];
        let (name, default) = match inner.split_once([',', ':']) {
            Some((name, default)) => (name.trim(), Some(default)),
            None => (inner.trim(), None),
        };
        out.push_str(&text[from..at]);
        match (value(name), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => {
                out.push_str("UNSET:");
                out.push_str(name);
            }
        }
        names.insert(name.to_owned());
        (from, found) = (end + closing.pattern.len(), true);
    }
    out.push_str(&text[from..]);
    (out, found)
}

/// Returns the position of the closing parenthesis of each parameter in parentheses, by the
/// position of its opening parenthesis. Omits parameters that do not end in their line.
fn parentheses(text: &str) -> BTreeMap<usize, usize> {
    let (mut pairs, mut open) = (BTreeMap::new(), Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open.push(at),
            b')' => {
                let begins = |opened: &usize| text[..=*opened].ends_with(FORMS[0].0);
                pairs.extend(open.pop().filter(begins).map(|opened| (opened, at)));
            }
            b'\n' => open.clear(),
            _ => {}
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn parameters_take_the_given_value_or_their_default() {
        let value = |name: &str| (name == "a").then(|| "5".to_owned());
        for (text, expected) in [
            ("<<a:1>> <<b:x->int>>", "5 x->int"),
            ("TEMPLATE(b,U(0,9)) TEMPLATE(a:7)", "U(0,9) 5"),
            ("TEMPLATE(c,TEMPLATE(a,1))", "5"),
            ("1TEMPLATE(z,)", "1"),
            ("TEMPLATE(q)", "UNSET:q"),
            ("${a:1} ${c:x} $5 ${}", "5 x $5 ${}"),
            ("  <<: *anchor\n<<b:2>>", "  <<: *anchor\n2"),
        ] {
            assert_eq!(expand(text, &value).0, expected, "{text}");
        }
    }

    /// An earlier version took quadratic time for the texts of this test.
    #[test]
    fn many_beginnings_of_parameters_take_linear_time() {
        for text in ["a=${a}${a}\n", "<<a", "TEMPLATE(a", "${a"] {
            let long = text.repeat(300_000);
            let (expanded, _) = expand(&long, &|_| Some("5".to_owned()));
            assert!(expanded.len() <= long.len(), "{text}");
        }
    }

    #[test]
    fn a_default_may_have_any_length() {
        let long = "x".repeat(1_000_000);
        for text in [format!("<<a:{long}>>"), format!("TEMPLATE(a,{long})")] {
            assert!(expand(&text, &|_| None).0 == long, "{:.20}", text);
        }
    }

    #[test]
    fn a_parameter_within_itself_ends() {
        let value = |_: &str| Some("<<a>>".to_owned());
        let (text, names) = expand("<<a>>", &value);
        assert_eq!((text.as_str(), names.len()), ("<<a>>", 1));
    }
}
