//! Exit codes: how a command ended, for scripts.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; of a run: valid or suspect.
    Done,
    /// It could not be done.
    Error,
    /// The command line or the study has mistakes.
    Usage,
    /// The run was done, and may not be believed.
    Invalid,
    /// A stated requirement was missed.
    Missed,
    /// Files of a run are not what they were.
    Damaged,
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl Exit {
    /// All of them, in the order of their numbers.
    pub const ALL: [Exit; 7] = [
        Exit::Done,
        Exit::Error,
        Exit::Usage,
        Exit::Invalid,
        Exit::Missed,
        Exit::Damaged,
        Exit::Interrupted,
    ];

    /// What it says to who reads the number.
    pub fn what(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Error => "error",
            Exit::Usage => "usage or mistakes in the study",
            Exit::Invalid => "the run is invalid",
            Exit::Missed => "a stated requirement was missed",
            Exit::Damaged => "files of a run are damaged",
            Exit::Interrupted => "interrupted",
        }
    }

    /// The number that a shell sees.
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
