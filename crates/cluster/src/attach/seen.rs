//! What can be had on the machines of a cluster that is not ours: as a description says it, and as
//! they are.

use super::hosts::{AttachedHosts, ReachedHost};
use crate::capability::{Answer, OF_NETWORK, OnMachines};
use crate::node::NodeInfo;
use host::process::Identity;
use std::collections::BTreeMap;
use target::{Ability, AttachedHost, Capability};

/// How figures come from there.
const FIGURES: &str = "/proc and /sys of the nodes' machines, by agents there";

const PROCESSES: &str = "the owners of the nodes' CQL sockets on their machines";
const LOGS: &str = "files of the nodes' machines, by agents there";
const SIGNALS: &str = "by agents there, where the command line says --allow signal";
const NETWORK: &str = "the packet filters and sockets of the nodes' machines, where the command \
                       line says --allow network";
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
        network: OF_NETWORK.map(|ability| (ability, Ok(NETWORK.to_owned()))).into(),
    }
}

/// What is to be had of those that were reached: what every node has.
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

/// That a process takes signals that stop it: the kernel keeps them from the first of a container,
/// whoever sends them from within.
fn signalled(pid: u32) -> Result<(), String> {
    if pid == 1 {
        return Err(
            "its process is the first of its container, which the kernel lets nobody within \
                    stop or kill; where its pod shares process ids \
                    (`shareProcessNamespace: true`), or another program has started it, that goes"
                .to_owned(),
        );
    }
    Ok(())
}

/// What the machines permit that faults of the network need, all of them asked at once.
fn on_networks(hosts: &AttachedHosts, nodes: &[NodeInfo]) -> BTreeMap<Ability, Answer> {
    let ask = |host: &ReachedHost| host.agent.machine_abilities();
    let found: Vec<_> = std::thread::scope(|scope| {
        let asked: Vec<_> = hosts.all.iter().map(|host| scope.spawn(move || ask(host))).collect();
        asked.into_iter().map(|asked| asked.join()).collect()
    });
    let found: Vec<Result<Vec<Capability>, String>> = found
        .into_iter()
        .map(|answer| match answer {
            Ok(answer) => answer.map_err(|error| format!("{error:#}")),
            Err(panic) => std::panic::resume_unwind(panic),
        })
        .collect();
    let of = |ability: Ability| -> Answer {
        let has = |host: &ReachedHost, node: usize| {
            host.undoes.clone()?;
            if nodes[node].address.is_ipv6() {
                return Err("packets of IPv6 are not lost".to_owned());
            }
            let index = hosts.index_of(node).ok_or("its machine is not among `hosts`")?;
            let all = found[index].as_ref().map_err(String::clone)?;
            match all.iter().find(|one| one.ability == ability) {
                Some(one) if !one.present => Err(format!("{}: {}", host.name, one.detail)),
                _ => Ok(()),
            }
        };
        hosts.every(nodes, has).map(|()| NETWORK.to_owned())
    };
    OF_NETWORK.map(|ability| (ability, of(ability))).into()
}
