//! The builds of a bisection, in order. They come from a list of version names, or from a file.

use anyhow::{Context, Result, bail, ensure};
use foreign::FileKind;
use std::path::Path;
use versions::Release;
use yaml::{Diagnostics, Limits, Node, Raw, SourceText};

/// Placeholder for the revision, in a file with one command for all revisions.
const REVISION: &str = "{revision}";

/// A build, described by the partial study that selects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    pub name: String,
    /// A partial study, as YAML on one line.
    pub over: String,
}

impl Build {
    /// Returns the build as a variant of a study.
    pub fn variant(&self) -> String {
        format!("'{}': {}", self.name, self.over)
    }

    fn from_version(version: &str) -> Result<Build> {
        let release = Release::parse(version)
            .map_err(|unknown| anyhow::anyhow!("{}\nhint: {}", unknown.why, unknown.hint))?;
        Ok(Build {
            name: release.to_string(),
            over: format!("{{target: {{local: {{cassandra: '{release}'}}}}}}"),
        })
    }
}

/// Reads a list of versions, or a file.
///
/// # Errors
/// A version is unknown, the file cannot be read or has another form, or the text names fewer than
/// two builds.
pub fn read(text: &str) -> Result<Vec<Build>> {
    let path = Path::new(text);
    let builds = if path.is_file() {
        let content = foreign::text(FileKind::Builds, path)
            .with_context(|| format!("read {}", path.display()))?;
        parse_file(text, &content)?
    } else {
        let versions = text.split(',').map(str::trim).filter(|one| !one.is_empty());
        let builds: Result<Vec<Build>> = versions.map(Build::from_version).collect();
        builds.with_context(|| {
            format!(
                "--builds {text} is neither a file nor a list of versions such as 5.0.6,5.0.7,5.0.8"
            )
        })?
    };
    ensure!(builds.len() >= 2, "a bisection needs at least two builds");
    for (at, build) in builds.iter().enumerate() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        ensure!(
            !build.name.is_empty() && build.name.chars().all(is_plain),
            "{:?} is not a valid build name: use letters, digits, '.', '_' and '-'",
            build.name
        );
        ensure!(
            builds[..at].iter().all(|other| other.name != build.name),
            "two builds have the name {}",
            build.name
        );
    }
    Ok(builds)
}

fn parse_file(name: &str, text: &str) -> Result<Vec<Build>> {
    let mut out = Diagnostics::new(vec![SourceText {
        name: name.to_owned(),
        text: text.to_owned(),
    }]);
    let Some(root) = yaml::parse(0, text, Limits::STUDY, &mut out) else {
        bail!("{out}");
    };
    match &root.raw {
        Raw::List(items) => {
            let version = |item: &Node| item.text().map(Build::from_version);
            let builds = items.iter().map(version).collect::<Option<Result<Vec<_>>>>();
            builds.with_context(|| format!("{name}: a list of builds may only contain versions"))?
        }
        Raw::Map(_) if root.find("revisions").is_some() => parse_revisions(name, &root),
        Raw::Map(entries) => {
            let build = |entry: &yaml::Entry| Build {
                name: entry.key.clone(),
                over: study::flow(&entry.value),
            };
            Ok(entries.iter().map(build).collect())
        }
        Raw::Scalar { .. } | Raw::Null => bail!("{name} has no builds"),
    }
}

fn parse_revisions(name: &str, root: &Node) -> Result<Vec<Build>> {
    let items = match root.find("revisions").map(|revisions| &revisions.raw) {
        Some(Raw::List(items)) => items.as_slice(),
        _ => &[],
    };
    let build = root.find("build").with_context(|| {
        format!(
            "{name}: `revisions` requires `build: {{command: […], home: …}}`, with {REVISION} in \
             the command or the path"
        )
    })?;
    let over = study::flow(build);
    ensure!(
        over.contains(REVISION),
        "{name}: `build` does not contain {REVISION}, so all builds would be the same"
    );
    let of_revision = |item: &Node| {
        let revision = item.text().with_context(|| format!("{name}: a revision must be text"))?;
        // The name of a build becomes part of commands and paths, so it may contain only plain
        // characters.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        ensure!(
            revision.chars().all(is_plain) && !revision.starts_with('-'),
            "{name}: {revision:?} is not a valid revision name: use letters, digits, '.', '_' and \
             '-'"
        );
        let build = over.replace(REVISION, revision);
        Ok(Build {
            name: revision.to_owned(),
            over: format!("{{target: {{local: {{cassandra: {{build: {build}}}}}}}}}"),
        })
    };
    items.iter().map(of_revision).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_versions_a_mapping_or_revisions_with_a_command() {
        let builds = read("5.0.6, 5.0.7,5.0").unwrap();
        let names: Vec<&str> = builds.iter().map(|build| build.name.as_str()).collect();
        assert_eq!(names, ["5.0.6", "5.0.7", versions::DEFAULT.pinned]);
        assert_eq!(
            builds[0].variant(),
            "'5.0.6': {target: {local: {cassandra: '5.0.6'}}}"
        );
        let listed = parse_file("b", "- 4.1.9\n- 4.1.10\n").unwrap();
        assert_eq!(listed[1].name, "4.1.10");
        let text = "a: {}\nb: {target: {local: {jvm: ['-XX:TieredStopAtLevel=1']}}}\n";
        let mapped = parse_file("b", text).unwrap();
        assert_eq!(
            mapped[1].over,
            "{target: {local: {jvm: ['-XX:TieredStopAtLevel=1']}}}"
        );
        let text = "revisions: [a1, b2]\n\
                    build: {command: [./make, '{revision}'], home: 'out/{revision}'}\n";
        let made = parse_file("b", text).unwrap();
        assert_eq!(made[1].name, "b2");
        assert!(
            made[1].over.contains("command: [./make, 'b2'], home: 'out/b2'"),
            "{}",
            made[1].over
        );
    }

    #[test]
    fn a_text_without_a_row_of_builds_is_refused_with_the_reason() {
        let refused = |text: &str| format!("{:#}", read(text).unwrap_err());
        assert!(refused("5.0.6").contains("at least two"));
        assert!(refused("5.0.6,5.0.6").contains("two builds have the name 5.0.6"));
        assert!(refused("no-file.yaml").contains("is neither a file nor a list of versions"));
        let of = |text: &str| format!("{:#}", parse_file("b", text).unwrap_err());
        assert!(of("revisions: [a]\nbuild: {command: [make], home: x}\n").contains("{revision}"));
        assert!(
            of("revisions: ['--help']\nbuild: {command: ['{revision}'], home: x}\n")
                .contains("is not a valid revision name")
        );
        assert!(of("text").contains("has no builds"));
    }
}
