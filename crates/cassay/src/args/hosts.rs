//! Arguments of `hosts` and `kubernetes`.

use ::kubernetes::access::Purpose;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum HostsCommand {
    /// Check that machines can run nodes: connection, free memory and disk, Java, clocks, settings,
    /// and leftovers of earlier commands.
    ///
    /// Leaves no files except this program on the machines. Exits with code 1 if a machine is too
    /// small for a node with the default heap.
    Check {
        /// File that contains a list `machines` with one `{ssh: HOST, folder: PATH}` for each
        /// machine.
        file: PathBuf,
    },
    /// Benchmark the disk of each folder, with one uncached request at a time, and the network
    /// between all pairs of machines.
    Bench {
        /// File that contains a list `machines` with one `{ssh: HOST, folder: PATH}` for each
        /// machine.
        file: PathBuf,
    },
    /// Remove the leftovers of clusters that do not belong to a run.
    Clean {
        /// File that contains a list `machines` with one `{ssh: HOST, folder: PATH}` for each
        /// machine.
        file: PathBuf,
        /// Remove all of cassay's files on the machines, including running clusters, jars and
        /// programs.
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum KubernetesCommand {
    /// Print the role that runs require in a namespace, and the binding of the role, for `kubectl
    /// apply -f -`.
    ///
    /// The role has exactly the verbs that a run uses. A run checks each verb before it creates
    /// anything.
    Rbac(RbacArgs),
    /// Run a study in a pod of the cluster, show its output, and copy its results to this machine.
    ///
    /// Creates a Job with the study in a ConfigMap and copies this program into its pod. The Job
    /// continues if this command is interrupted or killed; `kubectl delete job NAME` stops it. At
    /// the end, cassay copies the results to this machine and removes everything that it created.
    /// If this command has ended by then, the pod keeps the results for one day. A volume claim
    /// keeps the results permanently.
    Run(InsideArgs),
}

#[derive(Debug, ClapArgs)]
pub struct InsideArgs {
    /// Study file. The files that the study names must be in the same folder.
    pub study: PathBuf,
    /// Container image of the pod, such as an image of Cassandra. The image must contain `sh`,
    /// `head`, `chmod` and `tar`.
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// Context of the kubectl configuration to use. Default: the current context.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the pod. Default: the namespace of the context.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub namespace: Option<String>,
    /// Number of CPUs of the pod, as request and limit.
    #[arg(long, value_name = "CPUS", default_value = "2", value_parser = millicpus)]
    pub cpus: u32,
    /// Memory of the pod, as request and limit.
    #[arg(long, value_name = "SIZE", default_value = "2GiB",
          value_parser = study::units::parse_bytes)]
    pub memory: u64,
    /// Service account of the pod, for runs that use Kubernetes themselves. The image must then
    /// contain `kubectl`.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub account: Option<String>,
    /// Volume claim on which to store the results.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub claim: Option<String>,
    /// Options of `cassay run` in the pod, such as -- --scale laptop --allow create=ks
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}

fn millicpus(text: &str) -> Result<u32, String> {
    let cpus = study::units::parse_number(text)?;
    if (0.1..=256.0).contains(&cpus) {
        Ok((cpus * 1000.0).round() as u32)
    } else {
        Err("the number must be from 0.1 to 256".to_owned())
    }
}

#[derive(Debug, ClapArgs)]
pub struct RbacArgs {
    /// Namespace of the role.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = kubernetes_name)]
    pub namespace: String,
    /// Purposes of the role: clients (`client.kubernetes`); nodes (`target.local.pods`); inside
    /// (`kubernetes run`); service, cass_operator, k8ssandra or agents
    /// (`target.attach.kubernetes`). For faults of pods: pod_faults, cordons, policies, rollouts or
    /// tasks.
    #[arg(long = "for", value_name = "PURPOSE", value_delimiter = ',', default_value = "clients",
          value_parser = purpose)]
    pub purposes: Vec<Purpose>,
    /// Secret that the role may read: the superuser secret of a cluster. Repeatable.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub secret: Vec<String>,
    /// Name of the cluster's user to bind the role to.
    #[arg(long, value_name = "NAME", conflicts_with = "account")]
    pub user: Option<String>,
    /// Name of the service account to create and to bind the role to.
    #[arg(long, value_name = "NAME", default_value = "cassay", value_parser = kubernetes_name)]
    pub account: String,
}

fn purpose(text: &str) -> Result<Purpose, String> {
    let found = Purpose::ALL.into_iter().find(|(word, _)| *word == text);
    let words = Purpose::ALL.map(|(word, _)| word).join(", ");
    found.map(|(_, purpose)| purpose).ok_or_else(|| format!("write one of {words}"))
}

fn kubernetes_name(text: &str) -> Result<String, String> {
    if target_spec::is_kubernetes_name(text) {
        Ok(text.to_owned())
    } else {
        Err("use only lower-case letters, digits and `-`".to_owned())
    }
}
