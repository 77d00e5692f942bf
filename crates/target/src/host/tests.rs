//! Tests that make real hosts.
