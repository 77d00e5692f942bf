//! The parts of a run's page, one file each, in reading order.

pub mod headline;
pub mod results;
pub mod rules;
pub mod sweep;

pub mod latency;
pub mod panels;
pub mod time;

pub mod data;
pub mod instrument;
pub mod requests;
pub mod setup;
