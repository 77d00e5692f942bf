//! The system's allocator, which tells what it gives and what comes back: the one of every test
//! that counts, in whichever crate. What is counted, and for which threads, is the test's.
//!
//! The functions that it calls must not allocate: a thread-local cell without a destructor, or an
//! atomic.

use std::alloc::{GlobalAlloc, Layout, System};

/// See the module.
pub struct Telling {
    /// Told the bytes of each allocation; one that grows or shrinks is given anew.
    pub given: fn(usize),
    /// Told the bytes that come back.
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
