//! Arguments of commands that help to write studies and read their results, and of `delete`.

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub struct NewArgs {
    /// Name of the template. Without a name, cassay lists all templates.
    #[arg(value_parser = template)]
    pub template: Option<&'static crate::command::new::Template>,
    /// Target of the study: null, local or attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET", value_parser = crate::command::new::TargetChoice::parse)]
    pub target: Option<crate::command::new::TargetChoice>,
    /// Answer one question of the template: a key of the study and its value. Repeatable.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Output file. cassay does not overwrite an existing file. Default: the name of the template
    /// with the suffix .yaml.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Ask no questions, and use the default answers. Without a terminal, this is always so.
    #[arg(long)]
    pub yes: bool,
}

fn template(text: &str) -> Result<&'static crate::command::new::Template, String> {
    crate::command::new::template(text)
}

#[derive(Debug, ClapArgs)]
pub struct DeleteArgs {
    /// Runs to delete. Each is a path, latest, a study (its newest run), study/stamp, a tag, or the
    /// beginning of such a name.
    #[arg(value_name = "RUN", required_unless_present = "older_than")]
    pub runs: Vec<String>,
    /// Delete all runs that are older than this time, such as 30d.
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with = "runs",
        value_parser = study::units::parse_duration_ns
    )]
    pub older_than: Option<u64>,
    /// Delete without confirmation.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// Name to explain: a rule (V12), key of a study (window.warmup), figure (p99_ms), term
    /// (release lag), fault (net-loss) or exit code (3). Without a name, cassay lists all names.
    #[arg(value_name = "WORD")]
    pub what: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SchemaArgs {
    /// Document whose schema to print.
    #[arg(value_name = "SCHEMA", value_enum)]
    pub of: SchemaOf,
    /// Write the schema to this file, for an editor.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}

/// Document that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Schema of a study, for completion and checks in an editor.
    Study,
    /// Schema of `findings.json` of a run, and of the output of `run --json`.
    Findings,
    /// Schema of `plan.json` of a run, and of the output of `plan --json`.
    Plan,
    /// Schema of a line of `intervals.ndjson` of a trial.
    Interval,
}

#[derive(Debug, ClapArgs)]
pub struct CompletionsArgs {
    /// Shell that reads the script.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Shell with completion of command lines.
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
    /// Output folder for the pages, with one page per command. cassay creates the folder if
    /// necessary.
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}
