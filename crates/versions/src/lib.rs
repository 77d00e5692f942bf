//! The only crate that knows how lines of Cassandra's versions differ, as data: one folder per
//! line.
//!
//! A line is what Cassandra's makers maintain under one number, as 4.1: its releases differ by what
//! was mended. A folder has a `mod.rs` of facts; `supply.lock`, the files of the release that is
//! pinned with their digests; `releases.txt`, the releases that there were; and `settings.txt`,
//! what its `cassandra.yaml` may have; for some `shipped.json` and `latest.json`, what the files of
//! settings say that come with it. A new line is a new folder, and a row in [`LINES`]. Nothing here
//! starts or asks anything; what is read is what somebody has instead of a release: an unpacked
//! distribution, or a tree that was built.
//!
//! `settings.txt` is made from the release's class `org.apache.cassandra.config.Config`, by `cargo
//! xtask line 5.0.9`: first the public fields, then what is read under another name, by the
//! annotation `@Replaces`, as `OLD > NEW UNIT`. UNIT is what a number under the old name counts;
//! `=` if it stays as it is, `?` if nobody can say it by a number.

mod classes;
mod digest;
mod home;
mod jar;
mod line;
mod lines;
mod preset;
mod quantity;
mod release;
mod settings;
mod v4_0;
mod v4_1;
mod v5_0;
mod v6_0;

pub use classes::LACKED_CLASS_HINT;
pub use digest::{digest_of, digest_of_reader, digest_of_texts, hex};
pub use home::{Home, HomeError, release_in_tarball};
pub use jar::member_of_jar;
pub use line::{BIG_OLDEST, BTI_OLDEST, Formats, Line, is_trie};
pub use lines::{DEFAULT, LINES, names};
pub use preset::Preset;
pub use release::{Release, UnknownRelease};
pub use settings::{Lack, Setting, SettingRefusal};

/// What Maven resolves; [`POM_VERSION`] stands for the version of Cassandra.
pub const POM: &str = include_str!("../pom.xml");

/// What stands for the version in [`POM`].
pub const POM_VERSION: &str = "VERSION-OF-CASSANDRA";
