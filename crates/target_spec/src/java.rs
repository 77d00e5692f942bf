//! Java of the nodes: the requested Java, the versions that suit a release, and the versions that
//! Cassandra supports.

use crate::spec::LocalSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use versions::Release;

/// The Java that is requested for the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JavaChoice {
    /// An installed Java of this major version, such as 17.
    Major(u32),
    /// The Java in this folder, which could be the value of `JAVA_HOME`.
    Home(PathBuf),
}

impl JavaChoice {
    /// Describes the requested Java.
    pub fn words(&self) -> String {
        match self {
            JavaChoice::Major(major) => format!("Java {major}"),
            JavaChoice::Home(home) => format!("the Java of {}", home.display()),
        }
    }
}

/// Requirements that a Java must meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JavaWanted {
    /// Suitable major versions, the best version first.
    pub majors: Vec<u32>,
    /// Folder of the Java, if a certain one is required.
    pub home: Option<PathBuf>,
    /// Description of the software that needs the Java: `Cassandra 5.0.8`.
    pub by: String,
}

impl JavaWanted {
    /// Returns the Java requirements of the nodes of a specification.
    pub fn from_spec(spec: &LocalSpec) -> JavaWanted {
        let by = format!("Cassandra {}", spec.release);
        let fitting = java_majors(&spec.release);
        let (majors, home) = match &spec.java {
            None => (fitting, None),
            Some(JavaChoice::Major(major)) => (vec![*major], None),
            Some(JavaChoice::Home(home)) => (fitting, Some(home.clone())),
        };
        JavaWanted { majors, home, by }
    }
}

/// Returns the reason why nodes of a release are not started on the requested Java, and the remedy.
pub(crate) fn java_refusal(spec: &LocalSpec) -> Option<(String, String)> {
    let Some(JavaChoice::Major(major)) = &spec.java else {
        return None;
    };
    let fits = java_majors(&spec.release);
    (!fits.contains(major)).then(|| {
        (
            format!(
                "the study requests Java {major}, but Cassandra {} starts on {}",
                spec.release,
                majors_words(&fits)
            ),
            format!(
                "use one of these versions; the default is `java: {}`",
                fits[0]
            ),
        )
    })
}

/// Major version of Java that cassay prefers, so that nodes of different release lines run on the
/// same Java. All lines are known to start on it.
const JAVA_FIRST: u32 = 17;

/// Oldest major version of Java that cassay's JVM options and its agent in the JVM support.
const JAVA_OLDEST: u32 = 11;

/// Returns the major versions of Java on which nodes of a release are started, the preferred
/// version first.
pub fn java_majors(release: &Release) -> Vec<u32> {
    let line = release.line();
    let all = line.java_seen.iter().chain(line.java_supported.iter().rev()).copied();
    let mut majors = vec![JAVA_FIRST];
    for major in all.filter(|major| *major >= JAVA_OLDEST) {
        if !majors.contains(&major) {
            majors.push(major);
        }
    }
    majors
}

/// Returns a sentence that a release does not support a Java version. `None` if the release
/// supports it.
pub fn java_unsupported(release: &Release, major: u32) -> Option<String> {
    let line = release.line();
    (!line.java_supported.contains(&major)).then(|| {
        format!(
            "Cassandra {release} runs on Java {major}, a combination that its developers do not \
             support: Cassandra {} is for Java {}",
            line.name,
            majors_words(line.java_supported)
        )
    })
}

/// Parses the major version of a Java version: 17 from `17.0.15`, 8 from `1.8.0_412`, 21 from
/// `21-ea`.
pub fn java_major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let first = numbers.next()?.parse().ok()?;
    if first == 1 {
        return numbers.next()?.parse().ok();
    }
    Some(first)
}

/// Returns the Java version in the text of the file `release` in a Java home.
pub fn java_in_release(text: &str) -> Option<&str> {
    let said = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(said.trim().trim_matches('"'))
}

/// Formats major versions as alternatives: `11, 17 or 21`.
pub fn majors_words(majors: &[u32]) -> String {
    let names: Vec<String> = majors.iter().map(u32::to_string).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_prefers_the_same_java_and_then_its_own_versions() {
        let majors = |line: &str| java_majors(&Release::parse(line).unwrap());
        assert_eq!(majors("4.0"), [17, 11]);
        assert_eq!(majors("5.0"), [17, 11]);
        assert_eq!(majors("6.0"), [17, 21, 11]);
        let said = |line: &str| java_unsupported(&Release::parse(line).unwrap(), 17);
        assert!(said("4.1").is_some_and(|said| said.ends_with("is for Java 8 or 11")));
        assert_eq!(said("5.0"), None);
    }
}
