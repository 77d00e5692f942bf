//! Ctrl-C: the first asks the run to end, with everything torn down; the second ends us at once. So
//! do SIGTERM, and SIGHUP: a terminal that is closed.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Becomes true with the first Ctrl-C (or SIGTERM, or SIGHUP). A second one ends the process where
/// it is; what then stays behind is cleared by the next command.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the default action is armed by the flag that the next line sets, so it
        // is taken from the second signal on.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("listen for Ctrl-C")?;
    }
    Ok(flag)
}
