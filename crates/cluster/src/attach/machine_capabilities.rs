//! Capabilities on the machines of an attached cluster: expected ones from the spec before cassay
//! connects to the machines, and actual ones afterwards.

use super::hosts::{AttachedHosts, ReachedHost};
use crate::capability::{Answer, OF_NETWORK, OnMachines};
use cassandra::NodeInfo;
use host::process::Identity;
use std::collections::BTreeMap;
use target_spec::{AttachedHost, Capability, CapabilityStatus, NodeIndex, PerHost};

const FIGURES: &str = "/proc and /sys of the nodes' machines, which cassay's agents read";

const PROCESSES: &str = "the processes that own the nodes' CQL sockets, found by agents on the \
                         nodes' machines";
const LOGS: &str = "log files on the nodes' machines, which cassay's agents read";
const SIGNALS: &str = "cassay's agents on the nodes' machines, if the command line has --allow \
                       signal";
const NETWORK: &str = "the packet filters and sockets of the nodes' machines, if the command line \
                       has --allow network";
const CONTROL: &str = "the programs in `control` on the nodes' machines, if the command line has \
                       --allow restart";

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
                "`hosts` does not set `{key}` for {}",
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
        network: OF_NETWORK.map(|capability| (capability, Ok(NETWORK.to_owned()))).into(),
    }
}

pub(crate) fn on_machines(hosts: &AttachedHosts, nodes: &[NodeInfo]) -> OnMachines {
    type Of<'a> = &'a dyn Fn(&ReachedHost, usize) -> Result<(), String>;
    let answer =
        |how: &str, of: Of<'_>| -> Answer { hosts.every(nodes, of).map(|()| how.to_owned()) };
    let all = nodes.iter().enumerate();
    let found: Vec<Result<Identity, String>> =
        all.map(|(index, node)| hosts.process(index, node.address)).collect();
    OnMachines {
        figures: answer(FIGURES, &|_, _| Ok(())),
        processes: answer(PROCESSES, &|_, node| found[node].clone().map(drop)),
        logs: answer(LOGS, &|_, node| match hosts.logs(node) {
            Some(logs) => logs.map(drop),
            None => Ok(()),
        }),
        signals: answer(SIGNALS, &|host, node| {
            host.undoes.clone()?;
            let process = found[node].clone()?;
            signalled(process.pid)
        }),
        control: answer(CONTROL, &|host, node| {
            host.undoes.clone()?;
            host.control(nodes[node].address)?;
            found[node].clone().map(drop)
        }),
        network: on_networks(hosts, nodes),
    }
}

/// Checks that signals can stop a process. The kernel protects process 1 of a container from
/// signals of the container's processes.
fn signalled(pid: u32) -> Result<(), String> {
    if pid == 1 {
        return Err(
            "the node is the first process of its container, so the kernel does not let other \
             processes in the container stop or kill it\nhint: share process ids in the pod \
             (`shareProcessNamespace: true`), or start the node by another program in the container"
                .to_owned(),
        );
    }
    Ok(())
}

/// Queries all machines in parallel for the capabilities of network faults.
fn on_networks(hosts: &AttachedHosts, nodes: &[NodeInfo]) -> BTreeMap<Capability, Answer> {
    let ask = |host: &ReachedHost| host.agent.machine_capabilities();
    let found: Vec<_> = std::thread::scope(|scope| {
        let asked: Vec<_> = hosts.all.iter().map(|host| scope.spawn(move || ask(host))).collect();
        asked.into_iter().map(|asked| asked.join()).collect()
    });
    let found: PerHost<Result<Vec<CapabilityStatus>, String>> = found
        .into_iter()
        .map(|answer| match answer {
            Ok(answer) => answer.map_err(|error| format!("{error:#}")),
            Err(panic) => std::panic::resume_unwind(panic),
        })
        .collect();
    let of = |capability: Capability| -> Answer {
        let has = |host: &ReachedHost, node: usize| {
            host.undoes.clone()?;
            if nodes[node].address.is_ipv6() {
                return Err("cassay cannot drop IPv6 packets".to_owned());
            }
            let index = hosts
                .index_of(NodeIndex(node))
                .ok_or("`hosts` does not contain the machine of the node")?;
            let all = found[index].as_ref().map_err(String::clone)?;
            match all.iter().find(|one| one.capability == capability) {
                Some(one) if !one.present => Err(format!("{}: {}", host.name, one.detail)),
                _ => Ok(()),
            }
        };
        hosts.every(nodes, has).map(|()| NETWORK.to_owned())
    };
    OF_NETWORK.map(|capability| (capability, of(capability))).into()
}
