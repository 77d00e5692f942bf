//! Functions that draw characters, bytes and numbers from sets.

use std::borrow::Cow;

use super::convert::byte_count;
use super::functions::{
    Argument, Count, Flavours, INT_MASK, Row, Transformation, cycle, made, row, weighted, weights,
};
use super::java_value::{Ty, Val};
use workload::virtdata::hash;

const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Number of characters of a character image that are generated from one seed.
const IMAGE_PART: usize = 1024;
/// Maximum size of a character image, in bytes. The image is kept in memory, and Cassandra does not
/// accept larger values.
const IMAGE_MAX: i64 = 256 << 20;
/// Maximum size of a drawn value, in bytes. Cassandra does not accept larger values.
const LENGTH_MAX: i64 = 256 << 20;

pub(super) const ROWS: &[Row] = &[
    row(&["CharBufImage"], |given| {
        let image = Image::parse(given)?;
        cycle(
            Ty::Chars,
            Transformation::with(image, |image, value| image.part(value.long())),
        )
    }),
    row(&["AlphaNumericString"], |given| match given {
        [length] => {
            let length = Count::given(length)?;
            made(Ty::Text, move |x| {
                let length = length.value(x).clamp(0, LENGTH_MAX) as usize;
                let text: String = characters(ALPHANUMERIC, x).take(length).collect();
                Val::Text(text.into())
            })
        }
        _ => None,
    }),
    row(&["Combinations"], |given| match given {
        [Argument::Text(spec)] => {
            let sets = combinations(spec)?;
            made(Ty::Text, move |x| Val::Text(combination(&sets, x).into()))
        }
        _ => None,
    }),
    row(&["ByteBufferSizedHashed"], |given| match given {
        [length] => bytes(Count::given(length)?),
        _ => None,
    }),
    row(&["HashedToByteBuffer"], |given| match given {
        [length] => bytes(Count::Fixed(byte_count(length)? as i64)),
        _ => None,
    }),
    row(&["WeightedLongs"], |given| match given {
        [Argument::Text(spec)] => {
            let pairs = spec.split(';').filter(|pair| !pair.is_empty());
            let values = weights(pairs, |value| value.parse::<i64>().ok())?;
            cycle(
                Ty::Long,
                Transformation::long(move |x| *weighted(&values, x)),
            )
        }
        _ => None,
    }),
];

/// Returns a function whose value consists of the bytes of hashes.
fn bytes(length: Count) -> Flavours {
    made(Ty::Bytes, move |x| {
        let length = length.value(x).clamp(0, LENGTH_MAX) as usize;
        let mut bytes = Vec::with_capacity(length + 8);
        for word in 0..=length as i64 / 8 {
            let hashed = hash(x.wrapping_add(word) as u64);
            bytes.extend_from_slice(&hashed.to_be_bytes());
        }
        bytes.truncate(length);
        Val::Bytes(bytes)
    })
}

/// Returns characters that are chosen by repeated hashes of `seed`.
fn characters(set: &[u8], seed: i64) -> impl Iterator<Item = char> {
    let mut hashed = seed;
    std::iter::repeat_with(move || {
        hashed = hash(hashed as u64) as i64;
        char::from(set[(hashed % set.len() as i64) as usize])
    })
}

/// Expands `a-f0-9_` to the characters that it describes, in that order. Supports only ASCII.
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

/// A text of drawn characters. The values of a function are parts of this text.
struct Image {
    text: String,
    size: Count,
}

impl Image {
    fn parse(given: &[Argument]) -> Option<Image> {
        let (set_spec, size, rest) = match given {
            [size] => ("a-zA-Z0-9 ", size, &[][..]),
            [Argument::Text(spec), size, rest @ ..] if rest.len() <= 2 => (&**spec, size, rest),
            _ => return None,
        };
        let bytes = size.int().filter(|size| (1..=IMAGE_MAX).contains(size))? as usize;
        let (sizes, seed) = match rest {
            [] => (size, 0),
            [sizes] => (sizes, 0),
            [sizes, seed, ..] => (sizes, seed.long()?),
        };
        let set = set(set_spec)?;
        let mut text = String::with_capacity(bytes + IMAGE_PART);
        for part in 0.. {
            if text.len() >= bytes {
                break;
            }
            text.extend(characters(&set, seed.wrapping_add(part)).take(IMAGE_PART));
        }
        text.truncate(bytes);
        let size = Count::given(sizes)?;
        Some(Image { text, size })
    }

    fn part(&self, input: i64) -> Val<'_> {
        let size = self.size.value(input).clamp(0, self.text.len() as i64);
        let free = self.text.len() as i64 - size + 1;
        let start = ((hash(input as u64) as i64 & INT_MASK) % free) as usize;
        Val::Text(Cow::Borrowed(&self.text[start..start + size as usize]))
    }
}

/// Parses `0-9;-;A-Z*2` to sets of characters. A combination has one character of each set, like a
/// number with one digit per set. Each set has the weight of its digit. `*2` repeats a set. The
/// last set changes fastest.
fn combinations(spec: &str) -> Option<Vec<(Vec<char>, i64)>> {
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
        weight = weight.checked_mul(characters.len() as i64).unwrap_or(i64::MAX);
    }
    (!sets.is_empty()).then_some(sets)
}

/// Returns one character of each set. The sets correspond to the digits of the number `input`.
fn combination(sets: &[(Vec<char>, i64)], input: i64) -> String {
    let mut rest = input;
    let one = |(set, weight): &(Vec<char>, i64)| {
        let digit = (rest / weight % INT_MASK).unsigned_abs() as usize;
        rest %= weight;
        set[digit % set.len()]
    };
    sets.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let sets = combinations("A-B;-;0-9").unwrap();
        for (input, expected) in [(0, "A-0"), (9, "A-9"), (10, "B-0"), (20, "A-0")] {
            assert_eq!(combination(&sets, input), expected);
        }
    }

    #[test]
    fn an_image_is_cut_at_the_hash_and_has_the_stated_sizes() {
        let given = [
            Argument::Text("a-z".to_owned()),
            Argument::Int(3000),
            Argument::Int(10),
        ];
        let image = Image::parse(&given).unwrap();
        assert_eq!((image.text.len(), image.size.value(5)), (3000, 10));
        // The second kilobyte of the image is generated from the next seed.
        let second: String = characters(b"abcdefghijklmnopqrstuvwxyz", 1).take(5).collect();
        assert_eq!(image.text[1024..1029], second);
        // The hash of 1 is 6292367497774912474. As an int, it is 488002522.
        let first = &image.text[488_002_522 % 2991..][..10];
        assert_eq!(image.part(1).text(), first);
    }
}
