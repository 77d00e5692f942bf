//! The system's allocator, which also reports allocations and frees. The tests of all crates that
//! count allocations use it. Each test decides which allocations count, and for which threads.
//!
//! The functions that this allocator calls must not allocate. They may use a thread-local cell
//! without a destructor, or an atomic.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, with one function to call for each allocation and one for each free.
pub struct Telling {
    /// Function that is called with the size of each allocation, in bytes. A reallocation counts as
    /// a new allocation.
    pub given: fn(usize),
    /// Function that is called with the size of each freed allocation, in bytes.
    pub returned: fn(usize),
}

// SAFETY: the functions pass every call on unchanged to the system's allocator, which fulfills the
// contract.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        (self.given)(layout.size());
        // SAFETY: the caller fulfills the requirements of this call, since `layout` is unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        (self.given)(layout.size());
        // SAFETY: the caller fulfills the requirements of this call, since `layout` is unchanged.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        (self.returned)(layout.size());
        (self.given)(size);
        // SAFETY: the caller fulfills the requirements of this call, since its arguments are
        // unchanged.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        (self.returned)(layout.size());
        // SAFETY: the caller fulfills the requirements of this call, since its arguments are
        // unchanged.
        unsafe { System.dealloc(pointer, layout) }
    }
}
