//! Writes a shell script that starts an instance with numactl, and lines for cassandra-env.sh.
//! Every value is one quoted word, so that the shell does not expand it.

use super::escapes::{self, wrong};
use super::{ExportError, Placement, Source, cells, header, systemd};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::plan::Instance;

/// Shell variable with the rack, for the script that writes cassandra-rackdc.properties.
const RACK: &str = "CASSAY_RACK";

/// Options of numactl that take a list of CPUs or nodes, in the long and the short form. The source
/// is the manual of numactl 2.0.18.
const TAKES_LIST: [(&str, &str); 6] = [
    ("--physcpubind", "-C"),
    ("--cpunodebind", "-N"),
    ("--membind", "-m"),
    ("--interleave", "-i"),
    ("--weighted-interleave", "-w"),
    ("--preferred", "-p"),
];

/// Returns true if the plan interleaves the memory instead of binding it.
pub fn is_interleaved(instance: &Instance) -> bool {
    let arguments = &instance.jvm.numactl;
    arguments.iter().any(|argument| argument.starts_with("--interleave"))
}

/// Returns the arguments of numactl. The list is never empty, because the start script would
/// replace an empty value by `--interleave=all`.
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

/// Quotes a word so that the shell uses it literally. Quoting fails only for text with a NUL, which
/// [`escapes::plain`] removes.
fn quoted(text: &str) -> String {
    let text = escapes::plain(text);
    let quoted = shlex::try_quote(&text).map(|quoted| quoted.into_owned());
    quoted.unwrap_or_else(|_| "''".to_owned())
}

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let cpus = cells::cpus(instance);
    if cpus.is_empty() || cells::memory_nodes(instance).is_empty() {
        return Err(ExportError::new(
            format!("instance {} has no CPUs or no memory node", instance.index),
            "plan on a machine whose description contains CPUs and memory nodes",
        ));
    }
    let arguments = arguments(instance).join(" ");
    let options = escapes::options(instance).join(" ");
    let mut out = format!("#!/bin/sh\n# {}\n", header(source, Some(instance)));
    out += "# instead of --interleave=all, for start scripts that use it\n";
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
                    placement.jvm = Some(systemd::words_of(options));
                }
                _ => {}
            },
            ["exec", program, ref arguments @ ..] | [program, ref arguments @ ..]
                if program.rsplit('/').next() == Some("numactl") =>
            {
                read_arguments(arguments, &mut placement)?;
            }
            _ => {}
        }
    }
    let says = placement.cpus.is_some()
        || placement.cpus_of_nodes.is_some()
        || placement.memory_nodes.is_some()
        || placement.interleaves_all;
    if says {
        Ok(placement)
    } else {
        Err(wrong(
            "script",
            "no line executes numactl with CPUs or memory nodes",
        ))
    }
}

/// Reads the options before the command. An option has a long or a short name, and `=` or a blank
/// before its value.
fn read_arguments(arguments: &[&str], placement: &mut Placement) -> Result<(), ReadError> {
    let set = |list: &str| CpuSet::parse_list(list).map_err(|what| wrong("script", what));
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let (name, joined) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (*argument, None),
        };
        // `-N1` means `-N 1`.
        let (name, joined) = match name.char_indices().nth(2) {
            Some((at, _)) if !name.starts_with("--") && name.starts_with('-') => {
                (&name[..at], Some(&name[at..]))
            }
            _ => (name, joined),
        };
        if !name.starts_with('-') || name == "--" {
            break;
        }
        let Some(option) = TAKES_LIST.iter().find(|(long, short)| name == *long || name == *short)
        else {
            continue;
        };
        let list = joined.or_else(|| rest.next().copied()).unwrap_or_default();
        match (option.0, list) {
            ("--physcpubind", "all") | ("--cpunodebind", "all") => {}
            ("--physcpubind", list) => placement.cpus = Some(set(list)?.iter().collect()),
            ("--cpunodebind", list) => placement.cpus_of_nodes = Some(set(list)?),
            ("--membind", "all") => {}
            ("--interleave" | "--weighted-interleave", "all") => placement.interleaves_all = true,
            (_, list) => placement.memory_nodes = Some(set(list)?),
        }
    }
    Ok(())
}

pub fn write_env(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let mut out = format!("# {}\n", header(source, Some(instance)));
    for option in escapes::options(instance) {
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
        let what = "no line of the file appends an option to JVM_OPTS";
        return Err(wrong("cassandra-env.sh", what));
    }
    Ok(Placement {
        jvm: Some(options),
        ..Placement::default()
    })
}
