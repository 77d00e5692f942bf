//! `cassay run` and `cassay resume`: run a study or the rest of a run, up to its report.

use super::end_command::{self, FinishedRun};
use super::{dirs, own_table, page_file, read_study};
use crate::args::{
    Common, ConfirmArgs, ResumeArgs, RunArgs, ShownArgs, SummaryArgs, VERSION, ViewMode,
};
use crate::exit::Exit;
use crate::progress::{Show, tone_of};
use crate::terminal::{Line, Tone};
use crate::tool_output::Compat;
use crate::{interrupt, terminal};
use anyhow::{Context, Error, Result, anyhow};
use engine::{InterruptedRun, Options, RunEnd, missing_capabilities};
use report::{Headline, Page, RunView, Verdict};
use serde_json::json;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::record::FindingsRecord;
use store::{Run, RunWriter};
use study::plan;
use study::settings::Study;

/// Runs a study.
///
/// 1. Reads and plans the study. Mistakes end the command here, before anything starts.
/// 2. Runs the study.
/// 3. Writes the report.
/// 4. Prints the answer.
pub fn run(args: &RunArgs, common: &Common) -> Result<Exit> {
    let read = read_study(&args.study, common.json);
    let study = match read.and_then(|study| own_table::to_run(study, common.json)) {
        Ok(study) => study,
        Err(end) => return end,
    };
    run_study(&study, common, None, &args.shown)
}

/// Runs the study of a demo. The demo succeeds if it produces a report. The last lines of the
/// output state why the numbers are weak. `again` is the command that repeats the demo.
pub fn demo(args: &RunArgs, common: &Common, again: &str) -> Result<Exit> {
    let study = match read_study(&args.study, common.json) {
        Ok(study) => study,
        Err(end) => return end,
    };
    let end = End {
        common,
        voice: Voice::Demo { again },
        shown: &args.shown,
    };
    run_to(&end, &study, None)
}

/// Runs a resolved study. With `compat`, prints the output in the format of another tool instead of
/// cassay's.
pub fn run_study(
    study: &Study,
    common: &Common,
    compat: Option<Compat>,
    shown: &ShownArgs,
) -> Result<Exit> {
    let end = End {
        common,
        voice: if compat.is_some() {
            Voice::Tool
        } else {
            Voice::Study
        },
        shown,
    };
    run_to(&end, study, compat)
}

fn run_to(end: &End<'_>, study: &Study, mut compat: Option<Compat>) -> Result<Exit> {
    let plan = plan::plan(study)?;
    if end.voice == Voice::Study {
        say_neighbours();
    }
    let exit = with_options(end, |options, show| {
        engine::run(study, &plan, options, &mut |event| match &mut compat {
            Some(compat) => compat.event(&event),
            None => show.event(event),
        })
    })?;
    if let Some(mut compat) = compat {
        compat.end(exit);
    }
    Ok(exit)
}

/// Runs the study that confirms the settings that a screening chose.
pub fn confirm(args: &ConfirmArgs, common: &Common) -> Result<Exit> {
    let run = store::find(&common.out, &args.name.run)?;
    let study = engine::confirming(&run, args.trust.granted())?;
    if args.plan {
        super::plan::show(&study, common)
    } else {
        run_study(&study, common, None, &args.shown)
    }
}

/// Runs the remaining trials of a run.
pub fn resume(args: &ResumeArgs, common: &Common) -> Result<Exit> {
    let found = store::salvage(&common.out, &args.name.run)?;
    let mut interrupted = InterruptedRun::read(&found, VERSION, args.trust.granted())?;
    if let Some(blocks) = args.more {
        interrupted.add_blocks(usize::from(blocks), VERSION)?;
    }
    let path = &found.run.path;
    if interrupted.is_done() {
        // The report may be missing because the disk was full at the first attempt.
        if found.run.report().is_none() {
            let report = write_report(path, &args.shown.summaries)?;
            terminal::say(&format!("report: {}", report.path.display()));
        }
        terminal::say(&format!(
            "every trial of {} is finished, so no trials remain",
            path.display()
        ));
        return Ok(Exit::Done);
    }
    for damage in interrupted.damages() {
        terminal::say(&format!("note: cassay repeats a damaged trial: {damage}"));
    }
    let end = End {
        common,
        voice: Voice::Study,
        shown: &args.shown,
    };
    with_options(&end, |options, show| {
        interrupted.resume(options, &mut |event| show.event(event))
    })
}

struct End<'a> {
    common: &'a Common,
    voice: Voice<'a>,
    shown: &'a ShownArgs,
}

/// The command for which a run prints its messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice<'a> {
    /// The commands `run`, `resume` and `confirm`.
    Study,
    /// An imported command line: stdout contains only output in the format of that tool.
    Tool,
    Demo {
        /// Command that repeats the demo, such as `cassay demo`.
        again: &'a str,
    },
}

fn with_options(
    end: &End<'_>,
    work: impl FnOnce(&Options<'_>, &mut Show) -> Result<RunEnd>,
) -> Result<Exit> {
    let dirs = dirs()?;
    let interrupt = interrupt::flag()?;
    host::process::heed(Arc::clone(&interrupt));
    let options = Options {
        results: end.common.out.clone(),
        dirs,
        interrupt: &interrupt,
        version: VERSION,
        shared_machine: shared_machine(),
    };
    // The command prints output in the format of another tool, so it shows the progress only as
    // plain lines.
    let mode = if end.voice == Voice::Tool {
        ViewMode::Plain
    } else {
        end.shown.view.view
    };
    let mut show = Show::new(mode, Arc::clone(&interrupt));
    let outcome = work(&options, &mut show);
    let path = show.done();
    let ended = outcome.and_then(|outcome| end.finish(&outcome));
    ended.map_err(|error| match path {
        // An error about damaged files already has a hint and an exit code, so this code adds
        // nothing to it.
        Some(path) if !error.is::<store::DamagedRun>() => to_go_on(&error, &path),
        _ => error,
    })
}

/// Adds to an error the command that continues the run. The run keeps the results that it has so
/// far.
fn to_go_on(error: &Error, path: &Path) -> Error {
    let is_full = error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(
            kind,
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
        )
    });
    let first = if is_full {
        "free some space, then "
    } else {
        ""
    };
    anyhow!(
        "{error:#}\nhint: {first}continue with: cassay resume {}",
        path.display()
    )
}

/// Warns before measuring if other programs use the machine, unless the user declared it shared.
pub fn say_neighbours() {
    if let Some(why) = missing_capabilities::busy_neighbours().filter(|_| !shared_machine()) {
        terminal::say(&format!("note: {why}"));
    }
}

/// Returns true if the user declared the machine shared, by `CASSAY_SHARED_MACHINE=1`. CI runners
/// set this variable if their numbers are not used.
fn shared_machine() -> bool {
    std::env::var_os("CASSAY_SHARED_MACHINE").is_some_and(|value| !value.is_empty() && value != "0")
}

impl End<'_> {
    fn finish(&self, outcome: &RunEnd) -> Result<Exit> {
        let path = &outcome.path;
        let Some(findings) = &outcome.findings else {
            say_remains(outcome);
            terminal::say(&format!(
                "interrupted: cassay stopped all processes that it started. To continue: cassay \
                 resume {}",
                path.display()
            ));
            return Ok(Exit::Interrupted);
        };
        let mut report = write_report(path, &self.shown.summaries)?;
        if let Voice::Demo { .. } = self.voice {
            // For a demo, the last lines already name the next command, which repeats the demo.
            report.headline.next = None;
        }
        if self.common.json {
            let mut value = store::json::tree(findings).context("encode the findings")?;
            value["cassay"] = json!(VERSION);
            value["run"] = json!(path);
            value["report"] = json!(report.path);
            terminal::json(&value);
        } else if self.voice == Voice::Tool {
            answer(&report.headline).iter().for_each(terminal::say_line);
        } else {
            terminal::data_lines(&answer(&report.headline));
        }
        if !findings.reasons.is_empty() {
            let run = path.display();
            terminal::say(&format!(
                "all trials with the reasons for their verdicts: cassay show --trials {run}"
            ));
        }
        say_remains(outcome);
        let exit = match self.voice {
            Voice::Demo { again } => {
                if let Some(weakness) = weakness(&report.headline, again) {
                    terminal::say(&weakness);
                }
                Exit::Done
            }
            Voice::Study | Voice::Tool => exit_of(findings),
        };
        terminal::say(&format!("report: {}", report.path.display()));
        let finished = FinishedRun {
            folder: path,
            report: &report.path,
            study: &findings.study,
            verdict: findings.verdict.name(),
            exit,
        };
        end_command::run(&self.shown.then, &finished)
    }
}

/// Returns the reason why the numbers of a demo are weak, in one sentence with the command that
/// repeats the demo. `None` for a valid run.
fn weakness(headline: &Headline, again: &str) -> Option<String> {
    let why = match headline.verdict {
        Verdict::Valid => return None,
        Verdict::Suspect => "Treat these numbers with caution",
        Verdict::Invalid | Verdict::Unknown => "These numbers are not reliable",
    };
    let reason = headline.main_reasons().first();
    let because = reason.map(|reason| format!(": {}", reason.trim_end_matches('.')));
    Some(format!(
        "{why}{}. Repeat the run on a quiet machine: {again}",
        because.unwrap_or_default()
    ))
}

/// Prints the tables that remain on clusters that cassay did not start.
fn say_remains(outcome: &RunEnd) {
    for remains in &outcome.remains {
        terminal::say(&remains.words());
    }
}

/// Prints the requirements that the run missed, and returns the exit code. An invalid run exits
/// with `Exit::Invalid`, even if it also missed a requirement.
fn exit_of(findings: &FindingsRecord) -> Exit {
    for requirement in &findings.requirements {
        if requirement.is_missed() {
            terminal::say(&format!("a requirement was missed: {}", requirement.says));
        } else if requirement.is_open() {
            terminal::say(&format!("warning: {}", requirement.says));
        }
    }
    if !engine::may_be_believed(findings) {
        if engine::misses_a_requirement(findings) {
            terminal::say(&format!(
                "the run is invalid, and it missed a requirement: the exit code reports the \
                 invalid run ({}, not {})",
                Exit::Invalid.code(),
                Exit::Missed.code()
            ));
        }
        Exit::Invalid
    } else if engine::misses_a_requirement(findings) {
        Exit::Missed
    } else {
        Exit::Done
    }
}

pub struct WrittenReport {
    pub path: PathBuf,
    /// Summary at the top of the report.
    pub headline: Headline,
}

/// Writes `report.html` from the files of the run, and the summary files for pipelines.
pub fn write_report(path: &Path, summaries: &SummaryArgs) -> Result<WrittenReport> {
    let view = RunView::read(&Run::open(path)?)?;
    // The page links to the reports of the experiments, of the tests of a tuning, and of the
    // profiled trials of the run.
    let limits = view.findings.limits.iter().flat_map(|limit| &limit.candidates);
    let experiments = limits.filter_map(|one| one.experiment.as_ref()?.run_folder());
    let profiles = view.findings.profiles.iter().filter_map(|profiles| profiles.run_folder());
    let tuning = view.findings.tuning.iter();
    let tests = tuning.flat_map(|tuning| {
        let tests = tuning.tests.iter().filter_map(|test| test.run_folder());
        tests.chain(tuning.run_folder())
    });
    for run in experiments.chain(profiles).chain(tests) {
        write_report(&path.join(run), &SummaryArgs::default())?;
    }
    let page = report::page(&view);
    let figure = report::figure_file(&page);
    let to = RunWriter::reopen(path)?.write_report(&report::html(&page), figure.as_deref())?;
    write_summaries(&view, &page, &to, summaries)?;
    Ok(WrittenReport {
        path: to,
        headline: page.headline,
    })
}

/// Writes the summary files for pipelines.
pub fn write_summaries(
    view: &RunView,
    page: &Page,
    report: &Path,
    summaries: &SummaryArgs,
) -> Result<()> {
    if let Some(to) = &summaries.junit {
        store::write_output(to, report::junit(view)?.as_bytes())?;
        terminal::say(&format!("JUnit XML: {}", to.display()));
    }
    if let Some(to) = &summaries.markdown {
        // Links are relative to the summary, so that they still work after the summary's folder is
        // moved.
        let link = page_file::way_to(to, report);
        let figure = page_file::way_to(to, &store::figure_of(report));
        let text = report::markdown(page, link.as_deref(), figure.as_deref());
        store::write_output(to, text.as_bytes())?;
        terminal::say(&format!("Markdown: {}", to.display()));
    }
    Ok(())
}

/// Returns the verdict, the answer and the main reasons against the answer, as in the first lines
/// of the report.
fn answer(headline: &Headline) -> Vec<Line> {
    let verdict = headline.verdict;
    let mut lines = vec![
        Line::from_text(&format!("{}: ", headline.study)).with(tone_of(verdict), verdict.name()),
    ];
    if headline.is_missed {
        lines[0] = std::mem::take(&mut lines[0]).with(Tone::Bad, ", requirements missed");
    }
    lines.extend(headline.answer.iter().map(|sentence| {
        if headline.alarms.contains(sentence) {
            Line::from_text("  ").with(Tone::Bad, sentence)
        } else {
            Line::from_text(&format!("  {sentence}"))
        }
    }));
    let reasons = headline.main_reasons().iter();
    lines.extend(reasons.map(|reason| Line::from_text(&format!("  ! {reason}"))));
    if let Some(next) = &headline.next {
        lines.push(Line::from_text(&format!("  next: {}:", next.says)));
        lines.push(Line::from_text(&format!("    {}", next.command)));
    }
    lines
}
