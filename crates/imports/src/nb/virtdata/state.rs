//! What Save functions keep for Load functions.
//!
//! NoSQLBench keeps it for each thread. Here as there a value is that of the cycle at hand only if
//! it was saved before in the same operation, so nothing else is let through: see [`Uses`].

use std::cell::RefCell;
use std::collections::HashMap;

use super::functions::{Found, Given, Step, flavour};
use super::recipe::{Arg, Call};
use super::value::{Ty, Val};

thread_local! {
    static SAVED: RefCell<HashMap<Box<str>, Val<'static>>> = RefCell::default();
}

/// Keeps a value under a name.
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

/// The value that was last kept under a name.
pub(super) fn load(name: &str) -> Option<Val<'static>> {
    SAVED.with_borrow(|saved| saved.get(name).cloned())
}

/// What a recipe saves, and what it loads that it has not saved before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) saves: Vec<String>,
    pub(crate) loads: Vec<String>,
}

impl Uses {
    /// Those of calls, in the order in which they are made.
    pub(super) fn of(calls: &[Call]) -> Uses {
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
        if SAVES.contains(&known) {
            self.saves.push(name.clone());
        } else if LOADS.contains(&known) && call.args.len() == 1 && !self.saves.contains(name) {
            self.loads.push(name.clone());
        }
    }
}

pub(super) const SAVES: [&str; 6] = [
    "Save",
    "SaveString",
    "SaveLong",
    "SaveInteger",
    "SaveDouble",
    "SaveFloat",
];
pub(super) const LOADS: [&str; 6] = [
    "Load",
    "LoadString",
    "LoadLong",
    "LoadInteger",
    "LoadDouble",
    "LoadFloat",
];

/// The flavours of functions that save and load.
pub(super) fn variants(name: &str, given: &[Given]) -> Found {
    let types: &[Ty] = match name.trim_start_matches("Save").trim_start_matches("Load") {
        "" => &[Ty::Long, Ty::Int, Ty::Double, Ty::Text, Ty::Object],
        "Long" => &[Ty::Long],
        "Integer" => &[Ty::Int],
        "Double" => &[Ty::Double],
        "Float" => &[Ty::Float],
        "String" => &[Ty::Text],
        _ => return None,
    };
    match given {
        [Given::Text(slot)] if SAVES.contains(&name) => {
            let one = |ty: &Ty| flavour(*ty, *ty, Step::Save(slot.as_str().into()));
            let mut found: Vec<_> = types.iter().map(one).collect();
            if name == "SaveString" {
                let made = Step::SaveText(slot.as_str().into());
                found.push(flavour(Ty::Long, Ty::Text, made));
            }
            Some(found)
        }
        [Given::Text(slot), default @ ..] if LOADS.contains(&name) && default.len() <= 1 => {
            let default = match default.first() {
                None => None,
                Some(given) => Some(Box::new(constant(given)?)),
            };
            let step = || Step::Load {
                slot: slot.as_str().into(),
                default: default.clone(),
            };
            let mut found: Vec<_> = types.iter().map(|ty| flavour(*ty, *ty, step())).collect();
            // What is loaded does not depend on what comes in.
            found.extend(types.iter().map(|ty| flavour(Ty::Object, *ty, step())));
            Some(found)
        }
        _ => None,
    }
}

/// A value that stands in a recipe.
pub(super) fn constant(given: &Given) -> Option<Val<'static>> {
    Some(match given {
        Given::Int(v) => Val::Int(*v),
        Given::Long(v) => Val::Long(*v),
        Given::Float(v) => Val::Float(*v),
        Given::Double(v) => Val::Double(*v),
        Given::Bool(v) => Val::Bool(*v),
        Given::Text(v) => Val::Text(v.clone().into()),
        Given::Function(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nb::virtdata::recipe::parse;

    #[test]
    fn what_a_recipe_loads_without_saving_it_is_known() {
        for (recipe, saves, loads) in [
            ("Save('a'); Mul(2); Load('a')", "a", ""),
            ("Load('a'); Save('a')", "a", "a"),
            ("Template('{}', Load('b'))", "", "b"),
            ("Load('a', 5)", "", ""),
            (
                "SaveLong('x'); CharBufImage('a-z',9,LoadLong('x'))",
                "x",
                "",
            ),
        ] {
            let uses = Uses::of(&parse(recipe).unwrap());
            let found = (uses.saves.join(" "), uses.loads.join(" "));
            assert_eq!(found, (saves.to_owned(), loads.to_owned()), "{recipe}");
        }
    }
}
