//! One host, a stand-in for a machine or a machine: what runs on it, what limits it, where its
//! figures are.

use crate::agent::Agent;
use crate::calls::{Address, DropPageCache, Limit, LimitPort, Limits, PortLimits};
use crate::state::HostState;
use crate::switch::Switch;
use anyhow::{Context, Result};
use kernel::able;
use kernel::cgroup::CgroupDir;
use kernel::probe::HostSources;
use kernel::volume::VolumeUse;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::HostSpec;

/// One host.
#[derive(Debug)]
pub struct Host {
    name: String,
    address: Ipv4Addr,
    /// Its place among them, counted from 1; of a stand-in that on the switch, too.
    number: usize,
    folder: PathBuf,
    agent: Arc<Agent>,
    /// The agent of the switch of a stand-in; none of a machine.
    switch: Option<Arc<Agent>>,
    places: Vec<CgroupDir>,
    device: Option<String>,
    volume_bytes: Option<u64>,
}

impl Host {
    /// A stand-in as `state` says it; its agent has made it.
    pub(super) fn of_switch(
        state: &HostState,
        number: usize,
        agent: Agent,
        switch: &Switch,
    ) -> Host {
        let (address, switch) = (switch.address(number), Some(Arc::clone(&switch.agent)));
        Host::of(state, (number, address), agent, switch)
    }

    /// A machine as `state` says it; its agent has made it ready.
    pub(super) fn of_machine(state: &HostState, number: usize, agent: Agent) -> Result<Host> {
        let address = state.address.context("no address is known of a machine")?;
        Ok(Host::of(state, (number, address), agent, None))
    }

    fn of(
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

    /// By which everything on it is done.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// `host1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its place among them, counted from 1; of a stand-in that on the switch, too.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Whether it is a machine of its own.
    pub fn is_machine(&self) -> bool {
        self.switch.is_none()
    }

    /// Whether it has control groups of its own: all stand-ins have, and machines that permit it.
    pub fn has_groups(&self) -> bool {
        !self.places.is_empty()
    }

    /// Its address, which answers on this machine and on all hosts of the cluster.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Its volume's mount point, or its plain folder without a volume. What is in a volume is seen
    /// by its agent and by what runs on the host, and by nobody else.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives its link a further address, unless it has it.
    pub(super) fn add_address(&self, address: Ipv4Addr) -> Result<()> {
        self.agent.call(&Address(address))
    }

    /// Changes the limits of this host while it runs. Its volume stays as it is.
    ///
    /// # Errors
    /// This machine cannot do it (then the limits may be partly changed), or another size of the
    /// volume is asked for.
    pub fn set_limits(&self, spec: &HostSpec) -> Result<()> {
        anyhow::ensure!(
            spec.volume_bytes == self.volume_bytes,
            "{}: the size of a volume is fixed when its host is made; start the cluster anew",
            self.name
        );
        let Some(switch) = &self.switch else {
            // It asks its own kernel.
            return self.agent.call(&Limit(spec.clone()));
        };
        // The volume is there already, so that this process need not be able to make one.
        able::require(&HostSpec {
            volume_bytes: None,
            ..spec.clone()
        })?;
        self.agent.call(&Limit(spec.clone()))?;
        // What the switch sends to the host; what the host sends, it limits itself.
        let (number, link) = (self.number, spec.link);
        switch.call(&LimitPort { number, link })
    }

    /// The limits that the kernel has for this host: `cpus` (a list), `cpu_quota` (cores),
    /// `memory` (bytes), those of [`crate::DiskSpec::each`], `link_rate` (bit/s) and `link_delay`
    /// (ns, one way). What is not limited is absent, but for `cpus`.
    ///
    /// # Errors
    /// They cannot be read.
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
            "{}: its link is limited to {to:?} towards it and {from:?} from it",
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

    /// Writes what is written but not on its volume yet, then drops the page cache that is charged
    /// to this host, while its processes run on. Files that another host or program has read first
    /// are charged to that one.
    ///
    /// # Errors
    /// The kernel cannot do it.
    pub fn drop_page_cache(&self) -> Result<()> {
        self.agent.call(&DropPageCache)
    }

    /// The space of its volume; without one, of the file system that its folder is on.
    ///
    /// # Errors
    /// The folder is gone.
    pub fn usage(&self) -> Result<VolumeUse> {
        self.agent.space(&self.folder)
    }

    /// Whether it has a volume of its own.
    pub fn has_volume(&self) -> bool {
        self.volume_bytes.is_some()
    }

    /// The name of its volume's device; none without a volume.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Where its figures are.
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
