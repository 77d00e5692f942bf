//! Parses the lines of a scenario: `run driver=cql tags==block:main cycles===10M threads=auto`.

use super::params::{self, On};

/// Settings of one line, in the order of the line.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Line {
    pub(crate) settings: Vec<(String, Lock, String)>,
    /// True if NoSQLBench would start the next line at the same time.
    pub(crate) starts: bool,
    /// Keys of the settings whose values come from the command line.
    given: Vec<String>,
}

/// Rule for a setting that the command line also states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Written as `=`. The command line may change the value.
    Open,
    /// Written as `==`. cassay ignores a value on the command line.
    Silent,
    /// Written as `===`. A value on the command line is a mistake.
    Loud,
}

impl Line {
    /// Parses a line. Quotes keep a word together, and the parser removes the quotes.
    pub(crate) fn parse(text: &str) -> Result<Line, String> {
        let mut line = Line::default();
        for word in words(text) {
            let Some((key, rest)) = word.split_once('=') else {
                if word == "run" || word == "start" {
                    line.starts = word == "start";
                    continue;
                }
                return Err(format!(
                    "`{word}` is neither a setting such as `key=value` nor one of the commands run \
                     and start"
                ));
            };
            let (lock, value) = if let Some(value) = rest.strip_prefix("==") {
                (Lock::Loud, value)
            } else if let Some(value) = rest.strip_prefix('=') {
                (Lock::Silent, value)
            } else {
                (Lock::Open, rest)
            };
            // If a setting occurs several times, only its last value counts, as in NoSQLBench.
            line.settings.retain(|(known, ..)| known != key);
            let setting = (key.to_owned(), lock, value.to_owned());
            line.settings.push(setting);
        }
        Ok(line)
    }

    /// Applies the settings of the command line. Ignores a setting that the line locks with `==`.
    /// Returns an error for a setting that the line locks with `===`.
    pub(crate) fn set(&mut self, given: &[(String, String)]) -> Result<(), String> {
        for (key, value) in given {
            match self.settings.iter_mut().find(|(known, ..)| known == key) {
                None => {
                    let setting = (key.clone(), Lock::Open, value.clone());
                    self.settings.push(setting);
                    self.given.push(key.clone());
                }
                Some((_, Lock::Open, current)) => {
                    current.clone_from(value);
                    self.given.push(key.clone());
                }
                Some((_, Lock::Silent, _)) => {}
                Some((_, Lock::Loud, current)) => {
                    return Err(format!("the scenario locks {key} to {current}"));
                }
            }
        }
        self.settings.retain(|(_, _, value)| !value.eq_ignore_ascii_case("undef"));
        Ok(())
    }

    pub(crate) fn is_given(&self, key: &str) -> bool {
        self.given.iter().any(|given| given == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        // If code reads a setting that is not in a list, cassay would also report the setting as
        // unused.
        debug_assert!(params::acting(On::Line).any(|known| known == key), "{key}");
        let found = self.settings.iter().find(|(known, ..)| known == key);
        found.map(|(_, _, value)| value.as_str())
    }
}

/// Splits a text into words like NoSQLBench. Unlike a shell, NoSQLBench supports no escapes and no
/// empty words.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.push(c),
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            None => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Parses a number such as `10`, `10k`, `5M` or `1B`. The suffixes T, P and E are also accepted.
pub(crate) fn count(text: &str) -> Option<u64> {
    let text = text.replace('_', "");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let factor = match text[split..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "b" | "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "p" => 1_000_000_000_000_000,
        "e" => 1_000_000_000_000_000_000,
        _ => return None,
    };
    match text[..split].parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => {
            let value = text[..split].parse::<f64>().ok()? * factor as f64;
            (value.fract() == 0.0 && value < 1e18).then_some(value as u64)
        }
    }
}

/// Parses a range of cycles. `a..b` means from a up to and excluding b, and `b` means from 0 up to
/// and excluding b.
pub(crate) fn cycles(text: &str) -> Option<(u64, u64)> {
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (count(from)?, count(to)?),
        None => (0, count(text)?),
    };
    (from < to).then_some((from, to))
}

/// Returns the indices of operations with these ratios, in the order of their execution. Each index
/// occurs as often as its ratio. Returns `None` if the name of the order is unknown.
pub(crate) fn sequence(name: &str, ratios: &[u32]) -> Option<Vec<u16>> {
    let mut order: Vec<(u64, u16)> = Vec::new();
    let length: u64 = ratios.iter().map(|r| u64::from(*r)).sum();
    for (op, ratio) in ratios.iter().enumerate() {
        for turn in 0..u64::from(*ratio) {
            let place = match name {
                "bucket" => turn,
                "concat" => 0,
                // The turns of an operation are spaced evenly over `length` turns. The positions
                // are in millionths of a turn.
                "interval" => turn * 1_000_000 * length / u64::from(*ratio),
                _ => return None,
            };
            order.push((place, op as u16));
        }
    }
    order.sort_by_key(|(place, _)| *place);
    Some(order.into_iter().map(|(_, op)| op).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_nosqlbench_s() {
        for (name, expected) in [
            ("bucket", "ABCABAA"),
            ("concat", "AAAABBC"),
            ("interval", "ABCAABA"),
        ] {
            let order = sequence(name, &[4, 2, 1]).unwrap();
            let letters: String = order.iter().map(|op| (b'A' + *op as u8) as char).collect();
            assert_eq!(letters, expected, "{name}");
        }
    }

    #[test]
    fn locks_hold_and_undefined_settings_go() {
        let text = "run driver=cql tags==block:\"main.*\" cycles===10k threads==UNDEF rate=5";
        let mut line = Line::parse(text).unwrap();
        let given = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
        assert!(line.set(&given("cycles", "5")).is_err());
        line.set(&given("tags", "x:y")).unwrap();
        line.set(&given("rate", "7")).unwrap();
        assert_eq!(line.get("tags"), Some("block:main.*"));
        assert_eq!((line.get("rate"), line.get("threads")), (Some("7"), None));
    }

    #[test]
    fn keys_of_the_command_line_are_known_as_its_own() {
        let mut line = Line::parse("start threads=1 rate==5 alias=Undef").unwrap();
        let given = ["threads", "rate", "cl"].map(|key| (key.to_owned(), "7".to_owned()));
        line.set(&given).unwrap();
        let own = ["threads", "rate", "cl", "alias"].map(|key| line.is_given(key));
        assert_eq!(own, [true, false, true, false]);
        assert!(line.starts && line.get("alias").is_none());
        let refused = Line::parse("waitmillis ms=5").unwrap_err();
        assert!(
            refused.contains("one of the commands run and start"),
            "{refused}"
        );
    }

    #[test]
    fn counts_and_ranges_are_read() {
        assert_eq!(cycles("1k..1M"), Some((1000, 1_000_000)));
        assert_eq!(cycles("2.5k"), Some((0, 2500)));
        assert_eq!(cycles("0..100"), Some((0, 100)));
        assert_eq!(cycles("10K"), Some((0, 10_000)));
        assert_eq!(cycles("2T"), Some((0, 2_000_000_000_000)));
        assert_eq!(cycles("5..5"), None);
        assert_eq!(count("99999999999999999999B"), None);
    }
}
