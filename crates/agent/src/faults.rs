//! Injection and healing of faults by a host's agent.
//!
//! Invariants: before the agent injects a fault, it records how to heal the fault. If a fault must
//! be healed even after the agent's end, the undo list has an entry for it. The agent heals a fault
//! when the fault's time limit expires, even without a controller.

pub(crate) mod active_faults;
mod added_process;
mod commands;
mod corrupt;
mod files;
mod limits;
mod links;
pub(crate) mod packets;
mod power;
mod process;
mod processes;
mod repeating_thread;
mod restart_after_heal;
mod restart_without_data;
mod service;
mod stutter;
mod volume;

use crate::host_state::AgentState;
use active_faults::{Breakable, State};
use anyhow::{Context, Result};
use host::faults::{Heal, Inject, Renew, StartedProcesses};
use host::process::Identity;
use host::{Broken, HealAnswer, Injection};
use measure::clock::Deadline;
use remote::Serve;
use std::time::Duration;

fn breakable(what: Injection, broken: Broken) -> Box<dyn Breakable> {
    use restart_without_data::{EmptiedNode, EmptyingTime};
    use volume::{Alone, DiskFailure, Failing, Full, StalledVolume};
    let failing = |how, processes| -> Box<dyn Breakable> {
        Box::new(Alone::with(Failing::by(how, processes)))
    };
    let emptied = |process, folders, time| -> Box<dyn Breakable> {
        Box::new(EmptiedNode::new(process, folders, time))
    };
    match what {
        Injection::Pause(process) => Box::new(process::Pause(process)),
        Injection::Stutter {
            process,
            stopped,
            every,
        } => Box::new(stutter::Stutter::new(process, stopped, every)),
        Injection::Kill(one) => Box::new(process::TerminatedProcess::killed(one)),
        Injection::Stop(one) => Box::new(process::TerminatedProcess::terminate(one)),
        Injection::Wipe { process, folders } => emptied(process, folders, EmptyingTime::Now),
        Injection::Leave {
            process,
            folders,
            address,
        } => emptied(process, folders, EmptyingTime::Left(address)),
        Injection::Join(what) => Box::new(added_process::AddedProcess::new(what)),
        Injection::Files {
            reader,
            forth,
            back,
        } => Box::new(files::FileChanges::new(reader, forth, back)),
        Injection::Instead {
            process,
            instead,
            forth,
            back,
        } => Box::new(files::FileChanges::new(Some(process), forth, back).by(instead)),
        Injection::Descriptors(process) => Box::new(process::Descriptors::new(process)),
        Injection::CpuQuota(cores) => Box::new(limits::Limit::cpu(cores)),
        Injection::Disk(disk) => Box::new(limits::Limit::disk(disk)),
        Injection::Packets(losses) => Box::new(packets::Packets::new(broken, losses)),
        Injection::HostPackets(losses) => Box::new(packets::HostPackets::new(broken, losses)),
        Injection::LinkDown(number) => Box::new(links::Down::new(number)),
        Injection::LinkTo { number, link } => Box::new(links::Slow::to(number, link)),
        Injection::LinkFrom(link) => Box::new(links::Slow::from_here(link)),
        Injection::TakeAddress(address) => Box::new(links::DuplicateAddress::new(address)),
        Injection::Command { inject, heal } => Box::new(commands::Commands { inject, heal }),
        Injection::Service(fault) => Box::new(service::OfOthers::new(fault)),
        Injection::Reset(ports) => Box::new(links::Reset(ports)),
        Injection::PowerOff { processes } => {
            Box::new(Alone::with(power::PowerLoss::new(processes)))
        }
        Injection::Adopt {
            device,
            folder,
            start,
        } => Box::new(power::AdoptedVolume::new(device, folder, start)),
        Injection::DiskRemoved { processes } => failing(DiskFailure::Removed, processes),
        Injection::DiskReadOnly { processes } => failing(DiskFailure::ReadOnly, processes),
        Injection::DiskErrors {
            path,
            at,
            processes,
        } => failing(DiskFailure::From(path, at), processes),
        Injection::DiskStalled => Box::new(Alone::with(StalledVolume::default())),
        Injection::DiskFull { leave_bytes } => Box::new(Alone::with(Full::but(leave_bytes))),
        Injection::DiskCorrupt { path, at, bytes } => {
            Box::new(Alone::with(corrupt::Rot::new(path, at, bytes)))
        }
    }
}

impl AgentState {
    /// Heals a fault unless it is already healed. Returns the result of the healing.
    fn heal(&self, Broken(number): Broken) -> Result<HealAnswer> {
        // With the lock, the agent cannot end during the healing, and the healing cannot start
        // processes after the end of the agent.
        let mut all = self.faults.lock();
        let state =
            all.get_mut(number as usize).context("the agent has no record of this fault")?;
        let by_itself = matches!(state, State::Whole(_));
        if let State::Broken(what, _) = state {
            let processes = what.heal(self);
            let healed = processes.map(|processes| HealAnswer {
                processes,
                by_itself: false,
                became: what.became(),
            });
            *state = State::Whole(healed.map_err(|error| format!("{error:#}")));
            self.faults.news.notify_all();
        }
        let State::Whole(healed) = state else {
            anyhow::bail!("the fault is still in effect after the attempt to heal it")
        };
        let healed = healed.clone().map_err(anyhow::Error::msg)?;
        Ok(HealAnswer {
            by_itself,
            ..healed
        })
    }
}

impl Serve<AgentState> for Inject {
    fn serve(self, here: &AgentState) -> Result<Broken> {
        let own = here
            .own()
            .context("the agent is shutting down, so it does not inject the fault")?;
        // With the lock, no thread can heal the fault before it exists.
        let mut all = here.faults.lock();
        let broken = Broken(all.len() as u64);
        let mut what = breakable(self.what, broken);
        let deadline = Deadline::after(Duration::from_millis(self.within_ms));
        std::thread::Builder::new()
            .name(format!("heal {}", broken.0))
            .spawn(move || {
                if !own.faults.is_left(broken) {
                    return;
                }
                // A later call for the same fault returns this stored result.
                if own.heal(broken).is_ok() {
                    own.keep_up();
                }
            })
            .context("start the thread that heals the fault on time")?;
        match what.inject(here) {
            Ok(()) => all.push(State::Broken(what, deadline)),
            Err(error) => {
                let undone = what.heal(here);
                all.push(State::Whole(Ok(HealAnswer::default())));
                return match undone {
                    Ok(_) => Err(error),
                    Err(failed) => Err(error.context(format!(
                        "the agent could not inject the fault, and could not undo the partial \
                         change: {failed:#}"
                    ))),
                };
            }
        }
        Ok(broken)
    }
}

impl Serve<AgentState> for Renew {
    fn serve(self, here: &AgentState) -> Result<()> {
        let Broken(number) = self.broken;
        let mut all = here.faults.lock();
        let state =
            all.get_mut(number as usize).context("the agent has no record of this fault")?;
        if let State::Broken(_, deadline) = state {
            *deadline = Deadline::after(Duration::from_millis(self.within_ms));
        }
        Ok(())
    }
}

impl Serve<AgentState> for Heal {
    fn serve(self, here: &AgentState) -> Result<HealAnswer> {
        here.heal(self.0)
    }
}

impl Serve<AgentState> for StartedProcesses {
    fn serve(self, here: &AgentState) -> Result<Vec<Identity>> {
        let Broken(number) = self.0;
        match here.faults.lock().get(number as usize) {
            Some(State::Broken(what, _)) => Ok(what.started()),
            Some(State::Whole(_)) => Ok(Vec::new()),
            None => anyhow::bail!("the agent has no record of this fault"),
        }
    }
}
