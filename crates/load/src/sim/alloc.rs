//! Counts what the worker allocates, and not what the world around it does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Allocations so far; none while nobody counts.
    static COUNT: Cell<Option<u64>> = const { Cell::new(None) };
}

struct Counting;

fn count() {
    let _ = COUNT.try_with(|count| count.set(count.get().map(|count| count + 1)));
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
