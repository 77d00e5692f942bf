//! Exit codes of commands, for scripts.

use std::process::ExitCode;

/// Result of a command. Each variant has an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success. For a run, the verdict is valid or suspect.
    Done,
    /// The command failed.
    Error,
    /// The command line or the study has mistakes.
    Usage,
    /// The run has ended, and its verdict is invalid.
    Invalid,
    /// A requirement of the study was missed.
    Missed,
    /// Files of a run are damaged.
    Damaged,
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl Exit {
    /// All exits, in the order of their codes.
    pub const ALL: [Exit; 7] = [
        Exit::Done,
        Exit::Error,
        Exit::Usage,
        Exit::Invalid,
        Exit::Missed,
        Exit::Damaged,
        Exit::Interrupted,
    ];

    /// Returns the meaning of the code.
    pub fn what(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Error => "error",
            Exit::Usage => "wrong command line or mistakes in the study",
            Exit::Invalid => "the run is invalid",
            Exit::Missed => "a requirement was missed",
            Exit::Damaged => "files in the folder of a run are damaged",
            Exit::Interrupted => "interrupted",
        }
    }

    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Error => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Missed => 4,
            Exit::Damaged => 5,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}
