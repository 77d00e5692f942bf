//! Arguments of what helps to write a study and to read what came of it.

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub struct NewArgs {
    /// What is asked: one of the templates; all of them are listed without one.
    #[arg(value_parser = template)]
    pub template: Option<&'static crate::command::new::Template>,
    /// Of what it is asked: null, local or attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET", value_parser = crate::command::new::Place::parse)]
    pub target: Option<crate::command::new::Place>,
    /// Answer one question: the key of the study that it is about, and its value; may be given
    /// again.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Write the study to this file instead of one with its name; a file that is there is kept.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Ask nothing: the defaults are the answers, as where there is no terminal.
    #[arg(long)]
    pub yes: bool,
}

fn template(text: &str) -> Result<&'static crate::command::new::Template, String> {
    crate::command::new::template(text)
}

#[derive(Debug, ClapArgs)]
pub struct DeleteArgs {
    /// The runs: each a path, latest, a study (its newest run), study/stamp, a tag, or the
    /// beginning of one.
    #[arg(value_name = "RUN", required_unless_present = "older_than")]
    pub runs: Vec<String>,
    /// Delete all runs that began longer ago than this: 30d.
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "runs",
        value_parser = study::units::parse_duration_ns
    )]
    pub older_than: Option<u64>,
    /// Delete without asking.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// A rule (V12), a key of a study (window.warmup), a figure (p99_ms), a word (release lag), a
    /// kind of fault (net-loss) or an exit code (3); all of them are listed without one.
    pub what: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SchemaArgs {
    /// Of what.
    #[arg(value_enum)]
    pub of: SchemaOf,
    /// Write it to this file, for an editor.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

/// What there is a schema of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A study, as an editor completes and checks it.
    Study,
    /// `findings.json` of a run, and `run --json`.
    Findings,
    /// `plan.json` of a run, and `plan --json`.
    Plan,
    /// A line of `intervals.ndjson` of a trial.
    Interval,
}

#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash.
    Bash,
    /// Z shell.
    Zsh,
    /// The fish shell.
    Fish,
}

#[derive(Debug, ClapArgs)]
pub struct ManArgs {
    /// The folder that the pages are written to, one for each command; it is made.
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}
