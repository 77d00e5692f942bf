//! What `topology` takes, and how nodes are placed by other commands.

use super::ssh::examined;
use super::{ClusterName, MachineAt, SshArgs, WayInArgs};
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum TopologyCommand {
    /// Draw machines: packages, NUMA nodes, L3 groups, cores, CPUs and memory.
    Show(MachineArgs),
    /// Plan virtual machines or processes of one size on a machine: CPUs, memory, virtual hardware,
    /// JVM and cassandra.yaml of each, and why.
    Plan(PlacementArgs),
    /// Write a plan in the formats of those who carry it out.
    Export(ExportArgs),
    /// Read a file of such a format, and say what it places where.
    Read(ReadArgs),
    /// Place the nodes of a kept cluster on its machine: they restart one after the other, and what
    /// the kernel and their JVMs say of it is shown. `--topology none` undoes it.
    Apply(ApplyArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ApplyArgs {
    #[command(flatten)]
    pub placing: PlacingArgs,
    #[command(flatten)]
    pub cluster: ClusterName,
}

/// Where on the machine the nodes of a cluster run, as `target.local.topology` of a study.
#[derive(Debug, ClapArgs)]
pub struct PlacingArgs {
    /// Where the nodes run: where the kernel puts them; anywhere and knowing nothing of sockets and
    /// NUMA nodes; on the NUMA nodes that the planner gives each; or on CPUs of their own.
    #[arg(long, value_name = "none|one-socket-per-vcpu|auto|pinned", default_value = "none",
          value_parser = placing)]
    pub topology: target_spec::Placing,
    /// CPUs of each node. Default: an equal share.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub node_cpus: Option<u32>,
    /// What the part of the machine that all nodes together have is counted in.
    #[arg(long, value_name = "cores|l3|numa|sockets", requires = "count",
          value_parser = word::<::topology::Units>)]
    pub units: Option<::topology::Units>,
    /// How many of them.
    #[arg(long, value_name = "COUNT", requires = "units",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub count: Option<u32>,
    /// Whole cores for a pinned node, or one thread of each.
    #[arg(long, value_name = "pack|one-per-core", value_parser = word::<::topology::Smt>)]
    pub smt: Option<::topology::Smt>,
    /// Cores of each NUMA node that no node gets.
    #[arg(long, value_name = "CORES", default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=64))]
    pub housekeeping_cores: u32,
    /// CPUs that are kept for the client.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub client_cpus: Option<u32>,
}

#[derive(Debug, ClapArgs)]
pub struct MachineArgs {
    /// A machine that is described instead of one that is asked: a folder with its /sys, a tarball
    /// of one (tar, tar.gz, tar.bz2), hwloc's XML, the output of `lscpu -J`, or a description like
    /// "pack:2 l3:1 core:8 pu:2".
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "cluster"])]
    pub machine: Option<PathBuf>,
    /// The hosts of a kept cluster, this machine, others that ssh finds, asked by this program,
    /// which is put into your cache there, or those of a cluster that is attached to, which --set
    /// names. Default: a kept cluster if there is one, else this machine.
    #[arg(long, value_name = "kept|local|ssh:HOST[,HOST...]|attach:HOST[:PORT]",
          value_parser = examined)]
    pub target: Option<MachineAt>,
    #[command(flatten)]
    pub ssh: SshArgs,
    #[command(flatten)]
    pub way_in: WayInArgs,
    #[command(flatten)]
    pub cluster: ClusterName,
}

#[derive(Debug, ClapArgs)]
pub struct PlacementArgs {
    #[command(flatten)]
    pub machine: MachineArgs,
    /// How many virtual machines or processes the machine is to carry.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub instances: u32,
    /// CPUs of each.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub vcpus: u32,
    /// Memory of each. Default: an equal share of the machine, and no more than its nodes have.
    #[arg(long, value_name = "SIZE", value_parser = study::units::parse_bytes)]
    pub memory: Option<u64>,
    /// Whose rules make the virtual hardware; none: processes on the machine itself.
    #[arg(long, value_name = "vsphere7|vsphere8|pinned|none", default_value = "pinned",
          value_parser = word::<::topology::Profile>)]
    pub profile: ::topology::Profile,
    /// Count threads where vSphere counts cores, as numa.vcpu.preferHT does.
    #[arg(long)]
    pub prefer_ht: bool,
    /// CPUs can be added to running machines, which then have one NUMA node.
    #[arg(long)]
    pub hot_add: bool,
    /// Whole cores, or one thread of each.
    #[arg(long, value_name = "pack|one-per-core", default_value = "pack",
          value_parser = word::<::topology::Smt>)]
    pub smt: ::topology::Smt,
    /// What is kept free for interrupts and the host: nothing, a core for each 16 of a NUMA node
    /// (perftune), so many cores of each node, or these CPUs.
    #[arg(long, value_name = "none|perftune|CORES|cpus:LIST", default_value = "none",
          value_parser = housekeeping)]
    pub housekeeping: ::topology::Housekeeping,
    /// How many CPUs of instances may share one of the machine's.
    #[arg(long, value_name = "RATIO", default_value = "1", value_parser = overcommit)]
    pub overcommit: f64,
    /// Garbage collector.
    #[arg(long, value_name = "g1|parallel|zgc|shenandoah|cms", default_value = "g1",
          value_parser = word::<::topology::Collector>)]
    pub gc: ::topology::Collector,
    /// Major version of the JDK.
    #[arg(long, value_name = "VERSION", default_value = "17",
          value_parser = clap::value_parser!(u32).range(8..=99))]
    pub jdk: u32,
    /// Drives of each instance.
    #[arg(long, value_name = "COUNT", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub drives: u32,
    /// Whose rule sizes the concurrency of reads and writes.
    #[arg(long, value_name = "apache|intel", default_value = "apache",
          value_parser = word::<::topology::YamlProfile>)]
    pub yaml: ::topology::YamlProfile,
    /// A device that instances should be near to, by its name; may be given again.
    #[arg(long, value_name = "NAME")]
    pub near: Vec<String>,
    /// What the machine is called: all of its instances are in the rack of this name, so that no
    /// two replicas share it.
    #[arg(long, value_name = "NAME", default_value = "host1")]
    pub host: String,
}

#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    /// The format, by its name; all: each of them that can say this plan.
    #[arg(value_name = "FORMAT", value_parser = export_format)]
    pub format: String,
    #[command(flatten)]
    pub placement: PlacementArgs,
    /// A folder for the files, made if it is not there; without it they are printed.
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// The machine is an AMD one: guests see their threads by topoext.
    #[arg(long)]
    pub topoext: bool,
    /// Memory of each NUMA node that Kubernetes leaves to the system.
    #[arg(long, value_name = "SIZE", default_value = "1GiB",
          value_parser = study::units::parse_bytes)]
    pub reserved_memory: u64,
    /// Container image of pods.
    #[arg(long, value_name = "NAME", default_value = "cassandra")]
    pub image: String,
}

#[derive(Debug, ClapArgs)]
pub struct ReadArgs {
    /// The format, by its name.
    #[arg(value_name = "FORMAT", value_parser = export_format)]
    pub format: String,
    /// The file.
    pub file: PathBuf,
}

/// A word of the planner's.
fn word<W: serde::de::DeserializeOwned>(text: &str) -> Result<W, String> {
    let word = serde_json::from_value(serde_json::Value::from(text));
    word.map_err(|error| format!("{error}"))
}

/// A rule by which nodes are placed.
fn placing(text: &str) -> Result<target_spec::Placing, String> {
    use target_spec::Placing;
    let names = || Placing::ALL.map(Placing::name).join(", ");
    Placing::of_name(text).ok_or_else(|| format!("it is one of {}", names()))
}

/// `none`, `perftune`, a number of cores, or `cpus:LIST`.
fn housekeeping(text: &str) -> Result<::topology::Housekeeping, String> {
    use ::topology::{CpuSet, Housekeeping};
    match (text, text.strip_prefix("cpus:")) {
        ("none", _) => Ok(Housekeeping::None),
        ("perftune", _) => Ok(Housekeeping::Perftune),
        (_, Some(list)) => {
            let cpus = CpuSet::parse_list(list);
            cpus.map(Housekeeping::Cpus).map_err(|error| error.to_string())
        }
        _ => {
            let cores = text
                .parse()
                .ok()
                .filter(|cores| (1..=1024).contains(cores))
                .ok_or("write none, perftune, a number of cores or cpus:LIST");
            Ok(Housekeeping::PerNode(cores?))
        }
    }
}

/// How many CPUs of instances one CPU may carry.
fn overcommit(text: &str) -> Result<f64, String> {
    let ratio = study::units::parse_number(text)?;
    let is_one = (1.0..=64.0).contains(&ratio);
    is_one.then_some(ratio).ok_or_else(|| "it is 1 to 64".to_owned())
}

/// A format of exports, or all of them.
fn export_format(text: &str) -> Result<String, String> {
    let names: Vec<&str> = ::topology::export::FORMATS.iter().map(|format| format.name).collect();
    if text == "all" || names.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("there are {}", names.join(", ")))
    }
}
