//! Files of a repository, several at once, into a folder: what is there is not asked for again, and
//! what has come of a file is gone on with.
//!
//! A file has the name NAME.part until all of it is there and its digest is that of the lock. So
//! whatever ends us leaves whole files and beginnings, which the next fetch takes up.

use crate::failure::Failure;
use crate::files::digest_of;
use crate::lock::Pinned;
use crate::repository::{Answer, Repository};
use crate::voice::{Message, Progress, Voice};
use measure::clock::Deadline;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Files that come at once: most of a small file's time is waiting for its first byte.
const AT_ONCE: usize = 4;

/// How often is said how far it is, and looked whether the user wants no more.
const LOOK: Duration = Duration::from_millis(200);

/// How much of a file is taken at once.
const PIECE_BYTES: usize = 64 << 10;

/// What the threads of a fetch share.
struct Shared {
    repository: Repository,
    folder: PathBuf,
    /// What nobody has begun with.
    left: Mutex<std::vec::IntoIter<Pinned>>,
    /// Bytes of those files that have come; what had to be thrown away is taken off again.
    bytes: AtomicI64,
    /// Nobody begins anything any more.
    is_over: AtomicBool,
}

/// Brings files into a folder; those that are done, say, `before`, count as there.
///
/// # Errors
/// Why the first of them did not come. The others are kept as far as they are.
pub(crate) fn fetch(
    repository: &Repository,
    files: Vec<Pinned>,
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
        if reach::process::is_interrupted() {
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
    // They end with the piece that they wait for: too long for somebody who wants no more.
    if !matches!(ended, Err(Failure::Interrupted)) {
        for thread in threads {
            // Whose file is missing is found when all are compared with the lock.
            let _ = thread.join();
        }
    }
    ended
}

impl Shared {
    /// Brings one file after the other until none is left.
    fn work(&self, done: &Sender<Result<(), Failure>>) {
        while !self.is_over.load(Ordering::Relaxed) {
            // Whoever panicked has taken its file with it, and no other.
            let next = self.left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(file) = next else { return };
            let ended = self.bring(&file);
            let is_end = ended.is_err();
            // Nobody listens any more where another file has failed.
            if done.send(ended).is_err() || is_end {
                return;
            }
        }
    }

    /// Brings a file, in as many pieces as the way needs.
    fn bring(&self, file: &Pinned) -> Result<(), Failure> {
        let part = self.folder.join(format!("{}.part", file.name));
        let had = part.metadata().map_or(0, |meta| meta.len());
        if had > file.bytes {
            std::fs::remove_file(&part).map_err(Failure::unwritten(&part))?;
        } else {
            self.bytes.fetch_add(had as i64, Ordering::Relaxed);
        }
        match self.rest(file, &part) {
            // A beginning that was not of this file.
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

    /// Brings what is missing of a file, and compares the whole with its digest.
    fn rest(&self, file: &Pinned, part: &Path) -> Result<(), Failure> {
        loop {
            let had = part.metadata().map_or(0, |meta| meta.len());
            if had == file.bytes && part.exists() {
                break;
            }
            match self.piece(file, part, had) {
                // It has brought us further: the next one may bring the rest.
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

    /// Asks once for what follows the first `had` bytes.
    fn piece(&self, file: &Pinned, part: &Path, had: u64) -> Result<(), Failure> {
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

    /// Appends what comes, up to `wanted` bytes of the whole.
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

    /// Throws away what has come of a file.
    fn discard(&self, file: &Pinned, part: &Path) -> Result<(), Failure> {
        let Ok(meta) = part.metadata() else {
            return Ok(());
        };
        self.bytes.fetch_sub(meta.len().min(file.bytes) as i64, Ordering::Relaxed);
        std::fs::remove_file(part).map_err(Failure::unwritten(part))
    }
}

#[cfg(test)]
mod tests;
