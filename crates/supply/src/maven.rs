//! Maven, which brings the jars of versions that are not pinned, and those that we are refused.
//! What it says is passed on a jar at a time.

use crate::java::program_in;
use crate::voice::{Message, Voice};
use anyhow::{Context, Result, bail};
use reach::process::{self, Life};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use versions::Release;

/// The plug-in's goal that copies what a pom resolves to; its version is pinned in the pom.
const COPY_GOAL: &str = "dependency:copy-dependencies";

/// The goal that unpacks the compiler's hints out of the server's jar, as the pom describes it.
const UNPACK_GOAL: &str = "dependency:unpack@hints";

/// Whether there is a Maven in `PATH`.
pub(crate) fn is_installed() -> bool {
    program().is_some()
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program_in(std::env::split_paths(&path), "mvn")
}

/// What is said where only Maven could bring the jars of a version, and there is none.
pub(crate) fn missing(release: &Release) -> String {
    let pinned = release.line().pinned;
    format!(
        "the jars of Cassandra {release} are not in the cache, and only Maven can tell which they \
         are, since of its line {pinned} is pinned: no mvn in PATH\nhint: install Maven 3.6 \
         or later, or `cassay supply import FILE` what `cassay supply export FILE --cassandra \
         {release}` wrote on a machine with Maven, or set CASSANDRA_HOME to an unpacked \
         distribution"
    )
}

/// Runs Maven on the pom in `work`, so that all jars come to `jars`, and the compiler's hints to a
/// folder below it. `is_pinned`: every jar is checked against a lock afterwards; otherwise Maven
/// itself must refuse what differs from the repository's checksum, instead of warning.
///
/// # Errors
/// Maven is missing or fails.
pub(crate) fn run(
    work: &Path,
    jars: &Path,
    release: &Release,
    is_pinned: bool,
    voice: &mut Voice<'_>,
) -> Result<()> {
    let program = program().with_context(|| missing(release))?;
    voice(Message::Line(&format!(
        "fetching the jars of Cassandra {release} with Maven, once (about 70 MB)"
    )));
    let mut command = process::command(&program);
    command.arg("-B").arg("-f").arg(work.join("pom.xml")).arg(COPY_GOAL);
    command.arg(UNPACK_GOAL).arg(format!("-Dcassay.hints={}", jars.display()));
    if !is_pinned {
        command.arg("--strict-checksums");
    }
    command.arg("-DincludeScope=runtime");
    command.arg(format!("-DoutputDirectory={}", jars.display()));
    command.current_dir(work).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process::spawn(command, Life::Ours)?;
    let stderr = child.stderr.take().context("read what Maven says")?;
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        // Broken pipes and odd bytes end the text early; the exit status decides.
        let _ = BufReader::new(stderr).read_to_string(&mut text);
        text
    });
    let mut failures = Vec::new();
    let stdout = child.stdout.take().context("read what Maven says")?;
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if let Some(name) = downloaded(&line) {
            voice(Message::Line(&format!("Maven: {name}")));
        } else if line.contains("[ERROR]") {
            failures.push(line.trim_start_matches("[ERROR]").trim().to_string());
        }
    }
    let status = child.wait().context("wait for Maven")?;
    let errors = errors.join().unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    failures.extend(errors.lines().map(str::to_string));
    failures.retain(|line| !line.is_empty());
    failures.truncate(6);
    bail!(
        "Maven could not fetch Cassandra's jars ({status}): {}\nhint: is the network there? \
         Settings (proxy, mirror) are Maven's own, in ~/.m2/settings.xml",
        failures.join("\n  ")
    )
}

/// The file name in a line of Maven that says that a jar has arrived.
fn downloaded(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("Downloaded from ")?;
    let address = rest.split_ascii_whitespace().nth(1)?;
    address.rsplit('/').next().filter(|name| name.ends_with(".jar"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_jars_that_arrived_are_reported() {
        let line = "[INFO] Downloaded from x: https://h/org/a/1/a-1.jar (11 MB at 2 MB/s)";
        assert_eq!(downloaded(line), Some("a-1.jar"));
        assert_eq!(downloaded(&line.replace(".jar", ".pom")), None);
        assert_eq!(
            downloaded("[INFO] Downloading from x: https://h/a-1.jar"),
            None
        );
    }
}
