//! Parses a requested version, and determines the release that it names.

use crate::line::Line;
use crate::release_lines::{DEFAULT, names};
use std::fmt;

/// A release of Cassandra that belongs to a known line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    version: String,
}

/// Error for a text that does not name a usable release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct UnknownRelease {
    /// The error message, including the text.
    pub why: String,
    /// Advice on the next step.
    pub hint: String,
}

impl Release {
    /// Parses a release. The name of a line means the pinned release of the line. For example,
    /// `4.1` means `4.1.10`.
    ///
    /// # Errors
    /// The text does not belong to a known line, or is not the name of a release.
    pub fn parse(text: &str) -> Result<Release, UnknownRelease> {
        let refused = |why: String| UnknownRelease {
            why,
            hint: format!(
                "use a release line ({}), or a release such as {}",
                names(),
                DEFAULT.pinned
            ),
        };
        let Some(line) = Line::find(text) else {
            return Err(refused(format!(
                "the study requests Cassandra {text}, but cassay can start nodes only of {}",
                names()
            )));
        };
        if text == line.name {
            return Ok(line.release());
        }
        if !is_name(text, line) {
            return Err(refused(format!("{text} is not a Cassandra release")));
        }
        Ok(Release {
            version: text.to_owned(),
        })
    }

    /// Returns the release of a user's build, from the version in the name of its jar. The version
    /// may have any suffix. Returns `None` if the release does not belong to a known line.
    pub fn built(version: &str) -> Option<Release> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
        let is_known = Line::find(version).is_some() && version.chars().all(is_plain);
        is_known.then(|| Release {
            version: version.to_owned(),
        })
    }

    /// Returns the error for a release that the repository does not contain.
    pub fn unpublished(&self) -> UnknownRelease {
        let line = self.line();
        let known: Vec<&str> = line.releases().collect();
        UnknownRelease {
            why: format!("the repository has no Cassandra {}", self.version),
            hint: format!(
                "the repository has these releases of the line {}: {}; for your own build, write \
                 `{{home: FOLDER}}`",
                line.name,
                known.join(", ")
            ),
        }
    }

    /// Returns true if the release existed when the facts about its line were recorded.
    pub fn is_known(&self) -> bool {
        self.line().releases().any(|known| known == self.version)
    }

    /// Returns the version of the release, such as `5.0.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn line(&self) -> &'static Line {
        // The fallback is never needed, because a release can be created only with a version of a
        // known line.
        Line::find(&self.version).unwrap_or(DEFAULT)
    }

    /// Returns true if the digests of the release's files are on record.
    pub fn is_pinned(&self) -> bool {
        self.line().pinned == self.version
    }
}

impl Line {
    /// Returns the releases that existed when the facts about this line were recorded. The oldest
    /// release comes first.
    pub fn releases(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.releases.lines()
    }

    /// Returns the pinned release of the line.
    pub fn release(&self) -> Release {
        Release {
            version: self.pinned.to_owned(),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.version)
    }
}

/// Returns true for `LINE.PATCH`, for previews such as `LINE-alpha2` and `LINE.0-rc1`, and for
/// snapshot builds.
fn is_name(text: &str, line: &Line) -> bool {
    let rest = text.strip_prefix(line.name).unwrap_or_default();
    let (patch, preview) = match rest.split_once('-') {
        Some((patch, preview)) => (patch, Some(preview)),
        None => (rest, None),
    };
    let is_number = |text: &str| {
        !text.is_empty() && text.len() < 5 && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_patch = patch.strip_prefix('.').is_some_and(is_number);
    match preview {
        None => is_patch,
        Some("SNAPSHOT") => is_patch || patch.is_empty(),
        Some(preview) => {
            let number = ["alpha", "beta", "rc"].iter().find_map(|kind| preview.strip_prefix(kind));
            (is_patch || patch.is_empty()) && number.is_some_and(is_number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_means_its_pinned_release_and_a_release_itself() {
        for line in crate::release_lines::LINES {
            let release = Release::parse(line.name).unwrap();
            assert_eq!(release.version(), line.pinned);
            assert!(release.is_pinned());
        }
        for text in [
            "4.1.3",
            "5.0-beta1",
            "4.0.0-rc2",
            "6.0-alpha2",
            "5.0.9-SNAPSHOT",
        ] {
            assert_eq!(Release::parse(text).unwrap().version(), text);
        }
        assert!(!Release::parse("4.1.3").unwrap().is_pinned());
        assert_eq!(Release::parse("4.1.3").unwrap().line().name, "4.1");
    }

    #[test]
    fn the_releases_of_a_line_are_known_and_its_own() {
        for line in crate::release_lines::LINES {
            assert!(line.release().is_known(), "{}", line.name);
            for text in line.releases() {
                assert_eq!(Release::parse(text).unwrap().line().name, line.name);
            }
        }
        let none = Release::parse("5.0.9999").unwrap();
        assert!(!none.is_known());
        let refused = none.unpublished();
        assert_eq!(refused.why, "the repository has no Cassandra 5.0.9999");
        assert!(refused.hint.contains("5.0.7, 5.0.8"), "{}", refused.hint);
    }

    #[test]
    fn a_text_that_is_no_release_is_refused_with_the_known_lines() {
        for text in ["3.11.19", "4.2", "5.1.0", "15.0.1", "latest"] {
            let refused = Release::parse(text).unwrap_err();
            assert!(
                refused.why.contains(&format!("the study requests Cassandra {text}")),
                "{refused}"
            );
            assert!(refused.hint.contains("4.0, 4.1, 5.0 and 6.0"));
        }
        for text in [
            "5.0.",
            "5.0.x",
            "5.0.1-beta",
            "4.1-rc",
            "4.1.3.1",
            "5.0.99999",
            "5.0-../x",
        ] {
            let refused = Release::parse(text).unwrap_err();
            assert!(
                refused.why.contains("not a Cassandra release"),
                "{text}: {refused}"
            );
        }
    }
}
