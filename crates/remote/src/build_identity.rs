//! Identity and build of an agent. The controller first compares the builds of both programs.

use crate::process::Identity;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// First message of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Build of the agent. The controller refuses an agent of another build.
    pub build: String,
    pub process: Identity,
}

impl Hello {
    /// Returns the first message of this process.
    pub fn own() -> Hello {
        Hello {
            build: build(),
            process: Identity::own(),
        }
    }
}

static BUILD: OnceLock<&'static str> = OnceLock::new();

/// Sets the build of this program before the first conversation. Only the first call has an effect.
pub fn name_build(build: &'static str) {
    let _ = BUILD.set(build);
}

pub(crate) fn build() -> String {
    BUILD.get().copied().unwrap_or("without a name").to_owned()
}
