//! Renders one page about several runs: question, answer, verdict and first figure of each run,
//! with a link to its page.

use super::headline::symbol;
use super::{Additions, around, class, escape_path, prose};
use crate::escape::escape;
use crate::page::Page;
use crate::svg;
use std::fmt::Write;

/// A run of a gallery.
#[derive(Clone, Copy, Debug)]
pub struct GalleryEntry<'a> {
    /// Path of the run's page, relative to the gallery.
    pub link: &'a str,
    pub page: &'a Page,
}

/// Title of a gallery.
const TITLE: &str = "Measurements of Apache Cassandra";

/// Returns the page as one self-contained HTML file.
pub fn gallery(entries: &[GalleryEntry<'_>]) -> String {
    let mut body = format!("<body>\n<main>\n<header>\n<h1>{TITLE}</h1>\n</header>\n");
    for (index, entry) in entries.iter().enumerate() {
        run(&mut body, index, entry);
    }
    body.push_str("</main>\n");
    around(TITLE, &body, &Additions::default()).html
}

fn run(out: &mut String, index: usize, entry: &GalleryEntry<'_>) {
    let headline = &entry.page.headline;
    let tone = class(headline.verdict.tone());
    let link = escape_path(entry.link);
    let _ = write!(
        out,
        "<section id=\"run-{index}\">\n<p class=\"study\">{}</p>\n<h2><a href=\"{link}\">{}</a>\
         </h2>\n<p><strong class=\"badge {tone}\">{} {}</strong> {}</p>\n",
        escape(&headline.study),
        escape(&headline.question),
        symbol(headline.verdict),
        headline.verdict.name(),
        prose(&headline.meaning)
    );
    if let Some(figure) = &headline.lead {
        svg::section_figure(out, &format!("figure-{index}"), figure);
    }
    out.push_str("<div class=\"answer\">");
    for sentence in &headline.answer {
        let _ = write!(out, "<p>{}</p>", prose(sentence));
    }
    let _ = write!(
        out,
        "</div>\n<p><a href=\"{link}\">The whole report</a></p>\n</section>\n"
    );
}
