//! TLS configuration for an attached cluster: trusted authorities, verification and client
//! certificate.

use crate::credentials::{ClientIdentity, Tls, TlsMaterial};
use crate::tls_file::{self, Role};
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use std::path::Path;
use std::sync::Arc;
use target_spec::TlsSpec;

/// Builds the TLS configuration from the files that `spec` names.
///
/// # Errors
/// A file cannot be read or has an unsupported format, or keys of the spec contradict each other.
pub fn tls_of(spec: &TlsSpec) -> Result<Tls> {
    if let (Some(path), false) = (&spec.ca, spec.verify) {
        bail!(
            "TLS with `verify: false` does not check certificates, so `ca: {}` has no effect: omit \
             `verify` or `ca`",
            path.display()
        );
    }
    let ca = spec.ca.as_deref();
    TlsMaterial {
        roots: ca.map(|path| read(path, "certificates")).transpose()?,
        verify: spec.verify,
        server_name: spec.server_name.clone(),
        certified_name: None,
        identity: ClientIdentity::read(spec)?,
    }
    .tls()
}

fn read(path: &Path, what: &str) -> Result<(String, Vec<u8>)> {
    let place = path.display().to_string();
    let pem = foreign::read(FileKind::Certificate, path)
        .with_context(|| format!("read {what} of {place}"))?;
    Ok((place, pem))
}

/// Returns a warning if other users of the machine can read the client's private key.
pub fn others_may_read(spec: &TlsSpec) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    const OF_OTHERS: u32 = 0o044;
    let path = spec.key.as_deref()?;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & OF_OTHERS != 0).then(|| {
        format!(
            "other users of this machine can read the private key {path} (mode {mode:03o}): run \
             `chmod 600 {path}`, so that only you can read the file",
            path = path.display()
        )
    })
}

impl ClientIdentity {
    /// Reads the client's certificate and private key, if the spec contains them.
    ///
    /// # Errors
    /// Only one of the two is given, or a file cannot be read.
    pub fn read(spec: &TlsSpec) -> Result<Option<ClientIdentity>> {
        match (spec.cert.as_deref(), spec.key.as_deref()) {
            (Some(certificates), Some(key)) => Ok(Some(ClientIdentity {
                certificates: read(certificates, "the client's certificate")?,
                key: read(key, "the private key")?,
            })),
            (None, None) => Ok(None),
            (Some(certificate), None) => bail!(
                "TLS with `cert: {}` also needs the private key of this certificate: add `key: \
                 FILE`",
                certificate.display()
            ),
            (None, Some(key)) => bail!(
                "TLS with `key: {}` also needs the certificate of this key: add `cert: FILE`",
                key.display()
            ),
        }
    }

    /// Returns the certificate chain. The first certificate is the client's own.
    ///
    /// # Errors
    /// The file contains no certificate, or contains other data.
    pub fn chain(&self) -> Result<Vec<CertificateDer<'static>>> {
        let (place, pem) = &self.certificates;
        tls_file::certificates(Role::Certificate, place, pem)
    }

    /// Returns the private key. Errors never contain text from the file.
    ///
    /// # Errors
    /// The file contains no key, several keys, or an encrypted key.
    pub fn private_key(&self) -> Result<PrivateKeyDer<'static>> {
        let (place, pem) = &self.key;
        tls_file::private_key(place, pem)
    }

    /// Explains why a certificate and its key cannot be used together.
    fn refusal(&self, error: rustls::Error) -> anyhow::Error {
        let (certificate, key) = (&self.certificates.0, &self.key.0);
        if !matches!(error, rustls::Error::InconsistentKeys(_)) {
            let used = format!("use {certificate} with the private key {key}");
            return anyhow::Error::from(error).context(used);
        }
        let provider = rustls::crypto::ring::default_provider();
        let is_of = |one: CertificateDer<'static>| -> bool {
            let key = self.private_key().ok();
            key.is_some_and(|key| CertifiedKey::from_der(vec![one], key, &provider).is_ok())
        };
        let position = self.chain().ok().and_then(|all| all.into_iter().position(is_of));
        tls_file::mismatch(certificate, key, position.map(|index| index + 1))
    }
}

impl TlsMaterial {
    /// Builds the client's TLS configuration.
    ///
    /// # Errors
    /// A file lacks its certificate or key, the certificate and the key do not match, or the system
    /// has no trust store.
    pub fn tls(self) -> Result<Tls> {
        use rustls_platform_verifier::BuilderVerifierExt;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .context("configure TLS")?;
        let builder = match (&self.roots, self.verify) {
            (Some((place, pem)), true) => {
                let roots = roots_of(place, pem)?;
                match &self.certified_name {
                    None => builder.with_root_certificates(roots),
                    Some(name) => builder
                        .dangerous()
                        .with_custom_certificate_verifier(OneName::new(roots, name, provider)?),
                }
            }
            (None, true) => {
                builder.with_platform_verifier().context("use the system's trust store")?
            }
            (_, false) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(NoVerification(provider))),
        };
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain()?, identity.private_key()?)
                .map_err(|error| identity.refusal(error))?,
        };
        Ok(Tls {
            config: Arc::new(config),
            server_name: self.server_name.clone(),
            material: Arc::new(self),
        })
    }
}

fn roots_of(place: &str, pem: &[u8]) -> Result<rustls::RootCertStore> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in tls_file::certificates(Role::Authorities, place, pem)? {
        let read = || format!("read certificates of {place}");
        roots.add(certificate).with_context(read)?;
    }
    Ok(roots)
}

/// Verifier that requires a fixed name in every certificate, and ignores the requested name.
#[derive(Debug)]
struct OneName {
    usual: Arc<rustls::client::WebPkiServerVerifier>,
    name: ServerName<'static>,
}

impl OneName {
    fn new(
        roots: rustls::RootCertStore,
        name: &str,
        provider: Arc<rustls::crypto::CryptoProvider>,
    ) -> Result<Arc<OneName>> {
        let roots = Arc::new(roots);
        let usual =
            rustls::client::WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        Ok(Arc::new(OneName {
            usual: usual.context("use the authorities")?,
            name: ServerName::try_from(name.to_owned())
                .with_context(|| format!("use {name:?} as a server name"))?,
        }))
    }
}

impl ServerCertVerifier for OneName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let name = &self.name;
        self.usual
            .verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Verifier for `verify: false`, which accepts any certificate, for example in laboratories with
/// self-signed certificates. It still verifies the signatures of the handshake.
#[derive(Debug)]
struct NoVerification(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn tls_is_verified_unless_it_is_said_otherwise() {
        assert!(TlsSpec::default().verify);
        let file = tempfile::NamedTempFile::new().unwrap();
        let with = |verify: bool| TlsSpec {
            ca: Some(file.path().to_path_buf()),
            verify,
            ..TlsSpec::default()
        };
        let error = tls_of(&with(true)).unwrap_err().to_string();
        assert!(error.contains("an empty file"), "{error}");
        let error = tls_of(&with(false)).unwrap_err().to_string();
        assert!(error.contains("omit `verify` or `ca`"), "{error}");
    }

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["client".to_owned()]).unwrap();
        (
            pem("CERTIFICATE", made.cert.der()),
            pem("PRIVATE KEY", &made.signing_key.serialize_der()),
        )
    }

    fn pem(label: &str, der: &[u8]) -> String {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    }

    #[test]
    fn a_client_shows_a_certificate_with_its_own_key_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let ((cert, key), (other_cert, other)) = (made(), made());
        let turned = file("t.pem", &format!("{other_cert}{cert}"));
        let (cert, key) = (file("c.pem", &cert), file("k.pem", &key));
        let tls = |cert: &Option<PathBuf>, key: &Option<PathBuf>| {
            tls_of(&TlsSpec {
                verify: false,
                cert: cert.clone(),
                key: key.clone(),
                ..TlsSpec::default()
            })
        };
        let whole = tls(&cert, &key).unwrap();
        assert!(whole.config.client_auth_cert_resolver.has_certs());
        let none = tls(&None, &None).unwrap();
        assert!(!none.config.client_auth_cert_resolver.has_certs());
        for (cert, key, why) in [
            (&cert, &None, "also needs the private key"),
            (&None, &key, "needs the certificate"),
            (
                &key,
                &key,
                "k.pem looks like a private key; it must contain the client's certificate",
            ),
            (
                &cert,
                &cert,
                "c.pem looks like a certificate; it must contain a private key without",
            ),
            (&cert, &file("o.pem", &other), "their public keys differ"),
            (&turned, &key, "belongs to certificate 2 of"),
        ] {
            let said = format!("{:#}", tls(cert, key).unwrap_err());
            assert!(said.contains(why), "{said}");
        }
        let ciphered = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nhunter2\n";
        let said = format!("{:#}", tls(&cert, &file("e.pem", ciphered)).unwrap_err());
        assert!(
            said.contains("looks like an encrypted private key") && !said.contains("hunter2"),
            "{said}"
        );
    }

    #[test]
    fn a_key_is_not_in_debug_text_and_open_permissions_are_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.pem");
        let (cert, key) = made();
        let middle = key.lines().nth(1).unwrap()[40..60].to_owned();
        std::fs::write(&path, format!("{cert}{key}")).unwrap();
        let spec = TlsSpec {
            verify: false,
            cert: Some(path.clone()),
            key: Some(path.clone()),
            ..TlsSpec::default()
        };
        let told = |mode: u32| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            others_may_read(&spec)
        };
        assert_eq!(told(0o600), None);
        assert!(told(0o640).unwrap().contains("(mode 640)"));
        let tls = tls_of(&spec).unwrap();
        let identity = tls.material.identity.as_ref().unwrap();
        let said = format!("{identity:?} {tls:?} {:?}", tls.material);
        assert!(
            said.contains("k.pem") && !said.contains("45, 45, 45"),
            "{said}"
        );
        assert!(!said.contains(&middle), "{said}");
        // Another process must be able to build the same configuration from the material.
        let text = serde_json::to_string(&*tls.material).unwrap();
        let again: TlsMaterial = serde_json::from_str(&text).unwrap();
        assert_eq!(again, *tls.material);
        assert!(again.tls().unwrap().config.client_auth_cert_resolver.has_certs());
    }
}
