//! Tests `cassay topology` with described machines, plans for these machines, and exported files.

use crate::program::Lab;

/// A machine of two packages with 28 cores each. A core has two threads.
const XEON: &str = "pack:2 [numa(memory=256GiB)] l3:1(size=43008KiB) l2:28(size=1280KiB) core:1 \
                    pu:2(indexes=2*56:1*2)";

#[test]
fn a_machine_is_drawn_and_this_one_too() {
    let lab = Lab::new();
    let drawn = lab.cassay(&["topology", "show", "--machine", XEON]).ended_with(0);
    assert!(
        drawn.stdout.contains("0-6") || drawn.stdout.contains("0-27"),
        "{}",
        drawn.stdout
    );
    let here = lab.cassay(&["topology", "show", "--target", "local", "--json"]).ended_with(0);
    let here: serde_json::Value = serde_json::from_str(&here.stdout).unwrap();
    assert!(
        !here[0]["machine"]["pus"].as_array().unwrap().is_empty(),
        "{here}"
    );
}

/// Plans the published layout, which has eight VMs with 14 CPUs each, on seven whole cores of one
/// socket.
#[test]
fn eight_machines_of_fourteen_cpus_cross_nothing() {
    let lab = Lab::new();
    let words = [
        "topology",
        "plan",
        "--machine",
        XEON,
        "--instances",
        "8",
        "--vcpus",
        "14",
    ];
    let json = lab.cassay(&[&words[..], &["--json"]].concat()).ended_with(0);
    let told: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let first: Vec<u64> =
        serde_json::from_value(told["plan"]["instances"][0]["cpus"].clone()).unwrap();
    assert_eq!(first, [0, 56, 1, 57, 2, 58, 3, 59, 4, 60, 5, 61, 6, 62]);
    assert_eq!(told["plan"]["costs"]["crossing_node"], 0);
    assert!(
        told["costs_by_number"]["shared_cores"].as_u64() > Some(0),
        "{told}"
    );
    let text = lab.cassay(&words).ended_with(0);
    assert!(
        text.stdout.contains("ActiveProcessorCount=14"),
        "{}",
        text.stdout
    );
    assert!(
        text.stdout.contains("14 sockets"),
        "what vSphere 7 shows: {}",
        text.stdout
    );
}

#[test]
fn a_request_that_does_not_fit_is_refused_with_a_hint() {
    let lab = Lab::new();
    let words = [
        "topology",
        "plan",
        "--machine",
        XEON,
        "--instances",
        "9",
        "--vcpus",
        "14",
    ];
    let refused = lab.cassay(&words).ended_with(1);
    assert!(refused.stderr.contains("hint:"), "{}", refused.stderr);
    let absent = lab.cassay(&["topology", "show", "--machine", "/no/such/file"]).ended_with(1);
    assert!(absent.stderr.contains("hint:"), "{}", absent.stderr);
}

#[test]
fn every_format_is_written_and_read_back() {
    let lab = Lab::new();
    let folder = lab.path().join("plans");
    let into = folder.display().to_string();
    let words = [
        "topology",
        "export",
        "all",
        "--machine",
        XEON,
        "--instances",
        "2",
        "--vcpus",
        "14",
    ];
    let words = [&words[..], &["--into", &into]].concat();
    let written = lab.cassay(&words).ended_with(0);
    let files: Vec<&str> = written.stdout.lines().collect();
    assert!(files.len() > 12, "{files:?}");
    for (format, file) in [
        ("libvirt", "host1-0.libvirt.xml"),
        ("systemd", "host1-1.systemd.conf"),
        ("numactl", "host1-1.numactl.sh"),
        ("vmx", "host1-0.vmx.vmx"),
    ] {
        let path = folder.join(file).display().to_string();
        let read = lab.cassay(&["topology", "read", format, &path, "--json"]).ended_with(0);
        let told: serde_json::Value = serde_json::from_str(&read.stdout).unwrap();
        assert_eq!(told["rack"], "rack-host1", "{format}: {told}");
    }
    let again = lab.cassay(&words).ended_with(1);
    assert!(
        again.stderr.contains("cassay does not overwrite files"),
        "{}",
        again.stderr
    );
}
