//! Cassandra that the user provides instead of a Maven release: a folder, a tarball of a
//! distribution, or a build command.

use crate::Supply;
use crate::files::{digest_of, name_of, write_whole};
use crate::fill::fresh;
use crate::progress::{Message, Voice};
use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use foreign::FileKind;
use remote::process::{self, Patience, Stream};
use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use target_spec::BuildIdentity;
use versions::Home;

/// Prefix of folders with unpacked distributions.
const UNPACKED: &str = "tarball-";

/// File that marks such a folder as complete.
const WHOLE: &str = "cassay-unpacked";

/// Maximum unpacked size of a distribution in bytes. Current distributions have about 120 MB.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// Number of shown lines at the end of each output stream of a failed build.
const LINES_SHOWN: usize = 20;
/// Number of kept bytes at the end of each output stream of a build. A compiler prints long lines.
const SHOWN_BYTES_MAX: usize = 64 << 10;

/// Time limit of a build. Building Cassandra and fetching its jars takes about ten minutes.
const BUILD_LIMIT: Duration = Duration::from_secs(2 * 3600);

/// Returns the files in a folder from which nodes start.
///
/// # Errors
/// The folder is neither a distribution nor a built source tree, or one of its jars cannot be read.
pub(crate) fn read_home(folder: &Path, jolokia: Option<PathBuf>) -> Result<Supply> {
    let home = Home::read(folder)?;
    let digest = home.digest().with_context(|| format!("read {}", folder.display()))?;
    let paths: Vec<String> = home.jars.iter().map(|path| path.display().to_string()).collect();
    let commit = home.commit();
    Ok(Supply {
        classpath: paths.join(":"),
        jamm: home.jamm,
        jolokia,
        compiler_hints: home.compiler_hints,
        profiler: None,
        release: home.release,
        build: Some(BuildIdentity { digest, commit }),
    })
}

/// Returns the folder of an unpacked tarball, after a check of the tarball's digest. Unpacks each
/// tarball only once.
///
/// # Errors
/// The file has another digest, is not a gzipped tar archive, or does not contain exactly one
/// folder.
pub(crate) fn unpacked(
    cache: &Path,
    file: &Path,
    sha256: &str,
    voice: &mut Voice<'_>,
) -> Result<PathBuf> {
    let found = digest_of(file).with_context(|| format!("read {}", file.display()))?;
    ensure!(
        found.eq_ignore_ascii_case(sha256),
        "{} is not the expected file: its SHA-256 is {found}, not {sha256}",
        file.display()
    );
    let folder = cache.join(format!("{UNPACKED}{found}"));
    if let Ok(name) = foreign::text(FileKind::Supply, folder.join(WHOLE)) {
        return Ok(folder.join(name));
    }
    voice(Message::Line(&format!(
        "unpacking {}, once",
        file.display()
    )));
    let fresh = fresh(&folder)?;
    let what = || format!("unpack {}", file.display());
    let opened = foreign::open(FileKind::Archive, file).with_context(what)?;
    let limited = GzDecoder::new(BufReader::new(opened)).take(UNPACKED_BYTES_MAX);
    // The library skips paths outside the folder.
    tar::Archive::new(limited).unpack(fresh.path()).with_context(what)?;
    let entries = std::fs::read_dir(fresh.path()).with_context(what)?;
    let mut inner = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let (Some(only), None) = (inner.next(), inner.next()) else {
        bail!(
            "{} does not contain exactly one folder, so it is not a distribution",
            file.display()
        );
    };
    let name = name_of(&only).with_context(what)?.to_owned();
    write_whole(&fresh.path().join(WHOLE), &name)?;
    match std::fs::rename(fresh.path(), &folder) {
        Ok(()) => {}
        // Another cassay process has unpacked the tarball first.
        Err(_) if folder.join(WHOLE).is_file() => {}
        Err(error) => return Err(error).with_context(what),
    }
    Ok(folder.join(name))
}

/// Finished builds. Each build runs only once, even if this process starts several clusters.
static BUILT: Mutex<BTreeSet<(Vec<String>, PathBuf)>> = Mutex::new(BTreeSet::new());

/// Runs the build command in its folder, unless this process has already done so.
///
/// # Errors
/// The command cannot be started or fails. The message contains the last lines of its output.
pub(crate) fn build(command: &[String], home: &Path, voice: &mut Voice<'_>) -> Result<()> {
    let mut built = BUILT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let key = (command.to_vec(), home.to_owned());
    if built.contains(&key) {
        return Ok(());
    }
    let shown = command.join(" ");
    let (program, arguments) =
        command.split_first().context("find the program of the build command")?;
    voice(Message::Line(&format!(
        "building in {}: {shown}",
        home.display()
    )));
    let mut command = process::command(Path::new(program));
    command.args(arguments).current_dir(home);
    let what = || format!("run `{shown}` in {}", home.display());
    let (mut output, mut errors) = (LastLines::default(), LastLines::default());
    let status = process::listen(
        command,
        b"",
        Patience::up_to(BUILD_LIMIT),
        |stream, piece| {
            match stream {
                Stream::Output => output.push(piece),
                Stream::Errors => errors.push(piece),
            }
            Ok(())
        },
    )
    .with_context(what)?;
    let ended = match status {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("ended with {status}")),
        None => Some(format!("did not end within {} s", BUILD_LIMIT.as_secs())),
    };
    if let Some(ended) = ended {
        let mut lines = output.lines();
        lines.extend(errors.lines());
        bail!(
            "the build `{shown}` in {} {ended}; the last lines of its output:\n{}",
            home.display(),
            lines.join("\n")
        );
    }
    built.insert(key);
    Ok(())
}

#[derive(Default)]
struct LastLines(Vec<u8>);

impl LastLines {
    fn push(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
        // With large steps, each byte is moved only once or twice.
        if self.0.len() > 2 * SHOWN_BYTES_MAX {
            self.0.drain(..self.0.len() - SHOWN_BYTES_MAX);
        }
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.0);
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.len().saturating_sub(LINES_SHOWN);
        lines[first..].iter().map(|line| (*line).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn tarball(folder: &Path, names: &[&str]) -> (PathBuf, String) {
        let file = folder.join("c.tar.gz");
        let fast = flate2::Compression::fast();
        let packed = flate2::write::GzEncoder::new(File::create(&file).unwrap(), fast);
        let mut tar = tar::Builder::new(packed);
        for name in names {
            let mut header = tar::Header::new_ustar();
            header.set_size(4);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, &b"jar\n"[..]).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        let digest = digest_of(&file).unwrap();
        (file, digest)
    }

    #[test]
    fn the_end_of_what_a_program_says_is_kept_whatever_it_says() {
        let mut last = LastLines::default();
        assert!(last.lines().is_empty());
        for number in 0..100 {
            last.push(format!("line {number}\nline ").as_bytes());
            last.push(format!("{number} b\n").as_bytes());
        }
        let lines = last.lines();
        assert_eq!((lines.len(), &*lines[19]), (LINES_SHOWN, "line 99 b"));
        for _ in 0..100 {
            last.push(&[b'x'; 10_000]);
        }
        assert!(last.0.len() <= 3 * SHOWN_BYTES_MAX);
        assert_eq!(last.lines().len(), 1);
    }

    #[test]
    fn a_tarball_is_compared_and_unpacked_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache");
        let names = [
            "c-5.0.9/lib/apache-cassandra-5.0.9.jar",
            "c-5.0.9/lib/jamm-0.4.0.jar",
        ];
        let (file, digest) = tarball(folder.path(), &names);
        let mut said = 0;
        let mut voice = |_: Message<'_>| said += 1;
        let error = unpacked(&cache, &file, &"0".repeat(64), &mut voice).unwrap_err();
        assert!(
            error.to_string().contains(&format!("its SHA-256 is {digest}")),
            "{error}"
        );
        let first = unpacked(&cache, &file, &digest.to_uppercase(), &mut voice).unwrap();
        assert_eq!(unpacked(&cache, &file, &digest, &mut voice).unwrap(), first);
        assert_eq!(said, 1);
        let supply = read_home(&first, None).unwrap();
        assert_eq!(supply.release.version(), "5.0.9");
        assert!(supply.build.is_some());
        let (file, digest) = tarball(folder.path(), &["a/x", "b/y"]);
        let error = unpacked(&cache, &file, &digest, &mut |_: Message<'_>| ()).unwrap_err();
        assert!(error.to_string().contains("exactly one folder"), "{error}");
    }

    #[test]
    fn a_build_runs_once_and_one_that_fails_shows_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let command = ["sh", "-c", script].map(str::to_owned);
            build(&command, folder.path(), &mut |_: Message<'_>| ())
        };
        let script = "echo x >> built";
        run(script).unwrap();
        run(script).unwrap();
        let text = std::fs::read_to_string(folder.path().join("built")).unwrap();
        assert_eq!(text, "x\n");
        let error = run("echo begun; echo no compiler >&2; exit 3").unwrap_err().to_string();
        assert!(
            error.contains("no compiler") && error.contains("exit status: 3"),
            "{error}"
        );
        let none = ["/not/there".to_owned()];
        assert!(build(&none, folder.path(), &mut |_: Message<'_>| ()).is_err());
    }
}
