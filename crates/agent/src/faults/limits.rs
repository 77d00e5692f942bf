//! Limits of a host that a fault lowers temporarily.

use super::active_faults::Breakable;
use crate::host_state::AgentState;
use anyhow::{Context, Result};
use host::process::Identity;
use target_spec::DiskSpec;

/// Fault that lowers a limit, with the original limit.
#[derive(Default)]
pub(super) struct Limit {
    cpu: Option<f64>,
    disk: Option<DiskSpec>,
    before: Option<LimitsBefore>,
}

struct LimitsBefore {
    cpu_quota: Option<f64>,
    disk: DiskSpec,
}

impl Limit {
    pub fn cpu(cores: f64) -> Limit {
        Limit {
            cpu: Some(cores),
            ..Limit::default()
        }
    }

    pub fn disk(disk: DiskSpec) -> Limit {
        Limit {
            disk: Some(disk),
            ..Limit::default()
        }
    }

    fn set(&self, here: &AgentState, cpu: Option<f64>, disk: DiskSpec) -> Result<()> {
        let group = here.group()?;
        if self.cpu.is_some() {
            group.limit_quota(cpu)?;
        }
        match self.disk {
            Some(_) => group.limit_disk(&disk, here.device()),
            None => Ok(()),
        }
    }
}

impl Breakable for Limit {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let limits = here.group()?.limits(here.device())?;
        let quota = limits.get("cpu_quota").map(|text| {
            text.parse()
                .with_context(|| format!("the CPU quota `{text}` is not a number of cores"))
        });
        let before = LimitsBefore {
            cpu_quota: quota.transpose()?,
            disk: DiskSpec::from_limits(&limits).map_err(anyhow::Error::msg)?,
        };
        let narrower = before.disk.narrowed(self.disk.unwrap_or_default());
        self.before = Some(before);
        self.set(here, self.cpu, narrower)
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if let Some(before) = self.before.take() {
            self.set(here, before.cpu_quota, before.disk)?;
        }
        Ok(Vec::new())
    }
}
