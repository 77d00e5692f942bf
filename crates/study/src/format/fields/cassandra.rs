//! The rows of the Cassandra version and the Java version of local nodes.

use super::row::{SECTION, optional, required, with};
use crate::format::field::{Field, Type};
use target_spec::JavaChoice;

pub(super) const FIELDS: &[Field] = &[
    with(
        "target.local.cassandra",
        Type::Either(
            &Type::Name(|d, text| d.release = Some(text.into())),
            &Type::Section(|_| {}),
        ),
        versions::DEFAULT.pinned,
        "Which Apache Cassandra: a release, as `4.1.10`, or a line, as `4.1`, which means the \
         newest release of it that this program has the digests of. Or, with `--trust`, one of \
         yours: one of these.",
    ),
    optional(
        "target.local.cassandra.home",
        Type::Text(|d, text| d.own.home = Some(text.into())),
        "A folder: an unpacked binary distribution, or a source tree that was built.",
    ),
    optional(
        "target.local.cassandra.tarball",
        Type::Text(|d, text| d.own.tarball = Some(text.into())),
        "A binary distribution as one file, `.tar.gz`. Needs `sha256`.",
    ),
    optional(
        "target.local.cassandra.sha256",
        Type::Name(|d, text| d.own.sha256 = text.to_lowercase()),
        "The SHA-256 of `tarball`, in hexadecimal digits.",
    ),
    optional(
        "target.local.cassandra.build",
        SECTION,
        "A folder that a command makes, which runs once, before the first node of it starts.",
    ),
    required(
        "target.local.cassandra.build.command",
        Type::List(&Type::Text(|d, text| d.own.command.push(text.into()))),
        "The program and its arguments, as `[ant, jar]`. No shell reads them.",
    ),
    required(
        "target.local.cassandra.build.home",
        Type::Text(|d, text| d.own.build_home = Some(text.into())),
        "The folder that it runs in, and that nodes are started from then: a source tree, or one \
         that has an unpacked distribution afterwards.",
    ),
    optional(
        "target.local.java",
        Type::Text(|d, text| d.local.java = Some(java(text))),
        "The Java that nodes run on: a major version, as `17`, of one that is installed, or, with \
         `--trust`, the folder of one. Default: 17 where it is installed, so that sides of \
         different lines run on the same; else one that Cassandra's makers support.",
    ),
];

/// Returns a major version of Java, or a Java home folder.
fn java(text: &str) -> JavaChoice {
    match text.parse() {
        Ok(major) => JavaChoice::Major(major),
        Err(_) => JavaChoice::Home(text.into()),
    }
}
