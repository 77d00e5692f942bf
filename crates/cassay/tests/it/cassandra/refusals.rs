//! What cannot run is refused before anything starts, with what was found and what to do.

use super::{Kept, POINT, assert_nothing_is_left, script};
use crate::program::Lab;
use measure::clock;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

#[test]
#[ignore = "needs the jars of a real Cassandra: cargo xtask cassandra"]
fn a_wrong_java_is_refused_with_what_was_found() {
    // Several points: what cannot be started is tried once.
    let sweep = POINT.replace("fixed: {threads: 16}", "sweep: {threads: [4, 8, 16]}");
    let lab = Lab::with(&sweep);
    let text = "#!/bin/sh\necho 'openjdk version \"11.0.21\" 2023-10-17' >&2\n";
    script(&lab, "jdk-11/bin/java", text);
    let home = lab.path().join("jdk-11");
    for arguments in [&["target", "up"][..], &["run", "study.yaml"]] {
        let output = lab.command(arguments).env("JAVA_HOME", &home).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        for part in ["needs Java 17", "Java 11.0.21", "JAVA_HOME", "hint: "] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_nothing_is_left(&lab);
    }
    assert_eq!(lab.journaled("target_starting", None), 1);
    assert_eq!(lab.journaled("trial_failed", None), 1);
    assert_eq!(lab.journaled("trial_skipped", None), 2);
    let nowhere = lab
        .command(&["target", "up"])
        .env("JAVA_HOME", "/nowhere")
        .output();
    let nowhere = nowhere.unwrap();
    assert_eq!(nowhere.status.code(), Some(1));
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(said.contains("JAVA_HOME is /nowhere"), "{said}");
}

#[test]
#[ignore = "needs the jars of a real Cassandra: cargo xtask cassandra"]
fn too_little_memory_is_refused_with_both_numbers() {
    let lab = Lab::new();
    let said = lab
        .cassay(&["target", "up", "--heap", "2TiB"])
        .ended_with(1);
    said.says(&[
        "too little memory",
        "MiB are available",
        "hint: a smaller heap",
    ]);
    let said = lab
        .cassay(&["target", "up", "--heap", "64MiB"])
        .ended_with(1);
    said.says(&["64 MiB is too small"]);
    assert_nothing_is_left(&lab);
}

/// Where local targets look for a place: see `crates/target/src/local/ports.rs`.
const PORTS: [u16; 3] = [9042, 19042, 29042];
const BLOCKS: std::ops::Range<u8> = 42..74;

/// Listens at a place, unless somebody else does and goes on doing so. A process that has just been
/// killed loses its command line before its sockets: for a moment it listens though nobody finds
/// it. So a taken place is only believed after a while.
fn take(place: (u8, u16)) -> Option<TcpListener> {
    let address = (Ipv4Addr::new(127, 9, place.0, 1), place.1);
    let deadline = clock::now_ns() + 10 * clock::SECOND_NS;
    loop {
        let listener = TcpListener::bind(address).ok();
        if listener.is_some() || clock::now_ns() > deadline {
            return listener;
        }
        clock::sleep(Duration::from_millis(10));
    }
}

/// A taken port in each place that is looked at leaves none. What others hold stays theirs: not
/// listening at all addresses lets other nodes of this machine run meanwhile.
#[test]
#[ignore = "needs the jars of a real Cassandra: cargo xtask cassandra"]
fn a_taken_port_is_refused_with_its_holder() {
    let lab = Lab::new();
    let _kept = Kept(&lab);
    let places = PORTS
        .iter()
        .flat_map(|port| BLOCKS.map(move |block| (block, *port)));
    let listeners: Vec<_> = places.filter_map(take).collect();
    let up = ["target", "up", "--heap", super::HEAP];
    let said = lab.cassay(&up).ended_with(1);
    drop(listeners);
    let holder = format!("is taken by process {}", std::process::id());
    said.says(&[
        "no free loopback address",
        &holder,
        "hint: stop what is listening",
    ]);
    assert_nothing_is_left(&lab);
}
