//! The only crate that knows how to replace a slow C library's allocator and memcpy.
//!
//! A static program has musl, whose allocator gives pages back at every turn and has one lock, and
//! which copies by `rep movsq` on `x86_64`, whose start costs more than most copies. A program
//! that names this crate has other ones there; beside glibc it has nothing of it.
//! `docs/decisions/058-one-static-program.md` has the figures.

#[cfg(target_arch = "x86_64")]
mod copy;

#[cfg(target_env = "musl")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;
