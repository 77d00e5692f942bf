//! Counts what the worker allocates, and not what the world around it does.

#[path = "../../../cql/tests/it/allocator.rs"]
mod allocator;

use allocator::Telling;
use std::cell::Cell;

thread_local! {
    /// Allocations so far; none while nobody counts.
    static COUNT: Cell<Option<u64>> = const { Cell::new(None) };
}

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    given: |_| {
        let _ = COUNT.try_with(|count| count.set(count.get().map(|count| count + 1)));
    },
    returned: |_| (),
};

/// What `work` gives, and how often it allocated outside of [`uncounted`].
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, u64) {
    COUNT.set(Some(0));
    let given = work();
    (given, COUNT.take().unwrap_or(0))
}

/// Does what is not the worker's.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let count = COUNT.take();
    let given = work();
    COUNT.set(count);
    given
}
