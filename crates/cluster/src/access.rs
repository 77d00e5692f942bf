//! What a client needs to get in besides an address: user, password and TLS, each read from where
//! it is kept and never shown.

use crate::spec::SecretSource;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::sync::Arc;

/// All that a client needs besides an address.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// User and password, if the cluster wants them.
    pub credentials: Option<Credentials>,
    /// TLS, if the cluster wants it.
    pub tls: Option<Tls>,
}

/// User and password.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// User name, as the cluster knows it.
    pub user: String,
    /// Password.
    pub password: Secret,
}

/// TLS as the client engine and the control session use it.
#[derive(Clone)]
pub struct Tls {
    /// Trust, protocol versions, ciphers.
    pub config: Arc<rustls::ClientConfig>,
    /// The name that the certificate must carry; the node's address when absent.
    pub server_name: Option<String>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// Text that is never printed: its `Debug` is `***` and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` from being shown.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// Reads the secret from where it is kept.
    ///
    /// # Errors
    /// The file or variable is missing, unreadable or empty; the message names it, not its content.
    pub fn read(source: &SecretSource) -> Result<Secret> {
        let (text, place) = match source {
            SecretSource::Held(secret) => return Ok(secret.clone()),
            SecretSource::Named(name) => {
                bail!("read the password: nothing says where the secret `{name}` is")
            }
            SecretSource::File(path) => {
                let place = format!("the file {}", path.display());
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("read the password from {place}"))?;
                (text, place)
            }
            SecretSource::Env(name) => {
                let place = format!("the environment variable {name}");
                match std::env::var(name) {
                    Ok(text) => (text, place),
                    Err(_) => bail!("read the password: {place} is not set (or is not UTF-8)"),
                }
            }
        };
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() {
            bail!("read the password: the first line of {place} is empty");
        }
        Ok(Secret(line.to_string()))
    }

    /// The text itself, for the wire only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// An error of a connection; of a certificate that nobody vouches for, with the way out: the key
/// `ca` in the section `section` of a study.
pub(crate) fn explained<E>(error: E, section: &str) -> anyhow::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    if !is_of_unknown_issuer(&error) {
        return error.into();
    }
    anyhow::anyhow!(
        "{error}\nhint: nobody whom this machine trusts has issued its certificate; name the \
         certificate authorities, a PEM file, by `tls: {{ca: FILE}}` of `{section}`"
    )
}

/// Whether TLS has failed for want of trust in a certificate, whichever library tells of it.
fn is_of_unknown_issuer(error: &(dyn std::error::Error + 'static)) -> bool {
    use rustls::{CertificateError, Error};
    let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
    if error.downcast_ref() == Some(&unknown) {
        return true;
    }
    // Neither tells what it holds as its source.
    let inner = match error.downcast_ref::<ureq::Error>() {
        Some(ureq::Error::Rustls(error)) => return *error == unknown,
        Some(ureq::Error::Io(error)) => Some(error),
        _ => error.downcast_ref::<std::io::Error>(),
    };
    let inner = inner.and_then(std::io::Error::get_ref);
    inner.is_some_and(|inner| is_of_unknown_issuer(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_an_unknown_issuer_names_the_key_that_helps() {
        use rustls::{CertificateError, Error};
        let io = |error| std::io::Error::new(std::io::ErrorKind::InvalidData, error);
        let of = |error| explained(io(error), "target.attach");
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        for error in [
            of(unknown()),
            explained(ureq::Error::Rustls(unknown()), "target.attach"),
            explained(ureq::Error::Io(io(unknown())), "target.attach"),
        ] {
            let said = error.to_string();
            assert!(
                said.contains("`tls: {ca: FILE}` of `target.attach`"),
                "{said}"
            );
        }
        let expired = of(Error::InvalidCertificate(CertificateError::Expired));
        assert!(!expired.to_string().contains("ca: FILE"), "{expired}");
        let plain = explained(ureq::Error::HostNotFound, "target.attach");
        assert!(!plain.to_string().contains("hint"), "{plain}");
    }
}
