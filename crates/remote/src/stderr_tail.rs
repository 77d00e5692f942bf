//! Last output of a program on stderr. A thread reads the output as it arrives, so that the program
//! never blocks, and keeps only the last bytes.

use anyhow::{Context, Result};
use measure::clock::Deadline;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Number of kept bytes. A banner may come first, but the relevant lines come last.
const KEPT_BYTES: usize = 16 << 10;

/// Time limit for the last output of a program that has closed the connection.
pub(crate) const LAST_WORDS_LIMIT: Duration = Duration::from_secs(1);

/// Describes why an agent sends no more messages, with the last output of the process that connects
/// to the agent.
pub(crate) fn silence_reason(way: Option<&LastWords>) -> String {
    let Some(words) = way else {
        return "the other machine closed the connection".to_owned();
    };
    match words.lines(LAST_WORDS_LIMIT).pop() {
        Some(line) => format!("the process that connects to the agent ended: {line}"),
        None => "the process that connects to the agent ended without a message".to_owned(),
    }
}

/// Last output of a program on stderr.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    words: Mutex<Words>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Words {
    bytes: VecDeque<u8>,
    is_ended: bool,
}

impl LastWords {
    /// Reads `from` up to its end in a separate thread.
    pub(crate) fn read(mut from: impl Read + Send + 'static) -> Result<Arc<LastWords>> {
        let last = Arc::new(LastWords::default());
        let kept = Arc::clone(&last);
        let follow = move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                kept.add(&piece[..count]);
            }
            kept.lock().is_ended = true;
            kept.ended.notify_all();
        };
        let thread = std::thread::Builder::new().name("last words".to_owned());
        thread.spawn(follow).context("start a thread that reads errors")?;
        Ok(last)
    }

    fn add(&self, piece: &[u8]) {
        let bytes = &mut self.lock().bytes;
        bytes.extend(piece);
        let surplus = bytes.len().saturating_sub(KEPT_BYTES);
        bytes.drain(..surplus);
    }

    /// Returns the non-empty lines. Waits at most `patience` for the end of the output, because
    /// another process may hold the pipe open.
    pub(crate) fn lines(&self, patience: Duration) -> Vec<String> {
        let deadline = Deadline::after(patience);
        let mut words = self.lock();
        while !words.is_ended && !deadline.passed() {
            let waited = self.ended.wait_timeout(words, deadline.left());
            (words, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let bytes: Vec<u8> = words.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }

    /// Drops the output that was read so far.
    pub(crate) fn forget(&self) {
        self.lock().bytes.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Words> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn of_a_megabyte_the_last_words_are_kept() {
        let banner = "You are watched.\r\n".repeat(60_000);
        let said = format!("{banner}\r\nsh: 1: exec: /x: Permission denied\n");
        let last = LastWords::read(std::io::Cursor::new(said)).unwrap();
        let lines = last.lines(LIMIT);
        let end = lines.last().map(String::as_str);
        assert_eq!(end, Some("sh: 1: exec: /x: Permission denied"));
        assert!(last.lock().bytes.len() <= KEPT_BYTES);
    }

    #[test]
    fn a_pipe_that_somebody_holds_open_is_not_waited_for() {
        let (reader, writer) = std::io::pipe().unwrap();
        let last = LastWords::read(reader).unwrap();
        assert!(last.lines(Duration::ZERO).is_empty());
        std::io::Write::write_all(&mut &writer, b"x").unwrap();
        drop(writer);
        assert_eq!(last.lines(LIMIT), ["x"]);
    }
}
