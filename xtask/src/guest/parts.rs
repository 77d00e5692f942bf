//! What a guest is made of: QEMU, a kernel and busybox. On Debian they come from its packages;
//! kernel and busybox are only unpacked below `target/`, QEMU is installed. Elsewhere it is said
//! what is missing.

use crate::process;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

pub const QEMU: &str = "qemu-system-x86_64";

/// Debian's kernel for virtual machines: 27 MB, with a serial console and NUMA built in. It is a
/// name that leads to the package of the newest.
const KERNEL: &str = "linux-image-cloud-amd64";

const BUSYBOX: &str = "busybox-static";

/// Where they are.
pub struct Parts {
    pub kernel: PathBuf,
    pub busybox: PathBuf,
}

impl Parts {
    /// Those that were given; others from Debian's packages, once.
    pub fn ready(folder: &Path, kernel: Option<&Path>, busybox: Option<&Path>) -> Result<Parts> {
        ensure!(
            std::env::consts::ARCH == "x86_64",
            "guests are x86_64, and run the program that is built here, which is {}",
            std::env::consts::ARCH
        );
        qemu()?;
        let has_pdeathsig = process::output("setpriv", &["--pdeathsig", "KILL", "true"]);
        has_pdeathsig.context("hint: setpriv is in util-linux; it ends QEMU when this ends")?;
        let parts = Parts {
            kernel: kernel.map_or_else(|| folder.join("kernel"), Path::to_owned),
            busybox: busybox.map_or_else(|| folder.join("busybox"), Path::to_owned),
        };
        if !parts.kernel.is_file() && kernel.is_none() {
            let package = package_of(KERNEL)?;
            take(folder, &package, "boot", "vmlinuz-", &parts.kernel)?;
        }
        if !parts.busybox.is_file() && busybox.is_none() {
            take(folder, BUSYBOX, "bin", "busybox", &parts.busybox)?;
        }
        for part in [&parts.kernel, &parts.busybox] {
            ensure!(part.is_file(), "{} is no file", part.display());
        }
        Ok(parts)
    }
}

/// Sees that QEMU is there; on Debian as root it is installed.
fn qemu() -> Result<()> {
    if process::output(QEMU, &["--version"]).is_ok() {
        return Ok(());
    }
    let install = "apt-get install --no-install-recommends qemu-system-x86";
    let is_root = process::output("id", &["-u"]).is_ok_and(|id| id.trim() == "0");
    let is_debian = process::output("apt-get", &["--version"]).is_ok();
    if !is_root || !is_debian {
        bail!(
            "{QEMU} is missing\nhint: `{install}` as root on Debian; elsewhere the package with \
             QEMU's x86 system emulation"
        );
    }
    println!("installing QEMU: {install}");
    let environment = [("DEBIAN_FRONTEND", "noninteractive".to_owned())];
    let words: Vec<&str> = install.split(' ').skip(1).chain(["--yes", "-qq"]).collect();
    if process::output_with("apt-get", &words, &environment).is_err() {
        process::output("apt-get", &["update", "-qq"])?;
        process::output_with("apt-get", &words, &environment)?;
    }
    Ok(())
}

/// Downloads a package and takes one file of it, whose name begins like this.
fn take(folder: &Path, package: &str, inside: &str, begin: &str, to: &Path) -> Result<()> {
    let packed = folder.join(package);
    if packed.exists() {
        std::fs::remove_dir_all(&packed).context("remove what was half done")?;
    }
    std::fs::create_dir_all(&packed).context("make the folder of the parts")?;
    println!("downloading {package}");
    // apt-get downloads to where it runs.
    let script = "cd \"$1\" && apt-get download -qq \"$2\" && dpkg-deb -x ./*.deb unpacked";
    let place = packed
        .to_str()
        .context("the path of the tree is no UTF-8")?;
    process::output("sh", &["-c", script, "sh", place, package])
        .with_context(|| missing(package))?;
    let unpacked = packed.join("unpacked").join(inside);
    let entries = std::fs::read_dir(&unpacked);
    let entries = entries.with_context(|| format!("look into {package}"))?;
    let is_it = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(begin))
    };
    let file = entries.flatten().map(|entry| entry.path()).find(is_it);
    let file = file.with_context(|| format!("{package} has no {inside}/{begin}"))?;
    std::fs::rename(&file, to).with_context(|| format!("move {}", file.display()))?;
    std::fs::remove_dir_all(&packed).context("remove the rest of a package")
}

fn missing(package: &str) -> String {
    format!(
        "{package} cannot be had\nhint: on Debian `apt-get update` may help; elsewhere give the \
         files: --kernel (with NUMA and a serial console built in) and --busybox (a static one)"
    )
}

/// The package that a name leads to.
fn package_of(name: &str) -> Result<String> {
    let said = process::output("apt-cache", &["depends", name]);
    let is_known = said
        .as_deref()
        .is_ok_and(|said| first_dependency(said).is_some());
    let said = match is_known {
        true => said,
        false => process::output("apt-get", &["update", "-qq"])
            .and_then(|_| process::output("apt-cache", &["depends", name])),
    };
    let said = said.with_context(|| missing(name))?;
    first_dependency(&said).with_context(|| missing(name))
}

fn first_dependency(said: &str) -> Option<String> {
    let mut lines = said.lines();
    lines.find_map(|line| Some(line.trim().strip_prefix("Depends: ")?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_its_first_dependency() {
        let said = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n";
        let package = first_dependency(said);
        assert_eq!(package.as_deref(), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(first_dependency("nothing\n"), None);
    }
}
