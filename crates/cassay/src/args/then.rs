//! Arguments for the user's command at the end of a run.

use clap::Args as ClapArgs;

/// A command that cassay runs at the end of a run.
#[derive(Clone, Debug, ClapArgs)]
pub struct ThenArgs {
    /// Run this shell command when the run has ended and its report is written. CASSAY_RUN,
    /// CASSAY_REPORT, CASSAY_STUDY, CASSAY_VERDICT and CASSAY_EXIT describe the run. The journal
    /// gets the output.
    #[arg(long, value_name = "COMMAND")]
    pub then: Option<String>,
    /// Stop the command of --then after this time.
    #[arg(long, value_name = "TIME", default_value = "5m", requires = "then",
          value_parser = study::units::parse_duration_ns)]
    pub then_within: u64,
    /// Exit with code 1 if the run succeeds but the command of --then fails.
    #[arg(long, requires = "then")]
    pub then_required: bool,
}

impl Default for ThenArgs {
    fn default() -> ThenArgs {
        ThenArgs {
            then: None,
            then_within: 300_000_000_000,
            then_required: false,
        }
    }
}
