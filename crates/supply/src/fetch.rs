//! Fetches several files of a repository in parallel into a folder, and continues partial files.
//!
//! A file has the name NAME.part until it is complete and its digest matches the lock. So at any
//! time, the folder contains only complete files, and partial files that the next fetch continues.

use crate::failure::Failure;
use crate::files::digest_of;
use crate::lock::PinnedFile;
use crate::progress::{Message, Progress, Voice};
use crate::repository::{Answer, Repository};
use measure::clock::Deadline;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Number of simultaneous fetches. For small files, most of the time passes before the first byte.
const AT_ONCE: usize = 4;

/// Interval between two progress reports, and between two checks for an interrupt.
const LOOK: Duration = Duration::from_millis(200);

const PIECE_BYTES: usize = 64 << 10;

struct Shared {
    repository: Repository,
    folder: PathBuf,
    /// Files that no thread has begun to fetch.
    left: Mutex<std::vec::IntoIter<PinnedFile>>,
    /// Number of received bytes of all files, without discarded bytes.
    bytes: AtomicI64,
    /// True if threads must not begin further files.
    is_over: AtomicBool,
}

/// Fetches files into a folder. The progress includes the files in `before`, which were already
/// complete.
///
/// # Errors
/// The failure of the first file that could not be fetched, or an interruption by the user.
/// Received data of other files remains.
pub(crate) fn fetch(
    repository: &Repository,
    files: Vec<PinnedFile>,
    folder: &Path,
    before: Progress,
    voice: &mut Voice<'_>,
) -> Result<(), Failure> {
    let shared = Arc::new(Shared {
        repository: repository.clone(),
        folder: folder.to_owned(),
        left: Mutex::new(files.into_iter()),
        bytes: AtomicI64::new(0),
        is_over: AtomicBool::new(false),
    });
    let (sender, done) = channel();
    let threads: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            std::thread::spawn(move || shared.work(&sender))
        })
        .collect();
    drop(sender);
    let mut progress = before;
    let mut said = Deadline::after(Duration::ZERO);
    let ended = loop {
        match done.recv_timeout(LOOK) {
            Ok(Ok(())) => progress.files += 1,
            Ok(Err(failure)) => break Err(failure),
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if remote::process::is_interrupted() {
            break Err(Failure::Interrupted);
        }
        let bytes = shared.bytes.load(Ordering::Relaxed).max(0) as u64;
        progress.bytes = before.bytes + bytes;
        if said.passed() {
            voice(Message::Progress(progress));
            said = Deadline::after(LOOK);
        }
    };
    shared.is_over.store(true, Ordering::Relaxed);
    // After an interruption, a thread ends only when its next data arrives.
    if !matches!(ended, Err(Failure::Interrupted)) {
        for thread in threads {
            // The later comparison with the lock detects a file whose thread has panicked.
            let _ = thread.join();
        }
    }
    ended
}

impl Shared {
    /// Fetches files until no file is left or the fetch is over.
    fn work(&self, done: &Sender<Result<(), Failure>>) {
        while !self.is_over.load(Ordering::Relaxed) {
            // A thread that panicked has lost only its own file.
            let next = self.left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(file) = next else { return };
            let ended = self.bring(&file);
            let is_end = ended.is_err();
            // The receiver no longer exists after another file has failed.
            if done.send(ended).is_err() || is_end {
                return;
            }
        }
    }

    /// Fetches a file over as many connections as necessary.
    fn bring(&self, file: &PinnedFile) -> Result<(), Failure> {
        let part = self.folder.join(format!("{}.part", file.name));
        let had = part.metadata().map_or(0, |meta| meta.len());
        if had > file.bytes {
            std::fs::remove_file(&part).map_err(Failure::unwritten(&part))?;
        } else {
            self.bytes.fetch_add(had as i64, Ordering::Relaxed);
        }
        match self.rest(file, &part) {
            // The partial file contains data of another file.
            Err(
                Failure::Changed { .. }
                | Failure::Resized { .. }
                | Failure::Status { status: 416, .. },
            ) if had > 0 => {
                self.discard(file, &part)?;
                self.rest(file, &part)?;
            }
            ended => ended?,
        }
        let whole = self.folder.join(&file.name);
        std::fs::rename(&part, &whole).map_err(Failure::unwritten(whole))
    }

    /// Fetches the rest of a file, and checks the digest of the whole file.
    fn rest(&self, file: &PinnedFile, part: &Path) -> Result<(), Failure> {
        loop {
            let had = part.metadata().map_or(0, |meta| meta.len());
            if had == file.bytes && part.exists() {
                break;
            }
            match self.piece(file, part, had) {
                // This request has received some bytes, so the next one may fetch the rest.
                Err(Failure::BrokenOff { got, .. }) if got > had => {}
                ended => ended?,
            }
        }
        let got = digest_of(part).map_err(Failure::unwritten(part))?;
        if got == file.sha256 {
            return Ok(());
        }
        let failure = Failure::Changed {
            name: file.name.clone(),
            url: self.repository.url(&file.path),
            expected: file.sha256.clone(),
            got,
        };
        self.discard(file, part)?;
        Err(failure)
    }

    /// Requests the data of a file after its first `had` bytes.
    fn piece(&self, file: &PinnedFile, part: &Path, had: u64) -> Result<(), Failure> {
        let answer = self.repository.get(&file.path, had)?;
        let url = || self.repository.url(&file.path);
        let resized = |got: u64| Failure::Resized {
            name: file.name.clone(),
            url: url(),
            expected: file.bytes,
            got,
        };
        if let Some(all) = answer.bytes.map(|bytes| answer.from + bytes)
            && all != file.bytes
        {
            return Err(resized(all));
        }
        let mut to = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(part)
            .and_then(|to| to.set_len(answer.from).map(|()| to))
            .map_err(Failure::unwritten(part))?;
        self.bytes.fetch_sub((had - answer.from) as i64, Ordering::Relaxed);
        std::io::Seek::seek(&mut to, std::io::SeekFrom::End(0))
            .map_err(Failure::unwritten(part))?;
        self.copy(answer, &mut to, part, file.bytes, &resized, &url)
    }

    /// Appends received bytes until the file has `wanted` bytes.
    fn copy(
        &self,
        mut answer: Answer,
        to: &mut File,
        part: &Path,
        wanted: u64,
        resized: &dyn Fn(u64) -> Failure,
        url: &dyn Fn() -> String,
    ) -> Result<(), Failure> {
        let mut buffer = vec![0; PIECE_BYTES];
        let mut got = answer.from;
        let why = loop {
            if self.is_over.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            match answer.body.read(&mut buffer) {
                Ok(0) if got == wanted => return Ok(()),
                Ok(0) => break "the connection ended".to_string(),
                Ok(count) if got + count as u64 > wanted => {
                    return Err(resized(got + count as u64));
                }
                Ok(count) => {
                    to.write_all(&buffer[..count]).map_err(Failure::unwritten(part))?;
                    got += count as u64;
                    self.bytes.fetch_add(count as i64, Ordering::Relaxed);
                }
                Err(error) => break error.to_string(),
            }
        };
        Err(Failure::BrokenOff {
            url: url(),
            got,
            wanted,
            why,
        })
    }

    fn discard(&self, file: &PinnedFile, part: &Path) -> Result<(), Failure> {
        let Ok(meta) = part.metadata() else {
            return Ok(());
        };
        self.bytes.fetch_sub(meta.len().min(file.bytes) as i64, Ordering::Relaxed);
        std::fs::remove_file(part).map_err(Failure::unwritten(part))
    }
}

#[cfg(test)]
mod tests;
