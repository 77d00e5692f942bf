//! Counts the worker's allocations, but not those of the simulated world.

#[path = "../../../cql/tests/it/allocator.rs"]
mod allocator;

use allocator::Telling;
use std::cell::Cell;

thread_local! {
    /// Number of allocations up to now. `None` outside of [`counted`], and inside [`uncounted`].
    static COUNT: Cell<Option<u64>> = const { Cell::new(None) };
}

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    given: |_| {
        let _ = COUNT.try_with(|count| count.set(count.get().map(|count| count + 1)));
    },
    returned: |_| (),
};

/// Runs `work`. Returns the result of `work`, and the number of its allocations outside of
/// [`uncounted`].
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, u64) {
    COUNT.set(Some(0));
    let given = work();
    (given, COUNT.take().unwrap_or(0))
}

/// Runs `work`, which is not part of the worker, without counting its allocations.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let count = COUNT.take();
    let given = work();
    COUNT.set(count);
    given
}
