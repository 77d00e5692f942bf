//! Maps kinds of external files to inputs. Contains the readers of every kind of file that the
//! program opens (`foreign::FileKind`). This module does not compile if a new kind has no entry.

use crate::corpus::{self, InputKind, Texts};
use base64::Engine;
use cassandra::TlsMaterial;
use cluster::Export;
use foreign::FileKind;
use std::io::Write;
use std::path::Path;

/// Way in which a kind of file is tested.
pub enum FileTest {
    /// The inputs with these names test the files of this kind.
    As(&'static [&'static str]),
    /// Not tested, because the program handles only the bytes of such a file, or no other program
    /// can write it.
    Not(&'static str),
}

/// Returns the inputs that test a kind of file.
pub fn tried(kind: FileKind) -> FileTest {
    match kind {
        FileKind::Study => FileTest::As(&["study"]),
        FileKind::Workload => FileTest::As(&[
            "workload-file",
            "stress-profile",
            "nb-file",
            "published",
            "import",
        ]),
        FileKind::QueryLog => FileTest::As(&["query-log"]),
        FileKind::Series | FileKind::Samples | FileKind::Scrape => FileTest::As(&["series"]),
        FileKind::Machine | FileKind::MachinePart => FileTest::As(&["machine"]),
        FileKind::Machines => FileTest::As(&["machines"]),
        FileKind::Placement => FileTest::As(&["placement"]),
        // These kinds have the same reader of YAML or JSON, with the same limits.
        FileKind::Builds => FileTest::As(&["machines"]),
        FileKind::Bisection => FileTest::As(&["findings"]),
        FileKind::Tags => FileTest::As(&["tags"]),
        FileKind::Removals => FileTest::As(&["removals"]),
        FileKind::Record => FileTest::As(&["findings", "plan", "trial"]),
        FileKind::Records => FileTest::As(&["intervals", "overview"]),
        FileKind::Histograms => FileTest::As(&["hlog"]),
        FileKind::Journal => FileTest::As(&["journal"]),
        FileKind::Export => FileTest::As(&["export"]),
        FileKind::Certificate => FileTest::As(&["certificate"]),
        FileKind::ConnectBundle => FileTest::As(&["bundle"]),
        FileKind::Home => FileTest::As(&["home"]),
        FileKind::Jar => FileTest::As(&["jar"]),
        FileKind::Archive => FileTest::As(&["tarball"]),
        FileKind::Supply => FileTest::As(&["maven-settings"]),
        FileKind::Profile => FileTest::As(&["profile"]),
        FileKind::RunFile => FileTest::Not("its bytes are counted, and compared with a digest"),
        FileKind::Password => FileTest::Not("its first line is the password, whatever it is"),
        FileKind::Note => FileTest::Not("it lies in a folder that only this user writes to"),
        FileKind::System => FileTest::Not("the kernel and the owner of the machine write it"),
    }
}

/// Returns the kinds of input that are separate files, and that cassay reads by their path.
pub fn kinds() -> Vec<InputKind> {
    vec![
        InputKind::new("series", 2, series, read_series),
        InputKind::new("machines", 5, machines, read_machines),
        InputKind::new("tags", 2, tags, read_tags),
        InputKind::new("removals", 2, removals, read_removals),
        InputKind::new("export", 5, exports, read_export),
        InputKind::new("certificate", 5, certificates, read_certificate),
        InputKind::new("bundle", 5, bundles, read_bundle),
        InputKind::new("home", 2, homes, read_home),
        InputKind::new("jar", 5, jars, read_jar),
        InputKind::new("tarball", 5, tarballs, read_tarball),
        InputKind::new("maven-settings", 5, maven_settings, read_maven_settings),
    ]
}

/// Reads `bytes` as the file `name` of a folder.
fn laid(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
    std::fs::write(&path, bytes).expect("it is written");
    read(folder.path());
}

fn series() -> Texts {
    corpus::texts_of(&[
        "# TYPE requests counter\nrequests{instance=\"n1\"} 7 1763000000000\nrequests{instance=\
         \"n1\"} 9 1763000015000\n# TYPE depth gauge\ndepth{queue=\"a\",instance=\"n1\"} 3.5 \
         1763000000000\n",
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\esx\\Memory\\Free MBytes\"\n\"11/21/2025 12:00:00\",\
         \"512\"\n\"11/21/2025 12:00:05\",\"498\"\n",
    ])
}

fn read_series(bytes: &[u8]) {
    laid("file", bytes, |folder| {
        drop(engine::series_names(&folder.join("file"), &[]));
    });
}

fn machines() -> Texts {
    corpus::texts_of(&[
        "- {name: a, address: 192.0.2.1, user: cassandra, folder: /srv/lab}\n- {name: b, address: \
         192.0.2.2}\n",
        "hosts:\n  n1: {at: 192.0.2.1}\n  n2: {at: [192.0.2.2, 192.0.2.3]}\n",
    ])
}

fn read_machines(bytes: &[u8]) {
    drop(study::read_machines(
        "machines.yaml",
        &String::from_utf8_lossy(bytes),
    ));
}

fn tags() -> Texts {
    corpus::texts_of(&["{\"before\": \"first-look/20261120T232909Z\", \"b\": \"s/1\"}\n"])
}

fn read_tags(bytes: &[u8]) {
    laid("tags.json", bytes, |folder| drop(store::tags(folder)));
}

fn removals() -> Texts {
    corpus::texts_of(&[
        "# kind\ttimes\tstring\treplacement\nhost\t3\tdb1.corp\thost1\npath\t1\t/srv/a\\tb\tkeep\n",
    ])
}

fn read_removals(bytes: &[u8]) {
    let mut removals = publication::Removals::default();
    drop(removals.apply_file(&String::from_utf8_lossy(bytes), &mut []));
    drop(removals.to_file());
}

fn exports() -> Texts {
    corpus::texts_of(&[
        r#"{"format": 1, "cassay": "0.1.0", "name": "full", "keyspace": "shop",
"created_unix_ns": 1795962417555886830, "version": "5.0.8",
"partitioner": "Murmur3Partitioner", "nodes": [{"node": "node1", "datacenter": "dc1",
"rack": "rack1", "tokens": [1, 5], "fingerprint": "656ff01383175a92", "contents": {},
"manifest": {"format": 1, "name": "full", "keyspace": "shop",
"created_unix_ns": 1795962417555886830, "version": "5.0.8",
"schema": ["CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy',
'replication_factor': '1'}", "CREATE TABLE shop.item (a int PRIMARY KEY)"],
"tables": [{"name": "item", "id": "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f",
"sstables": [{"prefix": "nb-1-big-", "digest": 2247042368, "data_bytes": 5,
"files": [{"name": "nb-1-big-Data.db", "bytes": 5, "crc32": 2247042368},
{"name": "nb-1-big-Digest.crc32", "bytes": 10, "crc32": 1858228127},
{"name": "nb-1-big-TOC.txt", "bytes": 1, "crc32": 2363233923}]}]}]}}, {"node": "node2",
"datacenter": "dc1", "rack": "rack1", "tokens": [3], "fingerprint": "eb2776546b3a4668",
"contents": {}, "manifest": {"format": 1, "name": "full", "keyspace": "shop",
"created_unix_ns": 1795962417556166990, "version": "5.0.8",
"schema": ["CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy',
'replication_factor': '1'}", "CREATE TABLE shop.item (a int PRIMARY KEY)"],
"tables": [{"name": "item", "id": "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f",
"sstables": [{"prefix": "nb-1-big-", "digest": 484865274, "data_bytes": 5,
"files": [{"name": "nb-1-big-Data.db", "bytes": 5, "crc32": 484865274},
{"name": "nb-1-big-Digest.crc32", "bytes": 9, "crc32": 137488883}, {"name": "nb-1-big-TOC.txt",
"bytes": 1, "crc32": 2363233923}]}]}]}}]}
"#,
    ])
}

fn read_export(bytes: &[u8]) {
    laid("export.json", bytes, |folder| drop(Export::read(folder)));
}

fn certificates() -> Texts {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])
        .expect("a certificate is made");
    let key = pem("PRIVATE KEY", &issued.signing_key.serialize_der());
    let both = format!("{}{key}", pem("CERTIFICATE", issued.cert.der()));
    vec![("pem", both.into_bytes())]
}

fn pem(label: &str, bytes: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

fn read_certificate(bytes: &[u8]) {
    let material = TlsMaterial {
        roots: Some(("a.pem".to_owned(), bytes.to_vec())),
        verify: true,
        server_name: None,
        certified_name: None,
        identity: None,
    };
    drop(material.tls());
}

fn bundles() -> Texts {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let pem = certificates().remove(0).1;
    let config = br#"{"host": "db.example.com", "port": 29080, "keyspace": "shop"}"#.to_vec();
    for (name, bytes) in [
        ("config.json", config),
        ("ca.crt", pem.clone()),
        ("cert", pem.clone()),
        ("key", pem),
    ] {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(name, options).expect("an entry");
        archive.write_all(&bytes).expect("an entry");
    }
    let bytes = archive.finish().expect("an archive").into_inner();
    vec![("zip", bytes)]
}

fn read_bundle(bytes: &[u8]) {
    laid("b.zip", bytes, |folder| {
        drop(cassandra::bundle_host(&folder.join("b.zip")));
    });
}

fn homes() -> Texts {
    corpus::texts_of(&[
        "ref: refs/heads/trunk\n",
        "gitdir: ../other/.git/worktrees/x\n",
        "0123456789012345678901234567890123456789 refs/heads/trunk\n",
    ])
}

fn read_home(bytes: &[u8]) {
    let commit = |folder: &Path| {
        std::fs::create_dir_all(folder.join("lib")).expect("a folder");
        for jar in ["apache-cassandra-5.0.9.jar", "jamm-0.4.0.jar"] {
            std::fs::write(folder.join("lib").join(jar), "").expect("a file");
        }
        let home = versions::Home::read(folder).expect("a home");
        drop(home.commit());
    };
    for name in [".git", ".git/HEAD", ".git/packed-refs", ".git/commondir"] {
        laid(name, bytes, commit);
    }
    let _ =
        target_spec::java_in_release(&String::from_utf8_lossy(bytes)).map(target_spec::java_major);
}

fn tarballs() -> Texts {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (name, bytes) in [
        ("apache-cassandra-5.0.9/bin/cassandra", &b"#!"[..]),
        (
            "apache-cassandra-5.0.9/lib/apache-cassandra-5.0.9.jar",
            b"PK",
        ),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, bytes).expect("an entry");
    }
    let packed = archive.into_inner().and_then(|packed| packed.finish());
    vec![("tar.gz", packed.expect("an archive"))]
}

fn read_tarball(bytes: &[u8]) {
    laid("c.tar.gz", bytes, |folder| {
        drop(versions::release_in_tarball(&folder.join("c.tar.gz")));
        drop(supply::import(folder, &folder.join("c.tar.gz"), None));
    });
}

fn jars() -> Texts {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let name = "org/apache/cassandra/config/version.properties";
    archive.start_file(name, options).expect("an entry");
    archive.write_all(b"CassandraVersion=5.0.9\n").expect("an entry");
    vec![("jar", archive.finish().expect("an archive").into_inner())]
}

fn read_jar(bytes: &[u8]) {
    laid("lib/server.jar", bytes, |folder| {
        drop(versions::Home::read(folder));
    });
}

fn maven_settings() -> Texts {
    corpus::texts_of(&[
        "<settings><localRepository>${user.home}/jars</localRepository><proxies><proxy>\
         <active>true</active><protocol>https</protocol><host>p.example.com</host><port>3128</port>\
         </proxy></proxies><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>https://m.example.\
         com/maven2</url></mirror></mirrors></settings>",
    ])
}

fn read_maven_settings(bytes: &[u8]) {
    let variable = |name: &str| (name == "HOME").then(|| "/srv/somebody".to_owned());
    drop(supply::MavenSettings::from_text(
        &String::from_utf8_lossy(bytes),
        &variable,
    ));
}
