//! Functions that make a number, or a text, something else.
//!
//! Long because it is one table.

use std::borrow::Cow;
use std::sync::Arc;

use super::dates;
use super::functions::{Count, Found, Given, INT_MASK, Step, Variant, flavour};
use super::recipe::{Call, Fault};
use super::resolve::{Env, Recipe};
use super::state;
use super::value::{Ty, Val};
use workload::virtdata::hash;

const NANOS_PER_DAY: i64 = 86_400_000_000_000;
const MILLIS_PER_DAY: i64 = 86_400_000;
/// Nanoseconds of time that a cycle stands for where NoSQLBench reads a clock.
const NANOS_PER_CYCLE: i64 = 1_000_000;
/// 2020-01-01, where the clock of cycle 0 stands.
const CLOCK_START_MILLIS: i64 = 1_577_836_800_000;
/// A longer value would be taken by no Cassandra.
const BYTES_MAX: i64 = 256 << 20;

/// Makes a value of a number and two arguments.
type Make = fn(i64, [i64; 2]) -> Val<'static>;

/// The flavours of a call that fit its arguments; None: it is none of these functions.
pub(super) fn variants(call: &Call, given: &[Given], env: &mut Env) -> Result<Found, Fault> {
    let name = call.name.as_str();
    if let Some(found) = numbers(name, given)
        .or_else(|| ranges(name, given))
        .or_else(|| times(name, given))
        .or_else(|| texts(name, given))
        .or_else(|| bytes(name, given))
    {
        return Ok(Some(found));
    }
    let noted = clocks(name, given, env);
    if let Some(found) = noted.or_else(|| super::places::variants(name, given, env)) {
        return Ok(Some(found));
    }
    match (name, given) {
        ("StringDateWrapper", [Given::Text(pattern)]) => {
            if dates::by_pattern(pattern, 0).is_none() {
                let message = format!("`{pattern}` has a letter that is not known here");
                return Err(Fault::new(message, call.at));
            }
            let step = Step::DatePattern(pattern.as_str().into());
            Ok(Some(vec![flavour(Ty::Long, Ty::Text, step)]))
        }
        ("Flow", [Given::Function(_), ..]) => Ok(flow(given)),
        _ => Ok(None),
    }
}

fn made(input: Ty, output: Ty, make: Make, args: [i64; 2]) -> Variant {
    flavour(input, output, Step::Made(make, args))
}

/// Numbers of other types.
fn numbers(name: &str, given: &[Given]) -> Found {
    let long = |ty, make, args| Some(vec![made(Ty::Long, ty, make, args)]);
    let scale = |usual: i64| match given {
        [] => Some([usual, 0]),
        [scale] => scale.int().filter(|scale| *scale != 0).map(|s| [s, 0]),
        _ => None,
    };
    // From each of these the number itself is taken first.
    let numeric = |ty, make: Make, args| {
        let inputs = [
            Ty::Long,
            Ty::Int,
            Ty::Double,
            Ty::Float,
            Ty::Short,
            Ty::Text,
        ];
        Some(inputs.map(|input| made(input, ty, make, args)).to_vec())
    };
    match (name, given) {
        ("ToShort", _) => numeric(
            Ty::Short,
            |x, [scale, _]| Val::Short((x % scale) as i16),
            scale(i64::from(i16::MAX))?,
        ),
        ("ToByte", _) => numeric(
            Ty::Byte,
            |x, [scale, _]| Val::Byte((x % scale) as i8),
            scale(i64::from(i8::MAX))?,
        ),
        ("LongToShort" | "ModuloToShort", []) => {
            long(Ty::Short, |x, _| Val::Short((x & 0x7FFF) as i16), [0, 0])
        }
        ("LongToByte" | "ModuloToByte", []) => {
            long(Ty::Byte, |x, _| Val::Byte((x & 0x7F) as i8), [0, 0])
        }
        ("ToBoolean", []) => numeric(Ty::Bool, |x, _| Val::Bool(x & 1 == 1), [0, 0]),
        ("ModuloToBoolean", []) => long(Ty::Bool, |x, _| Val::Bool(x % 2 == 0), [0, 0]),
        ("ToInt", [Given::Int(scale)]) if *scale != 0 => {
            let args = [i64::from(*scale), 0];
            let make: Make = |x, [scale, _]| Val::Int((x % scale) as i32);
            let inputs = [Ty::Long, Ty::Double];
            Some(
                inputs
                    .map(|input| made(input, Ty::Int, make, args))
                    .to_vec(),
            )
        }
        _ => objects(name, given),
    }
}

/// Numbers of any size, identifiers and addresses.
fn objects(name: &str, given: &[Given]) -> Found {
    let long = |ty, make, args| Some(vec![made(Ty::Long, ty, make, args)]);
    match (name, given) {
        ("ToBigInt", []) => long(Ty::BigInt, |x, _| Val::BigInt(x), [0, 0]),
        ("ToBigDecimal", [] | [Given::Int(_)]) => {
            let scale = given.first().and_then(Given::int).unwrap_or(0);
            let make: Make = |unscaled, [scale, _]| Val::Decimal {
                unscaled,
                scale: scale as i32,
            };
            let mut found = vec![made(Ty::Long, Ty::Decimal, make, [scale, 0])];
            if given.is_empty() {
                found.push(made(Ty::Int, Ty::Decimal, make, [0, 0]));
            }
            Some(found)
        }
        ("ToUUID", [] | [Given::Long(_) | Given::Int(_)]) => {
            /// What NoSQLBench has in the upper half when nothing is said.
            const UPPER: i64 = 0x0123_4567_89AB_CDEF;
            let upper = given.first().and_then(Given::long).unwrap_or(UPPER);
            let upper = (upper & !0xF000) | 0x4000;
            let uuid: Make = |x, [upper, _]| {
                let lower = (x as u64 & 0x1FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000;
                Val::Uuid((u128::from(upper as u64) << 64 | u128::from(lower)).to_be_bytes())
            };
            let mut found = vec![made(Ty::Long, Ty::Uuid, uuid, [upper, 0])];
            if given.is_empty() {
                found.push(flavour(Ty::Text, Ty::Uuid, Step::ParseUuid));
            }
            Some(found)
        }
        ("ToInetAddress", []) => long(
            Ty::Inet,
            |x, _| Val::Inet((x as i32 % i32::MAX).to_be_bytes()),
            [0, 0],
        ),
        ("Discard", []) => {
            let text = Val::Text(Cow::Borrowed("discard"));
            let step = Step::Fixed(Box::new(text));
            Some(vec![flavour(Ty::Long, Ty::Object, step)])
        }
        _ => None,
    }
}

/// Whole numbers of whole numbers.
fn ranges(name: &str, given: &[Given]) -> Found {
    let args: Vec<i64> = given.iter().map(Given::long).collect::<Option<_>>()?;
    let ints = given.iter().all(|given| given.int().is_some());
    let both = |long: fn(i64, [i64; 2]) -> i64, masked: fn(i64, [i64; 2]) -> i64, args| {
        let mut found = vec![flavour(Ty::Long, Ty::Long, Step::Long(long, args))];
        if ints {
            found.push(flavour(Ty::Long, Ty::Int, Step::Int(masked, args)));
            found.push(flavour(Ty::Int, Ty::Int, Step::Int(long, args)));
        }
        Some(found)
    };
    let width = || match *args {
        [to] if to > 0 => Some([0, to]),
        [from, to] if to > from => Some([from, to.checked_sub(from)?]),
        _ => None,
    };
    let one = || (args.len() == 1).then(|| [args[0], 0]);
    let divisor = || one().filter(|args| args[0] != 0);
    let plain = |ty, step| Some(vec![flavour(Ty::Long, ty, step)]);
    match name {
        "CycleRange" => both(
            |x, [from, width]| from.wrapping_add(x % width),
            |x, [from, width]| from.wrapping_add(x % width) & INT_MASK,
            width()?,
        ),
        "AddCycleRange" => both(
            |x, [from, width]| x.wrapping_add(from.wrapping_add(x % width)),
            |x, [from, width]| x.wrapping_add(from.wrapping_add(x % width)) & INT_MASK,
            width()?,
        ),
        "Max" | "Min" => {
            let keep: fn(i64, [i64; 2]) -> i64 = match name {
                "Max" => |x, [limit, _]| x.max(limit),
                _ => |x, [limit, _]| x.min(limit),
            };
            let args = one()?;
            let mut found = vec![flavour(Ty::Long, Ty::Long, Step::Long(keep, args))];
            if ints {
                found.push(flavour(Ty::Int, Ty::Int, Step::Int(keep, args)));
            }
            Some(found)
        }
        "ModuloToLong" => {
            let step = Step::Long(|x, [m, _]| (x % m) & i64::MAX, divisor()?);
            plain(Ty::Long, step)
        }
        "ModuloToInteger" => {
            let step = Step::Int(|x, [m, _]| (x % m) & INT_MASK, divisor()?);
            plain(Ty::Int, step)
        }
        "DivideToLong" => plain(
            Ty::Long,
            Step::Long(|x, [d, _]| x.wrapping_div(d), divisor()?),
        ),
        "DivideToLongToString" => {
            let make: Make = |x, [d, _]| Val::Digits(x.wrapping_div(d));
            Some(vec![made(Ty::Long, Ty::Text, make, divisor()?)])
        }
        _ => None,
    }
}

/// Days, times of day and durations.
fn times(name: &str, given: &[Given]) -> Found {
    let long = |ty, make, args| Some(vec![made(Ty::Long, ty, make, args)]);
    // The zone of NoSQLBench's machine is taken to be UTC, like that of servers.
    let utc = |zone: &Given| {
        let zone = zone.text()?;
        ["UTC", "GMT", "Z", "default"].contains(&zone).then_some(())
    };
    match (name, given) {
        ("EpochMillisToJavaLocalDate" | "EpochMillisToCqlLocalDate", zones) => {
            if let [zone] = zones {
                utc(zone)?;
            }
            let day: Make = |x, _| Val::Day(x.div_euclid(MILLIS_PER_DAY) as i32);
            (zones.len() <= 1).then(|| vec![made(Ty::Long, Ty::Day, day, [0, 0])])
        }
        ("ToLocalTime", args) => {
            let numbers: Vec<i64> = args.iter().map_while(Given::int).collect();
            let [spacing, repeats] = match *numbers {
                [] => [1, 1],
                [spacing] => [spacing, 1],
                [spacing, repeats] if repeats != 0 => [spacing, repeats],
                _ => return None,
            };
            args[numbers.len()..].iter().try_for_each(utc)?;
            let time: Make = |x, [spacing, repeats]| {
                let millis = x.wrapping_mul(spacing) / repeats;
                Val::Time(millis.rem_euclid(MILLIS_PER_DAY) * 1_000_000)
            };
            long(Ty::Time, time, [spacing, repeats])
        }
        ("ToCqlDurationNanos", []) => {
            let duration: Make = |x, _| {
                let (days, nanos) = (x / NANOS_PER_DAY, x % NANOS_PER_DAY);
                Val::Duration {
                    // What is left after whole days is nothing, and so are the months.
                    months: 0,
                    days: days as i32,
                    nanos,
                }
            };
            long(Ty::Duration, duration, [0, 0])
        }
        ("ToTimeUUIDMin", []) => long(Ty::Uuid, |x, _| super::functions::uuid_at(x, 0), [0, 0]),
        ("ToTimeUUIDMax", []) => long(Ty::Uuid, |x, _| super::functions::uuid_at(x, 1), [0, 0]),
        _ => None,
    }
}

/// Texts of texts and of functions.
fn texts(name: &str, given: &[Given]) -> Found {
    let of_text = |change: fn(&str, &str) -> String, arg: &str| {
        let step = Step::OfText(change, arg.into());
        Some(vec![flavour(Ty::Text, Ty::Text, step)])
    };
    match (name, given) {
        ("Prefix", [Given::Text(prefix)]) => {
            of_text(|text, prefix| format!("{prefix}{text}"), prefix)
        }
        ("Suffix", [Given::Text(suffix)]) => {
            of_text(|text, suffix| format!("{text}{suffix}"), suffix)
        }
        ("Trim", []) => of_text(|text, _| text.trim().to_owned(), ""),
        ("MirrorToString", [Given::Text(mirrored)]) => of_text(|_, text| text.to_owned(), mirrored),
        ("StaticStringMapper", [Given::Text(text)]) => {
            let step = Step::Fixed(Box::new(Val::Text(text.clone().into())));
            Some(vec![flavour(Ty::Long, Ty::Text, step)])
        }
        ("LongToString", []) => Some(vec![flavour(Ty::Long, Ty::Text, Step::ToText)]),
        ("ToHexString", []) => {
            let hex: Make = |x, _| Val::Text(Cow::Owned(format!("{x:x}")));
            let bytes = flavour(Ty::Bytes, Ty::Text, Step::HexUpper);
            Some(vec![made(Ty::Long, Ty::Text, hex, [0, 0]), bytes])
        }
        (
            "Concat" | "ConcatCycle" | "ConcatFixed" | "ConcatHashed",
            [Given::Text(template), functions @ ..],
        ) => {
            let seed = match name {
                "ConcatHashed" => Seed::Hashed,
                "Concat" => Seed::Stepped,
                _ => Seed::Same,
            };
            concatenated(template, functions, seed)
        }
        ("JoinTemplate", [Given::Text(delimiter), Given::Function(_), ..]) => {
            joined(["", delimiter, ""], &given[1..])
        }
        (
            "JoinTemplate",
            [
                Given::Text(before),
                Given::Text(delimiter),
                Given::Text(after),
                functions @ ..,
            ],
        ) => joined([before, delimiter, after], functions),
        _ => None,
    }
}

/// What the functions of a concatenation are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seed {
    Same,
    Stepped,
    Hashed,
}

/// Texts between the values of functions.
#[derive(Clone, Debug)]
pub(crate) struct Concat {
    literals: Arc<[String]>,
    functions: Arc<[Recipe]>,
    seed: Seed,
}

impl Concat {
    pub(crate) fn value(&self, input: i64) -> Val<'static> {
        let mut out = self.literals[0].clone();
        for (index, literal) in self.literals[1..].iter().enumerate() {
            let stepped = input.wrapping_add(index as i64);
            let seed = match self.seed {
                Seed::Same => input,
                Seed::Stepped => stepped,
                Seed::Hashed => hash(stepped as u64) as i64,
            };
            let function = &self.functions[index.min(self.functions.len() - 1)];
            function.value(seed).write(&mut out);
            out.push_str(literal);
        }
        Val::Text(Cow::Owned(out))
    }
}

fn concatenated(template: &str, functions: &[Given], seed: Seed) -> Found {
    let literals: Arc<[String]> = template.split("{}").map(str::to_owned).collect();
    let functions = functions.iter().map(|given| match given {
        Given::Function(recipe) => Some(recipe.clone()),
        _ => None,
    });
    let functions: Arc<[Recipe]> = functions.collect::<Option<_>>()?;
    if functions.is_empty() && literals.len() > 1 {
        return None;
    }
    let step = Step::Concat(Box::new(Concat {
        literals,
        functions,
        seed,
    }));
    Some(vec![flavour(Ty::Long, Ty::Text, step)])
}

fn joined([before, delimiter, after]: [&str; 3], functions: &[Given]) -> Found {
    let places = vec!["{}"; functions.len()].join(delimiter);
    concatenated(&format!("{before}{places}{after}"), functions, Seed::Same)
}

/// Bytes.
fn bytes(name: &str, given: &[Given]) -> Found {
    let size = |given: &Given| given.int().filter(|size| (1..=BYTES_MAX).contains(size));
    match (name, given) {
        ("HashedToByteBuffer", [length]) => {
            let drawn =
                super::drawn::Drawn::Bytes(Count::given(&Given::Int(size(length)? as i32))?);
            Some(vec![flavour(Ty::Long, Ty::Bytes, Step::Drawn(drawn))])
        }
        ("ToByteBuffer", [] | [_]) => {
            let size = match given.first() {
                None => 8,
                Some(given) => size(given)?,
            };
            let repeated: Make = |x, [size, _]| {
                let mut bytes = x.to_be_bytes().repeat(size as usize / 8 + 1);
                bytes.truncate(size as usize);
                Val::Bytes(bytes)
            };
            let mut found = vec![made(Ty::Long, Ty::Bytes, repeated, [size, 0])];
            if given.is_empty() {
                let inputs = [
                    Ty::Int,
                    Ty::Double,
                    Ty::Float,
                    Ty::Short,
                    Ty::Text,
                    Ty::Chars,
                ];
                found.extend(inputs.map(|input| flavour(input, Ty::Bytes, Step::OwnBytes)));
            }
            Some(found)
        }
        _ => None,
    }
}

/// Functions that read a clock, replaced by functions of the cycle.
fn clocks(name: &str, given: &[Given], env: &mut Env) -> Found {
    let (step, what): (fn(i64, [i64; 2]) -> i64, _) = match (name, given) {
        ("ElapsedNanoTime", []) => (
            |x, _| x.wrapping_mul(NANOS_PER_CYCLE),
            "cycle n is n milliseconds after 1970",
        ),
        ("CurrentEpochMillis" | "CurrentTimeMillis", []) => (
            |x, _| x.wrapping_add(CLOCK_START_MILLIS),
            "cycle n is n milliseconds after 2020-01-01",
        ),
        _ => return None,
    };
    env.note(format!(
        "{name} gives the clock in NoSQLBench; so that runs can be repeated, here {what}"
    ));
    Some(vec![flavour(Ty::Long, Ty::Long, Step::Long(step, [0, 0]))])
}

/// Functions one after the other.
fn flow(given: &[Given]) -> Found {
    let recipes = given.iter().map(|given| match given {
        Given::Function(recipe) => Some(recipe.clone()),
        _ => None,
    });
    let recipes: Vec<Recipe> = recipes.collect::<Option<_>>()?;
    let ty = recipes.last()?.ty;
    let step = Step::Flow(recipes.into());
    Some(vec![flavour(Ty::Long, ty, step)])
}

/// A constant of any type, for `FixedValue`.
pub(super) fn constant(given: &Given) -> Found {
    let value = state::constant(given)?;
    let ty = value.ty();
    Some(vec![flavour(Ty::Long, ty, Step::Fixed(Box::new(value)))])
}
