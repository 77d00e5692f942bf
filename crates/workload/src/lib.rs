//! The only crate that knows where keys and values come from and what a read must return; named workloads.
