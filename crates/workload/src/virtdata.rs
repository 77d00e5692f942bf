//! NoSQLBench's hash functions, bit for bit. They map cycles to pseudo-random numbers and UUIDs.
//!
//! The hash is MurmurHash3 x64-128 with seed 0 over the eight big-endian bytes of the cycle. The
//! result is the lower 64 bits without their sign. For this algorithm, eight bytes are only a tail,
//! so the algorithm reduces to the few lines below. The tail consists of unsigned bytes, as in the
//! original MurmurHash and unlike in Cassandra's partitioner.

/// Returns the result of NoSQLBench's `Hash` function, which has 63 bits.
#[inline]
pub fn hash(value: u64) -> u64 {
    const BYTES: u64 = 8;
    let k1 = value
        .swap_bytes()
        .wrapping_mul(0x87C3_7B91_1142_53D5)
        .rotate_left(31)
        .wrapping_mul(0x4CF5_AD43_2745_937F);
    let h1 = (k1 ^ BYTES).wrapping_add(BYTES);
    let h2 = h1.wrapping_add(BYTES);
    (finish(h1).wrapping_add(finish(h2)) as i64).unsigned_abs()
}

/// Applies the finalizer of MurmurHash3, a bijection of 64 bits.
#[inline]
fn finish(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    k = (k ^ (k >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    k ^ (k >> 33)
}

/// Returns the integer form of a hash, which is its lowest 31 bits.
#[inline]
pub fn integer(hash: u64) -> u64 {
    hash & 0x7FFF_FFFF
}

/// Returns the result of NoSQLBench's `ToHashedUUID`, which is a version 4 UUID in wire order.
#[inline]
pub fn hashed_uuid(value: u64) -> [u8; 16] {
    let high = (hash(value) & !0xF000) | 0x4000;
    let low = (hash(value.wrapping_add(1)) & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000;
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_nosqlbench_s() {
        for (value, expected) in [
            (0, 2_945_182_322_382_062_539),
            (1, 6_292_367_497_774_912_474),
            (2, 8_218_881_827_949_364_593),
            (3, 8_048_510_690_352_527_683),
        ] {
            assert_eq!(hash(value), expected, "{value}");
        }
        assert_eq!(hash(32) % 65, 11);
    }

    #[test]
    fn integer_hashes_are_nosqlbench_s() {
        for (value, expected) in [
            (0, 1_280_820_171),
            (1, 488_002_522),
            (2, 500_548_977),
            (3, 2_103_802_179),
        ] {
            assert_eq!(integer(hash(value)), expected, "{value}");
        }
    }

    #[test]
    fn uuids_are_nosqlbench_s() {
        let expected = 0x5752_fae6_9d16_43da_b20f_557a_1dd5_c571u128;
        assert_eq!(u128::from_be_bytes(hashed_uuid(1)), expected);
    }
}
