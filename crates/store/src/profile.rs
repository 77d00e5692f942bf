//! CPU profiles of nodes: the stacks that a profiler counted in the measured window of a trial.
//!
//! `profiles.json` lists the profiles of a trial. `profiles/NODE.collapsed` has one line per stack:
//! `pool;frame;frame COUNT`, with the outermost frame first. The writer normalizes the text of the
//! profiler: it names threads by their pool, and removes addresses and numbers that differ between
//! JVMs. Otherwise the same code would have other names on each node and in each trial.

use crate::file;
use crate::name::Name;
use crate::record::FORMAT;
use crate::run::{Trial, read_json};
use crate::trial::TrialWriter;
use crate::write::{write_json, write_whole};
use anyhow::{Context, Result, bail};
use foreign::{FileKind, OpenFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Maximum length of a line of folded stacks, bytes. The profiler reports up to 2048 frames per
/// stack, and a frame has up to 500 bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

const ENDING: &str = ".collapsed";

/// The profile of one node in the measured window of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileRecord {
    /// Name of the node.
    pub node: String,
    /// Event that the profiler sampled: `cpu`, `ctimer`, `alloc`, `lock` or `wall`.
    pub event: String,
    /// CPU time between two samples of a thread, ns. For `alloc`, the number of allocated bytes
    /// between two samples.
    pub interval_ns: u64,
    /// Time for which the profiler was active, seconds.
    pub window_s: f64,
    /// Number of operations that the whole cluster completed in that time.
    pub operations: u64,
    /// Number of samples. It is the sum of the counts in the file.
    pub samples: u64,
    /// Unit of a sample, multiplied by `interval_ns`: `ns` or `bytes`.
    pub unit: String,
    /// Path of the folded stacks in the folder of the trial. The writer fills in this field.
    pub file: String,
}

/// List of a trial's profiles, in `profiles.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ProfileListRecord {
    format: u32,
    profiles: Vec<ProfileRecord>,
}

impl TrialWriter {
    /// Writes the profiles of all nodes of the trial: `profiles.json` and
    /// `profiles/NODE.collapsed`. Each profile has its record and the folded stacks as
    /// async-profiler prints them for `threads,collapsed`. The writer normalizes the stacks, and
    /// sets `samples` and `file` of the record. Call this function before the trial ends, so that
    /// the files receive checksums.
    ///
    /// # Errors
    /// The name of a node cannot be the name of a file, a line is not a stack with a count, or a
    /// file cannot be written.
    pub fn write_profiles(&self, profiles: Vec<(ProfileRecord, String)>) -> Result<()> {
        let folder = self.path().join(file::PROFILES);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let mut record = ProfileListRecord {
            format: FORMAT,
            profiles: Vec::new(),
        };
        for (mut profile, folded) in profiles {
            let name = Name::new("node", &format!("{}{ENDING}", profile.node))?;
            let (text, samples) = normalize(&folded)
                .with_context(|| format!("read the profile of {}", profile.node))?;
            write_whole(&name.in_folder(&folder), text.as_bytes())?;
            profile.samples = samples;
            profile.file = format!("{}/{}", file::PROFILES, name.as_str());
            record.profiles.push(profile);
        }
        write_json(&self.path().join(file::PROFILES_LIST), &record).map(|_| ())
    }
}

impl Trial {
    /// Returns the profiles of the nodes. The list is empty if nothing was profiled.
    pub fn profiles(&self) -> Result<Vec<ProfileRecord>> {
        let path = self.path.join(file::PROFILES_LIST);
        if !path.exists() {
            return Ok(Vec::new());
        }
        Ok(read_json::<ProfileListRecord>(&path)?.profiles)
    }

    /// Returns the folded stacks of a profile, one line at a time.
    ///
    /// # Errors
    /// The record names a file outside its folder, or the file cannot be opened.
    pub fn folded(&self, profile: &ProfileRecord) -> Result<FoldedLines> {
        let inner = profile.file.strip_prefix(file::PROFILES);
        let inner = inner.and_then(|inner| inner.strip_prefix('/'));
        let name = Name::new("profile", inner.unwrap_or_default())?;
        FoldedLines::open(&name.in_folder(&self.path.join(file::PROFILES)))
    }
}

/// Iterator over the lines of a file of folded stacks. An item contains the stack, with `;` between
/// its frames, and the number of samples.
#[derive(Debug)]
pub struct FoldedLines {
    reader: BufReader<OpenFile>,
    path: PathBuf,
    number: usize,
}

impl FoldedLines {
    /// Opens a file of folded stacks. [`Trial::folded`] returns those of a profile.
    ///
    /// # Errors
    /// The file cannot be opened, or is larger than 64 MiB.
    pub fn open(path: &Path) -> Result<FoldedLines> {
        let opened = foreign::open(FileKind::Profile, path)
            .with_context(|| format!("open {}", path.display()))?;
        Ok(FoldedLines {
            reader: BufReader::new(opened),
            path: path.to_owned(),
            number: 0,
        })
    }

    fn read_line(&mut self) -> Result<Option<(String, u64)>> {
        let mut line = Vec::new();
        self.number += 1;
        let place = || format!("{} line {}", self.path.display(), self.number);
        let mut limited = (&mut self.reader).take(LINE_BYTES_MAX);
        let length = limited.read_until(b'\n', &mut line).with_context(place)?;
        if length == 0 {
            return Ok(None);
        }
        if length as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            bail!("{} is longer than {LINE_BYTES_MAX} bytes", place());
        }
        let line = String::from_utf8_lossy(&line);
        let (stack, count) = parse(line.trim_end()).with_context(place)?;
        Ok(Some((stack.to_owned(), count)))
    }
}

impl Iterator for FoldedLines {
    type Item = Result<(String, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_line().transpose()
    }
}

fn parse(line: &str) -> Result<(&str, u64)> {
    let parts = line
        .rsplit_once(' ')
        .and_then(|(stack, count)| Some((stack, count.parse().ok()?)));
    match parts {
        Some((stack, count)) if !stack.is_empty() => Ok((stack, count)),
        _ => bail!("the line is not a stack with a number of samples"),
    }
}

/// Returns the normalized stacks, sorted and with one line each, and the sum of their samples.
fn normalize(folded: &str) -> Result<(String, u64)> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for (index, line) in folded.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let (stack, count) = parse(line).with_context(|| format!("line {}", index + 1))?;
        let mut frames = stack.split(';').filter(|frame| !frame.is_empty());
        let mut normal = pool_of(frames.next().unwrap_or_default());
        for frame in frames {
            normal.push(';');
            normal.push_str(&frame_name(frame));
        }
        let sum = stacks.entry(normal).or_default();
        *sum = sum.saturating_add(count);
    }
    let samples = stacks.values().fold(0u64, |sum, count| sum.saturating_add(*count));
    let lines = stacks.iter().map(|(stack, count)| format!("{stack} {count}\n"));
    Ok((lines.collect(), samples))
}

/// Returns the pool of a thread: its name without numbers and addresses. For example,
/// `[Native-Transport-Requests-12 tid=345]` is a thread of `Native-Transport-Requests`.
fn pool_of(thread: &str) -> String {
    let inner = thread.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let name = inner.unwrap_or(thread);
    let name = match name.rsplit_once("tid=") {
        Some((before, id)) if is_number(id) => before.trim_end(),
        _ => name,
    };
    // Some names continue with an address: `RMI TCP Connection(2)-127.0.0.1`,
    // `Stream-Deserializer-/127.0.0.1:7000-0a1b`.
    let without_address = name.split("-/").next().unwrap_or_default();
    let name = without_address.split('(').next().unwrap_or_default();
    let mut pool = String::new();
    for (separator, part) in parts(name) {
        if !(is_number(part) && separator.is_some()) {
            pool.extend(separator);
            pool.push_str(part);
        }
    }
    // `GC Thread0` and `C2 CompilerThread0` have a number without a separator.
    let letters = pool.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.ends_with("Thread") {
        pool.truncate(letters.len());
    }
    let pool = pool.trim();
    if pool.is_empty() {
        "threads without a name".to_owned()
    } else {
        pool.to_owned()
    }
}

/// Splits the name of a thread at its separators. Returns each part with the separator before it.
fn parts(name: &str) -> Vec<(Option<char>, &str)> {
    const SEPARATORS: [char; 4] = ['-', ':', '#', '_'];
    let mut parts = Vec::new();
    let (mut separator, mut rest) = (None, name);
    while let Some(at) = rest.find(SEPARATORS) {
        parts.push((separator, &rest[..at]));
        separator = rest[at..].chars().next();
        rest = &rest[at + 1..];
    }
    parts.push((separator, rest));
    parts
}

/// Returns the name of a frame without addresses and without the numbers of generated classes.
fn frame_name(frame: &str) -> String {
    // Classes that the JVM generates have a number that depends on the order of their creation.
    const NUMBERED: [&str; 5] = [
        "Lambda$",
        "Lambda",
        "GeneratedMethodAccessor",
        "GeneratedConstructorAccessor",
        "$Proxy",
    ];
    let mut name = without_addresses(frame);
    for class in NUMBERED {
        let Some(at) = name.find(class) else { continue };
        let from = at + class.len();
        let digits = name[from..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            name.replace_range(from..from + digits, "");
            break;
        }
    }
    // Depending on its options, the profiler appends a suffix to each frame, such as `_[j]` for
    // compiled code.
    for mark in ["_[j]", "_[i]", "_[0]", "_[1]", "_[k]"] {
        if let Some(plain) = name.strip_suffix(mark) {
            name.truncate(plain.len());
        }
    }
    name
}

/// Removes hexadecimal addresses with the character before them: `/0x00007f01`, `.0x0000000800`.
fn without_addresses(frame: &str) -> String {
    let mut name = String::new();
    let mut rest = frame;
    while let Some(at) = rest.find("0x") {
        let digits = rest[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let end = at + 2 + digits;
        let before = &rest[..at];
        let is_address = digits >= 4 && before.ends_with(['/', '.', '+', '$']);
        name.push_str(if is_address {
            &before[..at - 1]
        } else {
            &rest[..end]
        });
        rest = &rest[end..];
    }
    name + rest
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_by_its_pool() {
        for (thread, pool) in [
            (
                "[Native-Transport-Requests-12 tid=345]",
                "Native-Transport-Requests",
            ),
            ("[MutationStage-1-long tid=21452]", "MutationStage-long"),
            ("[CompactionExecutor:1 tid=7]", "CompactionExecutor"),
            (
                "[PerDiskMemtableFlushWriter_0:1 tid=7]",
                "PerDiskMemtableFlushWriter",
            ),
            ("[epollEventLoopGroup-5-3 tid=7]", "epollEventLoopGroup"),
            ("[GC Thread#0 tid=7]", "GC Thread"),
            ("[G1 Conc#0 tid=7]", "G1 Conc"),
            ("[C2 CompilerThread0 tid=7]", "C2 CompilerThread"),
            (
                "[RMI TCP Connection(2)-127.0.0.1 tid=7]",
                "RMI TCP Connection",
            ),
            (
                "[Stream-Deserializer-/127.0.0.1:7000-0a1b tid=7]",
                "Stream-Deserializer",
            ),
            (
                "[PERIODIC-COMMIT-LOG-SYNCER tid=7]",
                "PERIODIC-COMMIT-LOG-SYNCER",
            ),
            ("[tid=7]", "threads without a name"),
            ("ReadStage", "ReadStage"),
        ] {
            assert_eq!(pool_of(thread), pool, "{thread}");
            assert_eq!(pool_of(pool), pool, "the second time");
        }
    }

    #[test]
    fn the_same_code_has_the_same_name_in_every_jvm() {
        for (frame, name) in [
            (
                "a/B$$Lambda$12/0x00007f8e1c0d2a40.apply",
                "a/B$$Lambda$.apply",
            ),
            ("a/B$$Lambda/0x00007f8e1c0d2a40.apply", "a/B$$Lambda.apply"),
            ("a/B$$Lambda.0x00007f8e1c0d2a40.apply", "a/B$$Lambda.apply"),
            (
                "jdk/GeneratedMethodAccessor77.invoke",
                "jdk/GeneratedMethodAccessor.invoke",
            ),
            ("com/sun/proxy/$Proxy31.call", "com/sun/proxy/$Proxy.call"),
            ("a/Murmur3.hash", "a/Murmur3.hash"),
            ("a/B.c_[j]", "a/B.c"),
            ("read+0x1f8a", "read"),
            ("parse0x", "parse0x"),
        ] {
            assert_eq!(frame_name(frame), name);
            assert_eq!(frame_name(name), name, "the second time");
        }
    }

    /// Pattern of the generated texts: any characters, or a stack with a count.
    const TEXTS: &str = "[ -~\\n]{0,80}|([a-z0x$/.;+-]{1,9};?){1,9} [0-9]{1,9}";

    proptest::proptest! {
        #[test]
        fn any_text_is_normalized_once(text in TEXTS) {
            if let Ok((once, samples)) = normalize(&text) {
                let (twice, same) = normalize(&once).expect("normal text is readable");
                proptest::prop_assert_eq!(samples, same);
                // Removing a number or an address may leave text that looks like an address, which
                // the second pass removes.
                proptest::prop_assert!(twice.len() <= once.len());
            }
        }
    }

    #[test]
    fn equal_stacks_become_one_line() {
        let raw =
            "[ReadStage-1 tid=1];a/B.c;d/E.f 3\n\n[ReadStage-2 tid=2];a/B.c;d/E.f 4\n[G 1] 5\n";
        let (text, samples) = normalize(raw).unwrap();
        assert_eq!(text, "G 1 5\nReadStage;a/B.c;d/E.f 7\n");
        assert_eq!(samples, 12);
    }

    #[test]
    fn a_line_without_a_count_is_refused_with_its_number() {
        for bad in ["a;b 1\na;b", "a 1\na;b x", "a 1\n 5", "a 1\na -1"] {
            let why = format!("{:#}", normalize(bad).unwrap_err());
            assert!(why.starts_with("line 2: "), "{bad:?}: {why}");
        }
    }
}
