//! State that all connections of a server share.

use crate::access::Access;
use crate::metrics_source::MetricsSource;
use crate::page_cache::PageCache;
use crate::run_index::RunIndex;
use crate::watcher::Watchers;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// State that all connections share.
pub(crate) struct Site {
    pub results: PathBuf,
    pub version: String,
    pub access: Access,
    pub index: RunIndex,
    pub pages: PageCache,
    pub watchers: Watchers,
    pub metrics: MetricsSource,
    /// Number of connections, and number of those that receive events.
    pub connections: Arc<AtomicUsize>,
    pub streams: Arc<AtomicUsize>,
    /// True if the server must end.
    pub is_over: Arc<AtomicBool>,
}

/// One of a limited number of connections, until it is dropped. So a panic of its thread frees its
/// place too.
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    /// Adds one to a number. Returns `None` if the number is `max` or more.
    pub(crate) fn below(number: &Arc<AtomicUsize>, max: usize) -> Option<Count> {
        let count = Count(Arc::clone(number));
        (number.fetch_add(1, Ordering::Relaxed) < max).then_some(count)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_after_a_panic() {
        let number = Arc::new(AtomicUsize::new(0));
        let first = Count::below(&number, 2).expect("a place");
        let second = Count::below(&number, 2).expect("a place");
        assert!(Count::below(&number, 2).is_none());
        let panicked = std::thread::spawn(move || {
            let _place = second;
            panic!("as a page with a defect would");
        });
        assert!(panicked.join().is_err());
        drop(first);
        assert_eq!(number.load(Ordering::Relaxed), 0);
    }
}
