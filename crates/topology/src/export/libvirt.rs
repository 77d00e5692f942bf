//! Writes the domain XML of libvirt. It contains the host CPUs of the vCPUs and the emulator of a
//! VM, and the host nodes of its memory. It also contains the topology that the guest sees. The
//! vCPUs have libvirt's order, in which the threads of a core have consecutive numbers.
//!
//! The topology omits `clusters`. The number of clusters is always 1, which is the default, and
//! schemas before version 10.1 of libvirt do not permit the attribute.

use std::fmt::Write;

use roxmltree::{Document, Node, ParsingOptions};

use super::cells::{self, GuestCell};
use super::escapes::{plain, wrong, xml, xml_comment};
use super::placement::{Guest, housekeeping};
use super::{ExportError, Placement, Source, escapes, header};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::machine::Machine;
use crate::plan::Instance;

/// Unit in which libvirt measures memory: KiB.
pub const MEMORY_UNIT_BYTES: u64 = 1024;

/// Namespace of cassay's own metadata, for values that libvirt does not have.
const NAMESPACE: &str = "urn:cassay:placement";

/// Maximum number of XML nodes. The largest domain has 512 vCPUs, and 64 cells with the distances
/// between them, which require fewer XML nodes.
const XML_NODES_MAX: u32 = 100_000;

/// Maximum number of vCPUs. A domain cannot have more vCPUs, because libvirt's schema limits the
/// number to 16 bits.
const VCPUS_MAX: u32 = 65_535;

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let pinned = &instance.pinned;
    let guest_cells = cells::guest_cells(instance, &pinned.vnuma, MEMORY_UNIT_BYTES);
    let kib = instance.memory_bytes.unwrap_or(0) / MEMORY_UNIT_BYTES;
    if guest_cells.iter().any(|cell| cell.units == 0) {
        return Err(ExportError::new(
            format!(
                "instance {} has no memory size, but a domain requires one",
                instance.index
            ),
            "plan with a memory size",
        ));
    }
    let host = escapes::file_name(&source.plan.wish.host);
    let cpus = cells::cpus(instance);
    let mut out = String::new();
    let o = &mut out;
    line(
        o,
        0,
        format!("<!-- {} -->", xml_comment(&header(source, Some(instance)))),
    );
    line(o, 0, "<domain type='kvm'>");
    line(o, 1, format!("<name>{host}-{}</name>", instance.index));
    metadata(o, source, instance);
    line(o, 1, format!("<memory unit='KiB'>{kib}</memory>"));
    backing(o, source, &guest_cells);
    let count = instance.cpus.len();
    line(
        o,
        1,
        format!("<vcpu placement='static' cpuset='{cpus}'>{count}</vcpu>"),
    );
    line(o, 1, "<iothreads>1</iothreads>");
    pinning(o, source, instance, &cpus);
    numa_tuning(o, instance, &guest_cells);
    line(o, 1, "<os><type>hvm</type></os>");
    line(o, 1, "<cpu mode='host-passthrough' check='none'>");
    line(
        o,
        2,
        format!(
            "<topology sockets='{}' dies='{}' cores='{}' threads='{}'/>",
            pinned.sockets, pinned.dies, pinned.cores, pinned.threads
        ),
    );
    line(o, 2, "<cache mode='passthrough'/>");
    if source.options.topoext {
        line(o, 2, "<feature policy='require' name='topoext'/>");
    }
    numa_cells(o, source.machine, &guest_cells);
    line(o, 1, "</cpu>");
    line(o, 0, "</domain>");
    Ok(out)
}

fn line(out: &mut String, depth: usize, text: impl AsRef<str>) {
    let _ = writeln!(out, "{:1$}{2}", "", depth * 2, text.as_ref());
}

fn metadata(out: &mut String, source: &Source, instance: &Instance) {
    let rack = xml(&source.plan.rack);
    line(out, 1, "<metadata>");
    line(
        out,
        2,
        format!("<cassay:placement xmlns:cassay='{NAMESPACE}' rack='{rack}'>"),
    );
    for option in escapes::options(instance) {
        line(out, 3, format!("<cassay:jvm option='{}'/>", xml(&option)));
    }
    line(out, 2, "</cassay:placement>");
    line(out, 1, "</metadata>");
}

/// Writes the memory backing. The guest gets huge pages if every node of the instance has enough
/// huge pages for all instances on the node. The memory is never merged or swapped.
fn backing(out: &mut String, source: &Source, cells: &[GuestCell]) {
    line(out, 1, "<memoryBacking>");
    if let Some(kib) = huge_page_kib(source, cells) {
        let all = (0..cells.len() as u32).collect::<CpuSet>();
        line(out, 2, "<hugepages>");
        line(
            out,
            3,
            format!("<page size='{kib}' unit='KiB' nodeset='{all}'/>"),
        );
        line(out, 2, "</hugepages>");
    }
    line(out, 2, "<nosharepages/>");
    line(out, 2, "<locked/>");
    line(out, 1, "</memoryBacking>");
}

/// Returns the largest size of huge pages with two properties, in KiB. First, the nodes of the
/// instance have enough pages of this size for all instances on these nodes. Second, the size of
/// each cell is a multiple of the page size. Returns `None` if no huge pages have both properties.
fn huge_page_kib(source: &Source, cells: &[GuestCell]) -> Option<u64> {
    let nodes: CpuSet = cells.iter().flat_map(|cell| cell.nodes.iter()).collect();
    let wanted = |node: u32| {
        let parts = source.plan.instances.iter().flat_map(|other| &other.memory);
        let here = parts.filter(|part| part.node == node);
        here.fold(0u64, |sum, part| sum.saturating_add(part.bytes))
    };
    let has = |node: u32, page_bytes: u64| {
        let node = source.machine.nodes.iter().find(|one| one.os == node);
        let pages = node.into_iter().flat_map(|node| &node.hugepages);
        let pages = pages.filter(|pages| pages.page_bytes == page_bytes);
        pages.fold(0u64, |sum, pages| {
            sum.saturating_add(pages.count.saturating_mul(page_bytes))
        })
    };
    let known = source.machine.nodes.iter().flat_map(|node| &node.hugepages);
    // 2 MiB is the smallest huge page of x86. Smaller sizes are excluded, because hwloc also lists
    // the ordinary pages.
    let mut sizes: Vec<u64> =
        known.map(|pages| pages.page_bytes).filter(|&b| b >= 2 << 20).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let fits = |bytes: &u64| {
        cells.iter().all(|cell| (cell.units * MEMORY_UNIT_BYTES).is_multiple_of(*bytes))
            && nodes.iter().all(|node| wanted(node) > 0 && has(node, *bytes) >= wanted(node))
    };
    let size = sizes.into_iter().rev().find(fits);
    size.map(|bytes| bytes / MEMORY_UNIT_BYTES)
}

/// Pins each vCPU to one CPU. Pins the emulator and the I/O thread to the housekeeping CPUs, or
/// without housekeeping to the CPUs of the instance.
fn pinning(out: &mut String, source: &Source, instance: &Instance, cpus: &CpuSet) {
    let kept = if source.plan.housekeeping.is_empty() {
        CpuSet::default()
    } else {
        housekeeping(source.plan)
    };
    let rest = if kept.is_empty() { cpus } else { &kept };
    line(out, 1, "<cputune>");
    for (vcpu, cpu) in instance.cpus.iter().enumerate() {
        line(out, 2, format!("<vcpupin vcpu='{vcpu}' cpuset='{cpu}'/>"));
    }
    line(out, 2, format!("<emulatorpin cpuset='{rest}'/>"));
    line(
        out,
        2,
        format!("<iothreadpin iothread='1' cpuset='{rest}'/>"),
    );
    line(out, 1, "</cputune>");
}

fn numa_tuning(out: &mut String, instance: &Instance, cells: &[GuestCell]) {
    let mut nodes = cells::memory_nodes(instance);
    nodes.extend(cells.iter().flat_map(|cell| cell.nodes.iter()));
    line(out, 1, "<numatune>");
    line(out, 2, format!("<memory mode='strict' nodeset='{nodes}'/>"));
    for (id, cell) in cells.iter().enumerate() {
        let nodes = &cell.nodes;
        line(
            out,
            2,
            format!("<memnode cellid='{id}' mode='strict' nodeset='{nodes}'/>"),
        );
    }
    line(out, 1, "</numatune>");
}

/// Writes the cells. If the guest has several cells, also writes the host's distances between them.
fn numa_cells(out: &mut String, machine: &Machine, cells: &[GuestCell]) {
    line(out, 2, "<numa>");
    for (id, cell) in cells.iter().enumerate() {
        let vcpus: CpuSet = (cell.first..cell.first + cell.count).collect();
        let end = if cells.len() > 1 { ">" } else { "/>" };
        let kib = cell.units;
        let attributes = format!("id='{id}' cpus='{vcpus}' memory='{kib}' unit='KiB'");
        line(out, 3, format!("<cell {attributes}{end}"));
        if cells.len() > 1 {
            line(out, 4, "<distances>");
            for (to, other) in cells.iter().enumerate() {
                let value = if to == id {
                    10
                } else {
                    distance(machine, cell, other)
                };
                line(out, 5, format!("<sibling id='{to}' value='{value}'/>"));
            }
            line(out, 4, "</distances>");
            line(out, 3, "</cell>");
        }
    }
    line(out, 2, "</numa>");
}

/// Returns the host's distance between the first nodes of two cells, limited to libvirt's range of
/// 10 to 254. The value 10 is reserved for the distance of a cell to itself.
fn distance(machine: &Machine, from: &GuestCell, to: &GuestCell) -> u32 {
    let index = |cell: &GuestCell| {
        let first = cell.nodes.first()?;
        machine.nodes.iter().position(|node| node.os == first)
    };
    match (index(from), index(to)) {
        (Some(from), Some(to)) => machine.distance(from, to).clamp(11, 254),
        _ => crate::machine::DISTANCE_OTHER_PACKAGE,
    }
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: XML_NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| wrong("libvirt XML", format!("no XML: {error}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "domain" {
        return Err(wrong(
            "libvirt XML",
            format!("<{}> is not a <domain>", root.tag_name().name()),
        ));
    }
    let vcpu = descendant(root, &["vcpu"]);
    // A domain without <vcpu> has one vCPU.
    let vcpus: u32 = match vcpu {
        None => 1,
        Some(node) => node.text().unwrap_or_default().trim().parse().unwrap_or(0),
    };
    if vcpus == 0 || vcpus > VCPUS_MAX {
        return Err(wrong("libvirt XML", "<vcpu> contains no number of vCPUs"));
    }
    let ours = descendant(root, &["metadata"])
        .and_then(|node| node.children().find(|node| node.has_tag_name((NAMESPACE, "placement"))));
    let options = |ours: Node| {
        let options = ours.children().filter(|node| node.has_tag_name((NAMESPACE, "jvm")));
        options.filter_map(|node| node.attribute("option")).map(plain).collect()
    };
    let mut placement = Placement {
        cpus: read_pins(root, vcpus)?,
        memory_nodes: read_nodes(root)?,
        guest: read_guest(root, vcpus)?,
        memory_bytes: descendant(root, &["memory"]).map(read_memory).transpose()?,
        rack: ours.and_then(|ours| ours.attribute("rack")).map(plain),
        jvm: ours.map(options),
        ..Placement::default()
    };
    ignore_rest(root, &mut placement);
    Ok(placement)
}

/// Returns the nodes of the domain's memory. `<memory>` names those of the domain, and `<memnode>`
/// those of one cell of the guest.
fn read_nodes(root: Node) -> Result<Option<CpuSet>, ReadError> {
    let mut nodes: Option<CpuSet> = None;
    let settings = descendant(root, &["numatune"]).into_iter().flat_map(|node| node.children());
    let named = settings.filter(|one| one.has_tag_name("memory") || one.has_tag_name("memnode"));
    for list in named.filter_map(|node| node.attribute("nodeset")) {
        nodes.get_or_insert_default().extend(set(list)?.iter());
    }
    Ok(nodes)
}

/// Adds to the ignored settings the elements about CPUs and memory that a placement does not
/// contain.
fn ignore_rest(root: Node, placement: &mut Placement) {
    if let Some(now) = descendant(root, &["vcpu"]).and_then(|node| node.attribute("current")) {
        placement.ignore(format!("<vcpu current='{now}'>"));
    }
    for (section, known) in [
        ("cputune", ["vcpupin", ""]),
        ("numatune", ["memory", "memnode"]),
        ("memtune", ["", ""]),
    ] {
        let settings = descendant(root, &[section]).into_iter().flat_map(|node| node.children());
        for node in settings.filter(Node::is_element) {
            let name = node.tag_name().name();
            if !known.contains(&name) {
                placement.ignore(element(node));
            } else if name != "vcpupin" && node.attribute("nodeset").is_none() {
                placement.ignore(format!("{} without a nodeset", element(node)));
            } else if name == "vcpupin" && placement.cpus.is_none() {
                let why = "because other vCPUs are not pinned";
                placement.ignore(format!("{}, {why}", element(node)));
            }
        }
    }
    let memory = descendant(root, &["memory"]).map(read_memory);
    for name in ["currentMemory", "maxMemory"] {
        let Some(node) = descendant(root, &[name]) else {
            continue;
        };
        // Many tools write `<currentMemory>`, which usually equals `<memory>` and then adds nothing
        // to the placement.
        if memory != Some(read_memory(node)) {
            placement.ignore(element(node));
        }
    }
}

/// Formats an element with its attributes and its text, without its child elements.
fn element(node: Node) -> String {
    let mut text = format!("<{}", node.tag_name().name());
    for attribute in node.attributes() {
        let _ = write!(text, " {}='{}'", attribute.name(), attribute.value());
    }
    text.push('>');
    text + node.text().unwrap_or_default().trim()
}

fn descendant<'a, 'b>(root: Node<'a, 'b>, path: &[&str]) -> Option<Node<'a, 'b>> {
    path.iter().try_fold(root, |node, name| {
        node.children().find(|child| child.has_tag_name(*name))
    })
}

/// Parses a list of numbers and ranges from left to right. `^` removes numbers, as in `1-4,^3,6`.
fn set(text: &str) -> Result<CpuSet, ReadError> {
    let mut set = CpuSet::default();
    for part in text.split(',') {
        let part = part.trim();
        let (part, is_out) = part.strip_prefix('^').map_or((part, false), |part| (part, true));
        let numbers = CpuSet::parse_list(part).map_err(|what| wrong("libvirt XML", what))?;
        if is_out {
            set = set.difference(&numbers);
        } else {
            set.extend(numbers.iter());
        }
    }
    Ok(set)
}

/// If each vCPU is pinned to one CPU, returns these CPUs in the order of the vCPUs. Otherwise
/// returns all CPUs on which the vCPUs may run, or `None` if the file does not restrict them.
fn read_pins(root: Node, vcpus: u32) -> Result<Option<Vec<u32>>, ReadError> {
    let all = descendant(root, &["vcpu"])
        .and_then(|node| node.attribute("cpuset"))
        .map(set)
        .transpose()?;
    let pins = descendant(root, &["cputune"]).into_iter().flat_map(|node| node.children());
    let mut cpus = vec![all; vcpus as usize];
    for pin in pins.filter(|node| node.has_tag_name("vcpupin")) {
        let vcpu = pin.attribute("vcpu").and_then(|text| text.parse::<usize>().ok());
        let slot = vcpu.and_then(|vcpu| cpus.get_mut(vcpu)).ok_or_else(|| {
            wrong(
                "libvirt XML",
                "a <vcpupin> names a vCPU that the domain does not have",
            )
        })?;
        *slot = Some(set(pin.attribute("cpuset").unwrap_or_default())?);
    }
    let Some(cpus) = cpus.into_iter().collect::<Option<Vec<CpuSet>>>() else {
        return Ok(None);
    };
    let single = cpus.iter().map(|cpus| cpus.first().filter(|_| cpus.len() == 1));
    Ok(Some(match single.collect::<Option<Vec<u32>>>() {
        Some(ordered) => ordered,
        None => {
            let union: CpuSet = cpus.iter().flat_map(CpuSet::iter).collect();
            union.iter().collect()
        }
    }))
}

fn read_guest(root: Node, vcpus: u32) -> Result<Option<Guest>, ReadError> {
    let Some(topology) = descendant(root, &["cpu", "topology"]) else {
        return Ok(None);
    };
    let count = |name: &str| match topology.attribute(name) {
        None => Ok(1),
        Some(text) => text
            .parse::<u32>()
            .map_err(|_| wrong("libvirt XML", format!("{name}={text:?} is not a number"))),
    };
    let cells = descendant(root, &["cpu", "numa"])
        .into_iter()
        .flat_map(|node| node.children())
        .filter(|node| node.has_tag_name("cell"));
    let vcpus_of = |cell: Node| set(cell.attribute("cpus").unwrap_or_default());
    let sizes: Vec<u32> = cells
        .map(|cell| Ok(vcpus_of(cell)?.len() as u32))
        .collect::<Result<_, ReadError>>()?;
    Ok(Some(Guest {
        sockets: count("sockets")?,
        dies: count("dies")?,
        cores: count("clusters")?.saturating_mul(count("cores")?),
        threads: count("threads")?,
        vnuma: if sizes.is_empty() { vec![vcpus] } else { sizes },
    }))
}

/// Reads the amount in `<memory unit='…'>`, and converts it to bytes. The default unit is KiB.
fn read_memory(node: Node) -> Result<u64, ReadError> {
    let number: Option<u64> = node.text().and_then(|text| text.trim().parse().ok());
    let unit = unit_bytes(node.attribute("unit").unwrap_or("KiB"));
    let bytes = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| {
        let what = format!("{} contains no memory size", element(node));
        wrong("libvirt XML", what)
    })
}

/// Returns the size of a unit in bytes. libvirt ignores the case of units: `k` and `KiB` mean 1024
/// bytes, and `KB` means 1000 (`virScaleInteger`). Returns `None` for an unknown unit.
fn unit_bytes(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if ["", "b", "byte", "bytes"].contains(&unit.as_str()) {
        return Some(1);
    }
    let power = "kmgtpe".find(unit.chars().next()?)? as u32 + 1;
    match &unit[1..] {
        "" | "ib" => 1024u64.checked_pow(power),
        "b" => 1000u64.checked_pow(power),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(inside: &str) -> Placement {
        read(&format!("<domain>{inside}</domain>")).unwrap()
    }

    #[test]
    fn units_have_any_case() {
        for (unit, bytes) in [
            ("gib", 2 << 30),
            ("G", 2 << 30),
            ("gB", 2_000_000_000),
            ("Bytes", 2),
            ("k", 2048),
        ] {
            let placed = domain(&format!("<memory unit='{unit}'>2</memory>"));
            assert_eq!(placed.memory_bytes, Some(bytes), "{unit}");
        }
        let error = read("<domain><memory unit='g iB'>2</memory></domain>").unwrap_err();
        assert!(
            error.to_string().contains("<memory unit='g iB'>2"),
            "{error}"
        );
    }

    #[test]
    fn no_pin_and_no_node_is_dropped_silently() {
        let placed = domain(
            "<memory>8</memory><currentMemory>4</currentMemory><vcpu current='2'>4</vcpu>\
             <numatune><memory mode='strict' placement='auto'/>\
             <memnode cellid='0' mode='strict' nodeset='1'/></numatune>\
             <cputune><vcpupin vcpu='0' cpuset='8'/><quota>1000</quota></cputune>",
        );
        assert_eq!(placed.memory_nodes, CpuSet::parse_list("1").ok());
        assert_eq!((placed.cpus, placed.memory_bytes), (None, Some(8192)));
        assert_eq!(
            placed.ignored,
            [
                "<vcpu current='2'>",
                "<vcpupin vcpu='0' cpuset='8'>, because other vCPUs are not pinned",
                "<quota>1000",
                "<memory mode='strict' placement='auto'> without a nodeset",
                "<currentMemory>4",
            ]
        );
    }
}
