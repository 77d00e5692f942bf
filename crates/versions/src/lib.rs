//! The only crate that knows how Cassandra's release lines differ, as data with one folder per
//! line.
//!
//! A line consists of the releases with the same number, such as 4.1, which differ only by fixes. A
//! folder has a `mod.rs` with facts about the line. `supply.lock` lists the files of the pinned
//! release with their digests, `releases.txt` the releases, and `settings.txt` the settings of its
//! `cassandra.yaml`. Some folders also have `shipped.json` and `latest.json`, the contents of the
//! settings files that come with the line. To add a line, add a folder and a row in [`LINES`]. This
//! crate starts no processes and does not use the network. It only reads alternatives to a release
//! that the user provides: an unpacked distribution or a built tree.
//!
//! `cargo xtask line 5.0.9` makes `settings.txt` from the release's class
//! `org.apache.cassandra.config.Config`. First come the public fields, each as `NAME KIND`. Then
//! come the settings with another name in the annotation `@Replaces`, as `OLD > NEW UNIT`. UNIT is
//! the unit of a number under the old name. `=` means that the number does not change. `?` means
//! that no number expresses the value.
//!
//! KIND is the type of the field. Simple types are `bool`, `int`, `long`, `number` and `text`.
//! `one:A|B` is an enumeration. `time:int:ms`, `size:long:MiB` or `rate:long:B/s` is a whole number
//! with a unit, and states the width of the number and the smallest unit. `other` stands for lists,
//! maps and classes. A `?` after the kind means that the field is empty by default.

mod classes;
mod digest;
mod home;
mod jar;
mod kind;
mod line;
mod preset;
mod quantity;
mod release;
mod release_lines;
mod settings;
mod v4_0;
mod v4_1;
mod v5_0;
mod v6_0;

pub use classes::LACKED_CLASS_HINT;
pub use digest::{digest_of, digest_of_reader, digest_of_texts};
pub use home::{Home, HomeError, release_in_tarball};
pub use jar::member_of_jar;
pub use line::{BIG_OLDEST, BTI_OLDEST, Formats, Line, is_trie};
pub use preset::Preset;
pub use release::{Release, UnknownRelease};
pub use release_lines::{DEFAULT, LINES, names};
pub use settings::{Lack, Setting, SettingRefusal};

/// The pom from which Maven resolves the files of a release. [`POM_VERSION`] is the placeholder for
/// Cassandra's version.
pub const POM: &str = include_str!("../pom.xml");

/// Text in [`POM`] that the version of Cassandra replaces.
pub const POM_VERSION: &str = "VERSION-OF-CASSANDRA";
