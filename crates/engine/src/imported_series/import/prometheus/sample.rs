//! Parses one line of the Prometheus text format: a name with labels, a value, and an optional
//! time.

use crate::imported_series::import::unix_ns;
use anyhow::{Context, Result, bail, ensure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    Gauge,
    Counter,
    /// Histogram or summary. The metrics `_count`, `_sum` and `_bucket` are counters, but quantiles
    /// are not.
    Distribution,
    Unknown,
}

impl MetricKind {
    /// Parses the word that declares the kind of a metric.
    ///
    /// # Errors
    /// The word does not name a known kind.
    pub fn parse(word: &str) -> Result<MetricKind> {
        Ok(match word {
            "counter" => MetricKind::Counter,
            "gauge" => MetricKind::Gauge,
            "histogram" | "summary" => MetricKind::Distribution,
            "untyped" | "unknown" | "info" | "stateset" | "gaugehistogram" => MetricKind::Unknown,
            other => bail!("{other:?} is not a kind of metric"),
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub line: u64,
    pub name: String,
    /// Labels in alphabetical order.
    pub labels: Vec<(String, String)>,
    pub value: f64,
    pub unix_ns: Option<u64>,
}

impl Sample {
    /// Parses line `number` of a text.
    ///
    /// # Errors
    /// A part of the line is missing, invalid or superfluous.
    pub fn parse(line: &str, number: u64) -> Result<Sample> {
        let name_end = line.find(|c: char| c == '{' || c.is_ascii_whitespace());
        let (name, rest) = line.split_at(name_end.context("expected a value after the name")?);
        let mut name = name.to_string();
        let rest = rest.trim_start();
        let (mut labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest, &mut name)?,
            None => (Vec::new(), rest),
        };
        ensure!(is_name(&name), "{name:?} is not a valid metric name");
        // In OpenMetrics, an exemplar may follow after `#`.
        let rest = rest.split_once(" # ").map_or(rest, |(rest, _)| rest);
        let mut words = rest.split_ascii_whitespace();
        let value = words.next().with_context(|| format!("{name} has no value"))?;
        let value = value.parse().with_context(|| {
            format!(
                "{name} is {value:?}, which is not a \
                                                           number"
            )
        })?;
        let time = |word: &str| -> Result<u64> {
            let time = word.parse().with_context(|| format!("{word:?} is not a time"))?;
            unix_ns(time)
        };
        let unix_ns = words.next().map(time).transpose()?;
        if let Some(word) = words.next() {
            bail!("{word:?} is superfluous: a line has one value and at most one time");
        }
        labels.sort();
        Ok(Sample {
            line: number,
            name,
            labels,
            value,
            unix_ns,
        })
    }

    /// Returns the name with its labels. Omits the label `instance`, which becomes the place.
    pub fn labelled(&self) -> String {
        let labels: Vec<String> = self
            .labels
            .iter()
            .filter(|(label, _)| label != "instance")
            .map(|(label, value)| format!("{label}={value:?}"))
            .collect();
        if labels.is_empty() {
            return self.name.clone();
        }
        format!("{}{{{}}}", self.name, labels.join(","))
    }
}

/// Returns true if the text can be the name of a metric. Also accepts characters that only version
/// 3 of the format allows, except quotes.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && !name.contains('"')
}

/// Labels in alphabetical order, so that the labels of two samples can be compared.
type Labels = Vec<(String, String)>;

/// Parses the labels after `{`, and returns the text after `}`. In version 3, a name that is not a
/// plain word appears as a quoted string among the labels.
fn labels<'a>(mut rest: &'a str, name: &mut String) -> Result<(Labels, &'a str)> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((found, after));
        }
        let label;
        if let Some(after) = rest.strip_prefix('"') {
            (label, rest) = quoted(after)?;
        } else {
            let end = rest.find(['=', ',', '}']).context("the labels are not closed with `}`")?;
            label = rest[..end].trim().to_string();
            rest = &rest[end..];
        }
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('=') {
            let after = after
                .trim_start()
                .strip_prefix('"')
                .with_context(|| format!("the label {label:?} is not quoted"))?;
            let value;
            (value, rest) = quoted(after)?;
            ensure!(!label.is_empty(), "the label of {value:?} has no name");
            found.push((label, value));
        } else if name.is_empty() {
            *name = label;
        } else {
            bail!("the label {label:?} has no value");
        }
        rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => ensure!(rest.starts_with('}'), "the labels are not closed with `}}`"),
        }
    }
}

/// Parses a quoted text after its opening quote, and returns the text and the rest of the line
/// after the closing quote.
fn quoted(rest: &str) -> Result<(String, &str)> {
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Ok((text, &rest[index + 1..])),
            '\\' => match characters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, other @ ('"' | '\\'))) => text.push(other),
                other => bail!(
                    "\\{} is not a valid escape",
                    other.map_or(' ', |(_, other)| other)
                ),
            },
            other => text.push(other),
        }
    }
    bail!("a quoted text is unterminated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_hold_anything_that_is_escaped() {
        let line = r#"m{a="}\"\\ ,=\n",b=""} -1"#;
        let sample = Sample::parse(line, 1).unwrap();
        let expected = [("a", "}\"\\ ,=\n"), ("b", "")]
            .map(|(label, value)| (label.to_string(), value.to_string()));
        assert_eq!(sample.labels, expected);
        assert_eq!((sample.value, sample.unix_ns), (-1.0, None));
        let sample = Sample::parse(r#"{"my.metric", "a.b"="c"} 1"#, 1).unwrap();
        assert_eq!(sample.name, "my.metric");
        assert_eq!(sample.labels[0].0, "a.b");
    }

    proptest::proptest! {
        #[test]
        fn labels_come_back_as_they_were_written(
            value in "(\\PC|\n){0,20}", number in -1e9..1e9f64
        ) {
            let escaped = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let sample = Sample::parse(&format!("m{{a=\"{escaped}\"}} {number}"), 1).unwrap();
            proptest::prop_assert_eq!(&sample.labels[0].1, &value);
            proptest::prop_assert_eq!(sample.value, number);
        }
    }
}
