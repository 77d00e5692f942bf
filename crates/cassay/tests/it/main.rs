//! The main integration-test binary. Each module tests one level, from the command line to real
//! clusters.
//!
//! `engine` runs the load engine against the null target, in this process. Most other modules run
//! the `cassay` program as a user would. `cli` has no target, `null_target` and `check` need no
//! Java, and `cassandra` uses real nodes. The tests of `cassandra` are ignored by default, and
//! `cargo xtask cassandra` runs them. Tests named `audit_…` are also ignored, and `cargo xtask
//! audit` runs them.

#![allow(
    clippy::unwrap_used,
    reason = "tests and their helpers fail by a panic"
)]

mod attached_faults;
mod authoring;
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
mod plans;
mod program;
mod publish;
mod required;
mod shipped;
mod sni;
mod ssh;
mod strange_files;
mod tls;
mod topology;
mod trust;

/// Runs before `main`, like the first line of the binary itself. The agents of targets that a test
/// starts directly run this program.
#[used]
// SAFETY: this section contains pointers to C functions, and this value is such a pointer.
#[unsafe(link_section = ".init_array")]
static ANSWER: extern "C" fn() = {
    #[expect(
        clippy::disallowed_methods,
        reason = "this function runs before `main`, so it cannot return an exit code"
    )]
    extern "C" fn answer() {
        if let Some(code) = agent::answer() {
            std::process::exit(i32::from(code));
        }
        if let Some(done) = ::cassandra::answer() {
            std::process::exit(i32::from(done.is_err()));
        }
    }
    answer
};
