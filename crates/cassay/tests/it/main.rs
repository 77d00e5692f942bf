//! The one integration-test binary: each module is one rung of the ladder of proof.
//!
//! `engine` drives the load engine against the null target, in this process; the others run the
//! `cassay` program as its user would.

mod cli;
mod engine;
