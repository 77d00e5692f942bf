//! The keys with which a study names the source of a secret.

use crate::checked_tree::Tree;
use target_spec::SecretSource;

/// Returns the function that makes the source of a secret from the value of `key`. `None` for an
/// unknown key.
pub(crate) fn secret_kind(key: &str) -> Option<fn(&str) -> SecretSource> {
    match key {
        "secret" => Some(|name| SecretSource::Named(name.to_owned())),
        "file" => Some(|path| SecretSource::File(path.into())),
        "env" => Some(|name| SecretSource::Env(name.to_owned())),
        _ => None,
    }
}

pub(crate) fn secret_of(tree: &Tree) -> Option<SecretSource> {
    let (key, text) = tree.entries().first()?;
    Some(secret_kind(key)?(text.text()?))
}
