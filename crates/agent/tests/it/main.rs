//! Tests with real agents. This test program is started again as the agents of its hosts, and as
//! their guards. If a machine does not permit simulated hosts, tests report that directly on
//! stderr, and are skipped.

#![allow(
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod attached_nodes;
mod confine;
mod corrupt;
mod emptied;
mod endings;
mod faults;
mod hosts;
mod limits;
mod links;
mod machine;
mod machine_network;
mod network;
mod nodes;
mod outlive;
mod power;
#[path = "../../../linux/src/skip_report.rs"]
mod skipped;
mod ssh;
mod volume_ends;
mod volumes;
mod watch;

/// Runs before `main`. In the real binary, the first line of `main` does the same.
#[used]
// SAFETY: this section must contain pointers to C functions, and the static is such a pointer.
#[unsafe(link_section = ".init_array")]
static ANSWER: extern "C" fn() = {
    #[expect(clippy::disallowed_methods, reason = "there is no main to return to")]
    extern "C" fn answer() {
        watch::shift_clock();
        if let Some(code) = agent::answer() {
            std::process::exit(i32::from(code));
        }
    }
    answer
};
