//! The only crate that knows time pressure: schedule, worker (hot path), in-flight table, connections, its own health.
