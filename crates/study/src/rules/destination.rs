//! What is said of machines that `ssh` finds: `ssh` is given what stands there, and its
//! configuration may run a program.

use super::trust::HINT;
use yaml::{Diagnostics, Node};

/// What to write where a destination stands that is none.
const FORM: &str = "write HOST, USER@HOST or ssh://USER@HOST:PORT";

/// Looks at one at `path`; `does` is what is done with the machine, if nobody stands behind it.
pub(super) fn check(
    is_trusted: bool,
    (path, node): (&str, &Node),
    does: &str,
    out: &mut Diagnostics,
) {
    let Some(text) = node.text() else {
        return;
    };
    let is_plain =
        text.starts_with(char::is_alphanumeric) && text.chars().all(|c| c.is_ascii_graphic());
    let (message, hint) = if !is_plain {
        (
            format!("`{path}`: {text:?} is no destination for ssh"),
            FORM,
        )
    } else if !is_trusted {
        (
            format!("`{path}` has this program run on {text} as your user there, and {does}"),
            HINT,
        )
    } else {
        return;
    };
    out.add(&node.place, message, Some(hint.to_owned()));
}
