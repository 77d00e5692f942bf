//! Reads hwloc's synthetic notation, such as `pack:2 [numa(memory=256GiB)] l3:1(size=42MiB) core:28
//! pu:2(indexes=2*56:1*2)`. Each item is a level, with the number of its objects in each object of
//! the level above. A machine in this notation is symmetric, and has no distances.
//!
//! The grammar and the numbering are those of hwloc, which its documentation describes in
//! "Synthetic topologies". A level of NUMA nodes is a level of groups, each with one node.

mod indexes;

use crate::cpu_sets::{NODES_MAX, Raw, RawCache, RawNode};
use crate::cpuset::{CPU_NUMBERS_MAX, CpuSet};
use crate::error::ReadError;
use crate::machine::Machine;

/// Maximum number of levels. hwloc has the same limit.
const LEVELS_MAX: usize = 128;
/// Memory of a node whose description does not state an amount, in bytes. hwloc has the same
/// default.
const MEMORY_BYTES: u64 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LevelKind {
    Package,
    Node,
    Die,
    /// Unified or data cache of a level.
    Cache(u32),
    Core,
    Pu,
    /// Groups, tiles, clusters and instruction caches, which only add levels to the tree.
    Other,
    /// The description does not state the kinds. Either all levels of a description state their
    /// kind, or none.
    Unstated,
}

#[derive(Clone, Default)]
struct Attributes {
    size_bytes: Option<u64>,
    side_cache_bytes: Option<u64>,
    indexes: Option<String>,
}

struct Level {
    name: String,
    kind: LevelKind,
    /// Number of objects in the whole machine.
    width: usize,
    attributes: Attributes,
    /// Nodes that are attached to each object of the level.
    attached: Vec<Attributes>,
}

/// Returns true if a text that is not a file looks like a synthetic description.
pub(crate) fn looks_like_it(text: &str) -> bool {
    let is_item = |word: &str| {
        let counted = word.split_once(':').map(|(_, rest)| rest);
        counted.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let words = || text.split_whitespace();
    let is_counts = words().count() > 1 && words().all(is_count);
    !text.contains('/') && (is_counts || words().any(is_item))
}

/// Reads a description. Lines that begin with `#` are comments.
pub(crate) fn read(text: &str, place: &str) -> Result<Machine, ReadError> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let text = lines.collect::<Vec<_>>().join(" ");
    let bad = |what: String| {
        ReadError::new(
            place,
            what,
            "a description has the form \"pack:2 [numa(memory=256GiB)] l3:1 core:28 pu:2\"",
        )
    };
    let mut levels = parse(&text).map_err(bad)?;
    infer(&mut levels).map_err(bad)?;
    check(&levels).map_err(bad)?;
    raw(&levels, place).map_err(bad)?.build()
}

fn parse(text: &str) -> Result<Vec<Level>, String> {
    let mut rest = text.trim();
    let mut root = Attributes::default();
    if let Some(inner) = rest.strip_prefix('(') {
        (root, rest) = attributes(inner)?;
    }
    let mut levels = vec![Level {
        name: "machine".to_owned(),
        kind: LevelKind::Other,
        width: 1,
        attributes: root,
        attached: Vec::new(),
    }];
    loop {
        rest = rest.trim_start();
        let Some(last) = levels.last_mut() else {
            return Ok(levels);
        };
        if rest.is_empty() {
            return Ok(levels);
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or("a [ has no matching ]")?;
            last.attached.push(attached(&inner[..end])?);
            if last.attached.len() > NODES_MAX {
                return Err(format!(
                    "the description attaches more than {NODES_MAX} NUMA nodes to one level"
                ));
            }
            rest = &inner[end + 1..];
            continue;
        }
        let (level, after) = level(rest, last.width)?;
        rest = after;
        levels.push(level);
        if levels.len() > LEVELS_MAX {
            return Err(format!("the description has more than {LEVELS_MAX} levels"));
        }
    }
}

fn attached(text: &str) -> Result<Attributes, String> {
    let name_end = text.find(['(', ':', ' ']).unwrap_or(text.len());
    if kind(&text[..name_end])? != LevelKind::Node {
        return Err(format!(
            "[{text}] is not a NUMA node; only NUMA nodes can be attached"
        ));
    }
    match text.find('(') {
        Some(open) => Ok(attributes(&text[open + 1..])?.0),
        None => Ok(Attributes::default()),
    }
}

/// Parses one item of a description. Returns its level, and the text after the item.
fn level(text: &str, above: usize) -> Result<(Level, &str), String> {
    let item: &str = text.split_whitespace().next().unwrap_or(text);
    let (kind, name, counted) = if text.starts_with(|c: char| c.is_ascii_digit()) {
        (LevelKind::Unstated, "", text)
    } else {
        let colon = text
            .find([':', ' ', '(', '['])
            .filter(|&at| text[at..].starts_with(':'))
            .ok_or_else(|| format!("{item:?} has no count; write a count, as in core:8"))?;
        (kind(&text[..colon])?, &text[..colon], &text[colon + 1..])
    };
    let digits = counted.find(|c: char| !c.is_ascii_digit()).unwrap_or(counted.len());
    let count: usize = counted[..digits].parse().map_err(|_| format!("{item:?} has no count"))?;
    let width = above.saturating_mul(count);
    if width == 0 || width > CPU_NUMBERS_MAX as usize {
        return Err(format!(
            "{item:?} results in {width} objects; cassay reads 1 to {CPU_NUMBERS_MAX}"
        ));
    }
    let mut rest = &counted[digits..];
    let mut own = Attributes::default();
    if let Some(inner) = rest.strip_prefix('(') {
        (own, rest) = attributes(inner)?;
    }
    if !rest.is_empty() && !rest.starts_with([' ', '[', '\t']) {
        return Err(format!("{item:?} is followed by {rest:?} without a space"));
    }
    let level = Level {
        name: name.to_lowercase(),
        kind,
        width,
        attributes: own,
        attached: Vec::new(),
    };
    Ok((level, rest))
}

/// Parses the name of a level. hwloc accepts any prefix of at least two letters.
fn kind(name: &str) -> Result<LevelKind, String> {
    let lower = name.to_lowercase();
    let cache = lower.strip_prefix('l').and_then(|rest| {
        let depth = rest.chars().next()?.to_digit(10)?;
        Some((depth, rest[1..].trim_end_matches("cache")))
    });
    match cache {
        Some((depth @ 1..=5, "" | "d" | "u")) => return Ok(LevelKind::Cache(depth)),
        Some((1..=5, "i")) => return Ok(LevelKind::Other),
        _ => {}
    }
    let named = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let known = [
        ("numanode", LevelKind::Node),
        ("node", LevelKind::Node),
        ("package", LevelKind::Package),
        ("socket", LevelKind::Package),
        ("die", LevelKind::Die),
        ("core", LevelKind::Core),
        ("pu", LevelKind::Pu),
        ("group", LevelKind::Other),
        ("tile", LevelKind::Other),
        ("module", LevelKind::Other),
        ("cluster", LevelKind::Other),
    ];
    let found = known.iter().find(|(full, _)| named.len() >= 2 && full.starts_with(named));
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        format!(
            "{name:?} is not a level; the levels are package, numa, die, l3, l2, l1, core, pu, \
             group"
        )
    })
}

/// Parses the text between parentheses. Returns its attributes and the text after the parentheses.
fn attributes(text: &str) -> Result<(Attributes, &str), String> {
    let end = text.find(')').ok_or("a ( has no matching )")?;
    let mut found = Attributes::default();
    for part in text[..end].split_whitespace() {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!(
                "{part:?} is not an attribute; write each attribute without blanks, as in \
                 memory=256GiB"
            )
        })?;
        match key {
            "size" | "memory" => found.size_bytes = Some(bytes(value)?),
            "memorysidecachesize" => found.side_cache_bytes = Some(bytes(value)?),
            "indexes" => found.indexes = Some(value.to_owned()),
            // hwloc ignores unknown attributes, since new versions write new attributes.
            _ => {}
        }
    }
    Ok((found, &text[end + 1..]))
}

/// Parses an amount such as `256GiB` or `32kB`, or a plain number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor = match text[digits..].to_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "kib" => 1 << 10,
        "mb" => 1_000_000,
        "mib" => 1 << 20,
        "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        "tb" => 1_000_000_000_000,
        "tib" => 1u64 << 40,
        _ => return Err(format!("{text:?} is not a size such as 256GiB")),
    };
    let number: u64 = text[..digits].parse().map_err(|_| format!("{text:?} is not a size"))?;
    number
        .checked_mul(factor)
        .ok_or_else(|| format!("{text:?} is more than 16 EiB"))
}

/// Assigns kinds to the levels of a description that consists only of numbers. The order is that of
/// hwloc: groups, package, NUMA node, up to four caches, core.
fn infer(levels: &mut [Level]) -> Result<(), String> {
    let Some(last) = levels.last_mut().filter(|last| last.name != "machine") else {
        return Err("the description has no levels".to_owned());
    };
    if last.kind == LevelKind::Unstated {
        last.kind = LevelKind::Pu;
    }
    let has_attached = levels.iter().any(|level| !level.attached.is_empty());
    let end = levels.len() - 1;
    let unstated = levels[1..end].iter().filter(|level| level.kind == LevelKind::Unstated).count();
    if unstated == 0 {
        return Ok(());
    }
    if unstated != end - 1 {
        return Err(
            "some levels have names, and others do not: name all levels, or none".to_owned(),
        );
    }
    let mut left = unstated;
    let mut need = |count: usize| {
        let taken = left.min(count);
        left -= taken;
        taken
    };
    let node = if has_attached { 0 } else { need(1) };
    let (package, core, caches) = (need(1), need(1), need(4));
    let mut kinds = vec![LevelKind::Other; left];
    kinds.extend(vec![LevelKind::Package; package]);
    kinds.extend(vec![LevelKind::Node; node]);
    kinds.extend(match caches {
        0 => vec![],
        1 => vec![LevelKind::Cache(2)],
        2 => vec![LevelKind::Cache(2), LevelKind::Cache(1)],
        3 => vec![
            LevelKind::Cache(3),
            LevelKind::Cache(2),
            LevelKind::Cache(1),
        ],
        _ => vec![
            LevelKind::Cache(3),
            LevelKind::Cache(2),
            LevelKind::Cache(1),
            LevelKind::Other,
        ],
    });
    kinds.extend(vec![LevelKind::Core; core]);
    for (level, kind) in levels[1..end].iter_mut().zip(kinds) {
        level.kind = kind;
    }
    Ok(())
}

fn check(levels: &[Level]) -> Result<(), String> {
    let count = |kind| levels.iter().filter(|level| level.kind == kind).count();
    if levels.last().is_none_or(|last| last.kind != LevelKind::Pu) {
        return Err("the last level must be pu".to_owned());
    }
    for (kind, name) in [
        (LevelKind::Pu, "pu"),
        (LevelKind::Package, "package"),
        (LevelKind::Die, "die"),
        (LevelKind::Node, "numa"),
        (LevelKind::Core, "core"),
    ] {
        if count(kind) > 1 {
            return Err(format!("{} levels have the name {name}", count(kind)));
        }
    }
    let attached: usize = levels.iter().map(|level| level.attached.len() * level.width).sum();
    if count(LevelKind::Node) > 0 && attached > 0 {
        return Err(
            "NUMA nodes are both a level and attached to a level: use only one form".to_owned(),
        );
    }
    if attached > NODES_MAX {
        return Err(format!(
            "the description has {attached} NUMA nodes; cassay reads at most {NODES_MAX}"
        ));
    }
    Ok(())
}

fn raw(levels: &[Level], place: &str) -> Result<Raw, String> {
    let total = levels.last().map_or(0, |level| level.width);
    let numbers = indexes::level_numbers(levels, levels.len() - 1)?;
    let mut raw = Raw {
        source: format!("{place} (hwloc's synthetic notation)"),
        online: numbers.iter().copied().collect(),
        ..Raw::default()
    };
    if raw.online.len() != total {
        return Err("the indexes of pu contain a number twice".to_owned());
    }
    for (depth, level) in levels.iter().enumerate() {
        let below = total / level.width;
        let sets = || numbers.chunks(below).map(|part| part.iter().copied().collect::<CpuSet>());
        let size_bytes = level.attributes.size_bytes;
        let caches = || sets().map(move |cpus| RawCache { cpus, size_bytes });
        match level.kind {
            LevelKind::Package => {
                let ids = indexes::level_numbers(levels, depth)?;
                raw.packages = ids.into_iter().map(Some).zip(sets()).collect();
            }
            LevelKind::Node => {
                let ids = indexes::level_numbers(levels, depth)?;
                let nodes = ids.into_iter().zip(sets());
                raw.nodes.extend(nodes.map(|(os, cpus)| node(os, cpus, &level.attributes)));
            }
            LevelKind::Die => raw.dies = sets().collect(),
            LevelKind::Core => raw.cores = sets().collect(),
            LevelKind::Cache(3) => raw.l3.extend(caches()),
            LevelKind::Cache(2) => raw.l2.extend(caches()),
            _ => {}
        }
    }
    attach(levels, &numbers, &mut raw)?;
    if raw.nodes.is_empty() {
        raw.nodes.push(node(0, raw.online.clone(), &levels[0].attributes));
    }
    Ok(raw)
}

fn node(os: u32, cpus: CpuSet, attributes: &Attributes) -> RawNode {
    RawNode {
        os,
        cpus,
        memory_bytes: Some(attributes.size_bytes.unwrap_or(MEMORY_BYTES)),
        side_caches_bytes: attributes.side_cache_bytes.into_iter().collect(),
        ..RawNode::default()
    }
}

/// Adds the attached nodes, numbered as in hwloc. Nodes of the children of an object come before
/// those of the object itself.
fn attach(levels: &[Level], numbers: &[u32], raw: &mut Raw) -> Result<(), String> {
    let mut places: Vec<(usize, std::cmp::Reverse<usize>, usize, &Attributes)> = Vec::new();
    let total = numbers.len();
    for (depth, level) in levels.iter().enumerate() {
        let below = total / level.width;
        for (index, attributes) in level.attached.iter().enumerate() {
            let ends = (1..=level.width).map(|object| object * below);
            places.extend(ends.map(|end| (end, std::cmp::Reverse(depth), index, attributes)));
        }
    }
    places.sort_by_key(|&(end, depth, index, _)| (end, depth, index));
    let stated = levels
        .iter()
        .flat_map(|level| &level.attached)
        .filter_map(|attributes| attributes.indexes.as_deref())
        .next_back();
    let ids = indexes::numbers(stated, levels, places.len())?;
    for ((end, depth, _, attributes), os) in places.into_iter().zip(ids) {
        let below = total / levels[depth.0].width;
        let cpus = numbers[end - below..end].iter().copied().collect();
        raw.nodes.push(node(os, cpus, attributes));
    }
    Ok(())
}
