//! Binding recipes: chains of functions from a cycle to a value, bit for bit NoSQLBench's.
//!
//! Reading order: [`recipe`] reads the text, [`functions`] knows the flavours of each function,
//! [`resolve`] chooses among them as virtdata does, [`Recipe`] runs the chain.

pub(crate) mod curve;
mod drawn;
pub(crate) mod functions;
mod names;
pub(crate) mod recipe;
pub(crate) mod resolve;
pub(crate) mod value;

pub(crate) use resolve::Recipe;
pub(crate) use value::{Ty, Val};
