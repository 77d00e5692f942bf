//! The one integration-test binary: each module is one rung of the ladder of proof.
//!
//! `engine` drives the load engine against the null target, in this process; the others run the
//! `cassay` program as its user would: `cli` without a target, `null_target` and `check` without
//! Java, `cassandra` (ignored; `cargo xtask cassandra` runs it) on real nodes. What is named
//! `audit_…` is ignored too, and run by `cargo xtask audit`.

#![allow(
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod attached_faults;
mod bisect;
mod cassandra;
mod check;
mod cli;
mod doctor;
mod engine;
mod faults;
mod growth;
mod how_to;
mod installed;
mod kubernetes;
mod null_target;
mod pipelines;
mod program;
mod required;
mod shipped;
mod sni;
mod ssh;
mod strange_files;
mod tls;
mod topology;
mod trust;
mod written;

/// Runs before `main`, as the binary does it in its first line: targets that a test starts by
/// itself have this program as their agents.
#[used]
// SAFETY: a pointer to a C function is what this section holds.
#[unsafe(link_section = ".init_array")]
static ANSWER: extern "C" fn() = {
    #[expect(clippy::disallowed_methods, reason = "there is no main to return to")]
    extern "C" fn answer() {
        if let Some(code) = agent::answer() {
            std::process::exit(i32::from(code));
        }
        if let Some(done) = cluster::answer() {
            std::process::exit(i32::from(done.is_err()));
        }
    }
    answer
};
