//! Logs of nodes as they are kept with a run.

use crate::hidden::hidden;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Copies a log. A node writes the options of its JVM into its own; secrets stay out of the copy.
pub(super) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    const ARGUMENTS: &[u8] = b"JVM Arguments:";
    let is_nodes_own = |name: &OsStr| name.as_encoded_bytes().starts_with(b"system.log");
    if !from.file_name().is_some_and(is_nodes_own) {
        return std::fs::copy(from, to).map(|_| ());
    }
    let mut reader = BufReader::new(std::fs::File::open(from)?);
    let mut writer = BufWriter::new(std::fs::File::create(to)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let has_options = line.windows(ARGUMENTS.len()).any(|part| part == ARGUMENTS);
        match has_options {
            true => {
                let text = String::from_utf8_lossy(&line);
                writer.write_all(hidden(&text).as_bytes())?;
            }
            false => writer.write_all(&line)?,
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
        let (from, to) = (folder.path().join("system.log"), folder.path().join("copy"));
        let log = b"INFO a\nJVM Arguments: [-Dx.password=hunter2, -ea]\n\xff\nend".as_slice();
        std::fs::write(&from, log).unwrap();
        copy(&from, &to).unwrap();
        let copied = b"INFO a\nJVM Arguments: [-Dx.password=***, -ea]\n\xff\nend".as_slice();
        assert_eq!(std::fs::read(&to).unwrap(), copied);
    }
}
