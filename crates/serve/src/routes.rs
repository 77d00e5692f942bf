//! Maps addresses to answers.
//!
//! A run is at `run/STUDY/STAMP/report.html`: its report, or while it runs the page that its
//! server updates. The part `report.html` makes relative links of a report work.

use crate::http::{Request, Response};
use crate::openmetrics;
use crate::responses::{HTML, document, message, page_response, redirect, response};
use crate::site::Site;
use crate::watcher::Watcher;
use anyhow::{Context, Result, bail};
use report::{Additions, History, ListFilter, RunView, Side};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::live::{RunFingerprint, RunFollower, fingerprint};
use store::{Name, Run};

const JSON: &str = "application/json";
/// Interval at which a browser without scripts loads the page of a running run again, s.
const REFRESH_S: u32 = 5;
/// Maximum number of runs in one comparison.
const COMPARED_MAX: usize = 12;
/// Maximum number of folders from a run to one of its child runs.
const INNER_MAX: usize = 6;

/// Answer to a request.
pub(crate) enum Answer {
    Response(Response),
    /// The updates of a running run.
    Events(Arc<Watcher>),
}

/// Failure with a status other than 500.
#[derive(Debug)]
struct Failure {
    status: u16,
    title: &'static str,
    text: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

fn not_found(text: String) -> anyhow::Error {
    Failure {
        status: 404,
        title: "Not found",
        text,
    }
    .into()
}

/// Answers a request that may read.
pub(crate) fn answer(request: &Request, site: &Site) -> Answer {
    match route(request, site) {
        Ok(answer) => answer,
        Err(error) => Answer::Response(failure(&error)),
    }
}

fn failure(error: &anyhow::Error) -> Response {
    match error.downcast_ref::<Failure>() {
        Some(failure) => message(failure.status, failure.title, &failure.text),
        None if error.is::<store::DamagedRun>() => {
            message(500, "A damaged run", &format!("{error:#}"))
        }
        None => message(
            500,
            "The server cannot show this page",
            &format!("{error:#}"),
        ),
    }
}

fn route(request: &Request, site: &Site) -> Result<Answer> {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    if path == ["favicon.ico"] {
        return Ok(Answer::Response(response(204, HTML, "")));
    }
    check_results(&site.results)?;
    let page = match path.as_slice() {
        [] => list(request, site)?,
        ["metrics"] => {
            let source = &site.metrics;
            openmetrics::response(&source.collect(&site.results, &site.index, &site.watchers)?)
        }
        ["compare"] => compare(request, site)?,
        ["history", study] => history(study, site)?,
        ["latest"] => redirect(&format!("run/{}/report.html", latest(site)?)),
        ["latest", "state.json"] => {
            let name = latest(site)?;
            let parts: Vec<&str> = name.split('/').collect();
            state(&folder(&parts, site)?, site)?
        }
        ["run", study, stamp] => {
            folder(&[study, stamp], site)?;
            redirect(&format!("{}/report.html", encoded(stamp)))
        }
        ["run", run @ .., "report.html"] => run_page(&folder(run, site)?, site)?,
        ["run", run @ .., "so-far.html"] => report_page(&folder(run, site)?, site)?,
        ["run", run @ .., "state.json"] => state(&folder(run, site)?, site)?,
        ["run", run @ .., "events"] => return events(&folder(run, site)?, site),
        _ => bail!(not_found(
            "This server has no such page. The list of runs is at the address /.".to_owned()
        )),
    };
    Ok(Answer::Response(page))
}

fn check_results(results: &Path) -> Result<()> {
    if results.is_dir() {
        return Ok(());
    }
    Err(Failure {
        status: 503,
        title: "The results folder is missing",
        text: format!(
            "The folder {} does not exist. A run creates it; the server shows it as soon as it \
             exists.",
            results.display()
        ),
    }
    .into())
}

/// Returns the folder of the run with these parts of its path.
fn folder(parts: &[&str], site: &Site) -> Result<PathBuf> {
    let unknown = || {
        not_found(format!(
            "The results folder has no run {}.",
            parts.join("/")
        ))
    };
    let ([study, inner @ ..], 2..=INNER_MAX) = (parts, parts.len()) else {
        return Err(unknown());
    };
    // A name cannot leave its folder, so the path is inside the results folder.
    let study = Name::for_study(study).map_err(|_| unknown())?;
    let mut path = study.in_folder(&site.results);
    for part in inner {
        path = Name::new("run", part).map_err(|_| unknown())?.in_folder(&path);
    }
    store::live::folder_of(&path).map_err(|_| unknown())
}

/// Returns the name of the newest running run, or else of the newest run.
fn latest(site: &Site) -> Result<String> {
    let runs = site.index.runs(&site.results)?;
    let newest = runs.iter().rev().find(|run| run.is_running).or(runs.last());
    let Some(run) = newest else {
        bail!(not_found("The results folder has no run.".to_owned()));
    };
    Ok(format!("{}/{}", run.study, run.stamp))
}

fn list(request: &Request, site: &Site) -> Result<Response> {
    let text = |name: &str| request.parameter(name).unwrap_or_default().to_owned();
    let filter = ListFilter {
        text: text("q"),
        study: text("study"),
        verdict: text("verdict"),
    };
    let runs = site.index.runs(&site.results)?;
    let results = site.results.display().to_string();
    Ok(document(200, report::run_list(&results, &runs, &filter)))
}

/// Answers with the report of a run, or with its live page while it runs.
fn run_page(run: &Path, site: &Site) -> Result<Response> {
    let Some(watcher) = site.watchers.watch(run)? else {
        return report_page(run, site);
    };
    let snapshot = watcher.present();
    let page = report::live_page(&snapshot.state, measure::clock::unix_ns());
    let up = "../".repeat(snapshot.state.name.split('/').count() + 1);
    let additions = Additions {
        links: &[
            (&up, "All runs"),
            ("so-far.html", "Report of the finished trials"),
        ],
        live_script: Some(report::LIVE_SCRIPT),
        refresh_s: Some(REFRESH_S),
    };
    Ok(document(200, report::document(&page, &additions)))
}

/// Answers with the report that `cassay report` writes. The page is the same, byte for byte.
fn report_page(run: &Path, site: &Site) -> Result<Response> {
    let address = run.display().to_string();
    // The report also shows earlier runs of the study.
    let runs = with_earlier(run);
    let page = site.pages.page(&address, runs, || {
        let view = RunView::read(&Run::open(run)?)?;
        Ok(report::document(
            &report::page(&view),
            &Additions::default(),
        ))
    })?;
    Ok(page_response(&page))
}

/// Returns the fingerprints of a run and of the runs in the same folder.
fn with_earlier(run: &Path) -> Vec<RunFingerprint> {
    let study = run
        .parent()
        .and_then(|study| Some((study.parent()?, study.file_name()?.to_str()?)));
    let mut runs = vec![fingerprint(run)];
    runs.extend(study.into_iter().flat_map(|(results, study)| of_study(results, study)));
    runs
}

fn of_study(results: &Path, study: &str) -> Vec<RunFingerprint> {
    let names = store::run_names(results).unwrap_or_default();
    let prefix = format!("{study}/");
    let ours = names.iter().filter(|name| name.starts_with(&prefix));
    ours.map(|name| fingerprint(&results.join(name))).collect()
}

fn history(study: &str, site: &Site) -> Result<Response> {
    let runs = of_study(&site.results, study);
    if runs.is_empty() {
        bail!(not_found(format!(
            "The results folder has no run of the study {study:?}."
        )));
    }
    let page = site.pages.page(&format!("history/{study}"), runs, || {
        let mut history = History::new(study, store::past(&site.results, study)?);
        history.link(|run| link_to(run, "../"));
        let additions = Additions {
            links: &[("../", "All runs")],
            ..Additions::default()
        };
        Ok(report::document(&report::history(&history), &additions))
    })?;
    Ok(page_response(&page))
}

fn compare(request: &Request, site: &Site) -> Result<Response> {
    let mut names = request.all_parameters("run");
    names.sort_by_key(|name| name.split_once('/').map(|(_, stamp)| stamp.to_owned()));
    names.dedup();
    if !(2..=COMPARED_MAX).contains(&names.len()) {
        return Ok(message(
            400,
            "Select the runs to compare",
            &format!(
                "Select 2 to {COMPARED_MAX} runs in the list. The request names {}.",
                names.len()
            ),
        ));
    }
    let paths: Vec<PathBuf> = names
        .iter()
        .map(|name| folder(&name.split('/').collect::<Vec<_>>(), site))
        .collect::<Result<_>>()?;
    let fingerprints = paths.iter().map(|path| fingerprint(path)).collect();
    let page = site.pages.page(
        &format!("compare/{}", names.join("&")),
        fingerprints,
        || {
            let views: Vec<RunView> = paths
                .iter()
                .map(|path| RunView::read(&Run::open(path)?))
                .collect::<Result<_>>()?;
            let side = |(view, path): (_, &PathBuf)| Side {
                run: view,
                link: link_to(path, "./"),
            };
            let sides: Vec<Side<'_>> = views.iter().zip(&paths).map(side).collect();
            let additions = Additions {
                links: &[("./", "All runs")],
                ..Additions::default()
            };
            Ok(report::document(&report::compare_all(&sides), &additions))
        },
    )?;
    Ok(page_response(&page))
}

/// Returns the link to a run from a page whose address is `up` below the list of runs.
fn link_to(run: &Path, up: &str) -> Option<String> {
    let stamp = run.file_name()?.to_str()?;
    let study = run.parent()?.file_name()?.to_str()?;
    Some(format!("{up}run/{study}/{stamp}/report.html"))
}

/// Answers with the state of a run as JSON, for `cassay watch`.
fn state(run: &Path, site: &Site) -> Result<Response> {
    let state = match site.watchers.watch(run)? {
        Some(watcher) => {
            // The request counts as a reader, so that the watcher reads often.
            let _reader = watcher.add_reader();
            watcher.present().state
        }
        None => RunFollower::open(run)?.state().clone(),
    };
    let text = serde_json::to_string(&state).context("encode the state of the run")?;
    Ok(response(200, JSON, &text))
}

fn events(run: &Path, site: &Site) -> Result<Answer> {
    match site.watchers.watch(run)? {
        Some(watcher) => Ok(Answer::Events(watcher)),
        // A browser does not connect again after this status. The page of the run is its report.
        None => Ok(Answer::Response(response(204, "text/event-stream", ""))),
    }
}

fn encoded(part: &str) -> String {
    percent_encoding::utf8_percent_encode(part, percent_encoding::NON_ALPHANUMERIC).to_string()
}
