//! Renders the top of a page as HTML.

use super::{class, prose, swatch};
use crate::escape::escape;
use crate::page::{Figure, Headline, Verdict};
use crate::svg;
use measure::number::counted;
use std::fmt::Write;

/// Maximum number of sentences of the answer that are always visible.
const SENTENCES_FIRST: usize = 2;

pub(super) fn headline(out: &mut String, headline: &Headline) {
    let _ = write!(
        out,
        "<header>\n<p class=\"study\">{}</p>\n<h1>{}</h1>\n",
        escape(&headline.study),
        escape(&headline.question)
    );
    if !headline.alarms.is_empty() {
        out.push_str("<div class=\"alarm\" role=\"alert\">");
        sentences(out, headline.alarms.iter());
        out.push_str("</div>\n");
    }
    if let Some(figure) = &headline.lead {
        svg::figure(out, figure);
    }
    out.push_str("<div class=\"answer\">");
    let is_alarm = |sentence: &&String| headline.alarms.contains(sentence);
    let rest: Vec<&String> = headline.answer.iter().filter(|one| !is_alarm(one)).collect();
    let (first, more) = rest.split_at(rest.len().min(SENTENCES_FIRST));
    sentences(out, first.iter().copied());
    if !more.is_empty() {
        let _ = write!(
            out,
            "<details><summary>{} more</summary>",
            counted(more.len(), "sentence")
        );
        sentences(out, more.iter().copied());
        out.push_str("</details>");
    }
    out.push_str("</div>\n");
    if !headline.figures.is_empty() {
        out.push_str("<div class=\"figures\">");
        headline.figures.iter().for_each(|f| tile(out, f));
        out.push_str("</div>\n");
    }
    verdict(out, headline);
    out.push_str("<dl class=\"about\">");
    for (name, value) in &headline.facts {
        let _ = write!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escape(name),
            escape(value)
        );
    }
    out.push_str("</dl>\n</header>\n");
}

fn verdict(out: &mut String, headline: &Headline) {
    let tone = class(headline.verdict.tone());
    let missed = if headline.is_missed {
        "<strong class=\"badge bad\">✕ requirements missed</strong> "
    } else {
        ""
    };
    let _ = write!(
        out,
        "<div class=\"verdict {tone}\"><p>{missed}<strong class=\"badge {tone}\">{} \
         {}</strong> {}</p>",
        symbol(headline.verdict),
        headline.verdict.name(),
        prose(&headline.meaning)
    );
    items(out, &headline.short_reasons);
    if headline.short_reasons.is_empty() {
        items(out, &headline.reasons);
    } else {
        out.push_str("<p><a href=\"#verdict\">Every reason with its numbers</a></p>");
    }
    if let Some(next) = &headline.next {
        let _ = write!(
            out,
            "<p class=\"next\">Next: {}<br><code>{}</code></p>",
            prose(&next.says),
            escape(&next.command)
        );
    }
    out.push_str("</div>\n");
}

fn sentences<'a>(out: &mut String, sentences: impl Iterator<Item = &'a String>) {
    for sentence in sentences {
        let _ = write!(out, "<p>{}</p>", prose(sentence));
    }
}

fn items(out: &mut String, items: &[String]) {
    if items.is_empty() {
        return;
    }
    out.push_str("<ul>");
    for item in items {
        let _ = write!(out, "<li>{}</li>", prose(item));
    }
    out.push_str("</ul>");
}

pub(super) fn symbol(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "✓",
        Verdict::Suspect => "!",
        Verdict::Invalid => "✕",
        Verdict::Unknown => "?",
    }
}

fn tile(out: &mut String, figure: &Figure) {
    let _ = write!(
        out,
        "<div class=\"figure\"><p class=\"label\">{}{}</p><p class=\"value\">{} \
         <span>{}</span></p><p class=\"detail\">{}</p></div>",
        swatch(figure.variant),
        escape(&figure.label),
        escape(&figure.value),
        escape(&figure.unit),
        escape(&figure.detail)
    );
}
