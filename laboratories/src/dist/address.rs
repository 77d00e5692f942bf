//! The address at which a release is published. The address must be safe in scripts, because users
//! copy the address into scripts.

use std::fmt;
use std::str::FromStr;

/// Characters that are permitted in addition to letters and digits. None of these characters ends a
/// string or has a special meaning in shell or Ruby.
const PUNCTUATION: &str = "-._~/%:+";

/// The URL of the folder in which the files of a release are published, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let begins = ["https://", "http://"].iter().any(|scheme| {
            text.strip_prefix(scheme)
                .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        });
        if !begins {
            return Err(format!(
                "{text} does not begin with https:// or http:// and a host"
            ));
        }
        let is_plain = |one: &char| one.is_ascii_alphanumeric() || PUNCTUATION.contains(*one);
        match text.chars().find(|one| !is_plain(one)) {
            Some(one) => Err(format!(
                "{text} contains {one:?}, but file names follow it in scripts: use only letters, \
                 digits and {PUNCTUATION}"
            )),
            None => Ok(Address(text.trim_end_matches('/').to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_that_ends_no_string() {
        let read = |text: &str| text.parse::<Address>();
        let good = "https://example.com:8443/cassay/v1.2.3+rc";
        assert_eq!(read(&format!("{good}/")).unwrap().to_string(), good);
        for bad in [
            "",
            "example.com",
            "https://",
            "https:///x",
            "file:///x",
            "https://example.com/'; rm",
            "https://example.com/\"",
            "https://example.com/#{x}",
            "https://example.com/$(x)",
            "https://example.com/a?b=c",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
