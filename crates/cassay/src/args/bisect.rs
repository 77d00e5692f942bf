//! Arguments of `bisect`.

use super::{StudyArgs, ViewArgs};
use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct BisectArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// Builds in order, with the good build first: versions such as 5.0.6,5.0.7,5.0.8, or a YAML
    /// file. The file contains a list of versions, a mapping of build names to settings, or
    /// `revisions` with the command that builds each revision.
    #[arg(long, value_name = "LIST|FILE")]
    pub builds: String,
    /// Name of the good build. Default: the first build.
    #[arg(long, value_name = "NAME")]
    pub good: Option<String>,
    /// Name of the bad build. Default: the last build.
    #[arg(long, value_name = "NAME")]
    pub bad: Option<String>,
    /// Maximum number of blocks per comparison. cassay doubles the number if it has to repeat the
    /// comparison.
    #[arg(long, value_name = "COUNT", default_value_t = 8,
          value_parser = clap::value_parser!(u16).range(4..=500))]
    pub blocks: u16,
    #[command(flatten)]
    pub view: ViewArgs,
}
