//! `cassay delete`: removes runs from the results folder.

use crate::args::{Common, DeleteArgs};
use crate::exit::Exit;
use crate::terminal;
use anyhow::Result;
use measure::clock;
use measure::number::{bytes, counted};
use serde_json::{Value, json};
use store::Deletable;

/// Lists the runs, and deletes them when the user confirms the deletion.
///
/// `--older-than` keeps runs with a tag, because a tag means that later runs are compared with the
/// run.
pub fn run(args: &DeleteArgs, common: &Common) -> Result<Exit> {
    let results = &common.out;
    let (kept, runs): (Vec<Deletable>, Vec<Deletable>) = match args.older_than {
        Some(age_ns) => store::older_than(results, clock::unix_ns().saturating_sub(age_ns))?
            .into_iter()
            .partition(|run| !run.tags.is_empty()),
        None => (Vec::new(), store::deletable(results, &args.runs)?),
    };
    if !common.json {
        terminal::data(&listed(&kept, &runs));
    }
    let asks = format!(
        "Delete {}? You cannot undo this.",
        counted(runs.len(), "run")
    );
    let (refused, hint) = ("cassay deleted no run", "delete the listed runs");
    let is_done = !runs.is_empty() && terminal::is_confirmed(args.yes, &asks, refused, hint);
    if is_done {
        for run in &runs {
            store::delete(results, run)?;
        }
        terminal::say(&format!("deleted {}", counted(runs.len(), "run")));
    }
    if common.json {
        terminal::json(&json!({
            "runs": runs.iter().map(record).collect::<Vec<_>>(),
            "kept": kept.iter().map(record).collect::<Vec<_>>(),
            "deleted": is_done,
        }));
    }
    Ok(if is_done || runs.is_empty() {
        Exit::Done
    } else {
        Exit::Usage
    })
}

fn record(run: &Deletable) -> Value {
    json!({"run": run.name, "bytes": run.bytes, "tags": run.tags})
}

fn listed(kept: &[Deletable], runs: &[Deletable]) -> String {
    let mut text = String::new();
    if runs.is_empty() {
        text += "no such run\n";
    }
    for run in runs {
        let tags = if run.tags.is_empty() {
            String::new()
        } else {
            format!("  tag {}, which cassay also deletes", run.tags.join(", "))
        };
        text += &format!("{}  {}{tags}\n", run.name, bytes(run.bytes));
    }
    for run in kept {
        text += &format!(
            "{}  cassay keeps this run, because it has the tag {}\n",
            run.name,
            run.tags.join(", ")
        );
    }
    text
}
