//! Checks that the required packages are installed. On Debian, installs them if the user is root.
//! On other systems, the error names the missing packages.

use crate::apt;
use anyhow::{Result, bail};
use std::path::Path;
use xtask::process;

/// Programs and files, each with the name of the Debian package that contains it. An existing file
/// shows that the package is installed.
const PARTS: [(&str, &str); 8] = [
    ("/usr/bin/containerd", "containerd"),
    ("/usr/sbin/runc", "runc"),
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("/usr/sbin/iptables", "iptables"),
    ("/usr/sbin/ipset", "ipset"),
    ("/bin/busybox", "busybox-static"),
    ("/usr/sbin/conntrack", "conntrack"),
    ("/usr/bin/gcc", "gcc"),
];

/// Checks that Go and kubectl are installed, and installs missing packages of Debian. The user must
/// install Go and kubectl, because Debian does not have suitable versions.
pub fn ready() -> Result<()> {
    for (program, words) in [
        ("go", &["version"][..]),
        ("kubectl", &["version", "--client"]),
    ] {
        if process::output(program, words).is_err() {
            bail!(
                "{program} is missing: this command builds Kubernetes from Go modules, and queries \
                 it with kubectl"
            );
        }
    }
    let missing: Vec<&str> = PARTS
        .iter()
        .filter(|(file, _)| !Path::new(file).exists())
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let told = format!("these programs are missing: {}", missing.join(", "));
    apt::install(&missing, &told, "")
}
