//! Builds the parts of Kubernetes that Debian does not package: the control plane, the kubelet,
//! etcd and the enforcer of network policies. They are built only once, from their Go modules. The
//! Go module of Kubernetes refers to its staging modules by folders in the same repository. The
//! generated module uses the published versions of these modules instead.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use xtask::process;

/// Release of Kubernetes. The version of its staging modules is `v0.…` with the same numbers.
pub const VERSION: &str = "v1.34.2";
const PARTS_VERSION: &str = "v0.34.2";
const ETCD_VERSION: &str = "v3.6.8";

/// Go package of the program that enforces network policies with iptables and ipset.
const ROUTER: &str = "github.com/cloudnativelabs/kube-router/v2";
const ROUTER_VERSION: &str = "v2.1.0";

const PROGRAMS: [&str; 4] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
];

/// Returns the folder of the programs. Builds the programs if they are missing.
pub fn programs(folder: &Path) -> Result<PathBuf> {
    let bin = folder.join(format!("bin-{VERSION}"));
    std::fs::create_dir_all(&bin).context("make the folder of the programs")?;
    if !PROGRAMS.iter().all(|name| bin.join(name).is_file()) {
        println!("building Kubernetes {VERSION} (takes some minutes)");
        kubernetes(&folder.join("source"), &bin)?;
    }
    if !bin.join("etcd").is_file() {
        println!("building etcd {ETCD_VERSION}");
        etcd(&folder.join("source-etcd"), &bin)?;
    }
    if !bin.join("kube-router").is_file() {
        println!("building kube-router {ROUTER_VERSION}");
        let go_mod = format!("module router\n\ngo 1.24.0\n\nrequire {ROUTER} {ROUTER_VERSION}\n");
        let package = format!("{ROUTER}/cmd/kube-router");
        built(&folder.join("source-router"), &bin, &go_mod, &[package])?;
    }
    let pause = bin.join("pause");
    if !pause.is_file() {
        let source = bin.join("pause.c");
        std::fs::write(
            &source,
            "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n",
        )?;
        let (from, to) = (source.to_string_lossy(), pause.to_string_lossy());
        process::run("gcc", &["-static", "-O1", "-o", &to, &from])?;
    }
    Ok(bin)
}

fn kubernetes(source: &Path, bin: &Path) -> Result<()> {
    std::fs::create_dir_all(source)?;
    let wanted = format!("k8s.io/kubernetes@{VERSION}");
    std::fs::write(source.join("go.mod"), "module kubernetes\n\ngo 1.24.0\n")?;
    let place = source.to_string_lossy().into_owned();
    let said = process::output("go", &["-C", &place, "mod", "download", "-json", &wanted])?;
    let said: Value =
        serde_json::from_str(&said).context("parse the output of go about a module")?;
    let theirs = said["GoMod"].as_str().context("go does not report the path of a go.mod")?;
    let theirs = std::fs::read_to_string(theirs).context("read the go.mod of Kubernetes")?;
    let package = |name: &'static str| format!("k8s.io/kubernetes/cmd/{name}");
    built(source, bin, &go_mod(&theirs)?, &PROGRAMS.map(package))
}

/// Linker flags that omit debugging data, which takes a long time to link.
const PLAIN: &str = "-ldflags=-s -w";

/// Builds programs, each from a Go package. `go_mod` is the content of the `go.mod` with their
/// requirements.
fn built(source: &Path, bin: &Path, go_mod: &str, packages: &[String]) -> Result<()> {
    std::fs::create_dir_all(source)?;
    std::fs::write(source.join("go.mod"), go_mod)?;
    let imports: String = packages.iter().map(|package| format!("\t_ \"{package}\"\n")).collect();
    let tools = format!("//go:build tools\n\npackage main\n\nimport (\n{imports})\n");
    std::fs::write(source.join("tools.go"), tools)?;
    std::fs::write(source.join("main.go"), "package main\n\nfunc main() {}\n")?;
    // One command builds all programs, so that linkers run in parallel. Each program has the name
    // of its package.
    let out = format!("{}/", bin.to_string_lossy());
    let how = ["build", PLAIN, "-o", &out].into_iter();
    let words: Vec<&str> = how.chain(packages.iter().map(String::as_str)).collect();
    go(source, &words)
}

fn etcd(source: &Path, bin: &Path) -> Result<()> {
    std::fs::create_dir_all(source)?;
    let module = "go.etcd.io/etcd/server/v3";
    let go_mod = format!("module etcd\n\ngo 1.24.0\n\nrequire {module} {ETCD_VERSION}\n");
    std::fs::write(source.join("go.mod"), go_mod)?;
    let main = format!(
        "package main\n\nimport (\n\t\"os\"\n\n\t\"{module}/etcdmain\"\n)\n\nfunc main() {{ \
         etcdmain.Main(os.Args) }}\n"
    );
    std::fs::write(source.join("main.go"), main)?;
    go(
        source,
        &[
            "build",
            PLAIN,
            "-o",
            &bin.join("etcd").to_string_lossy(),
            ".",
        ],
    )
}

fn go(source: &Path, arguments: &[&str]) -> Result<()> {
    let flags = [("GOFLAGS", "-mod=mod -buildvcs=false".to_owned())];
    process::run_in(source, "go", arguments, &flags)
}

/// Returns the `go.mod` of a module that requires Kubernetes. It replaces the folders of
/// Kubernetes' staging modules by the published modules.
fn go_mod(theirs: &str) -> Result<String> {
    let words = theirs.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let parts: Vec<String> = words
        .filter_map(|words| match words[..] {
            [name, "v0.0.0", ..] if name.starts_with("k8s.io/") => Some(name.to_owned()),
            _ => None,
        })
        .collect();
    ensure!(!parts.is_empty(), "the go.mod of Kubernetes names no parts");
    let mut text =
        format!("module kubernetes\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes {VERSION}\n\n");
    for part in parts {
        writeln!(text, "replace {part} => {part} {PARTS_VERSION}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_those_that_have_no_version() {
        let theirs = "module k8s.io/kubernetes\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/klog/v2 \
                      v2.130.1\n\tk8s.io/kubelet v0.0.0\n)\nreplace k8s.io/api => ./staging\n";
        let ours = go_mod(theirs).unwrap();
        assert!(
            ours.contains("replace k8s.io/api => k8s.io/api v0.34.2\n"),
            "{ours}"
        );
        assert_eq!(ours.matches("replace").count(), 2, "{ours}");
        assert!(go_mod("module x\n").is_err());
    }
}
