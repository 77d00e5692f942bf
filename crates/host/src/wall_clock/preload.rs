//! A library to preload into a process. It shifts the wall clock of the process by replacing the C
//! library's clock functions. `build.rs` builds it, and it is not part of this crate.
//!
//! The library works with the C library of the process, glibc or musl of any version. It does not
//! name the C library, and uses three functions that all versions have.
//!
//! The library shifts neither the times of files nor a wait until a date (`LockSupport.parkUntil`),
//! because the kernel uses its own clock for these.

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

// SAFETY: this is a function of the C library, and its callers follow POSIX.
type Clock = unsafe extern "C" fn(c_int, *mut Timespec) -> c_int;

// SAFETY: these are the signatures of the functions in POSIX, and every C library with threads has
// them.
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn strtoll(text: *const c_char, end: *mut *mut c_char, base: c_int) -> i64;
}

/// Handle that makes `dlsym` search the libraries after this one.
const NEXT: *mut c_void = -1isize as *mut c_void;
/// Environment variable with the shift, in ms.
const VARIABLE: &CStr = c"CASSAY_CLOCK_OFF_MS";
const REALTIME: c_int = 0;
const REALTIME_COARSE: c_int = 5;
const TAI: c_int = 11;
const SECOND_NS: i64 = 1_000_000_000;

static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static OFF_NS: AtomicI64 = AtomicI64::new(0);

/// Returns the clock function of the C library. The first call looks up this function.
fn real() -> Clock {
    let mut found = REAL.load(Ordering::Acquire);
    if found.is_null() {
        // SAFETY: `getenv` and `strtoll` take strings that end with 0. The code reads the result of
        // getenv before the environment can change, because no other thread runs when a process
        // first reads the time.
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

// SAFETY: the name and the signature are those of POSIX, and the caller meets the requirements of
// POSIX.
#[unsafe(no_mangle)]
// SAFETY: the caller meets the requirements of POSIX.
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let real = real();
    // SAFETY: the caller promises that this pointer is valid.
    let code = unsafe { real(clock, time) };
    if code == 0 && matches!(clock, REALTIME | REALTIME_COARSE | TAI) {
        // SAFETY: the call above has initialized the value behind this pointer.
        let time = unsafe { &mut *time };
        let ns = time.nanoseconds + OFF_NS.load(Ordering::Relaxed);
        time.seconds += ns.div_euclid(SECOND_NS);
        time.nanoseconds = ns.rem_euclid(SECOND_NS);
    }
    code
}

// SAFETY: the name and the signature are those of POSIX, and the caller meets the requirements of
// POSIX.
#[unsafe(no_mangle)]
// SAFETY: the caller meets the requirements of POSIX.
pub unsafe extern "C" fn gettimeofday(time: *mut Timeval, _zone: *mut c_void) -> c_int {
    let mut now = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the call writes only to a local variable.
    let code = unsafe { clock_gettime(REALTIME, &raw mut now) };
    if code == 0 && !time.is_null() {
        // SAFETY: the caller promises that the pointer is valid.
        unsafe {
            time.write(Timeval {
                seconds: now.seconds,
                microseconds: now.nanoseconds / 1000,
            })
        };
    }
    code
}

// SAFETY: the name and the signature are those of POSIX, and the caller meets the requirements of
// POSIX.
#[unsafe(no_mangle)]
// SAFETY: the caller meets the requirements of POSIX.
pub unsafe extern "C" fn time(seconds: *mut i64) -> i64 {
    let mut now = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the call writes only to a local variable.
    unsafe { clock_gettime(REALTIME, &raw mut now) };
    if !seconds.is_null() {
        // SAFETY: the caller promises that this pointer is valid.
        unsafe { seconds.write(now.seconds) };
    }
    now.seconds
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
