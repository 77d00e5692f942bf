//! What `workload` takes.

use super::{contact_point, secret, target_setting};
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;
use target_spec::SecretSource;

#[derive(Debug, Subcommand)]
pub enum WorkloadCommand {
    /// List the named workloads.
    List,
    /// Show one with its kinds and parameters.
    Show {
        /// Its name.
        name: String,
    },
    /// Check a workload file, and say what it would do; with --target, as a server sees it.
    ///
    /// Without --target nothing is started and nobody is asked. With it every statement is prepared
    /// on the target and none is executed: what the server refuses is shown where it stands, and so
    /// is a value of another type than the server takes. Where all tables of the file are in its
    /// keyspace, nothing is made, and a user who may log in is enough. Where one is missing, the
    /// schema is made in a keyspace of its own (cassay_check_ and a number), which is dropped when
    /// the check ends, however it does; that takes a user who may create keyspaces.
    Check(CheckArgs),
    /// Write a workload file that makes a table like one that is there.
    ///
    /// The table's schema and the first rows of some of its partitions are read from the target,
    /// and nothing is changed there. The file has the same columns, partitions of the same sizes,
    /// and values as long that compress as far; it has no value of the table itself.
    Twin(TwinArgs),
    /// Say what Cassandra has recorded in query logs, and what of it can be offered again.
    ///
    /// Full query logs (`nodetool enablefullquerylog`) and audit logs are read, binary and text. A
    /// study offers what is shown with `workload: {recorded: {files: [FOLDER], speed: 1}}`.
    Recorded(RecordedArgs),
    /// Print the first rows that a workload would write.
    Sample {
        /// A named workload, or a workload file.
        name: String,
        /// Number of rows.
        #[arg(long, default_value_t = 5)]
        rows: u64,
        /// The seed of what is random.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

#[derive(Debug, ClapArgs)]
pub struct TwinArgs {
    /// The table, as keyspace.table; names with capital letters are quoted: '"Shop"."Users"'.
    pub table: String,
    /// The cluster that has it: attach:HOST[:PORT].
    #[arg(long, value_name = "TARGET", value_parser = attached)]
    pub target: String,
    /// The workload file to write; it is not overwritten. Without it the file goes to stdout.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Partitions that are looked at.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(1..=200_000))]
    pub keys: u64,
    /// Partitions that are asked for in a second, at most.
    #[arg(long, value_name = "PER SECOND", default_value_t = 1_000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rate: u64,
    /// A setting of the target as in a study, as target.attach.user=me; may be given again.
    #[arg(long, value_name = "target.PATH=VALUE", value_parser = target_setting)]
    pub set: Vec<String>,
    /// Where the secret is that a setting has a name for: NAME=file:PATH or NAME=env:VARIABLE; may
    /// be given again.
    #[arg(long, value_name = "NAME=WHERE", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
}

#[derive(Debug, ClapArgs)]
pub struct RecordedArgs {
    /// Folders or files of logs, one for each node; a folder of folders has those of several.
    #[arg(required = true, value_name = "FOLDER")]
    pub files: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// The file.
    pub file: PathBuf,
    /// Prepare every statement there: attach:HOST[:PORT], or local for a node of ours.
    #[arg(long, value_name = "TARGET", value_parser = server)]
    pub target: Option<String>,
    /// A setting of the target as in a study, as target.attach.datacenter=dc1 or
    /// target.attach.tls={ca: FILE}; may be given again.
    #[arg(long, value_name = "target.PATH=VALUE", requires = "target",
          value_parser = target_setting)]
    pub set: Vec<String>,
    /// Where the secret is that a setting has a name for, as db in target.attach.password={secret:
    /// db}: NAME=file:PATH or NAME=env:VARIABLE; may be given again.
    #[arg(long, value_name = "NAME=WHERE", requires = "target", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
}

/// A cluster that is there.
fn attached(text: &str) -> Result<String, String> {
    contact_point(text).map(|_| text.to_owned())
}

/// A target that can say something of statements.
pub(super) fn server(text: &str) -> Result<String, String> {
    match text {
        "null" => Err("the null target knows no more than the check does without it".to_owned()),
        "local" => Ok(text.to_owned()),
        _ => contact_point(text).map(|_| text.to_owned()),
    }
}
