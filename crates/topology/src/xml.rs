//! Reads hwloc's XML in versions 2 and 3, and most of version 1. The reader uses only the CPU set
//! of each object, and ignores how objects are nested. So groups at unusual depths and the position
//! of NUMA nodes have no effect. Since version 2, NUMA nodes are next to the tree of CPUs.

mod distances;

use roxmltree::{Document, Node, ParsingOptions};

use crate::core_kinds;
use crate::cpu_sets::{DEVICES_MAX, NODES_MAX, Raw, RawCache, RawNode};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::machine::{Device, DeviceKind, HugePages, Machine};

/// Maximum number of elements and texts. A machine of 8192 CPUs has fewer than a million.
const XML_NODES_MAX: u32 = 4_000_000;

/// Maximum length of a document in bytes. The document of a machine of 8192 CPUs is much shorter.
const XML_BYTES_MAX: usize = 16 << 20;
/// Maximum number of attributes of one element. hwloc writes about 20.
const ATTRIBUTES_MAX: usize = 256;

/// Refuses documents that would require too much memory or time in a parser. Entities would expand
/// without limit, and a parser compares all attributes and namespaces of an element with each
/// other.
fn bounded(text: &str, place: &str) -> Result<(), ReadError> {
    let refuse = |what: String| {
        let hint = "write the file again with `lstopo --of xml FILE`";
        Err(ReadError::new(place, what, hint))
    };
    if text.len() > XML_BYTES_MAX {
        return refuse(format!(
            "the XML has {} bytes; the maximum is {XML_BYTES_MAX}",
            text.len()
        ));
    }
    for word in ["<!ENTITY", "xmlns"] {
        if text.contains(word) {
            return refuse(format!("the XML has `{word}`, which hwloc does not write"));
        }
    }
    // The text between two `<` contains at least one whole element, because a value may contain
    // `>`. So its number of `=` is an upper bound of the number of attributes.
    let attributes = text.split('<').map(|tag| tag.matches('=').count());
    match attributes.max().unwrap_or(0) {
        count if count > ATTRIBUTES_MAX => refuse(format!(
            "an element of the XML has {count} attributes; the maximum is {ATTRIBUTES_MAX}"
        )),
        _ => Ok(()),
    }
}

/// Reads a machine from XML. `place` is the file's name, for errors.
pub(crate) fn read(text: &str, place: &str) -> Result<Machine, ReadError> {
    bounded(text, place)?;
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: XML_NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let hint = "write the file again with `lstopo --of xml FILE`";
        ReadError::new(
            place,
            format!("the file is not well-formed XML: {error}"),
            hint,
        )
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        return Err(ReadError::new(
            place,
            format!(
                "the document is a <{}>, not a <topology>",
                root.tag_name().name()
            ),
            "cassay reads only hwloc's XML; write the file with `lstopo --of xml FILE`",
        ));
    }
    let version = root.attribute("version").unwrap_or("1");
    let reader = Reader {
        document: &document,
        place,
    };
    let mut raw = Raw {
        source: format!("{place} (hwloc XML {version})"),
        ..Raw::default()
    };
    for element in root.descendants().filter(Node::is_element) {
        reader.read_element(element, &mut raw)?;
    }
    reader.finish(raw, root)
}

struct Reader<'a> {
    document: &'a Document<'a>,
    place: &'a str,
}

impl<'a> Reader<'a> {
    fn bad(&self, element: Node<'_, '_>, what: impl Into<String>) -> ReadError {
        let at = self.document.text_pos_at(element.range().start);
        ReadError::new(
            format!("{}:{}", self.place, at.row),
            what,
            "the file is damaged; write it again with `lstopo --of xml FILE`",
        )
    }

    fn set(&self, element: Node<'_, '_>, name: &str) -> Result<Option<CpuSet>, ReadError> {
        let Some(text) = element.attribute(name) else {
            return Ok(None);
        };
        let set = CpuSet::parse_map(text);
        set.map(Some).map_err(|what| self.bad(element, format!("{name}: {what}")))
    }

    fn read_element(&self, element: Node<'_, '_>, raw: &mut Raw) -> Result<(), ReadError> {
        match element.tag_name().name() {
            "object" => self.read_object(element, raw),
            _ => Ok(()),
        }
    }

    fn read_object(&self, element: Node<'_, '_>, raw: &mut Raw) -> Result<(), ReadError> {
        let cpus = || Ok(self.set(element, "cpuset")?.unwrap_or_default());
        let os = element.attribute("os_index").and_then(|text| text.parse::<u32>().ok());
        match element.attribute("type").unwrap_or_default() {
            "PU" => {
                let set: CpuSet = cpus()?;
                let os = os
                    .or(set.first())
                    .filter(|&os| os < crate::CPU_NUMBERS_MAX)
                    .ok_or_else(|| self.bad(element, "a PU has no number below 8192"))?;
                raw.online.insert(os);
            }
            "Package" | "Socket" => raw.packages.push((os, cpus()?)),
            "Die" => raw.dies.push(cpus()?),
            "Core" => raw.cores.push(cpus()?),
            "NUMANode" => {
                if raw.nodes.len() >= NODES_MAX {
                    return Err(self.bad(
                        element,
                        format!("the file has more than {NODES_MAX} NUMA nodes"),
                    ));
                }
                let os = os.or(self.set(element, "nodeset")?.and_then(|set| set.first()));
                let os = os
                    .filter(|&os| os < crate::CPU_NUMBERS_MAX)
                    .ok_or_else(|| self.bad(element, "a NUMA node has no number"))?;
                raw.nodes.push(self.node(element, os, cpus()?));
            }
            kind @ ("L3Cache" | "L2Cache" | "Cache") => {
                let depth = element.attribute("depth").unwrap_or_default();
                let list = match (kind, depth) {
                    ("L3Cache", _) | ("Cache", "3") => &mut raw.l3,
                    ("L2Cache", _) | ("Cache", "2") => &mut raw.l2,
                    _ => return Ok(()),
                };
                let size_bytes = number(element, "cache_size").filter(|&size| size > 0);
                list.push(RawCache {
                    cpus: cpus()?,
                    size_bytes,
                });
            }
            "OSDev" if raw.devices.len() < DEVICES_MAX => {
                raw.devices.extend(self.device(element)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn node(&self, element: Node<'_, '_>, os: u32, cpus: CpuSet) -> RawNode {
        let pages = element
            .children()
            .filter(|child| child.has_tag_name("page_type"))
            .take(64)
            .filter_map(|page| {
                let (page_bytes, count) = (number(page, "size")?, number(page, "count")?);
                (count > 0).then_some(HugePages {
                    page_bytes,
                    count,
                    free: None,
                })
            });
        let is_cache = |above: &Node<'_, '_>| above.attribute("type") == Some("MemCache");
        let caches = element.ancestors().skip(1).take(16).take_while(is_cache);
        let mut sizes: Vec<u64> = caches.filter_map(|cache| number(cache, "cache_size")).collect();
        sizes.reverse();
        RawNode {
            os,
            cpus,
            memory_bytes: number(element, "local_memory").or(Some(0)),
            hugepages: pages.collect(),
            side_caches_bytes: sizes,
            kind: element.attribute("subtype").map(str::to_owned),
        }
    }

    /// Reads a network card or drive. The device belongs to the node of the nearest enclosing
    /// object that has exactly one node.
    fn device(&self, element: Node<'_, '_>) -> Result<Option<Device>, ReadError> {
        let name = element.attribute("name").unwrap_or_default();
        let is_pseudo = ["cuda", "opencl", "nvml", "dax", "pmem"].iter();
        if is_pseudo.into_iter().any(|prefix| name.starts_with(prefix)) {
            return Ok(None);
        }
        // Up to version 2, types are numbers, and a block device is 0. Since version 3, types are
        // bits, and a block device is 1.
        let kind = element.attribute("osdev_type").or(element.attribute("osdev_types"));
        let since_3 = self.document.root_element().attribute("version").is_some_and(|version| {
            version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0) >= 3
        });
        let bits = kind.and_then(|text| text.parse::<u32>().ok());
        let (is_block, is_network) = match (since_3, bits) {
            (_, None) => (false, false),
            (true, Some(bits)) => (bits & 1 == 1, bits & 0x10 != 0),
            (false, Some(number)) => (number == 0, number == 2),
        };
        let kind = match (is_block, is_network) {
            (true, _) if name.starts_with("nvme") => DeviceKind::Nvme,
            (true, _) => DeviceKind::Block,
            (_, true) => DeviceKind::Network,
            _ => return Ok(None),
        };
        let around = element.ancestors().take(64).find(|above| above.has_attribute("nodeset"));
        let nodes = match around {
            Some(object) => self.set(object, "nodeset")?.unwrap_or_default(),
            None => CpuSet::default(),
        };
        let node_os = nodes.first().filter(|_| nodes.len() == 1);
        Ok(Some(Device {
            kind,
            name: name.to_owned(),
            node_os,
        }))
    }

    /// Reads the kinds of cores, and ranks them by the first measure that every kind states. If no
    /// measure is complete, uses the order of the kinds, which is from the slowest to the fastest.
    /// hwloc creates a kind for each value of a measure, so several of its kinds may be the same
    /// kind of core.
    fn read_kinds(&self, raw: &mut Raw, root: Node<'_, '_>) -> Result<(), ReadError> {
        let stated = root.children().filter(|child| child.has_tag_name("cpukind"));
        let mut kinds = Vec::new();
        for element in stated {
            kinds.push((self.set(element, "cpuset")?.unwrap_or_default(), element));
        }
        let all = kinds.iter().flat_map(|(set, _)| set.iter()).collect();
        for measure in [capacity, core_type, forced, frequency_mhz] {
            let of_kind = |(set, element): &(CpuSet, Node<'_, '_>)| {
                let speed = measure(element);
                set.iter().filter_map(move |cpu| Some((cpu, speed?))).collect::<Vec<_>>()
            };
            raw.kinds = core_kinds::by_speed(kinds.iter().flat_map(of_kind), &all);
            if !raw.kinds.is_empty() {
                return Ok(());
            }
        }
        raw.kinds = (0..).zip(kinds).map(|(rank, (set, _))| (set, rank)).collect();
        Ok(())
    }

    fn finish(&self, mut raw: Raw, root: Node<'_, '_>) -> Result<Machine, ReadError> {
        self.read_kinds(&mut raw, root)?;
        let machine = root.children().find(|child| child.has_tag_name("object"));
        if let Some(machine) = machine {
            let complete = self.set(machine, "complete_cpuset")?.unwrap_or_default();
            if let Some(online) = self.set(machine, "online_cpuset")? {
                raw.online = raw.online.intersection(&online);
            }
            raw.offline = complete.difference(&raw.online);
            raw.allowed = self.set(machine, "allowed_cpuset")?;
            raw.allowed_nodes = self.set(machine, "allowed_nodeset")?;
        }
        if !raw.offline.is_empty() {
            raw.notes.push(format!(
                "the file does not describe CPUs {} of the machine: these CPUs were offline, or \
                 the program that wrote the file had no access to them",
                raw.offline
            ));
        }
        // If several nodes list a CPU, the CPU belongs to the nearest node. This is the node with
        // the fewest CPUs. Among nodes with equally many, a node with ordinary memory comes before
        // nodes with special memory.
        raw.nodes.sort_by_key(|node| {
            let is_special = node.kind.as_deref().is_some_and(|kind| kind != "DRAM");
            (node.cpus.len(), is_special, node.os)
        });
        raw.distances = distances::read(root, &raw.nodes);
        raw.build()
    }
}

fn number(element: Node<'_, '_>, name: &str) -> Option<u64> {
    element.attribute(name)?.parse().ok()
}

/// Returns the capacity that the kernel's scheduler uses, if the XML states it.
fn capacity(kind: &Node<'_, '_>) -> Option<u64> {
    info(kind, "LinuxCapacity")?.parse().ok()
}

/// Returns the efficiency that a user has assigned, if any. hwloc also stores the rank by capacity
/// in this attribute.
fn forced(kind: &Node<'_, '_>) -> Option<u64> {
    kind.attribute("forced_efficiency")?.parse().ok()
}

fn frequency_mhz(kind: &Node<'_, '_>) -> Option<u64> {
    info(kind, "FrequencyMaxMHz")?.parse().ok()
}

/// Returns the rank of the core type on an Intel processor. Returns `None` for other core types.
fn core_type(kind: &Node<'_, '_>) -> Option<u64> {
    match info(kind, "CoreType")? {
        "IntelLowPower" => Some(1),
        "IntelAtom" => Some(2),
        "IntelCore" => Some(3),
        _ => None,
    }
}

fn info<'a>(kind: &Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut infos = kind.children().filter(|child| child.has_tag_name("info"));
    infos.find(|info| info.attribute("name") == Some(name))?.attribute("value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_grows_in_the_parser_is_refused_before_it() {
        assert!(bounded("<topology a='1'/>", "m").is_ok());
        let attributes = format!("<topology {}/>", "a='1' ".repeat(ATTRIBUTES_MAX + 1));
        for text in [
            "<!DOCTYPE t [<!ENTITY a 'b'>]>",
            "<t xmlns:a='b'/>",
            &attributes,
        ] {
            assert!(bounded(text, "m").is_err(), "{text}");
        }
    }
}
