//! Dates and times in Java's formats, all in UTC.

use std::fmt::Write;

use cql::value::{civil, days_since_1970};

pub(super) const MILLIS_PER_DAY: i64 = 86_400_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Formats a day: `2018-02-01`.
pub(super) fn day(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats an instant, in milliseconds since 1970: `2018-02-01T05:00:00Z`.
pub(super) fn instant(millis: i64) -> String {
    let (days, of_day) = split(millis);
    let (hour, minute, second) = clock(of_day);
    let mut out = format!("{}T{hour:02}:{minute:02}:{second:02}", day(days));
    if of_day % 1000 != 0 {
        // Writing into a String cannot fail.
        let _ = write!(out, ".{:03}", of_day % 1000);
    }
    out.push('Z');
    out
}

/// Formats a date, in milliseconds since 1970: `Thu Feb 01 05:00:00 UTC 2018`.
pub(super) fn date(millis: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let (days, of_day) = split(millis);
    let (hour, minute, second) = clock(of_day);
    let (year, month, day) = civil(days);
    let name = DAYS[days.rem_euclid(7) as usize];
    let month = MONTHS[(month - 1) as usize];
    format!("{name} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year:04}")
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Formats a time of day, in nanoseconds: `05:00`, `05:00:10` or `05:00:10.120`.
pub(super) fn time(nanos: i64) -> String {
    let (seconds, fraction) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
    let (hour, minute, second) = clock(seconds * 1000);
    let mut out = format!("{hour:02}:{minute:02}");
    if second > 0 || fraction > 0 {
        // Writing into a String cannot fail.
        let _ = write!(out, ":{second:02}");
    }
    let _ = match fraction {
        0 => Ok(()),
        _ if fraction % 1_000_000 == 0 => write!(out, ".{:03}", fraction / 1_000_000),
        _ if fraction % 1000 == 0 => write!(out, ".{:06}", fraction / 1000),
        _ => write!(out, ".{fraction:09}"),
    };
    out
}

/// Formats a time by a pattern such as `yyyy-MM-dd HH:mm:ss`. Returns `None` if the pattern
/// contains a letter, or a repetition of a letter, that the function does not support.
pub(super) fn by_pattern(pattern: &str, millis: i64) -> Option<String> {
    let (days, of_day) = split(millis);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = clock(of_day);
    let mut out = String::new();
    let characters: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let letter = characters[at];
        let count = characters[at..].iter().take_while(|c| **c == letter).count();
        at += count;
        if letter == '\'' {
            let text = characters[at..].iter().take_while(|c| **c != '\'');
            let before = out.len();
            out.extend(text);
            at += out[before..].chars().count() + 1;
            continue;
        }
        if !letter.is_ascii_alphabetic() {
            out.extend(std::iter::repeat_n(letter, count));
            continue;
        }
        let number = match letter {
            'y' | 'Y' if count == 2 => year % 100,
            'y' | 'Y' => year,
            'M' if count < 3 => month,
            'd' => day,
            'H' => hour,
            'm' => minute,
            's' => second,
            'S' => of_day % 1000 * 10i64.pow(count.min(9) as u32) / 1000,
            'M' if count == 3 => {
                out.push_str(MONTHS[(month - 1) as usize]);
                continue;
            }
            'Z' if count == 1 => {
                out.push_str("+0000");
                continue;
            }
            'z' => {
                out.push_str("UTC");
                continue;
            }
            _ => return None,
        };
        // Writing into a String cannot fail.
        let _ = write!(out, "{number:0count$}");
    }
    Some(out)
}

/// Parses a date, or a date and a time, in UTC. Returns the number of milliseconds since 1970.
pub(super) fn millis(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let digits = date.replace('-', "");
    let plain = digits.len() == 8 && matches!(date.len(), 8 | 10);
    if !(plain || matches!(date.len(), 4 | 6)) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| digits.get(from..to).map_or(Some(1), |d| d.parse().ok());
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let mut millis = days_since_1970(year, month, day)?.checked_mul(MILLIS_PER_DAY)?;
    if !time.is_empty() {
        let limits = [24, 60, 60];
        let mut parts = time.split(':');
        let mut seconds = 0;
        for limit in limits {
            let number: i64 = parts.next()?.parse().ok()?;
            if !(0..limit).contains(&number) {
                return None;
            }
            seconds = seconds * 60 + number;
        }
        parts.next().is_none().then_some(())?;
        millis += seconds * 1000;
    }
    Some(millis)
}

fn split(millis: i64) -> (i64, i64) {
    let days = millis.div_euclid(MILLIS_PER_DAY);
    (days, millis.rem_euclid(MILLIS_PER_DAY))
}

fn clock(of_day: i64) -> (i64, i64, i64) {
    let seconds = of_day / 1000;
    (seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (17_563, "2018-02-01"),
            (-719_162, "0001-01-01"),
        ] {
            assert_eq!(day(days), expected);
        }
    }

    #[test]
    fn patterns_are_filled_in() {
        let millis = 1_517_461_207_120;
        for (pattern, expected) in [
            ("yyyy-MM-dd", Some("2018-02-01")),
            ("MM/dd/yyyy HH:mm:ss", Some("02/01/2018 05:00:07")),
            ("yyMMdd'T'HHmmss.SSS", Some("180201T050007.120")),
            ("dd MMM yyyy z Z", Some("01 Feb 2018 UTC +0000")),
            ("EEEE", None),
        ] {
            assert_eq!(
                by_pattern(pattern, millis).as_deref(),
                expected,
                "{pattern}"
            );
        }
    }

    #[test]
    fn dates_become_milliseconds() {
        for (text, expected) in [
            ("1970-01-01 00:00:00", Some(0)),
            ("1970", Some(0)),
            ("2017-01-01 23:59:59", Some(1_483_315_199_000)),
            ("2018-02-01 05:00:00", Some(1_517_461_200_000)),
            ("20000301", Some(951_868_800_000)),
            ("200003", Some(951_868_800_000)),
            ("2000-02-30", None),
            ("2001-02-29", None),
            ("2018-02-01 25:00:00", None),
            ("2018-02-01 05:00", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }
}
