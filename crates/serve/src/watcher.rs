//! Watches running runs. All readers of a run share one watcher, so the cost does not grow with
//! their number.

use anyhow::Result;
use measure::clock;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::RunState;
use store::live::{KindMetrics, LiveRun, RunFollower};

/// Pause between two reads while the watcher has readers. A run writes once per second.
const PAUSE: Duration = Duration::from_millis(500);
/// Pause between two reads without readers.
const PAUSE_UNREAD: Duration = Duration::from_secs(2);
/// Pause after a read that did not reach the end of the files, as a multiple of its duration. The
/// watcher then uses at most a tenth of a core until it has caught up.
const CATCH_UP_PAUSES: u32 = 9;
/// Interval at which the page changes even without new lines, because it shows the time left.
const PAINT_EVERY_NS: u64 = 1_000_000_000;
/// Maximum number of runs that are watched at the same time.
const WATCHERS_MAX: usize = 16;

/// The watchers of a server.
pub(crate) struct Watchers {
    all: Mutex<BTreeMap<PathBuf, Arc<Watcher>>>,
    is_server_over: Arc<AtomicBool>,
}

/// State of a run at one moment, with the parts of its page.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// Identifier of the update. It is unique over all servers, so a reader that connects to a
    /// restarted server never misses an update.
    pub id: String,
    pub state: LiveRun,
    /// Parts of the page, by their anchors.
    pub parts: Vec<(String, String)>,
}

/// Watcher of one run.
pub(crate) struct Watcher {
    follower: Mutex<RunFollower>,
    snapshot: Mutex<Arc<Snapshot>>,
    changed: Condvar,
    readers: AtomicUsize,
    is_over: AtomicBool,
    /// Start of the watcher, ns since 1970, as the first part of identifiers.
    began_unix_ns: u64,
}

/// Returns the value, which is consistent even if a thread panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchers {
    pub(crate) fn new(is_server_over: Arc<AtomicBool>) -> Watchers {
        Watchers {
            all: Mutex::default(),
            is_server_over,
        }
    }

    /// Returns the watcher of the running run in this folder, and starts it if there is none.
    /// Returns `None` if the run is not running, or if too many runs are watched.
    ///
    /// # Errors
    /// The folder is not a run, or its files are damaged.
    pub(crate) fn watch(&self, run: &Path) -> Result<Option<Arc<Watcher>>> {
        let mut all = lock(&self.all);
        all.retain(|_, watcher| !watcher.is_over());
        if let Some(watcher) = all.get(run) {
            return Ok(Some(Arc::clone(watcher)));
        }
        if all.len() >= WATCHERS_MAX || !store::live::is_running(run) {
            return Ok(None);
        }
        let follower = RunFollower::open(run)?;
        if follower.state().state != RunState::Running {
            return Ok(None);
        }
        let watcher = Arc::new(Watcher::new(follower));
        let (own, is_over) = (Arc::clone(&watcher), Arc::clone(&self.is_server_over));
        let thread = std::thread::Builder::new().name("watcher".to_owned());
        if thread.spawn(move || own.work(&is_over)).is_err() {
            return Ok(None);
        }
        all.insert(run.to_owned(), Arc::clone(&watcher));
        Ok(Some(watcher))
    }
}

impl Watcher {
    fn new(follower: RunFollower) -> Watcher {
        let began_unix_ns = clock::unix_ns();
        let snapshot = paint(&follower, format!("{began_unix_ns}-0"));
        Watcher {
            follower: Mutex::new(follower),
            snapshot: Mutex::new(Arc::new(snapshot)),
            changed: Condvar::new(),
            readers: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            began_unix_ns,
        }
    }

    /// Reads and paints until the run or the server ends.
    fn work(&self, is_server_over: &AtomicBool) {
        let mut number = 0u64;
        let mut painted_ns = clock::now_ns();
        while !is_server_over.load(Ordering::Relaxed) {
            let begin_ns = clock::now_ns();
            let (is_behind, is_over) = {
                let mut follower = lock(&self.follower);
                let read = follower.read();
                let state = follower.state().state;
                // The page of the run then reports the damage.
                let is_over = read.is_err() || state != RunState::Running;
                let (has_changed, is_behind) = read.unwrap_or_default();
                let has_readers = self.readers.load(Ordering::Relaxed) > 0;
                let is_due = begin_ns.saturating_sub(painted_ns) >= PAINT_EVERY_NS;
                if is_over || has_changed && !is_behind || has_readers && is_due {
                    number += 1;
                    painted_ns = begin_ns;
                    let snapshot = paint(&follower, format!("{}-{number}", self.began_unix_ns));
                    *lock(&self.snapshot) = Arc::new(snapshot);
                }
                (is_behind, is_over)
            };
            if is_over {
                break;
            }
            self.changed.notify_all();
            let used = Duration::from_nanos(clock::now_ns().saturating_sub(begin_ns));
            let pause = match self.readers.load(Ordering::Relaxed) {
                _ if is_behind => used * CATCH_UP_PAUSES,
                0 => PAUSE_UNREAD,
                _ => PAUSE,
            };
            clock::sleep(pause);
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Returns true if the run has ended, or cannot be read any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Counts a reader until the returned value is dropped.
    pub(crate) fn add_reader(&self) -> Reader<'_> {
        self.readers.fetch_add(1, Ordering::Relaxed);
        Reader(self)
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.snapshot))
    }

    /// Returns the present state, painted now.
    pub(crate) fn present(&self) -> Snapshot {
        let follower = lock(&self.follower);
        paint(&follower, self.snapshot().id.clone())
    }

    /// Waits for an update with another identifier. Returns `None` after the time, or at the end of
    /// the run.
    pub(crate) fn newer_than(&self, id: &str, wait: Duration) -> Option<Arc<Snapshot>> {
        let snapshot = lock(&self.snapshot);
        let is_same = |snapshot: &mut Arc<Snapshot>| snapshot.id == id && !self.is_over();
        let waited = self.changed.wait_timeout_while(snapshot, wait, is_same);
        let (snapshot, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (snapshot.id != id).then(|| Arc::clone(&snapshot))
    }

    /// Returns the sums of the measured windows so far.
    ///
    /// # Errors
    /// A file of a finished trial is damaged.
    pub(crate) fn metrics(&self, bounds_ns: &[u64]) -> Result<(LiveRun, Vec<KindMetrics>)> {
        let mut follower = lock(&self.follower);
        // Lines that the watcher has not read yet belong to the metrics too.
        follower.read()?;
        let metrics = follower.metrics(bounds_ns)?;
        Ok((follower.state().clone(), metrics))
    }
}

fn paint(follower: &RunFollower, id: String) -> Snapshot {
    let state = follower.state().clone();
    let page = report::live_page(&state, clock::unix_ns());
    Snapshot {
        id,
        parts: report::parts(&page),
        state,
    }
}

/// A reader of a watcher.
pub(crate) struct Reader<'w>(&'w Watcher);

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}
