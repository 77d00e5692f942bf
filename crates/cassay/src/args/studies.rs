//! Arguments of `studies`, `demo` and `plan`.

use super::{ShownArgs, StudyArgs};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum StudiesCommand {
    /// List the studies and workload files that are in the program.
    List,
    /// Write one of them as a file, with the files that it needs; what is there is kept.
    Copy(CopyArgs),
}

#[derive(Debug, ClapArgs)]
pub struct CopyArgs {
    /// Its name, as `studies list` shows it, or the folder of several.
    pub name: String,
    /// The folder that it is written into, instead of the one that you are in; it is made.
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// Of what: local, a Cassandra on this machine, or null, a server in cassay, which needs no
    /// Java and says nothing about Cassandra.
    #[arg(long, value_name = "TARGET", value_enum, default_value = "local")]
    pub target: DemoTarget,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// What a demo is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoTarget {
    /// One Cassandra on this machine.
    Local,
    /// The null target.
    Null,
}

#[derive(Debug, ClapArgs)]
pub struct PlanArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// Ask no cluster: for planning where it cannot be reached.
    #[arg(long)]
    pub offline: bool,
}
