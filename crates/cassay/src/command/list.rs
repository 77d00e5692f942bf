//! `cassay list`: lists all runs in the results folder.

use crate::args::Common;
use crate::exit::Exit;
use crate::terminal;
use anyhow::Result;
use serde_json::json;
use store::record::{RequirementOutcome, Verdict};
use store::{RunLine, RunState};

/// Lists the runs, oldest first.
pub fn run(common: &Common) -> Result<Exit> {
    let runs = store::list(&common.out)?;
    if common.json {
        terminal::json(&runs.iter().map(to_json).collect());
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        terminal::say(&format!("no runs in {}", common.out.display()));
        return Ok(Exit::Done);
    }
    let names: Vec<String> =
        runs.iter().map(|run| format!("{}/{}", run.study, run.stamp)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (run, name) in runs.iter().zip(&names) {
        let state = run.state.map_or("damaged", RunState::name);
        text += &format!(
            "{name:width$}  {state:11}  {:7}  {}/{} trials{}{}\n",
            run.verdict.map_or("-", Verdict::name),
            run.trials_finished,
            run.trials_planned,
            run.left_out.iter().map(|why| format!(", {why}")).collect::<String>(),
            match run.requirements {
                None => "",
                Some(RequirementOutcome::Met) => ", requirements met",
                Some(RequirementOutcome::Inconclusive) => ", requirements inconclusive",
                Some(RequirementOutcome::Missed) => ", a requirement missed",
            },
        );
        if let Some(error) = &run.error {
            text += &format!("{:width$}  {error}\n", "");
        }
    }
    terminal::data(&text);
    Ok(Exit::Done)
}

fn to_json(run: &RunLine) -> serde_json::Value {
    json!({
        "path": run.path,
        "study": run.study,
        "stamp": run.stamp,
        "state": run.state.map(RunState::name),
        "verdict": run.verdict.map_or("-", Verdict::name),
        "trials_finished": run.trials_finished,
        "trials_planned": run.trials_planned,
        "requirements": run.requirements,
        "left_out": run.left_out,
        "error": run.error,
    })
}
