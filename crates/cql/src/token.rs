//! Computes tokens of Murmur3Partitioner, which determine the node that owns a partition key.
//!
//! Cassandra's MurmurHash3 x64 128 differs from Austin Appleby's in one respect: Cassandra treats
//! the bytes of the tail as signed. A byte of 0x80 or more therefore also sets every higher bit. If
//! a client ignores this, it sends requests with such keys to the wrong node. The requests succeed,
//! but take longer.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// Returns the token of a serialised partition key. The partitioner maps `i64::MIN`, which marks
/// the start of the ring, to `i64::MAX`.
#[inline]
pub fn murmur3(key: &[u8]) -> i64 {
    match hash3_x64_128(key, 0).0 {
        i64::MIN => i64::MAX,
        hash => hash,
    }
}

/// Returns both halves of Cassandra's variant of MurmurHash3 x64 128.
#[inline]
pub fn hash3_x64_128(data: &[u8], seed: u64) -> (i64, i64) {
    let (mut h1, mut h2) = (seed, seed);
    let (blocks, tail) = data.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(block);
        h1 ^= mix1(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (k1, k2) = signed_tail(tail);
    // A half of the tail that is zero mixes to zero, so the code does not need to branch on the
    // length of the tail.
    h2 ^= mix2(k2);
    h1 ^= mix1(k1);

    h1 ^= data.len() as u64;
    h2 ^= data.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finalize(h1);
    h2 = finalize(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1 as i64, h2 as i64)
}

#[inline]
fn halves(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

/// Returns the two halves of a tail of up to 15 bytes. Each byte is sign-extended, shifted to its
/// position and XORed in.
#[inline]
fn signed_tail(tail: &[u8]) -> (u64, u64) {
    let count = tail.len();
    match (tail.first_chunk::<8>(), tail.last_chunk::<8>()) {
        // The last 8 bytes overlap the first 8 bytes. The shift removes the bytes that are already
        // in the low half. Exactly 8 bytes are a separate case, because the high half is then empty
        // and a shift by all 64 bits is undefined.
        (Some(low), Some(last)) if count > 8 => {
            let high = u64::from_le_bytes(*last) >> (8 * (16 - count));
            (extend_signs(u64::from_le_bytes(*low)), extend_signs(high))
        }
        (Some(low), _) => (extend_signs(u64::from_le_bytes(*low)), 0),
        (None, _) => {
            let bytes = tail.iter().rev().fold(0, |low, &byte| low << 8 | u64::from(byte));
            (extend_signs(bytes), 0)
        }
    }
}

/// For each byte of 0x80 or more, flips every bit above that byte, which has the same effect as
/// XORing sign-extended bytes. In total, the function flips a byte if the number of such bytes
/// below it is odd. The prefix parity of the sign bits shows which bytes these are. ASCII keys have
/// no bytes of 0x80 or more.
#[inline]
fn extend_signs(bytes: u64) -> u64 {
    const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;
    let mut parity = (bytes >> 7 & LOWEST_BITS) << 8;
    parity ^= parity << 8;
    parity ^= parity << 16;
    parity ^= parity << 32;
    bytes ^ parity.wrapping_mul(0xFF)
}

#[inline]
fn mix1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline]
fn mix2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

#[inline]
fn finalize(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An independent implementation in Python computed the tokens. That implementation was checked
    /// against the test vectors of other clients. The tails cover every case: none, short, 8, 9 and
    /// 15 bytes, signed and unsigned, and whole blocks.
    #[rustfmt::skip]
    const VECTORS: &[(&[u8], i64)] = &[
        (b"", 0),
        (b"a", -8_839_064_797_231_613_815),
        (b"randomstrC0", 5_919_258_029_671_157_411),
        (b"randomstrkey", -6_294_861_599_187_687_378),
        (b"1234567", 3_232_113_351_312_417_698),
        (b"12345678", 4_272_337_174_398_058_908),
        (b"123456789", 4_360_720_697_772_133_540),
        (b"xyz{|}~\x7f\x80\x81\x82\x83\x84\x85\x86", -4_555_404_085_639_538_951),
        (b"xyz{|}~\x7f\x80\x81\x82\x83\x84\x85\x86\x87", -7_401_734_793_636_492_071),
        (b"\x80", -5_284_281_814_142_962_636),
        (b"\xff\xff\xff\xff\xff\xff\xff", 4_860_178_782_003_914_630),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff", 7_071_048_584_287_372_947),
        (b"0P37709P21", 296_988_783_704_308_703),
        (b"O8LK79LO61", 3_151_688_024_208_981_352),
        (b"Z\xc3\xbcrich", -5_540_362_457_254_946_660),
    ];

    #[test]
    fn tokens_are_those_of_the_independent_implementation() {
        for (key, token) in VECTORS {
            assert_eq!(murmur3(key), *token, "{key:02x?}");
        }
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(murmur3(&bytes), 2_060_892_794_568_774_329);
        assert_eq!(
            murmur3(&[0x00, 0xFF].repeat(16)),
            -4_815_489_281_311_388_829
        );
        assert_eq!(murmur3(&[0xFF; 15]), -2_195_530_867_418_009_455);
    }

    /// Computes the two halves of the tail byte by byte, as the definition states.
    fn signed_tail_by_definition(tail: &[u8]) -> (u64, u64) {
        let mut halves = [0u64; 2];
        for (index, &byte) in tail.iter().enumerate() {
            halves[index / 8] ^= (i64::from(byte as i8) as u64) << (8 * (index % 8));
        }
        (halves[0], halves[1])
    }

    proptest! {
        #[test]
        fn a_tail_is_extended_as_defined(tail in proptest::collection::vec(any::<u8>(), 0..16)) {
            prop_assert_eq!(signed_tail(&tail), signed_tail_by_definition(&tail));
        }
    }
}
