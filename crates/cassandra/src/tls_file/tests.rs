//! Tests that cassay recognises each format of TLS files.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Returns the DER of a self-signed certificate and its key.
fn made() -> (Vec<u8>, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(["client".to_owned()]).unwrap();
    (made.cert.der().to_vec(), made.signing_key.serialize_der())
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// Returns a DER value: tag, length and content.
fn der(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let content = parts.concat();
    [vec![tag, u8::try_from(content.len()).unwrap()], content].concat()
}

/// Returns the DER sequence of an algorithm, as in keys and certificates.
fn algorithm() -> Vec<u8> {
    der(0x30, &[der(0x06, &[vec![42, 3]]), der(0x05, &[])])
}

/// Secret bytes of a file, which messages must not contain.
const SECRET: &[u8] = b"hunter2hunter2";

/// File, format, and a part of the hints for certificates and for a private key.
type Example = (Vec<u8>, &'static str, &'static str, &'static str);

/// Returns keystores, and other bytes that are not keys or certificates in DER.
fn stores() -> Vec<Example> {
    let store = |magic: [u8; 4]| [magic.to_vec(), SECRET.to_vec()].concat();
    let part = || der(0x30, &[der(0x06, &[vec![42]]), der(0xA0, &[secret()])]);
    let pkcs12 = der(0x30, &[number(3), part(), der(0x30, &[secret()])]);
    let mut utf16 = vec![0xFF, 0xFE];
    utf16.extend(pem("CERTIFICATE", b"x").encode_utf16().flat_map(u16::to_le_bytes));
    vec![
        (
            store([0xFE, 0xED, 0xFE, 0xED]),
            "keystore (JKS)",
            "keytool -list -rfc -keystore",
            "keytool -importkeystore -srckeystore",
        ),
        (
            store([0xCE; 4]),
            "keystore (JCEKS)",
            "-storetype JCEKS",
            "-srcstoretype JCEKS",
        ),
        (
            pkcs12,
            "PKCS #12",
            "openssl pkcs12 -in 'my file' -nokeys",
            "openssl pkcs12 -in 'my file' -nocerts -nodes",
        ),
        (
            utf16,
            "UTF-16",
            "iconv -f UTF-16 -t UTF-8 'my file'",
            "iconv",
        ),
        (
            SECRET.to_vec(),
            "a file of another kind",
            "BEGIN CERTIFICATE",
            "openssl pkey",
        ),
        (
            vec![0x30, 0x82, 0xFF, 0xFF, 0x02],
            "a file of another kind",
            "",
            "",
        ),
    ]
}

fn number(number: u8) -> Vec<u8> {
    der(0x02, &[vec![number]])
}

fn secret() -> Vec<u8> {
    der(0x04, &[SECRET.to_vec()])
}

fn ders() -> Vec<Example> {
    let (certificate, key) = made();
    vec![
        (
            certificate,
            "a certificate in DER",
            "openssl x509 -inform DER",
            "you cannot make a private key",
        ),
        (
            key,
            "a private key in DER",
            "you cannot make a certificate",
            "openssl pkey -inform DER",
        ),
        (
            der(0x30, &[number(0), number(9), number(9)]),
            "a private key in DER",
            "you cannot make",
            "openssl pkey -inform DER",
        ),
        (
            der(0x30, &[number(1), secret()]),
            "a private key in DER",
            "you cannot make",
            "openssl pkey -inform DER",
        ),
        (
            der(0x30, &[algorithm(), secret()]),
            "an encrypted private key in DER",
            "you cannot make",
            "openssl pkcs8 -inform DER",
        ),
        (
            der(0x30, &[algorithm(), der(0x03, &[vec![0]])]),
            "a public key in DER",
            "you cannot make",
            "you cannot make",
        ),
        (
            der(0x30, &[der(0x06, &[vec![42]]), der(0xA0, &[secret()])]),
            "in DER",
            "openssl pkcs7 -inform DER",
            "you cannot make",
        ),
    ]
}

/// [`Example`] with a text file.
type Text = (String, &'static str, &'static str, &'static str);

/// Returns keys that are not plain private keys, and an empty file.
fn keys() -> Vec<Text> {
    let of = |label: &str| pem(label, SECRET);
    vec![
        (" \r\n".to_owned(), "an empty file", "again", "again"),
        (
            "PuTTY-User-Key-File-3: ssh-rsa\n".to_owned(),
            "PuTTY",
            "you cannot make",
            "puttygen 'my file' -O private-openssh",
        ),
        (
            of("OPENSSH PRIVATE KEY"),
            "OpenSSH",
            "you cannot make",
            "ssh-keygen -p -m PEM",
        ),
        (
            "ssh-ed25519 AAAA me".to_owned(),
            "an ssh public key",
            "you cannot make",
            "you cannot make",
        ),
        (
            of("ENCRYPTED PRIVATE KEY"),
            "an encrypted private key",
            "you cannot make",
            "openssl pkey -in 'my file' -out key.pem",
        ),
        (
            of("RSA PRIVATE KEY").replacen('\n', "\nProc-Type: 4,ENCRYPTED\n\n", 1),
            "an encrypted private key",
            "",
            "openssl pkey -in",
        ),
    ]
}

fn blocks() -> Vec<Text> {
    let of = |label: &str| pem(label, SECRET);
    vec![
        (
            of("CERTIFICATE REQUEST"),
            "CSR",
            "the authority returned",
            "you cannot make",
        ),
        (of("NEW CERTIFICATE REQUEST"), "CSR", "", ""),
        (of("DSA PRIVATE KEY"), "DSA", "", "RSA, ECDSA or Ed25519"),
        (
            of("PUBLIC KEY"),
            "a public key",
            "you cannot make",
            "you cannot make",
        ),
        (
            of("PKCS7"),
            "PKCS #7",
            "openssl pkcs7 -in 'my file' -print_certs",
            "you cannot make",
        ),
        (
            of("X509 CRL"),
            "CRL",
            "the authority that signed",
            "you cannot make",
        ),
        (
            of("TRUSTED CERTIFICATE"),
            "trust settings",
            "openssl x509 -in",
            "you cannot make",
        ),
    ]
}

/// Returns texts without a valid PEM block of their kind.
fn damaged() -> Vec<Text> {
    let (certificate, key) = made();
    let of = |label: &str| pem(label, SECRET);
    let cut = |text: String| text.lines().take(2).collect::<Vec<_>>().join("\n");
    let both = pem("CERTIFICATE", &certificate) + &pem("PRIVATE KEY", &key);
    vec![
        (
            of("CERTIFICATE").replace('\n', "\\n"),
            "instead of line ends",
            "printf '%b'",
            "printf '%b'",
        ),
        (cut(of("CERTIFICATE")), "truncated", "again", "again"),
        (both.replace("M", "-"), "a damaged block", "again", "again"),
        (
            pem("CERTIFICATE", &certificate).replace("M", "-"),
            "a certificate",
            "again",
            "you cannot make",
        ),
        (
            pem("PRIVATE KEY", &key).replace("M", "-"),
            "a private key",
            "you cannot make",
            "again",
        ),
        (
            STANDARD.encode(of("CERTIFICATE")),
            "a Kubernetes secret",
            "base64 -d 'my file' >",
            "base64 -d",
        ),
        (
            STANDARD.encode(&certificate),
            "a certificate without its lines",
            "openssl x509 -inform DER",
            "you cannot make",
        ),
        (
            STANDARD.encode(&key),
            "a private key without its lines",
            "you cannot make",
            "openssl pkey -inform DER",
        ),
        ("<!doctype html>".to_owned(), "HTML", "again", "again"),
    ]
}

fn examples() -> Vec<Example> {
    let in_bytes =
        |(text, called, certificates, key): Text| (text.into_bytes(), called, certificates, key);
    let texts = [keys(), blocks(), damaged()].concat().into_iter().map(in_bytes);
    stores().into_iter().chain(ders()).chain(texts).collect()
}

#[test]
fn each_file_form_is_refused_with_the_command_that_helps() {
    let mut met = Vec::new();
    for (bytes, called, for_certificates, for_key) in examples() {
        let form = Form::recognize(&bytes).called();
        assert!(form.contains(called), "{called}: {form}");
        met.push(form);
        for (role, way) in [
            (Role::Authorities, for_certificates),
            (Role::Certificate, for_certificates),
            (Role::PrivateKey, for_key),
        ] {
            let said = refusal(role, "my file", &bytes).to_string();
            let (what, hint) = said.split_once("\nhint: ").unwrap();
            assert!(
                what.starts_with("my file looks like ") && what.contains(form),
                "{said}"
            );
            assert!(hint.contains(way), "{called}: {way}: {said}");
            for secret in ["hunter2", &STANDARD.encode(SECRET)[..12]] {
                assert!(!said.contains(secret), "{said}");
            }
        }
    }
    for form in forms::all_called() {
        assert!(met.contains(&form), "no example of {form}");
    }
}

#[test]
fn usable_files_are_read_however_an_editor_left_their_lines() {
    let (certificate, key) = made();
    let both = pem("CERTIFICATE", &certificate) + "\nBag Attributes\n" + &pem("PRIVATE KEY", &key);
    let indented: String = both.lines().map(|line| format!("    {line} \n")).collect();
    for text in [
        both.clone(),
        format!("\u{FEFF}{both}"),
        both.replace('\n', "\r\n"),
        both.replace('\n', "\r"),
        both.trim_end().to_owned(),
        indented,
    ] {
        let read = certificates(Role::Certificate, "c", text.as_bytes()).unwrap();
        assert_eq!(read, [CertificateDer::from(certificate.clone())]);
        assert_eq!(private_key("k", text.as_bytes()).unwrap().secret_der(), key);
    }
}

#[test]
fn one_of_several_private_keys_is_not_guessed() {
    let text = pem("PRIVATE KEY", &made().1) + &pem("PRIVATE KEY", &made().1);
    let said = private_key("/my keys/k.pem", text.as_bytes()).unwrap_err().to_string();
    assert!(said.contains("has several private keys"), "{said}");
    assert!(
        said.contains("openssl pkey -in '/my keys/k.pem' -out key.pem"),
        "{said}"
    );
}
