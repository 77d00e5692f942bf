//! Lists, sets and maps. Also contains the function that writes a number in words, because
//! collections often contain such words.

use std::borrow::Cow;
use std::sync::Arc;

use super::chain::Recipe;
use super::functions::{Argument, Count, Flavours, Row, Transformation, cycle, made, row};
use super::java_value::{Ty, Val};
use workload::virtdata::hash;

/// Maximum number of elements of a collection. Cassandra does not accept more elements.
const ELEMENTS_MAX: i64 = 65_535;

pub(super) const ROWS: &[Row] = &[
    row(&["ListSized"], |given| sized(Ty::List, Seed::Same, given)),
    row(&["ListSizedHashed"], |given| {
        sized(Ty::List, Seed::Hashed, given)
    }),
    row(&["ListSizedStepped"], |given| {
        sized(Ty::List, Seed::Stepped, given)
    }),
    row(&["ListStepped"], |given| {
        each(Ty::List, Seed::Stepped, given)
    }),
    row(&["ListHashed"], |given| each(Ty::List, Seed::Hashed, given)),
    row(&["List"], |given| old(Ty::List, given, false)),
    row(&["StringList"], |given| old(Ty::List, given, true)),
    row(&["SetSized"], |given| sized(Ty::Set, Seed::Same, given)),
    row(&["SetSizedHashed"], |given| {
        sized(Ty::Set, Seed::Hashed, given)
    }),
    row(&["SetSizedStepped"], |given| {
        sized(Ty::Set, Seed::Stepped, given)
    }),
    row(&["SetStepped"], |given| each(Ty::Set, Seed::Stepped, given)),
    row(&["SetHashed"], |given| each(Ty::Set, Seed::Hashed, given)),
    row(&["Set"], |given| old(Ty::Set, given, false)),
    row(&["StringSet"], |given| old(Ty::Set, given, true)),
    row(&["MapSized"], |given| sized(Ty::Map, Seed::Same, given)),
    row(&["MapSizedHashed"], |given| {
        sized(Ty::Map, Seed::Hashed, given)
    }),
    row(&["MapSizedStepped"], |given| {
        sized(Ty::Map, Seed::Stepped, given)
    }),
    row(&["MapStepped"], |given| each(Ty::Map, Seed::Stepped, given)),
    row(&["MapHashed"], |given| each(Ty::Map, Seed::Hashed, given)),
    row(&["Map"], |given| old_map(given, false)),
    row(&["StringMap"], |given| old_map(given, true)),
    row(&["NumberNameToString"], |given| {
        given.is_empty().then(|| made(Ty::Text, number_name))?
    }),
];

struct Collection {
    kind: Ty,
    seed: Seed,
    /// Number of elements. `None` if each function generates one element.
    size: Option<Count>,
    /// Functions that generate the elements, or the keys of a map.
    first: Arc<[Recipe]>,
    second: Arc<[Recipe]>,
    /// True if the elements are converted to text.
    texts: bool,
}

/// Choice of the input for the function that generates an element.
#[derive(Clone, Copy)]
pub(super) enum Seed {
    /// The input of the collection itself.
    Same,
    /// The input of the collection plus the index of the element.
    Stepped,
    /// A chain of hashes. The first input is the hash of the collection's input. Each further input
    /// is the hash of the previous input.
    Hashed,
}

impl Collection {
    fn value(&self, input: i64) -> Val<'_> {
        let size = match &self.size {
            Some(size) => size.value(input).clamp(0, ELEMENTS_MAX) as usize,
            None => self.first.len(),
        };
        let mut hashed = input;
        let seeds = (0..size).map(|index| match self.seed {
            Seed::Same => input,
            Seed::Stepped => input.wrapping_add(index as i64),
            Seed::Hashed => {
                hashed = hash(hashed as u64) as i64;
                hashed
            }
        });
        match self.kind {
            Ty::Map => Val::Map(self.pairs(seeds)),
            Ty::Set => {
                let mut set: Vec<Val> = Vec::with_capacity(size);
                for (index, seed) in seeds.enumerate() {
                    let value = self.one(&self.first, index, seed);
                    if !set.iter().any(|known| known.is_same(&value)) {
                        set.push(value);
                    }
                }
                Val::Set(set)
            }
            _ => {
                let items =
                    seeds.enumerate().map(|(index, seed)| self.one(&self.first, index, seed));
                Val::List(items.collect())
            }
        }
    }

    fn pairs(&self, seeds: impl Iterator<Item = i64>) -> Vec<(Val<'_>, Val<'_>)> {
        let mut pairs: Vec<(Val, Val)> = Vec::new();
        for (index, seed) in seeds.enumerate() {
            let key = self.one(&self.first, index, seed);
            let value = self.one(&self.second, index, seed);
            match pairs.iter_mut().find(|(known, _)| known.is_same(&key)) {
                Some((_, known)) => *known = value,
                None => pairs.push((key, value)),
            }
        }
        pairs
    }

    /// Returns one element. If the collection has more elements than functions, the last function
    /// generates the remaining elements.
    fn one<'a>(&'a self, functions: &'a [Recipe], index: usize, seed: i64) -> Val<'a> {
        let value = functions[index.min(functions.len() - 1)].value(seed);
        match (self.texts, value) {
            (false, value) | (true, value @ (Val::Text(_) | Val::Digits(_))) => value,
            (true, Val::Long(v)) => Val::Digits(v),
            (true, value) => Val::Text(value.text()),
        }
    }
}

/// Returns a collection whose arguments are its size and the functions of its elements.
pub(super) fn sized(kind: Ty, seed: Seed, given: &[Argument]) -> Flavours {
    let (size, functions) = given.split_first()?;
    collection(kind, seed, Some(Count::given(size)?), functions, false)
}

/// Returns a collection with a function for each element.
fn each(kind: Ty, seed: Seed, given: &[Argument]) -> Flavours {
    collection(kind, seed, None, given, false)
}

/// Returns a collection of an older NoSQLBench version. Its arguments are a size and one function,
/// whose values are converted to text if `texts` is true.
fn old(kind: Ty, given: &[Argument], texts: bool) -> Flavours {
    match given {
        [size, _] => {
            let size = Count::given(size)?;
            collection(kind, Seed::Stepped, Some(size), &given[1..], texts)
        }
        _ => None,
    }
}

/// Returns a map of an older NoSQLBench version. If the number of arguments is odd, the first
/// argument is the size.
fn old_map(given: &[Argument], texts: bool) -> Flavours {
    match given {
        [size, functions @ ..] if given.len() % 2 == 1 => {
            let size = Count::given(size)?;
            collection(Ty::Map, Seed::Stepped, Some(size), functions, texts)
        }
        _ => collection(Ty::Map, Seed::Stepped, None, given, texts),
    }
}

fn collection(
    kind: Ty,
    seed: Seed,
    size: Option<Count>,
    functions: &[Argument],
    texts: bool,
) -> Flavours {
    let functions = Argument::functions(functions).filter(|functions| !functions.is_empty())?;
    let of = |remainder: usize| {
        let every = functions.iter().skip(remainder).step_by(2);
        every.cloned().collect::<Arc<[Recipe]>>()
    };
    let (first, second) = match kind {
        Ty::Map if functions.len() % 2 == 1 => return None,
        Ty::Map => (of(0), of(1)),
        _ => (functions, Arc::from([])),
    };
    let collection = Collection {
        kind,
        seed,
        size,
        first,
        second,
        texts,
    };
    let step = Transformation::with(collection, |collection, value| {
        collection.value(value.long())
    });
    cycle(kind, step)
}

/// Returns a number in English words, as NoSQLBench writes it.
fn number_name(input: i64) -> Val<'static> {
    /// The words of a number below this limit form one group.
    const BILLION: u64 = 1_000_000_000;
    let value = input.unsigned_abs();
    let small = |value: u64| below_billion(value as u32);
    if value == 0 {
        return Val::Text(Cow::Borrowed("zero"));
    }
    let sign = if input < 0 { "negative" } else { "" };
    if value < BILLION {
        let space = if sign.is_empty() { "" } else { " " };
        return Val::Text(Cow::Owned(format!("{sign}{space}{}", small(value))));
    }
    let mut out = sign.to_owned();
    let mut higher = value / BILLION;
    if higher >= BILLION {
        out += &small(higher / BILLION);
        out += " quintillion";
        higher %= BILLION;
    }
    if !out.is_empty() {
        out.push(' ');
    }
    let words = small(higher).replace("thousand", "trillion");
    out += &words.replace("million", "quadrillion");
    out += " billion";
    let rest = small(value % BILLION);
    if !rest.is_empty() {
        out.push(' ');
        out += &rest;
    }
    Val::Text(Cow::Owned(out))
}

fn below_billion(value: u32) -> String {
    let (millions, thousands, rest) = (value / 1_000_000, value / 1000 % 1000, value % 1000);
    let mut words: Vec<String> = Vec::new();
    for (part, unit) in [(millions, "million"), (thousands, "thousand")] {
        if part > 0 {
            words.push(below_thousand(part));
            words.push(unit.to_owned());
        }
    }
    if value >= 1000 && (1..100).contains(&rest) {
        words.push("and".to_owned());
    }
    if rest > 0 {
        words.push(below_thousand(rest));
    }
    words.join(" ")
}

fn below_thousand(value: u32) -> String {
    const SMALL: [&str; 20] = [
        "",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 10] = [
        "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let (hundreds, rest) = ((value / 100) as usize, (value % 100) as usize);
    let mut words = Vec::new();
    if hundreds > 0 {
        words.extend([SMALL[hundreds], "hundred"]);
        if rest > 0 {
            words.push("and");
        }
    }
    if rest < 20 {
        words.push(SMALL[rest]);
    } else {
        words.extend([TENS[rest / 10], SMALL[rest % 10]]);
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_nosqlbench_s_names() {
        for (number, name) in [
            (0, "zero"),
            (3, "three"),
            (56, "fifty six"),
            (100, "one hundred"),
            (387, "three hundred and eighty seven"),
            (7019, "seven thousand and nineteen"),
            (7210, "seven thousand two hundred and ten"),
            (1_000_000, "one million"),
            (5_000_002, "five million and two"),
            (8_005_006, "eight million five thousand and six"),
            (-12, "negative twelve"),
            (1_000_000_000, "one billion"),
            (-1_000_000_000, "negative one billion"),
            (10_000_000_000, "ten billion"),
            (
                2_147_483_647,
                "two billion one hundred and forty seven million four hundred and eighty three \
                 thousand six hundred and forty seven",
            ),
            (
                i64::MAX,
                "nine quintillion two hundred and twenty three quadrillion three hundred and \
                 seventy two trillion and thirty six billion eight hundred and fifty four million \
                 seven hundred and seventy five thousand eight hundred and seven",
            ),
        ] {
            assert_eq!(number_name(number).text(), name, "{number}");
        }
    }
}
