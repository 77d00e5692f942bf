//! The only crate that knows what a result looks like: one page model; html, text, json.
