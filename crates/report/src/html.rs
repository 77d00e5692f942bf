//! Renders a page as one self-contained HTML file. The file contains the style sheet, the scripts,
//! the chart library and the figures.
//!
//! The page loads no resources, and its content security policy forbids every request. Text and
//! tables are visible before any script runs. The script draws a chart when the chart comes into
//! view. This module and the modules that draw figures escape all text of the page model.

mod gallery;
mod headline;

pub use gallery::{GalleryEntry, gallery};

use crate::box_picture;
use crate::escape::escape;
use crate::icicle;
use crate::page::{
    Align, Block, Card, Cell, Chart, Column, Fold, Mark, Page, Row, Section, Table, Tone,
};
use crate::plotly::figure;
use crate::svg;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::LazyLock;

/// Style sheet of a page. It begins with the rules for figures, which exported figures also use.
const STYLE: &str = concat!(
    include_str!("../assets/figure.css"),
    include_str!("../assets/report.css"),
    include_str!("../assets/server.css")
);
const SCRIPT: &str = include_str!("../assets/report.js");
/// Script that copies tables.
const TABLE_SCRIPT: &str = concat!("\n", include_str!("../assets/page.js"));
/// Chart library plotly.js, compressed by gzip. `assets/plotly/README.md` states its version and
/// origin.
const CHARTS: &[u8] = include_bytes!("../assets/plotly/plotly-basic.min.js.gz");

/// Returns the content security policy of a page. The policy forbids loading resources, and allows
/// only the page's own scripts and styles, by their digests. The chart library adds an empty
/// `style` element, and fills it through the DOM. The library also sets `style` attributes, which
/// can neither load resources nor run code. A reader needs `data:` and `blob:` to save a chart as
/// an image.
fn policy(scripts: &Scripts) -> String {
    let digest = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    let mut allowed: Vec<String> = Vec::new();
    if scripts.charts {
        allowed.extend([digest(&script()), LIBRARY_DIGEST.to_owned()]);
    }
    if scripts.tables {
        allowed.push(digest(TABLE_SCRIPT));
    }
    if scripts.icicles {
        allowed.push(digest(icicle::SCRIPT));
    }
    if let Some(live) = scripts.live {
        allowed.push(digest(live));
    }
    if allowed.is_empty() {
        allowed.push("'none'".to_owned());
    }
    // Only a page that its server updates may send a request, and only to this server.
    let connect = if scripts.live.is_some() {
        "connect-src 'self'; "
    } else {
        ""
    };
    let scripts = allowed.join(" ");
    format!(
        "default-src 'none'; style-src-elem {} {}; style-src-attr 'unsafe-inline'; \
         script-src {scripts}; {connect}img-src data: blob:; base-uri 'none'; form-action 'none'",
        digest(&style()),
        digest("")
    )
}

struct Scripts {
    charts: bool,
    tables: bool,
    icicles: bool,
    live: Option<&'static str>,
}

/// Returns the policy of a page without scripts whose forms go to its own server.
pub(crate) fn form_policy() -> String {
    let style = BASE64.encode(Sha256::digest(style()));
    format!(
        "default-src 'none'; style-src-elem 'sha256-{style}'; style-src-attr 'unsafe-inline'; \
         base-uri 'none'; form-action 'self'"
    )
}

fn style() -> String {
    format!("\n{STYLE}")
}

fn script() -> String {
    format!("\n{SCRIPT}")
}

/// Digest of the uncompressed chart library, which the page's script inserts. A test checks the
/// digest.
const LIBRARY_DIGEST: &str = "'sha256-l1Aje0LZevOGwlrWRNhYrFt3Nd1l6Fg+MskjTVUdt/Q='";

/// Text that only a printed page shows. It names the parts that a printed page omits.
const ON_PAPER: &str = "A printed report contains the answer and the first charts of the evidence. \
     Only the file contains the rest: tables, settings, reasons, and charts of hosts and JVMs. To \
     print a whole section, open it in the browser first.";

pub fn html(page: &Page) -> String {
    document(page, &Additions::default()).html
}

/// Additions of a server to a page. A file has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Additions<'a> {
    /// Links at the top of the page, as pairs of an address and a text.
    pub links: &'a [(&'a str, &'a str)],
    /// Script that updates the page by events from the server.
    pub live_script: Option<&'static str>,
    /// Interval at which a browser without scripts loads the page again, s.
    pub refresh_s: Option<u32>,
}

/// A page as HTML, and the content security policy for its HTTP header.
#[derive(Clone, Debug)]
pub struct Document {
    pub html: String,
    pub policy: String,
}

/// Renders a page with the additions of a server.
pub fn document(page: &Page, additions: &Additions<'_>) -> Document {
    around(&page.title, &body(page, additions), additions)
}

/// Returns the document around a body, with the scripts that the body needs. The body begins with
/// the tag `<body>`, and does not end with the closing tag.
fn around(title: &str, body: &str, additions: &Additions<'_>) -> Document {
    let scripts = Scripts {
        charts: body.contains("class=\"plot\""),
        tables: body.contains("class=\"table\""),
        icicles: body.contains("class=\"icicle\""),
        live: additions.live_script,
    };
    let library = if scripts.charts { packed_library() } else { "" };
    let mut out = String::with_capacity(body.len() + library.len() + 64 * 1024);
    let policy = policy(&scripts);
    head_of_page(&mut out, title, &policy, additions.refresh_s);
    out.push_str(body);
    if scripts.tables {
        let _ = writeln!(out, "<script>{TABLE_SCRIPT}</script>");
    }
    if scripts.icicles {
        let _ = writeln!(out, "<script>{}</script>", icicle::SCRIPT);
    }
    if scripts.charts {
        // The page contains the library as plain text, so the browser does not compile a megabyte
        // of script before it shows the page.
        out.push_str("<script type=\"text/plain\" id=\"chart-library\">");
        out.push_str(library);
        out.push_str("</script>\n");
        let _ = writeln!(out, "<script>{}</script>", script());
    }
    if let Some(live) = scripts.live {
        let _ = writeln!(out, "<script>{live}</script>");
    }
    out.push_str("</body>\n</html>\n");
    Document { html: out, policy }
}

/// Writes the start of a page, up to the end of its `head` element.
pub(crate) fn head_of_page(out: &mut String, title: &str, policy: &str, refresh_s: Option<u32>) {
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let _ = writeln!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>{}</style>",
        escape(title),
        style()
    );
    if let Some(seconds) = refresh_s {
        let _ = writeln!(
            out,
            "<noscript><meta http-equiv=\"refresh\" content=\"{seconds}\"></noscript>"
        );
    }
    out.push_str("</head>\n");
}

/// Returns the parts of a page that a server updates, by their anchors: the top, and each section.
pub fn parts(page: &Page) -> Vec<(String, String)> {
    let mut parts = vec![(HEADLINE_ID.to_owned(), live_headline(page))];
    for one in page.sections() {
        let mut out = String::new();
        section(&mut out, one);
        parts.push((one.id.to_owned(), out));
    }
    parts
}

/// Anchor of the top of a page that a server updates.
const HEADLINE_ID: &str = "live-headline";

fn live_headline(page: &Page) -> String {
    let mut out = format!("<div id=\"{HEADLINE_ID}\">");
    headline::headline(&mut out, &page.headline);
    out.push_str("</div>\n");
    out
}

/// Returns the parts of pages and figures that are the same in all files: style sheets, scripts and
/// the chart library. They contain no text of a run.
pub fn fixed_parts() -> Vec<String> {
    vec![
        style(),
        script(),
        TABLE_SCRIPT.to_owned(),
        icicle::SCRIPT.to_owned(),
        packed_library().to_owned(),
        include_str!("../assets/figure.css").to_owned(),
    ]
}

/// Returns the chart library as gzip in base64, the form in which the page contains it. The library
/// takes 1.0 MB as text, and 0.5 MB in this form.
fn packed_library() -> &'static str {
    static PACKED: LazyLock<String> = LazyLock::new(|| BASE64.encode(CHARTS));
    &PACKED
}

/// Escapes a sentence for HTML. Sentences quote keys and commands in backticks, and this function
/// turns such text into `code` elements. An unpaired backtick remains unchanged.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::with_capacity(text.len());
    for (at, part) in parts.iter().enumerate() {
        let part = escape(part);
        match (at % 2 == 1, at + 1 == parts.len()) {
            (false, _) => out.push_str(&part),
            (true, false) => out = out + "<code>" + &part + "</code>",
            (true, true) => out = out + "`" + &part,
        }
    }
    out
}

/// Escapes JSON for a `script` element, because a `<` in the JSON could end the element.
pub fn escape_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

fn body(page: &Page, additions: &Additions<'_>) -> String {
    let mut out = String::from("<body>\n<main>\n");
    server_links(&mut out, additions.links);
    if additions.live_script.is_some() {
        out.push_str(&live_headline(page));
    } else {
        headline::headline(&mut out, &page.headline);
    }
    out.push_str("<nav aria-label=\"Contents\">");
    page.folds.iter().for_each(|fold| link(&mut out, fold.id, &fold.title));
    out.push_str("</nav>\n");
    page.folds.iter().for_each(|f| fold(&mut out, f));
    if !page.folds.is_empty() {
        let _ = writeln!(out, "<p class=\"on-paper\">{ON_PAPER}</p>");
    }
    out.push_str("</main>\n");
    out
}

/// Writes the links to other pages of the server.
pub(crate) fn server_links(out: &mut String, links: &[(&str, &str)]) {
    if links.is_empty() {
        return;
    }
    out.push_str("<p class=\"links server\">");
    for (address, text) in links {
        let _ = write!(out, "<a href=\"{}\">{}</a> ", escape(address), escape(text));
    }
    out.push_str("</p>\n");
}

fn link(out: &mut String, id: &str, title: &str) {
    let _ = write!(out, "<a href=\"#{id}\">{}</a>", escape(title));
}

/// Appends the sections of a fold as a `details` element, whose summary lists their titles.
fn fold(out: &mut String, fold: &Fold) {
    let titles: Vec<&str> = fold.sections.iter().map(|part| part.title.as_str()).collect();
    let _ = write!(
        out,
        "<details class=\"fold\" id=\"{}\"{}>\n<summary><h2>{}</h2> <span>{}</span></summary>\n",
        fold.id,
        if fold.is_open { " open" } else { "" },
        escape(&fold.title),
        escape(&titles.join(" · "))
    );
    if titles.len() > 1 {
        out.push_str("<p class=\"links\">");
        fold.sections.iter().for_each(|part| link(out, part.id, &part.title));
        out.push_str("</p>\n");
    }
    fold.sections.iter().for_each(|part| section(out, part));
    out.push_str("</details>\n");
}

/// Returns a small square in the colour that the variant has in charts. Returns an empty string
/// without a variant.
fn swatch(variant: Option<usize>) -> String {
    match variant {
        Some(index) => format!("<i class=\"swatch c{}\"></i>", index % 8),
        None => String::new(),
    }
}

fn section(out: &mut String, section: &Section) {
    let _ = write!(
        out,
        "<section id=\"{}\">\n<h3>{}</h3>\n",
        section.id,
        escape(&section.title)
    );
    if !section.lead.is_empty() {
        let _ = writeln!(out, "<p class=\"lead\">{}</p>", prose(&section.lead));
    }
    section.blocks.iter().for_each(|b| block(out, b));
    out.push_str("</section>\n");
}

fn block(out: &mut String, what: &Block) {
    match what {
        Block::Text(text) => {
            let _ = writeln!(out, "<p>{}</p>", prose(text));
        }
        Block::Note(tone, text) => {
            let _ = writeln!(
                out,
                "<p class=\"note {}\">{}</p>",
                class(*tone),
                prose(text)
            );
        }
        Block::Table(what) => table(out, what),
        Block::Chart(what) => chart(out, what),
        Block::Picture(what) => box_picture::figure(out, what),
        Block::Icicle(what) => icicle::figure(out, what),
        Block::Figure(id, what) => svg::section_figure(out, id, what),
        Block::Choice(label, charts) => choice(out, label, charts),
        Block::List(heading, items) => list(out, heading, items),
        Block::Facts(facts) => {
            out.push_str("<dl class=\"facts\">");
            for (name, value) in facts {
                let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), prose(value));
            }
            out.push_str("</dl>\n");
        }
        Block::Marks(all) => marks(out, all),
        Block::Code(text) => {
            let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(text));
        }
        Block::Details(summary, blocks) => {
            let _ = writeln!(out, "<details><summary>{}</summary>", escape(summary));
            blocks.iter().for_each(|b| block(out, b));
            out.push_str("</details>\n");
        }
        Block::Card(what) => card(out, what),
    }
}

fn card(out: &mut String, card: &Card) {
    let tone = class(card.tone);
    let _ = write!(
        out,
        "<article class=\"card {tone}\"><h4>{} <strong class=\"badge {tone}\">{}</strong>",
        escape(&card.title),
        escape(&card.verdict)
    );
    if !card.detail.is_empty() {
        let _ = write!(out, "<small>{}</small>", escape(&card.detail));
    }
    out.push_str("</h4>\n");
    card.blocks.iter().for_each(|b| block(out, b));
    out.push_str("</article>\n");
}

fn list(out: &mut String, heading: &str, items: &[String]) {
    let _ = write!(out, "<h4>{}</h4>\n<ul class=\"list\">", escape(heading));
    for item in items {
        let _ = write!(out, "<li>{}</li>", prose(item));
    }
    out.push_str("</ul>\n");
}

fn marks(out: &mut String, marks: &[Mark]) {
    out.push_str("<ul class=\"marks\">");
    for mark in marks {
        let _ = write!(
            out,
            "<li class=\"{}\" title=\"{}\"><b>{}</b> {}</li>",
            class(mark.tone),
            escape(&mark.detail),
            escape(&mark.label),
            mark.result
        );
    }
    out.push_str("</ul>\n");
}

pub(crate) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Muted => "muted",
        Tone::Strong => "strong",
        Tone::Good => "good",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
    }
}

fn table(out: &mut String, table: &Table) {
    // The table can receive the focus, so that readers can scroll a wide table with the keyboard.
    let label = if table.caption.is_empty() {
        "Table"
    } else {
        &table.caption
    };
    let _ = write!(
        out,
        "<div class=\"table\" role=\"group\" aria-label=\"{}\" tabindex=\"0\"><table>",
        escape(label)
    );
    if !table.caption.is_empty() {
        let _ = write!(out, "<caption>{}</caption>", escape(&table.caption));
    }
    out.push_str("<thead><tr>");
    table.columns.iter().for_each(|c| head(out, c));
    out.push_str("</tr></thead>\n<tbody>");
    table.rows.iter().for_each(|r| row(out, r, &table.columns));
    out.push_str("</tbody></table></div>\n");
    if !table.foot.is_empty() {
        let _ = writeln!(out, "<p class=\"foot\">{}</p>", prose(&table.foot));
    }
}

fn head(out: &mut String, column: &Column) {
    let _ = write!(
        out,
        "<th scope=\"col\" class=\"{}\">{}",
        align(column.align),
        escape(&column.title)
    );
    if !column.unit.is_empty() {
        let _ = write!(out, "<small>{}</small>", escape(&column.unit));
    }
    out.push_str("</th>");
}

fn align(align: Align) -> &'static str {
    match align {
        Align::Left => "l",
        Align::Right => "n",
    }
}

fn row(out: &mut String, row: &Row, columns: &[Column]) {
    let _ = write!(out, "<tr class=\"{}\">", class(row.tone));
    for (at, (cell, column)) in row.cells.iter().zip(columns).enumerate() {
        // The first column contains the headings of the rows, unless its values are numbers.
        let is_name = at == 0 && column.align == Align::Left;
        table_cell(
            out,
            cell,
            column,
            if is_name { "th scope=\"row\"" } else { "td" },
        );
    }
    out.push_str("</tr>\n");
}

/// Escapes a path as a relative URL. For any file name, a browser treats the URL as a path and
/// never as a script.
pub(crate) fn escape_path(path: &str) -> String {
    let mut out = String::from(if path.starts_with('.') { "" } else { "./" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~+=".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Appends a cell of a table. `element` is the content of its start tag: `th` with its attributes
/// if the cell is the heading of its row, or `td`.
fn table_cell(out: &mut String, cell: &Cell, column: &Column, element: &str) {
    let _ = write!(
        out,
        "<{element} class=\"{} {}\"",
        align(column.align),
        class(cell.tone)
    );
    if !cell.hint.is_empty() {
        let _ = write!(out, " title=\"{}\"", escape(&cell.hint));
    }
    let _ = write!(out, ">{}", swatch(cell.variant));
    if cell.link.is_empty() {
        out.push_str(&prose(&cell.text));
    } else {
        let (path, text) = (escape_path(&cell.link), prose(&cell.text));
        let _ = write!(out, "<a href=\"{path}\">{text}</a>");
    }
    if !cell.detail.is_empty() {
        let _ = write!(out, "<small>{}</small>", prose(&cell.detail));
    }
    let _ = write!(out, "</{}>", &element[..2]);
}

fn chart(out: &mut String, chart: &Chart) {
    out.push_str("<figure>");
    if !chart.title.is_empty() {
        let _ = write!(out, "<h4>{}</h4>", escape(&chart.title));
    }
    plot(out, &chart.title, chart);
    data(out, chart);
    caption(out, &chart.what);
    out.push_str("</figure>\n");
}

fn choice(out: &mut String, label: &str, charts: &[(String, Chart)]) {
    let Some((_, first)) = charts.first() else {
        return;
    };
    out.push_str("<figure>");
    if charts.len() > 1 {
        let _ = write!(out, "<label class=\"choice\">{} <select>", escape(label));
        for (name, _) in charts {
            let _ = write!(out, "<option>{}</option>", escape(name));
        }
        out.push_str("</select></label>");
    } else {
        let _ = write!(out, "<h4>{}</h4>", escape(&charts[0].0));
    }
    plot(out, label, first);
    charts.iter().for_each(|(_, chart)| data(out, chart));
    caption(out, &first.what);
    out.push_str("</figure>\n");
}

/// Appends the place of a chart. A screen reader reads its title and its description.
fn plot(out: &mut String, title: &str, chart: &Chart) {
    let height_px = chart.height_px;
    let parts = [title, chart.what.as_str()];
    let label = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ");
    let _ = write!(
        out,
        "<div class=\"plot\" role=\"group\" aria-label=\"{}\" style=\"height:{height_px}px\">\
         <noscript>The chart needs JavaScript.</noscript></div>",
        escape(&label)
    );
}

fn data(out: &mut String, chart: &Chart) {
    let json = escape_json(&figure(chart));
    let _ = write!(out, "<script type=\"application/json\">{json}</script>");
}

fn caption(out: &mut String, text: &str) {
    if !text.is_empty() {
        let _ = write!(out, "<figcaption>{}</figcaption>", prose(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_a_sentence_become_code_and_are_escaped() {
        assert_eq!(
            prose("five (`blocks: <5>`) & `two`"),
            "five (<code>blocks: &lt;5&gt;</code>) &amp; <code>two</code>"
        );
        assert_eq!(prose("a `b` c ` d"), "a <code>b</code> c ` d");
        assert_eq!(prose("plain"), "plain");
    }
}
