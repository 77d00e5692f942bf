//! Notes on the TLS files that another tool's command line names. An import does not read secrets.
//! So a note tells the user which keys of a target name such files, and how to convert Java
//! keystores.

use yaml::shell_word;

/// Options that set the keys of a study for certificates.
const CA: &str = "--set target.attach.tls.ca=";
const CERT: &str = "--set target.attach.tls.cert=";
const KEY: &str = "--set target.attach.tls.key=";

/// Returns a note on a Java keystore that contains the certificates of certificate authorities.
pub(crate) fn java_truststore(path: &str) -> String {
    let file = shell_word(path);
    format!(
        "cassay does not read Java keystores. `keytool -list -rfc -keystore {file} > ca.pem` \
         writes its certificates, and `{CA}ca.pem` uses them"
    )
}

/// Returns a note on a Java keystore that contains the client's private key and certificate.
pub(crate) fn java_keystore(path: &str) -> String {
    let file = shell_word(path);
    format!(
        "cassay does not read Java keystores. `keytool -importkeystore -srckeystore {file} \
         -destkeystore client.p12 -deststoretype PKCS12` creates a file for openssl. `openssl \
         pkcs12 -in client.p12 -nokeys -out cert.pem` and `openssl pkcs12 -in client.p12 -nocerts \
         -nodes -out key.pem` write certificate and key. `{CERT}cert.pem {KEY}key.pem` uses them"
    )
}

/// Returns a note on a setting of NoSQLBench, which accepts Java keystores or PEM files. Returns
/// `None` if the setting is not about TLS files.
pub(crate) fn note_for_nb(key: &str, value: &str) -> Option<String> {
    let pem = |set: &str| format!("has no effect; `{set}{}` uses this file", shell_word(value));
    let why = match key {
        "truststore" => java_truststore(value),
        "keystore" => java_keystore(value),
        "caCertFilePath" => pem(CA),
        "certFilePath" => pem(CERT),
        "keyFilePath" | "keyfilepath" => pem(KEY),
        "kspass" | "tspass" | "keyPassword" => {
            let why = "has no effect: cassay reads PEM files, with keys that have no password";
            return Some(format!("{key}=*** {why}"));
        }
        _ => return None,
    };
    let join = if why.starts_with("Java") { ":" } else { "" };
    Some(format!("{key}={value}{join} {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tls_setting_has_advice_and_shows_no_password() {
        for (key, value, part) in [
            (
                "truststore",
                "t.jks",
                "keytool -list -rfc -keystore t.jks > ca.pem",
            ),
            (
                "keystore",
                "my k.jks",
                "-srckeystore 'my k.jks' -destkeystore",
            ),
            ("caCertFilePath", "ca.crt", "target.attach.tls.ca=ca.crt"),
            ("certFilePath", "c.crt", "target.attach.tls.cert=c.crt"),
            ("keyFilePath", "k.key", "target.attach.tls.key=k.key"),
            ("kspass", "hunter2", "kspass=*** has no effect"),
            ("tspass", "hunter2", "tspass=***"),
            ("keyPassword", "hunter2", "keyPassword=***"),
        ] {
            let note = note_for_nb(key, value).unwrap();
            assert!(note.contains(part) && !note.contains("hunter2"), "{note}");
        }
        assert_eq!(note_for_nb("tlsversion", "TLSv1.2"), None);
    }
}
