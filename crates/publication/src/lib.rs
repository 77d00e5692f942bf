//! The only crate that removes private data from reports: private strings, their replacements, and
//! a check of the written files.
//!
//! [`Removals::collect`] finds the private strings of runs: values of known fields of the records,
//! names of this machine, and strings of known forms in any text of the pages. The user may change
//! the list, also as a file ([`Removals::to_file`], [`Removals::apply_file`]). [`Replacer`]
//! replaces the strings in page models, before the crate `report` draws the pages. [`write`] writes
//! the files next to their destination, reads them again, searches them with [`find_leaks`], and
//! moves them only if they contain no private string.

mod comments;
mod decoded_texts;
mod destination;
mod leaks;
mod patterns;
mod private_string;
mod record_strings;
mod removal;
mod removals;
mod removals_file;
mod replacer;
mod this_machine;

pub use comments::remove_comments;
pub use destination::{PublishedFile, write};
pub use leaks::{Leak, find_leaks};
pub use private_string::PrivateKind;
pub use removal::Removal;
pub use removals::Removals;
pub use replacer::Replacer;
pub use this_machine::ThisMachine;
