//! Binding recipes, which are chains of functions from a cycle to a value. The values equal
//! NoSQLBench's values bit for bit.
//!
//! Reading order: [`parse_recipe`] parses the text of a recipe. [`tables`] contains the rows of all
//! functions, and [`functions`] defines the form of a row. [`resolve`] chooses among the flavours
//! of a function as virtdata does. [`Recipe`] executes the chain.

mod alias;
mod arithmetic;
pub(crate) mod chain;
mod collections;
mod convert;
mod dates;
pub(crate) mod functions;
pub(crate) mod java_value;
mod line_functions;
pub(crate) mod parse_recipe;
mod place_names;
mod random_choice;
mod refused_functions;
pub(crate) mod resolve;
mod saved_values;
mod strings;
mod tables;

pub(crate) use chain::Recipe;
pub(crate) use java_value::{Ty, Val};

#[cfg(test)]
mod tests;
