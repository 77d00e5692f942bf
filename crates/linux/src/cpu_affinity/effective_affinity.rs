//! Reads from the kernel the permitted CPUs of each thread of a process, and the location of its
//! memory.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use topology::CpuSet;

/// Maximum number of times that the threads are listed. The limit is necessary because two lists
/// may never agree if a program keeps starting and ending threads.
const LISTINGS_MAX: usize = 5;

/// Affinity and memory of a process and all its threads, from `/proc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveAffinity {
    /// Number of threads of the process.
    pub threads: usize,
    /// Each set of CPUs on which threads may run, with the number of threads that have exactly this
    /// set.
    pub cpus: BTreeMap<CpuSet, usize>,
    /// Each set of NUMA nodes from which threads may get memory, with the number of threads that
    /// have exactly this set.
    pub memory_nodes: BTreeMap<CpuSet, usize>,
    /// Resident bytes by NUMA node. The map is empty if the kernel does not report them.
    pub resident_bytes: BTreeMap<u32, u64>,
    /// Resident bytes by memory policy, such as `default`, `bind:0` or `interleave:0-1`.
    pub policy_bytes: BTreeMap<String, u64>,
}

impl EffectiveAffinity {
    /// Returns the CPUs on which at least one thread of the process may run.
    pub fn all_cpus(&self) -> CpuSet {
        self.cpus.keys().flat_map(CpuSet::iter).collect()
    }

    /// Returns the NUMA nodes from which at least one thread of the process may get memory.
    pub fn all_memory_nodes(&self) -> CpuSet {
        self.memory_nodes.keys().flat_map(CpuSet::iter).collect()
    }

    /// Reads the affinity and the memory of the calling process.
    ///
    /// # Errors
    /// The format of the kernel's text is unknown.
    pub fn own() -> Result<EffectiveAffinity> {
        EffectiveAffinity::read(Path::new("/proc/self"))
    }

    /// Reads the affinity and the memory of the process with this folder in `/proc`.
    ///
    /// # Errors
    /// The process has ended, or the format of the kernel's text is unknown.
    pub fn read(folder: &Path) -> Result<EffectiveAffinity> {
        let mut found = EffectiveAffinity::default();
        for (path, status) in threads(&folder.join("task"))? {
            let list = |key: &str| list(&status, key, &path);
            *found.cpus.entry(list("Cpus_allowed_list:")?).or_default() += 1;
            let nodes = list("Mems_allowed_list:")?;
            *found.memory_nodes.entry(nodes).or_default() += 1;
            found.threads += 1;
        }
        anyhow::ensure!(found.threads > 0, "{} has no thread", folder.display());
        let maps = folder.join("numa_maps");
        match std::fs::read(&maps) {
            // A kernel without NUMA does not have this file, so its absence is not an error.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            text => {
                let text = text.with_context(|| format!("read {}", maps.display()))?;
                // The paths of files in the text may contain any bytes.
                found.add_maps(&String::from_utf8_lossy(&text));
            }
        }
        Ok(found)
    }

    /// Adds the lines of `numa_maps`, such as `55d0 bind:0 heap anon=3 N0=3 kernelpagesize_kB=4`.
    fn add_maps(&mut self, maps: &str) {
        for line in maps.lines() {
            let mut words = line.split_ascii_whitespace().skip(1);
            let Some(policy) = words.next() else {
                continue;
            };
            let pairs: Vec<(&str, u64)> = words
                .filter_map(|word| word.split_once('='))
                .filter_map(|(key, value)| Some((key, value.parse().ok()?)))
                .collect();
            let page = pairs.iter().find(|(key, _)| *key == "kernelpagesize_kB");
            let page_bytes = page.map_or(4096, |(_, kib)| kib.saturating_mul(1024));
            for (key, pages) in &pairs {
                let node = key.strip_prefix('N').and_then(|node| node.parse().ok());
                let Some(node) = node else {
                    continue;
                };
                let bytes = pages.saturating_mul(page_bytes);
                *self.resident_bytes.entry(node).or_default() += bytes;
                *self.policy_bytes.entry(policy.to_owned()).or_default() += bytes;
            }
        }
    }
}

/// Returns the `status` of each thread, with its path. The function lists the threads until two
/// lists agree. With a single list, a thread that started in the meantime would be missing, and
/// this thread might run on other CPUs.
fn threads(tasks: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut listed = listing(tasks)?;
    let mut read = Vec::new();
    for _ in 0..LISTINGS_MAX {
        read.clear();
        for thread in &listed {
            let path = tasks.join(thread).join("status");
            match std::fs::read(&path) {
                Err(error) if has_ended(&error) => {}
                text => {
                    let text = text.with_context(|| format!("read {}", path.display()))?;
                    // The kernel truncates the name to 15 bytes, even within a character, so the
                    // text may not be valid UTF-8.
                    read.push((path, String::from_utf8_lossy(&text).into_owned()));
                }
            }
        }
        let again = listing(tasks)?;
        if again == listed {
            break;
        }
        listed = again;
    }
    Ok(read)
}

fn listing(tasks: &Path) -> Result<BTreeSet<OsString>> {
    let entries = std::fs::read_dir(tasks).with_context(|| format!("list {}", tasks.display()))?;
    let names = entries.map(|entry| Ok(entry.context("list threads")?.file_name()));
    names.collect()
}

/// Returns true if the error means that a thread has ended. Other errors, such as a lack of
/// descriptors or permissions, do not mean that.
fn has_ended(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Parses the list after a key of a `status` file.
fn list(status: &str, key: &str, path: &Path) -> Result<CpuSet> {
    let text = status
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .with_context(|| format!("{} has no {key}", path.display()))?;
    let set = CpuSet::parse_list(text).map_err(anyhow::Error::msg);
    set.with_context(|| format!("read {key} of {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_pages_are_counted_by_where_they_are() {
        let root = tempfile::tempdir().unwrap();
        for (thread, cpus) in [(7, "0-1,56"), (8, "0-1,56"), (9, "3")] {
            let folder = root.path().join(format!("task/{thread}"));
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!("Name:\tx\nCpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0\n");
            std::fs::write(folder.join("status"), text).unwrap();
        }
        let maps = "7f00 bind:0 anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=4\n\
                    7f10 default file=/a N=b mapped=9 N0=1 kernelpagesize_kB=2048\n\
                    7f20 interleave:0-1 stack N12=1\n7f30\n\n";
        std::fs::write(root.path().join("numa_maps"), maps).unwrap();
        let found = EffectiveAffinity::read(root.path()).unwrap();
        assert_eq!(found.threads, 3);
        assert_eq!(found.all_cpus().to_string(), "0-1,3,56");
        let threads: Vec<usize> = found.cpus.values().copied().collect();
        assert_eq!(threads.iter().sum::<usize>(), 3);
        assert_eq!(threads.len(), 2);
        assert_eq!(
            found.resident_bytes,
            [(0, 8192 + (2 << 20)), (1, 4096), (12, 4096)].into()
        );
        assert_eq!(found.policy_bytes["bind:0"], 12288);
        assert_eq!(found.policy_bytes["interleave:0-1"], 4096);
    }

    /// cassay once omitted a thread whose name was not valid UTF-8, as if the thread had ended. It
    /// also treated a mapped file with such a name as missing.
    #[test]
    fn names_of_any_bytes_hide_neither_threads_nor_pages() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("task/7");
        std::fs::create_dir_all(&folder).unwrap();
        // This thread ended after it was listed.
        std::fs::create_dir_all(root.path().join("task/8")).unwrap();
        let text = b"Name:\tr\xc3\nCpus_allowed_list:\t5\nMems_allowed_list:\t0\n";
        std::fs::write(folder.join("status"), text).unwrap();
        let maps = b"7f10 default file=/\xff mapped=9 N1=9 kernelpagesize_kB=4\n";
        std::fs::write(root.path().join("numa_maps"), maps).unwrap();
        let found = EffectiveAffinity::read(root.path()).unwrap();
        assert_eq!(
            (found.threads, found.all_cpus().to_string()),
            (1, "5".to_owned())
        );
        assert_eq!(found.resident_bytes, [(1, 9 * 4096)].into());
    }

    /// A directory instead of a file simulates a missing permission or file descriptor.
    #[test]
    fn an_unreadable_file_is_an_error_and_not_absent() {
        let root = tempfile::tempdir().unwrap();
        for (thread, is_readable) in [(7, true), (8, false)] {
            let status = root.path().join(format!("task/{thread}/status"));
            std::fs::create_dir_all(status.parent().unwrap()).unwrap();
            if is_readable {
                std::fs::write(&status, "Cpus_allowed_list:\t5\nMems_allowed_list:\t0\n")
            } else {
                std::fs::create_dir(&status)
            }
            .unwrap();
        }
        let error = format!("{:#}", EffectiveAffinity::read(root.path()).unwrap_err());
        assert!(error.contains("task/8/status"), "{error}");
        std::fs::remove_dir_all(root.path().join("task/8")).unwrap();
        assert!(EffectiveAffinity::read(root.path()).unwrap().resident_bytes.is_empty());
        std::fs::create_dir(root.path().join("numa_maps")).unwrap();
        let error = format!("{:#}", EffectiveAffinity::read(root.path()).unwrap_err());
        assert!(error.contains("numa_maps"), "{error}");
    }

    #[test]
    fn a_process_that_has_ended_or_says_nothing_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        assert!(EffectiveAffinity::read(&root.path().join("none")).is_err());
        std::fs::create_dir_all(root.path().join("task")).unwrap();
        let error = EffectiveAffinity::read(root.path()).unwrap_err().to_string();
        assert!(error.contains("has no thread"), "{error}");
        std::fs::create_dir_all(root.path().join("task/1")).unwrap();
        std::fs::write(root.path().join("task/1/status"), "Name:\tx\n").unwrap();
        let error = EffectiveAffinity::read(root.path()).unwrap_err().to_string();
        assert!(error.contains("has no Cpus_allowed_list"), "{error}");
    }
}
