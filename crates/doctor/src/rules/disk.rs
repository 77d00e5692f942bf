//! Rules about the file systems and block devices that store the data.

use super::rule::{APACHE, Check, DATASTAX, INTEL, Rule, SettingResult, View, unless};
use crate::finding::Severity;
use host::settings::{Device, FactResult, Mount};

/// Maximum recommended read-ahead in KiB, first for solid-state disks, then for rotating disks. The
/// kernel discards data that it reads ahead of a random read, so a larger read-ahead reduces
/// performance.
const AHEAD_KIB_MAX: u64 = 16;
const AHEAD_KIB_MAX_ROTATIONAL: u64 = 64;

/// Read-ahead in KiB above which Cassandra itself prints a warning.
const AHEAD_KIB_WARN: u64 = 128;

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "disk.read_ahead",
        wanted: "at most 16 KiB (8 is recommended)",
        why: "Even a read of one row reads this amount from the disk, and evicts other data from \
              the page cache.",
        fix: "echo 8 > /sys/block/{on}/queue/read_ahead_kb (at every start: a udev rule, \
              ACTION==\"add|change\", KERNEL==\"{on}\", ATTR{queue/read_ahead_kb}=\"8\")",
        source: INTEL,
        start_check: "checkReadAheadKbSetting warns above 128",
        look: Check::By(read_ahead),
    },
    Rule {
        setting: "disk.scheduler",
        wanted: "none or mq-deadline",
        why: "Fast disks order requests themselves. Fair queueing in the kernel delays the \
              requests and costs CPU time.",
        fix: "echo none > /sys/block/{on}/queue/scheduler (at every start: a udev rule, \
              ACTION==\"add|change\", KERNEL==\"{on}\", ATTR{queue/scheduler}=\"none\")",
        source: DATASTAX,
        start_check: "",
        look: Check::By(scheduler),
    },
    Rule {
        setting: "disk.rotational",
        wanted: "0",
        why: "The kernel assumes that the disk rotates, as with many virtual disks, and orders \
              and accounts requests accordingly.",
        fix: "echo 0 > /sys/block/{on}/queue/rotational, if it does not rotate; put the commit log \
             on a disk that does not rotate",
        source: APACHE,
        start_check: "",
        look: Check::By(rotational),
    },
    Rule {
        setting: "disk.file_system",
        wanted: "ext4 or xfs",
        why: "The developers of Cassandra test these file systems. Network file systems break the \
              durability guarantee of Cassandra, and copy-on-write file systems write more.",
        fix: "move data_file_directories and commitlog_directory to a volume of ext4 or xfs",
        source: APACHE,
        start_check: "",
        look: Check::By(file_system),
    },
];

/// Judges the devices that `is_wanted` accepts, each of them once. The devices are those below the
/// mounts of the host. A mount without a known device has a finding, too.
fn each(
    view: &View<'_>,
    is_wanted: impl Fn(usize, &Device) -> bool,
    judge: impl Fn(&Device) -> SettingResult,
) -> Vec<SettingResult> {
    let mut seen: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for mount in &view.facts.mounts {
        for (index, device) in mount.devices.iter().enumerate() {
            if is_wanted(index, device) && !seen.contains(&device.name.as_str()) {
                seen.push(&device.name);
                all.push(judge(device).on(device.name.clone()));
            }
        }
    }
    all.extend(view.facts.mounts.iter().filter_map(bare));
    all
}

/// Returns the finding for a mount whose device is unknown, or `None` if the device is known.
fn bare(mount: &Mount) -> Option<SettingResult> {
    let why = format!(
        "cassay does not find the block device of {} ({})",
        mount.place, mount.kind
    );
    mount
        .devices
        .is_empty()
        .then(|| SettingResult::not_told(why).on(mount.place.clone()))
}

fn judge_reported<T>(
    value: &FactResult<T>,
    judge: impl FnOnce(&T) -> SettingResult,
) -> SettingResult {
    match value {
        Ok(value) => judge(value),
        Err(why) => SettingResult::not_told(why),
    }
}

/// Judges the read-ahead of the file system's device. The devices below this device are not judged,
/// because they read only the requested data.
fn read_ahead(view: &View<'_>) -> Vec<SettingResult> {
    each(
        view,
        |index, _| index == 0,
        |device| {
            judge_reported(&device.read_ahead_kib, |kib| {
                let most = match device.is_rotational {
                    Ok(true) => AHEAD_KIB_MAX_ROTATIONAL,
                    _ => AHEAD_KIB_MAX,
                };
                let level = match *kib {
                    kib if kib <= most => Severity::Ok,
                    kib if kib <= AHEAD_KIB_WARN => Severity::Advice,
                    _ => Severity::Warning,
                };
                SettingResult::new(format!("{kib} KiB"), level)
            })
        },
    )
}

/// Judges only the scheduler of the lowest device. This device passes requests to a disk, so it
/// decides their order.
fn scheduler(view: &View<'_>) -> Vec<SettingResult> {
    each(
        view,
        |_, device| !device.is_made_of_others,
        |device| {
            judge_reported(&device.scheduler, |name| {
                let is_fine = ["none", "noop", "deadline", "mq-deadline", "kyber"];
                SettingResult::new(
                    name,
                    unless(is_fine.contains(&name.as_str()), Severity::Advice),
                )
            })
        },
    )
}

fn rotational(view: &View<'_>) -> Vec<SettingResult> {
    each(
        view,
        |_, device| !device.is_made_of_others,
        |device| {
            judge_reported(&device.is_rotational, |turns| {
                SettingResult::new(
                    u8::from(*turns).to_string(),
                    unless(!turns, Severity::Advice),
                )
            })
        },
    )
}

fn file_system(view: &View<'_>) -> Vec<SettingResult> {
    let judge = |mount: &Mount| {
        let level = match mount.kind.as_str() {
            "ext4" | "xfs" => Severity::Ok,
            kind if kind.starts_with("nfs") || kind == "cifs" || kind == "smb3" => {
                Severity::Warning
            }
            "tmpfs" | "ramfs" => Severity::Warning,
            _ => Severity::Advice,
        };
        SettingResult::new(mount.kind.clone(), level).on(mount.place.clone())
    };
    view.facts.mounts.iter().map(judge).collect()
}
