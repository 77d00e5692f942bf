//! Writes the archive that the kernel unpacks as its first file system. The archive is a cpio
//! archive in the format newc, which the kernel documents in
//! Documentation/driver-api/early-userspace/buffer-format.rst. All functions are pure.

use std::collections::BTreeSet;

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// An archive that is being written. All its files are executable.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    count: u32,
}

impl Archive {
    /// Adds a file with its parent folders. `path` must not begin with `/`.
    pub fn file(&mut self, path: &str, content: &[u8]) {
        for (end, _) in path.match_indices('/') {
            self.folder(&path[..end]);
        }
        self.entry(path, PROGRAM, content);
    }

    /// Adds a folder. Its parent folders must already exist.
    pub fn folder(&mut self, path: &str) {
        if self.folders.insert(path.to_owned()) {
            self.entry(path, FOLDER, &[]);
        }
    }

    /// Completes the archive and returns it.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.count += 1;
        let (size, name) = (content.len() as u32, path.len() as u32 + 1);
        // The fields are inode, mode, user, group, links, time, size, device (two fields), special
        // file (two fields), name length and checksum.
        let fields = [self.count, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    /// Pads the archive to a multiple of 4 bytes, because headers and contents must start at such a
    /// multiple.
    fn pad(&mut self) {
        let length = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_each_folder_once_and_is_aligned_to_four_bytes() {
        let mut archive = Archive::default();
        archive.file("a/b/one", b"12345");
        archive.file("a/b/two", b"");
        let bytes = archive.finish();
        let starts: Vec<usize> =
            (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"070701")).collect();
        assert!(starts.iter().all(|start| start % 4 == 0), "{starts:?}");
        let names: Vec<String> = starts
            .iter()
            .map(|start| {
                let name = &bytes[start + 110..];
                let end = name.iter().position(|&byte| byte == 0).unwrap();
                String::from_utf8_lossy(&name[..end]).into_owned()
            })
            .collect();
        assert_eq!(names, ["a", "a/b", "a/b/one", "a/b/two", "TRAILER!!!"]);
        let header = String::from_utf8_lossy(&bytes[starts[2]..starts[2] + 110]).into_owned();
        assert_eq!(&header[14..22], "000081ed", "a file that can be run");
        assert_eq!(
            (&header[54..62], &header[94..102]),
            ("00000005", "00000008")
        );
    }
}
