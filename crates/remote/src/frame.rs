//! Encoding of messages: the length in bytes (u32, little-endian), then JSON.

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{ErrorKind, Read, Write};

/// Maximum length of a message in bytes. Typical messages are far shorter.
const BYTES_MAX: usize = 1 << 20;

/// # Errors
/// The message is too long, or the receiver has ended.
pub fn write(to: &mut impl Write, message: &impl Serialize) -> Result<()> {
    send(to, &encode(message)?)
}

/// # Errors
/// The receiver has ended.
pub(crate) fn send(to: &mut impl Write, bytes: &[u8]) -> Result<()> {
    // With a single write, the receiver is unlikely to get half a message if this process is
    // killed.
    to.write_all(bytes).context("send a message")?;
    to.flush().context("send a message")
}

/// Returns the bytes of one message: its length in 4 bytes, then JSON.
///
/// # Errors
/// The message is too long.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message).context("write a message as JSON")?;
    let length = bytes.len() - 4;
    ensure!(
        length <= BYTES_MAX,
        "a message of {length} bytes is too long; the maximum is {BYTES_MAX} bytes"
    );
    bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

/// Reads one message. Returns `None` if the sender has ended between two messages.
///
/// # Errors
/// The stream ends within a message, or contains other data.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>> {
    let mut length = [0; 4];
    if !begins(from, &mut length)? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(length) as usize;
    ensure!(
        length <= BYTES_MAX,
        "the peer announces a message of {length} bytes, but the maximum is {BYTES_MAX} bytes: the \
         peer is not an agent of cassay"
    );
    // The buffer grows only as bytes arrive, so a wrong length cannot allocate much memory.
    let mut bytes = Vec::new();
    let read = from.by_ref().take(length as u64).read_to_end(&mut bytes);
    read.context("receive a message")?;
    ensure!(
        bytes.len() == length,
        "the stream ends after {} of {length} bytes of a message",
        bytes.len()
    );
    let message = serde_json::from_slice(&bytes).context("understand a message")?;
    Ok(Some(message))
}

/// Reads a length. Returns false if the stream ends before its first byte.
fn begins(from: &mut impl Read, length: &mut [u8; 4]) -> Result<bool> {
    let mut have = 0;
    while have < length.len() {
        match from.read(&mut length[have..]) {
            Ok(0) => {
                ensure!(have == 0, "the stream ends within the length of a message");
                return Ok(false);
            }
            Ok(count) => have += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("receive a message"),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Reader that returns `bytes` in pieces of these lengths, cyclically.
    struct Pieces<'a> {
        bytes: &'a [u8],
        lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = *self.lengths.next().unwrap();
            let count = length.min(self.bytes.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.bytes[..count]);
            self.bytes = &self.bytes[count..];
            Ok(count)
        }
    }

    proptest! {
        #[test]
        fn messages_arrive_however_the_stream_is_cut(
            texts in prop::collection::vec(".{0,40}", 0..8),
            lengths in prop::collection::vec(1_usize..50, 1..6),
        ) {
            let mut bytes = Vec::new();
            for text in &texts {
                write(&mut bytes, &json!({"text": text})).unwrap();
            }
            let mut stream = Pieces { bytes: &bytes, lengths: lengths.iter().cycle() };
            for text in &texts {
                let message: Option<Value> = read(&mut stream).unwrap();
                prop_assert_eq!(message, Some(json!({"text": text})));
            }
            prop_assert_eq!(read::<Value>(&mut stream).unwrap(), None);
        }

        #[test]
        fn a_stream_that_breaks_off_is_no_end(at in 1_usize..20) {
            let mut bytes = Vec::new();
            write(&mut bytes, &json!({"text": "0123456789"})).unwrap();
            let cut = &bytes[..at];
            prop_assert!(read::<Value>(&mut &*cut).is_err());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut stream = &bytes[..];
            while let Ok(Some(_)) = read::<Value>(&mut stream) {}
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_neither_sent_nor_awaited() {
        let long = "x".repeat(BYTES_MAX);
        let said = write(&mut Vec::new(), &long).unwrap_err().to_string();
        assert!(said.contains("is too long"), "{said}");
        // The four bytes "HTTP" form a length that is too large.
        let said = read::<Value>(&mut &b"HTTP/1.1 400"[..]).unwrap_err();
        assert!(
            said.to_string().contains("bytes: the peer is not an agent of cassay"),
            "{said}"
        );
    }
}
