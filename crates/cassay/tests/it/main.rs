//! The one integration-test binary: each module is one rung of the ladder of proof.
//!
//! `engine` drives the load engine against the null target, in this process; the others run the
//! `cassay` program as its user would: `cli` without a target, `null_target` and `check` without
//! Java, `cassandra` (ignored; `cargo xtask cassandra` runs it) on real nodes.

#![allow(
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod cassandra;
mod check;
mod cli;
mod engine;
mod null_target;
mod program;
mod tls;
mod trust;
