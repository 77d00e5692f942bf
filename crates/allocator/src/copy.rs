//! `memcpy` and `memmove` for `x86_64`. For up to 128 bytes, the functions load vectors from both
//! ends before they store a byte. They copy longer ranges 64 bytes at a time, and very long ranges
//! with the string copy instruction of the processor. The functions are written in assembly,
//! because a compiler may turn a copying loop into a call of `memcpy`.

core::arch::global_asm!(include_str!("copy.s"), options(raw));

// The symbols `memcpy` and `memmove` refer to the same function, because it also copies overlapping
// ranges correctly.
#[cfg(target_env = "musl")]
core::arch::global_asm!(
    ".globl memcpy",
    ".globl memmove",
    ".set memcpy, cassay_copy",
    ".set memmove, cassay_copy",
);

#[cfg(test)]
mod tests;
