//! `memcpy` and `memmove` for `x86_64`: up to 128 bytes by vectors from both ends, which all are
//! read before any is written; above that 64 at a time, and long ones by the processor's own
//! string copy. In assembly, since a compiler may make a call of `memcpy` of a loop that copies.

core::arch::global_asm!(include_str!("copy.s"), options(raw));

// Both are one: what overlaps is copied as if it did not.
#[cfg(target_env = "musl")]
core::arch::global_asm!(
    ".globl memcpy",
    ".globl memmove",
    ".set memcpy, cassay_copy",
    ".set memmove, cassay_copy",
);

#[cfg(test)]
mod tests;
