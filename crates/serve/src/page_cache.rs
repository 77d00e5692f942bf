//! Keeps the pages that readers opened last. A page is built again only if a file of its runs has
//! changed. One page is built at a time, so that many readers do not use several cores.

use crate::watcher::lock;
use anyhow::Result;
use report::Document;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use store::live::RunFingerprint;

/// Maximum number of pages that the cache keeps. A report has 1 to 10 MB.
const PAGES_MAX: usize = 8;

/// The pages, newest last.
#[derive(Default)]
pub(crate) struct PageCache {
    pages: Mutex<VecDeque<Page>>,
}

struct Page {
    address: String,
    runs: Vec<RunFingerprint>,
    document: Arc<PageBytes>,
}

/// A page in the form in which the server sends it.
pub(crate) struct PageBytes {
    pub html: Arc<[u8]>,
    pub policy: String,
}

impl PageCache {
    /// Returns the page of an address. `runs` contains the fingerprints of all runs on the page.
    ///
    /// # Errors
    /// `build` fails.
    pub(crate) fn page(
        &self,
        address: &str,
        runs: Vec<RunFingerprint>,
        build: impl FnOnce() -> Result<Document>,
    ) -> Result<Arc<PageBytes>> {
        let mut pages = lock(&self.pages);
        let known = pages.iter().find(|page| page.address == address && page.runs == runs);
        if let Some(page) = known {
            return Ok(Arc::clone(&page.document));
        }
        let document = build()?;
        let document = Arc::new(PageBytes {
            html: document.html.into_bytes().into(),
            policy: document.policy,
        });
        pages.retain(|page| page.address != address);
        if pages.len() == PAGES_MAX {
            pages.pop_front();
        }
        pages.push_back(Page {
            address: address.to_owned(),
            runs,
            document: Arc::clone(&document),
        });
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_built_again_only_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PageCache::default();
        let built = std::cell::Cell::new(0);
        let page = || {
            let runs = vec![store::live::fingerprint(folder.path())];
            let build = || {
                built.set(built.get() + 1);
                Ok(report::message_page("title", "text"))
            };
            cache.page("a", runs, build).unwrap();
            built.get()
        };
        assert_eq!([page(), page()], [1, 1]);
        std::fs::write(folder.path().join("journal.ndjson"), "{}\n").unwrap();
        assert_eq!([page(), page()], [2, 2]);
    }
}
