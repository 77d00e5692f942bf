//! The only crate that knows statistics: error bars, effective sample size, comparisons, knee, verdict rules.
