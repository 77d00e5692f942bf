//! `cassay completions` and `cassay man`: print the completion script of a shell, and write the man
//! pages of all commands.

use crate::args::{self, Common, CompletionsArgs, ManArgs, Shell};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result};
use clap_complete::shells;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut command = args::command();
    let shell = match args.shell {
        Shell::Bash => shells::Shell::Bash,
        Shell::Zsh => shells::Shell::Zsh,
        Shell::Fish => shells::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "cassay", &mut script);
    terminal::data(&String::from_utf8(script).context("read the completions")?);
    Ok(Exit::Done)
}

/// Writes a man page for each command.
pub fn man(args: &ManArgs, common: &Common) -> Result<Exit> {
    let folder = &args.to;
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let mut command = args::command();
    command.build();
    let mut written = Vec::new();
    pages(&command, "cassay", folder, &mut written)?;
    if common.json {
        terminal::json(&json!({"pages": written}));
    }
    terminal::say(&format!(
        "{} pages in {}: man -l {}",
        written.len(),
        folder.display(),
        folder.join("cassay.1").display()
    ));
    Ok(Exit::Done)
}

fn pages(
    command: &clap::Command,
    name: &str,
    folder: &Path,
    written: &mut Vec<PathBuf>,
) -> Result<()> {
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .with_context(|| format!("make {}", path.display()))?;
    store::write_output(&path, &page)?;
    written.push(path);
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        pages(
            below,
            &format!("{name}-{}", below.get_name()),
            folder,
            written,
        )?;
    }
    Ok(())
}
