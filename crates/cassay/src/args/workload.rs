//! Arguments of `workload`.

use super::{contact_point, secret, target_setting};
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;
use target_spec::SecretSource;

#[derive(Debug, Subcommand)]
pub enum WorkloadCommand {
    /// List the named workloads.
    List,
    /// Show the operations and parameters of a named workload.
    Show {
        /// Name of the workload.
        #[arg(value_name = "WORKLOAD")]
        name: String,
    },
    /// Check a workload file and describe it. With --target, also check its statements on a server.
    ///
    /// Without --target, cassay contacts no server. With --target, cassay prepares every statement
    /// on the target, but executes no statements. cassay shows each statement that the server
    /// refuses and each value of the wrong type.
    ///
    /// If all tables of the file exist in the file's keyspace, cassay creates nothing and requires
    /// only a user that can log in. Otherwise, cassay creates the schema in a temporary keyspace
    /// (cassay_check_ and a number) and always drops the keyspace at the end. Creating this
    /// keyspace requires a user with the permission to create keyspaces.
    Check(CheckArgs),
    /// Write a workload file that imitates an existing table.
    ///
    /// Reads the schema and the first rows of some partitions, and changes nothing on the target.
    /// The file has the same columns, partition sizes, value lengths and compressibility, but
    /// contains no values of the table.
    Twin(TwinArgs),
    /// Show the contents of query logs, and the part that cassay can replay.
    ///
    /// Reads full query logs (`nodetool enablefullquerylog`) and audit logs, both in binary and in
    /// text format. A study replays logs with `workload: {recorded: {files: [FOLDER], speed: 1}}`.
    Recorded(RecordedArgs),
    /// Print the first rows that a workload would write.
    Sample {
        /// Name of a workload, or path of a workload file.
        #[arg(value_name = "WORKLOAD")]
        name: String,
        /// Number of rows to print.
        #[arg(long, value_name = "COUNT", default_value_t = 5)]
        rows: u64,
        /// Seed of all random values.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

#[derive(Debug, ClapArgs)]
pub struct TwinArgs {
    /// Table as keyspace.table. Quote names with capital letters: '"Shop"."Users"'.
    pub table: String,
    /// Cluster that contains the table: attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET", value_parser = attached)]
    pub target: String,
    /// Output file. cassay does not overwrite an existing file. Default: stdout.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Number of partitions to sample.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..=200_000))]
    pub keys: u64,
    /// Maximum number of partitions to read per second.
    #[arg(long, value_name = "RATE", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rate: u64,
    /// Setting of the target, written as in a study, such as target.attach.user=me. Repeatable.
    #[arg(long, value_name = "target.PATH=VALUE", value_parser = target_setting)]
    pub set: Vec<String>,
    /// Source of a secret that a setting names: NAME=file:PATH or NAME=env:VARIABLE. Repeatable.
    #[arg(long, value_name = "NAME=SOURCE", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
}

#[derive(Debug, ClapArgs)]
pub struct RecordedArgs {
    /// Folders or log files, one per node. A folder of folders contains the logs of several nodes.
    #[arg(required = true, value_name = "FOLDER")]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// Workload file.
    pub file: PathBuf,
    /// Prepare every statement on this server: attach:HOST[:PORT], or local for a node that cassay
    /// starts.
    #[arg(long, value_name = "TARGET", value_parser = server)]
    pub target: Option<String>,
    /// Setting of the target, written as in a study, such as target.attach.datacenter=dc1 or
    /// target.attach.tls={ca: FILE}. Repeatable.
    #[arg(long, value_name = "target.PATH=VALUE", requires = "target",
          value_parser = target_setting)]
    pub set: Vec<String>,
    /// Source of a secret that a setting names, written as NAME=file:PATH or NAME=env:VARIABLE. For
    /// example, target.attach.password={secret: db} names the secret db. Repeatable.
    #[arg(long, value_name = "NAME=SOURCE", requires = "target", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
}

fn attached(text: &str) -> Result<String, String> {
    contact_point(text).map(|_| text.to_owned())
}

pub(super) fn server(text: &str) -> Result<String, String> {
    match text {
        "null" => {
            Err("the null target adds no checks: remove --target, or name a server".to_owned())
        }
        "local" => Ok(text.to_owned()),
        _ => contact_point(text).map(|_| text.to_owned()),
    }
}
