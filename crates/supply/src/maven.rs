//! Runs Maven, which fetches the jars of versions that are not pinned, and jars that the repository
//! refuses to this program. Reports one message per jar.

use crate::java::program_in;
use crate::progress::{Message, Voice};
use anyhow::{Context, Result, bail};
use remote::process::{self, Patience, Stream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use versions::Release;

/// Goal of Maven's plug-in that copies the resolved jars of a pom. The pom pins the plug-in's
/// version.
const COPY_GOAL: &str = "dependency:copy-dependencies";

/// Goal that unpacks the compiler's hints from the server's jar, as the pom specifies.
const UNPACK_GOAL: &str = "dependency:unpack@hints";

/// Time limit for Maven, which may fetch about 70 MB over a very slow network.
const LIMIT: Duration = Duration::from_secs(3600);
/// Maximum number of shown error lines. Maven repeats the same errors in further lines.
const FAILURES_SHOWN: usize = 6;
/// Maximum length of a line in bytes. Maven's longest lines have a few hundred bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

pub(crate) fn is_installed() -> bool {
    program().is_some()
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program_in(std::env::split_paths(&path), "mvn")
}

/// Returns the error message for a version whose jars only Maven can fetch, without Maven.
pub(crate) fn missing(release: &Release) -> String {
    let pinned = release.line().pinned;
    format!(
        "the cache does not contain the jars of Cassandra {release}. cassay pins {pinned} of this \
         line, so only Maven can list the jars, but PATH contains no mvn\nhint: install Maven 3.6 \
         or later, or set CASSANDRA_HOME to an unpacked distribution. On a machine with Maven, \
         `cassay supply export FILE --cassandra {release}` writes a file for `cassay supply import \
         FILE` here"
    )
}

/// Runs Maven on the pom in `work`. Maven writes all jars to `jars`, and the compiler's hints to a
/// folder below it. With `is_pinned`, cassay later compares every jar with a lock. Otherwise Maven
/// must refuse jars that differ from the repository's checksum, instead of only warning.
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
        "cassay downloads the jars of Cassandra {release} with Maven, once (about 70 MB)"
    )));
    let mut command = process::command(&program);
    command.arg("-B").arg("-f").arg(work.join("pom.xml")).arg(COPY_GOAL);
    command.arg(UNPACK_GOAL).arg(format!("-Dcassay.hints={}", jars.display()));
    if !is_pinned {
        command.arg("--strict-checksums");
    }
    command.arg("-DincludeScope=runtime");
    command.arg(format!("-DoutputDirectory={}", jars.display()));
    command.current_dir(work);
    let mut failures = Vec::new();
    let (mut lines, mut errors) = (Lines::default(), Lines::default());
    let status = process::listen(command, b"", Patience::up_to(LIMIT), |stream, piece| {
        match stream {
            Stream::Errors => errors.push(piece, |line| failures.push(line.to_owned())),
            Stream::Output => lines.push(piece, |line| {
                if let Some(name) = downloaded(line) {
                    voice(Message::Line(&format!("Maven: {name}")));
                } else if line.contains("[ERROR]") {
                    failures.push(line.trim_start_matches("[ERROR]").trim().to_string());
                }
            }),
        }
        failures.retain(|line| !line.is_empty());
        failures.truncate(FAILURES_SHOWN);
        Ok(())
    })?;
    let Some(status) = status else {
        bail!(
            "Maven did not end within {} s, so cassay stopped it",
            LIMIT.as_secs()
        );
    };
    if status.success() {
        return Ok(());
    }
    bail!(
        "Maven could not download Cassandra's jars ({status}): {}\nhint: check the network, and \
         Maven's proxy and mirror settings in ~/.m2/settings.xml",
        failures.join("\n  ")
    )
}

/// Assembles lines from pieces of output.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// Passes each complete line to `take`. A line that is longer than any of Maven's is passed in
    /// parts.
    fn push(&mut self, piece: &[u8], mut take: impl FnMut(&str)) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.0.extend_from_slice(part);
            if part.ends_with(b"\n") || self.0.len() > LINE_BYTES_MAX {
                take(String::from_utf8_lossy(&self.0).trim_end());
                self.0.clear();
            }
        }
    }
}

/// Returns the file name in Maven's message about a downloaded jar.
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
