//! cassandra-stress: its command line, its user profiles, and the rows that it would write.

mod column;
mod draw;
mod partition;
