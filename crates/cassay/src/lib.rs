//! The only crate that talks to the terminal: arguments, progress, exit codes, wiring.
//!
//! [`main`] is the whole program. If the process was started as an agent, a client or an agent's
//! helper, `main` runs only this agent, client or helper. Otherwise, `main` calls [`run`], which
//! other programs may call too. `run` reads the arguments and clears the leftovers of a killed run.
//! Then it runs the command, prints any error once, and returns the exit code. Data goes to stdout,
//! messages to stderr.

mod args;
mod command;
mod exit;
mod interrupt;
mod progress;
mod study_errors;
mod terminal;
mod tool_output;

pub use exit::Exit;

use args::{Args, Command};
use clap::FromArgMatches;
use imports::Tool;
use std::ffi::OsString;
use std::process::ExitCode;
// Links the allocator and memcpy of static builds.
use allocator as _;

/// Factory for the load of one of several clients.
static MAKER: engine::StudyMaker = engine::StudyMaker::new();

/// Runs this process as the program `cassay`, with the arguments of the process.
///
/// This function must be the first call of a process, because agents and clients start here as
/// well.
pub fn main() -> ExitCode {
    // An agent must answer first, because a thread that already runs would stay outside of the
    // agent's emulated host.
    if let Some(code) = agent::answer() {
        return code.into();
    }
    if let Some(code) = fleet::answer(&MAKER) {
        return code.into();
    }
    if let Some(done) = cassandra::answer() {
        let exit = done.map_or_else(|error| terminal::error(&error), |()| exit::Exit::Done);
        return terminal::end(exit).into();
    }
    run(std::env::args_os()).into()
}

/// Runs one command line, whose first word is the program's name. Returns the exit code.
///
/// A command that starts agents or clients runs the executable of this process again. So this
/// executable must call [`main`] first. Other commands have no such requirement.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let parsed = args::command().try_get_matches_from(arguments);
    let args = match parsed.and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(args) => args,
        Err(usage) => return terminal::end(terminal::usage(&args::unseen(usage))),
    };
    command::clear_leftovers();
    let result = match &args.command {
        Command::Demo(demo) => command::demo::run(demo, &args.common),
        Command::New(new) => command::new::run(new, &args.common),
        Command::Studies(studies) => command::studies::run(studies, &args.common),
        Command::Plan(plan) => command::plan::run(plan, &args.common),
        Command::Run(run) => command::run::run(run, &args.common),
        Command::Bisect(bisect) => command::bisect::run(bisect, &args.common),
        Command::Resume(resume) => command::run::resume(resume, &args.common),
        Command::Confirm(confirm) => command::run::confirm(confirm, &args.common),
        Command::List => command::list::run(&args.common),
        Command::Tag(tag) => command::tag::run(tag, &args.common),
        Command::Delete(delete) => command::delete::run(delete, &args.common),
        Command::Show(show) => command::show::show(show, &args.common),
        Command::Watch(watch) => command::watch::run(watch, &args.common),
        Command::Serve(serve) => command::serve::run(serve, &args.common),
        Command::History(history) => command::history::run(history, &args.common),
        Command::Compare(compare) => command::compare::compare(compare, &args.common),
        Command::Import(import) => command::import::import(import, &args.common),
        Command::Report(report) => command::report::report(report, &args.common),
        Command::Publish(publish) => command::publish::run(publish, &args.common),
        Command::Export(export) => command::export::run(export, &args.common),
        Command::Target(target) => command::target::run(target, &args.common),
        Command::Clean(clean) => command::clean::run(clean, &args.common),
        Command::Snapshot(snapshot) => command::snapshot::run(snapshot, &args.common),
        Command::Fault(fault) => command::fault::run(fault, &args.common),
        Command::Topology(topology) => command::topology::run(topology, &args.common),
        Command::Supply(supply) => command::supply::run(supply, &args.common),
        Command::Hosts(hosts) => command::hosts::run(hosts, &args.common),
        Command::Kubernetes(asked) => command::kubernetes::run(asked, &args.common),
        Command::Doctor(doctor) => command::doctor::run(doctor, &args.common),
        Command::Explain(explain) => command::explain::run(explain, &args.common),
        Command::Schema(schema) => command::schema::run(schema, &args.common),
        Command::Completions(shell) => command::completions::completions(shell),
        Command::Man(man) => command::completions::man(man, &args.common),
        Command::Null(null) => command::null::run(null, &args.common),
        Command::Workload(workload) => command::workload::run(workload, &args.common),
        Command::Stress(words) => command::other_tools::run(Tool::Stress, words, &args.common),
        Command::Nb(words) => command::other_tools::run(Tool::Nb, words, &args.common),
        Command::Ycsb(words) => command::other_tools::run(Tool::Ycsb, words, &args.common),
        Command::Easy(words) => command::other_tools::run(Tool::Easy, words, &args.common),
    };
    let exit = result.unwrap_or_else(|error| terminal::error(&error));
    terminal::end(exit)
}
