//! Formats texts for YAML, and for expressions of a workload file.

/// Puts a text in double quotes, with YAML's escapes.
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

/// Puts a text in the single quotes of an expression.
pub(super) fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Formats a CQL statement as an entry of a YAML list or mapping. The statement follows after `|`
/// on separate lines, indented by `indent` blanks.
pub(super) fn block(cql: &str, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let lines: Vec<String> = cql.lines().map(|line| format!("{blanks}{line}")).collect();
    format!("|\n{}", lines.join("\n"))
}
