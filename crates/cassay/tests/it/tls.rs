//! The engine through TLS: the same counts, and no connection to a server that cannot prove itself.
//!
//! The null target speaks no TLS; a proxy in this process wraps it, with a certificate made for
//! the test.

use crate::engine::{config, null, run};
use base64::Engine;
use cluster::Dirs;
use load::{Access, Flow, Limit, Schedule, Tls};
use measure::{Outcome, clock};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use target::{AttachSpec, JolokiaAccess, NullSpec, Target, TlsSpec};

/// Accepts TLS on a free port and passes the plain bytes on to `server`, for as long as the test
/// lives.
fn proxy(server: SocketAddr, config: Arc<ServerConfig>) -> SocketAddr {
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

fn pass_on(mut tls: ServerConnection, mut client: TcpStream, mut plain: TcpStream) {
    client.set_nonblocking(true).unwrap();
    plain.set_nonblocking(true).unwrap();
    let mut room = [0; 16 << 10];
    loop {
        let came = match tls.read_tls(&mut client) {
            Ok(0) => return,
            Ok(_) if tls.process_new_packets().is_err() => return,
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

fn push(to: &mut TcpStream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// A server's side and the store of who trusts it.
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

/// Only the CQL port had said what to do about it.
#[test]
fn agents_whose_issuer_is_unknown_name_the_key_that_helps() {
    let server = null(NullSpec::default());
    let agents = proxy(server.address(), identity().0);
    // Of another name: an issuer of the same name would have signed it wrongly.
    let mut stranger = rcgen::CertificateParams::new(["other".to_owned()]).unwrap();
    let name = &mut stranger.distinguished_name;
    name.push(rcgen::DnType::CommonName, "somebody else");
    let stranger = stranger.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    let encoded = base64::engine::general_purpose::STANDARD.encode(stranger.der());
    let pem = format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n");
    std::fs::write(&ca, pem).unwrap();
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
    // A server without MBeans is a target nevertheless.
    drop(cluster.expect("it answers CQL"));
    assert!(
        said.contains("`tls: {ca: FILE}` of `target.attach.jolokia`"),
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
