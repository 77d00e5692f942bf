//! Developer commands for the gate and for daily work, such as ci, tidy, docs and deny.
//!
//! Commands that would require more than a line in the Makefile are written in Rust. So they run in
//! the same way on every machine. This crate does not use the crates of cassay, so that it still
//! builds when they do not build. It has few dependencies, because the gate builds it before the
//! first step. Commands for longer checks and releases are in the crate `laboratories`, which uses
//! the public modules of this crate.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "commands for developers print their results"
)]

pub mod architecture;
pub mod changes;
mod ci;
mod commands;
mod deny;
mod docs;
mod modules;
mod mutate;
pub mod process;
mod simulate;
mod sizes;
mod static_program;
mod stress;
mod test_items;
mod tidy;
pub mod tree;

pub use ci::{kills, skip, target};
pub use commands::{LABORATORIES, exit_code, main};
