//! Generates documents. `cargo xtask docs` writes them, and the gate compares them, so that a
//! reference always corresponds to the program. The documents are in git, so that users can read
//! them without a build.

mod records;
mod schemas;

use crate::{process, tree};
use anyhow::{Context, Result, bail};
use std::fmt::Write;

/// Path of the command-line reference. The reference is generated from the output of `--help` of
/// every command.
const COMMAND_LINE: &str = "docs/command-line.md";

/// Options of `cargo xtask docs`.
#[derive(clap::Args)]
pub struct Options {
    /// Write nothing; fail if a document is out of date
    #[arg(long)]
    check: bool,
}

/// Writes or compares the documents.
pub fn run(options: &Options) -> Result<()> {
    if options.check {
        return check();
    }
    // The schemas are written first, because the program embeds them.
    for (path, text) in schemas::all()? {
        write(path, &text)?;
    }
    write(COMMAND_LINE, &command_line()?)
}

fn write(name: &str, text: &str) -> Result<()> {
    let path = tree::root().join(name);
    std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    println!("docs: wrote {name}");
    Ok(())
}

/// Checks that every document equals its generated text.
pub fn check() -> Result<()> {
    for (path, text) in schemas::all()? {
        compare(path, &text)?;
    }
    compare(COMMAND_LINE, &command_line()?)
}

fn compare(name: &str, text: &str) -> Result<()> {
    let written = std::fs::read_to_string(tree::root().join(name)).unwrap_or_default();
    if written != text {
        bail!("{name} does not match the program; hint: `cargo xtask docs` writes it");
    }
    println!("docs: {name} is up to date");
    Ok(())
}

fn command_line() -> Result<String> {
    let program = built()?;
    let top = help(&program, &[])?;
    let commands = commands_in(&top);
    if commands.is_empty() {
        bail!("`cassay --help` lists no commands");
    }
    let mut page = String::from(
        "# The command line\n\nWritten by `cargo xtask docs` from the program's own help; \
         not edited by hand.\n",
    );
    section(&mut page, "cassay", &top);
    for command in &commands {
        let own = help(&program, &[command])?;
        section(&mut page, &format!("cassay {command}"), &own);
        for nested in commands_in(&own) {
            section(
                &mut page,
                &format!("cassay {command} {nested}"),
                &help(&program, &[command, &nested])?,
            );
        }
    }
    Ok(page)
}

fn section(page: &mut String, title: &str, help: &str) {
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let text = lines.join("\n");
    // The result is ignored, because writing to a String cannot fail.
    let _ = write!(page, "\n## {title}\n\n```text\n{}\n```\n", text.trim());
}

/// Builds the program together with the tests, in the same way as the gate, and returns the path of
/// the program. In a separate build, cargo would omit the features that only tests request, and
/// recompile crates for three minutes.
fn built() -> Result<String> {
    process::run(&process::cargo(), &crate::ci::BUILD)?;
    let program = crate::ci::target().join("debug/cassay");
    Ok(program.to_string_lossy().into_owned())
}

fn help(program: &str, command: &[&str]) -> Result<String> {
    process::output(program, &[command, &["--help"]].concat())
}

/// Returns the commands that are listed under `Commands:` in clap's help, except the command
/// `help`.
fn commands_in(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = lines.take_while(|line| !line.trim().is_empty());
    // Names of commands are indented by two columns, and wrapped descriptions by more columns.
    let names = listed
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_clap_s_help() {
        let help = "A lab\n\nUsage: cassay <COMMAND>\n\nCommands:\n  run    Runs a study, \
            waits\n             and reports\n  list   Lists runs\n  help   Prints this\n\n\
            Options:\n  -h, --help  Print help\n";
        assert_eq!(commands_in(help), ["run", "list"]);
        assert!(commands_in("Options:\n  -h\n").is_empty());
    }
}
