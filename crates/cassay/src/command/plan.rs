//! `cassay plan`: shows every trial of a study and its expected cost.

use super::{own_table, read_study};
use crate::args::{Common, PlanArgs, VERSION};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result};
use engine::missing_capabilities;
use engine::plan_record;
use engine::preflight::{self, Preflight};
use engine::trial_name;
use measure::number::{about_duration, about_durations, bytes};
use study::conditions::{self, Condition};
use study::estimate;
use study::plan::{self, Plan, Turn};
use study::settings::Study;
use study::timeline;
use study::units;

/// Shows the plan, and checks with the study's cluster that the study can run on it. Starts
/// nothing.
///
/// # Errors
/// cassay cannot query the cluster. A run would fail for the same reason, with the same message.
pub fn run(args: &PlanArgs, common: &Common) -> Result<Exit> {
    let study = match read_study(&args.study, common.json) {
        Ok(study) => study,
        Err(end) => return end,
    };
    if args.offline {
        describe(&study, common)?;
        return Ok(Exit::Done);
    }
    match own_table::to_plan(&study, common.json) {
        Ok(study) => show(&study, common),
        Err(Ok(end)) => Ok(end),
        Err(Err(why)) => {
            describe(&study, common)?;
            Err(why)
        }
    }
}

/// Shows the plan of a resolved study, and checks with the study's cluster that the study can run
/// on it.
///
/// # Errors
/// The same errors as for [`run`] can occur.
pub fn show(study: &Study, common: &Common) -> Result<Exit> {
    let plan = describe(study, common)?;
    ask(study, &plan, common)
}

/// Does the same as [`show`] for a command line that cassay only checks, so the cluster may be
/// unreachable.
pub fn show_words(study: &Study, common: &Common) -> Result<Exit> {
    let plan = describe(study, common)?;
    ask(study, &plan, common).or_else(|why| {
        terminal::say(&format!(
            "note: cassay could not query the cluster: {why:#}"
        ));
        Ok(Exit::Done)
    })
}

fn describe(study: &Study, common: &Common) -> Result<Plan> {
    let plan = plan::plan(study)?;
    let last = store::last_finished(&common.out, &study.name);
    let last = last.as_ref().and_then(|run| {
        let findings = run.findings.as_ref()?;
        Some((run.stamp.as_str(), findings))
    });
    let mut expected = engine::expected(study, last);
    let clients_needed = engine::clients_needed(study, &plan, &common.out);
    let (clients_words, too_few) = engine::clients_words(&clients_needed).unzip();
    if common.json {
        let value = serde_json::to_value(plan_record::plan_record(study, &plan, VERSION));
        let mut value = value.context("encode the plan")?;
        value["expected"] = expected.into();
        let clients_needed = serde_json::to_value(&clients_needed);
        value["clients_needed"] = clients_needed.context("encode the required clients")?;
        terminal::json(&value);
    } else {
        expected.extend(clients_words);
        terminal::data(&text(study, &plan, &expected));
    }
    for warning in plan.warnings.iter().chain(too_few.iter().flatten()) {
        terminal::say(&format!("note: {warning}"));
    }
    super::run::say_neighbours();
    // A missing capability is only a note here, because the plan may be for another machine.
    if let Err(why) = missing_capabilities::check(study, &plan, &super::dirs()?) {
        terminal::say(&format!(
            "note: `cassay run` would refuse this study on this machine: {why}"
        ));
    }
    super::supply::say_absent(study)?;
    Ok(plan)
}

fn ask(study: &Study, plan: &Plan, common: &Common) -> Result<Exit> {
    let own = preflight::own_runs(study, &common.out, None)?;
    let found = preflight::preflight(study, plan, &super::dirs()?, &own)?;
    Ok(clusters(&found))
}

/// Prints the state of an attached cluster, and the changes of the study that are not allowed.
fn clusters(found: &Preflight) -> Exit {
    for said in &found.says {
        terminal::say(said);
    }
    for refusal in &found.refusals {
        terminal::say(&format!("not allowed: {refusal}"));
    }
    if found.refusals.is_empty() {
        Exit::Done
    } else {
        Exit::Usage
    }
}

fn text(study: &Study, plan: &Plan, expected: &[String]) -> String {
    let mut text = format!("{}: {}\n\n", study.name, study.question);
    // This list omits faults, because the drawing of the phases shows them.
    let is_said = |condition: &Condition| condition.about != "faults";
    let conditions: Vec<Condition> =
        conditions::conditions(study).into_iter().filter(is_said).collect();
    for condition in &conditions {
        let variant = condition.of.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        text += &format!("  {:<10} {variant}{}\n", condition.about, condition.what);
    }
    for line in timeline::lines(study, terminal::columns()) {
        text += &format!("{line}\n");
    }
    if !conditions.is_empty() {
        text.push('\n');
    }
    // Consecutive trials are alike if their points are still unknown and the trials differ only in
    // their numbers.
    let is_alike = |one: &Turn, next: &Turn| {
        let name = |turn| trial_name(study, turn);
        one.point.is_none() && name(one) == name(next) && one.phases == next.phases
    };
    for alike in plan.trials.chunk_by(is_alike) {
        let trial = &alike[0];
        let if_asked = if trial.certain { "" } else { ", if needed" };
        let name = trial_name(study, trial);
        let last = trial.index + alike.len();
        text += &match alike.len() {
            1 => format!("{last:>3}. {name}{if_asked}\n"),
            _ => format!("{:>3} to {last}. {name}{if_asked}\n", trial.index + 1),
        };
        for phase in &trial.phases {
            let about = about_duration(phase.seconds);
            text += &format!(
                "     {:<8} {:<62} {about:>10}\n",
                phase.kind.name(),
                phase.work.to_string()
            );
        }
    }
    for decided_by in decided_by(study) {
        text += &format!("\n{decided_by}.\n");
    }
    for (number, sentence) in expected.iter().enumerate() {
        let gap = if number == 0 { "\n" } else { "" };
        text += &format!("{gap}{sentence}\n");
    }
    text += &format!("\n{}", bounds(plan, study.seed));
    let estimate = &plan.estimate;
    if estimate.memory_bytes > 0 {
        text += &format!(
            ". The target needs about {} of memory and up to {} of disk space",
            bytes(estimate.memory_bytes),
            bytes(estimate.disk_bytes)
        );
    }
    text += ".\n";
    text + &time_use(plan)
}

/// Shortest time outside of phases that the text states, in seconds.
const BESIDE_S_MIN: f64 = 0.5;

/// Describes the share of the time in which cassay measures, and the steps that take the rest of
/// the time.
fn time_use(plan: &Plan) -> String {
    let estimate = &plan.estimate;
    if estimate.seconds <= 0.0 {
        return String::new();
    }
    let share = 100.0 * estimate.measured_s / estimate.seconds;
    let steps = estimate::other_steps(&plan.trials);
    let known_s = estimate.measured_s + steps.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let mut steps: Vec<String> = steps
        .into_iter()
        .map(|(kind, seconds)| format!("{} {}", kind.name(), about_duration(seconds)))
        .collect();
    // The estimate also contains work outside the phases of trials.
    let beside_s = estimate.seconds - known_s;
    if beside_s >= BESIDE_S_MIN {
        steps.push(format!(
            "client ceilings, and the start and end of trials {}",
            about_duration(beside_s)
        ));
    }
    let rest = if steps.is_empty() {
        String::new()
    } else {
        format!("; the rest: {}", steps.join(", "))
    };
    format!("Measured windows take {share:.0} % of that time{rest}.\n")
}

/// Returns the sentences on the conditions under which uncertain trials run, without duplicates.
fn decided_by(study: &Study) -> Vec<String> {
    let mut said = Vec::new();
    for variant in &study.variants {
        let decided_by = variant.settings.procedure.outlook().decided_by;
        said.extend(decided_by.filter(|text| !said.contains(text)));
    }
    if let Some(least) = study.repeat.first_look {
        said.push(format!(
            "cassay runs blocks {} to {} only until the primary comparison has an answer",
            least + 1,
            study.repeat.blocks
        ));
    }
    said
}

/// Describes the number and length of the trials. If a procedure chooses the trials during the run,
/// the text contains a range.
fn bounds(plan: &Plan, seed: u64) -> String {
    let estimate = &plan.estimate;
    let certain = plan.trials.iter().filter(|trial| trial.certain).count();
    let trials = units::trials(certain, plan.trials.len());
    let about = about_durations(estimate.seconds_least, estimate.seconds);
    format!("{trials}, seed {seed}, about {about}")
}
