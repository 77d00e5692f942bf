//! Clusters as somebody else may run them: one that takes no older protocol than version 5 and is
//! reached elsewhere than it says, one that is spoken to as Cassandra 2.1 has to be, one that wants
//! a certificate of its clients, and one behind a proxy.

use super::{assert_rows_are_right, dirs, only_trial, patient};
use crate::engine;
use crate::program::{HANG_LIMIT, Lab, command, is_of_line};
use crate::sni;
use crate::tls::pem;
use cluster::{Access, Cluster, Session};
use cql::Version;
use load::{Endpoint, Limit, Schedule, VerifyReads};
use measure::Outcome;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use target::{LocalSpec, NullSpec, Target};

const STUDY: &str = "\
study: others
question: Is somebody's cluster measured as our own?
target: {attach: ATTACH}
workload: {use: WORKLOAD, mix: {write: 1, read: 1}, consistency: ALL}
client: CLIENT
keyspace: {name: NAME, replication: 2}
data: {load: {operations: ROWS}}
procedure: {fixed: {rate: RATE}}
window: {warmup: 0s, measure: 4s}
verify: {reads: all, sample: 100}
";

/// Starts nodes with settings of their own.
fn nodes(lab: &Lab, count: usize, yaml: &[(&str, serde_json::Value)]) -> Cluster {
    let mut spec = patient(count);
    spec.yaml
        .extend(yaml.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    started(lab, spec)
}

fn started(lab: &Lab, spec: LocalSpec) -> Cluster {
    cluster::start(&Target::Local(spec), &dirs(lab), &mut |_| ()).expect("nodes")
}

/// Passes on all that comes at a free port; where that is, and how many bytes went through.
fn forwarder(to: SocketAddr) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let all = Arc::new(AtomicU64::new(0));
    let bytes = Arc::clone(&all);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(to).expect("the node");
            for (from, into) in [
                (
                    client.try_clone().expect("a socket"),
                    server.try_clone().expect("a socket"),
                ),
                (server, client),
            ] {
                let bytes = Arc::clone(&bytes);
                std::thread::spawn(move || pass_on(from, into, &bytes));
            }
        }
    });
    (address, all)
}

fn pass_on(mut from: TcpStream, mut into: TcpStream, bytes: &AtomicU64) {
    let mut room = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut room) {
        if into.write_all(&room[..count]).is_err() {
            break;
        }
        bytes.fetch_add(count as u64, Ordering::Relaxed);
    }
    let _ = into.shutdown(Shutdown::Write);
}

/// Runs the study with a keyspace of its own, and holds that every operation of it was right.
fn run(lab: &Lab, changes: &[(&str, &str)]) {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let keyspace = format!("others{}", RUNS.fetch_add(1, Ordering::Relaxed));
    let usual = [
        ("WORKLOAD", "standard1"),
        ("CLIENT", "{workers: 1}"),
        ("NAME", &*keyspace),
        ("ROWS", "500"),
        ("RATE", "200"),
    ];
    let mut study = STUDY.to_owned();
    for (key, value) in changes.iter().chain(&usual) {
        study = study.replace(key, value);
    }
    lab.write("study.yaml", &study);
    let allow = format!("create={keyspace}");
    let said = lab.cassay(&["run", "study.yaml", "--json", "--allow", &allow]).measured(lab);
    let trial = only_trial(&said);
    assert_rows_are_right(&trial, 60);
    assert_eq!(trial["errors"], json!({}), "{said}");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn nodes_of_version_five_only_are_measured_where_port_forwards_lead() {
    let lab = Lab::new();
    let only_newest = ("native_transport_allow_older_protocols", json!(false));
    let cluster = nodes(&lab, 2, &[only_newest]);
    let at: Vec<SocketAddr> = cluster.nodes().iter().map(|node| node.address).collect();
    let forwarders: Vec<_> = at.iter().map(|node| forwarder(*node)).collect();
    let lines: Vec<String> = at
        .iter()
        .zip(&forwarders)
        .map(|(node, (reached, _))| format!("{}: '{reached}'", node.ip()))
        .collect();
    let point = forwarders[0].0;
    let attach = format!(
        "{{contact_points: ['{point}'], addresses: {{{}}}}}",
        lines.join(", ")
    );
    let went = || forwarders.iter().map(|(_, bytes)| bytes.load(Ordering::Relaxed));
    for (client, workload, more) in [
        ("{workers: 1}", "standard1", &[][..]),
        ("{workers: 2, compression: lz4}", "standard1", &[]),
        ("{workers: 1, machines: [here, here]}", "standard1", &[]),
        (
            "{workers: 1}",
            "kv, params: {value_size: fixed(300000)}",
            &[("ROWS", "50"), ("RATE", "10")],
        ),
        (
            "{workers: 1, compression: lz4}",
            "kv, params: {value_size: fixed(300000)}",
            &[("ROWS", "50"), ("RATE", "10")],
        ),
    ] {
        let before: Vec<u64> = went().collect();
        let changes = [
            ("ATTACH", &*attach),
            ("CLIENT", client),
            ("WORKLOAD", workload),
        ];
        run(&lab, &[more, &changes].concat());
        // The load of both nodes, and not only what was asked of one about the other.
        for (before, after) in before.into_iter().zip(went()) {
            assert!(
                after - before > 100_000,
                "{client} {workload}: {before} to {after}"
            );
        }
    }
    let snappy = STUDY
        .replace("ATTACH", &attach)
        .replace("CLIENT", "{compression: snappy}")
        .replace("WORKLOAD", "standard1")
        .replace("NAME", "others")
        .replace("ROWS", "500")
        .replace("RATE", "200");
    lab.write("study.yaml", &snappy);
    let refused = lab.cassay(&["run", "study.yaml", "--allow", "create=others"]);
    refused.says(&["native protocol v5, which it wants, has no compression by snappy"]);
    // Who is asked in an older version only says so.
    let mut frame = Vec::new();
    cql::request::startup(&mut frame, Version::V4, 0, None);
    let mut socket = TcpStream::connect(at[0]).expect("the node");
    socket.write_all(&frame).expect("it listens");
    let mut answer = vec![0; 200];
    let count = socket.read(&mut answer).expect("it answers");
    let said = String::from_utf8_lossy(&answer[..count]).into_owned();
    assert!(said.contains("Rejecting Protocol Version"), "{said}");
}

/// What Cassandra 2.1 speaks, later ones speak too: sessions and load, prepared and with rows that
/// are compared.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn the_oldest_version_and_the_newest_do_what_the_usual_one_does() {
    let lab = Lab::new();
    let cluster = nodes(&lab, 1, &[]);
    let node = cluster.nodes()[0].address;
    let server = engine::null(NullSpec::default());
    for version in Version::ALL {
        let access = Access::default();
        access.spoken.note(version);
        let mut session = Session::open(node, &access, HANG_LIMIT).expect("a session");
        assert_eq!(access.spoken.now(), version, "it is not refused");
        let keyspace = "CREATE KEYSPACE IF NOT EXISTS keyspace1 WITH replication = \
                        {'class': 'SimpleStrategy', 'replication_factor': 1}";
        session.execute_schema(keyspace).expect("a keyspace");
        let table = "CREATE TABLE IF NOT EXISTS keyspace1.standard1 (key blob PRIMARY KEY, \
                     \"C0\" blob, \"C1\" blob, \"C2\" blob, \"C3\" blob, \"C4\" blob)";
        session.execute_schema(table).expect("a table");
        let prepared = session
            .prepare("SELECT \"C0\" FROM keyspace1.standard1 WHERE key = ?")
            .expect("a statement");
        assert_eq!(prepared.bind_columns.len(), 1);
        assert_eq!(
            prepared.partition_key_indexes.is_empty(),
            version == Version::V3
        );
        let refused = session.query("SELECT * FROM keyspace1.nobodys").unwrap_err();
        assert!(refused.to_string().contains("invalid"), "{refused}");
        for (stage, rows) in [
            (workload::Stage::Load, 1_000),
            (workload::Stage::Main, 2_000),
        ] {
            let schedule = Schedule::Closed { in_flight: 16 };
            let mut config = engine::config(&server, schedule, Limit::Operations(rows));
            config.stage = stage;
            config.program = engine::program(&[("read", 1.0), ("write", 1.0)]);
            config.nodes = vec![Endpoint::at(node)];
            config.access.version = version;
            config.verify_reads = VerifyReads::EveryNth(1);
            let (all, _, summary) = engine::run(&config);
            let said = format!("{version}: {:?}", summary.first_errors);
            assert_eq!(all.outcomes.get(Outcome::Ok), rows, "{said}");
        }
    }
}

/// A key pair of a node in a store of Java's, and whom it trusts; where its certificate is.
fn stores(lab: &Lab, client: &str) -> (String, String) {
    let at = |name: &str| lab.path().join(name).display().to_string();
    let keytool = |arguments: &[&str]| {
        let fixed = ["-storetype", "PKCS12", "-storepass", "cassay", "-noprompt"];
        let said = command("keytool").args(arguments).args(fixed).output().expect("keytool");
        assert!(
            said.status.success(),
            "{}",
            String::from_utf8_lossy(&said.stdout)
        );
    };
    lab.write("me.pem", client);
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
    // As a property of the JVM it can be said since then.
    if !is_of_line("4.1") {
        return;
    }
    let lab = Lab::new();
    let client = rcgen::generate_simple_self_signed(["cassay".to_owned()]).expect("a pair");
    let (own, trusted) = stores(&lab, &pem("CERTIFICATE", client.cert.der()));
    lab.write(
        "me.key",
        &pem("PRIVATE KEY", &client.signing_key.serialize_der()),
    );
    // Without TLS everybody is let in, as our own sessions; by TLS nobody without a certificate.
    let options = [
        ("enabled", "true"),
        ("optional", "true"),
        ("require_client_auth", "true"),
        ("store_type", "PKCS12"),
        ("keystore", &own),
        ("keystore_password", "cassay"),
        ("truststore", &trusted),
        ("truststore_password", "cassay"),
    ];
    let option = |(key, value): (&str, &str)| {
        format!("-Dcassandra.settings.client_encryption_options.{key}={value}")
    };
    let mut spec = patient(2);
    spec.jvm_options
        .push("-Dcassandra.config.allow_system_properties=true".to_owned());
    spec.jvm_options.extend(options.map(option));
    let cluster = started(&lab, spec);
    let tls = |more: &str| {
        let point = cluster.nodes()[0].address;
        let trust = format!("ca: ca.pem, server_name: node.test{more}");
        format!("{{contact_points: ['{point}'], tls: {{{trust}}}}}")
    };
    let with = tls(", cert: me.pem, key: me.key");
    run(&lab, &[("ATTACH", &with)]);
    run(
        &lab,
        &[
            ("ATTACH", &with),
            ("CLIENT", "{workers: 1, machines: [here, here]}"),
        ],
    );
    let key = std::fs::read_to_string(lab.path().join("me.key")).expect("the key");
    let of_key = &key.lines().nth(1).expect("its line")[30..60];
    super::authentication::assert_in_no_file(&lab.path().join("results"), of_key);

    let study = std::fs::read_to_string(lab.path().join("study.yaml")).expect("the study");
    lab.write(
        "study.yaml",
        &study.replace(", cert: me.pem, key: me.key", ""),
    );
    let refused = lab.cassay(&["run", "study.yaml", "--allow", "create=nobodys"]).ended_with(1);
    refused.says(&["`tls: {cert: FILE, key: FILE}` of `target.attach`"]);
}

/// A stand-in of Astra's proxy and metadata service before real nodes: each is asked for by its id,
/// and what the nodes say of their addresses leads nowhere.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn real_nodes_behind_a_proxy_that_knows_them_by_their_ids_are_measured() {
    let lab = Lab::new();
    let cluster = nodes(&lab, 2, &[]);
    let id = |node: SocketAddr| {
        let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
        let own = session.query("SELECT host_id FROM system.local").expect("its id");
        own.rows[0][0].to_string()
    };
    let at = cluster.nodes().iter().map(|node| (id(node.address), node.address));
    let ids: Vec<String> = at.clone().map(|(id, _)| id).collect();
    let asked = sni::bundle(&lab, "localhost", at.collect());
    let bundle = [("ATTACH", "{secure_connect_bundle: scb.zip}")];
    run(&lab, &bundle);
    run(
        &lab,
        &[
            &bundle[..],
            &[("CLIENT", "{workers: 1, machines: [here, here]}")],
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
