//! Developer commands: ci, tidy, docs, long checks, peers.
//!
//! This is the one place for them. Anything longer than a line in the Makefile is here, in Rust, so
//! that it runs the same on every machine. It uses none of the crates, so that it still builds when
//! they do not.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer command speaks to its developer"
)]

mod apt;
mod bisects;
mod ci;
mod deny;
mod dist;
mod docs;
mod guest;
mod kills;
mod kubernetes;
mod line;
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
mod tidy;
mod topology_formats;
mod tree;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// How we develop cassay.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// All checks in order, cheap first; stops at the first failure
    Ci(ci::Options),
    /// The tests against a real Cassandra (needs Java 17 and Maven)
    Cassandra(ci::CassandraOptions),
    /// Simulated studies in the thousands: how often a comparison is wrong
    Audit(ci::AuditOptions),
    /// Bisections of builds of a real Cassandra, the slow ones of which are known
    Bisects(bisects::Options),
    /// Dependencies: licences, sources, duplicates, and advisories where cargo-deny is installed
    Deny,
    /// Static programs for both processors, packed with all that goes with them
    Dist(dist::Options),
    /// Guests of several NUMA nodes under QEMU: what is read of a real kernel's /sys, and planned
    Guest(guest::Options),
    /// kill -9 of command, agent and guard at any moment of a study: nothing may remain
    Kills(kills::Options),
    /// A real Kubernetes on this machine alone, made from nothing, and the tests that need one
    Kubernetes(kubernetes::Options),
    /// The files of a line of Cassandra's versions, from a release: its lock, its settings
    Line(line::Options),
    /// What long runs and runs of many trials cost to look at: time, memory, size of the page
    Long(long::Options),
    /// The mutation run of the gate, many times over and with another seed
    Mutate(mutate::Options),
    /// A release: version, date, all checks, all packages, commit and tag; nothing is sent
    Release(release::Options),
    /// Searches on a null target whose peak is known: how near they come
    Searches(searches::Options),
    /// The load worker against a scripted wire and clock, by seeds
    Simulate(simulate::Options),
    /// Lines without tests and the largest circle of files, per crate
    Sizes(sizes::Options),
    /// House style: lengths, headers, dependencies, links
    Tidy,
    /// Exported plans before their formats' own validators, those that are installed
    TopologyFormats,
    /// Writes the generated documents; with --check only compares them
    Docs(docs::Options),
    /// cassay and its peers on the same work, written to docs/performance.md
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
        Command::Line(options) => line::run(&options),
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
