//! Parses cassandra-easy-stress's command line: `run WORKLOAD --rate 5k -d 1m -r 0.5 …`.
//!
//! As in the tool, an option and its value are two words. `--field.` and `--workload.` form one
//! word with the text that follows them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::table::WORKLOAD;
use crate::Tool;
use yaml::{Diagnostics, Place, SourceText, did_you_mean};

/// Options whose value is the password.
pub(crate) const SECRET: &[&str] = &["--password", "-P"];

/// Options with a value that have an effect in cassay. The alternative names of an option follow
/// its first name.
const VALUES: &str = "--cl --compaction --compression --cql --dc --deleterate|--deletes \
    --duration|-d --host --id --iterations|-i|-n --keycache --keyspace --max-connections \
    --partitiongenerator|--pg --partitions|-p --password|-P --populate --port --rate \
    --readrate|--reads|-r --replication --rowcache --threads|-t --ttl --username|-U";
/// Options without a value that have an effect in cassay.
const FLAGS: &str = "--drop --no-schema --ssl";
/// Options with a value that have no effect in cassay. In the tool, `--concurrency` has had no
/// effect since easy-cass-stress. Paging and conditions are for other workloads.
const IDLE_VALUES: &str = "--concurrency|-c --core-connections --csv --hdr --max-requests --paging \
    --parquet --prometheusport --queue --scl";
const IDLE_FLAGS: &str = "--coordinatoronly|--co --paginate";
/// Options that cassay refuses, each with the alternative in cassay.
const REFUSED: &[(&str, &str)] = &[
    ("--maxrlat", SWEEP),
    ("--maxwlat", SWEEP),
    (
        "--maxrate",
        "write --rate, which is the tool's name for this option",
    ),
    (
        "--rf",
        "--replication \"{'class': 'SimpleStrategy', 'replication_factor': 3}\"",
    ),
];
const SWEEP: &str = "write in a study: `procedure: {sweep: {rate: …, until: {p99_ms: …}}}`";

/// The parsed words. If a method reads an invalid value, it records a mistake.
pub(super) struct Options {
    /// Value and word index of each option, by the option's first name. A flag has an empty value.
    given: BTreeMap<&'static str, (String, usize)>,
    /// Values of `--cql`, which may occur several times.
    pub(super) cql: Vec<String>,
    /// Words that begin with `--field.`. Each is stored without this prefix, with its word index.
    pub(super) fields: Vec<(String, usize)>,
    pub(super) parameters: Vec<(String, usize)>,
    /// The name of the workload, and its word index.
    pub(super) workload: Option<(String, usize)>,
    /// Options that have no effect, as written on the command line.
    pub(super) idle: Vec<String>,
    pub(super) out: Diagnostics,
    places: Vec<Place>,
}

/// Returns the first name of an option. Returns `None` if the option is not in the list.
fn first_name(list: &'static str, word: &str) -> Option<&'static str> {
    let mut options = list.split(' ').filter(|names| !names.is_empty());
    let found = options.find(|names| names.split('|').any(|name| name == word))?;
    found.split('|').next()
}

/// Returns the words with the password masked.
fn shown(words: &[String]) -> Vec<String> {
    let hidden = |(at, word): (usize, &String)| {
        let option = word.split_once('=').map_or("", |(option, _)| option);
        let before = at.checked_sub(1).map_or("", |before| &words[before]);
        match (SECRET.contains(&option), SECRET.contains(&before)) {
            (true, _) => format!("{option}=***"),
            (_, true) => "***".to_owned(),
            _ => word.clone(),
        }
    };
    words.iter().enumerate().map(hidden).collect()
}

impl Options {
    pub(super) fn parse(command_line: &[String]) -> Options {
        let words = Tool::Easy.own_words(command_line);
        let shown = shown(words);
        let mut start = 0;
        let place = |word: &String| {
            let span = start..start + word.len();
            start = span.end + 1;
            Place { source: 0, span }
        };
        let places = shown.iter().map(place).collect();
        let mut options = Options {
            given: BTreeMap::new(),
            cql: Vec::new(),
            fields: Vec::new(),
            parameters: Vec::new(),
            workload: None,
            idle: Vec::new(),
            out: Diagnostics::new(vec![SourceText {
                name: "command line".to_owned(),
                text: shown.join(" "),
            }]),
            places,
        };
        let mut at = usize::from(words.first().is_some_and(|word| word == "run"));
        while let Some(word) = words.get(at) {
            at += options.take(at, word, (words.get(at + 1), &shown[at]));
        }
        options
    }

    /// Parses the word at `at`. If the word is an option with a value, also parses the value.
    /// Returns the number of parsed words.
    fn take(&mut self, at: usize, word: &str, (value, shown): (Option<&String>, &str)) -> usize {
        if let Some(name) = first_name(VALUES, word).or(first_name(IDLE_VALUES, word)) {
            let Some(value) = value else {
                self.wrong(at, format!("{word} needs a value"), None);
                return 1;
            };
            match name {
                "--cql" => self.cql.push(value.clone()),
                name if first_name(VALUES, name).is_some() => self.set(name, value, at + 1),
                _ => self.idle.push(word.to_owned()),
            }
            return 2;
        }
        if let Some(name) = first_name(FLAGS, word) {
            self.set(name, "", at);
        } else if first_name(IDLE_FLAGS, word).is_some() {
            self.idle.push(word.to_owned());
        } else if let Some(rest) = word.strip_prefix("--field.") {
            self.fields.push((rest.to_owned(), at));
        } else if let Some(rest) = word.strip_prefix("--workload.").or(word.strip_prefix("-w.")) {
            self.parameters.push((rest.to_owned(), at));
        } else if word.starts_with('-') {
            self.unknown(at, word, shown);
            // The next word is the value of this option if it is neither an option nor the name of
            // the workload.
            let is_value = |word: &&String| !word.starts_with('-') && *word != WORKLOAD;
            return 1 + usize::from(value.filter(is_value).is_some());
        } else if let Some((first, _)) = &self.workload {
            self.wrong(
                at,
                format!(
                    "`{shown}` would be a second workload after {first}, but a command has only one"
                ),
                None,
            );
        } else {
            self.workload = Some((shown.to_owned(), at));
        }
        1
    }

    fn unknown(&mut self, at: usize, word: &str, shown: &str) {
        let lists = [VALUES, FLAGS, IDLE_VALUES, IDLE_FLAGS];
        let names: Vec<&str> = lists.iter().flat_map(|list| list.split([' ', '|'])).collect();
        let refused = REFUSED.iter().find(|(name, _)| *name == word);
        let assigned = word.split_once('=').filter(|(name, _)| names.contains(name));
        let hint = match (refused, assigned) {
            (Some((_, hint)), _) => Some((*hint).to_owned()),
            (None, Some((name, _))) => {
                Some(format!("write `{name} VALUE`, as two separate arguments"))
            }
            (None, None) => did_you_mean(word, names),
        };
        self.wrong(at, format!("cassay does not understand `{shown}`"), hint);
    }

    fn set(&mut self, name: &'static str, value: &str, at: usize) {
        if self.given.insert(name, (value.to_owned(), at)).is_some() {
            self.wrong(at, format!("{name} occurs twice"), None);
        }
    }

    pub(super) fn wrong(&mut self, at: usize, message: String, hint: Option<String>) {
        let place = self.places.get(at).cloned().unwrap_or_default();
        self.out.add(&place, message, hint);
    }

    /// Records that the value of an option is invalid. `what` describes valid values.
    pub(super) fn wrong_value(&mut self, name: &str, what: &str) {
        if let Some((text, at)) = self.given.get(name).cloned() {
            self.wrong(at, format!("{name} is `{text}`; it must be {what}"), None);
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(|(value, _)| value.as_str())
    }

    /// Returns the value of an option. If the option is absent or its value is invalid, returns the
    /// default. `what` describes valid values.
    pub(super) fn value<T>(
        &mut self,
        name: &str,
        default: T,
        (what, read): (&str, impl Fn(&str) -> Option<T>),
    ) -> T {
        match self.text(name).map(read) {
            Some(Some(value)) => return value,
            Some(None) => self.wrong_value(name, what),
            None => {}
        }
        default
    }

    /// Returns the value of an option that is a whole number within limits.
    pub(super) fn count(&mut self, name: &str, default: u64, limits: RangeInclusive<u64>) -> u64 {
        let what = format!(
            "a whole number from {} to {}, such as 500 or 10k",
            limits.start(),
            limits.end()
        );
        let fits = |number: &u64| limits.contains(number);
        self.value(name, default, (&what, |text| human(text).filter(fits)))
    }

    /// Returns the value of an option that is a share of all operations, between 0 and 1.
    pub(super) fn share(&mut self, name: &str, default: f64) -> f64 {
        let fits = |share: &f64| (0.0..=1.0).contains(share);
        let read = |text: &str| text.parse().ok().filter(fits);
        self.value(name, default, ("a number from 0 to 1", read))
    }

    /// Returns the value of an option that is a length of time, in seconds.
    pub(super) fn seconds(&mut self, name: &str) -> Option<u64> {
        let what = "a duration such as 90s, 5m or \"1d 3h 15m\"";
        self.value(name, None, (what, |text| seconds(text).map(Some)))
    }
}

/// Parses a number that may have the suffix k, m or b, for thousands, millions and billions.
pub(super) fn human(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'm' => (&text[..text.len() - 1], 1_000_000),
        b'b' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1u64),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|_| is_number)?;
    number.checked_mul(factor)
}

/// Parses a sequence of days, hours, minutes and seconds, such as `1d 3h 15m`. Returns the sum in
/// seconds. The sum must be more than zero, and must fit in 64 bits in nanoseconds.
fn seconds(text: &str) -> Option<u64> {
    let mut sum = 0u64;
    for part in text.split_inclusive(['d', 'h', 'm', 's']) {
        let unit = match part.as_bytes().last()? {
            b'd' => 86_400,
            b'h' => 3_600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        let count: u64 = part[..part.len() - 1].trim_start().parse().ok()?;
        sum = sum.checked_add(count.checked_mul(unit)?)?;
    }
    (1..=u64::MAX / 1_000_000_000).contains(&sum).then_some(sum)
}
