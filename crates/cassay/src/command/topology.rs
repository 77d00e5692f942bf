//! `cassay topology`: shows machines, plans the placement of nodes on them, and exports plans.

mod apply;

use super::{attached, dirs, is_one_kept, over_ssh};
use crate::args::{
    Common, ExportArgs, MachineArgs, MachineAt, PlacementArgs, ReadArgs, TopologyCommand,
};
use crate::exit::Exit;
use crate::terminal;
use ::cluster::kept_cluster;
use ::topology::{
    Instance, Machine, PlacementRequest, Plan, Profile, Unit, VirtualTopology,
    export::{self, ExportFile, FORMATS, Options, Placement, Source},
};
use anyhow::{Context, Result, bail, ensure};
use foreign::FileKind;
use serde_json::{Value, json};
use std::path::Path;

pub use apply::requested;

/// Runs `show`, `plan`, `export`, `read` or `apply`.
pub fn run(command: &TopologyCommand, common: &Common) -> Result<Exit> {
    match command {
        TopologyCommand::Show(args) => show(args, common),
        TopologyCommand::Plan(args) => plan(args, common),
        TopologyCommand::Export(args) => export(args, common),
        TopologyCommand::Read(args) => read(args, common),
        TopologyCommand::Apply(args) => apply::apply(args, common),
    }
}

type NamedMachine = (String, Machine);

fn machines(args: &MachineArgs) -> Result<Vec<NamedMachine>> {
    if let Some(path) = &args.machine {
        return Ok(vec![(path.display().to_string(), Machine::read(path)?)]);
    }
    let here = || {
        anyhow::Ok(vec![(
            "this machine".to_owned(),
            Machine::read(Path::new("/"))?,
        )])
    };
    if let Some(MachineAt::Ssh(names)) = &args.target {
        let agents = over_ssh(&args.ssh, names)?;
        let named = names.iter().zip(&agents);
        return named.map(|(name, agent)| Ok((name.clone(), agent.machine()?))).collect();
    }
    args.ssh.nothing()?;
    if let Some(MachineAt::Attach(target)) = &args.target {
        return attached(target, &args.way_in)?.machines();
    }
    args.way_in.nothing()?;
    match &args.target {
        Some(MachineAt::Local) => here(),
        None if args.cluster.cluster.is_none() && !is_one_kept()? => here(),
        Some(MachineAt::Kept | MachineAt::Ssh(_) | MachineAt::Attach(_)) | None => {
            let say = &mut |text: &str| terminal::say(text);
            kept_cluster::open(&dirs()?, args.cluster.cluster.as_deref(), say)?.machines()
        }
    }
}

fn show(args: &MachineArgs, common: &Common) -> Result<Exit> {
    let machines = machines(args)?;
    if common.json {
        let all = machines.iter().map(|(name, machine)| json!({"host": name, "machine": machine}));
        terminal::json(&all.collect());
        return Ok(Exit::Done);
    }
    let drawn = machines.iter().map(|(name, machine)| {
        let drawn = ::topology::draw(machine, None);
        format!("{name}\n{}", drawn.trim_end())
    });
    terminal::data(&(drawn.collect::<Vec<_>>().join("\n\n") + "\n"));
    Ok(Exit::Done)
}

/// Returns the only machine of the arguments, for which the plan is made.
fn one(args: &MachineArgs) -> Result<Machine> {
    let mut machines = machines(args)?;
    let names: Vec<&str> = machines.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(
        machines.len() == 1,
        "a placement plan is for one machine, but the target has {}: {}\nhint: use --target local \
         to plan for this machine, or --machine FILE to plan for the machine that a file describes",
        names.len(),
        names.join(", ")
    );
    machines.pop().map(|(_, machine)| machine).context("the target has no machine")
}

fn planned(args: &PlacementArgs) -> Result<(Machine, Plan)> {
    let machine = one(&args.machine)?;
    let wish = PlacementRequest {
        memory_bytes: args.memory,
        smt: args.smt,
        profile: args.profile,
        unit: args.prefer_ht.then_some(Unit::Threads),
        hot_add: args.hot_add,
        housekeeping: args.housekeeping.clone(),
        overcommit: args.overcommit,
        collector: args.gc,
        jdk: args.jdk,
        drives: args.drives,
        yaml: args.yaml,
        near: args.near.clone(),
        host: args.host.clone(),
        ..PlacementRequest::new(args.instances, args.vcpus)
    };
    let plan = ::topology::plan(&machine, &wish)?;
    Ok((machine, plan))
}

fn plan(args: &PlacementArgs, common: &Common) -> Result<Exit> {
    let (machine, plan) = planned(args)?;
    // The output compares the plan with the placement that a script without knowledge of the
    // topology would choose.
    let naive = ::topology::naive(&machine, &plan.wish);
    let naive = ::topology::costs(&machine, &naive, &[]);
    if common.json {
        terminal::json(&json!({"plan": plan, "costs_by_number": naive}));
        return Ok(Exit::Done);
    }
    let mut text = format!("{}\n\n", ::topology::draw(&machine, Some(&plan)).trim_end());
    text += &guests(&plan);
    text += &format!("\n{}", settings(&plan));
    let costs = plan.costs;
    let cost = |what: &str, ours: String, least: String, naive: String| {
        vec![what.to_owned(), ours, least, naive]
    };
    let rows = [
        cost(
            "Costs",
            "Here".to_owned(),
            "Least".to_owned(),
            "By number".to_owned(),
        ),
        cost(
            "instances across packages",
            costs.crossing_package.to_string(),
            plan.bounds.crossing_package.to_string(),
            naive.crossing_package.to_string(),
        ),
        cost(
            "instances across NUMA nodes",
            costs.crossing_node.to_string(),
            plan.bounds.crossing_node.to_string(),
            naive.crossing_node.to_string(),
        ),
        cost(
            "cores that instances share",
            costs.shared_cores.to_string(),
            "–".to_owned(),
            naive.shared_cores.to_string(),
        ),
        cost(
            "L3 caches that instances share",
            costs.shared_l3.to_string(),
            "–".to_owned(),
            naive.shared_l3.to_string(),
        ),
    ];
    text += &format!("\n{}", terminal::table(&rows, &[false, true, true, true]));
    text += "\nWhy\n";
    for reason in &plan.reasons {
        text += &format!("  {reason}\n");
    }
    terminal::data(&text);
    Ok(Exit::Done)
}

fn list(numbers: &[u32]) -> String {
    let set: ::topology::CpuSet = numbers.iter().copied().collect();
    set.to_string()
}

fn guests(plan: &Plan) -> String {
    let is_of = |profile| {
        if plan.wish.profile == profile {
            "→"
        } else {
            ""
        }
    };
    let row = |mark: &str, name: &str, guest: &VirtualTopology| {
        vec![mark.to_owned(), name.to_owned(), guest.to_string()]
    };
    let mut rows = vec![
        row(is_of(Profile::Vsphere7), "vSphere 7", &plan.vsphere7),
        row(is_of(Profile::Vsphere8), "vSphere 8", &plan.vsphere8),
    ];
    // The text contains equal topologies only once.
    let mut known: Vec<&VirtualTopology> = Vec::new();
    for instance in &plan.instances {
        if !known.contains(&&instance.pinned) {
            known.push(&instance.pinned);
            let name = match known.len() {
                1 => "pinned".to_owned(),
                _ => format!("pinned, from instance {}", instance.index),
            };
            rows.push(row(is_of(Profile::Pinned), &name, &instance.pinned));
        }
    }
    terminal::table(&rows, &[false, false, false])
}

/// Formats the JVM options and the settings of each instance. The text contains equal settings only
/// once.
fn settings(plan: &Plan) -> String {
    let words = |instance: &Instance| {
        let yaml = instance.yaml;
        let numactl = if instance.jvm.numactl.is_empty() {
            String::new()
        } else {
            format!("\n  numactl {}", instance.jvm.numactl.join(" "))
        };
        format!(
            "  {}{numactl}\n  concurrent_reads: {}, concurrent_writes: {}, \
             concurrent_counter_writes: {}, concurrent_compactors: {}\n  {}\n",
            instance.jvm.options.join(" "),
            yaml.concurrent_reads,
            yaml.concurrent_writes,
            yaml.concurrent_counter_writes,
            yaml.concurrent_compactors,
            instance.jvm.numa_reason
        )
    };
    let mut all: Vec<(Vec<u32>, String)> = Vec::new();
    for instance in &plan.instances {
        let words = words(instance);
        match all.iter_mut().find(|(_, known)| *known == words) {
            Some((indexes, _)) => indexes.push(instance.index),
            None => all.push((vec![instance.index], words)),
        }
    }
    let all = all
        .iter()
        .map(|(indexes, words)| format!("Instance {}\n{words}", list(indexes)));
    all.collect()
}

fn export(args: &ExportArgs, common: &Common) -> Result<Exit> {
    let (machine, plan) = planned(&args.placement)?;
    let options = Options {
        topoext: args.topoext,
        reserved_memory_bytes: args.reserved_memory,
        image: args.image.clone(),
    };
    let source = Source {
        machine: &machine,
        plan: &plan,
        options: &options,
    };
    let files = files(&source, &args.format)?;
    match &args.into {
        _ if common.json => {
            let file = |file: &ExportFile| {
                let (name, instance, text) = (&file.file, file.instance, &file.text);
                json!({"file": name, "instance": instance, "text": text})
            };
            terminal::json(&files.iter().map(file).collect());
        }
        Some(folder) => write(folder, &files)?,
        None => {
            for file in &files {
                if files.len() > 1 {
                    terminal::say(&format!("{}:", file.file));
                }
                terminal::data(&file.text);
            }
        }
    }
    if ["kubelet", "pod", "all"].contains(&args.format.as_str()) {
        for difference in export::differences(&source) {
            terminal::say(&format!("note: {}", difference));
        }
    }
    Ok(Exit::Done)
}

/// Returns the files of a format, or of all formats that can express the plan.
fn files(source: &Source, name: &str) -> Result<Vec<ExportFile>> {
    if let Some(format) = export::format(name) {
        return Ok(export::export(source, format)?);
    }
    let mut files = Vec::new();
    for format in &FORMATS {
        match export::export(source, format) {
            Ok(some) => files.extend(some),
            Err(error) => terminal::say(&format!("note: cassay omits {}: {error}", format.name)),
        }
    }
    Ok(files)
}

/// Writes the files. Never overwrites an existing file.
fn write(folder: &Path, files: &[ExportFile]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    for file in files {
        let path = folder.join(&file.file);
        let mut options = std::fs::OpenOptions::new();
        let made = options.write(true).create_new(true).open(&path);
        let written =
            made.and_then(|mut made| std::io::Write::write_all(&mut made, file.text.as_bytes()));
        written.with_context(|| {
            format!(
                "write {}\nhint: cassay does not overwrite files: use another folder, or remove \
                 the file",
                path.display()
            )
        })?;
        terminal::data(&format!("{}\n", path.display()));
    }
    Ok(())
}

fn read(args: &ReadArgs, common: &Common) -> Result<Exit> {
    let Some(format) = export::format(&args.format) else {
        bail!("cassay cannot read a file in the format `all`: name one format");
    };
    let path = args.file.display();
    let bytes =
        foreign::read(FileKind::Placement, &args.file).with_context(|| format!("read {path}"))?;
    let placement = format.read_bytes(bytes).with_context(|| format!("read {path}"))?;
    let said = properties(&placement);
    if common.json {
        let ignored = ("ignored".to_owned(), json!(placement.ignored));
        terminal::json(&Value::Object(said.into_iter().chain([ignored]).collect()));
        return Ok(Exit::Done);
    }
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if said.is_empty() {
        terminal::data(
            "the file does not pin the guest to CPUs and does not bind its memory to NUMA nodes\n",
        );
    }
    let rows = said.iter().map(|(name, value)| vec![name.clone(), words(value)]);
    terminal::data(&terminal::table(&rows.collect::<Vec<_>>(), &[false, false]));
    for setting in &placement.ignored {
        terminal::data(&format!("ignored: {setting}\n"));
    }
    Ok(Exit::Done)
}

/// Returns the properties of a placement in a file, without those that the format of the file
/// cannot express.
fn properties(placement: &Placement) -> Vec<(String, Value)> {
    let set = |set: &::topology::CpuSet| json!(set.to_string());
    let guest = placement.guest.as_ref().map(|guest| {
        json!({
            "sockets": guest.sockets, "dies": guest.dies, "cores": guest.cores,
            "threads": guest.threads, "vnuma": guest.vnuma,
        })
    });
    let all = [
        ("cpus", placement.cpus.as_ref().map(|cpus| json!(cpus))),
        ("cpus_of_nodes", placement.cpus_of_nodes.as_ref().map(set)),
        ("memory_nodes", placement.memory_nodes.as_ref().map(set)),
        (
            "memory_interleaved_over",
            placement.interleaves_all.then(|| json!("all nodes")),
        ),
        ("guest", guest),
        (
            "memory_bytes",
            placement.memory_bytes.map(|bytes| json!(bytes)),
        ),
        ("heap_bytes", placement.heap_bytes.map(|bytes| json!(bytes))),
        ("rack", placement.rack.as_ref().map(|rack| json!(rack))),
        (
            "jvm",
            placement.jvm.as_ref().map(|jvm| json!(jvm.join(" "))),
        ),
        ("reserved", placement.reserved.as_ref().map(set)),
    ];
    let said = all.into_iter();
    said.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
