//! Writes a shell script that starts an instance with numactl, and lines for cassandra-env.sh.
//! Every value is one quoted word, so that the shell does not expand it.

use std::collections::BTreeMap;

use super::escapes::{self, wrong};
use super::shell::Script;
use super::{ExportError, Placement, Source, cells, environment, header};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::plan::Instance;

/// Shell variable with the rack, for the script that writes cassandra-rackdc.properties.
const RACK: &str = "CASSAY_RACK";

/// Shell variable with the arguments of numactl, for start scripts.
const ARGUMENTS: &str = "NUMACTL_ARGS";

/// Programs that start the program in their arguments.
const WRAPPERS: [&str; 14] = [
    "exec",
    "sudo",
    "doas",
    "nohup",
    "nice",
    "ionice",
    "env",
    "setsid",
    "command",
    "chrt",
    "timeout",
    "stdbuf",
    "chroot",
    "systemd-run",
];

/// Programs that start the shell script in the argument after `-c`, or another program.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "su", "runuser"];

/// Maximum depth of scripts in the arguments of scripts. A start script has at most one such level.
const DEPTH_MAX: u32 = 4;

/// Options of numactl that take a list of CPUs or nodes, in the long and the short form. The source
/// is the manual of numactl 2.0.18.
const TAKES_LIST: [(&str, &str); 7] = [
    ("--physcpubind", "-C"),
    ("--cpunodebind", "-N"),
    ("--membind", "-m"),
    ("--interleave", "-i"),
    ("--weighted-interleave", "-w"),
    ("--preferred", "-p"),
    ("--preferred-many", "-P"),
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
    let script = Script::read(text, BTreeMap::new());
    let mut placement = read_commands(&script.commands, &script.variables)?;
    environment::add(&script.variables, &mut placement);
    placement.rack = script.variables.get(RACK).cloned();
    ignore_unread(
        &script,
        &["numactl", "NUMACTL", "taskset", "HEAP"],
        &mut placement,
    );
    let is_empty = placement.cpus.is_none()
        && placement.cpus_of_nodes.is_none()
        && placement.memory_nodes.is_none()
        && !placement.interleaves_all
        && placement.ignored.is_empty();
    if is_empty {
        return Err(wrong(
            "script",
            "no line of the file executes numactl or taskset with CPUs or memory nodes",
        ));
    }
    Ok(placement)
}

/// Adds to the ignored settings the lines that the reader of scripts omitted, if they contain one
/// of these words.
fn ignore_unread(script: &Script, words: &[&str], placement: &mut Placement) {
    for (number, why, line) in &script.unread {
        if words.iter().any(|word| line.contains(word)) {
            placement.ignore(format!("line {number}, which {why}: {line}"));
        }
    }
}

/// Reads the CPUs and memory nodes with which commands start a program under numactl. If no command
/// does so, reads the arguments for start scripts, and otherwise the CPUs of taskset.
pub fn read_commands(
    commands: &[Vec<String>],
    variables: &BTreeMap<String, String>,
) -> Result<Placement, ReadError> {
    let (mut bound, mut pinned) = (Placement::default(), Placement::default());
    for words in commands {
        read_command(words, 0, &mut bound, &mut pinned)?;
    }
    if let Some(arguments) = variables.get(ARGUMENTS) {
        let mut for_scripts = Placement::default();
        read_arguments(&environment::words_of(arguments), &mut for_scripts)?;
        if bound == Placement::default() {
            bound = for_scripts;
        } else if bound != for_scripts {
            bound.ignore(format!("{ARGUMENTS}={arguments}"));
        }
    }
    if bound == Placement::default() {
        return Ok(pinned);
    }
    // A script may use taskset as a fallback for numactl. Both then have the same CPUs.
    if pinned.cpus.is_some() && pinned.cpus != bound.cpus {
        let cpus: CpuSet = pinned.cpus.into_iter().flatten().collect();
        bound.ignore(format!("taskset -c {cpus}"));
    }
    Ok(bound)
}

/// Reads the arguments of numactl into `bound`, and those of taskset into `pinned`.
fn read_command(
    words: &[String],
    depth: u32,
    bound: &mut Placement,
    pinned: &mut Placement,
) -> Result<(), ReadError> {
    let Some((program, arguments)) = words.split_first().filter(|_| depth < DEPTH_MAX) else {
        return Ok(());
    };
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let program = name(program);
    match program.as_str() {
        "numactl" => return read_arguments(arguments, bound),
        "taskset" => {
            read_taskset(arguments, pinned);
            return Ok(());
        }
        _ => {}
    }
    let is_shell = |word: &String| SHELLS.contains(&name(word).as_str());
    if is_shell(&program)
        && let Some(at) = arguments.iter().position(|word| word == "-c")
    {
        let text = arguments.get(at + 1).map(String::as_str).unwrap_or_default();
        let script = Script::read(text, BTreeMap::new());
        for words in &script.commands {
            read_command(words, depth + 1, bound, pinned)?;
        }
        return Ok(());
    }
    if !WRAPPERS.contains(&program.as_str()) && !is_shell(&program) {
        return Ok(());
    }
    let is_next =
        |word: &String| is_shell(word) || ["numactl", "taskset"].contains(&name(word).as_str());
    match arguments.iter().position(is_next) {
        Some(at) => read_command(&arguments[at..], depth + 1, bound, pinned),
        None => Ok(()),
    }
}

/// Reads the options before the command. An option has a long or a short name, and `=` or a blank
/// before its value.
fn read_arguments(arguments: &[String], placement: &mut Placement) -> Result<(), ReadError> {
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let (name, joined) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (argument, None),
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
        if ["-l", "--localalloc"].contains(&name) {
            placement.ignore("--localalloc");
        }
        let Some((option, _)) =
            TAKES_LIST.iter().find(|(long, short)| name == *long || name == *short)
        else {
            continue;
        };
        let list = joined.or_else(|| rest.next()).unwrap_or_default();
        match (*option, list) {
            ("--interleave" | "--weighted-interleave", "all") => placement.interleaves_all = true,
            (_, "all") => {}
            (_, list) if depends_on_machine(list) => {
                let why = "which depends on the machine or on the process that starts it";
                placement.ignore(format!("{option}={list}, {why}"));
            }
            (option, list) => {
                let set = CpuSet::parse_list(list).map_err(|what| wrong("script", what))?;
                match option {
                    "--physcpubind" => placement.cpus = Some(set.iter().collect()),
                    "--cpunodebind" => placement.cpus_of_nodes = Some(set),
                    _ => placement.memory_nodes = Some(set),
                }
            }
        }
    }
    Ok(())
}

/// Returns true if the meaning of a list of numactl depends on the machine or the process. `+`
/// counts from the first CPU or node that the process may use, and `!` means all others.
/// `netdev:eth0` means the node of a device. `$NODE` is a variable without a known value.
fn depends_on_machine(list: &str) -> bool {
    list.contains(|c: char| c.is_ascii_alphabetic() || "+!:$`".contains(c))
}

/// Reads the CPUs of `taskset -c LIST` or `taskset MASK`. With `-p`, taskset starts no program.
fn read_taskset(arguments: &[String], placement: &mut Placement) {
    let (mut is_list, mut rest) = (false, arguments.iter().map(String::as_str));
    let cpus = loop {
        match rest.next() {
            None | Some("--pid" | "--help" | "--version") => return,
            Some("--cpu-list") => is_list = true,
            Some("--all-tasks") => {}
            Some(option) if option.starts_with('-') => {
                if option.contains('p') {
                    return;
                }
                is_list |= option.contains('c');
            }
            Some(cpus) => break cpus,
        }
    };
    let set = if is_list {
        CpuSet::parse_list(cpus)
    } else {
        CpuSet::parse_map(cpus)
    };
    match set {
        Ok(set) => placement.cpus = Some(set.iter().collect()),
        Err(_) => placement.ignore(format!("taskset {cpus}")),
    }
}

pub fn write_env(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let mut out = format!("# {}\n", header(source, Some(instance)));
    for option in escapes::options(instance) {
        out += &format!("JVM_OPTS=\"$JVM_OPTS \"{}\n", quoted(&option));
    }
    Ok(out)
}

pub fn read_env(text: &str) -> Result<Placement, ReadError> {
    // Cassandra's start script sets these variables before it reads the file.
    let before =
        ["JVM_OPTS", environment::EXTRA_OPTIONS].map(|name| (name.to_owned(), String::new()));
    let mut script = Script::read(text, before.into());
    let options = script.variables.remove("JVM_OPTS").unwrap_or_default();
    let extra = script.variables.remove(environment::EXTRA_OPTIONS).unwrap_or_default();
    let mut placement = Placement::default();
    environment::add(&script.variables, &mut placement);
    if !options.contains(&extra) {
        placement.ignore(format!("{}={extra}", environment::EXTRA_OPTIONS));
    }
    ignore_unread(&script, &["JVM_OPTS", "HEAP"], &mut placement);
    let options = environment::words_of(&options);
    if !options.is_empty() {
        placement.jvm = Some(options);
    }
    if placement == Placement::default() {
        let what = "no line of the file appends an option to JVM_OPTS";
        return Err(wrong("cassandra-env.sh", what));
    }
    Ok(placement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Option<CpuSet> {
        CpuSet::parse_list(text).ok()
    }

    #[test]
    fn numactl_is_found_in_every_way_to_start_it() {
        for text in [
            "exec numactl \\\n  --cpunodebind=1 --membind=1 \\\n  cassandra -f",
            "nohup numactl -N 1 -m 1 cassandra -f > /dev/null 2>&1 &",
            "sudo -u cassandra /usr/bin/numactl -N 1 -m 1 cassandra",
            "JAVA_HOME=/opt/j numactl -N 1 -m 1 cassandra # don't",
            "[ -x /usr/bin/numactl ] && exec numactl -N 1 -m 1 cassandra",
            "su cassandra -s /bin/sh -c \"numactl -N 1 -m 1 cassandra -f\"",
            "NUMACTL_ARGS=\"--cpunodebind=1 --membind=1\"",
            "NODE=1\nexport NUMACTL_ARGS=\"-N $NODE -m ${NODE}\"\nnumactl $NUMACTL_ARGS x",
            "taskset -c 7 x; numactl -N 1 -P 1 x",
        ] {
            let placed = read(text).unwrap();
            let nodes = (placed.cpus_of_nodes, placed.memory_nodes);
            assert_eq!(nodes, (list("1"), list("1")), "{text}");
        }
        assert_eq!(read("taskset -c 0-1 x").unwrap().cpus, Some(vec![0, 1]));
        assert_eq!(read("exec taskset 0x3 x").unwrap().cpus, Some(vec![0, 1]));
        for text in [
            "echo numactl -N 1",
            "which numactl",
            "taskset -pc 1 4",
            "# numactl -N 1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    /// An earlier version read `+0-3` as the CPUs 0 to 3.
    #[test]
    fn a_list_that_is_not_absolute_is_said_and_not_used() {
        for list in ["+0-3", "!0-3", "netdev:eth0", "$CPUS"] {
            let placed = read(&format!("numactl -C '{list}' -l x")).unwrap();
            assert_eq!(placed.cpus, None, "{list}");
            assert_eq!(placed.ignored.len(), 2, "{:?}", placed.ignored);
            assert!(placed.ignored[0].starts_with(&format!("--physcpubind={list}")));
        }
        let placed = read("numactl -N 0 x\nMAX_HEAP_SIZE=8G\nHEAP_NEWSIZE=800M").unwrap();
        assert_eq!(placed.heap_bytes, Some(8 << 30));
        assert_eq!(placed.ignored, ["HEAP_NEWSIZE=800M"]);
    }

    #[test]
    fn jvm_options_follow_the_assignments_of_the_file() {
        let text = "MAX_HEAP_SIZE=\"8G\"\nJVM_OPTS=\"$JVM_OPTS -Xmx${MAX_HEAP_SIZE}\"\n\
                    # JVM_OPTS=\"$JVM_OPTS -Xss1m\"\nJVM_OPTS=\"${JVM_OPTS} -Dq=$HOME\"\n\
                    JVM_OPTS=\"-Dp=1 $JVM_OPTS\"\nJVM_OPTS+=\" -Dx=1\"\n\
                    [ x ] && export JVM_OPTS=\"$JVM_OPTS -Dy=2 $JVM_EXTRA_OPTS\" # it's\n";
        let placed = read_env(text).unwrap();
        let options = ["-Dp=1", "-Xmx8G", "-Dq=$HOME", "-Dx=1", "-Dy=2"];
        assert_eq!(placed.jvm, Some(options.map(str::to_owned).to_vec()));
        assert_eq!(
            (placed.heap_bytes, placed.ignored.len()),
            (Some(8 << 30), 0)
        );
        assert_eq!(
            read_env("JVM_OPTS=\"-Xss1m\nMAX_HEAP_SIZE=$(x)").unwrap().ignored,
            [
                "MAX_HEAP_SIZE=$(x)",
                "line 1, which has an open quote: JVM_OPTS=\"-Xss1m"
            ]
        );
        assert!(read_env("x").is_err());
    }
}
