//! A real Kubernetes on this machine alone, made from nothing, for the tests that need one: control
//! plane and kubelet built from their published Go modules, Debian's containerd, and images made
//! here. No registry of images is asked.

mod build;
mod cluster;
mod image;
mod parts;

use crate::{process, tree};
use anyhow::{Context, Result, anyhow};
use cluster::Cluster;
use std::io::BufRead;

/// What builds the tests, and the program that they start.
const BUILD_TESTS: [&str; 6] = ["test", "--package", "cassay", "--test", "it", "--no-run"];

/// What `cargo xtask kubernetes` may be asked.
#[derive(clap::Args)]
pub struct Options {
    /// Only tests of this part, as clients, nodes, attached or inside, or clients::NAME
    #[arg(default_value = "")]
    only: String,
    /// Runs no test: names the file for kubectl, and goes on until a line comes on standard input
    #[arg(long)]
    keep: bool,
}

/// 1. Sees that all parts are there. 2. Builds what of Kubernetes is no package. 3. Starts it. 4.
///    Runs the tests, and ends it.
///
/// # Errors
/// A part is missing, it does not become ready, or a test fails.
pub fn run(options: &Options) -> Result<()> {
    let folder = tree::root().join("target").join("kubernetes");
    std::fs::create_dir_all(&folder).context("make the folder of Kubernetes")?;
    parts::ready()?;
    // Both are builds that wait for one linker after the other.
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
