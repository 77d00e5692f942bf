//! `memcpy` and `memmove` for `x86_64`. Up to 128 bytes, they load vectors from both ends before
//! they store any. Longer ranges are copied 64 bytes at a time, and very long ranges with the
//! processor's own string copy. The functions are written in assembly, because a compiler may turn
//! a copying loop into a call of `memcpy`.

core::arch::global_asm!(include_str!("copy.s"), options(raw));

// Both names refer to one function, because it also copies overlapping ranges correctly.
#[cfg(target_env = "musl")]
core::arch::global_asm!(
    ".globl memcpy",
    ".globl memmove",
    ".set memcpy, cassay_copy",
    ".set memmove, cassay_copy",
);

#[cfg(test)]
mod tests;
