//! The list of runs as an HTML page of a server, with a filter and a choice of runs to compare. The
//! page has no script.

use crate::escape::escape;
use crate::html::{Document, escape_path, form_policy, head_of_page, server_links};
use crate::page::{Tone, Verdict};
use measure::number::{count, whole};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Maximum number of runs on one page.
const RUNS_SHOWN: usize = 200;
/// Size of the small curve of a run, in pixels.
const SPARK_PX: [f64; 2] = [120.0, 26.0];

/// A run in the list.
#[derive(Clone, Debug, Default)]
pub struct RunEntry {
    pub study: String,
    pub stamp: String,
    /// State of the run, such as `running`, or `damaged`.
    pub state: String,
    pub is_running: bool,
    pub verdict: Option<store::record::Verdict>,
    pub trials_finished: usize,
    pub trials_planned: usize,
    /// Throughput of each trial or point that has one, in the order of the run.
    pub ops_per_s: Vec<f64>,
    /// Remark on the run, such as a missed requirement, or the reason why cassay cannot read the
    /// run. It may be empty.
    pub remark: String,
}

/// Filter of the list, as the reader entered it.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Text that the name, the state, the verdict or the remark of a run contains.
    pub text: String,
    /// Name of the study. Empty for all studies.
    pub study: String,
    /// Word of the verdict or the state. Empty for all verdicts.
    pub verdict: String,
}

impl RunEntry {
    fn verdict(&self) -> Verdict {
        Verdict::from_record(self.verdict)
    }

    fn name(&self) -> String {
        format!("{}/{}", self.study, self.stamp)
    }

    fn fits(&self, filter: &ListFilter) -> bool {
        let contains = |text: &str| text.to_lowercase().contains(&filter.text.to_lowercase());
        let verdict = self.verdict().name();
        let is_found = contains(&self.name())
            || contains(&self.state)
            || contains(verdict)
            || contains(&self.remark);
        let is_of_study = filter.study.is_empty() || filter.study == self.study;
        let has_verdict =
            filter.verdict.is_empty() || [verdict, &self.state].contains(&filter.verdict.as_str());
        is_found && is_of_study && has_verdict
    }
}

/// Renders the list, newest run first. `results` is the path of the results folder.
pub fn run_list(results: &str, runs: &[RunEntry], filter: &ListFilter) -> Document {
    let policy = form_policy();
    let mut out = String::new();
    head_of_page(&mut out, "cassay: runs", &policy, None);
    out.push_str("<body>\n<main>\n");
    let _ = writeln!(
        out,
        "<header><p class=\"study\">{}</p><h1>Runs</h1></header>",
        escape(results)
    );
    server_links(
        &mut out,
        &[("latest", "Newest run"), ("metrics", "Metrics")],
    );
    filter_form(&mut out, runs, filter);
    let fitting: Vec<&RunEntry> = runs.iter().rev().filter(|run| run.fits(filter)).collect();
    if fitting.is_empty() {
        let text = if runs.is_empty() {
            "The folder contains no run. `cassay run STUDY` creates a run."
        } else {
            "No run fits the filter."
        };
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(text));
    } else {
        table(&mut out, &fitting);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    Document { html: out, policy }
}

fn filter_form(out: &mut String, runs: &[RunEntry], filter: &ListFilter) {
    let studies: BTreeSet<&str> = runs.iter().map(|run| run.study.as_str()).collect();
    let mut verdicts: BTreeSet<&str> = runs.iter().map(|run| run.verdict().name()).collect();
    verdicts.extend(runs.iter().map(|run| run.state.as_str()));
    let _ = write!(
        out,
        "<form class=\"filter\" method=\"get\" action=\"./\">\
         <label>Search <input type=\"search\" name=\"q\" value=\"{}\" maxlength=\"200\"></label>",
        escape(&filter.text)
    );
    choice(out, "Study", "study", studies.into_iter(), &filter.study);
    choice(
        out,
        "Verdict or state",
        "verdict",
        verdicts.into_iter(),
        &filter.verdict,
    );
    out.push_str("<button>Filter</button></form>\n");
}

fn choice<'a>(
    out: &mut String,
    label: &str,
    name: &str,
    values: impl Iterator<Item = &'a str>,
    chosen: &str,
) {
    let _ = write!(
        out,
        "<label>{label} <select name=\"{name}\"><option value=\"\">all</option>"
    );
    for value in values {
        let selected = if value == chosen { " selected" } else { "" };
        let _ = write!(
            out,
            "<option value=\"{0}\"{selected}>{0}</option>",
            escape(value)
        );
    }
    out.push_str("</select></label>");
}

fn table(out: &mut String, runs: &[&RunEntry]) {
    out.push_str(
        "<form method=\"get\" action=\"compare\">\
         <div class=\"table\" role=\"region\" aria-label=\"Runs\" tabindex=\"0\"><table>\
         <thead><tr><th scope=\"col\"><span class=\"unseen\">Compare</span></th>\
         <th scope=\"col\">Run</th><th scope=\"col\">Study</th><th scope=\"col\">Verdict</th>\
         <th scope=\"col\" class=\"n\">Trials</th>\
         <th scope=\"col\">Throughput by trial<small>op/s</small></th>\
         <th scope=\"col\">Remark</th></tr></thead>\n<tbody>",
    );
    runs.iter().take(RUNS_SHOWN).for_each(|run| row(out, run));
    out.push_str("</tbody></table></div>\n");
    if runs.len() > RUNS_SHOWN {
        let _ = writeln!(
            out,
            "<p class=\"foot\">The list shows the newest {} of {} runs. The filter finds the \
             others.</p>",
            count(RUNS_SHOWN as u64),
            count(runs.len() as u64)
        );
    }
    out.push_str(
        "<p><button class=\"compare\">Compare the selected runs</button> The oldest selected run \
         is the baseline.</p></form>\n",
    );
}

fn row(out: &mut String, run: &RunEntry) {
    let verdict = run.verdict();
    let (tone, words) = match (run.is_running, run.verdict) {
        (true, _) => (Tone::Strong, "running"),
        (false, None) => (Tone::Muted, run.state.as_str()),
        (false, Some(_)) => (verdict.tone(), verdict.name()),
    };
    let tone = crate::html::class(tone);
    let name = escape(&run.name());
    let (study, stamp) = (escape(&run.study), escape(&run.stamp));
    // Each path begins with `./`.
    let (run_path, study_path) = (escape_path(&run.name()), escape_path(&run.study));
    let _ = write!(
        out,
        "<tr><td><input type=\"checkbox\" name=\"run\" value=\"{name}\" aria-label=\"Compare \
         {name}\"></td><th scope=\"row\"><a href=\"run/{}/report.html\">{stamp}</a></th>\
         <td><a href=\"history/{}\">{study}</a></td>\
         <td><strong class=\"badge {tone}\">{}</strong></td>\
         <td class=\"n\">{} of {}</td><td>",
        run_path.trim_start_matches("./"),
        study_path.trim_start_matches("./"),
        escape(words),
        run.trials_finished,
        run.trials_planned
    );
    spark(out, &run.ops_per_s);
    let _ = writeln!(
        out,
        "</td><td class=\"l\">{}</td></tr>",
        escape(&run.remark)
    );
}

/// Draws a small curve from zero to the largest value.
fn spark(out: &mut String, values: &[f64]) {
    let most = values.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 || !most.is_finite() {
        return;
    }
    let [width, height] = SPARK_PX;
    let steps = values.len().saturating_sub(1).max(1) as f64;
    let place = |(index, value): (usize, &f64)| {
        let x = 3.0 + (width - 6.0) * index as f64 / steps;
        let y = height - 3.0 - (height - 6.0) * value.max(0.0) / most;
        (x, y)
    };
    let places: Vec<(f64, f64)> = values.iter().enumerate().map(place).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let _ = write!(
        out,
        "<svg class=\"spark\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"up to {} op/s\"><path d=\"M{}\"/>",
        whole(most),
        path.join("L")
    );
    if let Some((x, y)) = places.last() {
        let _ = write!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>");
    }
    out.push_str("</svg>");
}

/// Renders a page with a message, such as the reason why the server cannot show a run. Each line of
/// the text is a paragraph.
pub fn message_page(title: &str, text: &str) -> Document {
    let policy = form_policy();
    let mut out = String::new();
    head_of_page(&mut out, title, &policy, None);
    let _ = write!(
        out,
        "<body>\n<main>\n<header><h1>{}</h1></header>\n",
        escape(title)
    );
    for line in text.lines() {
        let _ = writeln!(out, "<p>{}</p>", escape(line));
    }
    out.push_str("<p><a href=\"/\">All runs</a></p>\n</main>\n</body>\n</html>\n");
    Document { html: out, policy }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(study: &str, stamp: &str) -> RunEntry {
        RunEntry {
            study: study.to_owned(),
            stamp: stamp.to_owned(),
            state: "finished".to_owned(),
            verdict: Some(store::record::Verdict::Valid),
            ops_per_s: vec![1.0, 2.0],
            ..RunEntry::default()
        }
    }

    #[test]
    fn the_list_shows_the_runs_that_fit_newest_first() {
        let runs = [run("peak", "1"), run("peak", "2"), run("faults", "3")];
        let page = |filter: &ListFilter| run_list("results", &runs, filter).html;
        let all = page(&ListFilter::default());
        let place = |name: &str| all.find(name).expect("the list has the run");
        assert!(place("run/faults/3/") < place("run/peak/2/"));
        assert!(place("run/peak/2/") < place("run/peak/1/"));
        let some = page(&ListFilter {
            study: "peak".to_owned(),
            text: "PEAK/1".to_owned(),
            ..ListFilter::default()
        });
        assert!(some.contains("run/peak/1/") && !some.contains("run/peak/2/"));
        let suspect = page(&ListFilter {
            verdict: "suspect".to_owned(),
            ..ListFilter::default()
        });
        assert!(suspect.contains("No run fits the filter."));
    }

    #[test]
    fn no_name_or_filter_writes_html() {
        let mut evil = run("<img src=x>", "\"><script>");
        evil.remark = "<b>".to_owned();
        let filter = ListFilter {
            text: "\"><script>".to_owned(),
            ..ListFilter::default()
        };
        let page = run_list("<i>", &[evil], &filter).html;
        for tag in ["<img", "<script", "<b>", "<i>"] {
            assert!(!page.contains(tag), "{tag}: {page}");
        }
        let page = message_page("<b>", "<i>\n<u>").html;
        for tag in ["<b>", "<i>", "<u>"] {
            assert!(!page.contains(tag), "{tag}");
        }
    }
}
