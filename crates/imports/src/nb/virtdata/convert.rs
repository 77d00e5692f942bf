//! Functions that convert a number, and functions that return a constant.

use std::borrow::Cow;

use super::arithmetic::hashed_double;
use super::chain::{Env, Recipe};
use super::dates::{self, MILLIS_PER_DAY};
use super::functions::{
    Argument, Count, Flavours, INT_MASK, Row, Transformation, asking, cycle, flavour, from, made,
    row,
};
use super::java_value::{Ty, Val};
use super::parse_recipe::{Call, RecipeMistake};
use cql::value::{CqlType, time_uuid, uuid_ticks};
use workload::virtdata::{hash, hashed_uuid};

const NANOS_PER_DAY: i64 = 86_400_000_000_000;
/// Number of nanoseconds between two cycles. It applies to functions for which NoSQLBench reads a
/// clock.
const NANOS_PER_CYCLE: i64 = 1_000_000;
/// Time of cycle 0 on the clock that replaces NoSQLBench's clock: 2020-01-01, in ms since 1970.
const CLOCK_START_MILLIS: i64 = 1_577_836_800_000;
/// Maximum size of a value, in bytes. Cassandra does not accept larger values.
const BYTES_MAX: i64 = 256 << 20;
/// Types from which a number is extracted before the conversion.
const NUMERIC: [Ty; 6] = [
    Ty::Long,
    Ty::Int,
    Ty::Double,
    Ty::Float,
    Ty::Short,
    Ty::Text,
];

pub(super) const ROWS: &[Row] = &[
    // The following rows convert numbers to other numeric types.
    row(&["Identity"], |given| {
        plain(
            given,
            &[Ty::Object],
            Ty::Long,
            &Transformation::new(|value| value),
        )
    }),
    row(&["ToInt"], |given| {
        let scale = scale(given, INT_MASK)?;
        let step = Transformation::int(move |x| x.wrapping_rem(scale));
        from(&[Ty::Long, Ty::Double], Ty::Int, &step)
    }),
    row(&["ToLong"], |given| {
        plain(given, &[Ty::Object], Ty::Long, &Transformation::long(|x| x))
    }),
    row(&["ToDouble"], |given| {
        let step = Transformation::new(|value| Val::Double(value.double()));
        plain(given, &[Ty::Object], Ty::Double, &step)
    }),
    row(&["ToFloat"], |given| {
        let step = Transformation::new(|value| Val::Float(value.double() as f32));
        plain(given, &[Ty::Object], Ty::Float, &step)
    }),
    row(&["ToShort"], |given| {
        let scale = scale(given, i64::from(i16::MAX))?;
        let step = Transformation::made(move |x| Val::Short(x.wrapping_rem(scale) as i16));
        from(&NUMERIC, Ty::Short, &step)
    }),
    row(&["ToByte"], |given| {
        let scale = scale(given, i64::from(i8::MAX))?;
        let step = Transformation::made(move |x| Val::Byte(x.wrapping_rem(scale) as i8));
        from(&NUMERIC, Ty::Byte, &step)
    }),
    row(&["LongToShort", "ModuloToShort"], |given| {
        let step = Transformation::made(|x| Val::Short((x & 0x7FFF) as i16));
        plain(given, &[Ty::Long], Ty::Short, &step)
    }),
    row(&["LongToByte", "ModuloToByte"], |given| {
        let step = Transformation::made(|x| Val::Byte((x & 0x7F) as i8));
        plain(given, &[Ty::Long], Ty::Byte, &step)
    }),
    row(&["ToBoolean"], |given| {
        let step = Transformation::made(|x| Val::Bool(x & 1 == 1));
        plain(given, &NUMERIC, Ty::Bool, &step)
    }),
    row(&["ModuloToBoolean"], |given| {
        let step = Transformation::made(|x| Val::Bool(x % 2 == 0));
        plain(given, &[Ty::Long], Ty::Bool, &step)
    }),
    row(&["ToBigInt"], |given| {
        plain(
            given,
            &[Ty::Long],
            Ty::BigInt,
            &Transformation::made(Val::BigInt),
        )
    }),
    row(&["ToBigDecimal"], |given| {
        let (scale, inputs): (_, &[Ty]) = match given {
            [] => (0, &[Ty::Long, Ty::Int]),
            [Argument::Int(scale)] => (*scale, &[Ty::Long]),
            _ => return None,
        };
        let step = Transformation::made(move |unscaled| Val::Decimal { unscaled, scale });
        from(inputs, Ty::Decimal, &step)
    }),
    // The following rows define identifiers and addresses.
    row(&["ToHashedUUID"], |given| {
        let step = Transformation::made(|x| Val::Uuid(hashed_uuid(x as u64)));
        plain(given, &[Ty::Long], Ty::Uuid, &step)
    }),
    row(&["ToUUID"], |given| {
        /// NoSQLBench's default for the upper half of a UUID.
        const UPPER: i64 = 0x0123_4567_89AB_CDEF;
        let upper = match given {
            [] => UPPER,
            [upper] => upper.long()?,
            _ => return None,
        };
        let upper = (upper & !0xF000) | 0x4000;
        let mut found = made(Ty::Uuid, move |x| {
            let lower = (x as u64 & 0x1FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000;
            Val::Uuid((u128::from(upper as u64) << 64 | u128::from(lower)).to_be_bytes())
        })?;
        if given.is_empty() {
            let parse = Transformation::new(|value| Val::Uuid(parse_uuid(&value.text())));
            found.push(flavour(Ty::Text, Ty::Uuid, parse));
        }
        Some(found)
    }),
    row(&["ToEpochTimeUUID"], |given| {
        let (node, clock) = node_and_clock(given)?;
        made(Ty::Uuid, move |x| node_uuid(uuid_ticks(x), node, clock))
    }),
    asking(&["ToFinestTimeUUID"], |call, given, _| {
        let (base, rest) = match given {
            [Argument::Text(date), rest @ ..] => (uuid_ticks(millis(date, call)?), rest),
            rest => (0, rest),
        };
        Ok(node_and_clock(rest).and_then(|(node, clock)| {
            made(Ty::Uuid, move |x| {
                node_uuid((x as u64).wrapping_add(base), node, clock)
            })
        }))
    }),
    row(&["ToTimeUUIDMin"], |given| {
        plain(
            given,
            &[Ty::Long],
            Ty::Uuid,
            &Transformation::made(least_uuid),
        )
    }),
    row(&["ToTimeUUIDMax"], |given| {
        plain(
            given,
            &[Ty::Long],
            Ty::Uuid,
            &Transformation::made(greatest_uuid),
        )
    }),
    row(&["ToInetAddress"], |given| {
        let step = Transformation::made(|x| Val::Inet((x as i32 % i32::MAX).to_be_bytes()));
        plain(given, &[Ty::Long], Ty::Inet, &step)
    }),
    // The following rows define days, times of day and durations.
    row(&["ToDate"], |given| {
        let (spacing, repeats) = spaced(given)?;
        made(Ty::Date, move |x| {
            Val::Date(spaced_value(x, spacing, repeats))
        })
    }),
    row(&["ToJavaInstant"], |given| {
        let (spacing, repeats) = spaced(given)?;
        made(Ty::Instant, move |x| {
            Val::Millis(spaced_value(x, spacing, repeats))
        })
    }),
    row(&["LongToLocalDateDays"], |given| {
        let step = Transformation::made(|x| Val::Day((x & INT_MASK) as i32));
        plain(given, &[Ty::Long], Ty::Day, &step)
    }),
    row(
        &["EpochMillisToJavaLocalDate", "EpochMillisToCqlLocalDate"],
        |given| {
            let day = |x: i64| Val::Day(x.div_euclid(MILLIS_PER_DAY) as i32);
            (given.len() <= 1 && given.iter().all(is_utc)).then(|| made(Ty::Day, day))?
        },
    ),
    row(&["ToLocalTime"], |given| {
        let numbers = given.iter().take_while(|given| given.int().is_some());
        let (numbers, zones) = given.split_at(numbers.count());
        let (spacing, repeats) = spaced(numbers).filter(|_| zones.iter().all(is_utc))?;
        made(Ty::Time, move |x| {
            Val::Time(spaced_value(x, spacing, repeats).rem_euclid(MILLIS_PER_DAY) * 1_000_000)
        })
    }),
    row(&["ToCqlDurationNanos"], |given| {
        let step = Transformation::made(|x| Val::Duration {
            // A duration in nanoseconds has no months, so only the days and nanoseconds are set.
            months: 0,
            days: (x / NANOS_PER_DAY) as i32,
            nanos: x % NANOS_PER_DAY,
        });
        plain(given, &[Ty::Long], Ty::Duration, &step)
    }),
    asking(&["StringDateWrapper"], |call, given, _| {
        let [Argument::Text(pattern)] = given else {
            return Ok(None);
        };
        if dates::by_pattern(pattern, 0).is_none() {
            let message = format!("`{pattern}` has an unknown letter");
            return Err(RecipeMistake::new(message, call.at));
        }
        let pattern = pattern.clone();
        Ok(made(Ty::Text, move |x| {
            let text = dates::by_pattern(&pattern, x).unwrap_or_default();
            Val::Text(text.into())
        }))
    }),
    asking(&["StartingEpochMillis"], |call, given, _| {
        let [Argument::Text(date)] = given else {
            return Ok(None);
        };
        let start = millis(date, call)?;
        let room = i64::MAX.saturating_sub(start);
        Ok(made(Ty::Long, move |x| {
            Val::Long(start.wrapping_add(x % room))
        }))
    }),
    // The following rows define functions that read a clock in NoSQLBench. In cassay, they are
    // functions of the cycle.
    asking(&["ElapsedNanoTime"], |call, given, env| {
        let step = Transformation::long(|x| x.wrapping_mul(NANOS_PER_CYCLE));
        let what = "cycle n is n milliseconds after 1970";
        Ok(clock(call, given, env, step, what))
    }),
    asking(
        &["CurrentEpochMillis", "CurrentTimeMillis"],
        |call, given, env| {
            let step = Transformation::long(|x| x.wrapping_add(CLOCK_START_MILLIS));
            let what = "cycle n is n milliseconds after 2020-01-01";
            Ok(clock(call, given, env, step, what))
        },
    ),
    // The following rows define functions that return a constant.
    row(&["Discard"], |given| {
        let step = Transformation::fixed(Val::Text(Cow::Borrowed("discard")));
        plain(given, &[Ty::Long], Ty::Object, &step)
    }),
    row(&["StaticStringMapper"], |given| match given {
        [Argument::Text(text)] => cycle(
            Ty::Text,
            Transformation::fixed(Val::Text(text.clone().into())),
        ),
        _ => None,
    }),
    row(&["FixedValue"], |given| match given {
        [value] => {
            let value = value.constant()?;
            cycle(value.ty(), Transformation::fixed(value))
        }
        _ => None,
    }),
    row(&["FixedValues"], |given| {
        let values: Vec<Val> = given.iter().map(Argument::constant).collect::<Option<_>>()?;
        let ty = values.first()?.ty();
        let same = ty != Ty::Bool && values.iter().all(|value| value.ty() == ty);
        same.then(|| cycle(ty, in_turn(values)))?
    }),
    row(&["ToByteBuffer"], |given| {
        let size = match given {
            [] => 8,
            [size] => byte_count(size)?,
            _ => return None,
        };
        let mut found = made(Ty::Bytes, move |x| {
            let mut bytes = x.to_be_bytes().repeat(size / 8 + 1);
            bytes.truncate(size);
            Val::Bytes(bytes)
        })?;
        if given.is_empty() {
            let own = Transformation::new(|value| {
                let mut bytes = Vec::new();
                value.append(&mut bytes);
                Val::Bytes(bytes.split_off(4))
            });
            let inputs = NUMERIC[1..].iter().chain([&Ty::Chars]);
            found.extend(inputs.map(|input| flavour(*input, Ty::Bytes, own.clone())));
        }
        Some(found)
    }),
    // The following rows define functions that return vectors.
    row(&["CqlVector"], |given| match given {
        [Argument::Function(inner)] => {
            let step =
                Transformation::with(inner.clone(), |inner, value| inner.value(value.long()));
            cycle(Ty::Vector, step)
        }
        _ => None,
    }),
    row(&["ToCqlVector"], |given| {
        let inputs = [Ty::Floats, Ty::List];
        plain(
            given,
            &inputs,
            Ty::Vector,
            &Transformation::new(|value| value),
        )
    }),
    row(&["NormalizeCqlVector"], |given| {
        plain(
            given,
            &[Ty::Vector],
            Ty::Vector,
            &Transformation::new(normalize),
        )
    }),
    row(&["HashedFloatVectors"], |given| match given {
        [size] => float_vectors(size, 0.0, 1.0),
        [size, min, max] => float_vectors(size, min.double()?, max.double()?),
        _ => None,
    }),
    // The following rows define sequences of functions.
    row(&["Flow"], |given| {
        let recipes = Argument::functions(given)?;
        let ty = recipes.last()?.ty;
        let step = Transformation::with(recipes, |recipes, value| {
            let first = recipes[0].value(value.long());
            let rest = recipes[1..].iter();
            rest.fold(first, |value, recipe| recipe.value_of(value))
        });
        cycle(ty, step)
    }),
];

/// Returns the flavours of a function without arguments.
pub(super) fn plain(
    given: &[Argument],
    inputs: &[Ty],
    output: Ty,
    step: &Transformation,
) -> Flavours {
    given.is_empty().then(|| from(inputs, output, step))?
}

/// Returns the divisor of a conversion whose result is the remainder of the input.
fn scale(given: &[Argument], usual: i64) -> Option<i64> {
    match given {
        [] => Some(usual),
        [scale] => scale.int().filter(|scale| *scale != 0),
        _ => None,
    }
}

fn node_and_clock(given: &[Argument]) -> Option<(i64, i64)> {
    match given {
        [] => Some((0, 0)),
        [node] => Some((node.long()?, 0)),
        [node, clock] => Some((node.long()?, clock.long()?)),
        _ => None,
    }
}

/// Returns the milliseconds between two values, and the number of times that each value is
/// repeated.
fn spaced(given: &[Argument]) -> Option<(i64, i64)> {
    match given {
        [] => Some((1, 1)),
        [spacing] => Some((spacing.int()?, 1)),
        [spacing, repeats] => Some((spacing.int()?, repeats.int().filter(|n| *n != 0)?)),
        _ => None,
    }
}

fn spaced_value(input: i64, spacing: i64, repeats: i64) -> i64 {
    input.wrapping_mul(spacing).wrapping_div(repeats)
}

/// Returns true if a time zone is UTC. The local time zone of NoSQLBench's machine counts as UTC,
/// because most servers use UTC.
fn is_utc(zone: &Argument) -> bool {
    let zone = zone.text().unwrap_or_default();
    ["UTC", "GMT", "Z", "default"].contains(&zone)
}

fn millis(date: &str, call: &Call) -> Result<i64, RecipeMistake> {
    dates::millis(date).ok_or_else(|| {
        let message = format!(
            "`{date}` is not a time of {}; write `2018-02-01 05:00:00`, which is UTC",
            call.name
        );
        RecipeMistake::new(message, call.at)
    })
}

fn clock(
    call: &Call,
    given: &[Argument],
    env: &mut Env,
    step: Transformation,
    what: &str,
) -> Flavours {
    let found = plain(given, &[Ty::Long], Ty::Long, &step)?;
    env.note(format!(
        "in NoSQLBench, {} returns the clock; in cassay, {what}, so that you can repeat runs",
        call.name
    ));
    Some(found)
}

/// Returns the bytes of a UUID from the hexadecimal digits of its text. Skips other characters.
fn parse_uuid(text: &str) -> [u8; 16] {
    let digits = text.chars().filter_map(|c| c.to_digit(16));
    let value = digits.fold(0u128, |value, digit| value << 4 | u128::from(digit));
    value.to_be_bytes()
}

/// Returns the smallest version 1 UUID of a millisecond since 1970, in Cassandra's order. This
/// order compares signed bytes.
fn least_uuid(millis: i64) -> Val<'static> {
    Val::Uuid(time_uuid(uuid_ticks(millis), 0x8080_8080_8080_8080))
}

/// Returns the greatest version 1 UUID of a millisecond since 1970, in Cassandra's order.
fn greatest_uuid(millis: i64) -> Val<'static> {
    /// Number of the last step of 100 ns in a millisecond, counted from 0.
    const LAST_TICK: u64 = 9_999;
    let last = uuid_ticks(millis).wrapping_add(LAST_TICK);
    Val::Uuid(time_uuid(last, 0x7F7F_7F7F_7F7F_7F7F))
}

/// Returns a version 1 UUID with this node and this clock sequence.
fn node_uuid(ticks: u64, node: i64, clock: i64) -> Val<'static> {
    let low = ((clock as u64 & 0x3FFF) << 48) | (1 << 63) | node as u64;
    Val::Uuid(time_uuid(ticks, low))
}

/// Returns a transformation that returns the values in rotation.
pub(super) fn in_turn(values: Vec<Val<'static>>) -> Transformation {
    Transformation::with(values, |values, value| {
        let index = (value.long() % INT_MASK).unsigned_abs() as usize % values.len();
        values[index].clone()
    })
}

pub(super) fn byte_count(given: &Argument) -> Option<usize> {
    let size = given.int().filter(|size| (1..=BYTES_MAX).contains(size));
    size.map(|size| size as usize)
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

fn float_vectors(size: &Argument, min: f64, max: f64) -> Flavours {
    let size = Count::given(size)?;
    let of = Recipe::single(hashed_double(min, max), Ty::Double);
    made(Ty::Floats, move |x| {
        let image = hash(x as u64) as i64;
        let item = |index| of.value(image.wrapping_add(index)).double() as f32;
        let items = (0..size.value(x)).map(|index| Val::Float(item(index)));
        Val::List(items.collect())
    })
}

/// Returns the conversion that Cassandra applies to a value that is written in the text of a
/// statement.
pub(super) fn written_as(typ: &CqlType) -> Transformation {
    Transformation::with(typ.clone(), |typ, value| match (typ, value) {
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
    })
}
