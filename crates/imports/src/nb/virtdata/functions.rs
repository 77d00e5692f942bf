//! Definitions of the functions that recipes can use. A definition is a row with the names of the
//! function, and with the flavours that result from the arguments of a call.

use std::sync::Arc;

use super::chain::{Env, Recipe};
use super::java_value::{Ty, Val};
use super::parse_recipe::{Call, RecipeMistake};
use workload::virtdata::hash;

/// Mask for the low 31 bits. `int` flavours use the mask to avoid negative numbers.
pub(super) const INT_MASK: i64 = 0x7FFF_FFFF;
/// Maximum number of characters, bytes or elements of a value. It is 64 Mi, the same limit as for a
/// row of cassandra-stress.
const COUNT_MAX: i64 = 64 << 20;

pub(super) struct Row {
    pub(super) names: &'static [&'static str],
    pub(super) make: Make,
}

/// The flavours of a call. `None` if the function does not accept the arguments of the call.
pub(super) type Flavours = Option<Vec<Variant>>;

/// Function that builds the flavours of a call.
pub(super) enum Make {
    /// Builds the flavours from the arguments alone.
    Of(fn(&[Argument]) -> Flavours),
    /// Builds the flavours of a function that reads files, records notes, or reports its own
    /// mistakes.
    Asking(fn(&Call, &[Argument], &mut Env) -> Result<Flavours, RecipeMistake>),
}

/// Defines a function whose flavours depend only on its arguments.
pub(super) const fn row(names: &'static [&'static str], make: fn(&[Argument]) -> Flavours) -> Row {
    let make = Make::Of(make);
    Row { names, make }
}

/// Defines a function that needs files, notes or its own mistakes in addition to its arguments.
pub(super) const fn asking(
    names: &'static [&'static str],
    make: fn(&Call, &[Argument], &mut Env) -> Result<Flavours, RecipeMistake>,
) -> Row {
    let make = Make::Asking(make);
    Row { names, make }
}

#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Text(String),
    Bool(bool),
    Function(Recipe),
}

#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) input: Ty,
    pub(crate) output: Ty,
    pub(crate) step: Transformation,
}

#[derive(Clone)]
pub(crate) struct Transformation(Arc<dyn Effect>);

trait Effect: Send + Sync {
    fn apply<'a>(&'a self, value: Val<'a>) -> Val<'a>;
}

/// A state, and a function of this state and a value.
struct With<T, F>(T, F);

impl<T, F> Effect for With<T, F>
where
    T: Send + Sync,
    F: for<'a> Fn(&'a T, Val<'a>) -> Val<'a> + Send + Sync,
{
    #[inline]
    fn apply<'a>(&'a self, value: Val<'a>) -> Val<'a> {
        (self.1)(&self.0, value)
    }
}

impl core::fmt::Debug for Transformation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Step")
    }
}

pub(super) trait Whole: Fn(i64) -> i64 + Send + Sync + 'static {}
impl<F: Fn(i64) -> i64 + Send + Sync + 'static> Whole for F {}

impl Transformation {
    /// Creates a transformation that has a state. The transformation returns a part of the state,
    /// or a value made from the state.
    pub(super) fn with<T, F>(held: T, effect: F) -> Transformation
    where
        T: Send + Sync + 'static,
        F: for<'a> Fn(&'a T, Val<'a>) -> Val<'a> + Send + Sync + 'static,
    {
        Transformation(Arc::new(With(held, effect)))
    }

    pub(super) fn new(effect: impl Fn(Val) -> Val + Send + Sync + 'static) -> Transformation {
        Transformation::with((), move |(), value| effect(value))
    }

    pub(super) fn made(
        effect: impl Fn(i64) -> Val<'static> + Send + Sync + 'static,
    ) -> Transformation {
        Transformation::with((), move |(), value| effect(value.long()))
    }

    pub(super) fn long(effect: impl Whole) -> Transformation {
        Transformation::made(move |x| Val::Long(effect(x)))
    }

    pub(super) fn int(effect: impl Whole) -> Transformation {
        Transformation::made(move |x| Val::Int(effect(x) as i32))
    }

    pub(super) fn fixed(value: Val<'static>) -> Transformation {
        Transformation::with(value, |value, _| value.clone())
    }

    #[inline]
    pub(super) fn apply<'a>(&'a self, value: Val<'a>) -> Val<'a> {
        self.0.apply(value)
    }
}

/// A number that is either fixed or the result of another function.
#[derive(Clone, Debug)]
pub(super) enum Count {
    Fixed(i64),
    Of(Recipe),
}

impl Count {
    pub(super) fn value(&self, input: i64) -> i64 {
        match self {
            Count::Fixed(count) => *count,
            // The result of a function is not known before this point, so the limit is checked
            // here.
            Count::Of(recipe) => recipe.value(input).long().min(COUNT_MAX),
        }
    }

    pub(super) fn given(given: &Argument) -> Option<Count> {
        Some(match given {
            Argument::Function(recipe) => Count::Of(recipe.clone()),
            other => Count::Fixed(other.long().filter(|count| *count <= COUNT_MAX)?),
        })
    }
}

impl Argument {
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Argument::Int(v) => Some(i64::from(*v)),
            _ => None,
        }
    }

    pub(super) fn long(&self) -> Option<i64> {
        match self {
            Argument::Long(v) => Some(*v),
            _ => self.int(),
        }
    }

    pub(super) fn float(&self) -> Option<f32> {
        match self {
            Argument::Float(v) => Some(*v),
            _ => self.long().map(|v| v as f32),
        }
    }

    pub(super) fn double(&self) -> Option<f64> {
        match self {
            Argument::Double(v) => Some(*v),
            Argument::Float(v) => Some(f64::from(*v)),
            _ => self.long().map(|v| v as f64),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Argument::Text(v) => Some(v),
            _ => None,
        }
    }

    /// Returns the arguments as functions. Returns `None` if one of the arguments is not a
    /// function.
    pub(super) fn functions(given: &[Argument]) -> Option<Arc<[Recipe]>> {
        let recipes = given.iter().map(|given| match given {
            Argument::Function(recipe) => Some(recipe.clone()),
            _ => None,
        });
        recipes.collect()
    }

    /// Returns the value of a literal in a recipe.
    pub(super) fn constant(&self) -> Option<Val<'static>> {
        Some(match self {
            Argument::Int(v) => Val::Int(*v),
            Argument::Long(v) => Val::Long(*v),
            Argument::Float(v) => Val::Float(*v),
            Argument::Double(v) => Val::Double(*v),
            Argument::Bool(v) => Val::Bool(*v),
            Argument::Text(v) => Val::Text(v.clone().into()),
            Argument::Function(_) => return None,
        })
    }
}

pub(super) fn flavour(input: Ty, output: Ty, step: Transformation) -> Variant {
    Variant {
        input,
        output,
        step,
    }
}

/// Returns one flavour for each input type. All flavours have the same output type and
/// transformation.
pub(super) fn from(inputs: &[Ty], output: Ty, step: &Transformation) -> Flavours {
    let one = |input: &Ty| flavour(*input, output, step.clone());
    Some(inputs.iter().map(one).collect())
}

/// Returns one flavour whose input is a cycle.
pub(super) fn cycle(output: Ty, step: Transformation) -> Flavours {
    Some(vec![flavour(Ty::Long, output, step)])
}

/// Returns one flavour from a function of the cycle.
pub(super) fn made(
    output: Ty,
    make: impl Fn(i64) -> Val<'static> + Send + Sync + 'static,
) -> Flavours {
    cycle(output, Transformation::made(make))
}

#[inline]
pub(super) fn hash_range(value: i64, (first, width): (i64, i64)) -> i64 {
    first.wrapping_add(hash(value as u64) as i64 % width)
}

/// Returns a number in [0, 1), computed from the hash of `value`.
#[inline]
pub(super) fn unit(value: i64) -> f64 {
    hash(value as u64) as f64 / 9_223_372_036_854_775_808.0
}

/// Returns the value that the hash of `input` selects. The weights of `values` are cumulative and
/// go up to 1.
pub(super) fn weighted<T>(values: &[(f64, T)], input: i64) -> &T {
    let unit = unit(input);
    let at = values.partition_point(|(cumulative, _)| unit >= *cumulative);
    &values[at.min(values.len() - 1)].1
}

/// Parses pairs such as `a:1.5` and `b:2` to values with cumulative weights up to 1. A value
/// without a stated weight has the weight 1 before the weights are scaled.
pub(super) fn weights<T>(
    pairs: impl Iterator<Item: AsRef<str>>,
    value: impl Fn(&str) -> Option<T>,
) -> Option<Arc<[(f64, T)]>> {
    let mut read = Vec::new();
    for pair in pairs {
        let pair = pair.as_ref();
        let (text, weight) = pair.split_once(':').unwrap_or((pair, "1"));
        read.push((weight.trim().parse::<f64>().ok()?, value(text.trim())?));
    }
    let total: f64 = read.iter().map(|(weight, _)| weight).sum();
    if total <= 0.0 || !total.is_finite() {
        return None;
    }
    let mut sum = 0.0;
    for (weight, _) in &mut read {
        sum += *weight / total;
        *weight = sum;
    }
    Some(read.into())
}
