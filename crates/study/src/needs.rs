//! Lists the capabilities that a study needs from its targets. The engine detects missing
//! capabilities before it starts the run.
//!
//! If a capability that the question requires is missing, cassay refuses the study. Examples are
//! another isolation, a volume to fill, and a snapshot to restore. A capability that only adds
//! detail, or makes hosts more like real machines, is a wish. If it is missing, the run continues,
//! and its notes report the missing capability.

use crate::settings::{Data, Load, PageCache, Probes, Reset, RestoreMethod, Settings, Settle};
use crate::units;
use target_spec::{Capability, DiskSpec, HostsSpec, Isolation, Target};

/// A capability that a setting requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Capability that the setting requires.
    pub capability: Capability,
    /// Reason for the need, which is a key of the study. The reason includes the value of the key
    /// if the value adds information.
    pub why: String,
    /// States whether the run can continue without the capability.
    pub strength: Strength,
}

/// States whether a run can continue without a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// The study cannot run without the capability.
    Must,
    /// The study cannot run without the capability if its hosts are isolated. Loopback addresses do
    /// not need the capability.
    MustIfApart,
    /// The run continues without the capability, and its notes report that it is missing.
    Wish,
}

/// Returns the capabilities that one variant requires of its target. The null target needs no
/// capabilities.
pub fn needs(settings: &Settings) -> Vec<Need> {
    let mut needs = Vec::new();
    match &settings.target {
        Target::Null(_) => return needs,
        Target::Local(local) => {
            if let Some(hosts) = &local.hosts {
                add_host_needs(hosts, &mut needs);
            }
        }
        Target::Attach(_) => {}
    }
    add_data_needs(&settings.data, &mut needs);
    if settings.load_target() != &settings.target {
        must(
            Capability::Restart,
            "phases.load.target".to_owned(),
            &mut needs,
        );
    }
    if let Some(probes) = &settings.probes {
        add_probe_needs(probes, &mut needs);
    }
    for fault in &settings.faults {
        for capability in fault.kind.needs {
            must(
                *capability,
                format!("faults: {}", fault.kind.name),
                &mut needs,
            );
        }
    }
    needs
}

fn must(capability: Capability, why: String, needs: &mut Vec<Need>) {
    needs.push(Need {
        capability,
        why,
        strength: Strength::Must,
    });
}

/// Returns the limits of a disk, with their keys in a study. `None` if the disk has no limits.
fn disk_words(disk: &DiskSpec) -> Option<String> {
    let limits = disk.each().into_iter().filter_map(|(name, value)| Some((name, value?)));
    let words: Vec<String> = limits
        .map(|(name, value)| {
            let key = name.trim_start_matches("disk_");
            if key.ends_with("rate") {
                format!("{key}: {}", units::format_bytes(value))
            } else {
                format!("{key}: {value}")
            }
        })
        .collect();
    (!words.is_empty()).then(|| format!("{{{}}}", words.join(", ")))
}

fn add_host_needs(hosts: &HostsSpec, needs: &mut Vec<Need>) {
    let bytes = |bytes: u64| units::format_bytes(bytes);
    let host = &hosts.host;
    let delay = host.link.delay.map(|delay| delay.as_nanos() as u64);
    let limits = [
        (
            Capability::CpuSet,
            "cpus",
            host.cpus.as_ref().map(|cpus| format!("{cpus:?}")),
        ),
        (
            Capability::CpuLimit,
            "cpu_quota",
            host.cpu_quota.map(|cores| cores.to_string()),
        ),
        (
            Capability::MemoryLimit,
            "memory",
            host.memory_bytes.map(bytes),
        ),
        (Capability::Volume, "volume", host.volume_bytes.map(bytes)),
        (Capability::DiskLimit, "disk", disk_words(&host.disk)),
        (
            Capability::LinkRate,
            "link.rate",
            host.link.rate_bits_per_s.map(units::format_bit_rate),
        ),
        (
            Capability::LinkDelay,
            "link.delay",
            delay.map(units::format_duration_ns),
        ),
    ];
    // Loopback isolation is a deliberate choice, so a study that chooses it needs no capabilities
    // here. If a study sets limits together with loopback, the rules report a mistake.
    let (own, each) = match hosts.isolation {
        // Isolation is only a wish for machines, because a machine reports its capabilities only
        // once cassay has reached it.
        _ if hosts.are_machines() => (Strength::Wish, Strength::Must),
        Isolation::Hosts => (Strength::Must, Strength::Must),
        Isolation::Auto => (Strength::Wish, Strength::MustIfApart),
        Isolation::Loopback => return,
    };
    let isolation = hosts.isolation.name();
    needs.push(Need {
        capability: Capability::Hosts,
        why: format!("target.local.isolation: {isolation}"),
        strength: own,
    });
    for (capability, key, value) in limits {
        let Some(value) = value else { continue };
        needs.push(Need {
            capability,
            why: format!("target.local.host.{key}: {value}"),
            strength: each,
        });
    }
}

fn add_data_needs(data: &Data, needs: &mut Vec<Need>) {
    if let Load::Fraction(share) = data.load {
        let why = format!("data.load: {:.0} % of the data volume", 100.0 * share);
        must(Capability::Volume, why, needs);
    }
    if data.settle == Settle::Compactions {
        must(
            Capability::Settle,
            "data.settle: compactions".to_owned(),
            needs,
        );
    }
    if data.reset == Reset::Snapshot {
        must(
            Capability::Snapshot,
            "data.reset: snapshot".to_owned(),
            needs,
        );
        if data.restore == RestoreMethod::Offline {
            must(
                Capability::OfflineRestore,
                "data.restore: offline".to_owned(),
                needs,
            );
        }
    }
    if data.page_cache == PageCache::Drop {
        must(
            Capability::DropPageCache,
            "data.page_cache: drop".to_owned(),
            needs,
        );
    }
}

/// Prefix of the keys of all probes.
pub const PROBES: &str = "probes.";

fn add_probe_needs(probes: &Probes, needs: &mut Vec<Need>) {
    let capability_of = |key: &str| match key {
        "hosts" => Some(Capability::HostMetrics),
        "processes" => Some(Capability::ProcessStatistics),
        "jvm" => Some(Capability::JvmMetrics),
        // The probe `cassandra` needs no capability, because every target has the virtual tables
        // that contain most of its values.
        "gc_log" => Some(Capability::GcLog),
        _ => None,
    };
    for (key, period_ns) in probes.periods() {
        if let (Some(capability), Some(_)) = (capability_of(key), period_ns) {
            needs.push(Need {
                capability,
                why: format!("{PROBES}{key}"),
                strength: Strength::Wish,
            });
        }
    }
}
