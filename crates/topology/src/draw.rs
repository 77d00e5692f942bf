//! Draws a machine, and optionally a plan on it, as text for a terminal.

use measure::number::{bytes as size, counted};
use std::fmt::Write;

use crate::cpuset::CpuSet;
use crate::machine::{CoreKind, Machine};
use crate::plan::Plan;

/// Maximum number of rows and columns of the distance table. For a larger table, the drawing shows
/// only the range of distances.
const DISTANCES_MAX: usize = 24;

/// Draws the machine as lines of text. First come the packages, with their nodes, L3 caches and
/// CPUs. Then come distances, devices and notes. With a plan, each L3 cache also lists the
/// instances that use its CPUs.
pub fn draw(machine: &Machine, plan: Option<&Plan>) -> String {
    let mut text = String::new();
    let write = |text: &mut String, line: String| _ = writeln!(text, "{line}");
    write(&mut text, heading(machine));
    for (index, package) in machine.packages.iter().enumerate() {
        let os = package.os.map_or(String::new(), |os| format!(" (id {os})"));
        let cpus = machine.cpus_of(&package.cores);
        write(
            &mut text,
            format!(
                "package {index}{os}: {} cores, CPUs {cpus}",
                package.cores.len()
            ),
        );
        for group in package.cores.chunk_by(|&a, &b| machine.cores[a].node == machine.cores[b].node)
        {
            draw_node(machine, plan, group, &mut text);
        }
    }
    for node in machine.nodes.iter().filter(|node| node.cores.is_empty()) {
        write(
            &mut text,
            format!("node {}: {}, no CPUs", node.os, memory(machine, node.os)),
        );
    }
    if !machine.offline.is_empty() {
        write(&mut text, format!("offline: CPUs {}", machine.offline));
    }
    draw_distances(machine, &mut text);
    for device in &machine.devices {
        let node = device.node_os.map_or("no node".to_owned(), |os| format!("node {os}"));
        write(&mut text, format!("{}: {node}", device.name));
    }
    for note in &machine.notes {
        write(&mut text, format!("note: {note}"));
    }
    if let Some(plan) = plan {
        draw_plan(plan, &mut text);
    }
    text
}

fn heading(machine: &Machine) -> String {
    let real = machine.l3.iter().filter(|l3| l3.is_real).count();
    let parts = [
        (machine.packages.len(), "package"),
        (machine.nodes.len(), "NUMA node"),
        (real, "L3 cache"),
        (machine.cores.len(), "core"),
        (machine.pus.len(), "CPU"),
    ]
    .map(|(count, one)| counted(count, one));
    format!("{}: {}", machine.source, parts.join(", "))
}

fn memory(machine: &Machine, os: u32) -> String {
    let Some(node) = machine.nodes.iter().find(|node| node.os == os) else {
        return String::new();
    };
    let mut text = node.memory_bytes.map_or("memory unknown".to_owned(), size);
    if let Some(kind) = &node.kind {
        text += &format!(" {kind}");
    }
    for pages in node
        .hugepages
        .iter()
        .filter(|pages| pages.count > 0 && pages.page_bytes > 65536)
    {
        text += &format!(", {} × {}", pages.count, size(pages.page_bytes));
    }
    for bytes in &node.side_caches_bytes {
        text += &format!(", side cache {}", size(*bytes));
    }
    if !node.allowed {
        text += ", closed";
    }
    text
}

fn draw_node(machine: &Machine, plan: Option<&Plan>, cores: &[usize], text: &mut String) {
    let node = machine.nodes[machine.cores[cores[0]].node].os;
    let cpus = machine.cpus_of(cores);
    let _ = writeln!(
        text,
        "  node {node}: {}, CPUs {cpus}",
        memory(machine, node)
    );
    for group in cores.chunk_by(|&a, &b| machine.cores[a].l3 == machine.cores[b].l3) {
        let index = machine.cores[group[0]].l3;
        let l3 = &machine.l3[index];
        let name = if l3.is_real {
            format!("L3 {index}")
        } else {
            "no L3 known".to_owned()
        };
        let bytes = l3.size_bytes.map_or(String::new(), |bytes| format!(" {}", size(bytes)));
        let cpus = machine.cpus_of(group);
        let closed = cpus.difference(&machine.allowed_cpus());
        let closed = if closed.is_empty() {
            String::new()
        } else {
            format!(", closed: {closed}")
        };
        let kind = match machine.cores[group[0]].kind {
            CoreKind::Uniform => "",
            CoreKind::Performance => " fast",
            CoreKind::Efficiency => " slow",
        };
        let _ = writeln!(
            text,
            "    {name}{bytes}: {}{kind} cores, CPUs {cpus}{closed}",
            group.len()
        );
        if let Some(plan) = plan {
            let _ = writeln!(text, "      {}", users(plan, &cpus));
        }
    }
}

/// Lists the users of these CPUs, with the CPUs of each user. A user is the housekeeping, an
/// instance, or `idle` for unused CPUs.
fn users(plan: &Plan, cpus: &CpuSet) -> String {
    let mut users = Vec::new();
    for node in &plan.housekeeping {
        let part = node.cpus.intersection(cpus);
        if !part.is_empty() {
            users.push(format!("housekeeping {part}"));
        }
    }
    for instance in &plan.instances {
        let own: CpuSet = instance.cpus.iter().copied().collect();
        let part = own.intersection(cpus);
        if !part.is_empty() {
            users.push(format!("#{} {part}", instance.index));
        }
    }
    let idle = plan.idle.intersection(cpus);
    if !idle.is_empty() {
        users.push(format!("idle {idle}"));
    }
    if users.is_empty() {
        "unused".to_owned()
    } else {
        users.join(" · ")
    }
}

fn draw_distances(machine: &Machine, text: &mut String) {
    let Some(table) = &machine.distances else {
        return;
    };
    if table.rows.len() < 2 {
        return;
    }
    if table.rows.len() > DISTANCES_MAX {
        let cells = table.rows.iter().flatten().filter(|&&cell| cell > 0);
        let (least, most) = (cells.clone().min(), cells.max());
        let _ = writeln!(
            text,
            "distances: {} to {} among {} nodes",
            least.unwrap_or(&0),
            most.unwrap_or(&0),
            table.rows.len()
        );
        return;
    }
    let cell = |text: String| format!("{text:>5}");
    let head: String = machine.nodes.iter().map(|node| cell(node.os.to_string())).collect();
    let _ = writeln!(text, "distances  {head}");
    for (node, row) in machine.nodes.iter().zip(&table.rows) {
        let row: String = row.iter().map(|distance| cell(distance.to_string())).collect();
        let _ = writeln!(text, "  node {:>4}{row}", node.os);
    }
}

fn draw_plan(plan: &Plan, text: &mut String) {
    for instance in &plan.instances {
        let cpus: CpuSet = instance.cpus.iter().copied().collect();
        let nodes: CpuSet = instance.nodes.iter().copied().collect();
        let memory = instance.memory_bytes.map_or(String::new(), |m| format!(", {}", size(m)));
        let _ = writeln!(
            text,
            "#{}: CPUs {cpus}, node {nodes}{memory}",
            instance.index
        );
    }
    for warning in &plan.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
}
