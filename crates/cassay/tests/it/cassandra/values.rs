//! Compares values of settings with the classes in the jar of each Cassandra line.

mod long;
