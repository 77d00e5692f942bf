//! `cassay tag`: names runs, for later comparisons.

use crate::args::{Common, TagArgs};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Result, bail};
use serde_json::json;
use std::path::Path;

/// Adds or removes the name of a run, or lists all names.
pub fn run(args: &TagArgs, common: &Common) -> Result<Exit> {
    let results = &common.out;
    if let Some(name) = &args.name {
        change(name, args, results)?;
    }
    let all = store::tags(results)?;
    if common.json {
        terminal::json(&json!(all));
    } else if args.name.is_none() {
        let lines = all.iter().map(|(name, run)| format!("{name}  {run}\n"));
        terminal::data(&lines.collect::<String>());
    }
    Ok(Exit::Done)
}

fn change(name: &str, args: &TagArgs, results: &Path) -> Result<()> {
    if !args.remove {
        let run = store::find(results, &args.run)?;
        store::tag(results, name, &run)?;
        terminal::say(&format!("{name} is {}/{} now", run.plan.study, run.stamp));
    } else if !store::untag(results, name)? {
        bail!(
            "no run in {} has the tag {name:?}; `cassay tag` lists all tags",
            results.display()
        );
    }
    Ok(())
}
