//! Runs a real Kubernetes on this machine alone, for the tests that require one. The command builds
//! the control plane and the kubelet from their published Go modules. It installs containerd from
//! Debian, and makes the images from files of this machine. It does not use an image registry.

mod build;
mod cluster;
mod image;
mod parts;

use anyhow::{Context, Result, anyhow};
use cluster::Cluster;
use std::io::BufRead;
use xtask::{process, tree};

/// Arguments of cargo that build the tests, and the program that the tests start.
const BUILD_TESTS: [&str; 6] = ["test", "--package", "cassay", "--test", "it", "--no-run"];

/// Options of `cargo xtask kubernetes`.
#[derive(clap::Args)]
pub struct Options {
    /// Only tests of this part: clients, nodes, attached, inside, or clients::NAME
    #[arg(default_value = "")]
    only: String,
    /// Run no test: print the file for kubectl, and run until a line arrives on standard input
    #[arg(long)]
    keep: bool,
}

/// Runs the tests that require Kubernetes. The command checks that all parts exist, builds the
/// parts of Kubernetes that Debian does not package, and starts the cluster. Then it runs the
/// tests, and stops the cluster.
///
/// # Errors
/// A part is missing, the cluster does not become ready, or a test fails.
pub fn run(options: &Options) -> Result<()> {
    let folder = tree::root().join("target").join("kubernetes");
    std::fs::create_dir_all(&folder).context("make the folder of Kubernetes")?;
    parts::ready()?;
    // The two builds run in parallel, because each of them often waits for a linker.
    let (programs, tests) = std::thread::scope(|scope| {
        let tests = scope.spawn(|| process::run(&process::cargo(), &BUILD_TESTS));
        (build::programs(&folder), tests.join())
    });
    let programs = programs?;
    tests.map_err(|_| anyhow!("the thread that builds the tests has panicked"))??;
    let images = image::images(&folder)?;
    let cluster = Cluster::start(&folder, &programs, &images)?;
    println!(
        "Kubernetes runs: KUBECONFIG={}",
        cluster.kubeconfig().display()
    );
    if options.keep {
        println!("a line ends it");
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("wait for a line")?;
        return cluster.end();
    }
    let name = format!("kubernetes::{}", options.only);
    let arguments = [
        "test",
        "--package",
        "cassay",
        "--test",
        "it",
        "--",
        "--ignored",
        "--test-threads=1",
        &name,
    ];
    let tested = process::run_with(&process::cargo(), &arguments, &cluster.environment());
    let ended = cluster.end();
    tested.and(ended)
}
