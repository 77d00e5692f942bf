//! The only crate that knows the terminal: arguments, progress, exit codes, wiring.
//!
//! stdout is data, stderr is conversation. Whatever happens, every guard has dropped before the
//! process ends, so that nothing that was started is left behind.

mod args;
mod commands;
mod diagnostics;
mod exit;
mod places;
mod progress;
mod speech;

use args::{Arguments, Command};
use clap::Parser;
use exit::Exit;
use places::Places;

fn main() -> std::process::ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refusal) => return exit::of_clap(&refusal).into(),
    };
    let places = Places::of(&arguments);
    run(&arguments, &places)
        .unwrap_or_else(|error| diagnostics::show(&error))
        .into()
}

fn run(arguments: &Arguments, places: &Places) -> anyhow::Result<Exit> {
    places.clear_leftovers();
    match &arguments.command {
        Command::Plan(study) => commands::plan::plan(study, arguments.json),
        Command::Run(study) => commands::run::run(study, places, arguments.json),
        Command::Resume { run } => commands::run::resume(run, places, arguments.json),
        Command::List => commands::results::list(places, arguments.json),
        Command::Show { run } => commands::results::show(run, places, arguments.json),
        Command::Compare {
            baseline,
            contender,
            html,
        } => {
            commands::results::compare(baseline, contender, html.as_deref(), places, arguments.json)
        }
        Command::Report { run } => commands::results::report(run, places, arguments.json),
        Command::Target(target) => commands::target::target(target, places, arguments.json),
        Command::Workload(workload) => commands::workload::workload(workload, arguments.json),
        Command::Null(null) => commands::null::null(null, arguments.json),
    }
}
