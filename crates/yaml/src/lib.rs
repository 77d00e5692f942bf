//! The only crate that knows where a mistake stands in a text: located YAML trees, collected
//! mistakes, did-you-mean.
//!
//! Reading order: [`parse`] makes [`Node`]s that know their [`Place`]; whoever finds a mistake adds
//! it to [`Diagnostics`] with that place; all are shown together.

mod diagnostic;
mod tree;

pub use diagnostic::{Diagnostic, Diagnostics, Place, SourceText, did_you_mean, line_and_column};
pub use tree::{Entry, Limits, Node, Raw, parse};
