//! Thread that repeats an action while a fault lasts.

use anyhow::{Context, Result};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Thread that ends when this value is dropped.
pub(super) struct RepeatingThread {
    ends: Sender<()>,
    thread: JoinHandle<()>,
}

impl RepeatingThread {
    /// Starts the thread. `work` must regularly check whether it may continue.
    pub fn start(
        name: &str,
        work: impl FnOnce(GoesOn) + Send + 'static,
    ) -> Result<RepeatingThread> {
        let (ends, dropped) = channel();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let run = move || work(GoesOn(dropped));
        let thread = thread.spawn(run).context("start a thread")?;
        Ok(RepeatingThread { ends, thread })
    }

    pub fn end(self) {
        drop(self.ends);
        let _ = self.thread.join();
    }
}

/// Receives the end of a [`RepeatingThread`].
pub(super) struct GoesOn(Receiver<()>);

impl GoesOn {
    /// Waits for this duration. Returns false immediately when the thread must end.
    pub fn after(&self, wait: Duration) -> bool {
        self.0.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
    }
}
