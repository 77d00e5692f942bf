//! Replaces template parameters in the text of a workload file: `<<name:default>>`,
//! `${name:default}` and `TEMPLATE(name,default)`. Parameters may be nested. The replacement comes
//! before the YAML is parsed.

use std::collections::BTreeSet;

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

/// Texts with which a parameter begins.
const OPENINGS: [&str; 3] = ["TEMPLATE(", "<<", "${"];

/// Replaces the innermost parameters. Also returns true if the text contained any parameter.
fn round(
    text: &str,
    value: &dyn Fn(&str) -> Option<String>,
    names: &mut BTreeSet<String>,
) -> (String, bool) {
    let (mut out, mut rest, mut found) = (String::with_capacity(text.len()), text, false);
    loop {
        let begins = |opening: &'static str| Some((rest.find(opening)?, opening));
        let Some((at, opening)) = OPENINGS.into_iter().filter_map(begins).min() else {
            break;
        };
        let opened = &rest[at + opening.len()..];
        let closed = match opening {
            "<<" => enclosed(opened, ">>"),
            "${" => enclosed(opened, "}"),
            _ => parenthesis(opened),
        };
        let Some((inner, after)) = closed else {
            let skipped = rest.len() - opened.len();
            out.push_str(&rest[..skipped]);
            rest = opened;
            continue;
        };
        let (name, default) = match inner.split_once([',', ':']) {
            Some((name, default)) => (name.trim(), Some(default)),
            None => (inner.trim(), None),
        };
        out.push_str(&rest[..at]);
        match (value(name), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => {
                out.push_str("UNSET:");
                out.push_str(name);
            }
        }
        names.insert(name.to_owned());
        (rest, found) = (after, true);
    }
    out.push_str(rest);
    (out, found)
}

/// Returns the text before the closing parenthesis, and the text after it.
fn parenthesis(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            ')' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// Returns the text before the closing text `end`, and the text after it, like [`parenthesis`].
/// YAML's merge key `<<:` is not a parameter.
fn enclosed<'a>(text: &'a str, end: &str) -> Option<(&'a str, &'a str)> {
    let inner = &text[..text.find(end)?];
    let named = inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (named && !inner.contains('\n')).then(|| (inner, &text[inner.len() + end.len()..]))
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

    #[test]
    fn a_parameter_within_itself_ends() {
        let value = |_: &str| Some("<<a>>".to_owned());
        let (text, names) = expand("<<a>>", &value);
        assert_eq!((text.as_str(), names.len()), ("<<a>>", 1));
    }
}
