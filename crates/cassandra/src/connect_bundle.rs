//! Secure connect bundle of Astra. A bundle contains the client identity, the trusted authorities,
//! and the address of the metadata service that lists the nodes. Clients reach all nodes through
//! one proxy, which selects the node by the server name of TLS (SNI).

use crate::address_map::{NodeAddressMap, Proxy, RedirectingConnector};
use crate::contact_point::addresses_of;
use crate::credentials::{ClientIdentity, Tls, TlsMaterial};
use crate::jolokia;
use crate::tls_file::{self, Role};
use anyhow::{Context, Result, anyhow, bail};
use foreign::FileKind;
use serde::Deserialize;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use target_spec::AttachSpec;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;

/// Maximum size, in bytes, of a file in a bundle and of a response of the metadata service. Actual
/// sizes are below 10 kB.
const FILE_BYTES_MAX: u64 = 1 << 20;

const LIMIT: Duration = Duration::from_secs(10);

/// Key of the study that contains the path of the bundle.
const KEY: &str = "target.attach.secure_connect_bundle";

#[derive(Debug)]
pub struct BehindProxy {
    pub tls: Tls,
    pub moves: NodeAddressMap,
    /// Host ids of the nodes, which serve as contact points.
    hosts: Vec<String>,
    datacenter: Option<String>,
}

#[derive(Debug, Deserialize)]
struct BundleConfig {
    host: String,
    port: u16,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    contact_info: ContactInfo,
}

#[derive(Debug, Deserialize)]
struct ContactInfo {
    #[serde(rename = "type")]
    kind: Option<String>,
    local_dc: Option<String>,
    contact_points: Vec<String>,
    sni_proxy_address: String,
}

/// Returns the host name of the bundle's metadata service. Sends no request.
///
/// # Errors
/// The file cannot be read, or is not a valid bundle.
pub fn bundle_host(bundle: &Path) -> Result<String> {
    let place = bundle.display();
    let read = read(bundle).with_context(|| format!("read the secure connect bundle {place}"));
    read.map(|(config, _)| config.host)
}

impl BehindProxy {
    /// Reads a bundle, and queries its metadata service.
    ///
    /// # Errors
    /// The file is not a valid bundle, or the service does not answer. A hibernated database has no
    /// metadata service.
    pub fn read(bundle: &Path) -> Result<BehindProxy> {
        let place = bundle.display();
        let (config, material) =
            read(bundle).with_context(|| format!("read the secure connect bundle {place}"))?;
        let tls =
            usable(&material).with_context(|| format!("use the secure connect bundle {place}"))?;
        let url = format!("https://{}:{}/metadata", config.host, config.port);
        let metadata = ask(&url, &config, &material)
            .with_context(|| format!("request the nodes of the bundle {place} from {url}"))?;
        let said = metadata.contact_info;
        if let Some(kind) = said.kind.filter(|kind| kind != "sni_proxy") {
            bail!(
                "{url} requires connections of the kind {kind:?}, but only \"sni_proxy\" is \
                   supported"
            );
        }
        let Some(first) = said.contact_points.first() else {
            bail!("{url} lists no node");
        };
        rustls::pki_types::ServerName::try_from(first.as_str())
            .with_context(|| format!("read the node name {first:?} in the response of {url}"))?;
        let (_, proxies) = addresses_of(&said.sni_proxy_address)
            .with_context(|| format!("find the proxy in the response of {url}"))?;
        let proxy =
            *proxies.first().context("name resolution returned no address for the proxy")?;
        Ok(BehindProxy {
            tls,
            moves: NodeAddressMap::behind(Proxy::from_address(proxy)),
            hosts: said.contact_points,
            datacenter: said.local_dc,
        })
    }

    /// Returns a copy of `spec` whose contact points are the host ids of the nodes.
    pub fn spec(&self, spec: &AttachSpec) -> AttachSpec {
        AttachSpec {
            contact_points: self.hosts.clone(),
            datacenter: spec.datacenter.clone().or(self.datacenter.clone()),
            ..spec.clone()
        }
    }
}

fn read(bundle: &Path) -> Result<(BundleConfig, TlsMaterial)> {
    let file = foreign::open(FileKind::ConnectBundle, bundle)?;
    let mut archive = zip::ZipArchive::new(file).context("the bundle is not a zip archive")?;
    let mut entry = |name: &str| -> Result<(String, Vec<u8>)> {
        let read = || format!("the bundle contains no readable {name}");
        let file = archive.by_name(name).with_context(read)?;
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).with_context(read)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            bail!("{name} of the bundle is larger than {FILE_BYTES_MAX} bytes");
        }
        Ok((format!("{name} of {}", bundle.display()), bytes))
    };
    let (_, config) = entry("config.json")?;
    // This file contains passwords, so errors must not contain the text of the file.
    let config: BundleConfig = serde_json::from_slice(&config)
        .ok()
        .context("config.json of the bundle does not contain `host` and `port`")?;
    let material = TlsMaterial {
        roots: Some(entry("ca.crt")?),
        verify: true,
        server_name: None,
        // The client requests a node by name, but the proxy presents a certificate for the proxy's
        // name.
        certified_name: Some(config.host.clone()),
        identity: Some(ClientIdentity {
            certificates: entry("cert")?,
            key: entry("key")?,
        }),
    };
    Ok((config, material))
}

/// Builds the TLS configuration. Replaces the usual hints, because a user cannot repair a file
/// inside a bundle with a command.
fn usable(material: &TlsMaterial) -> Result<Tls> {
    material.clone().tls().map_err(|error| {
        let said = format!("{error:#}");
        let (why, _) = said.split_once("\nhint:").unwrap_or((&said, ""));
        anyhow!("{why}\nhint: download the bundle again, and set its path in `{KEY}`")
    })
}

fn ask(url: &str, config: &BundleConfig, material: &TlsMaterial) -> Result<Metadata> {
    let (place, pem) = material
        .roots
        .as_ref()
        .context("find the certificate authorities of the bundle")?;
    let roots: Vec<Certificate<'static>> = tls_file::certificates(Role::Authorities, place, pem)?
        .iter()
        .map(|one| Certificate::from_der(one).to_owned())
        .collect();
    let identity = material.identity.as_ref().map(jolokia::client_cert).transpose()?;
    let tls = TlsConfig::builder()
        .client_cert(identity)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&roots))
        .build();
    let settings = ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(Some(LIMIT))
        .tls_config(tls)
        .build();
    let mut answered = Err(anyhow!(
        "name resolution returned no address for {}",
        config.host
    ));
    for address in host::host_names::addresses_of(&config.host, config.port)? {
        let led = RedirectingConnector::to(address, &NodeAddressMap::default());
        let agent = ureq::Agent::with_parts(settings.clone(), DefaultConnector::new(), led);
        answered = agent.get(url).call().map_err(anyhow::Error::from);
        if answered.is_ok() {
            break;
        }
    }
    let mut response = answered?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(FILE_BYTES_MAX).read_to_string()?;
    if status != 200 {
        bail!(
            "the service answered with HTTP {status}: if the database hibernates, resume the \
             database; if it was deleted, use the bundle of another database"
        );
    }
    serde_json::from_str(&body).context("parse the answer of the service")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    fn bundle(entries: &[(&str, &str)]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut archive = zip::ZipWriter::new(file.reopen().unwrap());
        for (name, text) in entries {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        file
    }

    #[test]
    fn a_message_about_a_broken_bundle_shows_no_secret() {
        let config = "{\"host\": \"db.test\", \"port\": 29080, \"password\": \"hunter2\"}";
        let whole = [
            ("config.json", config),
            ("ca.crt", "a"),
            ("cert", "c"),
            ("key", "hunter2"),
        ];
        let (read_config, material) = read(bundle(&whole).path()).unwrap();
        assert_eq!((&*read_config.host, read_config.port), ("db.test", 29080));
        assert_eq!(material.certified_name.as_deref(), Some("db.test"));
        assert!(!format!("{material:?}").contains("hunter2"));
        for (missing, (name, _)) in whole.iter().enumerate() {
            let mut some = whole.to_vec();
            some.remove(missing);
            let said = format!("{:#}", read(bundle(&some).path()).unwrap_err());
            assert!(said.contains(&format!("no readable {name}")), "{said}");
        }
        let mut other = whole;
        other[0].1 = "{\"host\": 7, \"password\": \"hunter2\"}";
        let said = format!("{:#}", read(bundle(&other).path()).unwrap_err());
        assert!(
            said.contains("`host` and `port`") && !said.contains("hunter2"),
            "{said}"
        );
        let large = " ".repeat(FILE_BYTES_MAX as usize + 1);
        other[0].1 = &large;
        let said = format!("{:#}", read(bundle(&other).path()).unwrap_err());
        assert!(said.contains("larger than 1048576 bytes"), "{said}");
        let said = format!(
            "{:#}",
            BehindProxy::read(bundle(&whole).path()).unwrap_err()
        );
        assert!(
            said.contains("it must contain certificates of authorities")
                && said.contains("hint: download the bundle again")
                && !said.contains("hunter2"),
            "{said}"
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "no zip").unwrap();
        let said = format!("{:#}", BehindProxy::read(file.path()).unwrap_err());
        assert!(said.contains("not a zip archive"), "{said}");
    }
}
