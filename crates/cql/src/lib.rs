//! The only crate that knows what CQL bytes look like: frames in, frames out, templates with patch points; sans-I/O.
