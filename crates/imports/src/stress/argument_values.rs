//! Parses the values of parameters: counts, times, ranges, distributions and consistency levels.
//!
//! Each function describes a mistake by a text that can follow `name: `. The caller adds the name
//! and the position.

use core::time::Duration;

use cql::Consistency;

/// A distribution as written on the command line: `[~]NAME(arguments)`. The text has been checked,
/// but the distribution has not been built yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenDistribution {
    /// Text of the distribution without spaces.
    pub text: String,
    /// Position on the command line. It is empty for a default.
    pub(crate) place: yaml::Place,
}

impl WrittenDistribution {
    pub(crate) fn default_of(text: impl Into<String>) -> WrittenDistribution {
        WrittenDistribution {
            text: text.into(),
            place: yaml::Place::default(),
        }
    }
}

/// The names of distributions, with their aliases.
pub(crate) const DISTRIBUTIONS: [&str; 13] = [
    "fixed", "uniform", "gaussian", "gauss", "normal", "norm", "exp", "extreme", "extr",
    "qextreme", "qextr", "weibull", "seq",
];

/// Parses a whole number. The suffixes `k`, `m` and `b` mean thousands, millions and billions.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'b' | 'B')) => (&text[..at], 1_000_000_000),
        _ => (text, 1u64),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(format!(
            "`{text}` is not a whole number; write digits, with an optional suffix k, m or b"
        ));
    }
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .filter(|number| *number <= i64::MAX as u64)
        .ok_or_else(|| format!("`{text}` exceeds the limit of {}", i64::MAX))
}

/// Parses a whole number within limits. The number must not have a suffix.
pub(crate) fn number(text: &str, limits: (u64, u64)) -> Result<u64, String> {
    let (least, most) = limits;
    if text.is_empty() || !text.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(format!("`{text}` is not a whole number"));
    }
    let inside = text.parse().ok().filter(|number| (least..=most).contains(number));
    inside.ok_or_else(|| format!("`{text}` is not between {least} and {most}"))
}

/// Parses a duration such as `10s`, `5m` or `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time; write a number and s, m or h, such as 5m");
    let (at, unit) = text.char_indices().next_back().ok_or_else(wrong)?;
    let seconds = match unit.to_ascii_lowercase() {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = count_digits(&text[..at]).ok_or_else(wrong)?;
    if number == 0 {
        return Err("a run with a duration of 0 measures nothing; write at least 1s".to_owned());
    }
    number
        .checked_mul(seconds)
        // The limit is ten years. A longer time is probably a typing error.
        .filter(|seconds| *seconds <= 315_360_000)
        .map(Duration::from_secs)
        .ok_or_else(|| format!("`{text}` is longer than ten years, the maximum"))
}

/// Parses the time between two lines of output, such as `1s`, `500ms` or `2`. A number without a
/// unit is in seconds.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, milliseconds) = match lower.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (lower.strip_suffix('s').unwrap_or(&lower), 1000),
    };
    let time = count_digits(digits)
        .and_then(|number| number.checked_mul(milliseconds))
        .ok_or_else(|| format!("`{text}` is not a time; write 1s or 500ms"))?;
    match time {
        0 => Err("the time between two lines must be greater than zero".to_owned()),
        // The maximum is an hour, because the client keeps all intervals in memory until it writes
        // them.
        1..=3_600_000 => Ok(Duration::from_millis(time)),
        _ => Err(format!("`{text}` is longer than an hour, the maximum")),
    }
}

/// Parses a rate such as `5000/s`.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let digits = text
        .strip_suffix("/s")
        .or_else(|| text.strip_suffix("/S"))
        .ok_or_else(|| format!("`{text}` is not a rate; write a rate such as 5000/s"))?;
    // No client could send more operations, and a clock in ns could not distinguish their times.
    number(digits, (0, 1_000_000_000))
}

/// Parses a fraction such as `0.02`. As in the tool, the fraction must be below 1.
pub(crate) fn fraction(text: &str) -> Result<f64, String> {
    let digits = text.strip_prefix("0.").filter(|d| count_digits(d).is_some());
    match digits.and_then(|_| text.parse::<f64>().ok()) {
        Some(0.0) => Err(
            "the target for the error must be above 0; write a fraction such as 0.02".to_owned(),
        ),
        Some(value) => Ok(value),
        None => Err(format!("`{text}` is not a fraction below 1, such as 0.02")),
    }
}

/// Parses a range such as `1..10` or `1..1M`. The first number must not be greater than the second.
pub(crate) fn range(text: &str) -> Result<(i64, i64), String> {
    let wrong = || {
        format!("`{text}` is not a range; write the first and the last number, as in 1..1000000")
    };
    let dots = text.find("..").ok_or_else(wrong)?;
    let (first, rest) = text.split_at(dots);
    let last = rest.trim_start_matches('.');
    let (first, last) = (signed(first)?, signed(last)?);
    if first > last {
        return Err(format!(
            "`{text}` begins above its end; write it as {last}..{first}"
        ));
    }
    Ok((first, last))
}

pub(crate) fn seeds(text: &str) -> Result<(u64, u64), String> {
    let (first, last) = range(text)?;
    match u64::try_from(first) {
        // A single seed is a sequence with only one value, as in the distribution `seq`.
        Ok(first) => Ok((first, last as u64)),
        Err(_) => Err(format!("`{text}` begins below 0; seeds are 0 and above")),
    }
}

/// Returns the largest value of a distribution whose text has been checked.
pub(crate) fn largest(text: &str) -> i64 {
    let inner = text.split_once('(').map_or("", |(_, inner)| inner);
    let first = inner.split([',', ')']).next().unwrap_or("");
    signed(first).or_else(|_| range(first).map(|(_, last)| last)).unwrap_or(0)
}

/// Parses names of columns, separated by commas. Sorts the names in byte order.
pub(crate) fn names(text: &str) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = text.split(',').map(str::to_owned).collect();
    names.sort_unstable();
    if names.iter().any(|name| name.is_empty() || name.contains(['"', '\''])) {
        return Err(format!(
            "`{text}` has a name that is empty or contains a quote"
        ));
    }
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("`{}` occurs twice", pair[0])),
        None => Ok(names),
    }
}

pub(crate) fn consistency(text: &str) -> Result<Consistency, String> {
    text.parse::<Consistency>().map_err(|error| error.to_string())
}

pub(crate) fn serial_consistency(text: &str) -> Result<Consistency, String> {
    match consistency(text)? {
        level @ (Consistency::Serial | Consistency::LocalSerial) => Ok(level),
        level => Err(format!(
            "`{level}` is not serial; write SERIAL or LOCAL_SERIAL"
        )),
    }
}

/// Checks a distribution of the form `[~]NAME(arguments)`.
pub(crate) fn distribution(text: &str) -> Result<(), String> {
    let wrong =
        || format!("`{text}` is not a distribution; write for example uniform(1..10) or fixed(34)");
    let body = text.strip_prefix('~').unwrap_or(text);
    let (name, rest) = body.split_once('(').ok_or_else(wrong)?;
    let inner = rest.strip_suffix(')').filter(|s| !s.is_empty()).ok_or_else(wrong)?;
    let arguments: Vec<&str> = inner.split(',').collect();
    let counts = match name.to_ascii_lowercase().as_str() {
        "fixed" => return exactly(name, &arguments, 1).and_then(|()| signed(inner).map(drop)),
        "uniform" | "exp" | "seq" => (1, 1),
        "gaussian" | "gauss" | "normal" | "norm" => (1, 3),
        "extreme" | "extr" => (2, 2),
        "qextreme" | "qextr" => (3, 3),
        "weibull" => {
            return Err(
                "cassandra-stress lists `weibull` in its help, but refuses it; write extreme(…), \
                 which is the same distribution"
                    .to_owned(),
            );
        }
        _ => {
            let hint = yaml::did_you_mean(name, DISTRIBUTIONS).unwrap_or_default();
            return Err(format!("no distribution has the name `{name}`; {hint}"));
        }
    };
    if !(counts.0..=counts.1).contains(&arguments.len()) {
        return exactly(name, &arguments, counts.0);
    }
    let (first, last) = range(arguments[0])?;
    if first == last && name.eq_ignore_ascii_case("seq") {
        return Err(format!(
            "seq({inner}) has only one value; write fixed({first})"
        ));
    }
    for argument in &arguments[1..] {
        let number = argument.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| format!("`{argument}` in `{text}` is not a number"))?;
    }
    Ok(())
}

/// Checks a ratio of the form `DISTRIBUTION/divisor`.
pub(crate) fn ratio_distribution(text: &str) -> Result<(), String> {
    let wrong = || format!("`{text}` is not a ratio; write for example fixed(1)/2");
    let (over, divisor) = text.rsplit_once('/').ok_or_else(wrong)?;
    distribution(over)?;
    match count(divisor)? {
        0 => Err(format!("`{text}` divides by zero")),
        _ => Ok(()),
    }
}

fn exactly(name: &str, arguments: &[&str], wanted: usize) -> Result<(), String> {
    if arguments.len() == wanted {
        return Ok(());
    }
    let form = match name.to_ascii_lowercase().as_str() {
        "fixed" => "fixed(value)",
        "extreme" | "extr" => "extreme(min..max,shape)",
        "qextreme" | "qextr" => "qextreme(min..max,shape,quantas)",
        "gaussian" | "gauss" | "normal" | "norm" => "gaussian(min..max[,mean,stdev])",
        "uniform" => "uniform(min..max)",
        "exp" => "exp(min..max)",
        _ => "seq(min..max)",
    };
    let given = arguments.len();
    Err(format!(
        "`{name}` has {given} arguments; write it as {form}"
    ))
}

fn signed(text: &str) -> Result<i64, String> {
    match text.strip_prefix('-') {
        Some(digits) => count(digits).map(|number| -(number as i64)),
        None => count(text).map(|number| number as i64),
    }
}

fn count_digits(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_take_suffixes_in_either_case_and_overflow_is_refused() {
        for (text, expected) in [
            ("0", 0),
            ("5", 5),
            ("3k", 3000),
            ("1M", 1_000_000),
            ("2b", 2_000_000_000),
        ] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "k",
            "1.5",
            "-1",
            "1kk",
            "9999999999999999999",
            "99999999999999b",
            "µ",
        ] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_rates_and_fractions() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2H"), Ok(Duration::from_secs(7200)));
        assert_eq!(interval("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(interval("2"), Ok(Duration::from_secs(2)));
        assert_eq!(rate("300000/s"), Ok(300_000));
        assert_eq!(fraction("0.02"), Ok(0.02));
        for text in ["", "s", "0s", "10", "1d", "99999999999h", "µ"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(interval("0").is_err() && rate("5").is_err() && fraction("1").is_err());
    }

    #[test]
    fn distributions_are_checked_by_name_and_arguments() {
        for text in [
            "fixed(34)",
            "FIXED(1k)",
            "uniform(1..10)",
            "~exp(1..1M)",
            "gaussian(1...10)",
            "gauss(1..10,3)",
            "norm(1..10,5,1.5)",
            "extreme(1..10,0.6)",
            "qextr(1..10,0.6,5)",
            "seq(1..10)",
            "uniform(-5..5)",
            "uniform(3..3)",
        ] {
            assert_eq!(distribution(text), Ok(()), "{text}");
        }
        for (text, part) in [
            ("uniform", "is not a distribution"),
            ("unifrom(1..10)", "did you mean `uniform`?"),
            ("uniform(1..10,3)", "uniform(min..max)"),
            ("uniform(10..1)", "1..10"),
            ("weibull(1..10,1)", "extreme("),
            ("extreme(1..10,x)", "not a number"),
            ("seq(1..1)", "fixed(1)"),
            ("fixed()", "is not a distribution"),
        ] {
            let error = distribution(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        assert_eq!(ratio_distribution("uniform(1..10)/10"), Ok(()));
        assert!(ratio_distribution("fixed(1)").is_err());
        assert!(ratio_distribution("fixed(1)/0").is_err());
    }
}
