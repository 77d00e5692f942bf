//! Tests that the contrast between text and background is high enough for readers.

use crate::fixture;
use report::{html, page};

/// Contrast ratio that WCAG 2.2 requires for text of ordinary size (1.4.3, level AA).
const CONTRAST_MIN: f64 = 4.5;

/// Returns the red, green and blue values, from 0 to 1, of the CSS variable `--name` in `rule`.
fn colour(rule: &str, name: &str) -> [f64; 3] {
    let start = format!("--{name}: #");
    let begin = rule.find(&start).expect(name) + start.len();
    [0, 2, 4].map(|at| {
        let hex = &rule[begin + at..begin + at + 2];
        f64::from(u8::from_str_radix(hex, 16).expect("two hexadecimal digits")) / 255.0
    })
}

/// Returns the relative luminance of a colour, as WCAG 2.2 defines it.
fn luminance(colour: [f64; 3]) -> f64 {
    let linear = colour.map(|part| {
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let [a, b] = [luminance(a), luminance(b)];
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn text_stands_out_from_what_is_behind_it_in_light_and_in_dark() {
    let html = html(&page(&fixture::run(1)));
    let (light, dark) = html.split_once("prefers-color-scheme: dark").expect("two themes");
    for (theme, rule) in [("light", light), ("dark", dark)] {
        let pairs = [
            ("text", "bg"),
            ("text", "card"),
            ("muted", "bg"),
            ("muted", "card"),
            ("link", "bg"),
            ("link", "card"),
            ("good", "bg"),
            ("good", "good-bg"),
            ("warn", "bg"),
            ("warn", "warn-bg"),
            ("bad", "bg"),
            ("bad", "bad-bg"),
        ];
        for (text, behind) in pairs {
            let ratio = contrast(colour(rule, text), colour(rule, behind));
            assert!(
                ratio >= CONTRAST_MIN,
                "{theme}: {text} on {behind}: {ratio:.2}"
            );
        }
    }
}
