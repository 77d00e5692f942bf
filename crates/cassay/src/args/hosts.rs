//! What is taken about machines of one's own, and about Kubernetes.

use ::kubernetes::access::Purpose;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum HostsCommand {
    /// Say of each machine whether nodes can be put there: how it is reached, its room, Java,
    /// clocks and settings, and what earlier commands have left.
    ///
    /// Nothing is left there but this program. It ends with 1 if a machine is not fit for a node
    /// with the usual heap.
    Check {
        /// A file with a list `machines`, each `{ssh: HOST, folder: PATH}`.
        file: PathBuf,
    },
    /// Measure what the machines are: the disk of each folder, one request at a time past every
    /// cache, and the network between all pairs.
    Bench {
        /// A file with a list `machines`, each `{ssh: HOST, folder: PATH}`.
        file: PathBuf,
    },
    /// Remove what clusters have left there that nobody has.
    Clean {
        /// A file with a list `machines`, each `{ssh: HOST, folder: PATH}`.
        file: PathBuf,
        /// Remove everything of cassay's there: clusters that run, too, jars and programs.
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum KubernetesCommand {
    /// Print the role that runs need in a namespace, with who has it, as a file for `kubectl apply
    /// -f -`.
    ///
    /// It has each verb that is used and no other; a run asks for each of them before it makes
    /// anything.
    Rbac(RbacArgs),
    /// Run a study in a pod of the cluster, show what it says, and bring its results home.
    ///
    /// It is a Job with the study in a ConfigMap; this program is put into its pod. It goes on when
    /// this command is interrupted or killed; `kubectl delete job NAME` ends it. When it has ended
    /// its results are brought here, and all that was made for it is gone; with nobody to take
    /// them, they stay for a day, and on a claim for good.
    Run(InsideArgs),
}

#[derive(Debug, ClapArgs)]
pub struct InsideArgs {
    /// The study, with the files that it names beside it.
    pub study: PathBuf,
    /// The image of the pod, with `sh`, `head`, `chmod` and `tar`, such as that of Cassandra.
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// The context of kubectl's configuration; the current one when absent.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The namespace; that of the context when absent.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub namespace: Option<String>,
    /// CPUs of the pod, requested and not exceeded.
    #[arg(long, value_name = "CPUS", default_value = "2", value_parser = millicpus)]
    pub cpus: u32,
    /// Memory of the pod, requested and not exceeded.
    #[arg(long, value_name = "SIZE", default_value = "2GiB",
          value_parser = study::units::parse_bytes)]
    pub memory: u64,
    /// The service account of the pod, where the run itself asks Kubernetes for something; its
    /// image needs `kubectl` then.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub account: Option<String>,
    /// A claim of a volume for the results, which stay there, too.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub claim: Option<String>,
    /// What `cassay run` is told there: -- --scale laptop --allow create=ks
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}

fn millicpus(text: &str) -> Result<u32, String> {
    let cpus = study::units::parse_number(text)?;
    if (0.1..=256.0).contains(&cpus) {
        Ok((cpus * 1000.0).round() as u32)
    } else {
        Err("from 0.1 to 256".to_owned())
    }
}

#[derive(Debug, ClapArgs)]
pub struct RbacArgs {
    /// The namespace that the role is of.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = kubernetes_name)]
    pub namespace: String,
    /// What it is for: clients (`client.kubernetes`), nodes (`target.local.pods`), and what is
    /// attached to (`target.attach.kubernetes`): service, cass_operator, k8ssandra, agents there,
    /// and faults of its pods: pod_faults, cordons, policies, rollouts, tasks.
    #[arg(long = "for", value_name = "WORD", value_delimiter = ',', default_value = "clients",
          value_parser = purpose)]
    pub purposes: Vec<Purpose>,
    /// A secret that may be read: the superuser's of a cluster; may be given again.
    #[arg(long, value_name = "NAME", value_parser = kubernetes_name)]
    pub secret: Vec<String>,
    /// The user who has the role, as the cluster knows him.
    #[arg(long, value_name = "NAME", conflicts_with = "account")]
    pub user: Option<String>,
    /// The service account that has the role; it is made with it.
    #[arg(long, value_name = "NAME", default_value = "cassay", value_parser = kubernetes_name)]
    pub account: String,
}

fn purpose(text: &str) -> Result<Purpose, String> {
    let found = Purpose::ALL.into_iter().find(|(word, _)| *word == text);
    let words = Purpose::ALL.map(|(word, _)| word).join(", ");
    found.map(|(_, purpose)| purpose).ok_or_else(|| format!("it is one of {words}"))
}

fn kubernetes_name(text: &str) -> Result<String, String> {
    if ::kubernetes::is_name(text) {
        Ok(text.to_owned())
    } else {
        Err("write lower case letters, digits and `-`".to_owned())
    }
}
