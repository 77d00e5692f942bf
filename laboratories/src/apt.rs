//! Installs the Debian packages that a developer command requires.

use anyhow::{Result, bail};
use xtask::process;

/// Installs packages if the system is Debian and the user is root. Otherwise fails with an error
/// that contains `missing`, the installation command, and `elsewhere`.
pub fn install(packages: &[&str], missing: &str, elsewhere: &str) -> Result<()> {
    let words = [&["install", "--no-install-recommends"], packages].concat();
    let line = format!("apt-get {}", words.join(" "));
    let is_root = process::output("id", &["-u"]).is_ok_and(|id| id.trim() == "0");
    let is_debian = process::output("apt-get", &["--version"]).is_ok();
    if !is_root || !is_debian {
        bail!("{missing}\nhint: `{line}` as root on Debian{elsewhere}");
    }
    println!("{line}");
    let environment = [("DEBIAN_FRONTEND", "noninteractive".to_owned())];
    let quiet = [&words[..], &["--yes", "-qq"]].concat();
    if process::output_with("apt-get", &quiet, &environment).is_err() {
        process::output("apt-get", &["update", "-qq"])?;
        process::output_with("apt-get", &quiet, &environment)?;
    }
    Ok(())
}
