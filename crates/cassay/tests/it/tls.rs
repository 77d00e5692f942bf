//! Tests the engine with TLS. Counts are the same as without TLS. The engine refuses a server
//! without a valid certificate, and sends a client certificate to a server that requires one.
//!
//! The null target has no TLS. A proxy in this process adds TLS, with a certificate made for the
//! test.

use crate::cassandra::authentication::assert_in_no_file;
use crate::engine::{config, null, run};
use crate::program::Lab;
use base64::Engine;
use cluster::Dirs;
use load::{Access, Flow, Limit, Schedule, Tls};
use measure::{Outcome, clock};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;
use target_spec::{AttachSpec, JolokiaAccess, NullSpec, Target, TlsSpec};

const STUDY: &str = "\
study: mutual
question: Does a server that wants a certificate get one?
target: {attach: {contact_points: ['NODE'], tls: {ca: ca.pem, cert: me.pem, key: me.key}}}
";

/// The rest of a study, without the target. Two clients load the target for a few seconds.
pub const BRIEFLY: &str = "\
workload: {use: standard1, mix: {write: 1}}
client: {workers: 1, machines: [here, here]}
data: {load: {operations: 200}}
procedure: {fixed: {rate: 200}}
window: {warmup: 0s, measure: 2s}
verify: {reads: none, sample: 0}
";

/// Accepts TLS on a free port and forwards the plain bytes to `server`, until the test process
/// ends.
pub fn proxy(server: SocketAddr, config: Arc<ServerConfig>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let plain = TcpStream::connect(server).unwrap();
            std::thread::spawn(move || pass_on(tls, client, plain));
        }
    });
    address
}

/// Forwards the bytes in both directions, until one end closes the connection.
pub fn pass_on(mut tls: ServerConnection, mut client: TcpStream, mut plain: TcpStream) {
    client.set_nonblocking(true).unwrap();
    plain.set_nonblocking(true).unwrap();
    let mut room = [0; 16 << 10];
    loop {
        let came = match tls.read_tls(&mut client) {
            Ok(0) => return,
            Ok(_) if tls.process_new_packets().is_err() => return part(tls, client),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) => return,
        };
        while let Ok(bytes @ 1..) = tls.reader().read(&mut room) {
            push(&mut plain, &room[..bytes]);
        }
        let went = match plain.read(&mut room) {
            Ok(0) => return,
            Ok(bytes) => {
                tls.writer().write_all(&room[..bytes]).unwrap();
                bytes
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(_) => return,
        };
        while tls.wants_write() {
            match tls.write_tls(&mut client) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
        if came + went == 0 {
            clock::sleep(Duration::from_micros(200));
        }
    }
}

/// Sends the TLS alert with the reason, and then reads until the client closes the connection.
/// Unread bytes from the client would reset the connection.
fn part(mut tls: ServerConnection, mut client: TcpStream) {
    client.set_nonblocking(false).unwrap();
    while tls.wants_write() && tls.write_tls(&mut client).is_ok() {}
    let _ = client.shutdown(std::net::Shutdown::Write);
    let _ = std::io::copy(&mut client, &mut std::io::sink());
}

fn push(to: &mut TcpStream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Returns the configuration of a server, and the certificate store of a client that trusts this
/// server.
fn identity() -> (Arc<ServerConfig>, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    (Arc::new(server), roots)
}

/// Converts DER to PEM.
pub fn pem(label: &str, der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// Returns the configuration of a server, and its certificate. The server has this name and accepts
/// only clients with this certificate.
pub fn demanding(
    client: &CertificateDer<'static>,
    name: &str,
) -> (Arc<ServerConfig>, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut clients = RootCertStore::empty();
    clients.add(client.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
        Arc::new(clients),
        Arc::clone(&provider),
    );
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (Arc::new(server), made.cert.der().clone())
}

fn trusting(roots: RootCertStore) -> Access {
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Access {
        tls: Some(Tls {
            config: Arc::new(config),
            server_name: None,
        }),
        ..Access::default()
    }
}

#[test]
fn encrypted_operations_are_counted_like_plain_ones() {
    let server = null(NullSpec::default());
    let (identity, roots) = identity();
    let mut config = config(
        &server,
        Schedule::Closed { in_flight: 32 },
        Limit::Operations(20_000),
    );
    config.nodes[0].address = proxy(server.address(), identity);
    config.access = trusting(roots);
    let (all, _, summary) = run(&config);
    assert_eq!(all.outcomes.get(Outcome::Ok), 20_000);
    assert_eq!(summary.operations_sent, 20_000);
    assert_eq!(server.counts().executes(), 20_000);
}

/// In earlier versions, only the error about the CQL port contained advice.
#[test]
fn agents_whose_issuer_is_unknown_name_the_key_that_helps() {
    let server = null(NullSpec::default());
    let agents = proxy(server.address(), identity().0);
    // The stranger has another name. With the same name, the client would report a wrong signature
    // instead of an unknown issuer.
    let mut stranger = rcgen::CertificateParams::new(["other".to_owned()]).unwrap();
    let name = &mut stranger.distinguished_name;
    name.push(rcgen::DnType::CommonName, "somebody else");
    let stranger = stranger.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, pem("CERTIFICATE", stranger.der())).unwrap();
    let spec = AttachSpec {
        contact_points: vec![server.address().to_string()],
        jolokia: Some(JolokiaAccess {
            port: agents.port(),
            tls: Some(TlsSpec {
                ca: Some(ca),
                ..TlsSpec::default()
            }),
            ..JolokiaAccess::default()
        }),
        ..AttachSpec::default()
    };
    let dirs = Dirs {
        cache: folder.path().to_owned(),
        data: folder.path().to_owned(),
    };
    let mut said = String::new();
    let cluster = cluster::start(&Target::Attach(spec), &dirs, &mut |text| said += text);
    // A server without MBeans is still a valid target.
    drop(cluster.expect("it answers CQL"));
    assert!(
        said.contains("in `target.attach.jolokia`, as `tls: {ca: FILE}`"),
        "{said}"
    );
}

#[test]
fn a_server_that_cannot_prove_itself_gets_nothing() {
    let server = null(NullSpec::default());
    let (identity, _) = identity();
    let mut config = config(
        &server,
        Schedule::Closed { in_flight: 1 },
        Limit::Operations(1),
    );
    config.nodes[0].address = proxy(server.address(), identity);
    config.access = trusting(RootCertStore::empty());
    let refusal = load::run(&config, &mut |_| Flow::Continue).expect_err("an unknown issuer");
    assert!(refusal.to_string().contains("certificate"), "{refusal}");
    assert_eq!(server.counts().requests(), 0);
}

/// Tests the program with a study that names the files. The session and the load of two clients
/// present the certificate. The report does not contain the key.
#[test]
fn all_clients_show_a_certificate_to_a_server_that_wants_one() {
    let server = null(NullSpec::default());
    let client = rcgen::generate_simple_self_signed(["cassay".to_owned()]).unwrap();
    let (config, issuer) = demanding(client.cert.der(), "127.0.0.1");
    let study =
        format!("{STUDY}{BRIEFLY}").replace("NODE", &proxy(server.address(), config).to_string());
    let lab = Lab::with(&study);
    lab.write("ca.pem", &pem("CERTIFICATE", &issuer));
    lab.write("me.pem", &pem("CERTIFICATE", client.cert.der()));
    let key = pem("PRIVATE KEY", &client.signing_key.serialize_der());
    let file = lab.write("me.key", &key);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let said = lab.cassay(&["run", "study.yaml", "--allow", "create=keyspace1"]).measured(&lab);
    said.says(&["(mode 640)"]);
    let of_key = key.lines().nth(1).unwrap();
    assert_in_no_file(&lab.path().join("results"), &of_key[30..60]);
    assert!(server.counts().executes() > 100);

    lab.write(
        "study.yaml",
        &study.replace(", cert: me.pem, key: me.key", ""),
    );
    let before = server.counts().requests();
    let refused = lab.cassay(&["run", "study.yaml", "--allow", "create=keyspace1"]);
    refused.says(&["in `target.attach`, as `tls: {cert: FILE, key: FILE}`"]);
    assert_eq!(server.counts().requests(), before);
}
