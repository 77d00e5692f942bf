//! Exports JUnit XML for continuous integration. The study is a suite, and the run, each trial and
//! each requirement is a case.
//!
//! A missed requirement is a failure, an unusable trial is an error, and inconclusive or unmeasured
//! cases are skipped. The format has no standard, so this module uses the elements and attributes
//! that Jenkins, GitLab and GitHub's reporters have in common.

use crate::merged_points::{place_key, variant_name};
use crate::page::Verdict;
use crate::run_view::RunView;
use crate::sections::requirements::words;
use anyhow::{Context, Result};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;
use store::record::{self, RequirementRecord, TrialRecord, left_out};

/// Returns the run as one XML document.
///
/// # Errors
/// The document cannot be written to memory, which is not expected.
pub fn junit(view: &RunView) -> Result<String> {
    let took = took(view);
    let mut suite = TestSuite::new(view.plan.study.as_str());
    suite.set_time(took);
    suite.timestamp = began(view).and_then(|began| began.to_string().parse().ok());
    let verdict = Verdict::from_record(view.verdict).to_string();
    for (name, value) in [
        ("run", &view.name),
        ("verdict", &verdict),
        ("cassay", &view.plan.cassay),
    ] {
        suite.add_property(Property::new(name, clean(value)));
    }
    suite.add_test_case(run_case(view, took));
    suite.add_test_cases(view.plan.trials.iter().map(|trial| trial_case(view, trial)));
    let requirements = &view.findings.requirements;
    suite.add_test_cases(requirements.iter().map(|one| requirement_case(view, one)));
    let mut report = Report::new("cassay");
    report.set_time(took);
    report.add_test_suite(suite);
    report.to_string().context("write JUnit XML")
}

fn began(view: &RunView) -> Option<jiff::Timestamp> {
    let first = view.journal.first()?;
    let second = first.unix_ns / 1_000_000_000;
    jiff::Timestamp::from_second(i64::try_from(second).ok()?).ok()
}

fn took(view: &RunView) -> Duration {
    match (view.journal.first(), view.journal.last()) {
        (Some(first), Some(last)) => {
            Duration::from_nanos(last.unix_ns.saturating_sub(first.unix_ns))
        }
        _ => Duration::ZERO,
    }
}

/// Returns a case in the class `class` of the study. `said` is the output of a case that passed, or
/// the status of any other case.
fn with_output(
    view: &RunView,
    class: &str,
    name: &str,
    said: Result<String, TestCaseStatus>,
) -> TestCase {
    let (status, output) = match said {
        Ok(output) => (TestCaseStatus::success(), output),
        Err(status) => (status, String::new()),
    };
    let mut case = TestCase::new(clean(name), status);
    case.set_classname(clean(&format!("{}.{class}", view.plan.study)));
    case.set_time(Duration::ZERO);
    if !output.is_empty() {
        case.set_system_out(clean(&output));
    }
    case
}

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(clean(why));
    status
}

fn missed(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(clean(why)).set_type("missed").set_description(clean(why));
    status
}

fn invalid(what: &str, reasons: &[String]) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(clean(what)).set_type("invalid");
    status.set_description(clean(&reasons.join("\n")));
    status
}

fn run_case(view: &RunView, took: Duration) -> TestCase {
    let findings = &view.findings;
    let answer = findings.answer.join("\n");
    let said = match Verdict::from_record(view.verdict) {
        Verdict::Valid => Ok(answer),
        Verdict::Suspect => Ok(format!(
            "{answer}\nsuspect: {}",
            findings.reasons.join("\n")
        )),
        verdict => Err(invalid(&format!("the run is {verdict}"), &findings.reasons)),
    };
    let mut case = with_output(view, "run", &view.plan.question, said);
    case.set_time(took);
    case
}

fn trial_case(view: &RunView, trial: &TrialRecord) -> TestCase {
    let found = view.findings.trials.iter().find(|t| t.index == trial.index);
    let point = found.map_or(&trial.point, |found| &found.point);
    let name = format!(
        "{}, {}, block {} (trial {})",
        variant_name(&trial.variant, view),
        if point.is_none() {
            "a point that the search finds".to_owned()
        } else {
            place_key(*point)
        },
        trial.block + 1,
        trial.index
    );
    let said = match found {
        None => {
            let why = left_out(&view.journal).get(&trial.index).copied();
            Err(skipped(why.unwrap_or("cassay did not run this trial")))
        }
        Some(found) => match found.verdict {
            record::Verdict::Valid => Ok(String::new()),
            record::Verdict::Suspect => Ok(format!("suspect: {}", found.reasons.join("\n"))),
            verdict => Err(invalid(&format!("the trial is {verdict}"), &found.reasons)),
        },
    };
    let mut case = with_output(view, "trials", &name, said);
    let seconds = found.map_or(0.0, |found| found.seconds);
    case.set_time(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    case
}

fn requirement_case(view: &RunView, one: &RequirementRecord) -> TestCase {
    let variant = variant_name(&one.variant, view);
    let at = if one.point.is_none() {
        String::new()
    } else {
        format!(", {}", place_key(one.point))
    };
    let said = if one.is_missed() {
        Err(missed(&one.says))
    } else if one.is_open() {
        Err(skipped(&one.says))
    } else {
        Ok(one.says.clone())
    };
    with_output(
        view,
        "requirements",
        &format!("{}: {variant}{at}", words(one)),
        said,
    )
}

/// Replaces control characters except tab and newline, and the characters U+FFFE and U+FFFF, by
/// `?`. XML cannot contain most of these characters, even in escaped form.
fn clean(text: &str) -> String {
    let is_allowed = |c: char| match c {
        '\t' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    };
    text.chars().map(|c| if is_allowed(c) { c } else { '?' }).collect()
}
