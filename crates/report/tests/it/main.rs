//! The tests of the crate `report`, in one binary. Pages are made from a run that is built in code
//! ([`fixture`]), from a run that is written and read through the store, and from hostile text.
//!
//! To look at the pages: `CASSAY_REPORT_OUT=/tmp/pages cargo test -p report`.

mod answers;
mod browser;
mod colours;
mod costs;
mod endurance;
mod faults;
mod figures;
mod fixture;
mod folds;
mod golden;
mod grafana;
mod history;
mod host_settings;
mod hostile;
mod lab;
mod lead;
mod machines;
mod pages;
mod panels;
mod pipeline;
mod profiles;
mod published;
mod reading;
mod requests;
mod scale_up;
mod tail;
