//! Removes secrets in options and settings from all output and records. Secrets are recognized by
//! their names. Nodes get them only in their command line and files.

use serde_json::Value;
use std::borrow::Cow;

/// Parts of names that mark a value as a secret.
const SECRETS: &[&str] = &[
    "apikey",
    "api_key",
    "credential",
    "passphrase",
    "password",
    "passwd",
    "private_key",
    "secret",
    "token_key",
];

/// Returns true if a name marks its value as a secret.
pub fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '.'], "_");
    SECRETS.iter().any(|word| name.contains(word))
}

/// Returns a text, such as a JVM option, without secrets, for output and records. Replaces the
/// value after `NAME=` by `***` if the name marks a secret.
pub fn hidden(text: &str) -> Cow<'_, str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let (mut out, mut copied) = (String::new(), 0);
    for (at, _) in text.match_indices('=') {
        let before = &text[..at];
        let name = before.rfind(|c| !is_name(c)).map_or(before, |end| {
            before[end..].trim_start_matches(|c| !is_name(c))
        });
        if at < copied || !names_secret(name) {
            continue;
        }
        let value = &text[at + 1..];
        let end = value.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(value.len());
        if end > 0 {
            out += &text[copied..=at];
            out += "***";
            copied = at + 1 + end;
        }
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[copied..]),
    }
}

/// Replaces every text in a value by its [`hidden`] form. Replaces the value of every secret by
/// `***`.
pub fn hide_all(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(hidden) = hidden(text) {
                *text = hidden;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_all),
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(text) if names_secret(key) => *text = "***".to_string(),
                    value => hide_all(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_secrets_are_hidden_and_nothing_else_is() {
        for (text, expected) in [
            ("-Dmy.password=hunter2", "-Dmy.password=***"),
            ("-Dx.keyStorePassword=a=b", "-Dx.keyStorePassword=***"),
            (
                "-javaagent:x.jar=user=u,password=hunter2,port=1",
                "-javaagent:x.jar=user=u,password=***,port=1",
            ),
            (
                "JVM Arguments: [-Dclient_secret=x, -Xmx1g]",
                "JVM Arguments: [-Dclient_secret=***, -Xmx1g]",
            ),
            (
                "-Dcassandra.ring_delay_ms=1000",
                "-Dcassandra.ring_delay_ms=1000",
            ),
            ("-Dpassword=", "-Dpassword="),
            ("the password = x", "the password = x"),
            ("é=1, pässword=2", "é=1, pässword=2"),
        ] {
            assert_eq!(hidden(text), expected);
        }
        let mut value = json!({"jvm": ["-Dpassword=a"], "yaml": {"keystore_password": "b", "n": 1},
            "password": {"file": "c"}});
        hide_all(&mut value);
        let expected = json!({"jvm": ["-Dpassword=***"],
            "yaml": {"keystore_password": "***", "n": 1}, "password": {"file": "c"}});
        assert_eq!(value, expected);
    }
}
