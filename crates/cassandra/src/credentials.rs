//! Access of a client to a cluster: user, password and TLS. cassay reads each secret from the
//! user's file or environment variable, and never shows the secret.

use crate::address_map::NodeAddressMap;
use crate::permission_gate::StatementGate;
use anyhow::{Context, Result, bail};
use cql::Version;
use foreign::FileKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use target_spec::{Secret, SecretSource};

/// Everything except the address that a client needs for a connection.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub credentials: Option<Credentials>,
    /// User that sends the load, with the password in `credentials`. `None` means that the load
    /// uses the user in `credentials`.
    pub load_user: Option<&'static str>,
    pub tls: Option<Tls>,
    /// Permission check of an attached cluster. `None` for a managed cluster.
    pub door: Option<StatementGate>,
    pub moves: NodeAddressMap,
    pub spoken: SpokenVersion,
}

impl Access {
    /// Creates the access to a managed cluster, which needs no permission check.
    pub fn new(credentials: Option<Credentials>, tls: Option<Tls>) -> Access {
        Access {
            credentials,
            load_user: None,
            tls,
            door: None,
            moves: NodeAddressMap::default(),
            spoken: SpokenVersion::default(),
        }
    }

    /// Returns the user and the password for the load, or `None` without authentication. If cassay
    /// created an ordinary user, the load uses that user, because guardrails and permissions do not
    /// apply to superusers.
    pub fn load_credentials(&self) -> Option<(String, String)> {
        let own = self.credentials.as_ref()?;
        let user = self.load_user.unwrap_or(&own.user);
        Some((user.to_owned(), own.password.reveal().to_owned()))
    }

    pub fn for_attached(credentials: Option<Credentials>, tls: Option<Tls>) -> Access {
        Access {
            door: Some(StatementGate::default()),
            ..Access::new(credentials, tls)
        }
    }
}

/// Version of the native protocol that the last session negotiated, or version 4 before the first
/// session.
#[derive(Clone, Debug, Default)]
pub struct SpokenVersion(Arc<Mutex<Version>>);

impl SpokenVersion {
    pub fn now(&self) -> Version {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, version: Version) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    /// Returns all supported versions in the order in which a session tries them. The first version
    /// is the current one.
    pub fn order(&self) -> impl Iterator<Item = Version> + use<> {
        let first = self.now();
        let others = Version::ALL.into_iter().filter(move |version| *version != first);
        std::iter::once(first).chain(others)
    }
}

#[derive(Clone, Debug)]
pub struct Credentials {
    pub user: String,
    pub password: Secret,
}

#[derive(Clone)]
pub struct Tls {
    pub config: Arc<rustls::ClientConfig>,
    /// Name that the server's certificate must contain. `None` means the address of the node.
    pub server_name: Option<String>,
    pub material: Arc<TlsMaterial>,
}

/// Inputs of a TLS configuration, from which another process can build the same configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsMaterial {
    /// PEM of the trusted authorities' certificates, with the path or source of the PEM. `None`
    /// means the trust store of the system.
    pub roots: Option<(String, Vec<u8>)>,
    /// False if the client accepts any certificate.
    pub verify: bool,
    /// Name that the server's certificate must contain. `None` means the address of the node.
    pub server_name: Option<String>,
    /// Name that every certificate must contain, instead of the name that the client requests. With
    /// a proxy, this is the name of the proxy.
    pub certified_name: Option<String>,
    pub identity: Option<ClientIdentity>,
}

/// Client certificate and its private key. The `Debug` output does not contain the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// PEM of the certificate chain, with the path or source of the PEM.
    pub certificates: (String, Vec<u8>),
    /// PEM of the private key, with the path or source of the PEM.
    pub key: (String, Vec<u8>),
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity")
            .field("certificates", &self.certificates.0)
            .field("key", &self.key.0)
            .finish()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// # Errors
/// The file or variable is missing, unreadable or empty. The message names the source, but does not
/// contain the secret.
pub fn read(source: &SecretSource) -> Result<Secret> {
    let (text, place) = match source {
        SecretSource::Held(secret) => return Ok(secret.clone()),
        SecretSource::Named(name) => {
            bail!("read the password: the source of the secret `{name}` is unknown")
        }
        SecretSource::File(path) => {
            let place = format!("the file {}", path.display());
            let text = foreign::text(FileKind::Password, path)
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
    Ok(Secret::new(line.to_string()))
}

/// Adds a hint to a TLS error if a key in the study's section `section` can fix the error. Examples
/// are an untrusted certificate and a port without TLS.
pub fn explained<E>(error: E, section: &str) -> anyhow::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    use rustls::{CertificateError, Error};
    let hint = match find_tls_error(&error) {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => format!(
            "this machine does not trust the issuer of the server's certificate: set the PEM file \
             of the certificate authority in `{section}`, as `tls: {{ca: FILE}}`"
        ),
        Some(Error::AlertReceived(alert)) if is_about_clients(*alert) => format!(
            "the server refuses the client's certificate, or requires one: set the PEM files of a \
             certificate and its private key in `{section}`, as `tls: {{cert: FILE, key: FILE}}`"
        ),
        Some(Error::InvalidMessage(_)) => format!(
            "the server does not use TLS on this port: use the server's TLS port, or remove `tls` \
             from `{section}`"
        ),
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}\nhint: {hint}")
}

/// Returns true if the server rejected the client's certificate, or received no certificate. For a
/// missing certificate, Java's TLS 1.2 implementation sends `bad_certificate`.
fn is_about_clients(alert: rustls::AlertDescription) -> bool {
    use rustls::AlertDescription as Alert;
    matches!(
        alert,
        Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
    )
}

fn find_tls_error<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(error) = error.downcast_ref() {
        return Some(error);
    }
    // The `source` method of these errors does not return the inner error.
    let inner = match error.downcast_ref::<ureq::Error>() {
        Some(ureq::Error::Rustls(error)) => return Some(error),
        Some(ureq::Error::Io(error)) => Some(error),
        _ => error.downcast_ref::<std::io::Error>(),
    };
    inner?.get_ref().and_then(|inner| find_tls_error(inner))
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
                said.contains("in `target.attach`, as `tls: {ca: FILE}`"),
                "{said}"
            );
        }
        let no_tls = of(Error::InvalidMessage(
            rustls::InvalidMessage::InvalidContentType,
        ));
        assert!(no_tls.to_string().contains("does not use TLS"), "{no_tls}");
        let wants = of(Error::AlertReceived(
            rustls::AlertDescription::CertificateRequired,
        ));
        assert!(
            wants.to_string().contains("{cert: FILE, key: FILE}"),
            "{wants}"
        );
        let expired = of(Error::InvalidCertificate(CertificateError::Expired));
        assert!(!expired.to_string().contains("ca: FILE"), "{expired}");
        let plain = explained(ureq::Error::HostNotFound, "target.attach");
        assert!(!plain.to_string().contains("hint"), "{plain}");
    }
}
