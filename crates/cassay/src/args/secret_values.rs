//! Hides values of the command line in error messages.
//!
//! clap prints every value that it refuses, so the value appears in the log of a pipeline. The
//! value of `NAME=VALUE` or of a target may contain a password. For these values, the message
//! contains only the name.

use clap::error::{ContextKind, ContextValue, Error};
use std::borrow::Cow;
use yaml::without_secrets;

/// Parts of the names of option values that may contain a secret: `NAME=SOURCE`,
/// `attach:HOST[:PORT]`, `TARGET`, `--token`.
const SECRET: [&str; 4] = ["=", "attach:", "TARGET", "--token"];

/// Masks the secrets in a command-line error. If clap refused the value of one of the options in
/// [`SECRET`], keeps only the name in that value.
pub fn unseen(error: Error) -> Error {
    let mut error = masked(error);
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if !SECRET.iter().any(|part| option.contains(part)) {
        return error;
    }
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
        return error;
    };
    let said = key(value);
    error.insert(ContextKind::InvalidValue, ContextValue::String(said));
    error
}

/// Returns a command-line error with masks in all texts that it quotes, such as the address
/// `http://USER:PASSWORD@HOST`.
fn masked(mut error: Error) -> Error {
    let mask = |value: &ContextValue| match value {
        ContextValue::String(text) => Some(ContextValue::String(match without_secrets(text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => return None,
        })),
        _ => None,
    };
    let masks = error.context().filter_map(|(kind, value)| Some((kind, mask(value)?)));
    for (kind, value) in masks.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
    error
}

/// Returns `NAME=…` if the text before `=` is a plain name, and `…` otherwise.
fn key(value: &str) -> String {
    let is_name = |name: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !name.is_empty() && name.chars().all(is_plain)
    };
    match value.split_once('=').map(|(name, _)| name).filter(is_name) {
        Some(name) => format!("{name}=…"),
        None => "…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_that_may_hold_a_secret_says_it_back() {
        for words in [
            "run s.yaml --secret db=hunter2",
            "run s.yaml --secret hunter2",
            "run s.yaml --secret=db=text:hunter2",
            "plan s.yaml --secret db:hunter2",
            "resume --secret db=hunter2",
            "run s.yaml --allow hunter2",
            "workload check w.yaml --target attach: --set password=hunter2",
            "workload check w.yaml --target null:hunter2",
            "workload check w.yaml --target attach:h --set target.attach.password:hunter2",
            "workload check w.yaml --target attach:h --secret db=hunter2",
            "target up --set Password=hunter2",
            "doctor --target cassandra:hunter2@db1",
            "clean --target null attach:u:hunter2@db1",
            "serve --token hunter2",
            "watch --token=hunter2",
        ] {
            let words = words.split(' ');
            let parsed = super::super::command()
                .try_get_matches_from(["cassay"].into_iter().chain(words.clone()));
            let error = unseen(parsed.expect_err("the value is refused"));
            let text = error.render().to_string();
            let words: Vec<&str> = words.collect();
            assert!(!text.contains("hunter2"), "{words:?}: {text}");
            assert!(text.contains("--"), "the option is named: {text}");
        }
    }

    #[test]
    fn a_value_that_is_no_secret_is_said_as_before() {
        let words = ["cassay", "resume", "--more", "900"];
        let error = super::super::command()
            .try_get_matches_from(words)
            .expect_err("900 blocks are too many");
        assert!(unseen(error).render().to_string().contains("'900'"));
    }

    #[test]
    fn only_what_looks_like_a_name_is_said_of_a_value() {
        assert_eq!(key("db=hunter2"), "db=…");
        assert_eq!(
            key("target.attach.password=x=y"),
            "target.attach.password=…"
        );
        assert_eq!(key("hunter2"), "…");
        assert_eq!(key("=hunter2"), "…");
        assert_eq!(key("user:hunter2@db=x"), "…");
    }
}
