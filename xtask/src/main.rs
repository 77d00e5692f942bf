//! Developer commands: ci, tidy, docs, long checks, peers.
//!
//! All of them are in this crate. Commands that would need more than a line in the Makefile are
//! written in Rust here, so that they run in the same way on every machine. It does not use the
//! crates of cassay, so that it still builds when they do not.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer command speaks to its developer"
)]

mod apt;
mod bisects;
mod changes;
mod ci;
mod deny;
mod dist;
mod docs;
mod guest;
mod kills;
mod kubernetes;
mod long;
mod modules;
mod mutate;
mod peers;
mod process;
mod release;
mod searches;
mod simulate;
mod sizes;
mod stress;
mod test_items;
mod tidy;
mod topology_formats;
mod tree;
mod version_line;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Development tasks of cassay.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all checks in order, cheap first; stop at the first failure
    Ci(ci::Options),
    /// Run the tests against a real Cassandra (needs Java 17 and Maven)
    Cassandra(ci::CassandraOptions),
    /// Measure how often a comparison is wrong, in thousands of simulated studies
    Audit(ci::AuditOptions),
    /// Bisect builds of a real Cassandra, some of which are known to be slow
    Bisects(bisects::Options),
    /// Check licences, sources and duplicates of dependencies; with cargo-deny, advisories too
    Deny,
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
    Long(long::Options),
    /// Repeat the gate's mutation run many times, with another seed
    Mutate(mutate::Options),
    /// Make a release: version, date, all checks, all packages, commit and tag; publishes nothing
    Release(release::Options),
    /// Measure the accuracy of searches on a null target with a known peak
    Searches(searches::Options),
    /// Simulate the load worker against a scripted wire and clock, by seed
    Simulate(simulate::Options),
    /// Print lines without tests and the largest import circle of files, per crate
    Sizes(sizes::Options),
    /// Check house style: lengths, headers, dependencies, links
    Tidy,
    /// Check exported plans with the installed validators of their formats
    TopologyFormats,
    /// Write the generated documents; --check only compares them
    Docs(docs::Options),
    /// Compare cassay with its peers on the same work, and write docs/performance.md
    Peers(peers::Options),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Ci(options) => ci::run(&options),
        Command::Cassandra(options) => ci::cassandra(&options),
        Command::Audit(options) => ci::audit(&options),
        Command::Bisects(options) => bisects::run(&options),
        Command::Deny => deny::run(),
        Command::Dist(options) => dist::run(&options),
        Command::Guest(options) => guest::run(&options),
        Command::Kills(options) => kills::run(&options),
        Command::Kubernetes(options) => kubernetes::run(&options),
        Command::Line(options) => version_line::run(&options),
        Command::Long(options) => long::run(&options),
        Command::Mutate(options) => mutate::run(&options),
        Command::Release(options) => release::run(&options),
        Command::Searches(options) => searches::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::Sizes(options) => sizes::run(&options),
        Command::Tidy => tidy::run(),
        Command::TopologyFormats => topology_formats::run(),
        Command::Docs(options) => docs::run(&options),
        Command::Peers(options) => peers::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the names of the subcommands, as documents may use them.
fn command_names() -> Vec<String> {
    use clap::CommandFactory;
    Arguments::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}
