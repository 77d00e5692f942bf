//! Arguments of `studies`, `demo` and `plan`.

use super::{ShownArgs, StudyArgs};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum StudiesCommand {
    /// List the studies and workload files that the program contains.
    List,
    /// Copy a study to a file, with the files that the study needs. cassay does not overwrite
    /// existing files.
    Copy(CopyArgs),
}

#[derive(Debug, ClapArgs)]
pub struct CopyArgs {
    /// Name of the study, as shown by `studies list`, or the folder of several studies.
    pub name: String,
    /// Output folder, created if necessary. Default: the current folder.
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// System to measure.
    #[arg(long, value_name = "TARGET", value_enum, default_value = "local")]
    pub target: DemoTarget,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// System that a demo measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoTarget {
    /// One Cassandra node on this machine.
    Local,
    /// Server inside cassay, which requires no Java and does not measure Cassandra.
    Null,
}

#[derive(Debug, ClapArgs)]
pub struct PlanArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// Plan without contacting the cluster, for a target that this machine cannot reach.
    #[arg(long)]
    pub offline: bool,
}
