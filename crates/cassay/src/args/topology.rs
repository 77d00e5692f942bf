//! Arguments of `topology`, and of the placement of nodes in other commands.

use super::ssh::examined;
use super::{ClusterName, MachineAt, SshArgs, WayInArgs};
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum TopologyCommand {
    /// Draw machines: packages, NUMA nodes, L3 caches, cores, CPUs and memory.
    Show(MachineArgs),
    /// Plan equal virtual machines or processes on a machine. For each instance, shows the CPUs,
    /// memory, virtual hardware, JVM and cassandra.yaml, with reasons.
    Plan(PlacementArgs),
    /// Write a plan in the formats of hypervisors and other tools.
    Export(ExportArgs),
    /// Read a file in an export format, and show the placement that the file describes.
    Read(ReadArgs),
    /// Place the nodes of a kept cluster on its machine. Restarts the nodes one by one, and shows
    /// the placement that the kernel and the JVMs of the nodes report. `--topology none` removes
    /// the placement.
    Apply(ApplyArgs),
}

#[derive(Debug, ClapArgs)]
pub struct ApplyArgs {
    #[command(flatten)]
    pub placing: PlacingArgs,
    #[command(flatten)]
    pub cluster: ClusterName,
}

/// Placement of the nodes of a cluster on the machine, as in `target.local.topology` of a study.
#[derive(Debug, ClapArgs)]
pub struct PlacingArgs {
    /// Placement of nodes: none (the kernel decides), one-socket-per-vcpu (anywhere, without
    /// knowledge of sockets and NUMA nodes), auto (on NUMA nodes that the planner assigns) or
    /// pinned (on exclusive CPUs).
    #[arg(long, value_name = "none|one-socket-per-vcpu|auto|pinned", default_value = "none",
          value_parser = placing)]
    pub topology: target_spec::Placing,
    /// Number of CPUs of each node. Default: an equal share of the CPUs.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub node_cpus: Option<u32>,
    /// Unit of --count. Together, --units and --count limit the part of the machine that all nodes
    /// may use.
    #[arg(long, value_name = "cores|l3|numa|sockets", requires = "count",
          value_parser = word::<::topology::Units>)]
    pub units: Option<::topology::Units>,
    /// Number of units (--units) that all nodes together may use.
    #[arg(long, value_name = "COUNT", requires = "units",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub count: Option<u32>,
    /// CPUs of a pinned node: pack (whole cores) or one-per-core (one thread of each core).
    #[arg(long, value_name = "pack|one-per-core", value_parser = word::<::topology::Smt>)]
    pub smt: Option<::topology::Smt>,
    /// Number of cores in each NUMA node to leave free of nodes, for interrupts and the system.
    #[arg(long, value_name = "CORES", default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=64))]
    pub housekeeping_cores: u32,
    /// Number of CPUs to reserve for the client.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub client_cpus: Option<u32>,
}

#[derive(Debug, ClapArgs)]
pub struct MachineArgs {
    /// Description of a machine, to use instead of a real machine. The description is a folder with
    /// the /sys of the machine, or a tarball of such a folder (tar, tar.gz, tar.bz2). It can also
    /// be hwloc XML, the output of `lscpu` with -J, -e or -p, or text such as "pack:2 l3:1 core:8
    /// pu:2".
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "cluster"])]
    pub machine: Option<PathBuf>,
    /// Machines to read: the hosts of a kept cluster, this machine, machines over ssh, or machines
    /// of an attached cluster, which --set names. Over ssh, cassay copies itself to your cache on
    /// the machine. Default: a kept cluster if one exists, otherwise this machine.
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
    /// Number of virtual machines or processes on the machine.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub instances: u32,
    /// Number of CPUs of each instance.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub vcpus: u32,
    /// Memory of each instance. Default: an equal share of the machine's memory, but at most the
    /// memory of the instance's NUMA nodes.
    #[arg(long, value_name = "SIZE", value_parser = study::units::parse_bytes)]
    pub memory: Option<u64>,
    /// Rules for the virtual hardware. For processes on the machine itself, use none.
    #[arg(long, value_name = "vsphere7|vsphere8|pinned|none", default_value = "pinned",
          value_parser = word::<::topology::Profile>)]
    pub profile: ::topology::Profile,
    /// Count threads instead of cores for vSphere's rules, as numa.vcpu.preferHT does.
    #[arg(long)]
    pub prefer_ht: bool,
    /// Allow adding CPUs to running virtual machines. Each virtual machine then has only one NUMA
    /// node.
    #[arg(long)]
    pub hot_add: bool,
    /// CPUs of an instance: pack (whole cores) or one-per-core (one thread of each core).
    #[arg(long, value_name = "pack|one-per-core", default_value = "pack",
          value_parser = word::<::topology::Smt>)]
    pub smt: ::topology::Smt,
    /// CPUs to reserve for interrupts and the host. Write none, perftune (1 core per 16 cores of a
    /// NUMA node), a number of cores per NUMA node, or a list of CPUs.
    #[arg(long, value_name = "none|perftune|CORES|cpus:LIST", default_value = "none",
          value_parser = housekeeping)]
    pub housekeeping: ::topology::Housekeeping,
    /// Maximum ratio of the CPUs of all instances to the CPUs of the machine.
    #[arg(long, value_name = "RATIO", default_value = "1", value_parser = overcommit)]
    pub overcommit: f64,
    /// Garbage collector of each instance's JVM.
    #[arg(long, value_name = "g1|parallel|zgc|shenandoah|cms", default_value = "g1",
          value_parser = word::<::topology::Collector>)]
    pub gc: ::topology::Collector,
    /// Major version of the JDK for each instance.
    #[arg(long, value_name = "VERSION", default_value = "17",
          value_parser = clap::value_parser!(u32).range(8..=99))]
    pub jdk: u32,
    /// Number of drives of each instance.
    #[arg(long, value_name = "COUNT", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub drives: u32,
    /// Rule for concurrent_reads and concurrent_writes: the comments in Apache's cassandra.yaml
    /// (apache), or Intel's guide (intel).
    #[arg(long, value_name = "apache|intel", default_value = "apache",
          value_parser = word::<::topology::YamlProfile>)]
    pub yaml: ::topology::YamlProfile,
    /// Name of a device close to which cassay places the instances. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub near: Vec<String>,
    /// Name of the machine. The name is also the rack of all instances of the machine, so that no
    /// two replicas share a machine.
    #[arg(long, value_name = "NAME", default_value = "host1")]
    pub host: String,
}

#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    /// Name of the format. With `all`, cassay writes each format that can express the plan.
    #[arg(value_name = "FORMAT", value_parser = export_format)]
    pub format: String,
    #[command(flatten)]
    pub placement: PlacementArgs,
    /// Output folder, created if necessary. Without this option, cassay prints the files.
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
    /// Set the CPU flag topoext, for AMD machines. Guests then see their CPU threads.
    #[arg(long)]
    pub topoext: bool,
    /// Memory of each NUMA node that Kubernetes reserves for the system.
    #[arg(long, value_name = "SIZE", default_value = "1GiB",
          value_parser = study::units::parse_bytes)]
    pub reserved_memory: u64,
    /// Container image of pods.
    #[arg(long, value_name = "NAME", default_value = "cassandra")]
    pub image: String,
}

#[derive(Debug, ClapArgs)]
pub struct ReadArgs {
    /// Name of the file's format.
    #[arg(value_name = "FORMAT", value_parser = export_format)]
    pub format: String,
    /// File to read.
    pub file: PathBuf,
}

/// Parses a value of an enum of the crate `topology`, by its name in JSON.
fn word<W: serde::de::DeserializeOwned>(text: &str) -> Result<W, String> {
    let word = serde_json::from_value(serde_json::Value::from(text));
    word.map_err(|error| format!("{error}"))
}

fn placing(text: &str) -> Result<target_spec::Placing, String> {
    use target_spec::Placing;
    let names = || Placing::ALL.map(Placing::name).join(", ");
    Placing::from_name(text).ok_or_else(|| format!("write one of {}", names()))
}

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

fn overcommit(text: &str) -> Result<f64, String> {
    let ratio = study::units::parse_number(text)?;
    let is_one = (1.0..=64.0).contains(&ratio);
    is_one.then_some(ratio).ok_or_else(|| "write a number from 1 to 64".to_owned())
}

fn export_format(text: &str) -> Result<String, String> {
    let names: Vec<&str> = ::topology::export::FORMATS.iter().map(|format| format.name).collect();
    if text == "all" || names.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("there are {}", names.join(", ")))
    }
}
