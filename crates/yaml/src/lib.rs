//! The only crate that finds the line and column of a mistake in a text: located YAML trees,
//! collected mistakes, near names.
//!
//! Reading order: [`parse`] creates [`Node`]s, each of which contains its [`Place`]. Checks add
//! mistakes with their places to [`Diagnostics`], which shows all of them together. No mistake
//! shows a secret: [`without_secrets`] masks messages, and [`MaskedSource`] masks the lines of
//! sources.

mod diagnostic;
mod java_property;
mod secret_mask;
mod secret_name;
mod shell_word;
mod tree;

pub use diagnostic::{
    Diagnostic, Diagnostics, Place, SourceText, did_you_mean, line_and_column, near_name,
};
pub use java_property::{JavaProperty, java_properties};
pub use secret_mask::{MaskedSource, without_secrets, words_without_secrets};
pub use secret_name::names_secret;
pub use shell_word::shell_word;
pub use tree::{Entry, Limits, Node, Raw, parse};
