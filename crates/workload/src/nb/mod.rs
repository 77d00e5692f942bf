//! NoSQLBench's workload files, nb4 and nb5.
//!
//! What must hold: operation n is NoSQLBench's cycle n; the values of a cycle are NoSQLBench's.

mod file;
mod scenario;
mod template;
pub(crate) mod virtdata;
