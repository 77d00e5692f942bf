//! The only crate that replaces a slow C library's allocator and memcpy.
//!
//! A static program uses musl. The allocator of musl has one lock and constantly returns pages to
//! the kernel. On `x86_64`, musl copies with `rep movsq`, which takes longer to start than most
//! copies take. This crate replaces the allocator and the copy functions of a static program, and
//! does nothing in a program with glibc. `docs/decisions/058-one-static-program.md` has the
//! figures.

#[cfg(target_arch = "x86_64")]
mod copy;

#[cfg(target_env = "musl")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;
