//! Rules about CPUs: their frequency, NUMA, interrupts, and the CPUs that nodes may use.

use super::rule::{Check, INTEL, OURS, Rule, SettingResult, View, sysctl, unless};
use crate::finding::Severity;
use crate::jvm::list;
use host::settings::{Interrupt, Queue};
use std::collections::BTreeMap;
use topology::CpuSet;

/// Minimum number of interrupts. With fewer interrupts, their distribution over the CPUs is not
/// judged.
const COUNT_MIN: u64 = 10_000;

/// Minimum share of the interrupts at which a single CPU counts as handling all interrupts.
const SHARE_MAX: f64 = 0.9;

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "cpu.governor",
        wanted: "performance",
        why: "With other governors, the kernel lowers the frequency of CPUs that wait for disks or \
              requests, and raises this frequency too late.",
        fix: "cpupower frequency-set -g performance",
        source: INTEL,
        start_check: "",
        look: Check::By(governor),
    },
    Rule {
        setting: "kernel.numa_balancing",
        wanted: "0 if memory has several NUMA nodes",
        why: "The kernel unmaps pages for a short time to find the CPUs that use them, and then \
              moves the pages. A node that is bound to a NUMA node gains nothing from this.",
        fix: sysctl!("kernel.numa_balancing", "0"),
        source: OURS,
        start_check: "",
        look: Check::By(numa_balancing),
    },
    Rule {
        setting: "irq.network",
        wanted: "queues on several CPUs to which no node is bound",
        why: "Under load, a CPU that handles all packets has no time for other work, so threads \
             that are bound to it wait.",
        fix: "ethtool -L LINK combined CPUS; systemctl enable --now irqbalance; or echo CPUS > \
              /proc/irq/NUMBER/smp_affinity_list",
        source: OURS,
        start_check: "",
        look: Check::By(|view| interrupts(view, Queue::Network)),
    },
    Rule {
        setting: "irq.disk",
        wanted: "queues on several CPUs to which no node is bound",
        why: "Under load, a CPU that handles the completion of all requests has no time for other \
             work, so threads that are bound to it wait.",
        fix: "echo CPUS > /proc/irq/NUMBER/smp_affinity_list; only the kernel places NVMe queues, \
             so use a disk on the NUMA node of each node",
        source: OURS,
        start_check: "",
        look: Check::By(|view| interrupts(view, Queue::Disk)),
    },
    Rule {
        setting: "cpu.quota",
        wanted: "no quota, but separate CPUs instead (cpuset)",
        why: "A process that has used its share of a period of 100 ms stops until the next period. \
              So collections and requests have pauses that no log explains.",
        fix: "AllowedCPUs= instead of CPUQuota= in the unit; in Kubernetes: whole CPUs, requests \
             equal to limits, and the static CPU manager policy",
        source: OURS,
        start_check: "",
        look: Check::By(quota),
    },
    Rule {
        setting: "cpu.gc_threads_of_all",
        wanted: "at most the number of CPUs",
        why: "Every JVM assumes that it has all CPUs. When several JVMs collect garbage at the \
              same time, their threads compete, and pauses become correspondingly longer.",
        fix: "assign separate CPUs to each node (AllowedCPUs= of its unit, taskset -c), or \
             -XX:ActiveProcessorCount=SHARE and -Dcassandra.available_processors=SHARE",
        source: OURS,
        start_check: "",
        look: Check::By(gc_threads_of_all),
    },
];

fn governor(view: &View<'_>) -> Vec<SettingResult> {
    let governors = &view.facts.governors;
    let names = governors.keys().cloned().collect::<Vec<_>>().join(", ");
    vec![match (governors.is_empty(), view.facts.is_virtual) {
        (true, true) => SettingResult::new(
            "none: the hypervisor's machine controls the frequency",
            Severity::Ok,
        ),
        (true, false) => {
            SettingResult::not_told("no CPU has a governor: the firmware may control the frequency")
        }
        _ => SettingResult::new(&*names, unless(names == "performance", Severity::Advice)),
    }]
}

fn numa_balancing(view: &View<'_>) -> Vec<SettingResult> {
    let nodes = view.memory_nodes();
    vec![match view.number("kernel.numa_balancing") {
        _ if nodes < 2 => SettingResult::new("one NUMA node", Severity::Ok),
        Ok(number) => SettingResult::new(number.to_string(), unless(number == 0, Severity::Advice)),
        Err(why) => SettingResult::not_told(why),
    }]
}

/// Judges which CPUs handled interrupts, and whether other CPUs are permitted to handle them.
fn interrupts(view: &View<'_>, queue: Queue) -> Vec<SettingResult> {
    let all = match &view.facts.interrupts {
        Ok(all) => all.iter().filter(|one| one.queue == queue),
        Err(why) => return vec![SettingResult::not_told(why)],
    };
    let all: Vec<&Interrupt> = all.collect();
    if all.is_empty() {
        return vec![SettingResult::not_told(
            "/proc/interrupts contains no such queue",
        )];
    }
    let mut by_cpu: BTreeMap<usize, u64> = BTreeMap::new();
    for (cpu, count) in all.iter().flat_map(|one| &one.counts) {
        let sum = by_cpu.entry(*cpu).or_default();
        *sum = sum.saturating_add(*count);
    }
    let total: u64 = by_cpu.values().fold(0, |sum, count| sum.saturating_add(*count));
    let busiest = by_cpu.iter().max_by_key(|(_, count)| **count);
    let Some((cpu, count)) = busiest.filter(|_| total > 0) else {
        return vec![SettingResult::new("no interrupt yet", Severity::Ok)];
    };
    let share = *count as f64 / total as f64;
    let queues = all.iter().filter(|one| !one.counts.is_empty()).count();
    let alone = if queues == 1 { " (one queue)" } else { "" };
    let value = format!("{:.0} % on CPU {cpu}{alone}", 100.0 * share);
    let has_one_cpu = view.cpus() == Some(1);
    if has_one_cpu || total < COUNT_MIN {
        return vec![SettingResult::new(value, Severity::Ok)];
    }
    let may: Vec<CpuSet> = all.iter().filter_map(|one| list(&one.cpus)).collect();
    let may: CpuSet = may.iter().flat_map(CpuSet::iter).collect();
    let bound = bound_to(view, *cpu);
    let is_alone = share >= SHARE_MAX;
    vec![match (is_alone, bound.is_empty()) {
        (true, false) => {
            let value = format!("{value}, and {} is bound to this CPU", bound.join(", "));
            SettingResult::new(value, Severity::Warning)
        }
        (true, true) if queues > 1 && may.len() == 1 => SettingResult::new(
            format!("{value}, and the kernel cannot move any of these interrupts"),
            Severity::Warning,
        ),
        (true, true) => SettingResult::new(value, Severity::Advice),
        (false, _) => SettingResult::new(value, Severity::Ok),
    }]
}

/// Returns the names of the nodes that may use the CPU `cpu` but not all other CPUs.
fn bound_to(view: &View<'_>, cpu: usize) -> Vec<String> {
    let all = view.cpus().unwrap_or(usize::MAX);
    let is_bound = |cpus: CpuSet| cpus.len() < all && cpus.contains(cpu as u32);
    let jvms = view.jvms.iter();
    let bound = jvms.filter(|jvm| jvm.cpus().is_some_and(is_bound));
    bound.map(super::Jvm::name).collect()
}

fn quota(view: &View<'_>) -> Vec<SettingResult> {
    let judge = |jvm: &super::Jvm<'_>| {
        let judged = match jvm.process.cpu_quota {
            None => SettingResult::new("none", Severity::Ok),
            Some(quota) => SettingResult::new(format!("{quota} CPUs"), Severity::Advice),
        };
        judged.on(jvm.name())
    };
    view.jvms.iter().map(judge).collect()
}

fn gc_threads_of_all(view: &View<'_>) -> Vec<SettingResult> {
    let jvms = &view.jvms;
    if jvms.is_empty() {
        return Vec::new();
    }
    let threads: Option<Vec<usize>> = jvms.iter().map(super::Jvm::parallel).collect();
    // The CPUs that at least one of the nodes may use.
    let cpus: Option<Vec<CpuSet>> = jvms.iter().map(super::Jvm::cpus).collect();
    let cpus: Option<CpuSet> = cpus.map(|all| all.iter().flat_map(CpuSet::iter).collect());
    let (Some(threads), Some(cpus)) = (threads, cpus) else {
        return vec![SettingResult::not_told(
            "not all JVMs report their number of collector threads, or their CPUs",
        )];
    };
    let (sum, cpus) = (threads.iter().sum::<usize>(), cpus.len());
    let level = match sum {
        _ if sum <= cpus => Severity::Ok,
        _ if sum <= 2 * cpus => Severity::Advice,
        _ => Severity::Warning,
    };
    let (jvms, cpus) = (number(jvms.len(), "JVM"), number(cpus, "CPU"));
    vec![SettingResult::new(
        format!("{sum} in {jvms} on {cpus}"),
        level,
    )]
}

fn number(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
