//! Finds an installed Java that can run a release of Cassandra.

mod packages;

use anyhow::{Context, Result, bail, ensure};
use foreign::FileKind;
use packages::hint;
use remote::process::{self, Patience};
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::{JavaWanted, java_in_release, java_major, majors_words};

/// Time limit for a Java to print its version, which takes seconds even on a busy machine.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// Folders in which packages and users install Java. Each subfolder may be the home of a Java.
const HOMES: [&str; 5] = [
    "/usr/lib/jvm",
    "/usr/java",
    "/opt/java",
    "/opt",
    "/usr/local",
];

/// Folders below the user's home directory in which SDKMAN and editors install Java.
const HOMES_OF_USER: [&str; 2] = [".sdkman/candidates/java", ".jdks"];

#[derive(Clone, Debug)]
pub struct Java {
    /// Path of the program `bin/java`.
    pub program: PathBuf,
    /// Version that the program reports, such as `17.0.15`.
    pub version: String,
    /// Complete version output, which distinguishes builds of a version.
    pub build: String,
    /// Sentence with the reason why a preferred Java is not used. `None` if no preferred Java was
    /// unsuitable.
    pub passed_over: Option<String>,
}

impl Java {
    /// Returns the major version, such as 17. Returns `None` if the version does not begin with a
    /// number.
    pub fn major(&self) -> Option<u32> {
        java_major(&self.version)
    }
}

/// Returns the Java in the folder that the user specified. Otherwise returns a Java of the best
/// available major version, from `JAVA_HOME`, `PATH`, or the usual installation folders, in this
/// order.
///
/// # Errors
/// No suitable Java is installed. The message lists unsuitable installations, and explains how to
/// install a suitable Java.
pub fn find(wanted: &JavaWanted) -> Result<Java> {
    if let Some(home) = &wanted.home {
        return java_in(home, wanted);
    }
    let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let user = std::env::home_dir();
    let of_user = HOMES_OF_USER.iter().filter_map(|below| Some(user.as_ref()?.join(below)));
    let folders: Vec<PathBuf> = HOMES.iter().map(PathBuf::from).chain(of_user).collect();
    find_in(
        home.as_deref().map(Path::new),
        std::env::split_paths(&path),
        &folders,
        wanted,
    )
}

fn java_in(home: &Path, wanted: &JavaWanted) -> Result<Java> {
    let said = version_of(&home.join("bin/java"))
        .with_context(|| format!("check the Java in {}", home.display()))?;
    let is_fitting = java_major(&said.version).is_some_and(|major| wanted.majors.contains(&major));
    ensure!(
        is_fitting,
        "{} is Java {}, but {} starts on {}",
        home.display(),
        said.version,
        wanted.by,
        majors_words(&wanted.majors)
    );
    Ok(taken(home.join("bin/java"), said, "", &[]))
}

fn find_in(
    home: Option<&Path>,
    path: impl Iterator<Item = PathBuf>,
    folders: &[PathBuf],
    wanted: &JavaWanted,
) -> Result<Java> {
    let path: Vec<PathBuf> = path.collect();
    let mut others = Vec::new();
    for major in &wanted.majors {
        others.clear();
        if let Some(java) = find_major(home, &path, folders, (*major, &mut others)) {
            return Ok(java);
        }
    }
    let none = if others.is_empty() {
        "cassay found no Java in JAVA_HOME, PATH or the usual folders".to_string()
    } else {
        others.join(", ")
    };
    let best = wanted.majors.first().copied().unwrap_or_default();
    bail!(
        "{} needs Java {}; {none}\n{}",
        wanted.by,
        majors_words(&wanted.majors),
        hint(best)
    );
}

/// Returns the first Java of a major version. Adds a description of each unsuitable Java to
/// `others`.
fn find_major(
    home: Option<&Path>,
    path: &[PathBuf],
    folders: &[PathBuf],
    (wanted, others): (u32, &mut Vec<String>),
) -> Option<Java> {
    let of_home = home.map(|home| (home.join("bin/java"), "JAVA_HOME"));
    let of_path = program_in(path.iter().cloned(), "java").map(|program| (program, "PATH"));
    for (program, place) in of_home.into_iter().chain(of_path) {
        let found = if program.is_file() {
            version_of(&program)
        } else {
            Err(anyhow::anyhow!("the folder contains no bin/java"))
        };
        match found {
            Ok(said) if java_major(&said.version) == Some(wanted) => {
                return Some(taken(program, said, place, others));
            }
            Ok(JavaVersion { version, .. }) => {
                others.push(format!(
                    "{} of {place} is Java {version}",
                    program.display()
                ));
            }
            Err(why) => others.push(format!("{} of {place}: {why:#}", program.display())),
        }
    }
    for home in installed(folders) {
        let Some(version) = version_at(&home) else {
            continue;
        };
        let program = home.join("bin/java");
        if java_major(&version) != Some(wanted) {
            others.push(format!("{} is Java {version}", home.display()));
            continue;
        }
        // The version in the folder may be wrong, or the Java may not run on this machine.
        match version_of(&program) {
            Ok(said) if java_major(&said.version) == Some(wanted) => {
                return Some(taken(program, said, &home.display().to_string(), others));
            }
            Ok(JavaVersion { version, .. }) => {
                others.push(format!("{} is Java {version}", home.display()))
            }
            Err(why) => others.push(format!("{}: {why:#}", home.display())),
        }
    }
    None
}

/// Returns a suitable Java. `others` describes unsuitable installations that were found before.
fn taken(program: PathBuf, said: JavaVersion, place: &str, others: &[String]) -> Java {
    let first = others.first();
    let JavaVersion { version, build } = said;
    Java {
        passed_over: first.map(|why| format!("{why}: cassay uses Java {version} of {place}")),
        program,
        version,
        build,
    }
}

/// Returns the home folders of the Java runtimes in these folders, without duplicates.
fn installed(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut known: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let mut homes: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        homes.sort();
        for home in homes.into_iter().filter(|home| home.join("bin/java").is_file()) {
            let whole = home.canonicalize().unwrap_or_else(|_| home.clone());
            if !known.contains(&whole) {
                known.push(whole);
                found.push(home);
            }
        }
    }
    found
}

/// Returns the version in the folder of a Java, or else the version that the Java reports.
fn version_at(home: &Path) -> Option<String> {
    let release = foreign::text(FileKind::Home, home.join("release")).unwrap_or_default();
    match java_in_release(&release) {
        Some(version) => Some(version.to_string()),
        None => Some(version_of(&home.join("bin/java")).ok()?.version),
    }
}

/// Returns the first file `name` in the folders of a search path, executable or not.
pub(crate) fn program_in(mut path: impl Iterator<Item = PathBuf>, name: &str) -> Option<PathBuf> {
    path.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file()))
}

struct JavaVersion {
    version: String,
    /// Whole output of `java -version`.
    build: String,
}

fn version_of(program: &Path) -> Result<JavaVersion> {
    let mut command = process::command(program);
    command.arg("-version");
    let output = process::ask(command, b"", Patience::up_to(VERSION_LIMIT))
        .with_context(|| format!("run {} -version", program.display()))?;
    let text = String::from_utf8_lossy(&output.errors);
    match parse_version(&text) {
        Some(version) => Ok(JavaVersion {
            version: version.to_string(),
            build: text.trim().to_string(),
        }),
        None => bail!(
            "{} -version ended with {}, but printed no version: {}",
            program.display(),
            output.status,
            text.lines().next().unwrap_or("no output")
        ),
    }
}

/// Returns the quoted version in the output of `java -version`.
fn parse_version(text: &str) -> Option<&str> {
    text.lines().find(|line| line.contains(" version \""))?.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn versions_of_all_ages_are_read() {
        let says = |line: &str| parse_version(line).and_then(java_major);
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

    /// Creates a `JAVA_HOME` whose `java` reports `version`.
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

    fn seventeen() -> JavaWanted {
        JavaWanted {
            majors: vec![17],
            home: None,
            by: "Cassandra 5.0.8".to_owned(),
        }
    }

    #[test]
    fn the_best_installed_version_is_used_and_a_named_one_must_fit() {
        let (eleven, newest) = (java_home("11.0.2"), java_home("21.0.1"));
        let wanted = |majors: &[u32], home: Option<&Path>| JavaWanted {
            majors: majors.to_vec(),
            home: home.map(Path::to_owned),
            ..seventeen()
        };
        let found = |majors: &[u32]| {
            let path = [eleven.path().join("bin")].into_iter();
            find_in(Some(newest.path()), path, &[], &wanted(majors, None))
        };
        assert_eq!(found(&[17, 21, 11]).unwrap().major(), Some(21));
        assert_eq!(found(&[17, 11]).unwrap().major(), Some(11));
        let error = found(&[17, 8]).unwrap_err().to_string();
        assert!(error.contains("needs Java 17 or 8"), "{error}");
        let named = |majors: &[u32]| find(&wanted(majors, Some(newest.path())));
        assert_eq!(named(&[17, 21]).unwrap().version, "21.0.1");
        let error = named(&[17, 11]).unwrap_err().to_string();
        assert!(
            error.contains("is Java 21.0.1, but Cassandra 5.0.8 starts on 17 or 11"),
            "{error}"
        );
        let none = find(&wanted(&[17], Some(Path::new("/not/there")))).unwrap_err();
        assert!(
            format!("{none:#}").contains("check the Java in /not/there"),
            "{none:#}"
        );
    }

    #[test]
    fn the_wrong_java_is_named_with_its_place_and_version() {
        let home = java_home("11.0.2");
        let error = find_in(Some(home.path()), std::iter::empty(), &[], &seventeen()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("of JAVA_HOME is Java 11.0.2"), "{text}");
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
        let java = find_in(
            Some(right.path()),
            path.clone().into_iter(),
            &[],
            &seventeen(),
        )
        .unwrap();
        assert_eq!(java.version, "17.0.1");
        assert_eq!(java.passed_over, None);
        let error = find_in(None, path.into_iter(), &[], &seventeen()).unwrap_err();
        assert!(error.to_string().contains("of PATH is Java 8"), "{error}");
        let path = [right.path().join("bin")].into_iter();
        let told = find_in(Some(wrong.path()), path, &[], &seventeen())
            .unwrap()
            .passed_over
            .unwrap();
        assert!(
            told.ends_with("of JAVA_HOME is Java 8: cassay uses Java 17.0.1 of PATH"),
            "{told}"
        );
    }

    #[test]
    fn the_first_suitable_java_is_used_and_the_skipped_one_named() {
        let folder = tempfile::tempdir().unwrap();
        let into = |name: &str, version: &str| {
            let home = java_home(version).keep();
            std::fs::rename(&home, folder.path().join(name)).unwrap();
        };
        into("a-21", "21.0.1");
        into("b-17", "17.0.2");
        into("c-17", "17.0.3");
        // The version in this folder differs from the version that the Java reports.
        std::fs::write(
            folder.path().join("a-21/release"),
            "JAVA_VERSION=\"17.0.9\"\n",
        )
        .unwrap();
        std::fs::create_dir(folder.path().join("no-java")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("c-17"), folder.path().join("d")).unwrap();
        let folders = [folder.path().to_owned()];
        assert_eq!(installed(&folders).len(), 3);
        let java = find_in(None, std::iter::empty(), &folders, &seventeen()).unwrap();
        assert_eq!(java.version, "17.0.2");
        let told = java.passed_over.unwrap();
        assert!(
            told.contains("a-21 is Java 21.0.1: cassay uses Java 17.0.2 of "),
            "{told}"
        );
        let gone = folder.path().join("gone");
        let java = find_in(Some(&gone), std::iter::empty(), &folders, &seventeen()).unwrap();
        let told = java.passed_over.unwrap();
        assert!(
            told.contains("of JAVA_HOME: the folder contains no bin/java"),
            "{told}"
        );
    }

    #[test]
    fn no_java_at_all_says_how_to_get_one() {
        let empty = tempfile::tempdir().unwrap();
        let path = std::iter::once(empty.path().to_path_buf());
        let error = find_in(None, path, &[], &seventeen()).unwrap_err().to_string();
        assert!(
            error.contains("cassay found no Java") && error.contains("hint: "),
            "{error}"
        );
    }
}
