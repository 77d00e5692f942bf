//! Checks that the record of a trial is complete enough to repeat the trial, by reading the files
//! back.

use store::Run;
use store::record::{JournalEvent, MachineFacts, NodesRecord};

/// Describes the missing parts of the record of trial `index` in the run at `path`. The list is
/// empty if the record is complete.
pub fn missing(path: &std::path::Path, index: usize, is_null: bool) -> Vec<String> {
    // The engine calls this function after each trial. If the function compared every byte of all
    // earlier trials, each trial would take longer than the previous one.
    let run = match Run::look(path) {
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
    let machine = run.journal.iter().rev().find_map(|line| match &line.event {
        JournalEvent::RunStarted { machine, .. } => Some(machine.clone()),
        _ => None,
    });
    missing.extend(missing_of_machine(&machine.unwrap_or_default()));
    match run.trial(index) {
        Ok(Some(trial)) => {
            let nodes = trial.nodes().ok().flatten();
            missing.extend(missing_of_nodes(nodes.as_ref(), is_null));
        }
        Ok(None) | Err(_) => missing.push("the trial's own record".to_owned()),
    }
    missing
}

/// Returns the facts about the machine that determine its speed, for the report.
pub fn machine() -> MachineFacts {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
    };
    MachineFacts {
        cpus: std::thread::available_parallelism().map_or(0, |cpus| cpus.get()),
        cpu: field(&read("/proc/cpuinfo"), "model name"),
        memory: field(&read("/proc/meminfo"), "MemTotal"),
        kernel: Some(read("/proc/sys/kernel/osrelease").trim().to_owned()),
        link_bits_per_s: host::fastest_link().map(|link| link.bits_per_s),
    }
}

fn missing_of_machine(machine: &MachineFacts) -> Vec<String> {
    let facts = machine.facts().into_iter();
    let absent = facts.filter(|(_, fact)| fact.is_none());
    absent.map(|(name, _)| format!("the machine's {name}")).collect()
}

/// A null target has no settings other than those of the plan.
fn missing_of_nodes(nodes: Option<&NodesRecord>, is_null: bool) -> Vec<String> {
    match nodes {
        None => vec!["the description of the nodes".to_owned()],
        Some(_) if is_null => Vec::new(),
        Some(nodes) if nodes.nodes.is_empty() => vec!["the description of the nodes".to_owned()],
        Some(nodes) => {
            let bare = nodes.nodes.iter().filter(|node| node.settings.is_empty());
            bare.map(|node| format!("settings of {}", node.name)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::NodeRecord;

    #[test]
    fn an_unknown_machine_is_missing_and_so_is_a_part_of_one() {
        let text = |text: &str| Some(text.to_owned());
        let whole = MachineFacts {
            cpus: 2,
            cpu: text("x"),
            memory: text("1 kB"),
            kernel: text("6.1"),
            // The drivers of virtual machines do not report the rate of the link.
            link_bits_per_s: None,
        };
        assert_eq!(missing_of_machine(&whole), Vec::<String>::new());
        let part = MachineFacts {
            cpu: None,
            kernel: text(""),
            ..whole
        };
        let missing = missing_of_machine(&part);
        assert_eq!(missing, ["the machine's cpu", "the machine's kernel"]);
        assert_eq!(missing_of_machine(&MachineFacts::default()).len(), 4);
    }

    /// In an earlier version, the settings of all nodes counted as recorded even if the record
    /// contained the settings of only one node.
    #[test]
    fn each_node_must_have_its_settings() {
        let node = |name: &str, settings: &[(&str, &str)]| NodeRecord {
            name: name.to_owned(),
            settings: settings.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            ..NodeRecord::default()
        };
        let nodes = NodesRecord {
            nodes: vec![node("node1", &[("a", "1")]), node("node2", &[])],
            ..NodesRecord::default()
        };
        assert_eq!(missing_of_nodes(Some(&nodes), false), ["settings of node2"]);
        assert_eq!(missing_of_nodes(Some(&nodes), true), Vec::<String>::new());
        assert_eq!(
            missing_of_nodes(None, true),
            ["the description of the nodes"]
        );
        assert_eq!(
            missing(std::path::Path::new("/nonexistent"), 0, true).len(),
            1
        );
    }
}
