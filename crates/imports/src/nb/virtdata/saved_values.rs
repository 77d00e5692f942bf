//! Storage of values that Save functions keep for Load functions.
//!
//! NoSQLBench keeps these values per thread. In both programs, a value belongs to the current cycle
//! only if the same operation has already saved it. cassay therefore refuses any other use. See
//! [`Uses`].

use std::cell::RefCell;
use std::collections::HashMap;

use super::functions::{Argument, Flavours, Row, Transformation, flavour, row};
use super::java_value::{Ty, Val};
use super::parse_recipe::{Arg, Call};

thread_local! {
    static SAVED: RefCell<HashMap<Box<str>, Val<'static>>> = RefCell::default();
}

pub(super) fn save(name: &str, value: &Val) {
    SAVED.with_borrow_mut(|saved| {
        let value = value.clone().owned();
        match saved.get_mut(name) {
            Some(known) => *known = value,
            None => {
                saved.insert(name.into(), value);
            }
        }
    });
}

pub(super) fn load(name: &str) -> Option<Val<'static>> {
    SAVED.with_borrow(|saved| saved.get(name).cloned())
}

/// Names that a recipe saves, and names that it loads without saving them first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) saves: Vec<String>,
    /// Names that the recipe loads without a default.
    pub(crate) loads: Vec<String>,
    /// Names that the recipe loads with a default, which applies until a recipe saves the name.
    pub(crate) defaulted: Vec<String>,
}

impl Uses {
    /// Returns the names that a sequence of calls saves and loads. The order of the calls matters.
    pub(super) fn names(calls: &[Call]) -> Uses {
        let mut uses = Uses::default();
        calls.iter().for_each(|call| uses.add(call));
        uses
    }

    fn add(&mut self, call: &Call) {
        for arg in &call.args {
            if let Arg::Call(inner) = arg {
                self.add(inner);
            }
        }
        let (Some(Arg::Text(name)), known) = (call.args.first(), call.name.as_str()) else {
            return;
        };
        let is_in = |rows: &[Row]| rows.iter().any(|row| row.names.contains(&known));
        if is_in(SAVES) {
            self.saves.push(name.clone());
        } else if is_in(LOADS) && !self.saves.contains(name) {
            let has_default = call.args.len() > 1;
            let loads = if has_default {
                &mut self.defaulted
            } else {
                &mut self.loads
            };
            loads.push(name.clone());
        }
    }
}

/// Types that Save and Load accept if the function's name does not state a type.
const ANY: [Ty; 5] = [Ty::Long, Ty::Int, Ty::Double, Ty::Text, Ty::Object];

pub(super) const SAVES: &[Row] = &[
    row(&["Save"], |given| saved(given, &ANY)),
    row(&["SaveLong"], |given| saved(given, &[Ty::Long])),
    row(&["SaveInteger"], |given| saved(given, &[Ty::Int])),
    row(&["SaveDouble"], |given| saved(given, &[Ty::Double])),
    row(&["SaveFloat"], |given| saved(given, &[Ty::Float])),
    row(&["SaveString"], |given| {
        let slot = slot(given)?;
        let mut found = saved(given, &[Ty::Text])?;
        let step = Transformation::new(move |value| {
            let value = Val::Text(value.text());
            save(&slot, &value);
            value
        });
        found.push(flavour(Ty::Long, Ty::Text, step));
        Some(found)
    }),
];

pub(super) const LOADS: &[Row] = &[
    row(&["Load"], |given| loaded(given, &ANY)),
    row(&["LoadLong"], |given| loaded(given, &[Ty::Long])),
    row(&["LoadInteger"], |given| loaded(given, &[Ty::Int])),
    row(&["LoadDouble"], |given| loaded(given, &[Ty::Double])),
    row(&["LoadFloat"], |given| loaded(given, &[Ty::Float])),
    row(&["LoadString"], |given| loaded(given, &[Ty::Text])),
];

fn slot(given: &[Argument]) -> Option<Box<str>> {
    match given {
        [Argument::Text(slot)] => Some(slot.as_str().into()),
        _ => None,
    }
}

fn saved(given: &[Argument], types: &[Ty]) -> Flavours {
    let slot = slot(given)?;
    let step = Transformation::new(move |value| {
        save(&slot, &value);
        value
    });
    let one = |ty: &Ty| flavour(*ty, *ty, step.clone());
    Some(types.iter().map(one).collect())
}

fn loaded(given: &[Argument], types: &[Ty]) -> Flavours {
    let (slot, default) = match given {
        [name] => (slot(std::slice::from_ref(name))?, Val::Long(0)),
        [name, default] => (slot(std::slice::from_ref(name))?, default.constant()?),
        _ => return None,
    };
    // The function ignores its input and returns the loaded value.
    let step = Transformation::new(move |_| load(&slot).unwrap_or_else(|| default.clone()));
    let one = |ty: &Ty| flavour(*ty, *ty, step.clone());
    let mut found: Vec<_> = types.iter().map(one).collect();
    found.extend(types.iter().map(|ty| flavour(Ty::Object, *ty, step.clone())));
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nb::virtdata::parse_recipe::parse;

    #[test]
    fn states_that_a_recipe_loads_without_saving_are_known() {
        for (recipe, saves, loads, defaulted) in [
            ("Save('a'); Mul(2); Load('a')", "a", "", ""),
            ("Load('a'); Save('a')", "a", "a", ""),
            ("Template('{}', Load('b'))", "", "b", ""),
            ("Load('a', 5)", "", "", "a"),
            ("Load('a', 5); Save('a'); Load('a', 5)", "a", "", "a"),
            (
                "SaveLong('x'); CharBufImage('a-z',9,LoadLong('x'))",
                "x",
                "",
                "",
            ),
        ] {
            let uses = Uses::names(&parse(recipe).unwrap());
            let found = [uses.saves, uses.loads, uses.defaulted].map(|names| names.join(" "));
            assert_eq!(found, [saves, loads, defaulted], "{recipe}");
        }
    }
}
