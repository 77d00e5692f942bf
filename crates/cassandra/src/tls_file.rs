//! Reads the certificates and private keys of a target's TLS files. The error for an unusable file
//! contains the format of the file, and a command that writes a usable file. Messages never contain
//! any part of a key.

mod der;
mod forms;
#[cfg(test)]
mod tests;

use anyhow::{Result, anyhow, bail};
use forms::{Form, Way};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use yaml::shell_word;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Authorities,
    /// Certificate of the client, and certificates of its issuers.
    Certificate,
    /// Private key of the client's certificate.
    PrivateKey,
}

impl Role {
    fn called(self) -> &'static str {
        match self {
            Role::Authorities => "certificates of authorities",
            Role::Certificate => "the client's certificate",
            Role::PrivateKey => "a private key without a password",
        }
    }
}

/// Returns all certificates of a PEM file in order. Skips other PEM blocks.
///
/// # Errors
/// The file contains no certificate, or a damaged PEM block.
pub(crate) fn certificates(
    role: Role,
    place: &str,
    bytes: &[u8],
) -> Result<Vec<CertificateDer<'static>>> {
    let pem = plain(bytes);
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(refusal(role, place, bytes)),
    }
}

/// Returns the only private key of a PEM file. Skips other PEM blocks.
///
/// # Errors
/// The file contains no private key, several keys, or an encrypted key.
pub(crate) fn private_key(place: &str, bytes: &[u8]) -> Result<PrivateKeyDer<'static>> {
    let pem = plain(bytes);
    let all: Result<Vec<_>, _> = PrivateKeyDer::pem_slice_iter(&pem).collect();
    match all.ok().as_deref_mut() {
        Some([key]) => Ok(key.clone_key()),
        Some([_, _, ..]) => bail!(
            "{place} has several private keys, but only one is allowed\nhint: `openssl pkey -in {} \
             -out key.pem` writes the first key; to use another key, copy its PEM block into a \
             separate file",
            shell_word(place)
        ),
        _ => Err(refusal(Role::PrivateKey, place, bytes)),
    }
}

/// Returns the error for a certificate and a private key that do not match. `position` is the
/// position of the matching certificate in the file, counted from 1.
pub(crate) fn mismatch(certificate: &str, key: &str, position: Option<usize>) -> anyhow::Error {
    match position {
        Some(position) => anyhow!(
            "the private key {key} belongs to certificate {position} of {certificate}, but servers \
             expect the key of the first certificate\nhint: move that PEM block to the beginning \
             of the file"
        ),
        None => anyhow!(
            "the private key {key} does not belong to the certificate {certificate}: their public \
             keys differ\nhint: for a pair, these commands print the same output: `openssl x509 \
             -in {} -noout -pubkey` and `openssl pkey -in {} -pubout`",
            shell_word(certificate),
            shell_word(key)
        ),
    }
}

/// Returns the error for a file that lacks the required PEM block.
fn refusal(role: Role, place: &str, bytes: &[u8]) -> anyhow::Error {
    let form = Form::recognize(bytes);
    let way = match form.way(role) {
        Way::Command(command) => {
            let command = command.replace("FILE", &shell_word(place));
            format!("this command writes a file that cassay can use: {command}")
        }
        Way::Advice(advice) => advice.to_owned(),
    };
    let (looks, wanted) = (form.called(), role.called());
    anyhow!("{place} looks like {looks}; it must contain {wanted} in PEM form\nhint: {way}")
}

/// Removes a byte order mark, and blanks at both ends of each line. Such characters may remain
/// after a copy of the text.
pub(crate) fn plain(bytes: &[u8]) -> Vec<u8> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    lines.collect::<Vec<_>>().join(&b'\n')
}
