//! Tests that `cassay doctor` on this machine always answers, and changes nothing.

use crate::program::Lab;
use serde_json::Value;

#[test]
fn this_machine_is_looked_at_for_people_and_for_programs() {
    let lab = Lab::new();
    let said = lab.cassay(&["doctor", "--target", "local", "--all"]).ended_with(0);
    for part in [
        "this machine: ",
        "vm.max_map_count",
        "limit.nofile",
        " correct",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said}");
    }
    let said = lab.cassay(&["doctor", "--target", "local", "--json"]).ended_with(0);
    let hosts: Value = serde_json::from_str(&said.stdout).unwrap();
    let settings = hosts[0]["settings"].as_array().unwrap();
    assert!(settings.len() > 25, "{said}");
    for one in settings {
        for key in [
            "setting", "value", "wanted", "verdict", "why", "fix", "source",
        ] {
            assert!(
                one[key].as_str().is_some_and(|text| !text.is_empty()),
                "{key}: {one}"
            );
        }
    }
}

#[test]
fn a_kept_cluster_that_is_not_there_is_an_error() {
    let lab = Lab::new();
    let said = lab.cassay(&["doctor", "--target", "kept"]).ended_with(1);
    assert!(said.stderr.contains("no kept cluster"), "{said}");
    let said = lab.cassay(&["doctor", "--target", "elsewhere"]).ended_with(2);
    assert!(
        said.stderr.contains("write kept, local, ssh:HOST"),
        "{said}"
    );
}
