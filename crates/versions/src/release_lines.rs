//! All release lines, and the function that finds the line of a version.

use crate::line::Line;
use crate::{v4_0, v4_1, v5_0, v6_0};

/// All lines. The oldest line comes first.
pub static LINES: [&Line; 4] = [&v4_0::LINE, &v4_1::LINE, &v5_0::LINE, &v6_0::LINE];

/// Default line, which is the newest line that is not a preview.
pub static DEFAULT: &Line = &v5_0::LINE;

impl Line {
    /// Returns the line to which a version belongs. The version may be, for example, `5.0.8`,
    /// `6.0-alpha2` or only `4.1`. Returns `None` for an unknown line.
    pub fn find(version: &str) -> Option<&'static Line> {
        let is_of = |line: &&&Line| {
            let rest = version.strip_prefix(line.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
        };
        LINES.iter().find(is_of).copied()
    }

    /// Returns the position of the line among all lines. The oldest line has position 0, and newer
    /// lines have higher positions.
    pub fn age(&self) -> usize {
        LINES.iter().position(|line| line.name == self.name).unwrap_or_default()
    }
}

/// Formats the names of all lines for sentences, such as `4.0, 4.1, 5.0 and 6.0`.
pub fn names() -> String {
    joined(&LINES.map(|line| line.name))
}

/// Joins names for a sentence, such as `4.0, 4.1 and 5.0`.
pub(crate) fn joined(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{POM, POM_VERSION};

    #[test]
    fn a_version_is_of_the_line_whose_number_it_begins_with() {
        let name = |version: &str| Line::find(version).map(|line| line.name);
        assert_eq!(name("4.1"), Some("4.1"));
        assert_eq!(name("4.1.10"), Some("4.1"));
        assert_eq!(name("6.0-alpha2"), Some("6.0"));
        for other in ["4.10.1", "3.11.19", "5.00", "15.0.1", ""] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(names(), "4.0, 4.1, 5.0 and 6.0");
        assert!(
            LINES
                .iter()
                .all(|line| Line::find(line.pinned).is_some_and(|own| own.name == line.name))
        );
    }

    #[test]
    fn files_of_a_later_line_are_not_read() {
        let reads = |name: &str, letters: &str| Line::find(name).unwrap().formats.reads(letters);
        for (line, read, not) in [
            ("4.0", &["ma", "nb"][..], &["oa", "da", "la"][..]),
            ("5.0", &["nb", "oa", "da"], &["pa", "ea"]),
            ("6.0", &["nb", "oa", "pa", "da", "ea"], &["qa", "fa"]),
        ] {
            assert!(read.iter().all(|letters| reads(line, letters)), "{line}");
            assert!(!not.iter().any(|letters| reads(line, letters)), "{line}");
        }
        assert_eq!(
            Line::find("6.0").unwrap().formats.describe(),
            "ma to pa, and da to ea"
        );
        assert_eq!(Line::find("4.1").unwrap().formats.describe(), "ma to nb");
    }

    #[test]
    fn every_line_has_a_lock_of_its_own_release_and_settings() {
        for line in LINES {
            let server = format!("cassandra-all-{}.jar", line.pinned);
            assert!(line.lock.contains(&server), "{}", line.name);
            assert!(line.has_setting("cluster_name") && line.has_setting("num_tokens"));
            assert!(line.java_seen.contains(&17), "{}", line.name);
        }
        assert!(POM.contains(POM_VERSION));
    }
}
