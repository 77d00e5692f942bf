//! Results in the words of other tools, so that scripts which read those go on working.

pub mod ycsb;
