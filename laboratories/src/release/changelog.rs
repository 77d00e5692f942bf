//! Adds the section of a release to the changelog, with the changes since the last release.

use super::version::Version;
use std::fmt::Write;
use xtask::changes::Section;

/// Returns the changelog with a section for this version and date (`2026-11-26`), above the
/// sections of earlier releases.
///
/// # Errors
/// `sections` is empty.
pub fn with_release(
    text: &str,
    sections: &[Section],
    version: Version,
    date: &str,
) -> Result<String, String> {
    if sections.is_empty() {
        return Err(
            "changes/ contains no change; hint: describe a change for users, as changes/README.md \
             explains"
                .to_owned(),
        );
    }
    let mut section = format!("## {version}, {date}\n");
    for Section { heading, changes } in sections {
        let _ = writeln!(section, "\n### {heading}\n");
        for change in changes {
            let _ = writeln!(section, "- {change}");
        }
    }
    let earlier = text.find("\n## ").map_or(text.len(), |newline| newline + 1);
    let (head, earlier) = text.split_at(earlier);
    let head = head.trim_end();
    Ok(if earlier.is_empty() {
        format!("{head}\n\n{section}")
    } else {
        format!("{head}\n\n{section}\n{earlier}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(heading: &'static str, changes: &[&str]) -> Section {
        Section {
            heading,
            changes: changes.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    fn release(text: &str, sections: &[Section]) -> Result<String, String> {
        with_release(text, sections, "0.2.0".parse().unwrap(), "2026-11-26")
    }

    #[test]
    fn a_section_is_added_above_earlier_releases() {
        let sections = [
            section("New", &["**A.** One.", "**B.**"]),
            section("Fixed", &["**C.**"]),
        ];
        let added = "## 0.2.0, 2026-11-26\n\n### New\n\n- **A.** One.\n- **B.**\n\n### Fixed\n\n\
                     - **C.**\n";
        let head = "# Changelog\n\nReleases.\n";
        assert_eq!(
            release(head, &sections).unwrap(),
            format!("{head}\n{added}")
        );
        let earlier = "## 0.1.0, 2026-01-01\n\n- Old.\n";
        assert_eq!(
            release(&format!("{head}\n{earlier}"), &sections).unwrap(),
            format!("{head}\n{added}\n{earlier}")
        );
    }

    #[test]
    fn a_release_without_changes_is_refused() {
        let said = release("# Changelog\n", &[]).unwrap_err();
        assert!(said.contains("changes/README.md"), "{said}");
    }
}
