//! Ctrl-C: the first asks the run to end, with everything torn down; the second ends us at once. So
//! do SIGTERM, and SIGHUP: a terminal that is closed. A full screen is given back before that.

use crate::terminal;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Becomes true with the first Ctrl-C (or SIGTERM, or SIGHUP). A second one ends the process where
/// it is; what then stays behind is cleared by the next command.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let is_second = Arc::clone(&flag);
        let give_back = move || {
            if is_second.load(Ordering::Relaxed) {
                terminal::give_back();
            }
        };
        // SAFETY: the handler reads an atomic, and gives a taken terminal back by two system calls
        // with what was put down before: it takes no lock and no memory.
        unsafe { signal_hook::low_level::register(signal, give_back) }
            .context("listen for Ctrl-C")?;
        // In this order: the default action is armed by the flag that the next line sets, so it
        // is taken from the second signal on.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("listen for Ctrl-C")?;
    }
    Ok(flag)
}
