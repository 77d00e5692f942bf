//! What has to be installed: on Debian as root it is, elsewhere it is said what is missing.

use crate::{apt, process};
use anyhow::{Result, bail};
use std::path::Path;

/// Programs and files that tell whether a package is there, and Debian's name of it.
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

/// Sees that they are there. Go and kubectl are not Debian's in a version that fits.
pub fn ready() -> Result<()> {
    for (program, words) in [
        ("go", &["version"][..]),
        ("kubectl", &["version", "--client"]),
    ] {
        if process::output(program, words).is_err() {
            bail!("{program} is missing: Kubernetes is built of Go modules, and asked by kubectl");
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
    let told = format!("these are missing: {}", missing.join(", "));
    apt::install(&missing, &told, "")
}
