//! `cassay plan`: what a study would do. Nothing is started.

use crate::args::StudyArguments;
use crate::exit::Exit;
use crate::speech;
use anyhow::Result;
use std::fmt::Write;
use study::human;
use study::plan::Plan;
use study::settings::Study;

/// Prints the plan.
pub fn plan(arguments: &StudyArguments, json: bool) -> Result<Exit> {
    let study = super::study(arguments)?;
    let plan = study::plan::plan(&study).map_err(anyhow::Error::msg)?;
    if json {
        let record = study::record::plan_record(&study, &plan);
        speech::json(&serde_json::to_value(record)?);
    } else {
        speech::data(&text(&study, &plan));
    }
    Ok(Exit::Valid)
}

/// The plan in words.
pub fn text(study: &Study, plan: &Plan) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}: {}\n", study.name, study.question);
    for trial in &plan.trials {
        let _ = writeln!(out, "{}", trial.slug);
        for phase in &trial.phases {
            let seconds = human::seconds_for_people(phase.seconds);
            let _ = writeln!(
                out,
                "  {:<8} {:>8}  {}",
                phase.kind.name(),
                seconds,
                phase.what
            );
        }
    }
    for note in &study.notes {
        let _ = writeln!(out, "\nnote: {note}");
    }
    let _ = writeln!(out, "\n{}", estimate(plan));
    out
}

/// One line: trials, time, disk, memory.
pub fn estimate(plan: &Plan) -> String {
    let estimate = &plan.estimate;
    format!(
        "{} trials, about {}, {} of disk and {} of memory for the target",
        plan.trials.len(),
        human::seconds_for_people(estimate.seconds),
        human::bytes_for_people(estimate.disk_bytes),
        human::bytes_for_people(estimate.memory_bytes),
    )
}
