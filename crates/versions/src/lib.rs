//! The only crate that describes how Cassandra's release lines differ, as data with one folder per
//! line.
//!
//! A line consists of the releases with the same number, such as 4.1, which differ only by fixes. A
//! folder has a `mod.rs` with facts about the line. `supply.lock` lists the files of the pinned
//! release with their digests, `releases.txt` the releases, and `settings.txt` the settings of its
//! `cassandra.yaml`. Some folders also have `shipped.json` and `latest.json`, the contents of the
//! settings files that come with the line. To add a line, add a folder and a row in [`LINES`]. This
//! crate starts no processes and does not use the network. It reads only the alternatives to a
//! release that the user provides: an unpacked distribution, a built tree or a tarball.
//!
//! `cargo xtask line 5.0.9` makes `settings.txt` from the release's class
//! `org.apache.cassandra.config.Config`. First come the public fields, each as `NAME KIND`. Then
//! come the settings with another name in the annotation `@Replaces`, as `OLD > NEW UNIT`. UNIT is
//! the unit of a number under the old name. `=` means that the number does not change. `?` means
//! that no number expresses the value.
//!
//! KIND is the type of the field. Simple types are `bool`, `int`, `long`, `number` and `text`.
//! `one:A|B` is an enumeration. `time:int:ms`, `size:long:MiB` or `rate:long:B/s` is a whole number
//! with a unit, and states the width of the number and the smallest unit. For lists, maps and
//! classes, KIND names the forms that the release's reader of `cassandra.yaml` accepts, such as
//! `object` or `text|list|object`. `other` stands for unknown forms. A `?` after the kind means
//! that the field is empty by default, or that the reader accepts an empty value.
//!
//! If a setting is an object of a class, each of its parts has a row with a dot in the name, as in
//! `audit_logging_options.enabled bool`. The names of the parts come from the reader too.
//!
//! The same command makes `limits.txt`. It tries many values of each setting with the release's
//! class `DatabaseDescriptor`. The file has only limits that do not follow from the types. A row
//! has one of these forms:
//!
//! - `NAME LEAST..MOST`: the range of the number. The server refuses numbers outside it. After
//!   `not 0`, it refuses 0 too. After `if OTHER WORD`, the range applies only with this setting.
//! - `NAME not WORD|WORD`: words that the server refuses.
//! - `NAME is KIND`: the kind of a text.
//! - `NAME items WORD|WORD`: the items of a list.
//! - `NAME WORD needs OTHER WORD`: a word that the server refuses unless another setting has one.
//! - `COUNT NAME <= COUNT OTHER`, also with `<`: the order of two numbers. The server compares the
//!   products. With `unless 0`, the number 0 of the larger setting means "off".
//! - `NAME = VALUE`: the default of a setting in another row.

mod cassandra_home;
mod classes;
mod digest;
mod jar;
mod kind;
mod limits;
mod line;
mod number;
mod preset;
mod quantity;
mod release;
mod release_lines;
mod settings;
mod v4_0;
mod v4_1;
mod v5_0;
mod v6_0;

pub use cassandra_home::{Home, HomeError, release_in_tarball};
pub use classes::LACKED_CLASS_HINT;
pub use digest::{digest_of, digest_of_reader, digest_of_texts};
pub use jar::member_of_jar;
pub use limits::BrokenLimit;
pub use line::{BIG_OLDEST, BTI_OLDEST, Formats, Line, is_trie};
pub use number::{is_number, whole_number};
pub use preset::Preset;
pub use release::{Release, UnknownRelease};
pub use release_lines::{DEFAULT, LINES, names};
pub use settings::{Lack, Setting, SettingRefusal};

/// The pom from which Maven resolves the files of a release. [`POM_VERSION`] is the placeholder for
/// Cassandra's version.
pub const POM: &str = include_str!("../pom.xml");

/// Text in [`POM`] that the version of Cassandra replaces.
pub const POM_VERSION: &str = "VERSION-OF-CASSANDRA";
