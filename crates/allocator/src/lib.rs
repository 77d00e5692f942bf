//! The only crate that knows how to replace a slow C library's allocator and memcpy.
//!
//! A static program uses musl. Its allocator has one lock and constantly returns pages to the
//! kernel. On `x86_64` it copies with `rep movsq`, which takes longer to start than most copies
//! take. This crate replaces both in a static program that uses it, and does nothing in a program
//! with glibc. `docs/decisions/058-one-static-program.md` has the figures.

#[cfg(target_arch = "x86_64")]
mod copy;

#[cfg(target_env = "musl")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;
