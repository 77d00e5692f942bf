//! Rules for machines that cassay reaches by `ssh`. cassay passes the text to `ssh`, whose
//! configuration may run a program.

use super::harmless::HINT;
use std::borrow::Cow;
use yaml::{Diagnostics, Node};

const FORM: &str = "write HOST, USER@HOST or ssh://USER@HOST:PORT";

/// Checks the destination at `path`. `does` describes how cassay uses the machine. The message
/// about an untrusted machine contains this description.
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
            format!("`{path}`: {text:?} is not a destination for ssh"),
            FORM,
        )
    } else if matches!(yaml::without_secrets(text), Cow::Owned(_)) {
        (
            format!("`{path}` contains a password, but ssh accepts no password in a destination"),
            FORM,
        )
    } else if !is_trusted {
        (
            format!("`{path}` runs this program on {text} as your user, and {does}"),
            HINT,
        )
    } else {
        return;
    };
    out.add(&node.place, message, Some(hint.to_owned()));
}
