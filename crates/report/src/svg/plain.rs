//! Converts a figure to a file for programs other than browsers: slides, word processors,
//! rasterizers. Few of these programs support variables of a style sheet or a dark mode, so each
//! element contains its colours.

use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = include_str!("../../assets/figure.css");
/// Beginning of a reference to the variable with the colour of a mark. The class of the mark sets
/// this variable.
const PAINT: &str = "var(--paint";

/// Returns the drawing with the colours of the light page instead of variables.
pub(super) fn plain(svg: &str) -> String {
    let colors = colors();
    let svg = svg.replace(STYLE, &style(&colors));
    substitute(&svg, &colors, "")
}

/// Returns names and values of the variables of the light page, which the first `:root` block of
/// the style sheet contains.
fn colors() -> BTreeMap<&'static str, &'static str> {
    let block = STYLE.split_once(":root {").and_then(|(_, rest)| rest.split_once('}'));
    let lines = block.map_or("", |(inner, _)| inner).split(';');
    let named = lines.filter_map(|line| line.trim().split_once(':'));
    named.map(|(name, value)| (name.trim(), value.trim())).collect()
}

/// Returns the rules of the style sheet for figures. A rule that depends on a colour becomes one
/// rule for each colour.
fn style(colors: &BTreeMap<&str, &str>) -> String {
    let text = colors.get("--text").copied().unwrap_or("black");
    let rules: Vec<(&str, &str)> = rules().collect();
    let paints: Vec<(&str, String)> = rules
        .iter()
        .filter_map(|(selector, body)| {
            let value = body.trim().strip_prefix("--paint:")?;
            let class = selector.rsplit('.').next()?;
            Some((
                class,
                substitute(value.trim_end_matches(';').trim(), colors, text),
            ))
        })
        .collect();
    let mut out = String::new();
    for (selector, body) in rules.iter().filter(|(_, body)| !body.contains("--paint:")) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{selector}{{{}}}", substitute(body, colors, text));
        let of_color: Vec<&str> = body.split(';').filter(|one| one.contains(PAINT)).collect();
        if of_color.is_empty() {
            continue;
        }
        for (class, color) in &paints {
            let is_own = selector.ends_with(&format!(".{class}"));
            let is_of_another = paints.iter().any(|(c, _)| selector.ends_with(&format!(".{c}")));
            if is_own || !is_of_another {
                let more = if is_own {
                    String::new()
                } else {
                    format!(".{class}")
                };
                let body = substitute(&of_color.join(";"), colors, color);
                let _ = write!(out, "{selector}{more}{{{body}}}");
            }
        }
    }
    out
}

/// Returns selector and declarations of every rule for figures. A rule with several selectors is
/// returned once for each selector.
fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let from = STYLE.find(".glance").unwrap_or(STYLE.len());
    STYLE[from..].split('}').filter_map(|rule| rule.split_once('{')).flat_map(
        |(selectors, body)| {
            selectors.split(',').map(move |selector| (selector.trim(), body.trim()))
        },
    )
}

/// Replaces variables in a text by their values. `paint` is the value of the variable `--paint`.
fn substitute(text: &str, colors: &BTreeMap<&str, &str>, paint: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("var(") {
        out.push_str(before);
        let (inner, behind) = end_of(after);
        let name = inner.split(',').next().unwrap_or_default().trim();
        let known = colors.get(name).copied();
        out.push_str(known.unwrap_or(if name == "--paint" { paint } else { inner }));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Returns the text up to the closing bracket, and the text after it.
fn end_of(text: &str) -> (&str, &str) {
    let mut open = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return (&text[..at], &text[at + 1..]);
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_figure_has_no_variables_and_every_mark_has_a_colour() {
        let svg = format!("<svg><style>{STYLE}</style><rect fill=\"var(--bg)\"/></svg>");
        let plain = plain(&svg);
        for gone in ["var(", "--paint", "@media", ":root"] {
            assert!(!plain.contains(gone), "{gone} is left: {plain}");
        }
        for there in [
            "fill=\"#ffffff\"",
            ".glance .dot{fill: #1c2024; stroke: #ffffff; stroke-width: 1.2;}",
            ".glance .dot.p1{fill: #d55e00}",
            ".glance text.bad{fill: #a8261c}",
        ] {
            assert!(plain.contains(there), "{there} is missing: {plain}");
        }
        assert!(!plain.contains("text.bad.p1") && !plain.contains("text.bad.warn"));
    }
}
