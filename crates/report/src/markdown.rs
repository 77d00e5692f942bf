//! Renders the page as Markdown, for a pull request or a job's summary. The text contains the
//! question, the answer, some tables, and the reasons why the run is not valid. The tables show
//! requirements, comparisons, faults, results, and the history of the study.
//!
//! The Markdown omits charts, details and columns for wide screens, because the report contains
//! them. This module escapes all text, so that a study can add neither markup nor a mention.

use crate::page::{Align, Block, Cell, Headline, Page, Table, Tone, Verdict};

const SHOWN: [&str; 5] = [
    "requirements",
    "comparisons",
    "faults",
    "results",
    "history",
];

/// Renders a page. `link` is the address of the report, and `figure` is the address of the figure's
/// file.
pub fn markdown(page: &Page, link: Option<&str>, figure: Option<&str>) -> String {
    let headline = &page.headline;
    let mark = match headline.verdict {
        _ if headline.is_missed => "❌",
        Verdict::Valid => "✅",
        Verdict::Suspect => "⚠️",
        Verdict::Invalid => "❌",
        Verdict::Unknown => "❔",
    };
    let mut out = format!(
        "## {mark} {}: {}\n\n**{}**\n\n",
        text(&headline.study),
        state(headline),
        text(&headline.question)
    );
    if let (Some(lead), Some(file)) = (&headline.lead, figure) {
        out += &format!("![{}]({})\n\n", text(&lead.title), target(file));
    }
    headline
        .answer
        .iter()
        .for_each(|sentence| out += &format!("- {}\n", prose(sentence)));
    for section in page.sections().filter(|s| SHOWN.contains(&s.id)) {
        let mut body = String::new();
        section.blocks.iter().for_each(|what| block(&mut body, what));
        if !body.is_empty() {
            out += &format!("\n### {}\n{body}", text(&section.title));
        }
    }
    if !headline.reasons.is_empty() {
        out += &format!(
            "\n<details><summary>Why it is {}</summary>\n\n",
            headline.verdict.name()
        );
        for reason in &headline.reasons {
            out += &format!("- {}\n", prose(reason));
        }
        out += "\n</details>\n";
    }
    if let Some(next) = &headline.next {
        out += &format!(
            "\nNext: {}: `{}`\n",
            prose(&next.says),
            next.command.replace('`', "'")
        );
    }
    let facts = headline
        .facts
        .iter()
        .map(|(name, value)| format!("{}: {}", text(name), text(value)));
    let mut facts: Vec<String> = facts.collect();
    facts.extend(link.map(|link| format!("[report]({})", target(link))));
    out + &format!("\n{}\n", facts.join(" · "))
}

/// Formats a verdict, such as `requirements missed (valid)`. Without missed requirements, returns
/// only the verdict.
fn state(headline: &Headline) -> String {
    let verdict = headline.verdict.name();
    if headline.is_missed {
        format!("requirements missed ({verdict})")
    } else {
        verdict.to_owned()
    }
}

fn block(out: &mut String, what: &Block) {
    match what {
        Block::Text(said) | Block::Note(_, said) => *out += &format!("\n{}\n", prose(said)),
        Block::Table(what) => table(out, what),
        Block::List(heading, items) => {
            *out += &format!("\n{}\n\n", prose(heading));
            for item in items {
                *out += &format!("- {}\n", prose(item));
            }
        }
        Block::Facts(_)
        | Block::Chart(_)
        | Block::Picture(_)
        | Block::Icicle(_)
        | Block::Figure(..)
        | Block::Choice(..)
        | Block::Marks(_)
        | Block::Code(_)
        | Block::Details(..)
        | Block::Card(_) => {}
    }
}

fn table(out: &mut String, table: &Table) {
    let columns = table.columns.iter().enumerate();
    let shown: Vec<_> = columns.filter(|(_, column)| !column.wide_only).collect();
    if !table.caption.is_empty() {
        *out += &format!("\n{}\n", prose(&table.caption));
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = |title: &str, unit: &str| match unit {
        "" => text(title),
        unit => format!("{}, {}", text(title), text(unit)),
    };
    *out += "\n";
    *out += &line(shown.iter().map(|(_, c)| head(&c.title, &c.unit)).collect());
    let rule = |align| match align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    };
    *out += &line(shown.iter().map(|(_, c)| rule(c.align)).collect());
    for row in &table.rows {
        let cells = shown.iter().map(|(at, _)| row.cells.get(*at));
        *out += &line(cells.map(|c| c.map_or_else(String::new, cell)).collect());
    }
    if !table.foot.is_empty() {
        *out += &format!("\n{}\n", prose(&table.foot));
    }
}

/// Formats a cell with its detail. Markdown has neither grey nor small text. So an asterisk marks a
/// grey value, as on a terminal, and brackets separate the detail from the value.
fn cell(cell: &Cell) -> String {
    let value = text(&cell.text);
    if cell.detail.is_empty() {
        return value;
    }
    let mark = match cell.tone {
        Tone::Muted => "\\*",
        _ => "",
    };
    let is_separate = cell.detail.starts_with(['(', '±']);
    let detail = text(&cell.detail);
    if is_separate {
        format!("{value}{mark} {detail}")
    } else {
        format!("{value}{mark} ({detail})")
    }
}

/// Escapes text. All characters that are special in Markdown or on GitHub become literal.
fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // An empty comment prevents `@name` from becoming a mention, and `#7` from becoming an
            // issue.
            '@' | '#' => {
                out.push(c);
                out.push_str("<!-- -->");
            }
            c if c.is_control() => out.push(' '),
            c if "\\`*_{}[]()|~!$^".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Escapes a sentence. Messages quote keys and commands in backticks, and this function marks such
/// text as code.
fn prose(raw: &str) -> String {
    let parts: Vec<&str> = raw.split('`').collect();
    let mut out = String::with_capacity(raw.len());
    for (at, part) in parts.iter().enumerate() {
        let is_code = at % 2 == 1 && at + 1 < parts.len() && !part.is_empty();
        if is_code {
            let plain = |c: char| if c.is_control() { ' ' } else { c };
            let code: String = part.chars().map(plain).collect();
            out = out + "`" + &code.replace('|', "\\|") + "`";
        } else {
            if at % 2 == 1 {
                out.push_str("\\`");
            }
            out.push_str(&text(part));
            if at % 2 == 1 && at + 1 < parts.len() {
                out.push_str("\\`");
            }
        }
    }
    out
}

/// Escapes a path or address as the target of a link.
fn target(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for byte in raw.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'/' | b'.' | b'-' | b'_' | b':' | b'?' | b'=' | b'%' | b'+' => {
                out.push(char::from(byte));
            }
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In an earlier version, `5.22 17 above` looked like two values.
    #[test]
    fn a_detail_is_separate_from_its_value() {
        let grey = Cell::new("5.22").tone(Tone::Muted).detail("17 above");
        assert_eq!(cell(&grey), "5.22\\* (17 above)");
        let primary = Cell::new("throughput").detail("primary");
        assert_eq!(cell(&primary), "throughput (primary)");
        assert_eq!(cell(&Cell::new("7").detail("± 3 %")), "7 ± 3 %");
        assert_eq!(cell(&Cell::new("7").detail("(few)")), "7 \\(few\\)");
    }

    #[test]
    fn no_text_becomes_markup() {
        for (raw, expected) in [
            ("a|b", "a\\|b"),
            ("<img src=x>", "&lt;img src=x&gt;"),
            ("[x](http://y)", "\\[x\\]\\(http://y\\)"),
            ("*b* _i_ @me #7", "\\*b\\* \\_i\\_ @<!-- -->me #<!-- -->7"),
            ("a\nb\u{1b}", "a b "),
        ] {
            assert_eq!(text(raw), expected);
        }
        assert_eq!(prose("write `a|b` or `c"), "write `a\\|b` or \\`c");
        assert_eq!(prose("``"), "\\`\\`");
        assert_eq!(target("a b)(/é"), "a%20b%29%28/%C3%A9");
    }
}
