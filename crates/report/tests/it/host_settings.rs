//! Tests the section on the settings of the hosts. The page lists each deviation once, and the JSON
//! contains all settings.

use crate::lab;
use report::page;

#[test]
fn deviating_settings_are_shown_and_the_rest_is_counted() {
    let text = report::text(&page(&lab::run()));
    let begin = text.find("SETTINGS OF THE HOSTS").expect("the section");
    let section = &text[begin..];
    assert!(
        section.contains("1 to fix, 1 to consider, 1 unknown"),
        "{section}"
    );
    assert_eq!(section.matches("vm.max_map_count").count(), 1, "{section}");
    assert_eq!(section.matches("irq.disk").count(), 1, "{section}");
    assert!(!section.contains("heap.size"), "{section}");
}

#[test]
fn a_page_has_all_settings_and_programs_too() {
    let page = page(&lab::run());
    let html = report::html(&page);
    assert!(html.contains("All settings (4)") && html.contains("heap.size"));
    let printed: serde_json::Value = serde_json::from_str(&report::json(&page)).expect("JSON");
    let settings = printed["host_settings"].as_array().expect("settings");
    assert_eq!(settings.len(), 4);
    assert_eq!(settings[0]["setting"], "vm.max_map_count");
    assert_eq!(
        settings[0]["hosts"],
        serde_json::json!(["host1", "host2", "host3"])
    );
    assert_eq!(
        settings[3]["on"],
        serde_json::json!(["node1", "node2", "node3"])
    );
    assert_eq!(settings[0]["fix"], "sysctl --system");
}

#[test]
fn a_run_that_looked_at_no_host_has_no_section() {
    let mut run = lab::run();
    for trial in &mut run.trials {
        trial.nodes.as_mut().expect("nodes").host_settings.clear();
    }
    let page = page(&run);
    assert!(page.sections().all(|one| one.id != "host-settings"));
    assert!(page.data.get("host_settings").is_none());
}
