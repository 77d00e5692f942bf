//! How a study writes where a secret is.

use crate::tree::Tree;
use target::SecretSource;

/// What makes a secret of a text under one of the keys that a study has for it.
pub(crate) fn secret_kind(key: &str) -> Option<fn(&str) -> SecretSource> {
    match key {
        "secret" => Some(|name| SecretSource::Named(name.to_owned())),
        "file" => Some(|path| SecretSource::File(path.into())),
        "env" => Some(|name| SecretSource::Env(name.to_owned())),
        _ => None,
    }
}

/// That of a checked tree.
pub(crate) fn secret_of(tree: &Tree) -> Option<SecretSource> {
    let (key, text) = tree.entries().first()?;
    Some(secret_kind(key)?(text.text()?))
}
