//! Tests that cassay refuses impossible runs before anything starts, with the reason and a hint.

use super::{assert_nothing_is_left, dirs, script, small};
use crate::program::Lab;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use target_spec::{LocalSpec, Target};

#[test]
#[ignore = "needs the Java of a real Cassandra: cargo xtask cassandra"]
fn a_wrong_java_is_passed_over_for_another_and_that_is_said() {
    let lab = Lab::new();
    let text = "#!/bin/sh\necho 'openjdk version \"11.0.21\" 2023-10-17' >&2\n";
    script(&lab, "jdk-11/bin/java", text);
    let home = lab.path().join("jdk-11");
    for (home, found) in [
        (home.as_path(), "is Java 11.0.21"),
        (Path::new("/nowhere"), "the folder contains no bin/java"),
    ] {
        let output = lab.command(&["supply", "list"]).env("JAVA_HOME", home).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        for part in [found, "JAVA_HOME", "cassay uses Java 17"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

#[test]
#[ignore = "needs the jars of a real Cassandra: cargo xtask cassandra"]
fn too_little_memory_is_refused_with_both_numbers() {
    let lab = Lab::new();
    let said = lab.cassay(&["target", "up", "--heap", "2TiB"]).ended_with(1);
    said.says(&[
        "too little memory",
        "MiB are available",
        "hint: use a smaller heap",
    ]);
    let said = lab.cassay(&["target", "up", "--heap", "64MiB"]).ended_with(1);
    said.says(&["64 MiB is too small"]);
    assert_nothing_is_left(&lab);
}

/// Other nodes may take any free port, so the test occupies the port at an address that no other
/// test uses.
#[test]
#[ignore = "needs the jars of a real Cassandra: cargo xtask cassandra"]
fn a_taken_port_is_refused_with_its_holder() {
    let lab = Lab::new();
    let address = Ipv4Addr::new(127, 9, 200, 1);
    let listener = TcpListener::bind((address, 9042)).expect("a port that nobody has");
    let spec = LocalSpec {
        address: Some(address),
        ..small(2)
    };
    let error = cluster::start(&Target::Local(spec), &dirs(&lab), &mut |_| ()).unwrap_err();
    drop(listener);
    let error = format!("{error:#}");
    let holder = format!("process {}", std::process::id());
    for part in [
        "found no free loopback address",
        &holder,
        ") uses 127.",
        "hint: stop the programs that listen",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_nothing_is_left(&lab);
}
