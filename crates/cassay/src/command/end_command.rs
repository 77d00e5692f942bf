//! The user's command at the end of a run (`--then`).
//!
//! The command comes from the command line, and never from a study, so it needs no `--trust`.

use crate::args::ThenArgs;
use crate::exit::Exit;
use crate::terminal;
use anyhow::Result;
use host::process::{self, Patience};
use measure::clock;
use std::path::Path;
use std::time::Duration;
use store::RunWriter;
use store::record::JournalEvent;

/// Maximum size of the output in the journal, in bytes. The end of the output is kept, because it
/// contains the error.
const OUTPUT_BYTES_MAX: usize = 16 << 10;

/// A finished run, as its end command sees it.
pub struct FinishedRun<'a> {
    pub folder: &'a Path,
    pub report: &'a Path,
    pub study: &'a str,
    pub verdict: &'a str,
    /// Exit code that the run has without its end command.
    pub exit: Exit,
}

/// Runs the user's command, if there is one, and writes its output to the journal. Returns the exit
/// code of the run, which the command changes only with `--then-required`.
///
/// # Errors
/// The journal cannot be written.
pub fn run(args: &ThenArgs, run: &FinishedRun<'_>) -> Result<Exit> {
    let Some(text) = &args.then else {
        return Ok(run.exit);
    };
    let mut command = process::command(Path::new("/bin/sh"));
    command.arg("-c").arg(text);
    let folder = std::path::absolute(run.folder).unwrap_or_else(|_| run.folder.to_owned());
    let report = std::path::absolute(run.report).unwrap_or_else(|_| run.report.to_owned());
    command
        .env("CASSAY_RUN", folder)
        .env("CASSAY_REPORT", report)
        .env("CASSAY_STUDY", run.study)
        .env("CASSAY_VERDICT", run.verdict)
        .env("CASSAY_EXIT", run.exit.code().to_string());
    let started_ns = clock::now_ns();
    let limit = Duration::from_nanos(args.then_within);
    let answer = process::ask(command, &[], Patience::up_to(limit));
    let seconds = clock::now_ns().saturating_sub(started_ns) as f64 / 1e9;
    let (output, failure) = match answer {
        Ok(answer) => {
            let mut output = answer.output;
            output.extend(answer.errors);
            let failure = (!answer.status.success()).then(|| answer.status.to_string());
            (end_of(&output), failure)
        }
        Err(error) => (String::new(), Some(format!("{error:#}"))),
    };
    if !output.is_empty() {
        terminal::say(output.trim_end());
    }
    let event = JournalEvent::EndCommand {
        command: text.clone(),
        output,
        failure: failure.clone(),
        seconds,
    };
    RunWriter::reopen(run.folder)?.journal(None, event)?;
    let Some(failure) = failure else {
        return Ok(run.exit);
    };
    terminal::say(&format!(
        "warning: the command of --then failed: {failure}\nhint: its output is in journal.ndjson \
         of the run; the run and its report are complete"
    ));
    let is_error = args.then_required && run.exit == Exit::Done;
    Ok(if is_error { Exit::Error } else { run.exit })
}

/// Returns the end of an output as text.
fn end_of(output: &[u8]) -> String {
    let from = output.len().saturating_sub(OUTPUT_BYTES_MAX);
    String::from_utf8_lossy(&output[from..]).into_owned()
}
