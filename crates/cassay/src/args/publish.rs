//! Arguments of `cassay publish`.

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub struct PublishArgs {
    /// Runs to publish: a folder, `latest`, a study (its newest run), `study/stamp`, or the
    /// beginning of such a name. With several runs, cassay also writes a page about all of them.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Output folder, or a file that ends with .html for one run.
    #[arg(value_name = "FOLDER|FILE")]
    pub to: PathBuf,
    /// File with the private strings and their replacements. If it does not exist, cassay writes it
    /// and publishes nothing. Otherwise cassay uses it.
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Also replace the names of keyspaces, tables, data centers and racks.
    #[arg(long)]
    pub names: bool,
    /// Publish without asking for confirmation.
    #[arg(long)]
    pub yes: bool,
    /// Replace an earlier publication.
    #[arg(long)]
    pub force: bool,
}
