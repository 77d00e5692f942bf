//! Compares copies with copying byte by byte.

use proptest::prelude::*;

// SAFETY: the signature is that of the function in `copy.s`.
unsafe extern "C" {
    fn cassay_copy(to: *mut u8, from: *const u8, length: usize) -> *mut u8;
}

/// Fills a vector with bytes that all differ from their neighbours, and copies some of the bytes to
/// another position in it. Returns `None` if a range is not within the vector.
fn copied(size: usize, to: usize, from: usize, length: usize) -> Option<[Vec<u8>; 2]> {
    let fits = to.max(from).checked_add(length)? <= size;
    let before: Vec<u8> = (0..size).map(|at| (at * 7 + at / 251) as u8).collect();
    fits.then(|| {
        let mut expected = before.clone();
        expected.copy_within(from..from + length, to);
        let mut seen = before;
        let start = seen.as_mut_ptr();
        // SAFETY: `fits` ensures that both ranges are within the vector.
        let given = unsafe { cassay_copy(start.add(to), start.add(from), length) };
        assert_eq!(given, start.wrapping_add(to), "it gives the destination");
        [expected, seen]
    })
}

#[test]
fn every_short_length_is_copied_to_every_place_near_it() {
    for length in 0..300 {
        for from in [0, 1, 64, 129] {
            for to in [0, 1, 2, 15, 16, 63, 64, 65, 127, 128, 200, 400] {
                let [expected, seen] = copied(800, to, from, length).unwrap();
                assert_eq!(expected, seen, "{length} bytes from {from} to {to}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_length_is_copied_anywhere(places in [0..9000usize, 0..9000], length in 0..9000usize) {
        let [to, from] = places;
        if let Some([expected, seen]) = copied(10_000, to, from, length) {
            prop_assert_eq!(expected, seen);
        }
    }
}
