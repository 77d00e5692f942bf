//! Reads the token of a server from its source.

use anyhow::{Context, Result, bail};
use foreign::FileKind;
use target_spec::SecretSource;

/// Minimum length of a token in characters, so that a token cannot be guessed.
const LENGTH_MIN: usize = 16;

/// Returns the token, which is the first line of a file or the value of a variable.
///
/// # Errors
/// The source is missing, or the token is too short or cannot be part of an address. The message
/// does not contain the token.
pub fn read(source: &SecretSource) -> Result<String> {
    let (text, place) = match source {
        SecretSource::File(path) => {
            let text = foreign::text(FileKind::Password, path)
                .with_context(|| format!("read the token from the file {}", path.display()))?;
            (text, format!("the file {}", path.display()))
        }
        SecretSource::Env(name) => {
            let value = std::env::var(name);
            let text = value.with_context(|| format!("read the token from the variable {name}"))?;
            (text, format!("the variable {name}"))
        }
        SecretSource::Named(_) | SecretSource::Held(_) => {
            bail!("the token has no source: use file:PATH or env:VARIABLE")
        }
    };
    let token = text.lines().next().unwrap_or_default().trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    if token.len() < LENGTH_MIN || !token.chars().all(is_plain) {
        bail!(
            "the token in {place} is not usable: a token has at least {LENGTH_MIN} letters, digits \
             and the characters - _ . ~\nhint: create one: openssl rand -hex 24"
        );
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_plain_line_and_never_in_a_message() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for (text, is_usable) in [
            ("0123456789abcdef\n", true),
            ("  0123456789abcdef  \nrest", true),
            ("short", false),
            ("0123456789abcdef; Path=/", false),
            ("", false),
        ] {
            std::fs::write(&path, text).unwrap();
            match read(&SecretSource::File(path.clone())) {
                Ok(token) => assert!(is_usable && token == "0123456789abcdef", "{text:?}"),
                Err(error) => {
                    let said = format!("{error:#}");
                    assert!(!is_usable && !said.contains("012345"), "{said}");
                }
            }
        }
    }
}
