//! CPUs that handle the interrupts of network and disk devices.

use super::FactResult;
use super::kernel::is_number;
use super::root::Root;
use serde::{Deserialize, Serialize};

/// Kind of device to which an interrupt belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Queue {
    /// A network device.
    Network,
    Disk,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Number of the interrupt in the kernel.
    pub number: u32,
    /// Name that the driver has given to the interrupt, such as `nvme0q3` or `eth0-TxRx-1`.
    pub name: String,
    /// Kind of the device to which the interrupt belongs.
    pub queue: Queue,
    /// Number of interrupts on each CPU, without zeros.
    pub counts: Vec<(usize, u64)>,
    /// The effective affinity of the interrupt, such as `0-3,8`. If the kernel does not report it,
    /// this is the permitted affinity.
    pub cpus: FactResult<String>,
}

/// Parts of the names that drivers give to the queues of network devices.
const NETWORKS: &[&str] = &[
    "-input.",
    "-output.",
    "-tx-",
    "-rx-",
    "-txrx-",
    "mlx4",
    "mlx5_comp",
    "ena-",
    "hv_netvsc",
    "vmxnet",
    "-fp-",
    "iavf",
    "i40e",
    "ixgbe",
    "bnxt",
];
const DISKS: &[&str] = &[
    "nvme", "-req.", "-request", "megasas", "mpt2sas", "mpt3sas", "ahci",
];

/// Maximum number of interrupts to read. The biggest machines have a few thousand.
const COUNT_MAX: usize = 1 << 14;

pub(super) fn queue_interrupts(root: &Root) -> FactResult<Vec<Interrupt>> {
    let text = root.text("/proc/interrupts")?;
    let links = root.names("/sys/class/net").unwrap_or_default();
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().split_ascii_whitespace();
    let cpu = |word: &str| word.strip_prefix("CPU")?.parse().ok();
    let cpus: Option<Vec<usize>> = head.map(cpu).collect();
    let cpus = cpus.ok_or("/proc/interrupts has no CPUs in its first line")?;
    let of_line = |line: &str| {
        let mut found = parse(line, &cpus, &links)?;
        found.cpus = affinity(root, found.number);
        Some(found)
    };
    Ok(lines.filter_map(of_line).take(COUNT_MAX).collect())
}

/// Returns the effective affinity if the kernel reports it, and the permitted affinity otherwise.
fn affinity(root: &Root, number: u32) -> FactResult<String> {
    let file = |name: &str| root.word(&format!("/proc/irq/{number}/{name}"));
    match file("effective_affinity_list") {
        Ok(list) if !list.is_empty() => Ok(list),
        _ => file("smp_affinity_list"),
    }
}

fn parse(line: &str, cpus: &[usize], links: &[String]) -> Option<Interrupt> {
    let (number, rest) = line.split_once(':')?;
    let number = number.trim();
    let number = number.parse().ok().filter(|_| is_number(number))?;
    let mut words = rest.split_ascii_whitespace();
    let counts: Option<Vec<u64>> = cpus.iter().map(|_| words.next()?.parse().ok()).collect();
    let counts = cpus.iter().copied().zip(counts?);
    let name = words.last()?.to_owned();
    let queue = queue(&name, links)?;
    Some(Interrupt {
        number,
        name,
        queue,
        counts: counts.filter(|(_, count)| *count > 0).collect(),
        cpus: Err(String::new()),
    })
}

fn queue(name: &str, links: &[String]) -> Option<Queue> {
    let low = name.to_ascii_lowercase();
    let contains = |names: &[&str]| names.iter().any(|one| low.contains(one));
    let is_link = |link: &String| {
        let rest = name.strip_prefix(link.as_str());
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if contains(DISKS) {
        return Some(Queue::Disk);
    }
    (contains(NETWORKS) || links.iter().any(is_link)).then_some(Queue::Network)
}
