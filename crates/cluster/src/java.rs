//! Finding a Java that Cassandra 5.0 runs on.

use anyhow::{Context, Result, bail};
use host::process::{self, Life};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The Java that our JVM options are written for; Cassandra 5.0 supports 11 and 17.
pub const JAVA_MAJOR: u32 = 17;

/// A Java runtime.
#[derive(Clone, Debug)]
pub(crate) struct Java {
    pub program: PathBuf,
    /// What it says of itself: `17.0.15`.
    pub version: String,
    /// All that it says of itself, which tells one build of a version from another.
    pub build: String,
}

/// The Java of `JAVA_HOME`, else of `PATH`; it must be version [`JAVA_MAJOR`].
///
/// # Errors
/// None is found, or it is another version; the message says which and where, and what to do.
pub(crate) fn find() -> Result<Java> {
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_in(home.as_deref().map(Path::new), std::env::split_paths(&path))
}

fn find_in(home: Option<&Path>, path: impl Iterator<Item = PathBuf>) -> Result<Java> {
    let (program, place) = match home {
        Some(home) => {
            let program = home.join("bin/java");
            if !program.is_file() {
                bail!(
                    "JAVA_HOME is {}, but there is no bin/java in it\n{}",
                    home.display(),
                    hint()
                );
            }
            (program, "JAVA_HOME")
        }
        None => match program_in(path, "java") {
            Some(program) => (program, "PATH"),
            None => bail!(
                "no java found in PATH, and JAVA_HOME is not set; Cassandra needs Java \
                 {JAVA_MAJOR}\n{}",
                hint()
            ),
        },
    };
    let (version, build) = version_of(&program)?;
    if major(&version) != Some(JAVA_MAJOR) {
        bail!(
            "Cassandra needs Java {JAVA_MAJOR}, but {} (from {place}) is Java {version}\n{}",
            program.display(),
            hint()
        );
    }
    Ok(Java {
        program,
        version,
        build,
    })
}

/// The first executable called `name` in the folders of a search path.
pub(crate) fn program_in(mut path: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    path.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file()))
}

/// What to do about a missing Java; names an installed one of the right version if there is one.
fn hint() -> String {
    let installed = std::fs::read_dir("/usr/lib/jvm")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|home| home.join("bin/java").is_file())
        .find(|home| {
            version_of(&home.join("bin/java")).ok().and_then(|(version, _)| major(&version))
                == Some(17)
        });
    match installed {
        Some(home) => format!("hint: set JAVA_HOME={}", home.display()),
        None => format!(
            "hint: install a JDK {JAVA_MAJOR} (Debian, Ubuntu: apt install \
             openjdk-{JAVA_MAJOR}-jdk-headless) or set JAVA_HOME"
        ),
    }
}

/// Asks a java for its version; with all that it answers.
fn version_of(program: &Path) -> Result<(String, String)> {
    let mut command = process::command(program);
    command.arg("-version").stdout(Stdio::null());
    command.stderr(Stdio::piped());
    let output = process::spawn(command, Life::Ours)?
        .wait_with_output()
        .with_context(|| format!("run {} -version", program.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    match parse_version(&text) {
        Some(version) => Ok((version.to_string(), text.trim().to_string())),
        None => bail!(
            "{} -version ended with {} and said no version: {}",
            program.display(),
            output.status,
            text.lines().next().unwrap_or("nothing at all")
        ),
    }
}

/// The quoted version in the first line of `java -version`.
fn parse_version(text: &str) -> Option<&str> {
    text.lines().find(|line| line.contains(" version \""))?.split('"').nth(1)
}

/// The major number: 17 of `17.0.15`, 8 of `1.8.0_412`, 21 of `21-ea`.
fn major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let first = numbers.next()?.parse().ok()?;
    if first == 1 {
        return numbers.next()?.parse().ok();
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn versions_of_all_ages_are_read() {
        let says = |line: &str| parse_version(line).and_then(major);
        assert_eq!(
            says("openjdk version \"17.0.15\" 2025-04-15\nmore"),
            Some(17)
        );
        assert_eq!(says("java version \"1.8.0_412\""), Some(8));
        assert_eq!(says("openjdk version \"21-ea\" 2023-09-19"), Some(21));
        assert_eq!(
            says("Picked up _JAVA_OPTIONS: -Xmx1g\nopenjdk version \"11.0.2\""),
            Some(11)
        );
        assert_eq!(says("command not found"), None);
    }

    /// A `JAVA_HOME` whose java says `version`.
    fn java_home(version: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let program = bin.join("java");
        let script = format!("#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        home
    }

    #[test]
    fn the_wrong_java_is_named_with_its_place_and_version() {
        let home = java_home("11.0.2");
        let error = find_in(Some(home.path()), std::iter::empty()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("Java 11.0.2") && text.contains("JAVA_HOME"),
            "{text}"
        );
        assert!(text.contains(&home.path().display().to_string()), "{text}");
        assert!(
            text.contains("needs Java 17") && text.contains("hint: "),
            "{text}"
        );
    }

    #[test]
    fn java_home_goes_before_path() {
        let (right, wrong) = (java_home("17.0.1"), java_home("8"));
        let path = [wrong.path().join("bin")];
        let java = find_in(Some(right.path()), path.clone().into_iter()).unwrap();
        assert_eq!(java.version, "17.0.1");
        let error = find_in(None, path.into_iter()).unwrap_err();
        assert!(error.to_string().contains("from PATH"), "{error}");
    }

    #[test]
    fn no_java_at_all_says_how_to_get_one() {
        let empty = tempfile::tempdir().unwrap();
        let error = find_in(None, std::iter::once(empty.path().to_path_buf())).unwrap_err();
        assert!(
            error.to_string().contains("no java found in PATH"),
            "{error}"
        );
        let error = find_in(Some(empty.path()), std::iter::empty()).unwrap_err();
        assert!(error.to_string().contains("no bin/java"), "{error}");
    }
}
