//! Study keys for the Cassandra version and the Java version of local nodes, as rows of the table
//! of keys.

use super::row::{SECTION, optional, required, with};
use crate::format::field::{Field, Type};
use target_spec::JavaChoice;

pub(super) const FIELDS: &[Field] = &[
    with(
        "target.local.cassandra",
        Type::Either(
            &Type::Release(|d, release| d.release = Some(release.clone())),
            &Type::Section(|_| {}),
        ),
        versions::DEFAULT.pinned,
        "Version of Apache Cassandra: a release such as `4.1.10`, or a line such as `4.1`. A line \
         means the newest release of the line for which this program has checksums. Or, with \
         `--trust`, your own build: exactly one of `home`, `tarball` and `build`.",
    ),
    optional(
        "target.local.cassandra.home",
        Type::Text(|d, text| d.own.home = Some(text.into())),
        "Folder of an unpacked binary distribution, or of a built source tree.",
    ),
    optional(
        "target.local.cassandra.tarball",
        Type::Text(|d, text| d.own.tarball = Some(text.into())),
        "Binary distribution as a `.tar.gz` file. Requires `sha256`.",
    ),
    optional(
        "target.local.cassandra.sha256",
        Type::Name(|d, text| d.own.sha256 = text.to_lowercase()),
        "SHA-256 of `tarball`, in hexadecimal digits.",
    ),
    optional(
        "target.local.cassandra.build",
        SECTION,
        "Folder that a command builds. The command runs once, before the first node of this build \
         starts.",
    ),
    required(
        "target.local.cassandra.build.command",
        Type::List(&Type::Text(|d, text| d.own.command.push(text.into()))),
        "Program and its arguments, such as `[ant, jar]`. cassay uses no shell.",
    ),
    required(
        "target.local.cassandra.build.home",
        Type::Text(|d, text| d.own.build_home = Some(text.into())),
        "Folder in which the command runs, and from which cassay starts nodes: a source tree, or a \
         folder that then contains an unpacked distribution.",
    ),
    optional(
        "target.local.java",
        Type::Text(|d, text| d.local.java = Some(java(text))),
        "Java for the nodes: the major version of an installed Java, such as `17`. Or, with \
         `--trust`, the folder of a Java installation. Default: 17 if it is installed, so that \
         different lines run on the same Java. Otherwise, a version that Cassandra supports.",
    ),
];

fn java(text: &str) -> JavaChoice {
    match text.parse() {
        Ok(major) => JavaChoice::Major(major),
        Err(_) => JavaChoice::Home(text.into()),
    }
}
