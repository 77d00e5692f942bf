//! A library that is loaded before all others by a process that is to have another wall clock: it
//! answers for the C library's clock. Built by `build.rs`, and no part of this crate.
//!
//! The C library is the one that the process has, glibc or musl of any version: no library is named
//! here, and the three functions that are taken from it are in all of them.
//!
//! Not moved: file times, and what waits until a date (`LockSupport.parkUntil`), which the kernel
//! does by its own clock.

#![no_std]

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

#[repr(C)]
pub struct Timeval {
    seconds: i64,
    microseconds: c_long,
}

// SAFETY: of the C library's own; whoever calls it keeps to what POSIX asks for.
type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

// SAFETY: these are their signatures in POSIX, and every C library for threads has them.
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn strtoll(text: *const c_char, end: *mut *mut c_char, base: c_int) -> i64;
}

/// The next library that has a symbol.
const NEXT: *mut c_void = -1isize as *mut c_void;
/// How far the clock is off, ms.
const VARIABLE: &CStr = c"CASSAY_CLOCK_OFF_MS";
const REALTIME: c_int = 0;
const REALTIME_COARSE: c_int = 5;
const TAI: c_int = 11;
const SECOND_NS: i64 = 1_000_000_000;

static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static OFF_NS: AtomicI64 = AtomicI64::new(0);

/// The clock of the C library, found when it is first asked.
fn real() -> Clock {
    let mut found = REAL.load(Ordering::Acquire);
    if found.is_null() {
        // SAFETY: both take strings that end with 0, and getenv's is read before anybody changes
        // the environment: nothing else runs yet when a process asks for its first time.
        unsafe {
            let off_ms = getenv(VARIABLE.as_ptr());
            if !off_ms.is_null() {
                let off_ms = strtoll(off_ms, core::ptr::null_mut(), 10);
                OFF_NS.store(off_ms.saturating_mul(1_000_000), Ordering::Relaxed);
            }
            found = dlsym(NEXT, c"clock_gettime".as_ptr());
        }
        REAL.store(found, Ordering::Release);
    }
    // SAFETY: POSIX has clock_gettime with this signature.
    unsafe { core::mem::transmute::<*mut c_void, Clock>(found) }
}

// SAFETY: the name and the signature are those of POSIX, whose promises a caller keeps.
#[unsafe(no_mangle)]
// SAFETY: the same.
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let real = real();
    // SAFETY: the caller's promise.
    let code = unsafe { real(clock, time) };
    if code == 0 && matches!(clock, REALTIME | REALTIME_COARSE | TAI) {
        // SAFETY: it was written to.
        let time = unsafe { &mut *time };
        let ns = time.nanoseconds + OFF_NS.load(Ordering::Relaxed);
        time.seconds += ns.div_euclid(SECOND_NS);
        time.nanoseconds = ns.rem_euclid(SECOND_NS);
    }
    code
}

// SAFETY: the name and the signature are those of POSIX, whose promises a caller keeps.
#[unsafe(no_mangle)]
// SAFETY: the same.
pub unsafe extern "C" fn gettimeofday(time: *mut Timeval, _zone: *mut c_void) -> c_int {
    let mut now = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: it is written to a place of ours.
    let code = unsafe { clock_gettime(REALTIME, &raw mut now) };
    if code == 0 && !time.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            time.write(Timeval {
                seconds: now.seconds,
                microseconds: now.nanoseconds / 1000,
            })
        };
    }
    code
}

// SAFETY: the name and the signature are those of POSIX, whose promises a caller keeps.
#[unsafe(no_mangle)]
// SAFETY: the same.
pub unsafe extern "C" fn time(seconds: *mut i64) -> i64 {
    let mut now = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: it is written to a place of ours.
    unsafe { clock_gettime(REALTIME, &raw mut now) };
    if !seconds.is_null() {
        // SAFETY: the caller's promise.
        unsafe { seconds.write(now.seconds) };
    }
    now.seconds
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
