//! Tests the crate as a whole: bytes as in the specification, round trips, hostile bytes, and the
//! absence of allocations on the hot path. All tests are in one binary, because its allocator
//! counts allocations.

#![expect(
    clippy::unwrap_used,
    reason = "tests and their helpers fail by a panic"
)]

mod allocation;
mod allocator;
mod cost;
mod golden_requests;
mod golden_responses;
mod hostile;
mod round_trips;
mod samples;
mod values;
