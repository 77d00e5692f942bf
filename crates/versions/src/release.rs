//! What somebody asks for as a version, and the release that it is.

use crate::line::Line;
use crate::lines::{DEFAULT, names};
use std::fmt;

/// A release of Cassandra, of a line that we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    version: String,
}

/// Why a text names no release that can be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct UnknownRelease {
    /// What is wrong, with the text.
    pub why: String,
    /// What to do.
    pub hint: String,
}

impl Release {
    /// What a text means: a line means the release of it that is pinned, `4.1` as `4.1.10`.
    ///
    /// # Errors
    /// It is of no line that we know, or no name of a release.
    pub fn of(text: &str) -> Result<Release, UnknownRelease> {
        let refused = |why: String| UnknownRelease {
            why,
            hint: format!(
                "use a line ({}), or a release as {}",
                names(),
                DEFAULT.pinned
            ),
        };
        let Some(line) = Line::of(text) else {
            return Err(refused(format!(
                "Cassandra {text} is asked for, and nodes can be started of {}",
                names()
            )));
        };
        if text == line.name {
            return Ok(line.release());
        }
        if !is_name(text, line) {
            return Err(refused(format!(
                "{text} is no name of a release of Cassandra"
            )));
        }
        Ok(Release {
            version: text.to_owned(),
        })
    }

    /// What somebody has built, as its jar is called: of a line that we know, with any ending.
    pub fn built(version: &str) -> Option<Release> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
        let is_known = Line::of(version).is_some() && version.chars().all(is_plain);
        is_known.then(|| Release {
            version: version.to_owned(),
        })
    }

    /// The refusal of a release that no repository has.
    pub fn unpublished(&self) -> UnknownRelease {
        let line = self.line();
        let known: Vec<&str> = line.releases().collect();
        UnknownRelease {
            why: format!("the repository has no Cassandra {}", self.version),
            hint: format!(
                "of {} it has {}; a build of your own is `{{home: FOLDER}}`",
                line.name,
                known.join(", ")
            ),
        }
    }

    /// Whether it was there when the facts of its line were written down.
    pub fn is_known(&self) -> bool {
        self.line().releases().any(|known| known == self.version)
    }

    /// As it is called: `5.0.8`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its line.
    pub fn line(&self) -> &'static Line {
        // A release is only made of a line's own.
        Line::of(&self.version).unwrap_or(DEFAULT)
    }

    /// Whether its files are pinned by their digests.
    pub fn is_pinned(&self) -> bool {
        self.line().pinned == self.version
    }
}

impl Line {
    /// The releases that there were when its facts were written down, the oldest first.
    pub fn releases(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.releases.lines()
    }

    /// The release that is pinned.
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

/// `LINE.PATCH`, or what comes before: `LINE-alpha2`, `LINE.0-rc1`, and a build that is no release.
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
        for line in crate::lines::LINES {
            let release = Release::of(line.name).unwrap();
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
            assert_eq!(Release::of(text).unwrap().version(), text);
        }
        assert!(!Release::of("4.1.3").unwrap().is_pinned());
        assert_eq!(Release::of("4.1.3").unwrap().line().name, "4.1");
    }

    #[test]
    fn the_releases_of_a_line_are_known_and_its_own() {
        for line in crate::lines::LINES {
            assert!(line.release().is_known(), "{}", line.name);
            for text in line.releases() {
                assert_eq!(Release::of(text).unwrap().line().name, line.name);
            }
        }
        let none = Release::of("5.0.9999").unwrap();
        assert!(!none.is_known());
        let refused = none.unpublished();
        assert_eq!(refused.why, "the repository has no Cassandra 5.0.9999");
        assert!(refused.hint.contains("5.0.7, 5.0.8"), "{}", refused.hint);
    }

    #[test]
    fn what_is_no_release_is_refused_with_the_lines_that_there_are() {
        for text in ["3.11.19", "4.2", "5.1.0", "15.0.1", "latest"] {
            let refused = Release::of(text).unwrap_err();
            assert!(
                refused.why.contains(&format!("Cassandra {text} is asked for")),
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
            let refused = Release::of(text).unwrap_err();
            assert!(
                refused.why.contains("no name of a release"),
                "{text}: {refused}"
            );
        }
    }
}
