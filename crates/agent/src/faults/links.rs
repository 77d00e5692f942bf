//! Links that are down or slow, duplicate addresses, and connection resets.

use super::active_faults::Breakable;
use crate::host_state::AgentState;
use anyhow::Result;
use host::process::Identity;
use linux::links;
use linux::net::Netlink;
use linux::sockets::Sockets;
use std::net::Ipv4Addr;
use target_spec::LinkSpec;

/// Host's link that is set down at the switch.
pub(super) struct Down {
    number: usize,
    is_down: bool,
}

impl Down {
    pub fn new(number: usize) -> Down {
        Down {
            number,
            is_down: false,
        }
    }
}

impl Breakable for Down {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.check_switch()?;
        let (mut links, name) = (Netlink::open()?, links::port(self.number));
        anyhow::ensure!(links.link(&name)?.is_up, "the link {name} is already down");
        self.is_down = true;
        links.down(&name)
    }

    fn heal(&mut self, _: &AgentState) -> Result<Vec<Identity>> {
        if self.is_down {
            // `up` also makes the host announce its address to its neighbours again.
            Netlink::open()?.up(&links::port(self.number), None)?;
            self.is_down = false;
        }
        Ok(Vec::new())
    }
}

pub(super) struct Slow {
    /// Number of the destination host, if the switch applies the limit. `None` if the agent's host
    /// applies it.
    number: Option<usize>,
    link: LinkSpec,
    before: Option<LinkSpec>,
}

impl Slow {
    /// Creates a fault that limits the traffic from the switch to a host.
    pub fn to(number: usize, link: LinkSpec) -> Slow {
        Slow {
            number: Some(number),
            link,
            before: None,
        }
    }

    /// Creates a fault that limits the traffic from the agent's host.
    pub fn from_here(link: LinkSpec) -> Slow {
        Slow {
            number: None,
            link,
            before: None,
        }
    }

    fn name(&self) -> String {
        let port = self.number.map(links::port);
        port.unwrap_or_else(|| links::HOST_LINK.to_owned())
    }
}

impl Breakable for Slow {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        match self.number {
            Some(_) => here.check_switch()?,
            None => here.check_stand_in()?,
        }
        let rate = self.link.rate_bits_per_s;
        anyhow::ensure!(
            rate != Some(0),
            "a link rate of 0 bit/s would cut the host off: use a rate of at least 1 bit/s"
        );
        let mut links = Netlink::open()?;
        let before = links.limits(&self.name())?;
        self.before = Some(before);
        links.limit(&self.name(), &before.narrowed(self.link))
    }

    fn heal(&mut self, _: &AgentState) -> Result<Vec<Identity>> {
        if let Some(before) = self.before {
            Netlink::open()?.limit(&self.name(), &before)?;
            self.before = None;
        }
        Ok(Vec::new())
    }
}

/// Address of another host, added to this host's link.
pub(super) struct DuplicateAddress {
    address: Ipv4Addr,
    is_taken: bool,
}

impl DuplicateAddress {
    pub fn new(address: Ipv4Addr) -> DuplicateAddress {
        DuplicateAddress {
            address,
            is_taken: false,
        }
    }
}

impl Breakable for DuplicateAddress {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.check_stand_in()?;
        let mut links = Netlink::open()?;
        let new = links.address(links::HOST_LINK, self.address)?;
        anyhow::ensure!(new, "the host already has the address {}", self.address);
        self.is_taken = true;
        links.announce(links::HOST_LINK)
    }

    fn heal(&mut self, _: &AgentState) -> Result<Vec<Identity>> {
        if self.is_taken {
            Netlink::open()?.remove_address(links::HOST_LINK, self.address)?;
            self.is_taken = false;
        }
        Ok(Vec::new())
    }
}

/// Resets existing connections to some ports of a host. Nothing needs healing.
pub(super) struct Reset(pub Vec<u16>);

impl Breakable for Reset {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        if here.machine().is_err() {
            here.check_stand_in()?;
        }
        Sockets::open()?.reset(&self.0)
    }

    fn heal(&mut self, _: &AgentState) -> Result<Vec<Identity>> {
        Ok(Vec::new())
    }
}
