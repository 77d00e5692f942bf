//! Reads the tables of lscpu that are not JSON: `lscpu -e`, whose columns are separated by blanks,
//! and `lscpu -p`, whose columns are separated by commas. Their rows become rows of JSON.

use serde_json::{Map, Value};

/// Returns true if a text is a table of `lscpu -e` or `lscpu -p`. The names of the columns are the
/// same in all languages.
pub(crate) fn looks_like_it(text: &str) -> bool {
    header(text).is_some()
}

/// Returns the names of the columns, and the separator of the columns. `lscpu -p` writes the names
/// in a comment. Returns `None` if the text is not a table of lscpu.
fn header(text: &str) -> Option<(Vec<&str>, Option<char>)> {
    let first = text.lines().next()?;
    if first.starts_with("CPU ") && text.lines().count() > 1 {
        return Some((first.split_whitespace().collect(), None));
    }
    let mut comments = text.lines().take_while(|line| line.starts_with('#'));
    let names = comments.find_map(|line| line.strip_prefix("# CPU,"))?;
    let names = std::iter::once("CPU").chain(names.split(',').map(str::trim));
    Some((names.collect(), Some(',')))
}

pub(super) fn rows(text: &str) -> Result<Vec<Value>, String> {
    let (names, separator) = header(text).ok_or("the text is not a table of lscpu")?;
    let is_row = |line: &&str| !line.trim().is_empty() && !line.starts_with(['#', 'C']);
    let rows = text.lines().filter(is_row).map(|line| {
        let values: Vec<&str> = match separator {
            Some(separator) => line.split(separator).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        if values.len() != names.len() {
            return Err(format!(
                "the row {line:?} has {} columns instead of {}",
                values.len(),
                names.len()
            ));
        }
        Ok(row(&names, &values))
    });
    rows.collect()
}

/// Returns a row as an object. `lscpu -p` has one column for each cache, and an unnamed column
/// before them.
fn row(names: &[&str], values: &[&str]) -> Value {
    let cells = names
        .iter()
        .zip(values)
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, value)| (name.to_lowercase(), Value::from(*value)));
    Value::Object(cells.collect::<Map<String, Value>>())
}
