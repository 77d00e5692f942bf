//! Builds the study that confirms a screening. Its text is that of the screening, with a matrix
//! instead of `screen`.
//!
//! The rest of the text does not change. The text is edited line by line, which may produce a
//! mistake. The result is resolved like any other study, so resolving reports such a mistake.

/// Returns the text of the study that confirms a screening. `-confirm` is appended to the name of
/// the study. `matrix` contains the lines of the keys `matrix` and `repeat`, which replace `screen`
/// and `repeat`. `settings` are the settings in the matrix. A scale keeps only the keys for these
/// settings.
///
/// # Errors
/// No line begins with `screen`. The error is a sentence.
pub fn confirming(text: &str, matrix: &str, settings: &[String]) -> Result<String, String> {
    let mut made = String::new();
    let mut key = "";
    let mut is_there = false;
    for line in text.split_inclusive('\n') {
        let begins = key_of(line);
        key = begins.unwrap_or(key);
        match (key, begins) {
            ("screen", Some(_)) => {
                made += matrix;
                is_there = true;
            }
            ("screen" | "repeat", _) => {}
            ("study", Some(_)) => made += &renamed(line),
            ("scales", None) => made += &scaled(line, settings).unwrap_or_default(),
            _ => made += line,
        }
    }
    if is_there {
        Ok(made)
    } else {
        Err(
            "cassay can replace the key `screen` of the study only at the beginning of a line: \
             replace it with the `matrix` from the report"
                .to_owned(),
        )
    }
}

/// Returns the top-level key with which a line begins. `None` for other lines.
fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(':')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

fn renamed(line: &str) -> String {
    let (key, name) = line.split_once(':').unwrap_or((line, ""));
    let name = name.split_whitespace().next().unwrap_or_default();
    format!("{key}: {}-confirm\n", name.trim_matches(['"', '\'']))
}

/// Converts a line in the section of scales for the confirming study. `None` if the line belongs to
/// a setting that the confirming study does not contain.
fn scaled(line: &str, settings: &[String]) -> Option<String> {
    let path = line.trim_start();
    let Some(rest) = path.strip_prefix("screen.") else {
        return Some(line.to_owned());
    };
    let rest = rest.strip_prefix("settings.")?;
    let name = rest.split(['.', ':']).next().unwrap_or_default();
    let indent = &line[..line.len() - path.len()];
    let is_kept = settings.iter().any(|setting| setting == name);
    is_kept.then(|| format!("{indent}matrix.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREENING: &str = "\
# Which of them?
study: \"which\" # one of ours
question: Which?
screen:
  fold: true
  settings: # far apart
    heap: {small: {}, large: {target: {local: {heap: 8GiB}}}}
# until here
repeat: {order: sequential}
window: {measure: 1s}
scales:
  laptop:
    window.measure: 500ms
    screen.fold: false
    screen.settings.heap.large.target.local.heap: 1GiB
    screen.settings.writers.many.target.local.heap: 1GiB
";

    #[test]
    fn only_what_has_to_change_changes() {
        let matrix = "matrix:\n  heap: {}\nrepeat: {blocks: 5}\n";
        let made = confirming(SCREENING, matrix, &["heap".to_owned()]);
        let wanted = "\
# Which of them?
study: which-confirm
question: Which?
matrix:
  heap: {}
repeat: {blocks: 5}
window: {measure: 1s}
scales:
  laptop:
    window.measure: 500ms
    matrix.heap.large.target.local.heap: 1GiB
";
        assert_eq!(made.as_deref(), Ok(wanted));
    }

    #[test]
    fn a_screening_in_one_line_is_refused_with_a_text_to_paste() {
        let said = confirming("{study: s, screen: {settings: {}}}\n", "matrix: {}\n", &[]);
        assert!(said.unwrap_err().contains("replace it with the"));
    }
}
