//! JUnit XML, as readers of continuous integration take it: a suite for the study; a case for the
//! run, for each trial and for each requirement.
//!
//! A missed requirement is a failure, a trial that may not be believed is an error, and what was
//! not measured or cannot be told is skipped. Elements and attributes are those that Jenkins,
//! GitLab and GitHub's reporters read alike: there is no standard.

use crate::page::Verdict;
use crate::sections::requirements::words;
use crate::summary::{place, variant_name};
use crate::view::RunView;
use anyhow::{Context, Result};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;
use store::record::{self, RequirementRecord, TrialRecord, left_out};

/// One case, as it will be written.
struct Case {
    class: &'static str,
    name: String,
    seconds: f64,
    end: End,
}

/// How a case ended, with a message and its details.
enum End {
    Passed(String),
    Skipped(String),
    Failed(String),
    Error(String, String),
}

/// The run as one document.
///
/// # Errors
/// None that is known: it is written to memory.
pub fn junit(view: &RunView) -> Result<String> {
    let mut cases = vec![run_case(view)];
    cases.extend(view.plan.trials.iter().map(|trial| trial_case(view, trial)));
    let required = view.findings.requirements.iter();
    cases.extend(required.map(|one| requirement_case(view, one)));
    let mut out = Writer::new_with_indent(Vec::new(), b' ', 1);
    write(&mut out, view, &cases).context("write JUnit XML")?;
    let mut text = String::from_utf8(out.into_inner()).context("write JUnit XML")?;
    text.push('\n');
    Ok(text)
}

fn run_case(view: &RunView) -> Case {
    let findings = &view.findings;
    let seconds = [view.journal.first(), view.journal.last()].map(|line| line.map(|l| l.unix_ns));
    let seconds = match seconds {
        [Some(first), Some(last)] => last.saturating_sub(first) as f64 / 1e9,
        _ => 0.0,
    };
    let answer = findings.answer.join("\n");
    Case {
        class: "run",
        name: view.plan.question.clone(),
        seconds,
        end: match Verdict::of(view.verdict) {
            Verdict::Valid => End::Passed(answer),
            Verdict::Suspect => End::Passed(format!(
                "{answer}\nsuspect: {}",
                findings.reasons.join("\n")
            )),
            verdict => End::Error(format!("the run is {verdict}"), findings.reasons.join("\n")),
        },
    }
}

fn trial_case(view: &RunView, trial: &TrialRecord) -> Case {
    let found = view.findings.trials.iter().find(|t| t.index == trial.index);
    let point = found.map_or(&trial.point, |found| &found.point);
    let name = format!(
        "{}, {}, block {} (trial {})",
        variant_name(&trial.variant, view),
        if point.is_none() {
            "a point to be found".to_owned()
        } else {
            place(*point)
        },
        trial.block + 1,
        trial.index
    );
    let end = match found {
        None => {
            let why = left_out(&view.journal).get(&trial.index).copied();
            End::Skipped(why.unwrap_or("it was not run").to_owned())
        }
        Some(found) => match found.verdict {
            record::Verdict::Valid => End::Passed(String::new()),
            record::Verdict::Suspect => {
                End::Passed(format!("suspect: {}", found.reasons.join("\n")))
            }
            verdict => End::Error(format!("the trial is {verdict}"), found.reasons.join("\n")),
        },
    };
    Case {
        class: "trials",
        name,
        seconds: found.map_or(0.0, |found| found.seconds),
        end,
    }
}

fn requirement_case(view: &RunView, one: &RequirementRecord) -> Case {
    let variant = variant_name(&one.variant, view);
    let at = if one.point.is_none() {
        String::new()
    } else {
        format!(", {}", place(one.point))
    };
    Case {
        class: "requirements",
        name: format!("{}: {variant}{at}", words(one)),
        seconds: 0.0,
        end: if one.is_missed() {
            End::Failed(one.says.clone())
        } else if one.is_open() {
            End::Skipped(one.says.clone())
        } else {
            End::Passed(one.says.clone())
        },
    }
}

fn write(out: &mut Writer<Vec<u8>>, view: &RunView, cases: &[Case]) -> io::Result<()> {
    let count = |is: fn(&End) -> bool| cases.iter().filter(|case| is(&case.end)).count();
    let counts = [
        ("tests", cases.len().to_string()),
        (
            "failures",
            count(|e| matches!(e, End::Failed(_))).to_string(),
        ),
        ("errors", count(|e| matches!(e, End::Error(..))).to_string()),
        (
            "skipped",
            count(|e| matches!(e, End::Skipped(_))).to_string(),
        ),
        ("time", format!("{:.3}", cases[0].seconds)),
    ];
    let study = clean(&view.plan.study);
    let began = view.journal.first().map_or(0, |line| line.unix_ns);
    let began = jiff::Timestamp::from_nanosecond(i128::from(began)).unwrap_or_default();
    let began = began.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let attributes = |name: &str| {
        let name = ("name", clean(name));
        std::iter::once(name)
            .chain(counts.iter().cloned())
            .collect::<Vec<_>>()
    };
    element(out, "testsuites", &attributes("cassay"), |out| {
        let mut suite = attributes(&study);
        suite.push(("timestamp", began.clone()));
        element(out, "testsuite", &suite, |out| {
            element(out, "properties", &[], |out| {
                for (name, value) in [
                    ("run", &view.name),
                    ("verdict", &Verdict::of(view.verdict).to_string()),
                    ("cassay", &view.plan.cassay),
                ] {
                    let pair = [("name", name.to_owned()), ("value", clean(value))];
                    element(out, "property", &pair, |_| Ok(()))?;
                }
                Ok(())
            })?;
            cases
                .iter()
                .try_for_each(|case| write_case(out, &study, case))
        })
    })
}

fn write_case(out: &mut Writer<Vec<u8>>, study: &str, case: &Case) -> io::Result<()> {
    let attributes = [
        ("name", clean(&case.name)),
        ("classname", format!("{study}.{}", case.class)),
        ("time", format!("{:.3}", case.seconds)),
    ];
    element(out, "testcase", &attributes, |out| match &case.end {
        End::Passed(said) if said.is_empty() => Ok(()),
        End::Passed(said) => with_text(out, "system-out", &[], said),
        End::Skipped(why) => element(out, "skipped", &[("message", clean(why))], |_| Ok(())),
        End::Failed(why) => {
            let attributes = [("message", clean(why)), ("type", "missed".to_owned())];
            with_text(out, "failure", &attributes, why)
        }
        End::Error(what, details) => {
            let attributes = [("message", clean(what)), ("type", "invalid".to_owned())];
            with_text(out, "error", &attributes, details)
        }
    })
}

/// An element with attributes and what stands in it. Its writer escapes.
fn element(
    out: &mut Writer<Vec<u8>>,
    name: &str,
    attributes: &[(&str, String)],
    inner: impl FnOnce(&mut Writer<Vec<u8>>) -> io::Result<()>,
) -> io::Result<()> {
    let mut element = out.create_element(name);
    for (key, value) in attributes {
        element = element.with_attribute((*key, value.as_str()));
    }
    element.write_inner_content(inner).map(|_| ())
}

fn with_text(
    out: &mut Writer<Vec<u8>>,
    name: &str,
    attributes: &[(&str, String)],
    text: &str,
) -> io::Result<()> {
    let mut element = out.create_element(name);
    for (key, value) in attributes {
        element = element.with_attribute((*key, value.as_str()));
    }
    let text = clean(text);
    element
        .write_text_content(BytesText::new(&text))
        .map(|_| ())
}

/// XML has no way to write most control characters, not even escaped: they become `?`.
fn clean(text: &str) -> String {
    let is_allowed = |c: char| match c {
        '\t' | '\n' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    };
    text.chars()
        .map(|c| if is_allowed(c) { c } else { '?' })
        .collect()
}
