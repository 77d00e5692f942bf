//! Tests with real agents. The tests start this program again as agents and guards. On a machine
//! that does not permit simulated hosts, a test only reports on stderr that it was skipped.

#![allow(
    clippy::unwrap_used,
    reason = "tests and their helpers fail by a panic"
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

/// Runs before `main`. In the real program, the first line of `main` does the same.
#[used]
// SAFETY: this section must contain pointers to C functions, and the static is such a pointer.
#[unsafe(link_section = ".init_array")]
static ANSWER: extern "C" fn() = {
    #[expect(
        clippy::disallowed_methods,
        reason = "this function runs before `main`, so it cannot return an exit code"
    )]
    extern "C" fn answer() {
        watch::shift_clock();
        if let Some(code) = agent::answer() {
            std::process::exit(i32::from(code));
        }
    }
    answer
};
