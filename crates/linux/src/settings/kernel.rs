//! Settings of a kernel, and the kind of machine on which it runs.

use super::FactResult;
use super::root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values of `/proc/sys`, by their `sysctl` names.
const SYSCTLS: &[&str] = &[
    "kernel.numa_balancing",
    "net.core.optmem_max",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_ratio",
    "vm.max_map_count",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// Files with other values, with the names that cassay gives to these values.
const OTHER_FILES: &[(&str, &str)] = &[
    ("kernel.release", "/proc/sys/kernel/osrelease"),
    ("thp.enabled", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("thp.defrag", "/sys/kernel/mm/transparent_hugepage/defrag"),
    (
        "clocksource.current",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "clocksource.available",
        "/sys/devices/system/clocksource/clocksource0/available_clocksource",
    ),
];

/// State of the kernel's clock synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockState {
    /// True if the kernel reports the clock as synchronized.
    pub is_kept: bool,
    /// Upper bound on the error of the clock in µs, as reported by the program that synchronizes
    /// it.
    pub error_us: u64,
}

pub(super) fn values(root: &Root) -> BTreeMap<String, FactResult<String>> {
    let sysctl = |name: &&str| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        ((*name).to_owned(), root.word(&path))
    };
    let other = |(name, path): &(&str, &str)| ((*name).to_owned(), root.word(path));
    let values = SYSCTLS.iter().map(sysctl);
    values.chain(OTHER_FILES.iter().map(other)).collect()
}

pub(super) fn memory(root: &Root) -> (FactResult<u64>, FactResult<u64>) {
    let text = root.text("/proc/meminfo");
    let of = |name: &str| {
        let text = text.as_ref().map_err(Clone::clone)?;
        let mut lines = text.lines();
        let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib = rest.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        let bytes = kib.and_then(|kib| kib.checked_mul(1024));
        bytes.ok_or_else(|| format!("/proc/meminfo has no {name}"))
    };
    (of("MemTotal"), of("SwapTotal"))
}

pub(super) fn governors(root: &Root) -> BTreeMap<String, usize> {
    const FOLDER: &str = "/sys/devices/system/cpu";
    let mut governors = BTreeMap::new();
    for name in root.names(FOLDER).unwrap_or_default() {
        let is_cpu = name.strip_prefix("cpu").is_some_and(is_number);
        let governor = || root.word(&format!("{FOLDER}/{name}/cpufreq/scaling_governor"));
        if let Some(governor) = is_cpu.then(governor).and_then(Result::ok) {
            *governors.entry(governor).or_default() += 1;
        }
    }
    governors
}

/// Returns the state of the clock synchronization. The function queries the kernel by a system
/// call, because no file contains the state.
pub(super) fn clock(root: &Root) -> FactResult<ClockState> {
    if !root.is_machine() {
        return Err("cassay can read the clock only on the machine itself".to_owned());
    }
    // SAFETY: the structure contains only numbers, for which zero is a valid value.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable that outlives the call. Without a mode, the call
    // changes nothing.
    let told = unsafe { libc::adjtimex(&mut state) };
    if told < 0 {
        let error = std::io::Error::last_os_error();
        return Err(format!("read the clock of the kernel: {error}"));
    }
    let is_kept = told != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    Ok(ClockState {
        is_kept,
        error_us: u64::try_from(state.maxerror).unwrap_or(0),
    })
}

/// Returns the kind of this process's container, which is recognized by the marks of container
/// managers.
pub(super) fn container(root: &Root) -> Option<String> {
    if let Ok(name) = root.word("/run/systemd/container") {
        let is_word = name.len() <= 32 && name.chars().all(|c| c.is_ascii_alphanumeric());
        return Some(if is_word { name } else { "unknown".to_owned() });
    }
    let marks = [
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/var/run/secrets/kubernetes.io", "kubernetes"),
    ];
    let mark = marks.iter().find(|(path, _)| root.has(path));
    mark.map(|(_, name)| (*name).to_owned())
}

/// Returns true if the CPUs report a hypervisor, or if the kernel reports the type of one.
pub(super) fn is_virtual(root: &Root) -> bool {
    let text = root.text("/proc/cpuinfo").unwrap_or_default();
    let mut flags = text.lines().filter(|line| line.starts_with("flags"));
    let says = flags.any(|line| line.split_ascii_whitespace().any(|one| one == "hypervisor"));
    says || root.has("/sys/hypervisor/type")
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
