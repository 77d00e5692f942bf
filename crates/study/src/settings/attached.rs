//! The machines of an attached cluster, as described in a study. They have settings for all
//! machines, and settings for single machines.

use super::Draft;
use std::path::PathBuf;
use target_spec::{AttachedHost, ProcessControl, RemoteHost};

/// Values of the keys for the machines of an attached cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostsDraft {
    pub(crate) common: HostDraft,
    pub(crate) each: Vec<HostDraft>,
}

/// Values of the keys for one machine, or for all machines.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostDraft {
    pub(crate) ssh: String,
    pub(crate) addresses: Vec<String>,
    pub(crate) folder: Option<String>,
    pub(crate) sudo: Option<bool>,
    /// The systemd unit or container that runs the node.
    pub(crate) control: Option<ProcessControl>,
    /// Command that stops the node, as a list of words.
    pub(crate) stop: Vec<String>,
    /// Command that starts the node, as a list of words.
    pub(crate) start: Vec<String>,
    pub(crate) logs: Option<String>,
    pub(crate) data: Option<String>,
}

impl HostsDraft {
    pub(crate) fn push(&mut self, ssh: &str) {
        self.each.push(HostDraft {
            ssh: ssh.to_owned(),
            ..HostDraft::default()
        });
    }

    /// Returns the machine whose keys are currently applied.
    pub(crate) fn one(&mut self) -> &mut HostDraft {
        if self.each.is_empty() {
            self.push("");
        }
        let last = self.each.len() - 1;
        &mut self.each[last]
    }
}

impl HostDraft {
    fn control(&self) -> Option<ProcessControl> {
        let programs = || ProcessControl::Command {
            stop: self.stop.clone(),
            start: self.start.clone(),
        };
        let has_programs = !self.stop.is_empty() || !self.start.is_empty();
        self.control.clone().or_else(|| has_programs.then(programs))
    }
}

impl Draft {
    pub(crate) fn attached_hosts(&self) -> Vec<AttachedHost> {
        let common = &self.attached.common;
        let path = |own: &Option<String>, all: &Option<String>| {
            own.as_ref().or(all.as_ref()).map(PathBuf::from)
        };
        let host = |one: &HostDraft| AttachedHost {
            remote: RemoteHost {
                ssh: one.ssh.clone(),
                folder: path(&one.folder, &common.folder),
                sudo: one.sudo.or(common.sudo).unwrap_or(false),
                ..RemoteHost::default()
            },
            // Invalid addresses are skipped here, because they have already been reported.
            addresses: one.addresses.iter().filter_map(|text| text.parse().ok()).collect(),
            control: one.control().or_else(|| common.control()),
            logs: path(&one.logs, &common.logs),
            data: path(&one.data, &common.data),
        };
        self.attached.each.iter().map(host).collect()
    }
}
