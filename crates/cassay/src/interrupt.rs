//! Handles Ctrl-C. The first Ctrl-C requests the end of the run, with full cleanup. The second
//! Ctrl-C ends the process at once, after restoring the terminal from a full screen. SIGTERM has
//! the same effect as Ctrl-C. So has SIGHUP, which a closed terminal sends.

use crate::terminal;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns a flag that the first Ctrl-C (or SIGTERM, or SIGHUP) sets. A second signal ends the
/// process immediately. In this case, the next command clears the leftovers.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let is_second = Arc::clone(&flag);
        let give_back = move || {
            if is_second.load(Ordering::Relaxed) {
                terminal::give_back();
            }
        };
        // SAFETY: the handler reads an atomic value. It restores a taken terminal by two system
        // calls, with settings that were saved before. It takes no lock and allocates no memory.
        unsafe { signal_hook::low_level::register(signal, give_back) }
            .context("listen for Ctrl-C")?;
        // The order matters. The flag that the next line sets enables the default action, so this
        // action applies only from the second signal on.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("listen for Ctrl-C")?;
    }
    Ok(flag)
}
