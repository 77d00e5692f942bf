//! Checks exported plans with the validators of their formats: libvirt's schema, systemd's parser
//! of units, and the shell's parser of scripts. The output names the validators that are not
//! installed, because their formats remain unchecked.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use xtask::process::{self, cargo};
use xtask::tree;

/// Writes samples in every format, and checks the samples for whose format a validator is
/// installed.
pub fn run() -> Result<()> {
    let folder = tree::root().join("target").join("topology-formats");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("remove the samples of the previous run")?;
    }
    let samples = folder.join("samples");
    let example = ["run", "--package", "topology", "--example", "formats", "--"];
    process::run(&cargo(), &[&example[..], &[text(&samples)?]].concat())?;
    let files = files(&samples)?;
    libvirt(&with_ending(&files, ".libvirt.xml"))?;
    systemd(&folder.join("units"), &files)?;
    let scripts = [
        with_ending(&files, ".numactl.sh"),
        with_ending(&files, ".env.sh"),
    ]
    .concat();
    for script in &scripts {
        process::output("sh", &["-n", text(script)?])?;
    }
    println!("{} scripts: sh reads them", scripts.len());
    println!(
        "not checked: vmx, ConfigSpec, Kubernetes; these formats have no validator that is a \
         program"
    );
    Ok(())
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("the path of the tree is not UTF-8")
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).context("list the samples")?;
    let files = entries.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_>>()?;
    files.sort();
    Ok(files)
}

fn with_ending(files: &[PathBuf], ending: &str) -> Vec<PathBuf> {
    let has = |file: &&PathBuf| file.to_str().is_some_and(|name| name.ends_with(ending));
    files.iter().filter(has).cloned().collect()
}

fn libvirt(domains: &[PathBuf]) -> Result<()> {
    if process::output("virt-xml-validate", &["--version"]).is_err() {
        println!("not checked: libvirt XML; virt-xml-validate is in libvirt-clients");
        return Ok(());
    }
    for domain in domains {
        process::output("virt-xml-validate", &[text(domain)?, "domain"])?;
    }
    println!("{} domains: valid by libvirt's schema", domains.len());
    Ok(())
}

/// Checks each drop-in with a separate unit. Output on stderr counts as a failure, because systemd
/// skips settings that it cannot read with only a warning and exit code 0.
fn systemd(units: &Path, files: &[PathBuf]) -> Result<()> {
    if process::output("systemd-analyze", &["--version"]).is_err() {
        println!("not checked: drop-ins; systemd-analyze is in systemd");
        return Ok(());
    }
    let services = with_ending(files, ".systemd.conf");
    let slices = with_ending(files, ".systemd-slice.conf");
    let mut names = Vec::new();
    for (index, drop_in) in services.iter().chain(&slices).enumerate() {
        let (kind, body) = if index < services.len() {
            ("service", "[Service]\nExecStart=/bin/true\n")
        } else {
            ("slice", "[Slice]\n")
        };
        let unit = units.join(format!("sample{index}.{kind}"));
        let folder = units.join(format!("sample{index}.{kind}.d"));
        std::fs::create_dir_all(&folder).context("make the folder of a drop-in")?;
        std::fs::write(&unit, body).context("write a unit")?;
        std::fs::copy(drop_in, folder.join("10-placement.conf")).context("copy a drop-in")?;
        names.push(text(&unit)?.to_owned());
    }
    let mut arguments = vec!["verify", "--man=no"];
    arguments.extend(names.iter().map(String::as_str));
    let path = [("SYSTEMD_UNIT_PATH", format!("{}:", text(units)?))];
    process::output_with("systemd-analyze", &arguments, &path)?;
    let said = process::stderr("systemd-analyze", &arguments, &path)?;
    if !said.trim().is_empty() {
        bail!("systemd-analyze verify says:\n{said}");
    }
    println!("{} drop-ins: systemd reads every line", names.len());
    Ok(())
}
