//! `cassay hosts`: checks, benchmarks and cleans machines for nodes.

use super::machines;
use crate::args::{Common, HostsCommand};
use crate::exit::Exit;
use crate::terminal;
use ::cluster::machines::{DiskSpeed, MachineSeen, look};
use ::doctor::Severity;
use ::target_spec::{HostSpec, JavaWanted, LocalSpec, memory_bytes};
use anyhow::{Result, bail};
use measure::number::{bytes, counted};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Default heap of a node. The memory check of this command assumes this size.
const HEAP_BYTES: u64 = 1 << 30;

/// Runs the subcommand on the machines of its file. If a machine cannot be reached, `check` reports
/// it, `bench` fails, and `clean` fails after it has cleaned the other machines.
pub fn run(command: &HostsCommand, common: &Common) -> Result<Exit> {
    let file = match command {
        HostsCommand::Check { file }
        | HostsCommand::Bench { file }
        | HostsCommand::Clean { file, .. } => file,
    };
    let Some(wanted) = machines::read(Some(file), common)? else {
        return Ok(Exit::Usage);
    };
    let mut away = Vec::new();
    let mut seen = Vec::new();
    let java = JavaWanted::from_spec(&LocalSpec::default());
    for (machine, answer) in wanted.iter().zip(look(&wanted, (&HostSpec::default(), &java))?) {
        match answer {
            Ok(machine) => seen.push(machine),
            Err(why) => away.push(UnreachedMachine {
                name: machine.ssh.clone(),
                why,
            }),
        }
    }
    match command {
        HostsCommand::Check { .. } => return check(&seen, &away, file, common),
        HostsCommand::Bench { .. } if away.is_empty() => return bench(&seen, common),
        // `bench` compares machines, so it does not run if a machine cannot be reached.
        HostsCommand::Bench { .. } => {}
        HostsCommand::Clean { all, .. } => {
            let done = clean(&seen, *all, common)?;
            if away.is_empty() {
                return Ok(done);
            }
        }
    }
    let each: Vec<&str> = away.iter().map(|one| one.why.as_str()).collect();
    bail!(
        "cassay did not reach {} of {}\n{}",
        away.len(),
        counted(wanted.len(), "machine"),
        each.join("\n")
    )
}

/// A machine that cannot be reached, or that does not report its properties.
struct UnreachedMachine {
    name: String,
    why: String,
}

struct HostReadiness {
    hindrances: Vec<String>,
    remarks: Vec<String>,
}

fn judged(machine: &MachineSeen) -> Result<HostReadiness> {
    let mut remarks = machine.remarks();
    let settings = ::doctor::there(machine.agent(), &machine.name)?;
    let is_warning = |level: Severity| level == Severity::Warning;
    let warnings = settings.findings.iter().filter(|one| is_warning(one.level)).count();
    if warnings > 0 {
        remarks.push(format!(
            "cassay has {} about the settings of the machine: see `cassay doctor --target ssh:{}`",
            counted(warnings, "warning"),
            machine.name
        ));
    }
    Ok(HostReadiness {
        hindrances: machine.hindrances(1, HEAP_BYTES, &HostSpec::default()),
        remarks,
    })
}

fn check(
    seen: &[MachineSeen],
    away: &[UnreachedMachine],
    file: &Path,
    common: &Common,
) -> Result<Exit> {
    let judged = seen.iter().map(judged).collect::<Result<Vec<_>>>()?;
    let is_fit = away.is_empty() && judged.iter().all(|one| one.hindrances.is_empty());
    let exit = if is_fit { Exit::Done } else { Exit::Error };
    if common.json {
        let all = seen.iter().zip(&judged).map(|(machine, judged)| to_json(machine, judged));
        let away = away.iter().map(|one| json!({"machine": one.name, "errors": [one.why]}));
        terminal::json(&all.chain(away).collect());
        return Ok(exit);
    }
    let mut text = String::new();
    if !seen.is_empty() {
        text += &table(seen);
    }
    for one in away {
        text += &format!("error: {}\n", one.why);
    }
    for (machine, judged) in seen.iter().zip(&judged) {
        for why in &judged.hindrances {
            text += &format!("error: {}: {why}\n", machine.name);
        }
        for remark in &judged.remarks {
            text += &format!("note: {}: {remark}\n", machine.name);
        }
    }
    let is_left = |machine: &MachineSeen| machine.seen.clusters.iter().any(|left| !left.is_held);
    if seen.iter().any(is_left) {
        text += &format!(
            "the machines contain leftovers of earlier clusters; to remove these, run `cassay \
             hosts clean {}`\n",
            file.display()
        );
    }
    let node = bytes(memory_bytes(1, HEAP_BYTES));
    let unfit = judged.iter().filter(|one| !one.hindrances.is_empty()).count();
    text += &match unfit + away.len() {
        0 => format!(
            "{} able to run a node with a heap of {}, which needs about {node} of memory\n",
            if seen.len() == 1 {
                "the machine is"
            } else {
                "all machines are"
            },
            bytes(HEAP_BYTES)
        ),
        count => format!(
            "{} of {} cannot run nodes\n",
            count,
            counted(seen.len() + away.len(), "machine")
        ),
    };
    terminal::data(&text);
    Ok(exit)
}

fn table(seen: &[MachineSeen]) -> String {
    let head = [
        "Machine",
        "Address",
        "System",
        "CPUs",
        "Memory free",
        "Disk free",
        "Java",
        "Root",
        "Clock",
    ];
    let row = |machine: &MachineSeen| {
        let seen = &machine.seen;
        vec![
            machine.name.clone(),
            machine.address.map_or("?".to_owned(), |address| address.to_string()),
            seen.system.clone(),
            seen.cpus.to_string(),
            bytes(seen.memory_available_bytes),
            bytes(seen.disk.available_bytes),
            seen.java.as_ref().map_or("none".to_owned(), |java| java.version.clone()),
            if seen.is_root { "yes" } else { "no" }.to_owned(),
            clock(machine),
        ]
    };
    let head = head.map(str::to_owned).to_vec();
    let rows: Vec<_> = [head].into_iter().chain(seen.iter().map(row)).collect();
    let right = [false, false, false, true, true, true, false, false, false];
    terminal::table(&rows, &right)
}

/// Formats the precision of the machine's monotonic clock, which is used to align readings, and the
/// offset of the machine's wall clock.
fn clock(machine: &MachineSeen) -> String {
    let known = machine.clock.monotonic.map_or("unknown".to_owned(), |offset| {
        format!("± {:.2} ms", offset.bound_ns as f64 / 1e6)
    });
    format!(
        "{known}, wall {:+.1} ms",
        machine.clock.wall_ahead_ns as f64 / 1e6
    )
}

fn to_json(machine: &MachineSeen, judged: &HostReadiness) -> Value {
    let seen = &machine.seen;
    let left = seen
        .clusters
        .iter()
        .map(|left| json!({"cluster": left.id, "host": left.host, "running": left.is_held}));
    json!({
        "machine": machine.name,
        "address": machine.address.map(|address| address.to_string()),
        "folder": machine.folder,
        "system": seen.system,
        "root": seen.is_root,
        "cpus": seen.cpus,
        "memory_available_bytes": seen.memory_available_bytes,
        "disk_available_bytes": seen.disk.available_bytes,
        "java": seen.java.as_ref().ok().map(|java| &java.version),
        "clock_bound_ns": machine.clock.monotonic.map(|offset| offset.bound_ns),
        "wall_ahead_ns": machine.clock.wall_ahead_ns,
        "wall_bound_ns": machine.clock.wall_bound_ns,
        "clusters": left.collect::<Vec<_>>(),
        "errors": judged.hindrances,
        "notes": judged.remarks,
    })
}

fn clean(seen: &[MachineSeen], all: bool, common: &Common) -> Result<Exit> {
    let mut done = Vec::new();
    for machine in seen {
        for one in machine.clean(all)? {
            terminal::say(&format!("{}: {one}", machine.name));
            done.push(json!({"machine": machine.name, "done": one}));
        }
        for left in machine.seen.clusters.iter().filter(|left| left.is_held && !all) {
            terminal::say(&format!(
                "{}: cassay keeps the running cluster {}; to stop the cluster, use `cassay target \
                 down {}` on the machine that started it, or add --all",
                machine.name, left.id, left.id
            ));
        }
    }
    if done.is_empty() {
        terminal::say("nothing to remove");
    }
    if common.json {
        terminal::json(&json!(done));
    }
    Ok(Exit::Done)
}

fn bench(seen: &[MachineSeen], common: &Common) -> Result<Exit> {
    let mut disks: Vec<DiskSpeed> = Vec::new();
    for machine in seen {
        terminal::say(&format!(
            "{}: cassay writes and reads 128 MiB on the machine's disk",
            machine.name
        ));
        disks.push(machine.disk_speed()?);
    }
    let mut ways = Vec::new();
    for from in seen {
        for to in seen.iter().filter(|to| to.name != from.name) {
            terminal::say(&format!("{} to {}: 256 MiB", from.name, to.name));
            ways.push((from, to, from.way_to(to)?));
        }
    }
    if common.json {
        let disk = |(machine, disk): (&MachineSeen, &DiskSpeed)| {
            json!({
                "machine": machine.name,
                "folder": machine.folder,
                "writes_4k_per_s": disk.writes_per_s,
                "reads_4k_per_s": disk.reads_per_s,
                "write_bytes_per_s": disk.write_bytes_per_s,
                "read_bytes_per_s": disk.read_bytes_per_s,
                "clock_bound_ns": machine.clock.monotonic.map(|offset| offset.bound_ns),
            })
        };
        let way = |(from, to, way): &(&MachineSeen, &MachineSeen, Option<(f64, _)>)| {
            let connect = way.and_then(|(_, connect): (f64, Option<Duration>)| connect);
            json!({
                "from": from.name,
                "to": to.name,
                "bits_per_s": way.map(|(rate, _)| rate),
                "connect_ns": connect.map(|connect| connect.as_nanos() as u64),
            })
        };
        terminal::json(&json!({
            "disks": seen.iter().zip(&disks).map(disk).collect::<Vec<_>>(),
            "ways": ways.iter().map(way).collect::<Vec<_>>(),
        }));
        return Ok(Exit::Done);
    }
    terminal::data(&format!(
        "{}\n{}",
        disk_table(seen, &disks),
        way_table(&ways)
    ));
    Ok(Exit::Done)
}

fn disk_table(seen: &[MachineSeen], disks: &[DiskSpeed]) -> String {
    let head = [
        "Machine",
        "Folder",
        "4 KiB writes/s",
        "4 KiB reads/s",
        "Write",
        "Read",
        "Clock",
    ];
    let count = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.0}"));
    let rate = |value: Option<f64>| {
        value.map_or("?".to_owned(), |value| format!("{}/s", bytes(value as u64)))
    };
    let row = |(machine, disk): (&MachineSeen, &DiskSpeed)| {
        vec![
            machine.name.clone(),
            machine.folder.display().to_string(),
            count(disk.writes_per_s),
            count(disk.reads_per_s),
            rate(disk.write_bytes_per_s),
            rate(disk.read_bytes_per_s),
            clock(machine),
        ]
    };
    let head = head.map(str::to_owned).to_vec();
    let rows: Vec<_> = [head].into_iter().chain(seen.iter().zip(disks).map(row)).collect();
    terminal::table(&rows, &[false, false, true, true, true, true, false])
}

type NetworkPath<'a> = (
    &'a MachineSeen,
    &'a MachineSeen,
    Option<(f64, Option<Duration>)>,
);

fn way_table(ways: &[NetworkPath<'_>]) -> String {
    let head = ["From", "To", "One connection", "Connect"];
    let row = |(from, to, way): &NetworkPath<'_>| {
        let rate = way.map(|(rate, _)| format!("{:.2} Gbit/s", rate / 1e9));
        let in_ms = |took: Duration| format!("{:.2} ms", took.as_secs_f64() * 1e3);
        let connect = way.and_then(|(_, connect)| connect.map(in_ms));
        vec![
            from.name.clone(),
            to.name.clone(),
            rate.unwrap_or_else(|| "no way".to_owned()),
            connect.unwrap_or_else(|| "?".to_owned()),
        ]
    };
    let head = head.map(str::to_owned).to_vec();
    let rows: Vec<_> = [head].into_iter().chain(ways.iter().map(row)).collect();
    terminal::table(&rows, &[false, false, true, true])
}
