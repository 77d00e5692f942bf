//! The functions: for a name and arguments, the flavours that there are.
//!
//! Long because it is one table.

use std::borrow::Cow;
use std::sync::Arc;

use super::alias::{self, Alias};
use super::collections::{self, Collection};
use super::convert::{self, Concat};
use super::dates;
use super::drawn::{self, Drawn};
use super::names;
use super::recipe::{Call, Fault};
use super::resolve::{Env, Recipe};
use super::state;
use super::value::{Ty, Val};
use cql::value::CqlType;
use workload::curve::{Curve, normal_quantile, uniform_quantile, zipf_table};
use workload::iot_data;
use workload::virtdata::{hash, hashed_uuid};

/// The low 31 bits: how `int` flavours avoid negative numbers.
pub(crate) const INT_MASK: i64 = 0x7FFF_FFFF;
/// Most characters, bytes or elements of a value: 64 Mi, as of a row of cassandra-stress.
const COUNT_MAX: i64 = 64 << 20;
/// A zipf over more ranks would take minutes to table.
const ZIPF_COUNT_MAX: i32 = 10_000_000;

/// An argument, ready for use.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Text(String),
    Bool(bool),
    Function(Recipe),
}

/// One flavour of a function.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) input: Ty,
    pub(crate) output: Ty,
    pub(crate) step: Step,
}

/// What is done to a value.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Identity,
    Long(fn(i64, [i64; 2]) -> i64, [i64; 2]),
    Int(fn(i64, [i64; 2]) -> i64, [i64; 2]),
    Double(fn(f64, f64) -> f64, f64),
    DoubleOfHash(f64, f64),
    FloatOfHash(f32, f32),
    DoubleCurve(Arc<Curve>),
    LongCurve(Arc<Curve>),
    IntCurve(Arc<Curve>),
    ToLong,
    ToInt,
    ToDouble,
    ToFloat,
    ToText,
    HashedUuid,
    TimeUuid {
        node: i64,
        clock: i64,
    },
    Millis {
        spacing: i64,
        repeats: i64,
        is_date: bool,
    },
    Line(Arc<[Box<str>]>),
    Extract {
        text: Arc<str>,
        size: [i64; 2],
    },
    Weighted(Arc<[(f64, Box<str>)]>),
    Template(Arc<[String]>, Arc<[Recipe]>),
    Collection(Box<Collection>),
    NumberName,
    Alias(Box<Alias>),
    Concat(Box<Concat>),
    Flow(Arc<[Recipe]>),
    Save(Box<str>),
    SaveText(Box<str>),
    Load {
        slot: Box<str>,
        /// What is given when nothing has been saved.
        default: Option<Box<Val<'static>>>,
    },
    /// A value of a number and of two arguments.
    Made(fn(i64, [i64; 2]) -> Val<'static>, [i64; 2]),
    /// A text of a text and of an argument.
    OfText(fn(&str, &str) -> String, Box<str>),
    ParseUuid,
    DatePattern(Box<str>),
    HexUpper,
    /// The bytes of a value as it is sent.
    OwnBytes,
    /// Makes what is written into a statement's text the column's type.
    WrittenAs(Box<CqlType>),
    Floats {
        size: Box<Count>,
        value: Box<Recipe>,
    },
    Inner(Box<Recipe>),
    Normalize,
    Fixed(Box<Val<'static>>),
    FixedOf(Arc<[Val<'static>]>),
    Scaled {
        factor: f64,
        is_int: bool,
    },
    Clamp(f64, f64),
    Day,
    Ticks {
        base: i64,
        node: i64,
        clock: i64,
    },
    Drawn(Drawn),
}

/// A number that is fixed or another function's.
#[derive(Clone, Debug)]
pub(crate) enum Count {
    Fixed(i64),
    Of(Recipe),
}

impl Count {
    pub(crate) fn of(&self, input: i64) -> i64 {
        match self {
            Count::Fixed(count) => *count,
            // What a function comes to is known only here.
            Count::Of(recipe) => recipe.value(input).long().min(COUNT_MAX),
        }
    }

    pub(crate) fn given(given: &Given) -> Option<Box<Count>> {
        Some(Box::new(match given {
            Given::Function(recipe) => Count::Of(recipe.clone()),
            other => Count::Fixed(other.long().filter(|count| *count <= COUNT_MAX)?),
        }))
    }
}

impl Given {
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Given::Int(v) => Some(i64::from(*v)),
            _ => None,
        }
    }

    pub(crate) fn long(&self) -> Option<i64> {
        match self {
            Given::Long(v) => Some(*v),
            _ => self.int(),
        }
    }

    fn float(&self) -> Option<f32> {
        match self {
            Given::Float(v) => Some(*v),
            _ => self.long().map(|v| v as f32),
        }
    }

    pub(crate) fn double(&self) -> Option<f64> {
        match self {
            Given::Double(v) => Some(*v),
            Given::Float(v) => Some(f64::from(*v)),
            _ => self.long().map(|v| v as f64),
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Given::Text(v) => Some(v),
            _ => None,
        }
    }
}

impl Step {
    #[inline]
    pub(crate) fn apply<'a>(&'a self, value: Val<'a>) -> Val<'a> {
        match self {
            Step::Identity => value,
            Step::Long(f, args) => Val::Long(f(value.long(), *args)),
            Step::Int(f, args) => Val::Int(f(value.long(), *args) as i32),
            Step::Double(f, arg) => Val::Double(f(value.double(), *arg)),
            Step::DoubleOfHash(min, max) => {
                let unit = hash(value.long() as u64) as f64 / 9_223_372_036_854_775_808.0;
                Val::Double((max - min) * unit + min)
            }
            Step::FloatOfHash(min, max) => {
                let unit = hash(value.long() as u64) as f32 / 9_223_372_036_854_775_808.0;
                Val::Float((max - min) * unit + min)
            }
            Step::DoubleCurve(curve) => Val::Double(curve.sample(value.long())),
            Step::LongCurve(curve) => Val::Long(curve.sample(value.long()) as i64),
            Step::IntCurve(curve) => Val::Int(curve.sample(value.long()) as i32),
            Step::ToLong => Val::Long(value.long()),
            Step::ToInt => Val::Int((value.long() % INT_MASK) as i32),
            Step::ToDouble => Val::Double(value.double()),
            Step::ToFloat => Val::Float(value.double() as f32),
            Step::ToText => match value {
                Val::Long(v) => Val::Digits(v),
                Val::Int(v) => Val::Digits(i64::from(v)),
                other => Val::Text(other.text()),
            },
            Step::HashedUuid => Val::Uuid(hashed_uuid(value.long() as u64)),
            Step::TimeUuid { node, clock } => Val::Uuid(time_uuid(value.long(), *node, *clock)),
            Step::Millis {
                spacing,
                repeats,
                is_date,
            } => {
                let millis = value.long().wrapping_mul(*spacing) / repeats;
                match is_date {
                    true => Val::Date(millis),
                    false => Val::Millis(millis),
                }
            }
            _ => self.apply_text(value),
        }
    }

    fn apply_text<'a>(&'a self, value: Val<'a>) -> Val<'a> {
        let input = value.long();
        match self {
            Step::Line(lines) => {
                let index = hash_range(input, [0, lines.len() as i64]) & INT_MASK;
                Val::Text(Cow::Borrowed(&lines[index as usize]))
            }
            Step::Extract { text, size } => {
                let length = text.len() as i64;
                let size = (hash_range(input, *size) & INT_MASK) % length;
                // A position is drawn from 2^31 as an int wraps it: the hash itself.
                let position = (hash(input as u64) as i64 & INT_MASK) % (length - size);
                Val::Text(Cow::Borrowed(
                    &text[position as usize..(position + size) as usize],
                ))
            }
            Step::Weighted(values) => {
                let unit = hash(input as u64) as f64 / 9_223_372_036_854_775_808.0;
                let at = values.partition_point(|(cumulative, _)| unit >= *cumulative);
                Val::Text(Cow::Borrowed(&values[at.min(values.len() - 1)].1))
            }
            Step::Template(literals, functions) => {
                let mut out = literals[0].clone();
                for (function, literal) in functions.iter().zip(&literals[1..]) {
                    function.value(input).write(&mut out);
                    out.push_str(literal);
                }
                Val::Text(Cow::Owned(out))
            }
            _ => self.apply_list(value, input),
        }
    }

    fn apply_list<'a>(&'a self, value: Val<'a>, input: i64) -> Val<'a> {
        match self {
            Step::Floats { size, value: of } => {
                let image = hash(input as u64) as i64;
                let item = |index| of.value(image.wrapping_add(index)).double() as f32;
                let items = (0..size.of(input)).map(|index| Val::Float(item(index)));
                Val::List(items.collect())
            }
            Step::Inner(recipe) => recipe.value(input),
            Step::Normalize => normalize(value),
            Step::Fixed(fixed) => Val::clone(fixed),
            Step::FixedOf(values) => {
                let index = (input % INT_MASK).unsigned_abs() as usize % values.len();
                values[index].clone()
            }
            Step::Scaled { factor, is_int } => scaled(input, *factor, *is_int),
            Step::Clamp(min, max) => Val::Double(value.double().max(*min).min(*max)),
            Step::Day => Val::Day((input & INT_MASK) as i32),
            Step::Ticks { base, node, clock } => Val::Uuid(uuid_of_ticks(
                input.wrapping_add(*base) as u64,
                *node,
                *clock,
            )),
            Step::Drawn(drawn) => drawn.value(input),
            _ => self.apply_made(value, input),
        }
    }

    fn apply_made<'a>(&'a self, value: Val<'a>, input: i64) -> Val<'a> {
        match self {
            Step::Collection(collection) => collection.value(input),
            Step::NumberName => collections::number_name(input),
            Step::Alias(alias) => alias.value(input),
            Step::Concat(concat) => concat.value(input),
            Step::Flow(recipes) => {
                let first = recipes[0].value(input);
                let rest = recipes[1..].iter();
                rest.fold(first, |value, recipe| recipe.value_of(value))
            }
            Step::Save(slot) => {
                state::save(slot, &value);
                value
            }
            Step::SaveText(slot) => {
                let value = Val::Text(value.text());
                state::save(slot, &value);
                value
            }
            Step::Load { slot, default } => match (state::load(slot), default) {
                (Some(value), _) => value,
                (None, Some(default)) => Val::clone(default),
                (None, None) => Val::Long(0),
            },
            Step::Made(make, args) => make(input, *args),
            Step::OfText(change, arg) => Val::Text(Cow::Owned(change(&value.text(), arg))),
            Step::ParseUuid => Val::Uuid(parse_uuid(&value.text())),
            Step::DatePattern(pattern) => {
                let text = dates::by_pattern(pattern, input).unwrap_or_default();
                Val::Text(Cow::Owned(text))
            }
            Step::HexUpper => Val::Text(Cow::Owned(value.text().to_uppercase())),
            Step::OwnBytes => {
                let mut bytes = Vec::new();
                value.append(&mut bytes);
                Val::Bytes(bytes.split_off(4))
            }
            Step::WrittenAs(typ) => written_as(value, typ),
            _ => value,
        }
    }
}

/// The digits of a UUID's text; what is no digit is left out.
fn parse_uuid(text: &str) -> [u8; 16] {
    let digits = text.chars().filter_map(|c| c.to_digit(16));
    let value = digits.fold(0u128, |value, digit| value << 4 | u128::from(digit));
    value.to_be_bytes()
}

/// What Cassandra makes of a value that stands in a statement's text.
fn written_as<'a>(value: Val<'a>, typ: &CqlType) -> Val<'a> {
    match (typ, value) {
        (CqlType::Text | CqlType::Ascii, Val::Long(v)) => Val::Digits(v),
        (CqlType::Text | CqlType::Ascii, value @ Val::Digits(_)) => value,
        (CqlType::Text | CqlType::Ascii, value) => Val::Text(value.text()),
        (CqlType::Uuid | CqlType::Timeuuid, Val::Text(text)) => Val::Uuid(parse_uuid(&text)),
        (CqlType::Bigint | CqlType::Counter, value) => Val::Long(value.long()),
        (CqlType::Timestamp, value) => Val::Millis(value.long()),
        (CqlType::Int, value) => Val::Int(value.long() as i32),
        (CqlType::Smallint, value) => Val::Short(value.long() as i16),
        (CqlType::Tinyint, value) => Val::Byte(value.long() as i8),
        (CqlType::Varint, value) => Val::BigInt(value.long()),
        (CqlType::Double, value) => Val::Double(value.double()),
        (CqlType::Float, value) => Val::Float(value.double() as f32),
        (CqlType::Boolean, Val::Text(text)) => Val::Bool(text == "true"),
        (_, value) => value,
    }
}

fn normalize(value: Val) -> Val {
    let Val::List(items) = value else {
        return value;
    };
    let sum: f64 = items.iter().map(|item| item.double() * item.double()).sum();
    let factor = 1.0 / libm::sqrt(sum);
    let one = |item: &Val<'_>| match item {
        Val::Double(v) => Val::Double(f64::from((v * factor) as f32)),
        other => Val::Float((other.double() * factor) as f32),
    };
    Val::List(items.iter().map(one).collect())
}

/// A part of the input, drawn by its hash.
fn scaled(input: i64, factor: f64, is_int: bool) -> Val<'static> {
    let part = match input {
        0 => 0.0,
        _ => (hash(input as u64) as i64 % input) as f64 * factor,
    };
    match is_int {
        true => Val::Int((part % INT_MASK as f64) as i32),
        false => Val::Long(part as i64),
    }
}

#[inline]
fn hash_range(value: i64, [first, width]: [i64; 2]) -> i64 {
    first.wrapping_add(hash(value as u64) as i64 % width)
}

/// Steps of 100 ns from the start of the Gregorian calendar to a time in milliseconds since 1970.
fn gregorian_ticks(millis: i64) -> u64 {
    /// From the start of the Gregorian calendar to 1970, in milliseconds.
    const GREGORIAN_MILLIS: i64 = 12_219_292_800_000;
    millis.wrapping_add(GREGORIAN_MILLIS).wrapping_mul(10_000) as u64
}

/// A version 1 UUID of a time in milliseconds since 1970.
fn time_uuid(millis: i64, node: i64, clock: i64) -> [u8; 16] {
    uuid_of_ticks(gregorian_ticks(millis), node, clock)
}

/// The least (0) or the greatest (1) version 1 UUID of a millisecond since 1970, as Cassandra
/// orders them: bytes are compared with their signs.
pub(super) fn uuid_at(millis: i64, greatest: i64) -> Val<'static> {
    /// Of steps of 100 ns in a millisecond, the last.
    const LAST_TICK: u64 = 9_999;
    let ticks = gregorian_ticks(millis);
    let (ticks, low) = match greatest {
        0 => (ticks, 0x8080_8080_8080_8080_u64),
        _ => (ticks.wrapping_add(LAST_TICK), 0x7F7F_7F7F_7F7F_7F7F),
    };
    let upper = u128::from_be_bytes(uuid_of_ticks(ticks, 0, 0)) >> 64 << 64;
    Val::Uuid((upper | u128::from(low)).to_be_bytes())
}

/// A version 1 UUID of a time in steps of 100 ns since the start of the Gregorian calendar.
fn uuid_of_ticks(ticks: u64, node: i64, clock: i64) -> [u8; 16] {
    let high = 0x1000 | ((ticks & (0x0FFF << 48)) >> 48) | ((ticks >> 16) & 0xFFFF_0000);
    let high = high | (ticks << 32);
    let low = ((clock as u64 & 0x3FFF) << 48) | (1 << 63) | node as u64;
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

pub(crate) type Found = Option<Vec<Variant>>;

/// The flavours of a call that fit its arguments; perhaps none.
pub(crate) fn variants(call: &Call, given: &[Given], env: &mut Env) -> Result<Vec<Variant>, Fault> {
    names::check(call)?;
    let found = match arithmetic(&call.name, given).or_else(|| conversions(&call.name, given)) {
        Some(found) => Some(found),
        None => match curves(&call.name, given) {
            Some(found) => Some(found),
            None => further(call, given, env)?,
        },
    };
    found.filter(|found| !found.is_empty()).ok_or_else(|| {
        let message = format!(
            "{} does not take these {} arguments",
            call.name,
            given.len()
        );
        Fault::new(message, call.at)
    })
}

/// The functions that have tables of their own.
fn further(call: &Call, given: &[Given], env: &mut Env) -> Result<Found, Fault> {
    let plain = collections::variants(&call.name, given);
    if let Some(found) = plain.or_else(|| state::variants(&call.name, given)) {
        return Ok(Some(found));
    }
    for variants in [drawn::variants, convert::variants, alias::variants, texts] {
        if let Some(found) = variants(call, given, env)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

pub(crate) fn flavour(input: Ty, output: Ty, step: Step) -> Variant {
    Variant {
        input,
        output,
        step,
    }
}

/// `long → long`, and when the arguments are ints `long → int` and `int → int`.
fn integers(
    given: &[Given],
    args: impl Fn(&[i64]) -> Option<[i64; 2]>,
    [long, masked, int]: [fn(i64, [i64; 2]) -> i64; 3],
) -> Found {
    let longs: Vec<i64> = given.iter().map(Given::long).collect::<Option<_>>()?;
    let args = args(&longs)?;
    let mut found = vec![flavour(Ty::Long, Ty::Long, Step::Long(long, args))];
    if given.iter().all(|given| given.int().is_some()) {
        found.push(flavour(Ty::Long, Ty::Int, Step::Int(masked, args)));
        found.push(flavour(Ty::Int, Ty::Int, Step::Int(int, args)));
    }
    Some(found)
}

fn arithmetic(name: &str, given: &[Given]) -> Found {
    let one = |args: &[i64]| (args.len() == 1).then(|| [args[0], 0]);
    let divisor = |args: &[i64]| one(args).filter(|args| args[0] != 0);
    match name {
        "Mod" => integers(
            given,
            divisor,
            [
                |x, [m, _]| x.wrapping_rem(m),
                |x, [m, _]| x.wrapping_rem(m) & INT_MASK,
                |x, [m, _]| x.wrapping_rem(m),
            ],
        ),
        "Div" => integers(
            given,
            divisor,
            [
                |x, [d, _]| x.wrapping_div(d),
                |x, [d, _]| x.wrapping_div(d) & INT_MASK,
                |x, [d, _]| x.wrapping_div(d),
            ],
        )
        .or_else(|| doubles(given, |x, d| x / d)),
        "Mul" => {
            let whole = integers(
                given,
                one,
                [
                    |x, [f, _]| x.wrapping_mul(f),
                    |x, [f, _]| x.wrapping_mul(f) % INT_MASK,
                    |x, [f, _]| x.wrapping_mul(f),
                ],
            );
            joined(whole, doubles(given, |x, f| x * f))
        }
        "Add" => {
            let whole = integers(
                given,
                one,
                [
                    |x, [a, _]| x.wrapping_add(a),
                    |x, [a, _]| x.wrapping_add(a) % INT_MASK,
                    |x, [a, _]| x.wrapping_add(a),
                ],
            );
            joined(whole, doubles(given, |x, a| a + x))
        }
        _ => hashed_arithmetic(name, given),
    }
}

/// Functions that hash their input to a range.
fn hashed_arithmetic(name: &str, given: &[Given]) -> Found {
    let range = |args: &[i64], last: i64| match *args {
        [width] if width > 0 => Some([0, width]),
        [from, to] => to
            .checked_sub(from)?
            .checked_add(last)
            .filter(|width| *width > 0)
            .map(|width| [from, width]),
        _ => None,
    };
    let inclusive = |args: &[i64]| range(args, 1);
    let exclusive = |args: &[i64]| range(args, 0);
    // The int flavour of both masks with the width instead of taking the remainder.
    let ranges: [fn(i64, [i64; 2]) -> i64; 3] = [
        hash_range,
        |x, args| hash_range(x, args) & INT_MASK,
        |x, [from, width]| from.wrapping_add(int_hash(x) & width),
    ];
    match name {
        "Hash" if given.is_empty() => integers(
            given,
            |_| Some([0, 0]),
            [
                |x, _| hash(x as u64) as i64,
                |x, _| hash(x as u64) as i64 & INT_MASK,
                |x, _| int_hash(x),
            ],
        ),
        "HashRange" => joined(integers(given, inclusive, ranges), hashed_floats(given)),
        "HashInterval" => integers(given, exclusive, ranges),
        "AddHashRange" => {
            let from_zero = |args: &[i64]| match *args {
                [to] => inclusive(&[0, to]),
                _ => inclusive(args),
            };
            integers(
                given,
                from_zero,
                [
                    |x, args| x.wrapping_add(hash_range(x, args)),
                    |x, args| x.wrapping_add(hash_range(x, args)) & INT_MASK,
                    |x, [from, width]| x.wrapping_add(from.wrapping_add(int_hash(x) & width)),
                ],
            )
        }
        _ => None,
    }
}

/// The hash of an `int`: that of its four bytes twice.
fn int_hash(value: i64) -> i64 {
    let half = u64::from(value as u32);
    hash(half << 32 | half) as i64 & INT_MASK
}

fn doubles(given: &[Given], f: fn(f64, f64) -> f64) -> Found {
    let [argument] = given else {
        return None;
    };
    let step = Step::Double(f, argument.double()?);
    let mut found = vec![flavour(Ty::Double, Ty::Double, step.clone())];
    if argument.int().is_none() {
        found.push(flavour(Ty::Long, Ty::Double, step));
    }
    Some(found)
}

fn hashed_floats(given: &[Given]) -> Found {
    let [min, max] = given else {
        return None;
    };
    let mut found = Vec::new();
    if let (Some(min), Some(max)) = (min.float(), max.float()) {
        found.push(flavour(Ty::Long, Ty::Float, Step::FloatOfHash(min, max)));
    }
    let step = Step::DoubleOfHash(min.double()?, max.double()?);
    found.push(flavour(Ty::Long, Ty::Double, step));
    Some(found)
}

fn joined(first: Found, second: Found) -> Found {
    match (first, second) {
        (Some(mut first), Some(second)) => {
            first.extend(second);
            Some(first)
        }
        (first, second) => first.or(second),
    }
}

fn conversions(name: &str, given: &[Given]) -> Found {
    let any = |output, step| Some(vec![flavour(Ty::Object, output, step)]);
    let long = |output, step| Some(vec![flavour(Ty::Long, output, step)]);
    let times = |ty| {
        let args: Vec<i64> = given.iter().map(Given::int).collect::<Option<_>>()?;
        let (spacing, repeats) = match *args {
            [] => (1, 1),
            [spacing] => (spacing, 1),
            [spacing, repeats] if repeats != 0 => (spacing, repeats),
            _ => return None,
        };
        let is_date = ty == Ty::Date;
        long(
            ty,
            Step::Millis {
                spacing,
                repeats,
                is_date,
            },
        )
    };
    match (name, given) {
        ("Identity", []) => any(Ty::Long, Step::Identity),
        ("ToString", []) => {
            let inputs = [Ty::Long, Ty::Int, Ty::Double, Ty::Object];
            let found = inputs.map(|input| flavour(input, Ty::Text, Step::ToText));
            Some(found.to_vec())
        }
        ("ToString", [Given::Function(inner)]) => {
            let template = Step::Template(
                Arc::new([String::new(), String::new()]),
                Arc::new([inner.clone()]),
            );
            long(Ty::Text, template)
        }
        ("ToInt", []) => {
            let double = flavour(Ty::Double, Ty::Int, Step::ToInt);
            Some(vec![flavour(Ty::Long, Ty::Int, Step::ToInt), double])
        }
        ("ToLong", []) => any(Ty::Long, Step::ToLong),
        ("ToDouble", []) => any(Ty::Double, Step::ToDouble),
        ("ToFloat", []) => any(Ty::Float, Step::ToFloat),
        ("ToDate", _) => times(Ty::Date),
        ("ToJavaInstant", _) => times(Ty::Instant),
        ("ToHashedUUID", []) => long(Ty::Uuid, Step::HashedUuid),
        ("ToEpochTimeUUID", args) => {
            let args: Vec<i64> = args.iter().map(Given::long).collect::<Option<_>>()?;
            let (node, clock) = match *args {
                [] => (0, 0),
                [node] => (node, 0),
                [node, clock] => (node, clock),
                _ => return None,
            };
            long(Ty::Uuid, Step::TimeUuid { node, clock })
        }
        _ => collections(name, given),
    }
}

/// Constants, lists and vectors.
fn collections(name: &str, given: &[Given]) -> Found {
    let long = |output, step| Some(vec![flavour(Ty::Long, output, step)]);
    match (name, given) {
        ("FixedValue", [value]) => convert::constant(value),
        ("CqlVector", [Given::Function(inner)]) => {
            long(Ty::Vector, Step::Inner(Box::new(inner.clone())))
        }
        ("ToCqlVector", []) => {
            let inputs = [Ty::Floats, Ty::List];
            Some(
                inputs
                    .map(|ty| flavour(ty, Ty::Vector, Step::Identity))
                    .to_vec(),
            )
        }
        ("NormalizeCqlVector", []) => Some(vec![flavour(Ty::Vector, Ty::Vector, Step::Normalize)]),
        ("HashedFloatVectors", [size, min, max]) => {
            let range = Step::DoubleOfHash(min.double()?, max.double()?);
            float_vectors(size, range)
        }
        ("HashedFloatVectors", [size]) => float_vectors(size, Step::DoubleOfHash(0.0, 1.0)),
        _ => None,
    }
}

fn float_vectors(size: &Given, range: Step) -> Found {
    let step = Step::Floats {
        size: Count::given(size)?,
        value: Box::new(Recipe::single(range, Ty::Double)),
    };
    Some(vec![flavour(Ty::Long, Ty::Floats, step)])
}

/// Whether a curve hashes its input; None: a modifier that changes more than that.
fn hashes(modifiers: &[Given]) -> Option<bool> {
    let mut hashed = true;
    for modifier in modifiers {
        match modifier.text()? {
            "hash" | "interpolate" | "clamp" | "finite" => {}
            "map" => hashed = false,
            _ => return None,
        }
    }
    Some(hashed)
}

fn curves(name: &str, given: &[Given]) -> Found {
    let (first, second, modifiers) = match given {
        [first, second, modifiers @ ..] => (first, second, modifiers),
        _ => return None,
    };
    let hashed = hashes(modifiers)?;
    let discrete = |curve: Curve| {
        let curve = Arc::new(curve);
        let long = Step::LongCurve(Arc::clone(&curve));
        let int = Step::IntCurve(curve);
        vec![
            flavour(Ty::Long, Ty::Long, long),
            flavour(Ty::Long, Ty::Int, int.clone()),
            flavour(Ty::Int, Ty::Int, int),
        ]
    };
    let continuous = |curve| {
        let step = Step::DoubleCurve(Arc::new(curve));
        vec![flavour(Ty::Long, Ty::Double, step)]
    };
    let (a, b) = (first.double()?, second.double()?);
    match name {
        "Normal" if b > 0.0 => Some(continuous(Curve::new(hashed, |p| normal_quantile(a, b, p)))),
        "Uniform" if a <= b => {
            let mut found = continuous(Curve::new(hashed, |p| p * b + (1.0 - p) * a));
            if let (Given::Int(lower), Given::Int(upper)) = (first, second) {
                let quantile = |p| uniform_quantile(*lower, *upper, p);
                found.extend(discrete(Curve::new(hashed, quantile)));
            }
            Some(found)
        }
        "Zipf" => match first {
            Given::Int(count) if (1..=ZIPF_COUNT_MAX).contains(count) && b > 0.0 => {
                Some(discrete(Curve::new(hashed, zipf_table(*count, b))))
            }
            _ => None,
        },
        _ => None,
    }
}

fn texts(call: &Call, given: &[Given], env: &mut Env) -> Result<Found, Fault> {
    let long = |ty, step| Ok(Some(vec![flavour(Ty::Long, ty, step)]));
    match (call.name.as_str(), given) {
        ("HashedLineToString", [Given::Text(file)]) => {
            let lines: Arc<[Box<str>]> = match file_text(file, call, env)? {
                Some(text) => text.lines().map(Box::from).collect(),
                None => iot_data::words().into(),
            };
            if lines.is_empty() {
                return Err(Fault::new(format!("{file} has no line"), call.at));
            }
            long(Ty::Text, Step::Line(lines))
        }
        ("HashedFileExtractToString", [Given::Text(file), Given::Int(least), Given::Int(most)])
            if 0 <= *least && least <= most =>
        {
            let text = file_text(file, call, env)?.unwrap_or_else(iot_data::text);
            if !text.is_ascii() || text.is_empty() {
                let message = format!("{file} must be ASCII text");
                return Err(Fault::new(message, call.at));
            }
            let (first, last) = (i64::from(*least), i64::from(*most));
            let size = [first, last - first + 1];
            let text = text.into();
            long(Ty::Text, Step::Extract { text, size })
        }
        ("HashedLoremExtractToString", [least, most]) => {
            let file = Given::Text("data/lorem_ipsum_full.txt".to_owned());
            let call = Call {
                name: "HashedFileExtractToString".to_owned(),
                ..call.clone()
            };
            texts(&call, &[file, least.clone(), most.clone()], env)
        }
        ("WeightedStrings", [Given::Text(spec)]) => match weights(spec) {
            Some(values) => long(Ty::Text, Step::Weighted(values)),
            None => {
                let message = format!("`{spec}` is no list like `a:1.5;b:2`");
                Err(Fault::new(message, call.at))
            }
        },
        ("Template", [Given::Text(template), functions @ ..]) => {
            let literals: Arc<[String]> = template.split("{}").map(str::to_owned).collect();
            let recipes = functions.iter().map(|given| match given {
                Given::Function(recipe) => Some(recipe.clone()),
                _ => None,
            });
            let recipes: Option<Arc<[Recipe]>> = recipes.collect();
            match recipes.filter(|recipes| recipes.len() + 1 == literals.len()) {
                Some(recipes) => long(Ty::Text, Step::Template(literals, recipes)),
                None => {
                    let message = format!(
                        "the template has {} places {{}} but {} functions",
                        literals.len() - 1,
                        functions.len()
                    );
                    Err(Fault::new(message, call.at))
                }
            }
        }
        _ => file_texts(call, given, env),
    }
}

/// Functions of the lines of a file.
fn file_texts(call: &Call, given: &[Given], env: &mut Env) -> Result<Found, Fault> {
    let long = |ty, step| Ok(Some(vec![flavour(Ty::Long, ty, step)]));
    match (call.name.as_str(), given) {
        ("HashedLineToStringList" | "HashedLineToStringSet", _) => line_lists(call, given, env),
        ("ModuloLineToString", [Given::Text(file)]) => {
            let text = file_text(file, call, env)?.unwrap_or_else(|| iot_data::words().join("\n"));
            let lines = text.lines().map(|line| Val::Text(line.to_owned().into()));
            let lines: Vec<Val> = lines.collect();
            if lines.is_empty() {
                return Err(Fault::new(format!("{file} has no line"), call.at));
            }
            long(Ty::Text, Step::FixedOf(lines.into()))
        }
        ("TextOfFile" | "FirstLines", [Given::Text(file), lines @ ..]) => {
            let whole = call.name == "TextOfFile";
            let lines = match lines {
                [] => 1,
                [lines] => lines.int().unwrap_or(1).max(1) as usize,
                _ => return Ok(None),
            };
            let text = file_text(file, call, env)?.unwrap_or_else(iot_data::text);
            // Of several lines NoSQLBench leaves out the last, and what ends the others.
            let first: String = text.lines().take((lines - 1).max(1)).collect();
            let text = if whole { text } else { first };
            let step = || Step::Fixed(Box::new(Val::Text(Cow::Owned(text.clone()))));
            let inputs = [Ty::Long, Ty::Object];
            Ok(Some(
                inputs.map(|ty| flavour(ty, Ty::Text, step())).to_vec(),
            ))
        }
        _ => Ok(None),
    }
}

/// `HashedLineToStringList(file, least, most)`: lines of a file, in a list.
fn line_lists(call: &Call, given: &[Given], env: &mut Env) -> Result<Found, Fault> {
    let [Given::Text(_), Given::Int(least), Given::Int(most)] = given else {
        return Ok(None);
    };
    let line = Call {
        name: "HashedLineToString".to_owned(),
        args: call.args[..1].to_vec(),
        ..call.clone()
    };
    let Some(mut line) = texts(&line, &given[..1], env)? else {
        return Ok(None);
    };
    let line = Recipe::single(line.swap_remove(0).step, Ty::Text);
    let width = i64::from(*most) - i64::from(*least) + 1;
    if width < 1 {
        return Ok(None);
    }
    let size = Step::Long(hash_range, [i64::from(*least), width]);
    let size = Given::Function(Recipe::single(size, Ty::Long));
    let name = match call.name.as_str() {
        "HashedLineToStringList" => "ListSizedStepped",
        _ => "SetSizedStepped",
    };
    Ok(collections::variants(name, &[size, Given::Function(line)]))
}

/// The content of a data file; None: ours stands in for NoSQLBench's.
fn file_text(file: &str, call: &Call, env: &mut Env) -> Result<Option<String>, Fault> {
    match (env.read)(file) {
        Ok(text) => Ok(Some(text)),
        Err(_)
            if [
                "variable_words.txt",
                "lorem_ipsum_full.txt",
                "cql-starter-message.txt",
            ]
            .iter()
            .any(|name| file.ends_with(name)) =>
        {
            env.note(format!(
                "{file} is not here: our own text of the same shape stands in for it; lines, \
                 positions and lengths are the same"
            ));
            Ok(None)
        }
        Err(why) => {
            let message = format!("{} cannot read {file}: {why}", call.name);
            Err(Fault::new(message, call.at))
        }
    }
}

/// Texts with their weights.
type Weights = Arc<[(f64, Box<str>)]>;

/// `a:1.5;b:2` → values with cumulative weights up to 1.
fn weights(spec: &str) -> Option<Weights> {
    let mut pairs = Vec::new();
    for pair in spec.split([';', ',']) {
        let (value, weight) = match pair.split_once(':') {
            Some((value, weight)) => (value, weight.trim().parse::<f64>().ok()?),
            None => (pair, 1.0),
        };
        pairs.push((weight, Box::from(value.trim())));
    }
    let total: f64 = pairs.iter().map(|(weight, _)| weight).sum();
    if total <= 0.0 || !total.is_finite() {
        return None;
    }
    let mut sum = 0.0;
    for (weight, _) in &mut pairs {
        sum += *weight / total;
        *weight = sum;
    }
    Some(pairs.into())
}
