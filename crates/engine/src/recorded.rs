//! Whether what is needed to do a trial again stands on disk: read back from the files, not from
//! what we meant to write.

use serde_json::Value;
use store::Run;
use store::record::NodesRecord;

/// What of a machine decides how fast things are, as the journal's first line names it.
const MACHINE: [&str; 4] = ["cpus", "cpu", "memory", "kernel"];

/// What is missing of the trial `index` of the run at `path`, in words; empty if nothing is.
pub fn missing(path: &std::path::Path, index: usize, is_null: bool) -> Vec<String> {
    let run = match Run::open(path) {
        Ok(run) => run,
        Err(error) => return vec![format!("the run: {error:#}")],
    };
    let mut missing = Vec::new();
    if run.study_yaml().map_or(true, |text| text.trim().is_empty()) {
        missing.push("the study".to_owned());
    }
    if run.plan.cassay.is_empty() {
        missing.push("the version of cassay".to_owned());
    }
    if !run.plan.trials.iter().any(|trial| trial.index == index) {
        missing.push("the trial's entry of the plan".to_owned());
    }
    let mut started = run
        .journal
        .iter()
        .filter(|line| line.event == "run_started");
    let machine = started.next_back().map(|line| &line.detail["machine"]);
    missing.extend(of_machine(machine.unwrap_or(&Value::Null)));
    match run.trial(index) {
        Ok(Some(trial)) => {
            let nodes = trial.nodes().ok().flatten();
            missing.extend(of_nodes(nodes.as_ref(), is_null));
        }
        Ok(None) | Err(_) => missing.push("the trial's own record".to_owned()),
    }
    missing
}

fn of_machine(machine: &Value) -> Vec<String> {
    let is_there = |field: &&&str| {
        let value = &machine[**field];
        !value.is_null() && value.as_str() != Some("")
    };
    let absent = MACHINE.iter().filter(|field| !is_there(field));
    absent
        .map(|field| format!("the machine's {field}"))
        .collect()
}

/// A null target has no settings but those of the plan.
fn of_nodes(nodes: Option<&NodesRecord>, is_null: bool) -> Vec<String> {
    match nodes {
        None => vec!["what the nodes are".to_owned()],
        Some(_) if is_null => Vec::new(),
        Some(nodes) if nodes.nodes.is_empty() => vec!["what the nodes are".to_owned()],
        Some(nodes) => {
            let bare = nodes.nodes.iter().filter(|node| node.settings.is_empty());
            bare.map(|node| format!("settings of {}", node.name))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use store::record::NodeRecord;

    #[test]
    fn a_machine_of_which_nothing_is_known_is_missing_and_so_is_a_part_of_it() {
        let whole = json!({"cpus": 2, "cpu": "x", "memory": "1 kB", "kernel": "6.1"});
        assert_eq!(of_machine(&whole), Vec::<String>::new());
        let part = json!({"cpus": 2, "cpu": null, "memory": "1 kB", "kernel": ""});
        let missing = of_machine(&part);
        assert_eq!(missing, ["the machine's cpu", "the machine's kernel"]);
        assert_eq!(of_machine(&Value::Null).len(), 4);
    }

    /// One node with settings was enough for all of them to be said to be on record.
    #[test]
    fn each_node_must_have_its_settings() {
        let node = |name: &str, settings: &[(&str, &str)]| NodeRecord {
            name: name.to_owned(),
            settings: settings
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            ..NodeRecord::default()
        };
        let nodes = NodesRecord {
            nodes: vec![node("node1", &[("a", "1")]), node("node2", &[])],
            ..NodesRecord::default()
        };
        assert_eq!(of_nodes(Some(&nodes), false), ["settings of node2"]);
        assert_eq!(of_nodes(Some(&nodes), true), Vec::<String>::new());
        assert_eq!(of_nodes(None, true), ["what the nodes are"]);
        assert_eq!(
            missing(std::path::Path::new("/nonexistent"), 0, true).len(),
            1
        );
    }
}
