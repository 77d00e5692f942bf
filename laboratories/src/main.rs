//! Developer commands that the gate does not need: longer checks, packages, releases and
//! comparisons.
//!
//! `cargo xtask NAME` starts each of these commands, with the same arguments. They are in a
//! separate crate, so that the gate does not build them and their dependencies before its first
//! step. This crate uses the public modules of `xtask`. Like `xtask`, it does not use the crates of
//! cassay.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "commands for developers print their results"
)]

mod apt;
mod bisects;
mod dist;
mod guest;
mod kills;
mod kubernetes;
mod long_runs;
mod peers;
mod release;
mod searches;
mod topology_formats;
mod version_line;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Longer checks, packages and releases of cassay.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands. Their names and descriptions are those of `xtask::LABORATORIES`.
#[derive(Subcommand)]
enum Command {
    /// Bisect builds of a real Cassandra, some of which are known to be slow
    Bisects(bisects::Options),
    /// Build and package the static programs for both processor architectures
    Dist(dist::Options),
    /// Test reader and planner in QEMU guests with several NUMA nodes, on the /sys of a real kernel
    Guest(guest::Options),
    /// Kill command, agent and guard with -9 at any moment of a study; nothing may remain
    Kills(kills::Options),
    /// Build a real Kubernetes on this machine, and run the tests that need one
    Kubernetes(kubernetes::Options),
    /// Write the lock and settings of a Cassandra line from one of its releases
    Line(version_line::Options),
    /// Measure the cost of viewing large runs: time, memory and size of the page
    Long(long_runs::Options),
    /// Compare cassay with its peers on the same work, and write docs/performance.md
    Peers(peers::Options),
    /// Make a release: version, date, all checks, all packages, commit and tag; publishes nothing
    Release(release::Options),
    /// Measure the accuracy of searches on a null target with a known peak
    Searches(searches::Options),
    /// Check exported plans with the installed validators of their formats
    TopologyFormats,
}

fn main() -> ExitCode {
    xtask::exit_code(match Arguments::parse().command {
        Command::Bisects(options) => bisects::run(&options),
        Command::Dist(options) => dist::run(&options),
        Command::Guest(options) => guest::run(&options),
        Command::Kills(options) => kills::run(&options),
        Command::Kubernetes(options) => kubernetes::run(&options),
        Command::Line(options) => version_line::run(&options),
        Command::Long(options) => long_runs::run(&options),
        Command::Peers(options) => peers::run(&options),
        Command::Release(options) => release::run(&options),
        Command::Searches(options) => searches::run(&options),
        Command::TopologyFormats => topology_formats::run(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_those_that_xtask_passes_on() {
        let commands = Arguments::command();
        let own: Vec<(&str, String)> = commands
            .get_subcommands()
            .map(|one| {
                (
                    one.get_name(),
                    one.get_about().expect("a description").to_string(),
                )
            })
            .collect();
        let passed_on = xtask::LABORATORIES.map(|(name, about)| (name, about.to_owned()));
        assert_eq!(own, passed_on);
    }
}
