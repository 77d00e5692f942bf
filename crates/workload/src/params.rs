//! Reads the parameters of a specification, each with its default and limits, and collects all
//! mistakes.

use crate::distribution::{self, DistributionText, Shape};
use crate::spec::{ParamValue, Problem, Spec};

/// Parses a whole number. It may end in k, M or G (or cassandra-stress's b) for 10^3, 10^6 or 10^9.
/// Returns `None` for other texts.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let (digits, scale) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'm' | b'M' => (&text[..text.len() - 1], 1_000_000),
        b'g' | b'G' | b'b' | b'B' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// Returns the most similar name among `candidates`. Returns `None` if no candidate is so similar
/// that the user probably meant it.
pub(crate) fn did_you_mean<'a>(
    written: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let lower = written.to_lowercase();
    candidates
        .map(|candidate| (strsim::jaro_winkler(&lower, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

pub(crate) struct Params<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Params<'a> {
    pub(crate) fn new(spec: &'a Spec) -> Params<'a> {
        Params {
            spec,
            problems: Vec::new(),
        }
    }

    pub(crate) fn problem(&mut self, path: &[&str], message: String, hint: Option<String>) {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        self.problems.push(Problem {
            path,
            message,
            hint,
            is_unknown_name: false,
        });
    }

    /// Records that the last part of `path` is an unknown name.
    pub(crate) fn unknown_name(&mut self, path: &[&str], message: String, hint: Option<String>) {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        self.problems.push(Problem {
            path,
            message,
            hint,
            is_unknown_name: true,
        });
    }

    fn wrong(&mut self, name: &str, message: String) {
        self.problem(&["params", name], message, None);
    }

    /// Returns a whole number within `limits` (both included).
    pub(crate) fn number(&mut self, name: &str, default: u64, limits: (u64, u64)) -> u64 {
        let parsed = match self.spec.params.get(name) {
            None => return default,
            Some(ParamValue::Int(value)) => u64::try_from(*value).ok(),
            Some(ParamValue::Float(value)) if value.fract() == 0.0 && *value >= 0.0 => {
                // For a value above `u64::MAX`, the conversion returns `u64::MAX`.
                Some(*value as u64)
            }
            Some(ParamValue::Float(_)) => None,
            Some(ParamValue::Text(text)) => whole_number(text.trim()),
        };
        match parsed {
            Some(value) if (limits.0..=limits.1).contains(&value) => value,
            _ => {
                let written = self.written(name);
                let (low, high) = limits;
                let message =
                    format!("{name} is {written}; it must be a whole number from {low} to {high}");
                self.wrong(name, message);
                default
            }
        }
    }

    /// Returns a share between 0 and 1. Returns 0 if the study does not set this parameter.
    pub(crate) fn share(&mut self, name: &str) -> f64 {
        let parsed = match self.spec.params.get(name) {
            None => return 0.0,
            Some(ParamValue::Int(value)) => Some(*value as f64),
            Some(ParamValue::Float(value)) => Some(*value),
            Some(ParamValue::Text(text)) => text.trim().parse().ok(),
        };
        let in_limits = parsed.filter(|share| (0.0..=1.0).contains(share));
        in_limits.unwrap_or_else(|| {
            let written = self.written(name);
            self.wrong(
                name,
                format!("{name} is {written}; it must be a number from 0 to 1"),
            );
            0.0
        })
    }

    /// Returns a parameter that is a text. Returns `None` if the study does not set this parameter.
    pub(crate) fn text(&mut self, name: &str) -> Option<&'a str> {
        match self.spec.params.get(name)? {
            ParamValue::Text(text) => Some(text),
            _ => {
                let written = self.written(name);
                self.wrong(name, format!("{name} is {written}; it must be a string"));
                None
            }
        }
    }

    /// Returns a distribution of rows. A range in the study must be within `0..rows`.
    pub(crate) fn rows_distribution(&mut self, name: &str, rows: u64) -> DistributionText {
        let uniform = DistributionText {
            shape: Shape::Uniform,
            range: None,
        };
        let Some(written) = self.distribution(name, uniform) else {
            return uniform;
        };
        if let Some((_, last)) = written.range
            && last >= rows
        {
            let message = format!(
                "{name} reaches row {last}; the rows are 0 to {}",
                rows.saturating_sub(1)
            );
            self.wrong(name, message);
            return uniform;
        }
        written
    }

    /// Returns the distribution of a parameter, or `default` if the study does not set the
    /// parameter. Returns `None` after a mistake.
    pub(crate) fn distribution(
        &mut self,
        name: &str,
        default: DistributionText,
    ) -> Option<DistributionText> {
        let Some(text) = self.spec.params.get(name) else {
            return Some(default);
        };
        let text = match text {
            ParamValue::Text(text) => text.clone(),
            ParamValue::Int(value) => value.to_string(),
            ParamValue::Float(value) => value.to_string(),
        };
        match distribution::parse(&text) {
            Ok(written) => Some(written),
            Err(message) => {
                let word = text.split('(').next().unwrap_or_default().trim().to_lowercase();
                let known = distribution::NAMES.contains(&word.as_str());
                let hint = if known {
                    None
                } else {
                    did_you_mean(&word, distribution::NAMES.iter().copied())
                };
                self.problem(&["params", name], message, hint);
                None
            }
        }
    }

    fn written(&self, name: &str) -> String {
        match self.spec.params.get(name) {
            Some(ParamValue::Int(value)) => value.to_string(),
            Some(ParamValue::Float(value)) => value.to_string(),
            Some(ParamValue::Text(text)) => format!("\"{text}\""),
            None => "absent".to_owned(),
        }
    }
}
