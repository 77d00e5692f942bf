//! Java for the nodes: the requested Java, the versions that suit a release, and the versions that
//! Cassandra supports.

use crate::spec::LocalSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use versions::Release;

/// Java that the user requests for the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JavaChoice {
    /// An installed Java with this major version, such as 17.
    Major(u32),
    /// The Java installation in this folder, which could be the value of `JAVA_HOME`.
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
    /// Suitable major versions. The best version comes first.
    pub majors: Vec<u32>,
    /// Folder of the required Java installation. `None` if any installation with a suitable version
    /// may be used.
    pub home: Option<PathBuf>,
    /// Name of the software that needs Java, such as `Cassandra 5.0.8`.
    pub by: String,
}

impl JavaWanted {
    /// Returns the requirements that the nodes of a specification have for their Java.
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

/// Returns the reason why nodes of a release cannot run on the requested Java, and the remedy.
/// `None` if they can.
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
                "use one of these versions, or omit `java`: the default is `java: {}`",
                fits[0]
            ),
        )
    })
}

/// Major version of Java that cassay prefers, so that nodes of different release lines run on the
/// same Java. Nodes of all release lines are known to start on this version.
const JAVA_FIRST: u32 = 17;

/// Oldest major version of Java that is supported by cassay's JVM options and by its agent in the
/// JVM.
const JAVA_OLDEST: u32 = 11;

/// Returns the major versions of Java on which cassay starts nodes of a release. The preferred
/// version comes first.
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

/// Returns a sentence that states that a release does not support a Java version. `None` if the
/// release supports the version.
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

/// Parses the major version in a Java version. For example, returns 17 for `17.0.15`, 8 for
/// `1.8.0_412`, and 21 for `21-ea`. Returns `None` for a text without a major version.
pub fn java_major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let first = numbers.next()?.parse().ok()?;
    if first == 1 {
        return numbers.next()?.parse().ok();
    }
    Some(first)
}

/// Returns the Java version that `text` states. `text` is the content of the file `release` in a
/// Java home. Returns `None` if it states no version.
pub fn java_in_release(text: &str) -> Option<&str> {
    let said = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(said.trim().trim_matches('"'))
}

/// Formats major versions as alternatives, for example as `11, 17 or 21`.
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
