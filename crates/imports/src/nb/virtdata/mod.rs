//! Binding recipes, which are chains of functions from a cycle to a value. The values equal
//! NoSQLBench's values bit for bit.
//!
//! Reading order: [`recipe`] reads the text. [`functions`] has the table of functions with the
//! flavours of each function. [`resolve`] chooses among the flavours as virtdata does. [`Recipe`]
//! runs the chain.

mod alias;
mod arithmetic;
pub(crate) mod chain;
mod collections;
mod convert;
mod dates;
pub(crate) mod functions;
pub(crate) mod java_value;
mod line_functions;
mod names;
pub(crate) mod parse_recipe;
mod place_names;
mod random_choice;
pub(crate) mod resolve;
mod saved_values;
mod strings;
mod tables;

pub(crate) use chain::Recipe;
pub(crate) use java_value::{Ty, Val};

#[cfg(test)]
mod tests;
