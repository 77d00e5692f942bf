//! Template parameters in the text of a workload file: `<<name:default>>` and
//! `TEMPLATE(name,default)`, one within another, replaced before the YAML is read.

/// Parameters within parameters, at most: more is a parameter within itself.
const ROUNDS_MAX: usize = 16;

/// Replaces all parameters by `value`'s text or else their default. Lines stay where they are.
pub(crate) fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..ROUNDS_MAX {
        let (expanded, found) = round(&text, value);
        text = expanded;
        if !found {
            break;
        }
    }
    text
}

/// Replaces the innermost parameters; whether there were any.
fn round(text: &str, value: &dyn Fn(&str) -> Option<String>) -> (String, bool) {
    const OPEN: &str = "TEMPLATE(";
    let (mut out, mut rest, mut found) = (String::with_capacity(text.len()), text, false);
    loop {
        let call = rest.find(OPEN);
        let angle = rest.find("<<");
        let (at, is_call) = match (call, angle) {
            (Some(call), Some(angle)) => (call.min(angle), call < angle),
            (Some(call), None) => (call, true),
            (None, Some(angle)) => (angle, false),
            (None, None) => break,
        };
        let opened = &rest[at + if is_call { OPEN.len() } else { 2 }..];
        let closed = if is_call {
            parenthesis(opened)
        } else {
            angles(opened)
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
        match value(name) {
            Some(value) => out.push_str(&value),
            None => out.push_str(
                default
                    .map_or_else(|| format!("UNSET:{name}"), str::to_owned)
                    .as_str(),
            ),
        }
        (rest, found) = (after, true);
    }
    out.push_str(rest);
    (out, found)
}

/// What stands before the parenthesis that closes, and behind it.
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

/// As [`parenthesis`], to `>>`; YAML's merge key `<<:` is none of it.
fn angles(text: &str) -> Option<(&str, &str)> {
    let inner = &text[..text.find(">>")?];
    let named = inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (named && !inner.contains('\n')).then(|| (inner, &text[inner.len() + 2..]))
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
            ("  <<: *anchor\n<<b:2>>", "  <<: *anchor\n2"),
        ] {
            assert_eq!(expand(text, &value), expected, "{text}");
        }
    }

    #[test]
    fn a_parameter_within_itself_ends() {
        let value = |_: &str| Some("<<a>>".to_owned());
        assert_eq!(expand("<<a>>", &value), "<<a>>");
    }
}
