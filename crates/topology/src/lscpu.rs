//! Reads the output of lscpu. This is either a table with one row per CPU (`lscpu -J -e`,
//! `lscpu -e` or `lscpu -p`), or the summary of `lscpu -J`. The summary does not state the CPUs of
//! cores and caches. So the reader infers them by assuming the most common numbering.

mod columns;
mod summary;

pub(crate) use columns::looks_like_it as is_table;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::core_kinds;
use crate::cpu_sets::{Raw, RawCache, RawNode};
use crate::cpuset::{CPU_NUMBERS_MAX, CpuSet};
use crate::error::ReadError;
use crate::machine::Machine;

/// Note about the properties of a machine that no output of lscpu contains.
const UNREPORTED: &str = "lscpu does not report memory, devices, or distances between NUMA nodes";

const HINT: &str = "write the file with `LC_ALL=C lscpu -J -e=CPU,NODE,SOCKET,CORE,CACHE,ONLINE`";

pub(crate) fn read(text: &str, place: &str) -> Result<Machine, ReadError> {
    let value: Value = serde_json::from_str(&with_dashes_as_null(text)).map_err(|error| {
        ReadError::new(
            place,
            format!("the file is not well-formed JSON: {error}"),
            HINT,
        )
    })?;
    let bad = |what: String| ReadError::new(place, what, HINT);
    if let Some(rows) = value.get("cpus").and_then(Value::as_array) {
        return table(rows, place).map_err(bad)?.build();
    }
    if let Some(fields) = value.get("lscpu").and_then(Value::as_array) {
        return summary::raw(fields, place).map_err(bad)?.build();
    }
    Err(bad(
        "the JSON contains neither `cpus` nor `lscpu`, which lscpu writes".to_owned(),
    ))
}

pub(crate) fn read_table(text: &str, place: &str) -> Result<Machine, ReadError> {
    let bad = |what: String| ReadError::new(place, what, HINT);
    let rows = columns::rows(text).map_err(bad)?;
    table(&rows, place).map_err(bad)?.build()
}

/// Replaces each bare dash by `null`. Before util-linux 2.41, lscpu writes `"node": -` for a
/// numeric column without a value, for example for an offline CPU or on a kernel without NUMA. In
/// valid JSON, a `-` outside of a string is always followed by a digit.
fn with_dashes_as_null(text: &str) -> Cow<'_, str> {
    let mut replaced = String::new();
    let mut copied = 0;
    let (mut in_string, mut is_escaped) = (false, false);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'-' if !in_string && !bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                replaced += &text[copied..at];
                replaced += "null";
                copied = at + 1;
            }
            _ => {}
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    replaced += &text[copied..];
    Cow::Owned(replaced)
}

/// Groups of CPUs that have the same value in a column of the table. `mhz` contains the frequency
/// of each CPU.
#[derive(Default)]
struct Columns {
    packages: BTreeMap<String, CpuSet>,
    nodes: BTreeMap<u32, CpuSet>,
    cores: BTreeMap<(String, String), CpuSet>,
    l3: BTreeMap<String, CpuSet>,
    l2: BTreeMap<String, CpuSet>,
    mhz: BTreeMap<u32, u64>,
}

fn table(rows: &[Value], place: &str) -> Result<Raw, String> {
    let mut raw = Raw {
        source: format!("{place} (table of lscpu)"),
        ..Raw::default()
    };
    let mut columns = Columns::default();
    for (index, row) in rows.iter().enumerate() {
        let row = row
            .as_object()
            .ok_or_else(|| format!("row {index} of `cpus` is not an object"))?;
        let cpu = field(row, "cpu").and_then(|text| text.parse::<u32>().ok());
        let cpu = cpu.filter(|&cpu| cpu < CPU_NUMBERS_MAX).ok_or_else(|| {
            format!("row {index} of `cpus` has no cpu with a number below {CPU_NUMBERS_MAX}")
        })?;
        match field(row, "online").as_deref() {
            Some("no" | "false" | "0" | "n") => _ = raw.offline.insert(cpu),
            None | Some("yes" | "true" | "1" | "y") => {
                raw.online.insert(cpu);
                columns.add(row, cpu);
            }
            // Old versions of lscpu translate `yes` and `no` into the user's language.
            Some(other) => {
                return Err(format!(
                    "row {index} of `cpus` has online {other:?}, which is neither yes nor no: the \
                     table is in another language"
                ));
            }
        }
    }
    for (is_absent, what) in [
        (columns.packages.is_empty(), "socket"),
        (columns.nodes.is_empty(), "node"),
        (columns.cores.is_empty(), "core"),
        (columns.l3.is_empty(), "cache (L3)"),
    ] {
        if is_absent {
            raw.notes.push(format!("the table of lscpu has no column {what}"));
        }
    }
    raw.notes.push(UNREPORTED.to_owned());
    let number = |id: &String| id.rsplit(' ').next().and_then(|last| last.parse().ok());
    raw.kinds = core_kinds::by_speed(columns.mhz, &raw.online);
    raw.packages = columns.packages.iter().map(|(id, set)| (number(id), set.clone())).collect();
    raw.cores = columns.cores.into_values().collect();
    let cache = |cpus| RawCache {
        cpus,
        size_bytes: None,
    };
    raw.l3 = columns.l3.into_values().map(cache).collect();
    raw.l2 = columns.l2.into_values().map(cache).collect();
    let node = |(os, cpus)| RawNode {
        os,
        cpus,
        ..RawNode::default()
    };
    raw.nodes = columns.nodes.into_iter().map(node).collect();
    Ok(raw)
}

impl Columns {
    fn add(&mut self, row: &Map<String, Value>, cpu: u32) {
        let above = ["drawer", "book", "socket"].iter().filter_map(|name| field(row, name));
        let package = above.collect::<Vec<_>>().join(" ");
        if let Some(core) = field(row, "core") {
            self.cores.entry((package.clone(), core)).or_default().insert(cpu);
        }
        if field(row, "socket").is_some() {
            self.packages.entry(package).or_default().insert(cpu);
        }
        let mhz = field(row, "maxmhz").and_then(|text| text.parse::<f64>().ok());
        self.mhz.extend(mhz.map(|mhz| (cpu, mhz as u64)));
        let node = field(row, "node").and_then(|text| text.parse::<u32>().ok());
        if let Some(node) = node.filter(|&node| node < CPU_NUMBERS_MAX) {
            self.nodes.entry(node).or_default().insert(cpu);
        }
        for (key, value) in row {
            let (names, value) = (key.to_lowercase(), plain(value).unwrap_or_default());
            let names = match names.as_str() {
                "cache" => "l1d:l1i:l2:l3",
                names => names,
            };
            // A value has one number for each cache. A missing cache has no number, or a dash.
            let pairs = names.split(':').zip(value.split(':'));
            for (name, id) in pairs.filter(|(_, id)| !id.is_empty() && *id != "-") {
                match name {
                    "l3" => _ = self.l3.entry(id.to_owned()).or_default().insert(cpu),
                    "l2" => _ = self.l2.entry(id.to_owned()).or_default().insert(cpu),
                    _ => {}
                }
            }
        }
    }
}

/// Returns a column of a row as text. Returns `None` if the column is absent, null or a dash.
fn field(row: &Map<String, Value>, name: &str) -> Option<String> {
    let found = row.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    plain(found?.1).filter(|text| !text.is_empty() && text != "-")
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
