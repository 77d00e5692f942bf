//! Removes comments from the files that a study names: workloads, profiles and property files.

/// Removes the comments of a text in YAML, CQL or the format of property files. A `#` begins a
/// comment at the beginning of a line or after a blank, but not within quotes.
pub fn remove_comments(text: &str) -> String {
    let kept: Vec<&str> = text.lines().map(without_comment).collect();
    let mut out = String::with_capacity(text.len());
    for (line, original) in kept.iter().zip(text.lines()) {
        // A line that had only a comment disappears, and empty lines remain.
        if !line.is_empty() || original.trim().is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn without_comment(line: &str) -> &str {
    let start = line.trim_start();
    if ["--", "//"].iter().any(|mark| start.starts_with(mark)) && !start.starts_with("---") {
        return "";
    }
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_whitespace() => return line[..at].trim_end(),
            // An apostrophe within a word begins no quote.
            None if (c == '"' || c == '\'') && !before.is_alphanumeric() => quote = Some(c),
            None => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_values_with_marks_stay() {
        let text = "# by Ann\nrate: 5 # see Bob\n\nname: 'a # b'\nurl: x#y\n-- old\n--- \n  // x\n\
                    it's: 1 # Carl\n";
        assert_eq!(
            remove_comments(text),
            "rate: 5\n\nname: 'a # b'\nurl: x#y\n--- \nit's: 1\n"
        );
    }
}
