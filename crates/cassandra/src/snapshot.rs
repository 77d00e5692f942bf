//! A node's part of a snapshot: its files, their layout and checksums, and its table definitions.
//!
//! A snapshot consists of hard links in the node's folder, on the volume of Cassandra's own
//! folders: `snapshots/NAME/manifest.json` and `snapshots/NAME/KEYSPACE/TABLE/*`. The agent on the
//! node's host creates the links.

pub mod checksums;
pub mod contents;
pub mod definition_differences;
pub mod disk_space;
pub mod hard_links;
pub mod import_files;
pub mod manifest;
pub mod sstables;
pub mod statistics;
pub mod swap_files;
pub mod table_definitions;
