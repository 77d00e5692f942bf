//! Tests that segments of any length are read back unchanged, and that the reader refuses corrupt
//! segments.

use super::*;
use crate::{Version, request};
use proptest::prelude::*;

const BOTH: [Segments; 2] = [Segments { is_lz4: false }, Segments { is_lz4: true }];

/// Returns a frame with a body of this length. Depending on `seed`, the body compresses well or not
/// at all.
fn frame(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![5, 0, 0, 1, 7];
    bytes.extend((length as u32).to_be_bytes());
    let mut state = seed;
    bytes.extend((0..length).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
        (state >> 56) as u8
    }));
    bytes
}

/// Returns the content of segments, read with at most `step` bytes per call.
fn read(segments: Segments, wire: &[u8], length: usize, step: usize) -> Vec<u8> {
    let (mut reader, mut at) = (SegmentReader::new(segments), 0);
    let mut out = vec![0; length];
    for room in out.chunks_mut(step) {
        let fill = |bytes: &mut [u8]| {
            let next = wire.get(at..at + bytes.len()).ok_or("no more comes")?;
            bytes.copy_from_slice(next);
            at += bytes.len();
            Ok(())
        };
        reader.fill(room, fill, |_| "no segment").expect("what was wrapped");
    }
    assert!(reader.is_empty() && at == wire.len(), "nothing is left");
    out
}

/// The expected bytes were written by hand from the specification. They are a self-contained
/// segment with 9 bytes of frames.
#[test]
fn a_segment_has_lengths_a_checksum_frames_and_their_checksum() {
    let mut frames = Vec::new();
    request::options(&mut frames, 1);
    let mut wire = Vec::new();
    BOTH[0].wrap(&frames, &mut wire);
    assert_eq!(wire.len(), 6 + frames.len() + 4);
    assert_eq!(wire[..3], [frames.len() as u8, 0, 0x02]);
    assert_eq!(wire[6..6 + frames.len()], frames);
    let mut wire = Vec::new();
    BOTH[1].wrap(&frames, &mut wire);
    // Compression did not make the segment shorter, so the length before compression is 0.
    assert_eq!(wire[..5], [frames.len() as u8, 0, 0, 0, 0x04]);
    assert_eq!(wire.len(), 8 + frames.len() + 4);
}

#[test]
fn small_frames_share_a_segment_and_large_frames_are_split() {
    let small = frame(1000, 3);
    let many = small.repeat(200);
    let mut wire = Vec::new();
    BOTH[0].wrap(&many, &mut wire);
    let first = BOTH[0].segment_bytes(&wire).unwrap().unwrap();
    let fit = PAYLOAD_BYTES_MAX / small.len();
    assert_eq!(first, 6 + fit * small.len() + 4);
    assert_eq!(wire.len(), many.len() + 2 * 10);
    let is_whole = |wire: &[u8]| wire[2] & 0x02 != 0;
    assert!(is_whole(&wire) && is_whole(&wire[first..]));

    let large = frame(2 * PAYLOAD_BYTES_MAX, 5);
    let all = [&small[..], &large, &small].concat();
    let mut wire = Vec::new();
    BOTH[0].wrap(&all, &mut wire);
    let (mut whole, mut at) = (Vec::new(), 0);
    while at < wire.len() {
        whole.push(is_whole(&wire[at..]));
        at += BOTH[0].segment_bytes(&wire[at..]).unwrap().unwrap();
    }
    assert_eq!(whole, [true, false, false, false, true]);
    assert_eq!(read(BOTH[0], &wire, all.len(), 777), all);
}

#[test]
fn a_changed_bit_of_a_segment_is_found() {
    for segments in BOTH {
        let mut wire = Vec::new();
        segments.wrap(&vec![7; 400], &mut wire);
        for at in 0..wire.len() {
            for bit in 0..8 {
                let mut changed = wire.clone();
                changed[at] ^= 1 << bit;
                let mut payload = Vec::new();
                let read = match segments.segment_bytes(&changed) {
                    Ok(Some(bytes)) if bytes == changed.len() => {
                        segments.unwrap(&changed, &mut payload)
                    }
                    Ok(_) => panic!("byte {at}: another length"),
                    Err(error) => Err(error),
                };
                assert!(read.is_err(), "byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn nothing_is_allocated_where_there_is_room() {
    for segments in BOTH {
        for length in [1, 100_000, PAYLOAD_BYTES_MAX, 600_000] {
            let frames = frame(length, 9);
            let room = Segments::room_bytes(frames.len());
            let mut out = Vec::with_capacity(room);
            let before = (out.as_ptr(), out.capacity());
            segments.wrap(&frames, &mut out);
            assert_eq!((out.as_ptr(), out.capacity()), before);
        }
    }
}

/// Compares the same statement in each version. Version 5 has flags of four bytes, and sends the id
/// of the result metadata.
#[test]
fn version_five_has_wide_flags_and_names_the_metadata_of_rows() {
    let of = |version: Version| {
        let params = request::QueryParams {
            version,
            page_size: Some(7),
            ..request::QueryParams::default()
        };
        let id = request::StatementId {
            id: b"ID",
            result_metadata: b"META",
        };
        let (mut execute, mut prepare) = (Vec::new(), Vec::new());
        request::execute(&mut execute, 1, id, &params);
        request::prepare(&mut prepare, version, 1, "S").unwrap();
        (
            execute[HEADER_BYTES..].to_vec(),
            prepare[HEADER_BYTES..].to_vec(),
        )
    };
    for version in [Version::V3, Version::V4] {
        let (execute, prepare) = of(version);
        assert_eq!(execute, b"\0\x02ID\0\x0A\x04\0\0\0\x07");
        assert_eq!(prepare, b"\0\0\0\x01S");
    }
    let (execute, prepare) = of(Version::V5);
    assert_eq!(execute, b"\0\x02ID\0\x04META\0\x0A\0\0\0\x04\0\0\0\x07");
    assert_eq!(prepare, b"\0\0\0\x01S\0\0\0\0");
}

proptest! {
    #[test]
    fn wrapped_frames_are_read(
        lengths in prop::collection::vec(0..300_000_usize, 0..5),
        seed in 1..5_u64,
        step in 1..70_000_usize,
    ) {
        let frames: Vec<u8> = lengths.iter().flat_map(|length| frame(*length, seed)).collect();
        for segments in BOTH {
            let mut wire = Vec::new();
            segments.wrap(&frames, &mut wire);
            prop_assert!(wire.len() <= Segments::room_bytes(frames.len()));
            prop_assert_eq!(&read(segments, &wire, frames.len(), step), &frames);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for segments in BOTH {
            if let Ok(Some(length)) = segments.segment_bytes(&bytes)
                && let Some(segment) = bytes.get(..length)
            {
                let _ = segments.unwrap(segment, &mut Vec::new());
            }
        }
    }
}
