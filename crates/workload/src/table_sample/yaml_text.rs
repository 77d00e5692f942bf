//! Texts as YAML and as expressions of a workload file have them.

/// A text in YAML's double quotes, whatever it holds.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            c if c.is_control() => out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A text in the single quotes of an expression.
pub(super) fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A CQL statement as an entry of a list or mapping: behind `|`, on a line of its own, indented by
/// so many blanks.
pub(super) fn block(cql: &str, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let lines: Vec<String> = cql.lines().map(|line| format!("{blanks}{line}")).collect();
    format!("|\n{}", lines.join("\n"))
}
