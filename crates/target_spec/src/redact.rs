//! Removes secrets in options and settings from all output and records. Secrets are recognized by
//! their names. Nodes get secrets only in their command lines and files.

use serde_json::Value;
use std::borrow::Cow;

/// Returns true if a name marks its value as a secret.
pub fn names_secret(name: &str) -> bool {
    ::yaml::names_secret(name)
}

/// Returns a text, such as a JVM option, without secrets, for output and records.
pub fn hidden(text: &str) -> Cow<'_, str> {
    ::yaml::without_secrets(text)
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
                if names_secret(key) {
                    hide_value(value);
                } else {
                    hide_all(value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces the value of a secret. Keeps a mapping that names the source of the secret.
fn hide_value(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_value),
        Value::String(_) | Value::Number(_) => *value = Value::from("***"),
        Value::Object(_) => hide_all_but_source(value),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Hides the values of a mapping, unless it has only the key `secret`, `file` or `env`.
fn hide_all_but_source(value: &mut Value) {
    let Value::Object(entries) = value else {
        return;
    };
    let is_source = |key: &String| matches!(key.as_str(), "secret" | "file" | "env");
    if entries.len() != 1 || !entries.keys().all(is_source) {
        entries.values_mut().for_each(hide_value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_secrets_are_hidden_and_nothing_else_is() {
        let mut value = json!({"jvm": ["-Dpassword=a"], "yaml": {"keystore_password": "b", "n": 1},
            "password": {"file": "c"}, "pass": [1], "credentials": {"user": "d"}});
        hide_all(&mut value);
        let expected = json!({"jvm": ["-Dpassword=***"],
            "yaml": {"keystore_password": "***", "n": 1}, "password": {"file": "c"},
            "pass": ["***"], "credentials": {"user": "***"}});
        assert_eq!(value, expected);
    }
}
