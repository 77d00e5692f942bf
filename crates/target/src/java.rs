//! Which Java nodes run on: what is asked for, what fits a release, and what its makers support.

use crate::spec::LocalSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use versions::Release;

/// Which Java nodes run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JavaChoice {
    /// One of this major version that is installed: 17.
    Major(u32),
    /// The one in this folder, as `JAVA_HOME` names it.
    Home(PathBuf),
}

impl JavaChoice {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            JavaChoice::Major(major) => format!("Java {major}"),
            JavaChoice::Home(home) => format!("the Java of {}", home.display()),
        }
    }
}

/// Which Java is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JavaWanted {
    /// Major versions that will do, the best one first.
    pub majors: Vec<u32>,
    /// The folder of the one that it must be.
    pub home: Option<PathBuf>,
    /// For what, in words: `Cassandra 5.0.8`.
    pub by: String,
}

impl JavaWanted {
    /// What nodes of a spec are to run on.
    pub fn of(spec: &LocalSpec) -> JavaWanted {
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

/// Why nodes of a release are not started on the Java that is asked for, and what to do.
pub(crate) fn java_refusal(spec: &LocalSpec) -> Option<(String, String)> {
    let Some(JavaChoice::Major(major)) = &spec.java else {
        return None;
    };
    let fits = java_majors(&spec.release);
    (!fits.contains(major)).then(|| {
        (
            format!(
                "Java {major} is asked for, and Cassandra {} starts on {}",
                spec.release,
                majors_words(&fits)
            ),
            format!(
                "use one of these; `java: {}` is taken where nothing is said",
                fits[0]
            ),
        )
    })
}

/// The Java that cassay takes first, so that sides of different lines run on the same one: it is
/// the one that all lines are known to start on.
const JAVA_FIRST: u32 = 17;

/// The oldest Java that our options of the JVM and the agent in it are for.
const JAVA_OLDEST: u32 = 11;

/// The major versions of Java that nodes of a release are started on, the one that is looked for
/// first in front.
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

/// That a release is not made for a Java, in words; none where it is.
pub fn java_unsupported(release: &Release, major: u32) -> Option<String> {
    let line = release.line();
    (!line.java_supported.contains(&major)).then(|| {
        format!(
            "Cassandra {release} runs on Java {major}, which is no combination that its makers \
             support: Cassandra {} is made for Java {}",
            line.name,
            majors_words(line.java_supported)
        )
    })
}

/// The major number: 17 of `17.0.15`, 8 of `1.8.0_412`, 21 of `21-ea`.
pub fn java_major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let first = numbers.next()?.parse().ok()?;
    if first == 1 {
        return numbers.next()?.parse().ok();
    }
    Some(first)
}

/// The version in the text of the file `release` of a Java.
pub fn java_in_release(text: &str) -> Option<&str> {
    let said = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(said.trim().trim_matches('"'))
}

/// Major versions as a text says that one of them will do: `11, 17 or 21`.
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
    fn every_line_takes_the_same_java_first_and_those_that_it_is_made_for_after_that() {
        let majors = |line: &str| java_majors(&Release::of(line).unwrap());
        assert_eq!(majors("4.0"), [17, 11]);
        assert_eq!(majors("5.0"), [17, 11]);
        assert_eq!(majors("6.0"), [17, 21, 11]);
        let said = |line: &str| java_unsupported(&Release::of(line).unwrap(), 17);
        assert!(said("4.1").is_some_and(|said| said.ends_with("is made for Java 8 or 11")));
        assert_eq!(said("5.0"), None);
    }
}
