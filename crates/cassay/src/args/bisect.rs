//! What `bisect` takes.

use super::{StudyArgs, ViewArgs};
use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct BisectArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// The builds in their order, the good one first: versions, as 5.0.6,5.0.7,5.0.8, or a file
    /// with a list of them, or with a mapping of names, each to what it lays over the study.
    #[arg(long, value_name = "LIST|FILE")]
    pub builds: String,
    /// The build that is good; without it the first one.
    #[arg(long, value_name = "NAME")]
    pub good: Option<String>,
    /// The build that is bad; without it the last one.
    #[arg(long, value_name = "NAME")]
    pub bad: Option<String>,
    /// Blocks of a comparison at the most; twice as many where it has to be made again.
    #[arg(long, value_name = "COUNT", default_value_t = 8,
          value_parser = clap::value_parser!(u16).range(4..=500))]
    pub blocks: u16,
    #[command(flatten)]
    pub view: ViewArgs,
}
