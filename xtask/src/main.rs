//! How we develop: ci, tidy, bench, peers.
fn main() {}
