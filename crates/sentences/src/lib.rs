//! The only crate that puts findings into sentences, with one file per subject.

pub mod cause;
pub mod comparison;
pub mod cost;
pub mod curve;
pub mod data;
pub mod effects;
pub mod endurance;
pub mod fault;
pub mod interval;
pub mod ladder;
pub mod limit;
pub mod price_performance;
pub mod profile;
pub mod requirement;
pub mod result_place;
pub mod scale_up;
pub mod screen;
pub mod search;
pub mod tail;
pub mod trials;
pub mod tuning;
pub mod without_faults;
