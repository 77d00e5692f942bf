//! Writes the options of a VM in its .vmx file.
//!
//! The number of cores per socket is always written. A tool that omits this number sets it to 1,
//! which disables the automatic choice of vSphere 8. VMs are tied to nodes with `numa.nodeAffinity`
//! and never with `sched.cpu.affinity`, which excludes VMs from the NUMA scheduler. The format has
//! no keys for CPUs, and no comments.

use std::collections::BTreeMap;

use super::escapes::{self, read_vmx, wrong};
use super::placement::{Guest, vsphere};
use super::{ExportError, Placement, Source, cells};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::guest_shape::split_from;
use crate::plan::{Instance, VirtualTopology};
use crate::request::{Profile, Unit};

/// Unit of memory in bytes. ESXi accepts multiples of 4 MiB.
pub const MEMORY_UNIT_BYTES: u64 = 4 << 20;

/// Maximum number of vCPUs. All versions of vSphere allow fewer. For example, version 8.0 allows
/// 768.
pub const VCPUS_MAX: u32 = 4096;

/// Key that cassay defines for the rack. The guest can read the key, and ESXi ignores it.
pub const RACK: &str = "guestinfo.cassay.rack";
pub const JVM: &str = "guestinfo.cassay.jvm";

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let guest = vsphere(source.plan);
    let name = escapes::file_name(&source.plan.wish.host);
    let mib = memory_mib(instance)?;
    let is_7 = source.plan.wish.profile == Profile::Vsphere7;
    let mut lines: Vec<(String, String)> = vec![
        (".encoding".into(), "UTF-8".into()),
        ("config.version".into(), "8".into()),
        (
            "virtualHW.version".into(),
            if is_7 { "19" } else { "20" }.into(),
        ),
        ("displayName".into(), format!("{name}-{}", instance.index)),
        ("numvcpus".into(), guest.vcpus().to_string()),
        ("memSize".into(), mib.to_string()),
        (
            "cpuid.coresPerSocket".into(),
            guest.vcpus_per_socket().to_string(),
        ),
        ("sched.mem.min".into(), mib.to_string()),
        ("sched.mem.pin".into(), "TRUE".into()),
        ("vcpu.hotadd".into(), upper(source.plan.wish.hot_add)),
    ];
    lines.extend(extra(source, instance));
    let line = |(key, value): &(String, String)| format!("{key} = {}\n", escapes::vmx(value));
    Ok(lines.iter().map(line).collect())
}

/// Returns the memory of an instance in MiB, rounded down to a multiple of 4 MiB.
pub fn memory_mib(instance: &Instance) -> Result<u64, ExportError> {
    let units = instance.memory_bytes.unwrap_or(0) / MEMORY_UNIT_BYTES;
    match units {
        0 => Err(ExportError::new(
            format!(
                "instance {} has no memory size, but a VM requires one",
                instance.index
            ),
            "plan with a memory size",
        )),
        units => Ok(units * (MEMORY_UNIT_BYTES >> 20)),
    }
}

/// Returns the options for which the API has no field. These options belong to `extraConfig` of the
/// API.
pub fn extra(source: &Source, instance: &Instance) -> Vec<(String, String)> {
    let guest = vsphere(source.plan);
    let nodes: Vec<String> =
        cells::memory_nodes(instance).iter().map(|node| node.to_string()).collect();
    let (key, size) = vnuma_size(source, guest);
    let mut extra = vec![
        ("numa.autosize.once".to_owned(), "FALSE".to_owned()),
        (
            "numa.vcpu.preferHT".to_owned(),
            upper(source.plan.wish.unit() == Unit::Threads),
        ),
        (key.to_owned(), size.to_string()),
        ("numa.nodeAffinity".to_owned(), nodes.join(",")),
        (RACK.to_owned(), escapes::plain(&source.plan.rack)),
    ];
    for (index, option) in escapes::options(instance).into_iter().enumerate() {
        extra.push((format!("{JVM}.{index}"), option));
    }
    extra
}

/// Returns the size of a virtual node in vCPUs, with the key for it in this version. Version 8.0
/// requires equal nodes if the key states a size. So for unequal nodes, another key sets the
/// largest size that a node may have.
fn vnuma_size(source: &Source, guest: &VirtualTopology) -> (&'static str, u32) {
    let largest = guest.vnuma.iter().copied().max().unwrap_or(1);
    let is_even = guest.vnuma.iter().all(|&size| size == largest);
    if source.plan.wish.profile != Profile::Vsphere7 && is_even {
        ("numa.vcpu.coresPerNode", largest)
    } else {
        ("numa.vcpu.maxPerVirtualNode", largest)
    }
}

fn upper(is: bool) -> String {
    if is { "TRUE" } else { "FALSE" }.to_owned()
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let mut values = BTreeMap::new();
    let mut unread = Vec::new();
    let is_said = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| is_said(line)) {
        let Some((key, value)) = line.split_once('=') else {
            unread.push(format!("line {}, which has no `=`: {line}", index + 1));
            continue;
        };
        let value = value.trim();
        // VMware's programs also accept a value without quotes.
        let plain = read_vmx(value).unwrap_or_else(|| value.trim_matches('"').to_owned());
        // Keys are not case-sensitive. Some VMware products write `memSize`, and others write
        // `memsize`.
        let key = key.trim().to_ascii_lowercase();
        if let Some(before) = values.insert(key.clone(), plain) {
            unread.push(format!(
                "{key} = {before:?}, because a later line sets it again"
            ));
        }
    }
    if values.is_empty() {
        return Err(wrong("vmx", "no line of the file is a `key = \"value\"`"));
    }
    let mut placement = placement(&values, "memSize", "numvcpus", "cpuid.coresPerSocket")?;
    unread.into_iter().for_each(|line| placement.ignore(line));
    Ok(placement)
}

/// Returns true if a file is in the character set that its key `.encoding` names, and that is not
/// UTF-8. ESXi writes this key. Keys and numbers are ASCII in all character sets of VMware.
pub fn has_other_encoding(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let encoding = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim().eq_ignore_ascii_case(".encoding")).then(|| value.trim().trim_matches('"'))
    });
    encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("UTF-8"))
}

/// Reads the placement from a VM's options. The caller passes the keys for memory, vCPUs and cores
/// per socket.
pub fn placement(
    values: &BTreeMap<String, String>,
    memory: &str,
    vcpus: &str,
    per_socket: &str,
) -> Result<Placement, ReadError> {
    // Keys are compared without regard to case, because some VMware products write `memSize` and
    // others write `memsize`.
    let get = |key: &str| {
        let found = values.iter().find(|(found, _)| found.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value)
    };
    let number = |key: &str| {
        let value = get(key).map_or("", String::as_str);
        let number = value.parse::<u32>().ok().filter(|&number| number > 0);
        number.ok_or_else(|| {
            wrong(
                "vSphere",
                format!("{key} is {value:?}, not a number above 0"),
            )
        })
    };
    // If the file does not state these numbers, the VM has one vCPU, and one core per socket.
    let number_or_1 = |key: &str| {
        if get(key).is_some() {
            number(key)
        } else {
            Ok(1)
        }
    };
    let (vcpus, per_socket) = (number_or_1(vcpus)?, number_or_1(per_socket)?);
    if vcpus > VCPUS_MAX || vcpus % per_socket != 0 {
        return Err(wrong(
            "vSphere",
            format!("{vcpus} vCPUs do not divide into sockets of {per_socket}"),
        ));
    }
    let sizes = ["numa.vcpu.coresPerNode", "numa.vcpu.maxPerVirtualNode"];
    let said = sizes.into_iter().find(|key| get(key).is_some());
    let size = said.map_or(Ok(vcpus), number)?;
    let parts = vcpus.div_ceil(size);
    let set = |key: &str| {
        let list = get(key).filter(|list| !["", "all"].contains(&list.as_str()));
        let set = list.map(|list| CpuSet::parse_list(list)).transpose();
        set.map_err(|what| wrong("vSphere", format!("{key}: {what}")))
    };
    // The affinity of the memory overrides that of the whole VM.
    let nodes = set("sched.mem.affinity")?;
    let (nodes, other) = match nodes {
        None => (set("numa.nodeAffinity")?, None),
        nodes => (nodes, get("numa.nodeAffinity")),
    };
    let cpus = set("sched.cpu.affinity")?;
    let jvm = (0..).map_while(|index| get(&format!("{JVM}.{index}")).cloned());
    let mut placement = Placement {
        cpus: cpus.map(|cpus| cpus.iter().collect()),
        memory_nodes: nodes,
        guest: Some(Guest {
            sockets: vcpus / per_socket,
            dies: 1,
            cores: per_socket,
            threads: 1,
            vnuma: split_from(vcpus, parts, parts),
        }),
        memory_bytes: Some(u64::from(number(memory)?) << 20),
        rack: get(RACK).cloned(),
        jvm: Some(jvm.collect()),
        ..Placement::default()
    };
    if let Some(list) = other {
        let why = "because sched.mem.affinity names the memory nodes";
        placement.ignore(format!("numa.nodeAffinity = {list:?}, {why}"));
    }
    ignore_rest(values, get(memory), said, &mut placement);
    Ok(placement)
}

/// Adds to the ignored settings the options about CPUs and memory that a placement does not
/// contain. Switches, normal weights and limits without a value do not affect the placement. `size`
/// is the key for the size of a virtual node that the placement contains.
fn ignore_rest(
    values: &BTreeMap<String, String>,
    memory: Option<&String>,
    size: Option<&str>,
    placement: &mut Placement,
) {
    let families = [
        "sched.cpu.",
        "sched.mem.",
        "numa.",
        "cpuid.numcores",
        "cpuid.threads",
    ];
    let used = [
        "sched.cpu.affinity",
        "sched.mem.affinity",
        "numa.nodeaffinity",
    ];
    // ESXi writes the cookie to detect a change of the number of vCPUs.
    let others = ["numa.autosize.cookie", "sched.cpu.units"];
    let nothing = ["", "0", "-1", "all", "normal", "unlimited", "true", "false"];
    for (key, value) in values {
        let name = key.to_ascii_lowercase();
        let is_size = size.is_some_and(|size| size.eq_ignore_ascii_case(key));
        let is_whole_memory = name == "sched.mem.min" && Some(value) == memory;
        let is_known =
            is_size || is_whole_memory || used.contains(&&*name) || others.contains(&&*name);
        let is_nothing = nothing.contains(&&*value.to_ascii_lowercase());
        if families.iter().any(|family| name.starts_with(family)) && !is_known && !is_nothing {
            placement.ignore(format!("{key} = {value:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_read_as_esxi_reads_them() {
        let text = "junk\nmemsize = 8192\nnumvcpus = \"2\"\nNumVCPUs = \"8\"\n\
                    sched.cpu.affinity = \"all\"\nsched.mem.affinity = \"1\"\n\
                    numa.nodeAffinity = \"0,1\"\nsched.cpu.max = \"4000\"\n\
                    sched.cpu.shares = \"normal\"\nannotation = \"a|\"\n";
        let placed = read(text).unwrap();
        assert_eq!((placed.cpus, placed.memory_bytes), (None, Some(8 << 30)));
        assert_eq!(placed.guest.map(|guest| guest.sockets), Some(8));
        assert_eq!(placed.memory_nodes, CpuSet::parse_list("1").ok());
        assert_eq!(
            placed.ignored,
            [
                "numa.nodeAffinity = \"0,1\", because sched.mem.affinity names the memory nodes",
                "sched.cpu.max = \"4000\"",
                "line 1, which has no `=`: junk",
                "numvcpus = \"2\", because a later line sets it again",
            ]
        );
        assert!(read("junk").is_err());
    }

    #[test]
    fn another_character_set_is_known_by_its_key() {
        assert!(has_other_encoding(
            b"x = \"\xfc\"\n.encoding = \"windows-1252\"\n"
        ));
        assert!(!has_other_encoding(
            b".encoding = \"UTF-8\"\nx = \"\xfc\"\n"
        ));
        assert!(!has_other_encoding(b"x = \"\xfc\"\n"));
    }
}
