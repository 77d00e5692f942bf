//! The only crate that knows Cassandra as processes on hosts: supply, provisioning, nodes, control, probes; attached and null targets.

pub mod null;
