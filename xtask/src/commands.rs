//! The command line of `cargo xtask`. It runs the commands of this crate, and passes all other
//! commands to the crate `laboratories`.

use crate::{ci, deny, docs, mutate, process, simulate, sizes, tidy};
use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Commands of the crate `laboratories`, with their descriptions. A test of that crate compares
/// them with its command line.
pub const LABORATORIES: [(&str, &str); 11] = [
    (
        "bisects",
        "Bisect builds of a real Cassandra, some of which are known to be slow",
    ),
    (
        "dist",
        "Build and package the static programs for both processor architectures",
    ),
    (
        "guest",
        "Test reader and planner in QEMU guests with several NUMA nodes, on the /sys of a real \
         kernel",
    ),
    (
        "kills",
        "Kill command, agent and guard with -9 at any moment of a study; nothing may remain",
    ),
    (
        "kubernetes",
        "Build a real Kubernetes on this machine, and run the tests that need one",
    ),
    (
        "line",
        "Write the lock and settings of a Cassandra line from one of its releases",
    ),
    (
        "long",
        "Measure the cost of viewing large runs: time, memory and size of the page",
    ),
    (
        "peers",
        "Compare cassay with its peers on the same work, and write docs/performance.md",
    ),
    (
        "release",
        "Make a release: version, date, all checks, all packages, commit and tag; publishes \
         nothing",
    ),
    (
        "searches",
        "Measure the accuracy of searches on a null target with a known peak",
    ),
    (
        "topology-formats",
        "Check exported plans with the installed validators of their formats",
    ),
];

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
    /// Check licences, sources and duplicates of dependencies; with cargo-deny, advisories too
    Deny,
    /// Write the generated documents; --check only compares them
    Docs(docs::Options),
    /// Repeat the gate's mutation run many times, with another seed
    Mutate(mutate::Options),
    /// Simulate the load worker against a scripted wire and clock, by seed
    Simulate(simulate::Options),
    /// Print lines without tests and the largest import cycle of files, per crate
    Sizes(sizes::Options),
    /// Check house style: lengths, headers, dependencies, links
    Tidy,
}

/// Runs the command that the arguments of this process specify. A command of `laboratories`
/// replaces this process, so that the command gets the signals and determines the exit code.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(arguments) = arguments_of_laboratory(&words) {
        return exit_code(start_laboratory(&arguments));
    }
    let matches = command_line().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    exit_code(match arguments.command {
        Command::Ci(options) => ci::run(&options),
        Command::Cassandra(options) => ci::cassandra(&options),
        Command::Audit(options) => ci::audit(&options),
        Command::Deny => deny::run(),
        Command::Docs(options) => docs::run(&options),
        Command::Mutate(options) => mutate::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::Sizes(options) => sizes::run(&options),
        Command::Tidy => tidy::run(),
    })
}

/// Returns the exit code for the result of a command. Prints the error, if the command has failed.
pub fn exit_code(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the names of all commands, to which documents may refer.
pub fn command_names() -> Vec<String> {
    command_line()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

/// Returns the command line, including the commands of `laboratories`. The help shows these
/// commands in a second list. They are hidden commands, so that clap also suggests them for
/// misspelt names.
fn command_line() -> clap::Command {
    let laboratories = || LABORATORIES.map(|(name, about)| clap::Command::new(name).about(about));
    let list = clap::Command::new("laboratories")
        .disable_help_subcommand(true)
        .help_template("Laboratories:\n{subcommands}")
        .subcommands(laboratories())
        .render_help();
    Arguments::command()
        .subcommands(laboratories().map(|command| command.hide(true)))
        .after_help(list)
}

/// Returns the arguments for the crate `laboratories`. Returns `None` if the words do not name a
/// command of that crate.
fn arguments_of_laboratory(words: &[OsString]) -> Option<Vec<OsString>> {
    let is_laboratory = |word: &OsString| LABORATORIES.iter().any(|(name, _)| word == name);
    match words {
        [help, name, ..] if help == "help" && is_laboratory(name) => {
            Some(vec![name.clone(), "--help".into()])
        }
        [name, ..] if is_laboratory(name) => Some(words.to_vec()),
        _ => None,
    }
}

/// Builds the crate `laboratories`, and replaces this process by its command.
///
/// # Errors
/// cargo cannot be started.
fn start_laboratory(arguments: &[OsString]) -> Result<()> {
    let manifest = crate::tree::root().join("Cargo.toml");
    // The program is selected from the whole workspace, in the same way as `.cargo/config.toml`
    // selects xtask. With `--package`, cargo would compile clap and other crates again with fewer
    // features.
    let mut words: Vec<OsString> =
        ["run", "--quiet", "--bin", "laboratories"].map(Into::into).into();
    words.extend(["--manifest-path".into(), manifest.into(), "--".into()]);
    words.extend_from_slice(arguments);
    Err(process::replace(&process::cargo(), &words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_on(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let arguments = arguments_of_laboratory(&words)?.join(" ".as_ref());
        Some(arguments.into_string().unwrap())
    }

    #[test]
    fn a_laboratory_gets_all_its_arguments() {
        for line in ["kills", "dist --help", "guest dies --program a -- --x ci"] {
            assert_eq!(passed_on(line).as_deref(), Some(line));
        }
        assert_eq!(passed_on("help kills").as_deref(), Some("kills --help"));
        for line in ["ci", "cassandra kills", "help", "help ci", "--help", "kill"] {
            assert_eq!(passed_on(line), None, "{line}");
        }
    }

    #[test]
    fn the_help_lists_commands_and_laboratories() {
        let help = command_line().render_help().to_string();
        let (commands, laboratories) = help.split_once("Laboratories:\n").unwrap();
        assert!(commands.contains("\n  tidy "), "{help}");
        for (name, _) in LABORATORIES {
            assert!(!commands.contains(&format!("\n  {name} ")), "{help}");
            assert!(
                format!("\n{laboratories}").contains(&format!("\n  {name} ")),
                "{help}"
            );
        }
    }

    #[test]
    fn a_misspelt_laboratory_is_suggested() {
        let error = command_line().try_get_matches_from(["xtask", "kils"]).unwrap_err();
        assert!(error.to_string().contains("'kills'"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}
