//! Exit codes: a closed list.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; a run is valid or suspect.
    Valid,
    /// Something could not be done.
    Error,
    /// The command line or the study is wrong; nothing was started.
    Usage,
    /// The run is invalid.
    Invalid,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The number for the shell.
    pub fn code(self) -> u8 {
        match self {
            Exit::Valid => 0,
            Exit::Error => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Shows what the parser of the command line has to say: help and version are no errors.
pub fn of_clap(refusal: &clap::Error) -> Exit {
    let _ = refusal.print();
    if refusal.use_stderr() {
        Exit::Usage
    } else {
        Exit::Valid
    }
}
