//! The keys by which a study names the source of a secret.

use crate::checked_tree::Tree;
use target_spec::SecretSource;

/// Returns the function that builds a secret from the text of one of its keys.
pub(crate) fn secret_kind(key: &str) -> Option<fn(&str) -> SecretSource> {
    match key {
        "secret" => Some(|name| SecretSource::Named(name.to_owned())),
        "file" => Some(|path| SecretSource::File(path.into())),
        "env" => Some(|name| SecretSource::Env(name.to_owned())),
        _ => None,
    }
}

/// Returns the secret of a checked tree.
pub(crate) fn secret_of(tree: &Tree) -> Option<SecretSource> {
    let (key, text) = tree.entries().first()?;
    Some(secret_kind(key)?(text.text()?))
}
