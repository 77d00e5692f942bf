//! The machines of a cluster that is not ours, as a study says them: what holds for all of them
//! once, and what one of them has of its own.

use super::Draft;
use std::path::PathBuf;
use target::{AttachedHost, ProcessControl, RemoteHost};

/// What was said of machines of an attached cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostsDraft {
    /// What was said of all of them.
    pub(crate) common: HostDraft,
    /// What was said of each.
    pub(crate) each: Vec<HostDraft>,
}

/// What was said of one, or of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostDraft {
    pub(crate) ssh: String,
    pub(crate) addresses: Vec<String>,
    pub(crate) folder: Option<String>,
    pub(crate) sudo: Option<bool>,
    /// A unit or a container.
    pub(crate) control: Option<ProcessControl>,
    /// What stops it, word by word.
    pub(crate) stop: Vec<String>,
    /// What starts it, word by word.
    pub(crate) start: Vec<String>,
    pub(crate) logs: Option<String>,
    pub(crate) data: Option<String>,
}

impl HostsDraft {
    /// One more.
    pub(crate) fn push(&mut self, ssh: &str) {
        self.each.push(HostDraft {
            ssh: ssh.to_owned(),
            ..HostDraft::default()
        });
    }

    /// The one at hand.
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
    /// The machines of an attached cluster.
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
            // Those that are none have been told of.
            addresses: one.addresses.iter().filter_map(|text| text.parse().ok()).collect(),
            control: one.control().or_else(|| common.control()),
            logs: path(&one.logs, &common.logs),
            data: path(&one.data, &common.data),
        };
        self.attached.each.iter().map(host).collect()
    }
}
