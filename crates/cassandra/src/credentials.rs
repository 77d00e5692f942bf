//! Access of a client to a cluster, apart from the address: user, password and TLS. cassay reads
//! each secret from the file or variable where the user keeps it, and never shows the secret.

use crate::address_map::NodeAddressMap;
use crate::permission_gate::StatementGate;
use anyhow::{Context, Result, bail};
use cql::Version;
use foreign::FileKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use target_spec::{Secret, SecretSource};

/// Data that a client needs for a connection in addition to an address, such as credentials and
/// TLS.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// User and password, if the cluster requires authentication.
    pub credentials: Option<Credentials>,
    /// User that sends the load, with the same password. `None` if the user of control sessions
    /// also sends the load.
    pub load_user: Option<&'static str>,
    /// TLS settings, if the cluster requires TLS.
    pub tls: Option<Tls>,
    /// Permission check of an attached cluster. `None` for a managed cluster.
    pub door: Option<StatementGate>,
    /// Current addresses of nodes that have moved.
    pub moves: NodeAddressMap,
    /// Version of the protocol that the nodes use.
    pub spoken: SpokenVersion,
}

impl Access {
    /// Creates the access to a managed cluster, which has no permission check.
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

    /// Returns the user and the password for the load. Returns `None` if the cluster requires no
    /// authentication. If cassay created an ordinary user, the load uses that user. Then guardrails
    /// and permissions apply to the load as they apply to an application.
    pub fn load_credentials(&self) -> Option<(String, String)> {
        let own = self.credentials.as_ref()?;
        let user = self.load_user.unwrap_or(&own.user);
        Some((user.to_owned(), own.password.reveal().to_owned()))
    }

    /// Creates the access to an attached cluster, with its permission check.
    pub fn for_attached(credentials: Option<Credentials>, tls: Option<Tls>) -> Access {
        Access {
            door: Some(StatementGate::default()),
            ..Access::new(credentials, tls)
        }
    }
}

/// Version of the native protocol in use. This is the version that the last session negotiated, or
/// version 4 before the first session.
#[derive(Clone, Debug, Default)]
pub struct SpokenVersion(Arc<Mutex<Version>>);

impl SpokenVersion {
    /// Returns the current version.
    pub fn now(&self) -> Version {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the version that a session negotiated.
    pub fn note(&self, version: Version) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    /// Returns all supported versions in the order in which sessions try them, beginning with the
    /// current version.
    pub fn order(&self) -> impl Iterator<Item = Version> + use<> {
        let first = self.now();
        let others = Version::ALL.into_iter().filter(move |version| *version != first);
        std::iter::once(first).chain(others)
    }
}

/// User and password.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Name of the role in the cluster.
    pub user: String,
    /// Password of the role, which is never shown.
    pub password: Secret,
}

/// TLS settings of the load generator and of control sessions.
#[derive(Clone)]
pub struct Tls {
    /// Trusted authorities, protocol versions and ciphers.
    pub config: Arc<rustls::ClientConfig>,
    /// Name that the server's certificate must contain. `None` means the address of the node.
    pub server_name: Option<String>,
    /// Data from which `config` was built.
    pub material: Arc<TlsMaterial>,
}

/// Inputs of a TLS configuration. Another process can build the same configuration from these
/// inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsMaterial {
    /// Certificates of authorities as PEM, with the path or source from which they were read.
    /// `None` means the trust store of the system.
    pub roots: Option<(String, Vec<u8>)>,
    /// True if the client verifies the server's certificate.
    pub verify: bool,
    /// Name that the server's certificate must contain. `None` means the address of the node.
    pub server_name: Option<String>,
    /// Name that every certificate must contain, instead of the name that the client requests. If
    /// the nodes are behind a proxy, this is the name of the proxy.
    pub certified_name: Option<String>,
    /// Client certificate. `None` if the client presents no certificate.
    pub identity: Option<ClientIdentity>,
}

/// Client certificate and its private key. cassay never shows the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// Certificate chain as PEM, with the path or source from which it was read.
    pub certificates: (String, Vec<u8>),
    /// Private key as PEM, with the path or source from which it was read.
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

/// Reads a secret from the file or variable in which the user keeps it.
///
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

/// Adds a hint to a connection error if a key in the study's section `section` would fix the error.
/// Examples are an untrusted certificate and a port without TLS.
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

/// Returns true if the alert means that the server rejected the client's certificate or did not
/// receive a certificate. The TLS 1.2 implementation of Java reports a missing certificate as
/// `bad_certificate`.
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

/// Finds the TLS error inside an error of any library.
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
