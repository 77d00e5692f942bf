//! Who an agent is, and of which build: what both sides compare before anything else.

use crate::process::Identity;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// What an agent says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The build that it is. There is no conversation with another one than ours.
    pub build: String,
    /// Its process.
    pub process: Identity,
}

impl Hello {
    /// Our own.
    pub fn own() -> Hello {
        Hello {
            build: build(),
            process: Identity::own(),
        }
    }
}

static BUILD: OnceLock<&'static str> = OnceLock::new();

/// Names the build that we are, before the first conversation. Only the first call counts.
pub fn name_build(build: &'static str) {
    let _ = BUILD.set(build);
}

pub(crate) fn build() -> String {
    BUILD.get().copied().unwrap_or("without a name").to_owned()
}
