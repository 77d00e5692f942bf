//! What a client needs to get in besides an address: user, password and TLS, each read from where
//! it is kept and never shown.

use crate::door::Door;
use crate::moves::Moves;
use anyhow::{Context, Result, bail};
use cql::Version;
use foreign::FileKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use target::{Secret, SecretSource};

/// All that a client needs besides an address.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// User and password, if the cluster wants them.
    pub credentials: Option<Credentials>,
    /// The user of the load, with the same password, where it is not that of control sessions.
    pub(crate) load_user: Option<&'static str>,
    /// TLS, if the cluster wants it.
    pub tls: Option<Tls>,
    /// The door of a cluster that is not ours.
    pub(crate) door: Option<Door>,
    /// Where nodes are now that have moved.
    pub moves: Moves,
    /// Which version of the protocol they speak.
    pub spoken: SpokenVersion,
}

impl Access {
    /// The way in to a cluster of ours: no door stands before it.
    pub fn new(credentials: Option<Credentials>, tls: Option<Tls>) -> Access {
        Access {
            credentials,
            load_user: None,
            tls,
            door: None,
            moves: Moves::default(),
            spoken: SpokenVersion::default(),
        }
    }

    /// User and password of the load: those of an ordinary user where cassay has made one, so that
    /// guardrails and permissions bind it as they bind an application.
    pub fn load_credentials(&self) -> Option<(String, String)> {
        let own = self.credentials.as_ref()?;
        let user = self.load_user.unwrap_or(&own.user);
        Some((user.to_owned(), own.password.reveal().to_owned()))
    }

    /// The way in to a cluster that is not ours, behind its door.
    pub(crate) fn of_others(credentials: Option<Credentials>, tls: Option<Tls>) -> Access {
        Access {
            door: Some(Door::default()),
            ..Access::new(credentials, tls)
        }
    }
}

/// The version of the protocol that the nodes of a cluster speak with us: what the last session
/// found, and version 4 before there is one.
#[derive(Clone, Debug, Default)]
pub struct SpokenVersion(Arc<Mutex<Version>>);

impl SpokenVersion {
    /// The version.
    pub fn now(&self) -> Version {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of another one.
    pub fn note(&self, version: Version) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    /// All that can be spoken, in the order in which a node is asked for them.
    pub(crate) fn order(&self) -> impl Iterator<Item = Version> + use<> {
        let first = self.now();
        let others = Version::ALL.into_iter().filter(move |version| *version != first);
        std::iter::once(first).chain(others)
    }
}

/// User and password.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// User name, as the cluster knows it.
    pub user: String,
    /// The password, which is never shown.
    pub password: Secret,
}

/// TLS as the client engine and the control session use it.
#[derive(Clone)]
pub struct Tls {
    /// Trust, protocol versions, ciphers.
    pub config: Arc<rustls::ClientConfig>,
    /// The name that the certificate must carry; the node's address when absent.
    pub server_name: Option<String>,
    /// What it was made of.
    pub material: Arc<TlsMaterial>,
}

/// What TLS is made of, for another process that is to make the same of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsMaterial {
    /// Certificates of authorities as PEM, and where they were read; none: the system's trust
    /// store.
    pub roots: Option<(String, Vec<u8>)>,
    /// Whether the server's certificate is verified.
    pub verify: bool,
    /// The name that the certificate must carry; the node's address when absent.
    pub server_name: Option<String>,
    /// The name that every certificate must carry, whatever name is asked for: that of a proxy
    /// which is asked for nodes.
    pub certified_name: Option<String>,
    /// Who the client says that it is; none: nobody.
    pub identity: Option<ClientIdentity>,
}

/// A client's certificate and its private key, which is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// The certificate, with those that lead to its authority, as PEM, and where they were read.
    pub(crate) certificates: (String, Vec<u8>),
    /// The private key as PEM, and where it was read.
    pub(crate) key: (String, Vec<u8>),
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

/// Reads a secret from where it is kept.
///
/// # Errors
/// The file or variable is missing, unreadable or empty; the message names it, not its content.
pub(crate) fn read(source: &SecretSource) -> Result<Secret> {
    let (text, place) = match source {
        SecretSource::Held(secret) => return Ok(secret.clone()),
        SecretSource::Named(name) => {
            bail!("read the password: nothing says where the secret `{name}` is")
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

/// An error of a connection; where a key in the section `section` of a study is the way out, with
/// that: of a certificate that nobody vouches for, and of a port without TLS.
pub(crate) fn explained<E>(error: E, section: &str) -> anyhow::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    use rustls::{CertificateError, Error};
    let hint = match of_tls(&error) {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => format!(
            "nobody whom this machine trusts has issued its certificate; name the certificate \
             authorities, a PEM file, by `tls: {{ca: FILE}}` of `{section}`"
        ),
        Some(Error::AlertReceived(alert)) if is_about_clients(*alert) => format!(
            "it does not take the client's certificate, or wants one: name it and its private key, \
             PEM files, by `tls: {{cert: FILE, key: FILE}}` of `{section}`"
        ),
        Some(Error::InvalidMessage(_)) => format!(
            "what answers there does not speak TLS: name the port that does, or leave `tls` out of \
             `{section}`"
        ),
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}\nhint: {hint}")
}

/// Whether a server says by it that it does not like the certificate that it was shown, or that it
/// was shown none. Java's TLS 1.2 says the latter by `bad_certificate`.
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

/// What TLS has failed with, whichever library tells of it.
fn of_tls<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(error) = error.downcast_ref() {
        return Some(error);
    }
    // Neither tells what it holds as its source.
    let inner = match error.downcast_ref::<ureq::Error>() {
        Some(ureq::Error::Rustls(error)) => return Some(error),
        Some(ureq::Error::Io(error)) => Some(error),
        _ => error.downcast_ref::<std::io::Error>(),
    };
    inner?.get_ref().and_then(|inner| of_tls(inner))
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
        let no_tls = of(Error::InvalidMessage(
            rustls::InvalidMessage::InvalidContentType,
        ));
        assert!(
            no_tls.to_string().contains("does not speak TLS"),
            "{no_tls}"
        );
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
