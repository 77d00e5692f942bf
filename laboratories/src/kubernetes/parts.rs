//! Checks for the required packages. On Debian, it installs them as root. On other systems, the
//! error names them.

use crate::apt;
use anyhow::{Result, bail};
use std::path::Path;
use xtask::process;

/// Programs and files by which an installed package is recognized, each with the name of the Debian
/// package.
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

/// Checks for the required programs. Go and kubectl must be installed by the user, since Debian
/// does not have suitable versions.
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
