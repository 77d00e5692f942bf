//! The only crate that knows what a study is: syntax, resolving, planning, running trials in order, resuming.
