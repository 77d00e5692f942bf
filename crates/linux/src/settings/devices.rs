//! The file system that contains a folder, and the block devices of the file system.

use super::FactResult;
use super::root::Root;
use crate::mounts::unescaped;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Maximum depth of stacked devices. A volume on a mirror on encrypted partitions has a depth of
/// four.
const DEPTH_MAX: usize = 8;

/// A mount that contains requested folders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Mount point of the file system.
    pub place: String,
    /// Requested folders on the file system.
    pub folders: Vec<PathBuf>,
    /// Type of the file system, such as `ext4`.
    pub kind: String,
    /// Source of the mount, such as `/dev/vda1`.
    pub source: String,
    /// Devices of the mount. The device of the file system comes first, and is followed by the
    /// devices of which it is composed. The list is empty if the file system has no device.
    pub devices: Vec<Device>,
}

/// A block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Name of the device, such as `nvme0n1`. For a partition, this is the name of the whole disk.
    pub name: String,
    /// True if the device is composed of other devices, which come after it.
    pub is_made_of_others: bool,
    /// Read-ahead of the kernel for this device, in KiB.
    pub read_ahead_kib: FactResult<u64>,
    /// Scheduler that is selected for requests to the device.
    pub scheduler: FactResult<String>,
    /// True if the kernel treats the device as a rotating disk.
    pub is_rotational: FactResult<bool>,
}

/// A line of `mountinfo`.
struct Line {
    place: PathBuf,
    number: String,
    kind: String,
    source: String,
}

pub(super) fn mounts(root: &Root, folders: &[PathBuf], unseen: &mut Vec<String>) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = Vec::new();
    if folders.is_empty() {
        return mounts;
    }
    let text = match root.text("/proc/self/mountinfo") {
        Ok(text) => text,
        Err(why) => {
            unseen.push(format!("devices: {why}"));
            return mounts;
        }
    };
    let lines: Vec<Line> = text.lines().filter_map(Line::parse).collect();
    for folder in folders {
        let Some(line) = holding(&lines, &root.resolved(folder)) else {
            unseen.push(format!(
                "devices: nothing is mounted at {}",
                folder.display()
            ));
            continue;
        };
        let place = line.place.display().to_string();
        match mounts.iter_mut().find(|mount| mount.place == place) {
            Some(known) if !known.folders.contains(folder) => known.folders.push(folder.clone()),
            Some(_) => {}
            None => mounts.push(Mount {
                place,
                folders: vec![folder.clone()],
                kind: line.kind.clone(),
                source: line.source.clone(),
                devices: below(root, &lines, line),
            }),
        }
    }
    mounts
}

/// Returns the mount to which a path belongs. This is the mount with the deepest mount point. If
/// several mounts have this mount point, it is the last of them.
fn holding<'a>(lines: &'a [Line], path: &Path) -> Option<&'a Line> {
    let depth = |line: &&Line| line.place.components().count();
    lines.iter().filter(|line| path.starts_with(&line.place)).max_by_key(depth)
}

impl Line {
    fn parse(line: &str) -> Option<Line> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(2);
        let number = mount.next()?.to_owned();
        let place = unescaped(mount.nth(1)?).into();
        let mut system = system.split(' ');
        Some(Line {
            place,
            number,
            kind: system.next()?.to_owned(),
            source: unescaped(system.next()?),
        })
    }
}

fn below(root: &Root, lines: &[Line], line: &Line) -> Vec<Device> {
    let mut devices = Vec::new();
    let mut seen = BTreeSet::new();
    let first = device_of(root, line);
    follow(root, lines, first, DEPTH_MAX, &mut seen, &mut devices);
    devices
}

/// Returns the name of the mounted device. The function identifies the device by its number. The
/// number of a file system with several devices is not that of a device, so the function then uses
/// the source of the mount.
fn device_of(root: &Root, line: &Line) -> Option<String> {
    let by_number = root.link(&format!("/sys/dev/block/{}", line.number)).ok();
    let by_source = || {
        let source = line.source.strip_prefix("/dev/")?;
        let path = root.resolved(Path::new("/dev").join(source).as_path());
        Some(path)
    };
    let path = by_number.or_else(by_source)?;
    Some(path.file_name()?.to_str()?.to_owned())
}

fn follow(
    root: &Root,
    lines: &[Line],
    name: Option<String>,
    depth: usize,
    seen: &mut BTreeSet<String>,
    into: &mut Vec<Device>,
) {
    let Some(name) = name.map(|name| disk(root, name)) else {
        return;
    };
    let folder = format!("/sys/class/block/{name}");
    if depth == 0 || !root.has(&folder) || !seen.insert(name.clone()) {
        return;
    }
    let mut parts: Vec<String> = root.names(&format!("{folder}/slaves")).unwrap_or_default();
    if let Ok(file) = root.word(&format!("{folder}/loop/backing_file")) {
        // The path is that of the process which created the device. This process may have other
        // mounts, so the path may not exist here.
        let line = holding(lines, &root.resolved(Path::new(&file)));
        parts.extend(line.and_then(|line| device_of(root, line)));
    }
    into.push(device(root, &name, !parts.is_empty()));
    for part in parts {
        follow(root, lines, Some(part), depth - 1, seen, into);
    }
}

/// Returns the disk of a partition, and any other device unchanged.
fn disk(root: &Root, name: String) -> String {
    if !root.has(&format!("/sys/class/block/{name}/partition")) {
        return name;
    }
    // The target of the link is, for example, `../../devices/…/block/sda/sda1`.
    let link = root.link(&format!("/sys/class/block/{name}")).ok();
    let parent = link.as_deref().and_then(Path::parent).and_then(Path::file_name);
    let parent = parent.and_then(|parent| parent.to_str()).map(str::to_owned);
    parent.unwrap_or(name)
}

fn device(root: &Root, name: &str, is_made_of_others: bool) -> Device {
    let file = |file: &str| format!("/sys/class/block/{name}/queue/{file}");
    let chosen = |text: String| {
        let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        inside.map_or(text.clone(), |(inside, _)| inside.to_owned())
    };
    Device {
        name: name.to_owned(),
        is_made_of_others,
        read_ahead_kib: root.number(&file("read_ahead_kb")),
        scheduler: root.word(&file("scheduler")).map(chosen),
        is_rotational: root.number(&file("rotational")).map(|number| number != 0),
    }
}
