//! The only crate that knows the disk: directory of a run, record formats and versions, reading
//! old runs.

pub mod record;
