//! A replacement for the endpoint of a secure connect bundle, as Astra documents it. It consists of
//! a metadata service, and of a proxy that selects nodes by TLS SNI. No test reaches Astra itself.

use crate::engine::null;
use crate::program::Lab;
use crate::tls::{BRIEFLY, demanding, pass_on, pem, proxy};
use rustls::{ServerConfig, ServerConnection};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use target_spec::NullSpec;
use zip::write::SimpleFileOptions;

const NULL_ID: &str = "6e756c6c-6e75-4c4c-8e75-6c6c6e756c6c";

const STUDY: &str = "\
study: bundled
question: Is a database behind a proxy reached by its bundle?
target: {attach: {secure_connect_bundle: scb.zip}}
";

/// Forwards each connection to the server that the client named in TLS. Returns the address of the
/// proxy, and the requested names.
fn sni_proxy(
    config: Arc<ServerConfig>,
    servers: Vec<(String, SocketAddr)>,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let all = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&all);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let (servers, asked) = (servers.clone(), Arc::clone(&asked));
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || {
                while tls.is_handshaking() {
                    if tls.complete_io(&mut client).is_err() {
                        return;
                    }
                }
                let name = tls.server_name().unwrap_or_default().to_owned();
                let server = servers.iter().find(|(known, _)| *known == name);
                asked.lock().unwrap().push(name);
                if let Some((_, server)) = server {
                    pass_on(tls, client, TcpStream::connect(server).unwrap());
                }
            });
        }
    });
    (address, all)
}

/// Starts a server that answers `GET /metadata` with `body`. Returns the address of the server.
fn http(body: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let lines = BufReader::new(client.try_clone().unwrap()).lines();
            let asked: Vec<String> =
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let status = match asked.first() {
                Some(line) if line.starts_with("GET /metadata ") => "200 OK",
                _ => "404 Not Found",
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n");
            let _ = client.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes());
        }
    });
    address
}

/// Starts the metadata service for these servers, and the proxy with a certificate of this name.
/// Writes the bundle `scb.zip`. Returns the names that clients request from the proxy.
pub fn bundle(
    lab: &Lab,
    certified: &str,
    servers: Vec<(String, SocketAddr)>,
) -> Arc<Mutex<Vec<String>>> {
    let client = rcgen::generate_simple_self_signed(["client".to_owned()]).unwrap();
    let (service, service_issuer) = demanding(client.cert.der(), "localhost");
    let (config, issuer) = demanding(client.cert.der(), certified);
    let ids: Vec<String> = servers.iter().map(|(id, _)| id.clone()).collect();
    let (at, asked) = sni_proxy(config, servers);
    let metadata = serde_json::json!({
        "version": 1,
        "region": "nowhere",
        "contact_info": {
            "type": "sni_proxy",
            "contact_points": ids,
            "sni_proxy_address": at.to_string(),
        },
    });
    let port = proxy(http(metadata.to_string()), service).port();
    let config = serde_json::json!({"host": "localhost", "port": port, "cql_port": at.port()});
    let file = std::fs::File::create(lab.path().join("scb.zip")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    let issuers = [service_issuer, issuer].map(|issuer| pem("CERTIFICATE", &issuer)).concat();
    for (name, text) in [
        ("ca.crt", issuers),
        ("cert", pem("CERTIFICATE", client.cert.der())),
        ("config.json", config.to_string()),
        (
            "key",
            pem("PRIVATE KEY", &client.signing_key.serialize_der()),
        ),
    ] {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    asked
}

#[test]
fn a_bundle_leads_sessions_and_load_through_the_proxy_it_names() {
    let server = null(NullSpec::default());
    let lab = Lab::with(&format!("{STUDY}{BRIEFLY}"));
    let asked = bundle(
        &lab,
        "localhost",
        vec![(NULL_ID.to_owned(), server.address())],
    );
    lab.cassay(&["run", "study.yaml", "--allow", "create=keyspace1"]).measured(&lab);
    assert!(server.counts().executes() >= 600);
    let asked = asked.lock().unwrap().clone();
    assert!(
        asked.len() > 3 && asked.iter().all(|name| name == NULL_ID),
        "{asked:?}"
    );
}

/// The certificate must have the name of the proxy. The client refuses a certificate with another
/// name, even if it comes from an authority that the bundle trusts.
#[test]
fn a_proxy_of_another_name_is_not_the_one_of_the_bundle() {
    let server = null(NullSpec::default());
    let lab = Lab::with(&format!("{STUDY}{BRIEFLY}"));
    bundle(
        &lab,
        "other.test",
        vec![(NULL_ID.to_owned(), server.address())],
    );
    let refused = lab.cassay(&["run", "study.yaml", "--allow", "create=keyspace1"]).ended_with(1);
    refused.says(&["not valid for name \"localhost\""]);
    assert_eq!(server.counts().requests(), 0);
}
