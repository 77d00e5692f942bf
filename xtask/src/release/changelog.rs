//! Dates the changelog's newest section, which describes the release.

use super::version::Version;

/// End of the heading of an unreleased section.
const UNRELEASED: &str = ", unreleased";

/// Returns the changelog with version and date (`2026-11-26`) in the heading of its newest section.
///
/// # Errors
/// The newest section is already released, or is empty.
pub fn dated(text: &str, version: Version, date: &str) -> Result<String, String> {
    let mut headings = text.split_inclusive('\n').scan(0, |offset, line| {
        let start = *offset;
        *offset += line.len();
        Some((start, line))
    });
    let mut headings = headings.by_ref().filter(|(_, line)| line.starts_with("## "));
    let (start, line) = headings.next().ok_or("CHANGELOG.md has no section")?;
    let heading = line.trim_end();
    if !heading.ends_with(UNRELEASED) {
        return Err(format!(
            "the newest section of CHANGELOG.md is `{heading}`; hint: write what is new in one \
             above it, `## {version}{UNRELEASED}`"
        ));
    }
    let end = headings.next().map_or(text.len(), |(start, _)| start);
    if text[start + line.len()..end].trim().is_empty() {
        return Err(format!(
            "the section `{heading}` of CHANGELOG.md is empty; hint: write what changed for \
             somebody who uses cassay"
        ));
    }
    let rest = &text[start + heading.len()..];
    Ok(format!("{}## {version}, {date}{rest}", &text[..start]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Result<String, String> {
        dated(text, "0.2.0".parse().unwrap(), "2026-11-26")
    }

    #[test]
    fn the_newest_section_gets_a_version_and_date_and_nothing_else() {
        let text =
            "# Changelog\n\n## 0.1.0, unreleased\n\n- One.\n\n## 0.0.9, unreleased\n\n- Old.\n";
        let expected =
            "# Changelog\n\n## 0.2.0, 2026-11-26\n\n- One.\n\n## 0.0.9, unreleased\n\n- Old.\n";
        assert_eq!(at(text).unwrap(), expected);
    }

    #[test]
    fn what_is_released_or_says_nothing_is_refused_with_what_to_do() {
        let cases = [
            ("# Changelog\n", "no section"),
            (
                "# C\n\n## 0.1.0, 2026-01-01\n\n- One.\n",
                "`## 0.2.0, unreleased`",
            ),
            (
                "# C\n\n## 0.2.0, unreleased\n\n## 0.1.0, 2026-01-01\n\n- One.\n",
                "is empty",
            ),
            ("# C\n\n## 0.2.0, unreleased", "is empty"),
        ];
        for (text, expected) in cases {
            let said = at(text).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }
}
