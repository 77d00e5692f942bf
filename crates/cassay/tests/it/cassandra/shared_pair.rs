//! Shares two nodes between the tests that accept any two nodes. Without TLS the nodes accept every
//! client, with TLS only clients with a certificate. As with [`super::shared`], the first test
//! starts the nodes, and the nodes end with the process of the tests.

use super::attached_nodes::run;
use super::authentication::assert_in_no_file;
use super::patient;
use super::shared::Shared;
use crate::program::{HANG_LIMIT, Lab, command, is_line_since, is_of_line};
use crate::sni;
use crate::tls::pem;
use ::cassandra::{Access, Session};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "pair";

struct Pair {
    nodes: Vec<SocketAddr>,
    /// The folder with `ca.pem`, `me.pem` and `me.key`, for mutual authentication of client and
    /// nodes.
    stores: PathBuf,
}

/// Returns the two nodes, after checking them.
fn pair() -> Pair {
    static NODES: OnceLock<(Shared, PathBuf)> = OnceLock::new();
    let (shared, stores) = NODES.get_or_init(|| {
        let folder = Shared::folder(NAME).join("stores");
        // An earlier process may have left stores. keytool would add to existing stores.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let client = rcgen::generate_simple_self_signed(["cassay".to_owned()]).expect("a pair");
        let (own, trusted) = stores(&folder, &pem("CERTIFICATE", client.cert.der()));
        let key = pem("PRIVATE KEY", &client.signing_key.serialize_der());
        std::fs::write(folder.join("me.key"), key).expect("a key");
        (Shared::start(NAME, spec(&own, &trusted)), folder)
    });
    Pair {
        nodes: shared.whole(),
        stores: stores.clone(),
    }
}

fn spec(own: &str, trusted: &str) -> target_spec::LocalSpec {
    let mut spec = patient(2);
    // Java properties can configure the TLS of nodes only since Cassandra 4.1.
    if !is_line_since("4.1") {
        return spec;
    }
    let options = [
        ("enabled", "true"),
        ("optional", "true"),
        ("require_client_auth", "true"),
        ("store_type", "PKCS12"),
        ("keystore", own),
        ("keystore_password", "cassay"),
        ("truststore", trusted),
        ("truststore_password", "cassay"),
    ];
    let option = |(key, value): (&str, &str)| {
        format!("-Dcassandra.settings.client_encryption_options.{key}={value}")
    };
    spec.jvm_options
        .push("-Dcassandra.config.allow_system_properties=true".to_owned());
    spec.jvm_options.extend(options.map(option));
    spec
}

/// Creates the key store of the nodes and the trust store with the client's certificate. Returns
/// the paths of both stores.
fn stores(folder: &Path, client: &str) -> (String, String) {
    let at = |name: &str| folder.join(name).display().to_string();
    let keytool = |arguments: &[&str]| {
        let fixed = ["-storetype", "PKCS12", "-storepass", "cassay", "-noprompt"];
        let said = command("keytool").args(arguments).args(fixed).output().expect("keytool");
        assert!(
            said.status.success(),
            "{}",
            String::from_utf8_lossy(&said.stdout)
        );
    };
    std::fs::write(folder.join("me.pem"), client).expect("a certificate");
    let (own, trusted) = (at("own.p12"), at("trusted.p12"));
    keytool(&[
        "-genkeypair",
        "-alias",
        "node",
        "-keyalg",
        "RSA",
        "-keysize",
        "2048",
        "-validity",
        "9",
        "-dname",
        "CN=node",
        "-ext",
        "san=dns:node.test",
        "-keystore",
        &own,
    ]);
    keytool(&[
        "-exportcert",
        "-rfc",
        "-alias",
        "node",
        "-keystore",
        &own,
        "-file",
        &at("ca.pem"),
    ]);
    keytool(&[
        "-importcert",
        "-alias",
        "me",
        "-file",
        &at("me.pem"),
        "-keystore",
        &trusted,
    ]);
    (own, trusted)
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn nodes_that_want_a_certificate_of_their_clients_are_shown_it() {
    // Java properties can configure the TLS of nodes only since Cassandra 4.1.
    if !is_of_line("4.1") {
        return;
    }
    let lab = Lab::new();
    let pair = pair();
    for name in ["ca.pem", "me.pem", "me.key"] {
        lab.write(
            name,
            &std::fs::read_to_string(pair.stores.join(name)).expect("a store"),
        );
    }
    let tls = |more: &str| {
        let point = pair.nodes[0];
        let trust = format!("ca: ca.pem, server_name: node.test{more}");
        format!("{{contact_points: ['{point}'], tls: {{{trust}}}}}")
    };
    let with = tls(", cert: me.pem, key: me.key");
    run(&lab, &[("ATTACH", &with)]);
    run(
        &lab,
        &[
            ("ATTACH", &with),
            ("CLIENT", "workers: 1, machines: [here, here]"),
        ],
    );
    let key = std::fs::read_to_string(lab.path().join("me.key")).expect("the key");
    let of_key = &key.lines().nth(1).expect("its line")[30..60];
    assert_in_no_file(&lab.path().join("results"), of_key);

    let study = std::fs::read_to_string(lab.path().join("study.yaml")).expect("the study");
    lab.write(
        "study.yaml",
        &study.replace(", cert: me.pem, key: me.key", ""),
    );
    let refused = lab.cassay(&["run", "study.yaml", "--allow", "create=nobodys"]).ended_with(1);
    refused.says(&["in `target.attach`, as `tls: {cert: FILE, key: FILE}`"]);
}

/// Tests a replacement for Astra's proxy and metadata service, in front of real nodes. The client
/// requests each node by its id, and the addresses that the nodes report are unreachable.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn real_nodes_behind_a_proxy_that_routes_by_id_are_measured() {
    let lab = Lab::new();
    let id = |node: SocketAddr| {
        let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
        let own = session.query("SELECT host_id FROM system.local").expect("its id");
        own.rows[0][0].to_string()
    };
    let pair = pair();
    let at = pair.nodes.iter().map(|node| (id(*node), *node));
    let ids: Vec<String> = at.clone().map(|(id, _)| id).collect();
    let asked = sni::bundle(&lab, "localhost", at.collect());
    let bundle = [("ATTACH", "{secure_connect_bundle: scb.zip}")];
    run(&lab, &bundle);
    run(
        &lab,
        &[
            &bundle[..],
            &[("CLIENT", "workers: 1, machines: [here, here]")],
        ]
        .concat(),
    );
    let asked = asked.lock().expect("nobody panicked").clone();
    for id in &ids {
        assert!(
            asked.iter().filter(|name| *name == id).count() > 3,
            "{ids:?}: {asked:?}"
        );
    }
    assert!(asked.iter().all(|name| ids.contains(name)), "{asked:?}");
}
