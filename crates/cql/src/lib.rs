//! The only crate that reads and writes the bytes of CQL's protocol: requests, responses, templates
//! with patch points; it does no I/O.
//!
//! The crate supports versions 3 to 5 of the protocol (Cassandra 2.1 and later), and answers in
//! version 4. Invariants:
//! - Bytes from the network never cause a panic, and never reserve much more memory than their own
//!   size. The crate checks every count against the remaining bytes before it reserves memory.
//! - The hot path (`template`, `frame`, `response::{result_kind, error_code, RawRows}`, `token`)
//!   does not allocate if the caller's buffer has enough capacity.

pub mod compression;
pub mod consistency;
pub mod frame;
pub mod handshake;
pub mod reply;
pub mod request;
pub mod response;
pub mod segment;
pub mod template;
pub mod token;
pub mod tokens;
pub mod value;
mod version;
mod wire;

pub use compression::Compression;
pub use consistency::{Consistency, UnknownConsistency};
pub use frame::{FrameError, Header};
pub use handshake::{Handshake, HandshakeError};
pub use segment::{SegmentError, SegmentReader, Segments};
pub use value::{CqlType, Value};
pub use version::Version;
pub use wire::ParseError;
