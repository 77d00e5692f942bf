//! A shell script that starts an instance under numactl, and lines for cassandra-env.sh. Every
//! value is one quoted word; nothing of the plan is expanded by the shell.

use super::text::{self, wrong};
use super::{ExportError, Placement, Source, cells, header, systemd};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::plan::Instance;

/// Where the script keeps the rack, for whoever writes cassandra-rackdc.properties.
const RACK: &str = "CASSAY_RACK";

/// Whether the plan spreads the memory rather than binds it.
pub fn is_interleaved(instance: &Instance) -> bool {
    let arguments = &instance.jvm.numactl;
    arguments.iter().any(|argument| argument.starts_with("--interleave"))
}

/// The arguments of numactl: never empty, since the start script takes nothing for
/// `--interleave=all`.
pub fn arguments(instance: &Instance) -> Vec<String> {
    let nodes = cells::memory_nodes(instance);
    let policy = if is_interleaved(instance) {
        "interleave"
    } else {
        "membind"
    };
    vec![
        format!("--physcpubind={}", cells::cpus(instance)),
        format!("--{policy}={nodes}"),
    ]
}

/// A word as the shell takes it literally. `plain` text has no NUL, which is all that fails.
fn quoted(text: &str) -> String {
    let text = text::plain(text);
    let quoted = shlex::try_quote(&text).map(|quoted| quoted.into_owned());
    quoted.unwrap_or_else(|_| "''".to_owned())
}

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let cpus = cells::cpus(instance);
    if cpus.is_empty() || cells::memory_nodes(instance).is_empty() {
        return Err(ExportError::new(
            format!("instance {} has no CPUs or no memory node", instance.index),
            "plan on a machine whose description names both",
        ));
    }
    let arguments = arguments(instance).join(" ");
    let options = text::options(instance).join(" ");
    let mut out = format!("#!/bin/sh\n# {}\n", header(source, Some(instance)));
    out += "# in place of --interleave=all, for start scripts that heed it\n";
    out += &format!("export NUMACTL_ARGS={}\n", quoted(&arguments));
    out += "# appended last by cassandra-env.sh\n";
    out += &format!("export JVM_EXTRA_OPTS={}\n", quoted(&options));
    out += "# for cassandra-rackdc.properties\n";
    out += &format!("export {RACK}={}\n", quoted(&source.plan.rack));
    out += "command -v numactl >/dev/null 2>&1 ||\n";
    out += &format!("  exec taskset -c {cpus} \"${{CASSANDRA:-cassandra}}\" -f \"$@\"\n");
    out += &format!("exec numactl {arguments} -- \"${{CASSANDRA:-cassandra}}\" -f \"$@\"\n");
    Ok(out)
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let mut placement = Placement::default();
    for line in text.lines() {
        let words = shlex::split(line).unwrap_or_default();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["export", setting] => match setting.split_once('=') {
                Some((RACK, rack)) => placement.rack = Some(rack.to_owned()),
                Some(("JVM_EXTRA_OPTS", options)) => {
                    placement.jvm = Some(systemd::words(options));
                }
                _ => {}
            },
            ["exec", "numactl", ref arguments @ ..] | ["numactl", ref arguments @ ..] => {
                read_arguments(arguments, &mut placement)?;
            }
            _ => {}
        }
    }
    if placement.cpus.is_some() || placement.memory_nodes.is_some() {
        Ok(placement)
    } else {
        Err(wrong(
            "script",
            "no line executes numactl with CPUs or memory nodes",
        ))
    }
}

fn read_arguments(arguments: &[&str], placement: &mut Placement) -> Result<(), ReadError> {
    for argument in arguments.iter().take_while(|argument| **argument != "--") {
        let set = |list: &str| CpuSet::parse_list(list).map_err(|what| wrong("script", what));
        match argument.split_once('=') {
            Some(("--physcpubind" | "-C", list)) => {
                placement.cpus = Some(set(list)?.iter().collect())
            }
            Some(("--membind" | "--interleave", list)) => placement.memory_nodes = Some(set(list)?),
            _ => {}
        }
    }
    Ok(())
}

pub fn write_env(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let mut out = format!("# {}\n", header(source, Some(instance)));
    for option in text::options(instance) {
        out += &format!("JVM_OPTS=\"$JVM_OPTS \"{}\n", quoted(&option));
    }
    Ok(out)
}

pub fn read_env(text: &str) -> Result<Placement, ReadError> {
    let mut options = Vec::new();
    for line in text.lines() {
        let word = shlex::split(line).and_then(|mut words| match words.len() {
            1 => words.pop(),
            _ => None,
        });
        let option = word.as_deref().and_then(|word| word.strip_prefix("JVM_OPTS=$JVM_OPTS "));
        options.extend(option.map(str::to_owned));
    }
    if options.is_empty() {
        let what = "no line of it appends an option to JVM_OPTS";
        return Err(wrong("cassandra-env.sh", what));
    }
    Ok(Placement {
        jvm: Some(options),
        ..Placement::default()
    })
}
