//! Provides the components that a guest requires: QEMU, a kernel and busybox. On Debian, these
//! components come from Debian's packages. The kernel and busybox are unpacked below `target/`, and
//! QEMU is installed. On other systems, the error names the missing components.

use crate::apt;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use xtask::process;

pub const QEMU: &str = "qemu-system-x86_64";

/// Package of Debian's kernel for virtual machines, which has 27 MB, and a serial console and NUMA
/// built in. It is the metapackage for the newest kernel.
const KERNEL: &str = "linux-image-cloud-amd64";

const BUSYBOX: &str = "busybox-static";

/// Kernel modules that emulated hosts require and that are not built into Debian's kernel. Each
/// module comes after the modules on which it depends.
const MODULES: [&str; 7] = [
    "/llc.ko",
    "/stp.ko",
    "/bridge.ko",
    "/veth.ko",
    "/loop.ko",
    "/sch_netem.ko",
    "/sch_tbf.ko",
];

/// Paths of the components that a guest needs.
pub struct Parts {
    pub kernel: PathBuf,
    /// Kernel modules in the order in which they are inserted. The list is empty if the user
    /// provides a kernel.
    pub modules: Vec<PathBuf>,
    pub busybox: PathBuf,
}

impl Parts {
    /// Returns the paths of the components. Those that the user does not provide are downloaded
    /// once from Debian.
    pub fn ready(folder: &Path, kernel: Option<&Path>, busybox: Option<&Path>) -> Result<Parts> {
        ensure!(
            std::env::consts::ARCH == "x86_64",
            "guests are x86_64 machines, but the program that this machine builds is for {}",
            std::env::consts::ARCH
        );
        qemu()?;
        let has_pdeathsig = process::output("setpriv", &["--pdeathsig", "KILL", "true"]);
        has_pdeathsig.context(
            "hint: setpriv, which ends QEMU together with this command, is in util-linux",
        )?;
        let modules = folder.join("modules");
        let parts = Parts {
            modules: match kernel {
                Some(_) => Vec::new(),
                None => MODULES.map(|name| modules.join(&name[1..])).to_vec(),
            },
            kernel: kernel.map_or_else(|| folder.join("kernel"), Path::to_owned),
            busybox: busybox.map_or_else(|| folder.join("busybox"), Path::to_owned),
        };
        let are_there = parts.modules.iter().all(|path| path.is_file());
        if kernel.is_none() && !(parts.kernel.is_file() && are_there) {
            std::fs::create_dir_all(&modules).context("make the folder of the modules")?;
            let mut files = vec![("/boot/vmlinuz-", parts.kernel.as_path())];
            let paths = parts.modules.iter().map(PathBuf::as_path);
            files.extend(MODULES.into_iter().zip(paths));
            take(folder, &package_of(KERNEL)?, &files)?;
        }
        if !parts.busybox.is_file() && busybox.is_none() {
            take(folder, BUSYBOX, &[("/bin/busybox", &parts.busybox)])?;
        }
        for part in [&parts.kernel, &parts.busybox] {
            ensure!(part.is_file(), "{} is not a file", part.display());
        }
        Ok(parts)
    }
}

/// Checks that QEMU is installed. On Debian, installs QEMU if it is missing and the user is root.
fn qemu() -> Result<()> {
    if process::output(QEMU, &["--version"]).is_ok() {
        return Ok(());
    }
    apt::install(
        &["qemu-system-x86"],
        &format!("{QEMU} is missing"),
        "; elsewhere the package with QEMU's x86 system emulation",
    )
}

/// Downloads a package and copies files from it. Each entry of `files` is a part of the path of a
/// file in the package, and the destination of the copy.
fn take(folder: &Path, package: &str, files: &[(&str, &Path)]) -> Result<()> {
    let packed = folder.join(package);
    if packed.exists() {
        std::fs::remove_dir_all(&packed).context("remove an incomplete download")?;
    }
    std::fs::create_dir_all(&packed).context("make the folder of the parts")?;
    println!("downloading {package}");
    // The script changes the folder first, because apt-get downloads to the current folder.
    let script = "cd \"$1\" && apt-get download -qq \"$2\" && dpkg-deb -x ./*.deb . && \
                  find . -type f";
    let place = packed.to_str().context("the path of the tree is not UTF-8")?;
    let all = process::output("sh", &["-c", script, "sh", place, package])
        .with_context(|| missing(package))?;
    for (part, to) in files {
        let file = find_path(&all, part).with_context(|| format!("{package} has no {part}"))?;
        std::fs::rename(packed.join(file), to).with_context(|| format!("take {file}"))?;
    }
    std::fs::remove_dir_all(&packed).context("remove the rest of a package")
}

/// Returns the first line of `paths` that contains `part`. Returns `None` if no line contains it.
fn find_path<'a>(paths: &'a str, part: &str) -> Option<&'a str> {
    paths.lines().find(|path| path.contains(part))
}

fn missing(package: &str) -> String {
    format!(
        "{package} is not available\nhint: on Debian, `apt-get update` may help; elsewhere, name \
         the files: --kernel (with NUMA and a serial console built in) and --busybox (a static \
         program)"
    )
}

/// Returns the package that a metapackage requires.
fn package_of(name: &str) -> Result<String> {
    let said = process::output("apt-cache", &["depends", name]);
    let is_known = said.as_deref().is_ok_and(|said| first_dependency(said).is_some());
    let said = if is_known {
        said
    } else {
        process::output("apt-get", &["update", "-qq"])
            .and_then(|_| process::output("apt-cache", &["depends", name]))
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
    fn a_file_is_found_by_a_part_of_its_path() {
        let paths = "./share/busybox.1\n./boot/vmlinuz-6.1\n./lib/veth.ko\n./bin/busybox\n";
        assert_eq!(
            find_path(paths, "/boot/vmlinuz-"),
            Some("./boot/vmlinuz-6.1")
        );
        assert_eq!(find_path(paths, "/bin/busybox"), Some("./bin/busybox"));
        assert_eq!(find_path(paths, "/loop.ko"), None);
    }

    #[test]
    fn a_name_leads_to_its_first_dependency() {
        let said = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n";
        let package = first_dependency(said);
        assert_eq!(package.as_deref(), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(first_dependency("nothing\n"), None);
    }
}
