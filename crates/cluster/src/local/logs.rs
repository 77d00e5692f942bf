//! Logs of nodes as they are kept with a run.

use super::node::LocalNode;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use target::hidden::hidden;

impl LocalNode {
    /// Copies its logs into a folder of its name.
    ///
    /// # Errors
    /// One cannot be read or written.
    pub fn collect_logs(&self, into: &Path) -> Result<()> {
        let (from, to) = (self.layout.logs(), into.join(&self.layout.name));
        std::fs::create_dir_all(&to).with_context(|| format!("make {}", to.display()))?;
        let entries = self
            .host
            .list(&from, None)?
            .with_context(|| format!("there is no {}", from.display()))?;
        for entry in entries.iter().filter(|entry| !entry.is_folder) {
            let path = from.join(&entry.name);
            // It may be written to still: as far as it goes now.
            let log = self.host.reader(&path, 0).take(entry.bytes);
            copy(log, &entry.name, &to.join(&entry.name))
                .with_context(|| format!("copy {} to {}", path.display(), to.display()))?;
        }
        Ok(())
    }
}

/// Copies a log. A node writes the options of its JVM into its own; secrets stay out of the copy.
pub(crate) fn copy(mut log: impl Read, name: &str, to: &Path) -> std::io::Result<()> {
    const ARGUMENTS: &[u8] = b"JVM Arguments:";
    let mut writer = BufWriter::new(std::fs::File::create(to)?);
    if !name.starts_with("system.log") {
        std::io::copy(&mut log, &mut writer)?;
        return writer.flush();
    }
    let mut reader = BufReader::new(log);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let has_options = line.windows(ARGUMENTS.len()).any(|part| part == ARGUMENTS);
        if has_options {
            let text = String::from_utf8_lossy(&line);
            writer.write_all(hidden(&text).as_bytes())?;
        } else {
            writer.write_all(&line)?
        }
        line.clear();
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_log_has_no_secrets_and_all_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy");
        let log = b"INFO a\nJVM Arguments: [-Dx.password=hunter2, -ea]\n\xff\nend".as_slice();
        copy(log, "system.log", &to).unwrap();
        let copied = b"INFO a\nJVM Arguments: [-Dx.password=***, -ea]\n\xff\nend".as_slice();
        assert_eq!(std::fs::read(&to).unwrap(), copied);
        copy(log, "jvm.log", &to).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), log);
    }
}
