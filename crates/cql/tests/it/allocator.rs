//! The system's allocator, with reports of allocations and frees. Every counting test of any crate
//! uses it. The test decides which allocations are counted, and for which threads.
//!
//! The functions that it calls must not allocate: a thread-local cell without a destructor, or an
//! atomic.

use std::alloc::{GlobalAlloc, Layout, System};

/// See the module.
pub struct Telling {
    /// Called with the bytes of each allocation. A reallocation counts as a new one.
    pub given: fn(usize),
    /// Called with the bytes of each release.
    pub returned: fn(usize),
}

// SAFETY: every call is passed on unchanged to the system's allocator, which upholds the contract.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        (self.given)(layout.size());
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        (self.given)(layout.size());
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        (self.returned)(layout.size());
        (self.given)(size);
        // SAFETY: the caller's promises about `pointer` and sizes are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        (self.returned)(layout.size());
        // SAFETY: the caller's promises about `pointer` and `layout` are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}
