//! Drop-ins of systemd. The cpuset of the control group is what binds; affinity and memory policy
//! are set as well, for a kernel or container without cpusets. `AllowedMemoryNodes` is what makes
//! the start script's `--interleave=all` harmless, since "all" is all of the current cpuset.
//!
//! Instances are in a slice of their own: as children of system.slice they would be confined to
//! what that slice is left with.

use super::placement::not_given;
use super::text::{self, read_systemd, wrong};
use super::{ExportError, Placement, Source, cells, header, numactl};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::plan::Instance;

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let (cpus, nodes) = (cells::cpus(instance), cells::memory_nodes(instance));
    if cpus.is_empty() || nodes.is_empty() {
        return Err(ExportError::new(
            format!("instance {} has no CPUs or no memory node", instance.index),
            "plan on a machine whose description names both",
        ));
    }
    let policy = if numactl::is_interleaved(instance) {
        "interleave"
    } else {
        "bind"
    };
    let options = text::options(instance).join(" ");
    let environment = |name: &str, value: &str| {
        format!(
            "Environment={}\n",
            text::systemd(&format!("{name}={value}"))
        )
    };
    let mut out = format!("# {}\n[Service]\n", header(source, Some(instance)));
    out += "# not below system.slice, which is confined to what instances do not use\n";
    out += "Slice=cassandra.slice\n";
    out += "# the cpuset of the control group binds CPUs and memory\n";
    out += &format!("AllowedCPUs={cpus}\nAllowedMemoryNodes={nodes}\n");
    out += "# the same as affinity and memory policy\n";
    out += &format!("CPUAffinity={cpus}\nNUMAPolicy={policy}\nNUMAMask={nodes}\n");
    out += "# in place of --interleave=all, for start scripts that heed it\n";
    out += &environment("NUMACTL_ARGS", &numactl::arguments(instance).join(" "));
    out += "# appended last by cassandra-env.sh\n";
    out += &environment("JVM_EXTRA_OPTS", &options);
    out += "LimitMEMLOCK=infinity\nLimitNOFILE=1048576\nLimitNPROC=32768\nLimitAS=infinity\n";
    out += "\n# systemd passes over sections that begin with X-\n[X-Cassay]\n";
    out += &format!("Rack={}\n", text::systemd(&source.plan.rack));
    Ok(out)
}

pub fn write_slice(source: &Source) -> Result<String, ExportError> {
    let cpus = not_given(source.plan);
    let section = "# drop-in of system.slice and user.slice; for init.scope the section is [Scope]";
    let mut out = format!("# {}\n{section}\n[Slice]\n", header(source, None));
    if cpus.is_empty() {
        out += "# every CPU is given to an instance: nothing to be confined to\nAllowedCPUs=\n"
    } else {
        out += &format!("AllowedCPUs={cpus}\n")
    }
    Ok(out)
}

/// The settings of a unit as they stand: key and value of each line.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '[']));
    lines.filter_map(|line| line.split_once('='))
}

fn set(text: &str) -> Result<CpuSet, ReadError> {
    CpuSet::parse_list(text).map_err(|what| wrong("systemd unit", what))
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let mut placement = Placement::default();
    for (key, value) in settings(text) {
        match key {
            // The group's limits hold whatever the process is told besides.
            "AllowedCPUs" => placement.cpus = Some(set(value)?.iter().collect()),
            "CPUAffinity" if value != "numa" => {
                let cpus = || set(value).map(|set| set.iter().collect());
                placement.cpus = Some(placement.cpus.take().map_or_else(cpus, Ok)?);
            }
            "AllowedMemoryNodes" => placement.memory_nodes = Some(set(value)?),
            "NUMAMask" if value != "all" => {
                let nodes = placement.memory_nodes.take();
                placement.memory_nodes = Some(nodes.map_or_else(|| set(value), Ok)?);
            }
            "Rack" => placement.rack = read_systemd(value),
            "Environment" => {
                let value = read_systemd(value).unwrap_or_default();
                if let Some(options) = value.strip_prefix("JVM_EXTRA_OPTS=") {
                    placement.jvm = Some(words(options));
                }
            }
            _ => {}
        }
    }
    if text.lines().any(|line| line.trim() == "[Service]") {
        Ok(placement)
    } else {
        Err(wrong("systemd unit", "it has no [Service]"))
    }
}

pub fn read_slice(text: &str) -> Result<Placement, ReadError> {
    let cpus = settings(text).find(|(key, _)| *key == "AllowedCPUs");
    let (_, cpus) = cpus.ok_or_else(|| wrong("systemd unit", "it sets no AllowedCPUs"))?;
    Ok(Placement {
        reserved: Some(set(cpus)?),
        ..Placement::default()
    })
}

/// Options as cassandra-env.sh takes them apart: at spaces.
pub fn words(text: &str) -> Vec<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
