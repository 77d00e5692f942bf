//! Tokens of Murmur3Partitioner: which node owns a partition key.
//!
//! Cassandra's MurmurHash3 x64 128 differs from Austin Appleby's in one thing: the bytes of the
//! tail are signed, so that one of 0x80 or more sets every higher bit as well. A client that gets
//! this wrong sends such keys to the wrong node and everything still works, only slower.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The token of a serialized partition key. The partitioner has no use for `i64::MIN` (it marks the
/// ring's beginning), and maps it to `i64::MAX`.
#[inline]
pub fn murmur3(key: &[u8]) -> i64 {
    match hash3_x64_128(key, 0).0 {
        i64::MIN => i64::MAX,
        hash => hash,
    }
}

/// Both halves of Cassandra's variant of MurmurHash3 x64 128.
#[inline]
pub fn hash3_x64_128(data: &[u8], seed: u64) -> (i64, i64) {
    let (mut h1, mut h2) = (seed, seed);
    let (blocks, tail) = data.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(block);
        h1 ^= mix1(k1);
        h1 = h1
            .rotate_left(27)
            .wrapping_add(h2)
            .wrapping_mul(5)
            .wrapping_add(0x52dc_e729);
        h2 ^= mix2(k2);
        h2 = h2
            .rotate_left(31)
            .wrapping_add(h1)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5ab5);
    }
    let (k1, k2) = signed_tail(tail);
    // A half of zeroes mixes to zero, so that a tail of any length needs no branch here.
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

/// The two halves of a tail of up to 15 bytes, each byte sign-extended before it is shifted.
#[inline]
fn signed_tail(tail: &[u8]) -> (u64, u64) {
    let xor_signed = |bytes: &[u8]| {
        let mut k = 0u64;
        for (index, &byte) in bytes.iter().enumerate() {
            k ^= (i64::from(byte as i8) as u64) << (8 * index);
        }
        k
    };
    let (low, high) = tail.split_at(tail.len().min(8));
    (xor_signed(low), xor_signed(high))
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
