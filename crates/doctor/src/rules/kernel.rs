//! Rules about limits, memory, the network and clocks.

use super::rule::{
    APACHE, Bound, Check, DATASTAX, INTEL, OURS, Rule, SettingResult, View, sysctl, unless,
};
use crate::finding::Severity;
use host::settings::ProcessSettings;
use measure::number::bytes;

/// Maximum recommended amount of unwritten data at which the kernel begins to write, in bytes. At
/// 200 MB/s, writing a larger amount would take longer than 5 s, and every sync waits until the
/// writing ends.
const DIRTY_BYTES_MAX: u64 = 1 << 30;

/// Recommended minima of the limits `nofile` and `nproc`. For `nofile`, Cassandra's own check
/// requires a smaller value.
const NOFILE_MIN: u64 = 100_000;
const NPROC_MIN: u64 = 32_768;

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "limit.nofile",
        wanted: "at least 100000",
        why: "Every SSTable has several files, and every client has a socket. A node that cannot \
             open more files stops serving.",
        fix: "echo 'cassandra - nofile 1048576' >> /etc/security/limits.d/cassandra.conf (systemd: \
              LimitNOFILE=1048576), then restart Cassandra from a new session",
        source: DATASTAX,
        start_check: "SystemInfo warns below 10000",
        look: Check::By(|view| limits(view, "nofile", Some(NOFILE_MIN), Severity::Warning)),
    },
    Rule {
        setting: "limit.nproc",
        wanted: "at least 32768",
        why: "Threads count as processes of the user. A node that cannot start a thread dies.",
        fix: "echo 'cassandra - nproc 32768' >> /etc/security/limits.d/cassandra.conf (systemd: \
              LimitNPROC=infinity), then restart Cassandra from a new session",
        source: DATASTAX,
        start_check: "SystemInfo warns of degraded performance below 32768",
        look: Check::By(|view| limits(view, "nproc", Some(NPROC_MIN), Severity::Warning)),
    },
    Rule {
        setting: "limit.memlock",
        wanted: "unlimited",
        why: "Cassandra locks its memory, so that the kernel does not swap this memory out. A \
              limit prevents the lock.",
        fix: "echo 'cassandra - memlock unlimited' >> /etc/security/limits.d/cassandra.conf \
              (systemd: LimitMEMLOCK=infinity), then restart Cassandra from a new session",
        source: DATASTAX,
        start_check: "Cassandra logs a failed mlockall",
        look: Check::By(memlock),
    },
    Rule {
        setting: "limit.as",
        wanted: "unlimited",
        why: "Cassandra maps SSTables into its address space, which is far larger than the memory.",
        fix: "echo 'cassandra - as unlimited' >> /etc/security/limits.d/cassandra.conf (systemd: \
              LimitAS=infinity), then restart Cassandra from a new session",
        source: DATASTAX,
        start_check: "SystemInfo warns below 0x7fffffff",
        look: Check::By(|view| limits(view, "as", None, Severity::Warning)),
    },
    Rule {
        setting: "vm.max_map_count",
        wanted: "at least 1048575",
        why: "Every mapped SSTable needs memory maps. When no map is free, the JVM fails with an \
              error that resembles a lack of memory.",
        fix: sysctl!("vm.max_map_count", "1048575"),
        source: APACHE,
        start_check: "checkMaxMapCount warns",
        look: Check::Kernel(
            "vm.max_map_count",
            Bound::AtLeast(1_048_575),
            Severity::Warning,
        ),
    },
    Rule {
        setting: "swap",
        wanted: "none",
        why: "If the kernel swaps a heap out, garbage collections last for minutes, and other \
              nodes consider the node down.",
        fix: "swapoff --all && sed -i '/\\sswap\\s/s/^/#/' /etc/fstab",
        source: APACHE,
        start_check: "SystemInfo warns of degraded performance",
        look: Check::By(swap),
    },
    Rule {
        setting: "vm.swappiness",
        wanted: "at most 1 if the machine has swap",
        why: "With a higher value, the kernel swaps memory out instead of freeing page cache.",
        fix: sysctl!("vm.swappiness", "1"),
        source: DATASTAX,
        start_check: "",
        look: Check::By(swappiness),
    },
    Rule {
        setting: "thp.enabled",
        wanted: "madvise; with always or madvise, the JVM may have +UseTransparentHugePages",
        why: "With `always`, the kernel also uses large pages for thread stacks and buffers, which \
             then need more memory. With `never`, a JVM that requests large pages gets none.",
        fix: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (at every start: the \
              kernel parameter transparent_hugepage=madvise)",
        source: INTEL,
        start_check: "",
        look: Check::By(huge_pages),
    },
    Rule {
        setting: "thp.defrag",
        wanted: "never or defer",
        why: "With other values, a thread that uses new memory waits until the kernel has moved \
             pages to create a large page.",
        fix: "echo never > /sys/kernel/mm/transparent_hugepage/defrag (at every start: a unit or \
              rc.local)",
        source: DATASTAX,
        start_check: "",
        look: Check::By(defrag),
    },
    Rule {
        setting: "vm.zone_reclaim_mode",
        wanted: "0",
        why: "With other values, a NUMA node drops its page cache and stalls while other NUMA \
             nodes have free memory.",
        fix: sysctl!("vm.zone_reclaim_mode", "0"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel("vm.zone_reclaim_mode", Bound::AtMost(0), Severity::Warning),
    },
    Rule {
        setting: "vm.dirty_background",
        wanted: "at most 1 GiB",
        why: "The kernel starts write-back when this number of bytes is dirty. Syncs of the commit \
              log and flushes then wait for the write-back.",
        fix: sysctl!("vm.dirty_background_bytes", "268435456"),
        source: OURS,
        start_check: "",
        look: Check::By(dirty),
    },
    Rule {
        setting: "net.ipv4.tcp_keepalive_time",
        wanted: "at most 60",
        why: "Firewalls drop idle connections between nodes and clients long before the kernel's \
              default of two hours.",
        fix: sysctl!("net.ipv4.tcp_keepalive_time", "60"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.ipv4.tcp_keepalive_time",
            Bound::AtMost(60),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.ipv4.tcp_keepalive_intvl",
        wanted: "at most 10",
        why: "The kernel notices a lost peer after this interval multiplied by the number of \
              probes.",
        fix: sysctl!("net.ipv4.tcp_keepalive_intvl", "10"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.ipv4.tcp_keepalive_intvl",
            Bound::AtMost(10),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.ipv4.tcp_keepalive_probes",
        wanted: "at most 3",
        why: "The kernel notices a lost peer after this number of probes.",
        fix: sysctl!("net.ipv4.tcp_keepalive_probes", "3"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.ipv4.tcp_keepalive_probes",
            Bound::AtMost(3),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.core.rmem_max",
        wanted: "at least 16777216",
        why: "The largest buffer that a socket may request. Streams over long or fast links need \
              large buffers.",
        fix: sysctl!("net.core.rmem_max", "16777216"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.core.rmem_max",
            Bound::AtLeast(16_777_216),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.core.wmem_max",
        wanted: "at least 16777216",
        why: "The largest buffer that a socket may request. Streams over long or fast links need \
              large buffers.",
        fix: sysctl!("net.core.wmem_max", "16777216"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.core.wmem_max",
            Bound::AtLeast(16_777_216),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.core.optmem_max",
        wanted: "at least 40960",
        why: "Memory for the options of a socket, in addition to its buffers.",
        fix: sysctl!("net.core.optmem_max", "40960"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.core.optmem_max",
            Bound::AtLeast(40_960),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.ipv4.tcp_rmem",
        wanted: "a maximum of at least 16777216",
        why: "The kernel enlarges the buffer of a connection automatically, but only up to this \
              size.",
        fix: sysctl!("net.ipv4.tcp_rmem", "4096 87380 16777216"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.ipv4.tcp_rmem",
            Bound::AtLeast(16_777_216),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.ipv4.tcp_wmem",
        wanted: "a maximum of at least 16777216",
        why: "The kernel enlarges the buffer of a connection automatically, but only up to this \
              size.",
        fix: sysctl!("net.ipv4.tcp_wmem", "4096 65536 16777216"),
        source: DATASTAX,
        start_check: "",
        look: Check::Kernel(
            "net.ipv4.tcp_wmem",
            Bound::AtLeast(16_777_216),
            Severity::Advice,
        ),
    },
    Rule {
        setting: "net.core.somaxconn",
        wanted: "at least 4096",
        why: "At most this number of clients may wait for the server to accept their connection. \
              After a restart, all clients connect together.",
        fix: sysctl!("net.core.somaxconn", "4096"),
        source: OURS,
        start_check: "",
        look: Check::Kernel("net.core.somaxconn", Bound::AtLeast(4096), Severity::Advice),
    },
    Rule {
        setting: "clock.source",
        wanted: "tsc, or the clock of the hypervisor",
        why: "Every operation reads the time several times, and each read of another clock takes a \
              system call of several microseconds.",
        fix: "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource (at \
              every start: the kernel parameter clocksource=tsc)",
        source: OURS,
        start_check: "",
        look: Check::By(clock_source),
    },
    Rule {
        setting: "clock.sync",
        wanted: "synchronised by NTP or PTP",
        why: "The value with the newest timestamp wins, so acknowledged writes can be lost through \
              a node whose clock is behind.",
        fix: "apt-get install chrony || dnf install chrony; systemctl enable --now chronyd",
        source: APACHE,
        start_check: "",
        look: Check::By(clock_sync),
    },
];

/// Returns the processes whose limits are checked. These are the nodes or, if no node runs, this
/// session.
fn who<'a>(view: &View<'a>) -> Vec<(String, &'a ProcessSettings)> {
    let nodes: Vec<_> = view.facts.processes.iter().map(|one| (one.name.clone(), one)).collect();
    if nodes.is_empty() {
        let own = view.facts.own.iter();
        own.map(|own| ("this session".to_owned(), own)).collect()
    } else {
        nodes
    }
}

/// Judges one limit of each process. If `least` is `None`, the limit must be unlimited.
fn limits(view: &View<'_>, name: &str, least: Option<u64>, level: Severity) -> Vec<SettingResult> {
    let judge = |(on, process): (String, &ProcessSettings)| {
        let limit = match &process.limits {
            Ok(limits) => limits.get(name),
            Err(why) => return SettingResult::not_told(why).on(on),
        };
        let judged = match (limit, least) {
            (None, _) => SettingResult::not_told("the kernel does not list this limit"),
            (Some(None), _) => SettingResult::new("unlimited", Severity::Ok),
            (Some(Some(limit)), Some(least)) => {
                SettingResult::new(limit.to_string(), unless(*limit >= least, level))
            }
            (Some(Some(limit)), None) => SettingResult::new(bytes(*limit), level),
        };
        judged.on(on)
    };
    who(view).into_iter().map(judge).collect()
}

/// Judges the limit of locked memory. On a host without swap, locking memory has no effect, so a
/// low limit is less severe.
fn memlock(view: &View<'_>) -> Vec<SettingResult> {
    let has_swap = view.facts.swap_bytes != Ok(0);
    let level = if has_swap {
        Severity::Warning
    } else {
        Severity::Advice
    };
    limits(view, "memlock", None, level)
}

fn swap(view: &View<'_>) -> Vec<SettingResult> {
    vec![match &view.facts.swap_bytes {
        Ok(0) => SettingResult::new("none", Severity::Ok),
        Ok(size) => SettingResult::new(bytes(*size), Severity::Warning),
        Err(why) => SettingResult::not_told(why),
    }]
}

fn swappiness(view: &View<'_>) -> Vec<SettingResult> {
    let number = match view.number("vm.swappiness") {
        Ok(number) => number,
        Err(why) => return vec![SettingResult::not_told(why)],
    };
    vec![match view.facts.swap_bytes {
        Ok(0) => SettingResult::new(format!("{number}, without swap"), Severity::Ok),
        _ => SettingResult::new(number.to_string(), unless(number <= 1, Severity::Advice)),
    }]
}

/// Returns the selected word in a list such as `always [madvise] never`.
fn chosen(text: &str) -> &str {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(inside, _)| inside)
}

const HUGE_PAGES_OPTION: &str = "UseTransparentHugePages";

fn huge_pages(view: &View<'_>) -> Vec<SettingResult> {
    let chosen = match view.value("thp.enabled") {
        Ok(value) => chosen(value),
        Err(why) => return vec![SettingResult::not_told(why)],
    };
    let is_asked = view.has_jvm_with(HUGE_PAGES_OPTION);
    vec![match (chosen, is_asked) {
        ("never", true) => SettingResult::new(
            "never, and a JVM has +UseTransparentHugePages",
            Severity::Warning,
        ),
        ("always", false) => SettingResult::new("always", Severity::Advice),
        (other, _) => SettingResult::new(other, Severity::Ok),
    }]
}

fn defrag(view: &View<'_>) -> Vec<SettingResult> {
    let chosen = match view.value("thp.defrag") {
        Ok(value) => chosen(value),
        Err(why) => return vec![SettingResult::not_told(why)],
    };
    let is_asked = view.has_jvm_with(HUGE_PAGES_OPTION);
    let has_always = view.value("thp.enabled").is_ok_and(|value| value.contains("[always]"));
    vec![match chosen {
        "never" | "defer" => SettingResult::new(chosen, Severity::Ok),
        // With this value, only processes that request large pages wait for large pages, and none
        // of the nodes requests them.
        "madvise" | "defer+madvise" if !is_asked => {
            SettingResult::new(format!("{chosen}, but no JVM requests them"), Severity::Ok)
        }
        "always" if !is_asked && !has_always => {
            SettingResult::new("always, but no JVM requests them", Severity::Ok)
        }
        _ => SettingResult::new(chosen, Severity::Advice),
    }]
}

fn dirty(view: &View<'_>) -> Vec<SettingResult> {
    let reckon = || {
        let given = view.number("vm.dirty_background_bytes")?;
        if given > 0 {
            return Ok((given, bytes(given)));
        }
        let ratio = view.number("vm.dirty_background_ratio")?;
        let memory = view.facts.memory_bytes.clone()?;
        let size = (memory / 100).saturating_mul(ratio);
        Ok((size, format!("{} ({ratio} % of memory)", bytes(size))))
    };
    vec![match reckon() {
        Ok((size, words)) => {
            SettingResult::new(words, unless(size <= DIRTY_BYTES_MAX, Severity::Advice))
        }
        Err::<_, String>(why) => SettingResult::not_told(why),
    }]
}

fn clock_source(view: &View<'_>) -> Vec<SettingResult> {
    let (current, available) = match (
        view.value("clocksource.current"),
        view.value("clocksource.available"),
    ) {
        (Ok(current), available) => (current, available.unwrap_or_default()),
        (Err(why), _) => return vec![SettingResult::not_told(why)],
    };
    let is_fast = current == "tsc"
        || current == "arch_sys_counter"
        || current == "kvm-clock"
        || current.starts_with("hyperv_clocksource");
    let has_tsc = available.split_ascii_whitespace().any(|one| one == "tsc");
    let judged = SettingResult::new(current, unless(is_fast, Severity::Warning));
    vec![if is_fast || has_tsc {
        judged
    } else {
        judged.fix(format!(
            "none: only {available} is available; the kernel's log mentions an unstable tsc \
             (dmesg | grep -i tsc)"
        ))
    }]
}

fn clock_sync(view: &View<'_>) -> Vec<SettingResult> {
    vec![match &view.facts.clock {
        Ok(clock) if clock.is_kept => SettingResult::new(
            format!(
                "synchronised, with a deviation of at most {} ms",
                clock.error_us / 1000
            ),
            Severity::Ok,
        ),
        Ok(_) => SettingResult::new(
            "the kernel reports that no program synchronises the clock",
            Severity::Warning,
        ),
        Err(why) => SettingResult::not_told(why),
    }]
}
