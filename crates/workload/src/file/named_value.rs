//! A value that a workload file defines, before its column is known.

use super::compiled_program::Per;
use super::expr::{Expr, Wrong};
use super::groups::Groups;
use super::resolve::{Numbers, resolve};
use super::value_generators::{Gen, GroupedBy};
use cql::value::CqlType;
use std::sync::Arc;
use yaml::Place;

/// A value that the file defines under a name.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) expr: Expr,
    pub(super) per: Per,
    /// Type that the file states. It applies if the text of a statement does not determine the
    /// type.
    pub(super) typ: Option<CqlType>,
    pub(super) place: Place,
    pub(super) seed: u64,
    /// Number from which the value is computed. By default, this is the number of the row or
    /// operation.
    pub(super) made_from: MadeFrom,
    /// Share of the rows or operations for which the value is missing.
    pub(super) missing: f64,
}

/// Number from which a value is computed.
#[derive(Clone, Debug)]
pub(super) enum MadeFrom {
    /// The number of the row or operation itself.
    Itself,
    /// The quotient of the number of the row or operation and a divisor. If the second field is
    /// set, the remainder of the quotient after division by that field, as in [`Gen::Every`].
    Every(u64, Option<u64>),
    /// The number of the row's group, or the position of the row in its group.
    Group(Arc<Groups>, GroupedBy),
}

impl Value {
    /// Returns the generator of this value for a CQL type. `numbers` describes the numbers from
    /// which the values are computed.
    pub(super) fn generator(&self, typ: &CqlType, numbers: Numbers<'_>) -> Result<Gen, Wrong> {
        let made = self.whole_generator(typ, numbers)?;
        if self.missing == 0.0 {
            return Ok(made);
        }
        Ok(Gen::Sometimes {
            of: Box::new(made),
            missing: self.missing,
        })
    }

    /// Does the same as [`Value::generator`], but ignores the share of missing values.
    fn whole_generator(&self, typ: &CqlType, numbers: Numbers<'_>) -> Result<Gen, Wrong> {
        let up_to = |last: Option<u64>| {
            let numbers = Numbers { last, ..numbers };
            resolve(&self.expr, typ, numbers).map(Box::new)
        };
        Ok(match &self.made_from {
            MadeFrom::Itself => return resolve(&self.expr, typ, numbers),
            MadeFrom::Every(divide, modulo) => {
                let (divide, modulo) = (*divide, *modulo);
                let step = numbers.last.map(|last| last / divide);
                let most = modulo.map(|modulo| modulo - 1);
                let of = up_to(step.into_iter().chain(most).min())?;
                Gen::Every { of, divide, modulo }
            }
            MadeFrom::Group(groups, by) => {
                let last = match by {
                    GroupedBy::Group => numbers.last.map(|last| groups.position(last).0),
                    GroupedBy::Place => Some(groups.place_max()),
                };
                Gen::Grouped {
                    of: up_to(last)?,
                    groups: Arc::clone(groups),
                    by: *by,
                }
            }
        })
    }
}
