//! State that all connections of a server share.

use crate::access::Access;
use crate::metrics_source::MetricsSource;
use crate::page_cache::PageCache;
use crate::run_index::RunIndex;
use crate::watcher::Watchers;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

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
    pub connections: AtomicUsize,
    pub streams: AtomicUsize,
    /// True if the server must end.
    pub is_over: Arc<AtomicBool>,
}
