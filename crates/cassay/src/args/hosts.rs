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
}

#[derive(Debug, ClapArgs)]
pub struct RbacArgs {
    /// The namespace that the role is of.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = kubernetes_name)]
    pub namespace: String,
    /// What it is for: clients (`client.kubernetes`), nodes (`target.local.pods`), and what is
    /// attached to (`target.attach.kubernetes`): service, cass_operator, k8ssandra, and agents
    /// there.
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
