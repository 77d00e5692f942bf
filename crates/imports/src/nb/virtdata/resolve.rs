//! Chooses among the flavours of a recipe's functions, as virtdata does. The input type of the next
//! function decides first, and the order of preference decides last.

use super::chain::{Env, Recipe};
use super::functions::{Argument, Variant};
use super::java_value::Ty;
use super::parse_recipe::{Arg, Call, RecipeMistake, parse};
use super::saved_values::Uses;
use super::{convert, tables};
use cql::value::CqlType;

impl Recipe {
    pub(crate) fn compile(text: &str, env: &mut Env) -> Result<Recipe, RecipeMistake> {
        Self::from_calls(&parse(text)?, env)
    }

    /// Returns the names that a recipe saves and loads. Returns empty lists if the recipe is
    /// invalid.
    pub(crate) fn uses(text: &str) -> Uses {
        parse(text).map_or_else(|_| Uses::default(), |calls| Uses::names(&calls))
    }

    /// Adds the conversion that Cassandra applies to a value that is written in the text of a
    /// statement.
    pub(crate) fn written_as(mut self, typ: &CqlType) -> Recipe {
        self.steps.push(convert::written_as(typ));
        self.ty = self.value(0).ty();
        self
    }

    fn from_calls(calls: &[Call], env: &mut Env) -> Result<Recipe, RecipeMistake> {
        let mut flavours = Vec::with_capacity(calls.len());
        for call in calls {
            flavours.push(candidates(call, env)?);
        }
        flavours[0].retain(|variant| matches!(variant.input, Ty::Long | Ty::Object));
        if flavours[0].is_empty() {
            let message = format!(
                "{} does not accept a cycle, which is a long, so it cannot be the first function",
                calls[0].name
            );
            return Err(RecipeMistake::new(message, calls[0].at));
        }
        let last = &calls[calls.len() - 1];
        let wanted = last.output.as_deref().and_then(Ty::parse);
        choose(&mut flavours, wanted);
        let chosen: Vec<Variant> = flavours.into_iter().map(|mut f| f.swap_remove(0)).collect();
        let ty = chosen[chosen.len() - 1].output;
        let steps = chosen.into_iter().map(|variant| variant.step).collect();
        Ok(Recipe { steps, ty })
    }
}

/// Returns the flavours of a call that fit its arguments and stated types. The list contains at
/// least one flavour.
fn candidates(call: &Call, env: &mut Env) -> Result<Vec<Variant>, RecipeMistake> {
    let mut given = Vec::with_capacity(call.args.len());
    for arg in &call.args {
        given.push(match arg {
            Arg::Int(v) => Argument::Int(*v),
            Arg::Long(v) => Argument::Long(*v),
            Arg::Float(v) => Argument::Float(*v),
            Arg::Double(v) => Argument::Double(*v),
            Arg::Text(v) => Argument::Text(v.clone()),
            Arg::Bool(v) => Argument::Bool(*v),
            Arg::Call(inner) => {
                Argument::Function(Recipe::from_calls(std::slice::from_ref(inner), env)?)
            }
        });
    }
    let type_of = |name: &Option<String>| match name {
        None => Ok(None),
        Some(name) => Ty::parse(name).map(Some).ok_or_else(|| {
            let message = format!("type {name} after {} is unknown", call.name);
            RecipeMistake::new(message, call.at)
        }),
    };
    let (input, output) = (type_of(&call.input)?, type_of(&call.output)?);
    let mut variants = tables::variants(call, &given, env)?;
    variants.retain(|variant| {
        input.is_none_or(|ty| variant.input == ty || variant.input == Ty::Object)
            && output.is_none_or(|ty| variant.output == ty || ty == Ty::Object)
    });
    if variants.is_empty() {
        let stated = |ty: Option<Ty>| ty.map_or("anything", Ty::name);
        let message = format!(
            "{} with these arguments cannot convert {} to {}",
            call.name,
            stated(input),
            stated(output)
        );
        return Err(RecipeMistake::new(message, call.at));
    }
    Ok(variants)
}

/// Reduces the flavours of each function to a single flavour.
fn choose(flavours: &mut [Vec<Variant>], wanted: Option<Ty>) {
    loop {
        let mut progress = false;
        if let (Some(ty), Some(last)) = (wanted, flavours.last_mut())
            && last.iter().any(|v| v.output.widens_to(ty))
        {
            progress |= retain(last, |v| v.output.widens_to(ty));
        }
        if flavours.len() == 1 {
            prefer(&mut flavours[0]);
            return;
        }
        for next in 1..flavours.len() {
            if progress {
                break;
            }
            let (previous, rest) = flavours.split_at_mut(next);
            progress = narrow(&mut previous[next - 1], &mut rest[0]);
        }
        if !progress {
            for flavour in flavours.iter_mut() {
                prefer(flavour);
            }
            return;
        }
    }
}

/// Narrows the flavours of two neighbouring functions by one step. Returns true if this step has
/// removed a flavour.
fn narrow(previous: &mut Vec<Variant>, next: &mut Vec<Variant>) -> bool {
    let outputs: Vec<Ty> = previous.iter().map(|v| v.output).collect();
    if next.iter().any(|v| outputs.contains(&v.input)) {
        if retain(next, |v| outputs.contains(&v.input)) {
            return true;
        }
    } else if next.iter().any(|v| takes_any(v, &outputs))
        && retain(next, |v| takes_any(v, &outputs))
    {
        return true;
    }
    prefer(previous) || prefer(next)
}

fn takes_any(variant: &Variant, outputs: &[Ty]) -> bool {
    outputs.iter().any(|output| output.widens_to(variant.input))
}

/// Keeps only the flavours that `keeps` accepts. Returns true if the function has removed a
/// flavour.
fn retain(variants: &mut Vec<Variant>, keeps: impl Fn(&Variant) -> bool) -> bool {
    let before = variants.len();
    variants.retain(keeps);
    variants.len() < before
}

/// Keeps only the preferred flavour. Returns true if the function has removed a flavour.
fn prefer(variants: &mut Vec<Variant>) -> bool {
    variants.sort_by_key(|v| (v.input.rank(), v.output.rank()));
    let several = variants.len() > 1;
    variants.truncate(1);
    several
}
