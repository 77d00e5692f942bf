//! The only crate that knows where a mistake is in a text: located YAML trees, collected
//! mistakes, did-you-mean.
//!
//! Reading order: [`parse`] creates [`Node`]s, each of which contains its [`Place`]. Checks add
//! mistakes with their places to [`Diagnostics`], which shows all of them together.

mod diagnostic;
mod shell_word;
mod tree;

pub use diagnostic::{
    Diagnostic, Diagnostics, Place, SourceText, did_you_mean, line_and_column, near_name,
};
pub use shell_word::shell_word;
pub use tree::{Entry, Limits, Node, Raw, parse};
