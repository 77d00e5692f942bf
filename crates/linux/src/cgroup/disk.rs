//! Limits of a host on the disk behind its volume. The limits are operations and bytes per second.
//! The kernel applies each limit to all processes of a group together.
//!
//! Version 1 has a file for each limit (`blkio.throttle.*`). Version 2 has one file (`io.max`) with
//! a line for all four limits.

use super::{CgroupDir, Group, read, write};
use anyhow::Result;
use std::collections::BTreeMap;
use target_spec::DiskSpec;

/// The limits: the name in [`DiskSpec::each`], the file in version 1, and the key in version 2.
const LIMITS: [(&str, &str, &str); 4] = [
    ("disk_read_iops", "blkio.throttle.read_iops_device", "riops"),
    (
        "disk_write_iops",
        "blkio.throttle.write_iops_device",
        "wiops",
    ),
    ("disk_read_rate", "blkio.throttle.read_bps_device", "rbps"),
    ("disk_write_rate", "blkio.throttle.write_bps_device", "wbps"),
];

impl Group {
    /// Limits the group's use of the block device `device`.
    ///
    /// # Errors
    /// The host has no volume, the machine lacks the controller, or the kernel refuses a value.
    pub fn limit_disk(&self, spec: &DiskSpec, device: Option<&str>) -> Result<()> {
        let Some(number) = device else {
            anyhow::ensure!(
                !spec.limits(),
                "a host without a volume has no disk to limit; add a volume to the host"
            );
            return Ok(());
        };
        let Some(place) = self.disk_place() else {
            anyhow::ensure!(
                !spec.limits(),
                "this machine has no control group for disks (blkio or io); mount the controller \
                 or omit the limit"
            );
            return Ok(());
        };
        let values = spec.each().into_iter().zip(LIMITS);
        if place.unified {
            let words = values.map(|((_, value), (_, _, key))| {
                let value = value.map_or("max".to_owned(), |value| value.to_string());
                format!(" {key}={value}")
            });
            let line = format!("{number}{}", words.collect::<String>());
            return write(&place.dir.join("io.max"), &line);
        }
        for ((_, value), (_, file, _)) in values {
            // The kernel treats 0 operations or bytes per second as no limit.
            let line = format!("{number} {}", value.unwrap_or(0));
            write(&place.dir.join(file), &line)?;
        }
        Ok(())
    }

    pub(super) fn disk_limits(&self, device: Option<&str>) -> Result<BTreeMap<String, String>> {
        let mut limits = BTreeMap::new();
        let (Some(number), Some(place)) = (device, self.disk_place()) else {
            return Ok(limits);
        };
        for (name, file, key) in LIMITS {
            let text = read(&place.dir.join(if place.unified { "io.max" } else { file }))?;
            let of_device =
                |line: &str| line.strip_prefix(&format!("{number} ")).map(str::to_owned);
            let line = text.lines().find_map(of_device);
            let value = line.and_then(|line| {
                if place.unified {
                    line.split(' ')
                        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
                        .map(str::to_owned)
                } else {
                    Some(line)
                }
            });
            if let Some(value) = value.filter(|value| value != "max") {
                limits.insert(name.to_owned(), value);
            }
        }
        Ok(limits)
    }

    fn disk_place(&self) -> Option<&CgroupDir> {
        self.place("blkio").or_else(|| self.place("io"))
    }
}
