//! Reads the network cards and drives of a /sys tree, and the nodes to which they are close.

use super::Files;
use crate::cpu_sets::{DEVICES_MAX, Raw};
use crate::machine::{Device, DeviceKind};

pub(super) fn read(files: &Files<'_>, raw: &mut Raw) {
    for (folder, kind) in [
        ("class/net", DeviceKind::Network),
        ("class/nvme", DeviceKind::Nvme),
        ("block", DeviceKind::Block),
        ("class/block", DeviceKind::Block),
    ] {
        for name in files.tree.list(&files.sys(folder)).into_iter().take(DEVICES_MAX) {
            raw.devices.extend(device(files, folder, kind, name));
        }
    }
}

/// Reads a device. Returns `None` for a device that is not hardware. Such a device has no entry
/// `device`, or is a partition.
fn device(files: &Files<'_>, folder: &str, kind: DeviceKind, name: String) -> Option<Device> {
    let path = files.sys(&format!("{folder}/{name}"));
    let is_partition = files.tree.read(&format!("{path}/partition")).is_some();
    let hardware = format!("{path}/device");
    if is_partition || !files.tree.has_folder(&hardware) {
        return None;
    }
    let found = files.tree.read_above(&hardware, "numa_node");
    let node_os = found.and_then(|(text, _)| text.trim().parse().ok());
    let kind = match kind {
        DeviceKind::Block if name.starts_with("nvme") => DeviceKind::Nvme,
        kind => kind,
    };
    Some(Device {
        kind,
        name,
        node_os,
    })
}
