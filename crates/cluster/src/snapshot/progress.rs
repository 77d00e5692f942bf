//! Progress of long transfers. Any thread may count bytes, but only one thread reports progress.

use anyhow::{Result, anyhow, bail};
use host::process;
use measure::number::bytes;
use std::sync::mpsc::{self, Sender};

/// Number of equal parts of a transfer. Each part except the last one ends with a progress report.
const PARTS_COUNT: u64 = 10;

/// Counter of bytes for any thread.
pub(super) struct Counter(Sender<u64>);

impl Counter {
    /// # Errors
    /// The user has interrupted the command.
    pub fn add(&self, bytes: usize) -> Result<()> {
        if process::is_interrupted() {
            bail!("interrupted");
        }
        // Sending cannot fail, because the receiver outlives all counters.
        let _ = self.0.send(bytes as u64);
        Ok(())
    }
}

/// Runs `work`, and reports its counted bytes at intervals, relative to `total`.
pub(super) fn with_progress<T: Send>(
    total: u64,
    say: &mut dyn FnMut(&str),
    work: impl FnOnce(&Counter) -> Result<T> + Send,
) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || work(&Counter(sender)));
        let step = total.div_ceil(PARTS_COUNT).max(1);
        let (mut done, mut next) = (0u64, step);
        for more in receiver {
            done += more;
            if done >= next && done < total {
                say(&format!("{} of {}", bytes(done), bytes(total)));
                next = (done / step + 1) * step;
            }
        }
        worker.join().unwrap_or_else(|_| Err(anyhow!("a thread panicked")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_by_tenths_and_the_result_is_returned() {
        let mut said = Vec::new();
        let result = with_progress(
            1000,
            &mut |text: &str| said.push(text.to_owned()),
            |counter| {
                for _ in 0..100 {
                    counter.add(10)?;
                }
                Ok(7)
            },
        );
        assert_eq!(result.unwrap(), 7);
        assert_eq!(said.len(), 9, "{said:?}");
        let failed = with_progress(0, &mut |_| (), |_| Err::<(), _>(anyhow!("no")));
        assert_eq!(failed.unwrap_err().to_string(), "no");
    }
}
