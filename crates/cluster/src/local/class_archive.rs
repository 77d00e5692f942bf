//! Class data sharing (CDS): the JVM maps parsed and verified classes from an archive instead of
//! loading them at every start. CDS saves a fifth of the CPU time of a start. The bytecode and the
//! JIT compilers remain the same. See `docs/decisions/029-class-data-sharing.md`.
//!
//! Each combination of a Java build and a set of jars has one archive. A node that cassay starts
//! for this purpose dumps the archive under a temporary name. The JVM refuses an archive of another
//! build, or of jars with another size or date, and then starts without it. So
//! [`super::settings_check`] verifies that each JVM has mapped the archive.

use super::nodes::Nodes;
use super::program::{Classes, Program};
use anyhow::{Context, Result, bail};
use cassandra::settings::node_report::ARCHIVE_PREFIX;
use foreign::FileKind;
use measure::clock;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::{LocalSpec, class_sharing_refusal};

/// Heap size of the node that dumps an archive, which does not depend on this size.
pub(super) const HEAP_BYTES: u64 = 512 << 20;

/// Time limit for dumping the archive when the node exits. On a quiet machine, this took 6 s.
pub(super) const WRITE_LIMIT: Duration = Duration::from_secs(300);

/// Refuses class sharing if the JVM could not map the archive.
///
/// # Errors
/// The collector or the heap size requires uncompressed object pointers.
pub(super) fn check(spec: &LocalSpec) -> Result<()> {
    match class_sharing_refusal(spec) {
        Some(why) => bail!("{why}\nhint: remove `class_sharing` from `target.local`"),
        None => Ok(()),
    }
}

impl Program {
    /// Enables or disables class sharing for future starts, as the spec requests.
    pub(super) fn share_classes(
        &mut self,
        spec: &LocalSpec,
        clusters: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        self.classes = if spec.class_sharing {
            Classes::Mapped(archive(self, clusters, say)?)
        } else {
            Classes::Loaded
        };
        Ok(())
    }
}

/// Returns the archive of a program. Dumps a missing archive with a node in the folder `clusters`.
///
/// # Errors
/// The archive cannot be dumped. The message contains the node's output.
fn archive(program: &Program, clusters: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    let path = program.cache.join(name(program)?);
    if is_checked(&path) {
        return Ok(path);
    }
    // Another command that needs the archive waits for this lock. JVMs do not inherit the lock.
    let lock = path.with_extension("lock");
    let lock = std::fs::File::create(&lock).with_context(|| format!("write {}", lock.display()))?;
    lock.lock().context("wait for the archive of another command")?;
    if is_checked(&path) {
        return Ok(path);
    }
    make(program, clusters, &path, say).context("create an archive of the server's classes")?;
    Ok(path)
}

/// Returns the archive's file name, which depends on the Java build and the jars.
fn name(program: &Program) -> Result<String> {
    let mut text = format!("{}\n{}\n", program.java.build, program.supply.release);
    for jar in program.supply.classpath.split(':') {
        let meta = std::fs::metadata(jar).with_context(|| format!("read the metadata of {jar}"))?;
        text.push_str(&format!("{jar} {} {}\n", meta.len(), meta.mtime()));
    }
    Ok(file_name(&text))
}

/// Returns the archive's file name. `text` identifies the Java build and the jars.
pub(super) fn file_name(text: &str) -> String {
    let digest = supply::digest_of_texts(&[text]);
    format!("{ARCHIVE_PREFIX}{}.jsa", &digest[..12])
}

/// Returns the path of an archive's stamp file. It contains the archive's digest, and the archive's
/// metadata at the last comparison of the digest.
fn stamp_path(archive: &Path) -> PathBuf {
    archive.with_extension("checked")
}

/// Returns true if an archive exists and is unchanged. Computes the digest only if the metadata or
/// the boot id differs from the stamp.
fn is_checked(archive: &Path) -> bool {
    let Ok(stamp) = foreign::text(FileKind::Note, stamp_path(archive)) else {
        return false;
    };
    let digest = stamp.lines().next().unwrap_or_default();
    let Ok(now) = stamp_of(archive, digest) else {
        return false;
    };
    if now == stamp {
        return true;
    }
    let is_same = supply::digest_of(archive).is_ok_and(|found| found == digest);
    // In a read-only cache, the stamp cannot be written, so every call computes the digest.
    let _ = is_same.then(|| supply::write_whole(&stamp_path(archive), &now));
    is_same
}

fn stamp_of(archive: &Path, digest: &str) -> Result<String> {
    let identity = supply::identity_of(archive)?;
    Ok(format!("{digest}\n{}\n{identity}\n", supply::boot_id()))
}

/// Starts a node that records its classes, waits until the node is up, and stops it.
fn make(program: &Program, clusters: &Path, path: &Path, say: &mut dyn FnMut(&str)) -> Result<()> {
    say("cassay creates an archive of the server's classes, once for this Java and these jars");
    let began_ns = clock::now_ns();
    let fresh = tempfile::Builder::new()
        .prefix(ARCHIVE_PREFIX)
        .tempdir_in(&program.cache)
        .with_context(|| format!("create a folder in {}", program.cache.display()))?;
    let written = fresh.path().join("classes.jsa");
    let mut recording = program.clone();
    recording.classes = Classes::Archived(written.clone());
    // The JVM considers archives that were dumped with agents to be for tests only.
    recording.supply.jolokia = None;
    let spec = LocalSpec {
        release: program.supply.release.clone(),
        heap_bytes: HEAP_BYTES,
        ..LocalSpec::default()
    };
    super::memory_and_disk::check(spec.nodes, spec.heap_bytes, clusters)?;
    let mut nodes = Nodes::new(&spec, clusters, recording, None, say)?;
    nodes.settle()?;
    nodes.bring_up(&mut |_| ())?;
    nodes.end_node(0, WRITE_LIMIT)?;
    if !written.is_file() {
        let said = nodes.node(0).log_tail();
        bail!("the JVM wrote no class archive; the output of the JVM:\n{said}");
    }
    nodes.stop()?;
    let digest = supply::digest_of(&written).context("read the archive")?;
    std::fs::rename(&written, path).with_context(|| format!("write {}", path.display()))?;
    supply::write_whole(&stamp_path(path), &stamp_of(path, &digest)?)?;
    let seconds = (clock::now_ns() - began_ns) as f64 / clock::SECOND_NS as f64;
    say(&format!(
        "cassay created the class archive in {seconds:.1} s: {}",
        path.display()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use target_spec::Collector;

    #[test]
    fn an_archive_is_believed_as_long_as_it_is_what_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("cassandra-classes-1.jsa");
        assert!(!is_checked(&archive));
        std::fs::write(&archive, "classes").unwrap();
        assert!(
            !is_checked(&archive),
            "an archive without a stamp must not pass"
        );
        let digest = supply::digest_of(&archive).unwrap();
        let stamp = stamp_of(&archive, &digest).unwrap();
        std::fs::write(stamp_path(&archive), &stamp).unwrap();
        assert!(is_checked(&archive));

        // A new file with the same bytes is read once. Afterwards, its metadata suffices.
        std::fs::remove_file(&archive).unwrap();
        std::fs::write(&archive, "classes").unwrap();
        assert!(is_checked(&archive));
        let later = std::fs::read_to_string(stamp_path(&archive)).unwrap();
        assert_eq!(later.lines().next(), Some(digest.as_str()));

        std::fs::write(&archive, "clAsses").unwrap();
        assert!(
            !is_checked(&archive),
            "an archive of the same size with other bytes"
        );
        std::fs::remove_file(&archive).unwrap();
        assert!(!is_checked(&archive));
    }

    #[test]
    fn where_no_jvm_would_take_an_archive_it_is_refused() {
        let spec = |change: &dyn Fn(&mut LocalSpec)| {
            let mut spec = LocalSpec {
                class_sharing: true,
                ..LocalSpec::default()
            };
            change(&mut spec);
            spec
        };
        check(&spec(&|_| ())).unwrap();
        let refused =
            |change: &dyn Fn(&mut LocalSpec)| check(&spec(change)).unwrap_err().to_string();
        assert!(refused(&|spec| spec.collector = Some(Collector::Z)).contains("with ZGC"));
        assert!(refused(&|spec| spec.jvm_options = vec!["-XX:+UseZGC".into()]).contains("ZGC"));
        assert!(refused(&|spec| spec.heap_bytes = 32 << 30).contains("32736MiB"));
        let z = LocalSpec {
            collector: Some(Collector::Z),
            ..LocalSpec::default()
        };
        check(&z).unwrap();
    }
}
