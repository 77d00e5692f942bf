//! What can be had on the machines of a cluster that is not ours: as a description says it, and as
//! they are.

use super::hosts::{AttachedHosts, ReachedHost};
use crate::capability::{Answer, OnMachines};
use crate::node::NodeInfo;
use target::AttachedHost;

/// How figures come from there.
const FIGURES: &str = "/proc and /sys of the nodes' machines, by agents over ssh";

const PROCESSES: &str = "the owners of the nodes' CQL sockets on their machines";
const LOGS: &str = "files of the nodes' machines, by agents over ssh";
const SIGNALS: &str = "by agents over ssh, where the command line says --allow signal";
const CONTROL: &str = "by `control` on the nodes' machines, where the command line says --allow \
                       restart";

/// What is to be had of such machines, before anybody has reached them.
pub(crate) fn expected(hosts: &[AttachedHost]) -> OnMachines {
    let lacks = |has: fn(&AttachedHost) -> bool, key: &str| -> Result<(), String> {
        let without: Vec<&str> = hosts
            .iter()
            .filter(|host| !has(host))
            .map(|host| host.remote.ssh.as_str())
            .collect();
        if without.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "`hosts` does not say `{key}` of {}",
                without.join(", ")
            ))
        }
    };
    OnMachines {
        figures: Ok(FIGURES.to_owned()),
        processes: Ok(PROCESSES.to_owned()),
        logs: lacks(|host| host.logs.is_some(), "logs").map(|()| LOGS.to_owned()),
        signals: Ok(SIGNALS.to_owned()),
        control: lacks(|host| host.control.is_some(), "control").map(|()| CONTROL.to_owned()),
    }
}

/// What is to be had of those that were reached: what every node has.
pub(crate) fn on_machines(hosts: &AttachedHosts, nodes: &[NodeInfo]) -> OnMachines {
    type Of<'a> = &'a dyn Fn(&ReachedHost, usize) -> Result<(), String>;
    let answer =
        |how: &str, of: Of<'_>| -> Answer { hosts.every(nodes, of).map(|()| how.to_owned()) };
    let all = nodes.iter().enumerate();
    let found: Vec<Result<(), String>> =
        all.map(|(index, node)| hosts.process(index, node.address).map(drop)).collect();
    OnMachines {
        figures: answer(FIGURES, &|_, _| Ok(())),
        processes: answer(PROCESSES, &|_, node| found[node].clone()),
        logs: answer(LOGS, &|_, node| match hosts.logs(node) {
            Some(logs) => logs.map(drop),
            None => Ok(()),
        }),
        signals: answer(SIGNALS, &|host, node| {
            host.undoes.clone().and(found[node].clone())
        }),
        control: answer(CONTROL, &|host, node| {
            host.undoes.clone()?;
            host.control(nodes[node].address)?;
            found[node].clone()
        }),
    }
}
