//! Functions from numbers to numbers: arithmetic, hashes, ranges and curves.

use std::sync::Arc;

use super::functions::{
    Argument, Flavours, INT_MASK, Row, Transformation, Variant, Whole, cycle, flavour, from,
    hash_range, made, row, unit,
};
use super::java_value::{Ty, Val};
use workload::virtdata::hash;
use workload::virtdata_curve::{Curve, normal_quantile, uniform_quantile, zipf_table};

/// Maximum number of ranks of a Zipf distribution. It would take minutes to compute a larger table.
const ZIPF_COUNT_MAX: i32 = 10_000_000;

pub(super) const ROWS: &[Row] = &[
    row(&["Mod"], |given| {
        let m = divisor(given)?;
        Some(same(given, move |x| x.wrapping_rem(m), masked))
    }),
    row(&["Div"], |given| match divisor(given) {
        Some(d) => Some(same(given, move |x| x.wrapping_div(d), masked)),
        None => doubles(given, |x, d| x / d),
    }),
    row(&["Mul"], |given| {
        let whole = one(given).map(|f| same(given, move |x| x.wrapping_mul(f), rest));
        joined(whole, doubles(given, |x, f| x * f))
    }),
    row(&["Add"], |given| {
        let whole = one(given).map(|a| same(given, move |x| x.wrapping_add(a), rest));
        joined(whole, doubles(given, |x, a| a + x))
    }),
    row(&["Hash"], |given| {
        let long = |x| hash(x as u64) as i64;
        (given.is_empty()).then(|| integers(given, long, masked, int_hash))
    }),
    row(&["HashRange"], |given| {
        let whole = range(given, 1).map(|range| hashed(given, range));
        joined(whole, hashed_floats(given))
    }),
    row(&["HashInterval"], |given| {
        Some(hashed(given, range(given, 0)?))
    }),
    row(&["AddHashRange"], |given| {
        let (first, width) = match given {
            [to] => (0, to.long()?.checked_add(1).filter(|width| *width > 0)?),
            _ => range(given, 1)?,
        };
        let long = move |x: i64| x.wrapping_add(hash_range(x, (first, width)));
        let int = move |x: i64| x.wrapping_add(first.wrapping_add(int_hash(x) & width));
        Some(integers(given, long, masked, int))
    }),
    row(&["HashRangeScaled"], |given| {
        let factor = match given {
            [] => 1.0,
            [factor] => factor.double()?,
            _ => return None,
        };
        let int =
            Transformation::made(move |x| Val::Int((scaled(x, factor) % INT_MASK as f64) as i32));
        let long = Transformation::long(move |x| scaled(x, factor) as i64);
        Some(vec![
            flavour(Ty::Long, Ty::Long, long),
            flavour(Ty::Long, Ty::Int, int),
        ])
    }),
    row(&["CycleRange"], |given| {
        let (from, width) = range(given, 0)?;
        let long = move |x| from.wrapping_add(x % width);
        Some(same(given, long, masked))
    }),
    row(&["AddCycleRange"], |given| {
        let (from, width) = range(given, 0)?;
        let long = move |x: i64| x.wrapping_add(from.wrapping_add(x % width));
        Some(same(given, long, masked))
    }),
    row(&["Max"], |given| {
        let limit = one(given)?;
        Some(kept(given, move |x| x.max(limit)))
    }),
    row(&["Min"], |given| {
        let limit = one(given)?;
        Some(kept(given, move |x| x.min(limit)))
    }),
    row(&["Clamp"], |given| {
        let [min, max] = given else { return None };
        let mut found = Vec::new();
        if let (Some(min), Some(max)) = (min.long(), max.long()) {
            found.extend(kept(given, move |x| x.max(min).min(max)));
        }
        let (min, max) = (min.double()?, max.double()?);
        let step = Transformation::new(move |value| Val::Double(value.double().max(min).min(max)));
        found.push(flavour(Ty::Double, Ty::Double, step));
        Some(found)
    }),
    row(&["ModuloToLong"], |given| {
        let m = divisor(given)?;
        made(Ty::Long, move |x| Val::Long(x.wrapping_rem(m) & i64::MAX))
    }),
    row(&["ModuloToInteger"], |given| {
        let m = divisor(given)?;
        cycle(
            Ty::Int,
            Transformation::int(move |x| x.wrapping_rem(m) & INT_MASK),
        )
    }),
    row(&["DivideToLong"], |given| {
        let d = divisor(given)?;
        made(Ty::Long, move |x| Val::Long(x.wrapping_div(d)))
    }),
    row(&["DivideToLongToString"], |given| {
        let d = divisor(given)?;
        made(Ty::Text, move |x| Val::Digits(x.wrapping_div(d)))
    }),
    row(&["Normal"], |given| {
        let (mean, deviation, hashed) = curve(given)?;
        let quantile = |p| normal_quantile(mean, deviation, p);
        (deviation > 0.0).then(|| vec![continuous(Curve::new(hashed, quantile))])
    }),
    row(&["Uniform"], |given| {
        let (least, most, hashed) = curve(given).filter(|(least, most, _)| least <= most)?;
        let quantile = |p| p * most + (1.0 - p) * least;
        let mut found = vec![continuous(Curve::new(hashed, quantile))];
        if let [Argument::Int(lower), Argument::Int(upper), ..] = given {
            let quantile = |p| uniform_quantile(*lower, *upper, p);
            found.extend(discrete(Curve::new(hashed, quantile)));
        }
        Some(found)
    }),
    row(&["Zipf"], |given| {
        let (_, exponent, hashed) = curve(given)?;
        match given {
            [Argument::Int(count), ..]
                if (1..=ZIPF_COUNT_MAX).contains(count) && exponent > 0.0 =>
            {
                Some(discrete(Curve::new(hashed, zipf_table(*count, exponent))))
            }
            _ => None,
        }
    }),
];

fn masked(x: i64) -> i64 {
    x & INT_MASK
}

fn rest(x: i64) -> i64 {
    x % INT_MASK
}

fn longs(given: &[Argument]) -> Option<Vec<i64>> {
    given.iter().map(Argument::long).collect()
}

fn are_ints(given: &[Argument]) -> bool {
    given.iter().all(|given| given.int().is_some())
}

fn one(given: &[Argument]) -> Option<i64> {
    match given {
        [one] => one.long(),
        _ => None,
    }
}

fn divisor(given: &[Argument]) -> Option<i64> {
    one(given).filter(|divisor| *divisor != 0)
}

/// Returns the first value and the width of a range. The last value is the stated end minus 1, plus
/// `last`.
fn range(given: &[Argument], last: i64) -> Option<(i64, i64)> {
    let (from, width) = match *longs(given)? {
        [width] => (0, width),
        [from, to] => (from, to.checked_sub(from)?.checked_add(last)?),
        _ => return None,
    };
    (width > 0).then_some((from, width))
}

/// Returns the flavour `long → long`. If the arguments are ints, also returns `long → int` and `int
/// → int`.
fn integers(
    given: &[Argument],
    long: impl Whole + Copy,
    narrowed: impl Whole,
    int: impl Whole,
) -> Vec<Variant> {
    let mut found = vec![flavour(Ty::Long, Ty::Long, Transformation::long(long))];
    if are_ints(given) {
        let narrow = Transformation::int(move |x| narrowed(long(x)));
        found.push(flavour(Ty::Long, Ty::Int, narrow));
        found.push(flavour(Ty::Int, Ty::Int, Transformation::int(int)));
    }
    found
}

/// Returns the same flavours as [`integers`]. Ints and longs use the same function.
fn same(given: &[Argument], long: impl Whole + Copy, narrowed: impl Whole) -> Vec<Variant> {
    integers(given, long, narrowed, long)
}

/// Returns flavours whose output has the same type as the input: longs to longs, and ints to ints.
fn kept(given: &[Argument], keep: impl Whole + Copy) -> Vec<Variant> {
    let mut found = vec![flavour(Ty::Long, Ty::Long, Transformation::long(keep))];
    if are_ints(given) {
        found.push(flavour(Ty::Int, Ty::Int, Transformation::int(keep)));
    }
    found
}

/// Returns a value in a range, chosen by the hash of the input. The int flavour masks the hash with
/// the width instead of taking the remainder.
fn hashed(given: &[Argument], (first, width): (i64, i64)) -> Vec<Variant> {
    let long = move |x| hash_range(x, (first, width));
    let int = move |x| first.wrapping_add(int_hash(x) & width);
    integers(given, long, masked, int)
}

/// Returns the hash of an `int`. This is the hash of its four bytes, repeated twice.
fn int_hash(value: i64) -> i64 {
    let half = u64::from(value as u32);
    hash(half << 32 | half) as i64 & INT_MASK
}

fn doubles(given: &[Argument], f: fn(f64, f64) -> f64) -> Flavours {
    let [argument] = given else { return None };
    let with = argument.double()?;
    let step = Transformation::new(move |value| Val::Double(f(value.double(), with)));
    match argument.int() {
        Some(_) => from(&[Ty::Double], Ty::Double, &step),
        None => from(&[Ty::Double, Ty::Long], Ty::Double, &step),
    }
}

fn hashed_floats(given: &[Argument]) -> Flavours {
    let [min, max] = given else { return None };
    let mut found = Vec::new();
    if let (Some(min), Some(max)) = (min.float(), max.float()) {
        let step = Transformation::made(move |x| {
            let unit = hash(x as u64) as f32 / 9_223_372_036_854_775_808.0;
            Val::Float((max - min) * unit + min)
        });
        found.push(flavour(Ty::Long, Ty::Float, step));
    }
    let step = hashed_double(min.double()?, max.double()?);
    found.push(flavour(Ty::Long, Ty::Double, step));
    Some(found)
}

/// Returns a double between `min` and `max`, chosen by the hash of the input.
pub(super) fn hashed_double(min: f64, max: f64) -> Transformation {
    Transformation::made(move |x| Val::Double((max - min) * unit(x) + min))
}

/// Returns the remainder of the input's hash divided by the input, times `factor`.
fn scaled(input: i64, factor: f64) -> f64 {
    match input {
        0 => 0.0,
        _ => (hash(input as u64) as i64).wrapping_rem(input) as f64 * factor,
    }
}

fn joined(first: Option<Vec<Variant>>, second: Flavours) -> Flavours {
    match (first, second) {
        (Some(mut first), Some(second)) => {
            first.extend(second);
            Some(first)
        }
        (first, second) => first.or(second),
    }
}

/// Returns the two parameters of a curve, and true if the curve hashes its input. Returns `None` if
/// an argument is a modifier that changes more than the hashing.
fn curve(given: &[Argument]) -> Option<(f64, f64, bool)> {
    let [first, second, modifiers @ ..] = given else {
        return None;
    };
    let mut hashed = true;
    for modifier in modifiers {
        match modifier.text()? {
            "hash" | "interpolate" | "clamp" | "finite" => {}
            "map" => hashed = false,
            _ => return None,
        }
    }
    Some((first.double()?, second.double()?, hashed))
}

fn continuous(curve: Curve) -> Variant {
    let step = Transformation::made(move |x| Val::Double(curve.sample(x)));
    flavour(Ty::Long, Ty::Double, step)
}

fn discrete(curve: Curve) -> Vec<Variant> {
    let curve = Arc::new(curve);
    let of_int = Arc::clone(&curve);
    let int = Transformation::made(move |x| Val::Int(of_int.sample(x) as i32));
    vec![
        flavour(
            Ty::Long,
            Ty::Long,
            Transformation::long(move |x| curve.sample(x) as i64),
        ),
        flavour(Ty::Long, Ty::Int, int.clone()),
        flavour(Ty::Int, Ty::Int, int),
    ]
}
