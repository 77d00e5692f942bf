//! The only crate that knows how lines of Cassandra's versions differ, as data: one folder per line.
//!
//! A line is what Cassandra's makers maintain under one number, as 4.1: its releases differ by what
//! was mended. A folder has a `mod.rs` of facts; `supply.lock`, the files of the release that is
//! pinned with their digests; and `settings.txt`, what its `cassandra.yaml` may have. A new line is
//! a new folder, and a line in [`LINES`]. Nothing here starts or asks anything; what is read is what somebody has
//! instead of a release: an unpacked distribution, or a tree that was built.
//!
//! `settings.txt` is made from the release's class `org.apache.cassandra.config.Config`, by `cargo
//! xtask line 5.0.8`: first the public fields, then what is read under another name, by the
//! annotation `@Replaces`, as `OLD > NEW UNIT`. UNIT is what a number under the old name counts; `=`
//! if it stays as it is, `?` if nobody can say it by a number.

mod digest;
mod home;
mod quantity;
mod release;
mod settings;
mod v4_0;
mod v4_1;
mod v5_0;
mod v6_0;

pub use digest::{digest_of, digest_of_reader, digest_of_texts, hex};
pub use home::{Home, HomeError, commit_at, release_in_tarball};
pub use release::{Release, UnknownRelease};
pub use settings::{Lack, Setting, SettingRefusal};

/// What Maven resolves; [`POM_VERSION`] stands for the version of Cassandra.
pub const POM: &str = include_str!("../pom.xml");

/// What stands for the version in [`POM`].
pub const POM_VERSION: &str = "VERSION-OF-CASSANDRA";

/// All lines, the oldest first.
pub static LINES: [&Line; 4] = [&v4_0::LINE, &v4_1::LINE, &v5_0::LINE, &v6_0::LINE];

/// The line that is taken where none is named: the newest one that is no preview.
pub static DEFAULT: &Line = &v5_0::LINE;

/// Releases that differ only by what was mended.
#[derive(Debug)]
pub struct Line {
    /// `4.1`.
    pub name: &'static str,
    /// The release whose files are in [`Line::lock`]: the newest when the folder was made.
    pub pinned: &'static str,
    /// SHA-256, bytes and place of each file of that release, a line each.
    pub lock: &'static str,
    /// Settings, as the crate's documentation says.
    settings: &'static str,
    /// Settings that went without a successor of the same meaning, and what to do instead.
    gone: &'static [(&'static str, &'static str)],
    /// Major versions of Java that its makers run it on.
    pub java_supported: &'static [u32],
    /// Those that it is known to start on with our options.
    pub java_seen: &'static [u32],
    /// The letters in its SSTables' names.
    pub formats: Formats,
    /// Whether a node comes up without the agent that measures objects: what older lines do instead
    /// fails on the hidden classes that Java has since 15.
    pub starts_without_jamm: bool,
    /// Whether every metric is a virtual table of the keyspace `system_metrics`.
    pub has_metrics_tables: bool,
    /// Whether nodes agree on a log of the cluster's metadata with an epoch
    /// (`system_views.cluster_metadata_log`), instead of telling each other of the ring.
    pub has_cluster_metadata: bool,
}

/// Formats of SSTables by the letters in their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// The newest of the format that has been there since the beginning, `big`.
    pub big: &'static str,
    /// The newest of that with tries for an index, `bti`, if the line has it.
    pub bti: Option<&'static str>,
    /// What a node writes where nothing is said: with `storage_compatibility_mode: CASSANDRA_4`,
    /// which 5.0 takes then, that is what 4.1 writes.
    pub as_shipped: &'static str,
}

/// The oldest of `big` that all lines read: of Cassandra 3.0.
pub const BIG_OLDEST: &str = "ma";

/// The oldest of `bti` that those lines read which have it.
pub const BTI_OLDEST: &str = "da";

impl Formats {
    /// Whether files whose names have these letters are read.
    pub fn reads(&self, letters: &str) -> bool {
        match letters.as_bytes().first() {
            Some(b'd'..=b'l') => self.bti.is_some_and(|bti| (BTI_OLDEST..=bti).contains(&letters)),
            _ => (BIG_OLDEST..=self.big).contains(&letters),
        }
    }

    /// Which are read, for sentences: `ma to oa, and da to da`.
    pub fn said(&self) -> String {
        let bti = self.bti.map(|bti| match bti {
            BTI_OLDEST => format!(", and {bti}"),
            _ => format!(", and {BTI_OLDEST} to {bti}"),
        });
        format!("{BIG_OLDEST} to {}{}", self.big, bti.unwrap_or_default())
    }
}

impl Line {
    /// The line of a version, as `5.0.8`, `6.0-alpha2` or just `4.1`.
    pub fn of(version: &str) -> Option<&'static Line> {
        let is_of = |line: &&&Line| {
            let rest = version.strip_prefix(line.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
        };
        LINES.iter().find(is_of).copied()
    }

    /// Where it is among the lines, the oldest being 0: those with more are newer.
    pub fn age(&self) -> usize {
        LINES.iter().position(|line| line.name == self.name).unwrap_or_default()
    }

    /// The line after it, if we have one.
    pub fn next(&self) -> Option<&'static Line> {
        LINES.get(self.age() + 1).copied()
    }
}

/// The names of all lines, for sentences: `4.0, 4.1, 5.0 and 6.0`.
pub fn names() -> String {
    let names: Vec<&str> = LINES.iter().map(|line| line.name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_of_the_line_whose_number_it_begins_with() {
        let name = |version: &str| Line::of(version).map(|line| line.name);
        assert_eq!(name("4.1"), Some("4.1"));
        assert_eq!(name("4.1.10"), Some("4.1"));
        assert_eq!(name("6.0-alpha2"), Some("6.0"));
        for other in ["4.10.1", "3.11.19", "5.00", "15.0.1", ""] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(names(), "4.0, 4.1, 5.0 and 6.0");
        assert_eq!(
            Line::of("4.1").and_then(Line::next).map(|line| line.name),
            Some("5.0")
        );
        assert!(
            LINES
                .iter()
                .all(|line| Line::of(line.pinned).is_some_and(|own| own.name == line.name))
        );
    }

    #[test]
    fn files_of_a_later_line_are_not_read() {
        let reads = |name: &str, letters: &str| Line::of(name).unwrap().formats.reads(letters);
        for (line, read, not) in [
            ("4.0", &["ma", "nb"][..], &["oa", "da", "la"][..]),
            ("5.0", &["nb", "oa", "da"], &["pa", "ea"]),
            ("6.0", &["nb", "oa", "pa", "da", "ea"], &["qa", "fa"]),
        ] {
            assert!(read.iter().all(|letters| reads(line, letters)), "{line}");
            assert!(!not.iter().any(|letters| reads(line, letters)), "{line}");
        }
        assert_eq!(
            Line::of("6.0").unwrap().formats.said(),
            "ma to pa, and da to ea"
        );
        assert_eq!(Line::of("4.1").unwrap().formats.said(), "ma to nb");
    }

    #[test]
    fn every_line_has_a_lock_of_its_own_release_and_settings() {
        for line in LINES {
            let server = format!("cassandra-all-{}.jar", line.pinned);
            assert!(line.lock.contains(&server), "{}", line.name);
            assert!(line.has_setting("cluster_name") && line.has_setting("num_tokens"));
            assert!(line.java_seen.contains(&17), "{}", line.name);
        }
        assert!(POM.contains(POM_VERSION));
    }
}
