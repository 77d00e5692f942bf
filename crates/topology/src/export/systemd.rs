//! Writes drop-ins of systemd. The cpuset of the control group enforces the placement. The drop-in
//! also sets affinity and memory policy, for a kernel or container without cpusets.
//! `AllowedMemoryNodes` makes the start script's `--interleave=all` harmless, because "all" then
//! means all nodes of the cpuset.
//!
//! Instances are in a separate slice. In system.slice, systemd would confine them to the CPUs of
//! that slice.

use super::escapes::{self, read_systemd, systemd_words, wrong};
use super::placement::not_given;
use super::{ExportError, Placement, Source, cells, header, numactl};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::plan::Instance;

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let (cpus, nodes) = (cells::cpus(instance), cells::memory_nodes(instance));
    if cpus.is_empty() || nodes.is_empty() {
        return Err(ExportError::new(
            format!("instance {} has no CPUs or no memory node", instance.index),
            "plan on a machine whose description contains CPUs and memory nodes",
        ));
    }
    let policy = if numactl::is_interleaved(instance) {
        "interleave"
    } else {
        "bind"
    };
    let options = escapes::options(instance).join(" ");
    let environment = |name: &str, value: &str| {
        format!(
            "Environment={}\n",
            escapes::systemd(&format!("{name}={value}"))
        )
    };
    let mut out = format!("# {}\n[Service]\n", header(source, Some(instance)));
    out += "# not below system.slice, which is confined to the CPUs that instances do not use\n";
    out += "Slice=cassandra.slice\n";
    out += "# the cpuset of the control group binds CPUs and memory\n";
    out += &format!("AllowedCPUs={cpus}\nAllowedMemoryNodes={nodes}\n");
    out += "# the same as affinity and memory policy\n";
    out += &format!("CPUAffinity={cpus}\nNUMAPolicy={policy}\nNUMAMask={nodes}\n");
    out += "# instead of --interleave=all, for start scripts that use it\n";
    out += &environment("NUMACTL_ARGS", &numactl::arguments(instance).join(" "));
    out += "# appended last by cassandra-env.sh\n";
    out += &environment("JVM_EXTRA_OPTS", &options);
    out += "LimitMEMLOCK=infinity\nLimitNOFILE=1048576\nLimitNPROC=32768\nLimitAS=infinity\n";
    out += "\n# systemd ignores sections that begin with X-\n[X-Cassay]\n";
    out += &format!("Rack={}\n", escapes::systemd(&source.plan.rack));
    Ok(out)
}

pub fn write_slice(source: &Source) -> Result<String, ExportError> {
    let cpus = not_given(source.plan);
    let section = "# drop-in of system.slice and user.slice; for init.scope the section is [Scope]";
    let mut out = format!("# {}\n{section}\n[Slice]\n", header(source, None));
    if cpus.is_empty() {
        out += "# every CPU belongs to an instance, so no confinement is possible\nAllowedCPUs=\n"
    } else {
        out += &format!("AllowedCPUs={cpus}\n")
    }
    Ok(out)
}

/// Returns the key and value of each setting of a unit, in the order of the file. The blanks around
/// `=`, which systemd ignores, are removed. A backslash at the end of a line continues the line.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut begun = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.strip_suffix('\\') {
            begun += head;
            begun.push(' ');
            continue;
        }
        let whole = std::mem::take(&mut begun) + line;
        if let Some((key, value)) = whole.split_once('=').filter(|_| !whole.starts_with('[')) {
            settings.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    settings
}

/// Adds the numbers in one setting to a list. A unit may set a list in several lines. An empty line
/// clears the list.
fn merge(into: &mut Option<CpuSet>, value: &str) -> Result<(), ReadError> {
    let numbers = set(value)?;
    if value.is_empty() {
        *into = None;
    } else {
        into.get_or_insert_default().extend(numbers.iter());
    }
    Ok(())
}

fn set(text: &str) -> Result<CpuSet, ReadError> {
    CpuSet::parse_list(text).map_err(|what| wrong("systemd unit", what))
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let mut placement = Placement::default();
    let (mut allowed, mut affinity) = (None, None);
    let (mut allowed_nodes, mut mask) = (None, None);
    for (key, value) in settings(text) {
        match key.as_str() {
            "AllowedCPUs" => merge(&mut allowed, &value)?,
            "CPUAffinity" if value != "numa" => merge(&mut affinity, &value)?,
            "AllowedMemoryNodes" => merge(&mut allowed_nodes, &value)?,
            "NUMAMask" if value != "all" => merge(&mut mask, &value)?,
            "Rack" => placement.rack = read_systemd(&value),
            "Environment" => {
                let words = systemd_words(&value).ok_or_else(|| {
                    wrong(
                        "systemd unit",
                        format!("{value:?} contains an unterminated quote"),
                    )
                })?;
                let mut options =
                    words.iter().filter_map(|word| word.strip_prefix("JVM_EXTRA_OPTS="));
                if let Some(options) = options.next_back() {
                    placement.jvm = Some(words_of(options));
                }
            }
            _ => {}
        }
    }
    // The CPUs that the control group allows override the affinity.
    placement.cpus = allowed.or(affinity).map(|cpus: CpuSet| cpus.iter().collect());
    placement.memory_nodes = allowed_nodes.or(mask);
    if text.lines().any(|line| line.trim() == "[Service]") {
        Ok(placement)
    } else {
        Err(wrong("systemd unit", "the file has no [Service]"))
    }
}

pub fn read_slice(text: &str) -> Result<Placement, ReadError> {
    let mut allowed = None;
    let settings = settings(text);
    let values = settings.iter().filter(|(key, _)| key == "AllowedCPUs");
    let mut is_set = false;
    for (_, value) in values {
        is_set = true;
        merge(&mut allowed, value)?;
    }
    if !is_set {
        return Err(wrong("systemd unit", "the file sets no AllowedCPUs"));
    }
    Ok(Placement {
        reserved: Some(allowed.unwrap_or_default()),
        ..Placement::default()
    })
}

/// Splits options at spaces, as cassandra-env.sh does.
pub fn words_of(text: &str) -> Vec<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
