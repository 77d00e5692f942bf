//! Access to a Maven repository over HTTP. A request is for a whole file or its rest.

use crate::failure::Failure;
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_native_certs::load_native_certs;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::StatusCode;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Body, BodyReader};

/// Address of Maven Central, Maven's default.
pub(crate) const CENTRAL: &str = "https://repo.maven.apache.org/maven2";

/// Environment variable with the address of another repository.
const REPOSITORY_VARIABLE: &str = "CASSAY_MAVEN_REPOSITORY";

/// A firewall that drops packets never answers.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Time for which a server may send no data.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// Address without a slash at its end, and without user and password.
    address: String,
    /// HTTP header with the credentials, if the address contains a user.
    authorization: Option<String>,
    is_behind_proxy: bool,
    agent: ureq::Agent,
}

/// Response with a whole file or its rest.
pub(crate) struct Answer {
    /// Offset in the file at which the response begins.
    pub from: u64,
    /// Size of the response's data, if the server reports it.
    pub bytes: Option<u64>,
    pub body: BodyReader<'static>,
}

impl Repository {
    /// Returns the repository at an address, through the proxy that the environment specifies.
    ///
    /// # Errors
    /// The address is not valid for a repository, or the certificates that the environment
    /// specifies cannot be read.
    pub fn new(address: &str) -> Result<Repository> {
        let proxy = ureq::Proxy::try_from_env();
        Repository::through(address, proxy)
    }

    /// Returns the repository at an address, through `proxy` or directly.
    pub fn through(address: &str, proxy: Option<ureq::Proxy>) -> Result<Repository> {
        let (scheme, rest) = address.split_once("://").unwrap_or_default();
        if !matches!(scheme, "http" | "https") || rest.is_empty() {
            // The text before the last `@` may contain a password.
            let shown = address.rsplit('@').next().unwrap_or_default();
            bail!(
                "{shown:?} is not the address of a Maven repository\nhint: an address begins with \
                 https://, such as {CENTRAL}"
            );
        }
        let host_end = rest.find('/').unwrap_or(rest.len());
        let (who, place) = match rest[..host_end].rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let is_behind_proxy = proxy.is_some();
        let config = ureq::Agent::config_builder()
            .proxy(proxy)
            // cassay reports error statuses with its own messages.
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_LIMIT))
            .timeout_per_read(Some(SILENCE_LIMIT))
            .tls_config(tls()?)
            .build();
        Ok(Repository {
            address: format!("{scheme}://{}", place.trim_end_matches('/')),
            authorization: who.map(|who| format!("Basic {}", STANDARD.encode(who))),
            is_behind_proxy,
            agent: config.into(),
        })
    }

    /// Returns the address without user and password.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.address)
    }

    /// Requests a file from an offset on. The response may begin before this offset.
    pub fn get(&self, path: &str, from: u64) -> Result<Answer, Failure> {
        let url = self.url(path);
        let mut request = self.agent.get(&url);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        if from > 0 {
            request = request.header("range", format!("bytes={from}-"));
        }
        let response = request.call().map_err(|error| Failure::Unreachable {
            url: url.clone(),
            why: message(&error) + self.way(),
        })?;
        let status = response.status();
        let begins = match status {
            StatusCode::PARTIAL_CONTENT => begin_of(response.headers()),
            StatusCode::OK => Some(0),
            _ => return Err(self.refusal(url, status.as_u16())),
        };
        let body = response.into_body();
        if body.mime_type() == Some("text/html") {
            return Err(Failure::Page { url });
        }
        match begins.filter(|begins| *begins <= from) {
            Some(begins) => Ok(self.answer(begins, body)),
            None => Err(Failure::Status {
                url,
                status: status.as_u16(),
            }),
        }
    }

    /// Returns a remark for messages about a proxy, or an empty text without a proxy.
    fn way(&self) -> &'static str {
        if self.is_behind_proxy {
            " (through the proxy of the environment)"
        } else {
            ""
        }
    }

    fn answer(&self, from: u64, body: Body) -> Answer {
        Answer {
            from,
            bytes: body.content_length(),
            body: body.into_reader(),
        }
    }

    fn refusal(&self, url: String, status: u16) -> Failure {
        match status {
            401 | 403 | 407 => Failure::Refused { url, status },
            404 | 410 => Failure::NotThere {
                url,
                status,
                repository: self.address.clone(),
            },
            _ => Failure::Status { url, status },
        }
    }
}

/// Returns the offset at which a response begins, from a header such as `bytes 100-199/200`.
fn begin_of(headers: &ureq::http::HeaderMap) -> Option<u64> {
    let range = headers.get("content-range")?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok()
}

fn message(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "no such host".to_string(),
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Rustls(error) => format!("TLS: {error}"),
        ureq::Error::Timeout(what) => format!("no data arrived within the time limit ({what})"),
        other => other.to_string(),
    }
}

/// Returns the certificates of `SSL_CERT_FILE` and `SSL_CERT_DIR`, or those of the system. Without
/// any of these, returns Mozilla's certificates, which are embedded in the program.
fn tls() -> Result<TlsConfig> {
    let found = load_native_certs();
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().find(|name| is_set(name));
    let roots = match (found.certs.is_empty(), named) {
        (false, _) => {
            let owned = |der: &_| Certificate::from_der(der).to_owned();
            let certs: Vec<_> = found.certs.iter().map(|der| owned(der.as_ref())).collect();
            RootCerts::new_with_certs(&certs)
        }
        (true, None) => RootCerts::WebPki,
        (true, Some(name)) => {
            let why = found.errors.first().map(ToString::to_string);
            bail!(
                "{name} does not name a readable certificate{}\nhint: set the variable to a PEM \
                 file, or unset the variable",
                why.map(|why| format!(": {why}")).unwrap_or_default()
            )
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(roots)
        .build())
}

/// Returns the repository's address in the environment, if it is not empty.
pub(crate) fn named_by_environment() -> Option<String> {
    std::env::var(REPOSITORY_VARIABLE).ok().filter(|value| !value.is_empty())
}

/// Returns the repository that the user specified, or Maven's configured mirror, or Maven Central.
pub(crate) fn chosen(named: Option<&str>, mirror: Option<&str>) -> Result<Repository> {
    let address = named.or(mirror).unwrap_or(CENTRAL);
    Repository::new(address).with_context(|| match (named, mirror) {
        (Some(_), _) => "the configured repository",
        (None, Some(_)) => "the mirror of Maven's settings.xml",
        (None, None) => "Maven Central",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_http_and_its_password_is_never_said() {
        for bad in ["", "maven", "ftp://host/m", "https://"] {
            let error = Repository::through(bad, None).unwrap_err().to_string();
            assert!(error.contains("is not the address"), "{error}");
        }
        let one = Repository::through("https://me:s@cret@m.example/maven//", None).unwrap();
        assert_eq!(one.url("g/a.jar"), "https://m.example/maven/g/a.jar");
        let expected = format!("Basic {}", STANDARD.encode("me:s@cret"));
        assert_eq!(one.authorization, Some(expected));
        let error = Repository::through("me:s@cret", None).unwrap_err().to_string();
        assert!(
            error.contains("hint: ") && !error.contains("me:s"),
            "{error}"
        );
    }
}
