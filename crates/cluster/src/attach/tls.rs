//! TLS to a cluster that is not ours: whom it trusts, and whether it looks.

use crate::access::{Tls, TlsMaterial};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::sync::Arc;
use target::TlsSpec;

/// What TLS is made of: the certificates are read from their file.
pub(super) fn tls_of(spec: &TlsSpec) -> Result<Tls> {
    if let (Some(path), false) = (&spec.ca, spec.verify) {
        bail!(
            "TLS with `verify: false` does not look at certificates, so that `ca: {}` is for \
             nothing: leave out one of the two",
            path.display()
        );
    }
    let read = |path: &PathBuf| {
        let place = path.display().to_string();
        let pem = std::fs::read(path);
        Ok::<_, anyhow::Error>((
            place.clone(),
            pem.with_context(|| format!("read certificates of {place}"))?,
        ))
    };
    TlsMaterial {
        roots: spec.ca.as_ref().map(read).transpose()?,
        verify: spec.verify,
        server_name: spec.server_name.clone(),
    }
    .tls()
}

impl TlsMaterial {
    /// Makes of it what a client uses.
    ///
    /// # Errors
    /// There is no certificate in what should have some, or the system has no trust store.
    pub fn tls(self) -> Result<Tls> {
        use rustls_platform_verifier::BuilderVerifierExt;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .context("configure TLS")?;
        let config = match (&self.roots, self.verify) {
            (Some((place, pem)), true) => {
                builder.with_root_certificates(roots_of(place, pem)?).with_no_client_auth()
            }
            (None, true) => builder
                .with_platform_verifier()
                .context("use the system's trust store")?
                .with_no_client_auth(),
            (_, false) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(NoVerification(provider)))
                .with_no_client_auth(),
        };
        Ok(Tls {
            config: Arc::new(config),
            server_name: self.server_name.clone(),
            material: Arc::new(self),
        })
    }
}

fn roots_of(place: &str, pem: &[u8]) -> Result<rustls::RootCertStore> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let mut roots = rustls::RootCertStore::empty();
    let read = || format!("read certificates of {place}");
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.with_context(read)?;
        roots.add(certificate).with_context(read)?;
    }
    if roots.is_empty() {
        bail!("{place} has no certificate in it (PEM is expected)");
    }
    Ok(roots)
}

/// Accepts any certificate: what `verify: false` asks for, for laboratories with self-made ones.
/// Signatures of the handshake are checked all the same.
#[derive(Debug)]
struct NoVerification(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _end_entity: &rustls::pki_types::CertificateDer<'_>,
        _intermediates: &[rustls::pki_types::CertificateDer<'_>],
        _server_name: &rustls::pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
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

    #[test]
    fn tls_is_verified_unless_it_is_said_otherwise() {
        assert!(TlsSpec::default().verify);
        let file = tempfile::NamedTempFile::new().unwrap();
        let with = |verify: bool| TlsSpec {
            ca: Some(file.path().to_path_buf()),
            verify,
            server_name: None,
        };
        let error = tls_of(&with(true)).unwrap_err().to_string();
        assert!(error.contains("no certificate in it"), "{error}");
        let error = tls_of(&with(false)).unwrap_err().to_string();
        assert!(error.contains("leave out one"), "{error}");
    }
}
