//! A simulated host or a remote machine: its agent, its limits, and the sources of its metrics.

use crate::agent::Agent;
use crate::calls::{Address, DropPageCache, Limit, LimitPort, Limits, PortLimits};
use crate::persistent_state::HostState;
use crate::switch::Switch;
use anyhow::{Context, Result};
use linux::capability;
use linux::cgroup::CgroupDir;
use linux::probe::HostSources;
use linux::volume::VolumeUse;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target_spec::HostSpec;

/// A simulated host, or a remote machine that hosts nodes.
#[derive(Debug)]
pub struct Host {
    name: String,
    address: Ipv4Addr,
    /// Number of the host, counted from 1. This is also the number of a simulated host on the
    /// switch.
    number: usize,
    folder: PathBuf,
    agent: Arc<Agent>,
    /// Agent of the switch of a simulated host. `None` for a machine.
    switch: Option<Arc<Agent>>,
    places: Vec<CgroupDir>,
    device: Option<String>,
    volume_bytes: Option<u64>,
}

impl Host {
    /// Returns the simulated host that `state` describes. The agent of the host has already created
    /// it.
    pub(super) fn on_switch(
        state: &HostState,
        number: usize,
        agent: Agent,
        switch: &Switch,
    ) -> Host {
        let (address, switch) = (switch.address(number), Some(Arc::clone(&switch.agent)));
        Host::new(state, (number, address), agent, switch)
    }

    /// Returns the machine that `state` describes as a host. The agent of the machine has already
    /// prepared it.
    pub(super) fn on_machine(state: &HostState, number: usize, agent: Agent) -> Result<Host> {
        let address = state.address.context("the address of a machine is unknown")?;
        Ok(Host::new(state, (number, address), agent, None))
    }

    fn new(
        state: &HostState,
        (number, address): (usize, Ipv4Addr),
        agent: Agent,
        switch: Option<Arc<Agent>>,
    ) -> Host {
        Host {
            name: state.name.clone(),
            address,
            number,
            folder: state.folder.clone(),
            agent: Arc::new(agent),
            switch,
            places: state.places.clone(),
            device: state.device.clone(),
            volume_bytes: state.volume_bytes,
        }
    }

    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// Returns the name of the host, such as `host1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of the host, counted from 1. This is also the number of a simulated host
    /// on the switch.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns true if the host is a remote machine.
    pub fn is_machine(&self) -> bool {
        self.switch.is_none()
    }

    /// Returns true if the host has control groups. All simulated hosts have control groups. A
    /// machine has them if it permits them.
    pub fn has_groups(&self) -> bool {
        !self.places.is_empty()
    }

    /// Returns the address at which this machine and all hosts of the cluster can reach the host.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Returns the mount point of the host's volume, or the host's folder if it has no volume. A
    /// mounted volume is visible only to the host's agent and to processes on the host.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds an address to the host's link, unless the link already has the address.
    pub(super) fn add_address(&self, address: Ipv4Addr) -> Result<()> {
        self.agent.call(&Address(address))
    }

    /// Changes the limits of this host while it runs. The volume does not change.
    ///
    /// # Errors
    /// `spec` has another volume size, or this machine cannot set the limits. In the latter case,
    /// some limits may have changed.
    pub fn set_limits(&self, spec: &HostSpec) -> Result<()> {
        anyhow::ensure!(
            spec.volume_bytes == self.volume_bytes,
            "{}: the size of a volume is fixed when its host is created; start a new cluster",
            self.name
        );
        let Some(switch) = &self.switch else {
            // The agent of a machine checks the limits itself, because they depend on that
            // machine's kernel.
            return self.agent.call(&Limit(spec.clone()));
        };
        // The volume already exists, so this process need not have permission to create one.
        capability::require(&HostSpec {
            volume_bytes: None,
            ..spec.clone()
        })?;
        self.agent.call(&Limit(spec.clone()))?;
        // Limits the traffic that the switch sends to the host. The host itself limits the traffic
        // that it sends.
        let (number, link) = (self.number, spec.link);
        switch.call(&LimitPort { number, link })
    }

    /// Returns the limits that the kernel applies to this host: `cpus` (a list), `cpu_quota`
    /// (cores), `memory` (bytes), the limits of [`crate::DiskSpec::each`], `link_rate` (bit/s) and
    /// `link_delay` (ns, one way). An unlimited resource is absent, except `cpus`.
    ///
    /// # Errors
    /// The limits cannot be read.
    pub fn limits(&self) -> Result<BTreeMap<String, String>> {
        let own = self.agent.call(&Limits)?;
        let Some(switch) = &self.switch else {
            return Ok(own.groups);
        };
        let number = self.number;
        let (to, from) = (switch.call(&PortLimits { number })?, own.link);
        let mut limits = own.groups;
        anyhow::ensure!(
            to == from,
            "{}: the limits of the host's link are {to:?} towards the host, but {from:?} from the \
             host",
            self.name
        );
        if let Some(rate) = to.rate_bits_per_s {
            limits.insert("link_rate".to_string(), rate.to_string());
        }
        if let Some(delay) = to.delay {
            limits.insert("link_delay".to_string(), delay.as_nanos().to_string());
        }
        Ok(limits)
    }

    /// Syncs the host's volume, then drops the page cache that is charged to this host, while the
    /// host's processes run. The kernel charges a file to the host or program that has read it
    /// first.
    ///
    /// # Errors
    /// The kernel cannot drop the page cache.
    pub fn drop_page_cache(&self) -> Result<()> {
        self.agent.call(&DropPageCache)
    }

    /// Returns the space usage of the host's volume. If the host has no volume, returns the usage
    /// of the file system of its folder.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn usage(&self) -> Result<VolumeUse> {
        self.agent.space(&self.folder)
    }

    /// Returns true if the host has a volume.
    pub fn has_volume(&self) -> bool {
        self.volume_bytes.is_some()
    }

    /// Returns the device name of the host's volume. Returns `None` if the host has no volume.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    pub(crate) fn sources(&self) -> Result<HostSources> {
        let rate = self.limits()?.remove("link_rate");
        Ok(HostSources {
            groups: self.places.clone(),
            device: self.device.clone(),
            volume: self.has_volume().then(|| self.folder.clone()),
            link_bits_per_s: rate.and_then(|rate| rate.parse().ok()),
        })
    }
}
