//! Client of the Jolokia agent in a node's JVM, which provides MBeans as JSON over HTTP. A managed
//! node's agent listens on the node's address, with a random password for each cluster. For
//! attached nodes, the user provides the port and the credentials.

use crate::address_map::{NodeAddressMap, RedirectingConnector};
use crate::credentials;
use crate::credentials::ClientIdentity;
use crate::tls_file::{self, Role};
use anyhow::{Context, Result, bail};
use base64::Engine;
use foreign::FileKind;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use target_spec::{JolokiaAccess, Secret, TlsSpec};
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;

/// Time limit of a request. Flushing a large memtable takes a long time.
const LIMIT: Duration = Duration::from_secs(60);

/// Query string that omits the copy of the request and stack traces from a response. For missing
/// MBeans, these parts would make up most of the response.
const ANSWER_BRIEFLY: &str = "?includeRequest=false&includeStackTrace=false";

const ANSWER_CHARS_SHOWN: usize = 200;

#[derive(Clone, Debug)]
pub struct Jolokia {
    url: String,
    authorization: Option<Secret>,
    agent: ureq::Agent,
    limit: Duration,
}

#[derive(Clone, Debug)]
pub struct Bulk {
    body: Vec<u8>,
    count: usize,
}

impl Bulk {
    pub fn new(attributes: &[(&str, &str)]) -> Bulk {
        Self::written(attributes, |_| ())
    }

    /// Prepares a request that returns the entries of map attributes as texts.
    pub fn entries_as_texts(attributes: &[(&str, &str)]) -> Bulk {
        Self::written(attributes, |read| read["config"] = json!({ "maxDepth": 1 }))
    }

    fn written(attributes: &[(&str, &str)], change: fn(&mut Value)) -> Bulk {
        let read = |(mbean, attribute): &(&str, &str)| -> Value {
            let mut read = json!({ "type": "read", "mbean": mbean, "attribute": attribute });
            change(&mut read);
            read
        };
        let request = Value::Array(attributes.iter().map(read).collect());
        Bulk {
            body: request.to_string().into_bytes(),
            count: attributes.len(),
        }
    }
}

impl Jolokia {
    pub fn new(address: SocketAddr, user: &str, password: &str) -> Jolokia {
        let config = ureq::Agent::config_builder()
            // Connections to the loopback interface must ignore a proxy in the environment.
            .proxy(None)
            // The body of an error response contains the reason as text.
            .http_status_as_error(false)
            .build();
        Jolokia {
            url: format!("http://{address}/jolokia/"),
            authorization: Some(basic(user, password)),
            agent: config.into(),
            limit: LIMIT,
        }
    }

    /// Creates a client for the Jolokia agent of an attached node. `address` is the agent's first
    /// address. Sends no request.
    ///
    /// # Errors
    /// The user or the password is missing, or credentials or certificates cannot be read.
    pub fn attached(
        address: SocketAddr,
        access: &JolokiaAccess,
        moves: &NodeAddressMap,
    ) -> Result<Jolokia> {
        let authorization = match (&access.user, &access.password) {
            (Some(user), Some(source)) => Some(basic(user, credentials::read(source)?.reveal())),
            (None, None) => None,
            (Some(user), None) => bail!(
                "the user {user} of the Jolokia agents has no password: set the file or the \
                 environment variable that contains the password"
            ),
            (None, Some(_)) => {
                bail!("the Jolokia agents have a password but no user: also set the user")
            }
        };
        let config = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            // Each request uses a new connection. A request on a reused connection would wait 40 ms
            // for a delayed acknowledgement, unless the JVM runs with
            // sun.net.httpserver.nodelay=true.
            .max_idle_connections(0);
        let (scheme, host, config) = match &access.tls {
            None => ("http", None, config.build()),
            Some(tls) => (
                "https",
                tls.server_name.as_deref(),
                config.tls_config(tls_of(tls)?).build(),
            ),
        };
        let host = match host {
            Some(name) => format!("{name}:{}", address.port()),
            None => address.to_string(),
        };
        Ok(Jolokia {
            url: format!("{scheme}://{host}/jolokia/"),
            authorization,
            agent: ureq::Agent::with_parts(
                config,
                DefaultConnector::new(),
                RedirectingConnector::to(address, moves),
            ),
            limit: LIMIT,
        })
    }

    pub fn with_limit(&self, limit: Duration) -> Jolokia {
        Jolokia {
            limit,
            ..self.clone()
        }
    }

    /// Reads attributes in one request. A value is `None` if its MBean or attribute does not exist.
    ///
    /// # Errors
    /// The Jolokia agent does not answer.
    pub fn read(&self, attributes: &[(&str, &str)]) -> Result<Vec<Option<Value>>> {
        self.read_bulk(&Bulk::new(attributes))
    }

    /// # Errors
    /// The Jolokia agent does not answer.
    pub fn read_bulk(&self, bulk: &Bulk) -> Result<Vec<Option<Value>>> {
        let Value::Array(answers) = self.post(&bulk.body)? else {
            bail!("{} did not answer a bulk request with a list", self.url);
        };
        if answers.len() != bulk.count {
            bail!(
                "{} returned {} answers to {} requests",
                self.url,
                answers.len(),
                bulk.count
            );
        }
        Ok(answers.into_iter().map(value_of).collect())
    }

    /// # Errors
    /// The Jolokia agent does not answer, or the operation throws an exception. The message
    /// contains the exception.
    pub fn call(&self, mbean: &str, operation: &str, arguments: &[Value]) -> Result<Value> {
        let request = json!({
            "type": "exec", "mbean": mbean, "operation": operation, "arguments": arguments,
        });
        let mut answer = self.post(request.to_string().as_bytes())?;
        if answer["status"] != 200 {
            bail!(
                "call {operation} of {mbean} at {}: {}",
                self.url,
                answer["error"]
            );
        }
        Ok(answer["value"].take())
    }

    fn post(&self, body: &[u8]) -> Result<Value> {
        let context = || format!("query the MBean agent at {}", self.url);
        let mut request = self
            .agent
            .post(format!("{}{ANSWER_BRIEFLY}", self.url))
            .header("Content-Type", "application/json")
            .config()
            .timeout_global(Some(self.limit))
            .build();
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization.reveal());
        }
        let sent = request
            .send(body)
            .map_err(|error| credentials::explained(error, "target.attach.jolokia"));
        let mut response = sent.with_context(context)?;
        let status = response.status().as_u16();
        let text = response.body_mut().read_to_string().with_context(context)?;
        match status {
            200 => serde_json::from_str(&text).with_context(context),
            401 | 403 => bail!(
                "the MBean agent at {} refuses the user or password (HTTP {status})",
                self.url
            ),
            _ => bail!(
                "the MBean agent at {} answered with HTTP {status}: {}",
                self.url,
                text.chars().take(ANSWER_CHARS_SHOWN).collect::<String>()
            ),
        }
    }
}

fn tls_of(spec: &TlsSpec) -> Result<TlsConfig> {
    if let (Some(path), false) = (&spec.ca, spec.verify) {
        bail!(
            "TLS with `verify: false` does not check certificates, so `ca: {}` has no effect: omit \
             `verify` or `ca`",
            path.display()
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = match &spec.ca {
        None => RootCerts::PlatformVerifier,
        Some(path) => {
            let read = || format!("read certificates of {}", path.display());
            let pem = foreign::read(FileKind::Certificate, path).with_context(read)?;
            let place = path.display().to_string();
            let all = tls_file::certificates(Role::Authorities, &place, &pem)?;
            let certificates: Vec<_> = all.iter().map(owned).collect();
            RootCerts::new_with_certs(&certificates)
        }
    };
    let identity = ClientIdentity::read(spec)?;
    let client_cert = identity.as_ref().map(client_cert).transpose()?;
    Ok(TlsConfig::builder()
        .client_cert(client_cert)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(roots)
        .disable_verification(!spec.verify)
        .build())
}

/// # Errors
/// The certificate or its key cannot be read.
pub fn client_cert(identity: &ClientIdentity) -> Result<ClientCert> {
    let chain = identity.chain()?;
    let chain: Vec<_> = chain.iter().map(owned).collect();
    // This call checks the key first, because its error does not contain any part of the key.
    identity.private_key()?;
    let (place, pem) = &identity.key;
    let key = PrivateKey::from_pem(&tls_file::plain(pem))
        .ok()
        .with_context(|| format!("read {place} as a private key"))?;
    Ok(ClientCert::new_with_certs(&chain, key))
}

fn owned(certificate: &CertificateDer<'_>) -> Certificate<'static> {
    Certificate::from_der(certificate).to_owned()
}

/// Returns the value of the HTTP header `Authorization`.
fn basic(user: &str, password: &str) -> Secret {
    let plain = format!("{user}:{password}");
    let encoded = base64::engine::general_purpose::STANDARD.encode(plain);
    Secret::new(format!("Basic {encoded}"))
}

fn value_of(mut answer: Value) -> Option<Value> {
    (answer["status"] == 200).then(|| answer["value"].take())
}

#[cfg(test)]
mod tests {
    use super::*;
    use target_spec::SecretSource;

    #[test]
    fn an_answer_without_success_has_no_value() {
        assert_eq!(value_of(json!({"status": 200, "value": 7})), Some(json!(7)));
        assert_eq!(value_of(json!({"status": 404, "error": "no such"})), None);
        assert_eq!(value_of(json!("nonsense")), None);
    }

    #[test]
    fn the_password_is_not_in_the_debug_text() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8778));
        let text = format!("{:?}", Jolokia::new(address, "cassay", "hunter2"));
        assert!(
            !text.contains("hunter2") && !text.contains("Basic"),
            "{text}"
        );
    }

    fn access(user: Option<&str>, password: Option<SecretSource>) -> JolokiaAccess {
        JolokiaAccess {
            user: user.map(str::to_string),
            password,
            ..JolokiaAccess::default()
        }
    }

    #[test]
    fn incomplete_credentials_and_unused_certificates_are_refused() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8778));
        let error = |access: &JolokiaAccess| {
            let error = Jolokia::attached(address, access, &NodeAddressMap::default()).unwrap_err();
            format!("{error:#}")
        };
        assert!(error(&access(Some("anna"), None)).contains("anna"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter2\n").unwrap();
        let password = SecretSource::File(file.path().to_path_buf());
        assert!(error(&access(None, Some(password.clone()))).contains("no user"));
        let whole = access(Some("anna"), Some(password));
        let agent = Jolokia::attached(address, &whole, &NodeAddressMap::default()).unwrap();
        assert!(!format!("{agent:?} {whole:?}").contains("hunter2"));
        for (verify, reason) in [
            (true, "a file of another kind"),
            (false, "omit `verify` or `ca`"),
        ] {
            let tls = TlsSpec {
                ca: Some(file.path().to_path_buf()),
                verify,
                ..TlsSpec::default()
            };
            let access = JolokiaAccess {
                tls: Some(tls),
                ..JolokiaAccess::default()
            };
            assert!(error(&access).contains(reason), "{}", error(&access));
        }
    }

    /// Returns the result of reading attributes from an agent that answers with `status` and
    /// `body`.
    fn answered(status: &str, body: &str) -> Result<Vec<Option<Value>>> {
        use std::io::{BufRead, BufReader, Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap() > 2 {
                let lower = line.to_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let agent = Jolokia::attached(
            address,
            &JolokiaAccess::default(),
            &NodeAddressMap::default(),
        )
        .unwrap();
        let result = agent.read(&[("java.lang:type=Memory", "Verbose")]);
        server.join().unwrap();
        result
    }

    #[test]
    fn refusals_over_http_are_errors_that_say_why() {
        let values = answered("200 OK", r#"[{"status": 200, "value": 7}]"#);
        assert_eq!(values.unwrap(), [Some(json!(7))]);
        for (status, body, reason) in [
            (
                "401 Unauthorized",
                "",
                "refuses the user or password (HTTP 401)",
            ),
            (
                "400 Bad Request",
                "is overloaded",
                "HTTP 400: is overloaded",
            ),
            ("200 OK", "[]", "returned 0 answers to 1"),
            ("200 OK", "{}", "did not answer a bulk request with a list"),
            ("200 OK", "[{\"status\"", "query the MBean agent at"),
        ] {
            let error = format!("{:#}", answered(status, body).unwrap_err());
            assert!(error.contains(reason), "{error}");
        }
    }
}
