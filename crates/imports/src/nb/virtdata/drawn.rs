//! Functions that draw characters, bytes and numbers from sets, and such as depend on dates.

use std::borrow::Cow;
use std::sync::Arc;

use super::functions::{Count, Found, Given, INT_MASK, Step, flavour};
use super::recipe::{Call, Fault};
use super::resolve::Env;
use super::value::{Ty, Val};
use workload::virtdata::hash;

/// Characters of `AlphaNumericString`.
const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Characters that an image is made of at a time.
const IMAGE_PART: usize = 1024;
/// An image is held in memory; Cassandra takes no larger value.
const IMAGE_MAX: i64 = 256 << 20;
/// A drawn value of more bytes than this would be taken by no Cassandra.
const LENGTH_MAX: i64 = 256 << 20;
const MILLIS_PER_DAY: i64 = 86_400_000;
/// Days from the start of the Gregorian calendar to 1970.
const GREGORIAN_DAYS: i64 = 141_427;

/// What is drawn by hashes of the input.
#[derive(Clone, Debug)]
pub(crate) enum Drawn {
    /// A part of a text of drawn characters.
    Image { image: Arc<str>, size: Box<Count> },
    /// Letters and digits.
    Alphanumeric(Box<Count>),
    /// A character of each set, the sets being the digits of a number; with the weight of each.
    Combination(Arc<[(Vec<char>, i64)]>),
    /// Bytes of hashes.
    Bytes(Box<Count>),
    /// One of some numbers, with cumulative weights up to 1.
    Weighted(Arc<[(f64, i64)]>),
}

impl Drawn {
    pub(crate) fn value(&self, input: i64) -> Val<'_> {
        match self {
            Drawn::Image { image, size } => {
                let size = size.of(input).clamp(0, image.len() as i64);
                let free = image.len() as i64 - size + 1;
                let start = ((hash(input as u64) as i64 & INT_MASK) % free) as usize;
                Val::Text(Cow::Borrowed(&image[start..start + size as usize]))
            }
            Drawn::Alphanumeric(length) => {
                let characters = characters(ALPHANUMERIC, input);
                let length = length.of(input).clamp(0, LENGTH_MAX) as usize;
                Val::Text(Cow::Owned(characters.take(length).collect()))
            }
            Drawn::Combination(sets) => {
                let mut rest = input;
                let one = |(set, weight): &(Vec<char>, i64)| {
                    let digit = (rest / weight % INT_MASK).unsigned_abs() as usize;
                    rest %= weight;
                    set[digit % set.len()]
                };
                Val::Text(Cow::Owned(sets.iter().map(one).collect()))
            }
            Drawn::Bytes(length) => {
                let length = length.of(input).clamp(0, LENGTH_MAX) as usize;
                let mut bytes = Vec::with_capacity(length + 8);
                for word in 0..=length as i64 / 8 {
                    let hashed = hash(input.wrapping_add(word) as u64);
                    bytes.extend_from_slice(&hashed.to_be_bytes());
                }
                bytes.truncate(length);
                Val::Bytes(bytes)
            }
            Drawn::Weighted(values) => {
                let unit = hash(input as u64) as f64 / 9_223_372_036_854_775_808.0;
                let at = values.partition_point(|(cumulative, _)| unit >= *cumulative);
                Val::Long(values[at.min(values.len() - 1)].1)
            }
        }
    }
}

/// Characters chosen by hashes of hashes of `seed`.
fn characters(set: &[u8], seed: i64) -> impl Iterator<Item = char> {
    let mut hashed = seed;
    std::iter::repeat_with(move || {
        hashed = hash(hashed as u64) as i64;
        char::from(set[(hashed % set.len() as i64) as usize])
    })
}

/// `a-f0-9_` → its characters, in that order. ASCII only.
fn set(spec: &str) -> Option<Vec<u8>> {
    let bytes = spec.as_bytes();
    let (mut characters, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match bytes[at..] {
            [first, b'-', last, ..] if first <= last => {
                characters.extend(first..=last);
                at += 3;
            }
            [_, b'-', _, ..] => return None,
            _ => {
                characters.push(bytes[at]);
                at += 1;
            }
        }
    }
    (spec.is_ascii() && !characters.is_empty()).then_some(characters)
}

/// The flavours of a call that fit its arguments; None: it is none of these functions.
pub(crate) fn variants(call: &Call, given: &[Given], _: &mut Env) -> Result<Found, Fault> {
    let long = |ty, step| Ok(Some(vec![flavour(Ty::Long, ty, step)]));
    let drawn = |ty, drawn: Option<Drawn>| {
        Ok(drawn.map(|drawn| vec![flavour(Ty::Long, ty, Step::Drawn(drawn))]))
    };
    match (call.name.as_str(), given) {
        ("CharBufImage", _) => drawn(Ty::Chars, image(given)),
        ("AlphaNumericString", [length]) => {
            drawn(Ty::Text, Count::given(length).map(Drawn::Alphanumeric))
        }
        ("Combinations", [Given::Text(spec)]) => drawn(Ty::Text, combinations(spec)),
        ("ByteBufferSizedHashed", [length]) => {
            drawn(Ty::Bytes, Count::given(length).map(Drawn::Bytes))
        }
        ("WeightedLongs", [Given::Text(spec)]) => drawn(Ty::Long, weighted(spec)),
        ("LongToLocalDateDays", []) => long(Ty::Day, Step::Day),
        ("StartingEpochMillis", [Given::Text(date)]) => {
            let start = millis(date).ok_or_else(|| no_date(date, call))?;
            let add = |x: i64, [start, room]: [i64; 2]| start.wrapping_add(x % room);
            long(Ty::Long, Step::Long(add, [start, i64::MAX - start]))
        }
        ("ToFinestTimeUUID", _) => finest(call, given),
        ("FixedValues", [_, ..]) => Ok(fixed(given)),
        ("HashRangeScaled", [] | [_]) => Ok(scaled(given)),
        ("Clamp", [min, max]) => Ok(clamp(min, max)),
        _ => Ok(None),
    }
}

fn image(given: &[Given]) -> Option<Drawn> {
    let (set_spec, size, rest) = match given {
        [size] => ("a-zA-Z0-9 ", size, &[][..]),
        [Given::Text(spec), size, rest @ ..] if rest.len() <= 2 => (&**spec, size, rest),
        _ => return None,
    };
    let bytes = size.int().filter(|size| (1..=IMAGE_MAX).contains(size))? as usize;
    let (sizes, seed) = match rest {
        [] => (size, 0),
        [sizes] => (sizes, 0),
        [sizes, seed, ..] => (sizes, seed.long()?),
    };
    let set = set(set_spec)?;
    let mut image = String::with_capacity(bytes + IMAGE_PART);
    for part in 0.. {
        if image.len() >= bytes {
            break;
        }
        image.extend(characters(&set, seed.wrapping_add(part)).take(IMAGE_PART));
    }
    image.truncate(bytes);
    Some(Drawn::Image {
        image: image.into(),
        size: Count::given(sizes)?,
    })
}

/// `0-9;-;A-Z*2` → sets of characters; the last one changes fastest.
fn combinations(spec: &str) -> Option<Drawn> {
    let mut sets = Vec::new();
    for part in spec.split([',', ';']).filter(|part| !part.is_empty()) {
        let repeated = part.rsplit_once('*').and_then(|(part, times)| {
            let times = times.parse::<usize>().ok()?;
            (times <= 100).then_some((part, times))
        });
        let (part, times) = repeated.unwrap_or((part, 1));
        let characters: Vec<char> = set(part)?.into_iter().map(char::from).collect();
        sets.extend(std::iter::repeat_n((characters, 0), times));
    }
    let mut weight = 1i64;
    for (characters, its) in sets.iter_mut().rev() {
        *its = weight;
        weight = weight
            .checked_mul(characters.len() as i64)
            .unwrap_or(i64::MAX);
    }
    (!sets.is_empty()).then(|| Drawn::Combination(sets.into()))
}

fn weighted(spec: &str) -> Option<Drawn> {
    let mut pairs = Vec::new();
    for pair in spec.split(';').filter(|pair| !pair.is_empty()) {
        let (value, weight) = pair.split_once(':').unwrap_or((pair, "1"));
        let weight: f64 = weight.trim().parse().ok()?;
        pairs.push((weight, value.trim().parse::<i64>().ok()?));
    }
    let total: f64 = pairs.iter().map(|(weight, _)| weight).sum();
    let mut sum = 0.0;
    for (weight, _) in &mut pairs {
        sum += *weight / total;
        *weight = sum;
    }
    (total > 0.0 && total.is_finite()).then(|| Drawn::Weighted(pairs.into()))
}

fn fixed(given: &[Given]) -> Found {
    let value = |given: &Given| {
        Some(match given {
            Given::Int(v) => (Ty::Int, Val::Int(*v)),
            Given::Long(v) => (Ty::Long, Val::Long(*v)),
            Given::Float(v) => (Ty::Float, Val::Float(*v)),
            Given::Double(v) => (Ty::Double, Val::Double(*v)),
            Given::Text(v) => (Ty::Text, Val::Text(Cow::Owned(v.clone()))),
            Given::Bool(_) | Given::Function(_) => return None,
        })
    };
    let values: Vec<(Ty, Val)> = given.iter().map(value).collect::<Option<_>>()?;
    let ty = values[0].0;
    let same = values.iter().all(|(other, _)| *other == ty);
    let values: Vec<Val> = values.into_iter().map(|(_, value)| value).collect();
    same.then(|| vec![flavour(Ty::Long, ty, Step::FixedOf(values.into()))])
}

fn scaled(given: &[Given]) -> Found {
    let factor = match given.first() {
        None => 1.0,
        Some(factor) => factor.double()?,
    };
    let step = |is_int| Step::Scaled { factor, is_int };
    Some(vec![
        flavour(Ty::Long, Ty::Long, step(false)),
        flavour(Ty::Long, Ty::Int, step(true)),
    ])
}

fn clamp(min: &Given, max: &Given) -> Found {
    let limits = |x: i64, [min, max]: [i64; 2]| x.max(min).min(max);
    let mut found = Vec::new();
    if let (Some(min), Some(max)) = (min.long(), max.long()) {
        found.push(flavour(Ty::Long, Ty::Long, Step::Long(limits, [min, max])));
    }
    if let (Some(min), Some(max)) = (min.int(), max.int()) {
        found.push(flavour(Ty::Int, Ty::Int, Step::Int(limits, [min, max])));
    }
    let step = Step::Clamp(min.double()?, max.double()?);
    found.push(flavour(Ty::Double, Ty::Double, step));
    Some(found)
}

fn finest(call: &Call, given: &[Given]) -> Result<Found, Fault> {
    let (base, rest) = match given {
        [Given::Text(date), rest @ ..] => {
            let millis = millis(date).ok_or_else(|| no_date(date, call))?;
            let since = millis.wrapping_add(GREGORIAN_DAYS * MILLIS_PER_DAY);
            (since.wrapping_mul(10_000), rest)
        }
        rest => (0, rest),
    };
    let (node, clock) = match rest {
        [] => (Some(0), Some(0)),
        [node] => (node.long(), Some(0)),
        [node, clock] => (node.long(), clock.long()),
        _ => (None, None),
    };
    let (Some(node), Some(clock)) = (node, clock) else {
        return Ok(None);
    };
    let step = Step::Ticks { base, node, clock };
    Ok(Some(vec![flavour(Ty::Long, Ty::Uuid, step)]))
}

fn no_date(date: &str, call: &Call) -> Fault {
    let message = format!(
        "`{date}` is no time of {}; write `2018-02-01 05:00:00`, which is UTC",
        call.name
    );
    Fault::new(message, call.at)
}

/// Milliseconds since 1970 of a date, or of a date and a time, in UTC.
fn millis(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let digits = date.replace('-', "");
    let plain = digits.len() == 8 && matches!(date.len(), 8 | 10);
    if !(plain || matches!(date.len(), 4 | 6)) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| digits.get(from..to).map_or(Some(1), |d| d.parse().ok());
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let mut millis = days(year, month, day)?.checked_mul(MILLIS_PER_DAY)?;
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

/// Days from 1970 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = usize::try_from(month - 1)
        .ok()
        .filter(|index| *index < 12)?;
    if !(1..=months[index]).contains(&day) {
        return None;
    }
    // Leap days of the years before this one, from year 1 on; 719 162 days lie before 1970.
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400;
    Some(years + months[..index].iter().sum::<i64>() + day - 1 - 719_162)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(days(1582, 10, 15), Some(-GREGORIAN_DAYS));
    }

    #[test]
    fn sets_are_ranges_and_characters() {
        for (spec, expected) in [
            ("a-c0-2_", Some("abc012_")),
            ("-", Some("-")),
            ("a-", Some("a-")),
            ("c-a", None),
            ("", None),
            ("é", None),
        ] {
            let found = set(spec).map(|set| String::from_utf8(set).unwrap());
            assert_eq!(found.as_deref(), expected, "{spec}");
        }
    }

    #[test]
    fn the_last_set_of_a_combination_changes_fastest() {
        let drawn = combinations("A-B;-;0-9").unwrap();
        for (input, expected) in [(0, "A-0"), (9, "A-9"), (10, "B-0"), (20, "A-0")] {
            assert_eq!(drawn.value(input).text(), expected);
        }
    }

    #[test]
    fn an_image_is_cut_at_the_hash_and_has_the_stated_sizes() {
        let given = [
            Given::Text("a-z".to_owned()),
            Given::Int(3000),
            Given::Int(10),
        ];
        let Some(Drawn::Image { image, size }) = image(&given) else {
            panic!("an image");
        };
        assert_eq!((image.len(), size.of(5)), (3000, 10));
        // The second kilobyte is that of the next seed.
        let second: String = characters(b"abcdefghijklmnopqrstuvwxyz", 1)
            .take(5)
            .collect();
        assert_eq!(&image[1024..1029], second);
        // The hash of 1 is 6292367497774912474, the int of it 488002522.
        let first = image[488_002_522 % 2991..][..10].to_owned();
        let drawn = Drawn::Image { image, size };
        assert_eq!(drawn.value(1).text(), first);
    }
}
