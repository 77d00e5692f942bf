//! Recognizes names whose value is a secret: keys of a study, options, Java properties.

/// Parts that mark a name wherever they are in it, without separators and in lower case.
const SECRETS: [&str; 9] = [
    "apikey",
    "credential",
    "passphrase",
    "password",
    "passwd",
    "passwort",
    "privatekey",
    "secret",
    "tokenkey",
];

/// Last words of names that describe a secret but do not contain one. Their values are a location,
/// a limit or a class, as in `password_file` and in Cassandra's `credentials_validity`.
const DETAILS: [&str; 21] = [
    "algorithm",
    "authenticator",
    "class",
    "count",
    "enabled",
    "encoder",
    "entries",
    "env",
    "file",
    "interval",
    "length",
    "ms",
    "name",
    "path",
    "policy",
    "provider",
    "required",
    "seconds",
    "type",
    "update",
    "validity",
];

/// Words that end in `pass`, but do not mean a password.
const PASSES: [&str; 7] = [
    "bypass",
    "compass",
    "encompass",
    "overpass",
    "surpass",
    "trespass",
    "underpass",
];

/// Words before `pass`, as in `first_pass`. The name then means a run over data.
const ORDINALS: [&str; 8] = [
    "first", "second", "third", "last", "single", "each", "per", "num",
];

/// Words before `token` that distinguish a login from a position on Cassandra's ring.
const LOGINS: [&str; 11] = [
    "access", "api", "auth", "bearer", "bot", "client", "login", "oauth", "refresh", "service",
    "session",
];

/// Returns true if a name marks its value as a secret. The function considers the words of dotted
/// names, of names with dashes or underscores, and of camelCase names.
pub fn names_secret(name: &str) -> bool {
    let words = words_of(name);
    let Some(last) = words.last() else {
        return false;
    };
    let before = words.len().checked_sub(2).map_or("", |at| words[at].as_str());
    // The study names the source of a password with these keys, and not the password itself.
    let is_source = last == "secret" && before == "password" && name.contains('.');
    if is_source || DETAILS.contains(&last.as_str()) {
        return false;
    }
    let joined = words.concat();
    let is_pass = last.ends_with("pass")
        && !PASSES.contains(&last.as_str())
        && !(last == "pass" && ORDINALS.contains(&before));
    SECRETS.iter().any(|part| joined.contains(part))
        || is_pass
        || last.ends_with("pwd")
        || names_login_token(name)
}

/// Returns true if a name ends in the word `token` and means the token of a login.
pub(crate) fn names_login_token(name: &str) -> bool {
    let words = words_of(name.rsplit('.').next().unwrap_or_default());
    let joined = words.concat();
    joined.strip_suffix("token").is_some_and(|before| {
        before.is_empty() || LOGINS.iter().any(|login| before.ends_with(login))
    })
}

/// Returns the words of a name in lower case, without the digits at their ends.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    let words = words.iter().map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognized_in_each_spelling() {
        for name in [
            "password",
            "Password",
            "PASSWORD2",
            "passWord",
            "passwort",
            "pass",
            "passwd",
            "pwd",
            "kspass",
            "truststorepass",
            "key_password",
            "keystore-password",
            "trustStorePassword",
            "javax.net.ssl.trustStorePassword",
            "ssl.key.passphrase",
            "credentials",
            "client_secret",
            "secret",
            "aws_secret_access_key",
            "api_key",
            "private-key",
            "token_key",
            "token",
            "target.attach.token",
            "auth_token",
            "accessToken",
            "--password",
        ] {
            assert!(names_secret(name), "{name}");
        }
    }

    #[test]
    fn names_of_other_things_are_no_secrets() {
        for name in [
            "",
            "5",
            "tokens",
            "partition_token",
            "initial_token",
            "num_tokens",
            "token_range",
            "cassandra.replace_token",
            "allocate_tokens_for_local_replication_factor",
            "passes",
            "first_pass",
            "bypass",
            "compass",
            "passenger",
            "passive",
            "key",
            "authenticator",
            "PasswordAuthenticator",
            "credentials_validity",
            "credentials_update_interval_in_ms",
            "credentials_cache_max_entries",
            "com.sun.management.jmxremote.password.file",
            "target.attach.password.file",
            "target.attach.password.env",
            "target.attach.password.secret",
            "superuserSecretName",
            "username",
            "keystore",
        ] {
            assert!(!names_secret(name), "{name}");
        }
    }
}
