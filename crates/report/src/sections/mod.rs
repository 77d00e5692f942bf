//! The sections of a run's page. Each section has a separate file.

pub mod comparisons;
pub mod cost;
pub mod curves;
pub mod effects;
pub mod endurance;
pub mod grid;
pub mod growth;
mod half_normal;
pub mod headline;
pub mod lead_figure;
pub mod limits;
pub mod price_performance;
pub mod profiles;
pub mod published;
pub mod question;
pub mod requirements;
pub mod results;
pub mod rules;
pub mod scale_up;
pub mod screening;
pub mod search;
pub mod sweep;
pub mod tail;

pub mod latency;
pub mod panels;
pub mod trial_series;
pub mod tuning;

mod acknowledged_writes;
pub mod cluster;
pub mod data;
pub mod effective;
pub mod faults;
pub mod host_settings;
pub mod initial_data;
pub mod load_generator;
pub mod machines;
pub mod node_balance;
pub mod proofs;
pub mod requests;
pub mod setup;
mod sides;

use crate::page::Tone;
use store::record::{ComparisonRecord, Finding};

pub fn verdict_tone(c: &ComparisonRecord) -> Tone {
    match c.verdict {
        Finding::Faster => Tone::Good,
        Finding::Slower => Tone::Bad,
        Finding::LooksDifferent => Tone::Warn,
        Finding::Equivalent => Tone::Strong,
        Finding::Inconclusive => Tone::Plain,
    }
}

pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
