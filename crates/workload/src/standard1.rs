//! The default table of cassandra-stress, with the same statements, keys and columns bit for bit.
//!
//! Row r is cassandra-stress's seed r + 1, since cassandra-stress writes `seq=1..n`. The key is
//! drawn from the seed, and the columns from a fold of the key's bytes. Each column has a salt from
//! its name, so that columns do not depend on each other and the processor can overlap their
//! computation. Values depend on the row alone. An overwrite writes the same bytes, so a value of
//! an older epoch cannot be detected.
//!
//! The statements differ from the original in two respects. Tables are qualified by their keyspace.
//! Compression is switched off in the syntax of Cassandra 5, where an empty map means the default.
//! Columns with a compressible share have the original's bytes except for that share.

use crate::compressible::Pattern;
use crate::distribution::Sampler;
use crate::java::{Faster, Random};
use crate::operation_generator::{Check, Operation};
use crate::params::Params;
use crate::program::{Program, Stage, lanes};
use crate::program_traits;
use crate::random::lane;
use crate::workload_parts::{self, Draft, OneTable};
use cql::Consistency;
use cql::response::RawRows;
use cql::template::append_value;
use cql::token::{hash3_x64_128, murmur3};

pub(crate) const NAME: &str = "standard1";

const TABLE: &str = "standard1";

const WRITE: u16 = 0;
const READ: u16 = 1;

/// Maximum number of blob columns. The limits on columns and rows below keep a row below the 16 MiB
/// that Cassandra's commit log accepts with its default segment size.
const COLUMNS_MAX: u64 = 1000;
const COLUMN_BYTES_MAX: u64 = 1_000_000;
const ROW_BYTES_MAX: u64 = 16_000_000;
/// Cassandra's limit on the size of a key, in bytes.
const KEY_BYTES_MAX: u64 = 65_535;

const KINDS: [(&str, bool); 2] = [("write", true), ("read", false)];

#[derive(Debug)]
pub(crate) struct Standard1 {
    key_bytes: usize,
    key_salt: u64,
    column_bytes: usize,
    column_salts: Vec<u64>,
    pattern: Pattern,
}

/// The key of the current row, and data that is derived from the key.
#[derive(Debug)]
pub(crate) struct RowKey {
    /// The key, split into groups of 16 bytes. The last group may extend beyond the end of the key.
    groups: Vec<[u8; 16]>,
    key_bytes: usize,
    /// Fold of the key's bytes. The values of the columns are drawn from this number.
    columns_seed: u64,
    /// Buffer for the expected bytes of a column.
    expected: Vec<u8>,
}

/// Returns column names in cassandra-stress's order. This is the order of their bytes, with C10
/// before C2.
fn column_names(columns: u64) -> Vec<String> {
    let mut names: Vec<String> = (0..columns).map(|column| format!("C{column}")).collect();
    names.sort_unstable();
    names
}

/// Returns the salt of a column or of the key.
fn salt(name: &str) -> u64 {
    hash3_x64_128(format!("randomstr{name}").as_bytes(), 0).0 as u64
}

fn statements(table: &str, columns: u64) -> [String; 2] {
    let names = column_names(columns);
    let list =
        |each: &dyn Fn(&String) -> String| names.iter().map(each).collect::<Vec<_>>().join(",");
    [
        format!(
            "UPDATE {table} SET {} WHERE KEY=?",
            list(&|name| format!("\"{name}\" = ?"))
        ),
        format!(
            "SELECT {} FROM {table} WHERE KEY=?",
            list(&|name| format!("\"{name}\""))
        ),
    ]
}

fn create_table(table: &str, columns: u64) -> String {
    let columns: Vec<String> =
        column_names(columns).iter().map(|name| format!("\"{name}\" blob")).collect();
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (\"key\" blob PRIMARY KEY, {}) \
         WITH compression = {{'enabled': 'false'}}",
        columns.join(", ")
    )
}

pub(crate) fn program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let rows = workload_parts::rows(spec);
    let columns = params.number("columns", 5, (1, COLUMNS_MAX));
    let column_size = params.number("column_size", 34, (1, COLUMN_BYTES_MAX));
    let key_size = params.number("key_size", 10, (1, KEY_BYTES_MAX));
    let pattern = Pattern::new(params.share("compressible"));
    let distribution = params.rows_distribution("distribution", rows);
    if columns * column_size > ROW_BYTES_MAX {
        let message = format!(
            "{columns} columns of {column_size} bytes are {} bytes per row; the limit is \
             {ROW_BYTES_MAX}",
            columns * column_size
        );
        params.problem(&["params", "column_size"], message, None);
    }
    let popular = lane(spec.seed, lanes::POPULAR);
    let table = draft.qualified(TABLE);
    let [write, read] = statements(&table, columns);
    let parts = OneTable {
        name: TABLE.to_owned(),
        create: create_table(&table, columns),
        kinds: &KINDS,
        statements: vec![
            workload_parts::statement(&KINDS, 0, write, Consistency::LocalOne),
            workload_parts::statement(&KINDS, 1, read, Consistency::LocalOne),
        ],
        rows,
        picks: Sampler::new(distribution, (0, rows - 1), Some(popular)),
        insert_kind: None,
        load: 0,
        verify: READ,
        table: Standard1 {
            pattern,
            ..Standard1::new(columns, column_size as usize, key_size as usize)
        },
    };
    draft.program(params, parts)
}

impl program_traits::RowFunction for Standard1 {
    type RowKey = RowKey;

    fn cursor(&self) -> RowKey {
        RowKey {
            groups: vec![[0; 16]; self.key_bytes.div_ceil(16)],
            key_bytes: self.key_bytes,
            columns_seed: 0,
            expected: vec![0; self.column_bytes],
        }
    }

    #[inline]
    fn token(cursor: &RowKey) -> i64 {
        murmur3(cursor.key())
    }

    fn row_bytes_estimate(&self) -> u64 {
        (self.key_bytes + self.column_salts.len() * self.column_bytes) as u64
    }

    fn values_bytes_max(&self) -> usize {
        self.column_salts.len() * (4 + self.column_bytes) + 4 + self.key_bytes
    }

    #[inline]
    fn seek(&self, cursor: &mut RowKey, row: u64) {
        let seed = row.wrapping_add(1);
        let mut random = Random::new(seed ^ self.key_salt);
        random.skip(); // seeds the size of the key, which is fixed
        for group in &mut cursor.groups {
            *group = nibble_characters(random.identity());
        }
        let key = &cursor.groups.as_flattened()[..cursor.key_bytes];
        cursor.columns_seed = fold(key);
    }

    #[inline]
    fn append_values(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        _stage: Stage,
        out: &mut Vec<u8>,
    ) {
        let statement = operation.statement;

        let key = cursor.key();
        if statement == WRITE {
            let length = (self.column_bytes as u32).to_be_bytes();
            let start = out.len();
            let stride = 4 + self.column_bytes;
            out.resize(start + stride * self.column_salts.len(), 0);
            let columns = out[start..].chunks_exact_mut(stride);
            for (salt, value) in self.column_salts.iter().zip(columns) {
                let (head, bytes) = value.split_at_mut(4);
                head.copy_from_slice(&length);
                self.write_column(cursor.columns_seed, *salt, bytes);
            }
        }
        append_value(out, key);
    }

    /// Compares every column of the single row with its regenerated bytes.
    fn check(
        &self,
        cursor: &mut RowKey,
        _operation: &Operation,
        _loaded: bool,
        rows: &RawRows,
    ) -> Check {
        let mut rows = rows.rows();
        let row = match rows.next() {
            None => return Check::Missing,
            Some(Err(_)) => return Check::Wrong,
            Some(Ok(row)) => row,
        };
        if rows.next().is_some() {
            return Check::Wrong;
        }
        let mut cells = row.cells();
        for salt in &self.column_salts {
            self.write_column(cursor.columns_seed, *salt, &mut cursor.expected);
            if cells.next() != Some(Some(&cursor.expected[..])) {
                return Check::Wrong;
            }
        }
        if cells.next().is_some() {
            Check::Wrong
        } else {
            Check::Right
        }
    }
}

impl Standard1 {
    pub(crate) fn new(columns: u64, column_bytes: usize, key_bytes: usize) -> Standard1 {
        Standard1 {
            key_bytes,
            key_salt: salt("key"),
            column_bytes,
            column_salts: column_names(columns).iter().map(|name| salt(name)).collect(),
            pattern: Pattern::RANDOM,
        }
    }

    #[inline]
    fn write_column(&self, columns_seed: u64, salt: u64, out: &mut [u8]) {
        column(columns_seed, salt, out);
        self.pattern.apply(out);
    }
}

impl RowKey {
    #[inline]
    fn key(&self) -> &[u8] {
        &self.groups.as_flattened()[..self.key_bytes]
    }
}

/// Writes the bytes of one column, as in cassandra-stress.
#[inline]
fn column(columns_seed: u64, salt: u64, out: &mut [u8]) {
    let seed = Random::new(columns_seed ^ salt).identity();
    Faster::new(!seed).fill(out);
}

/// Returns the 16 nibbles of `value` as characters, with the lowest nibble first. The characters
/// are 0 to 9, then K to P.
#[inline]
fn nibble_characters(value: u64) -> [u8; 16] {
    let mut characters = [0; 16];
    let (low, high) = characters.split_at_mut(8);
    low.copy_from_slice(&eight_characters(value as u32).to_le_bytes());
    high.copy_from_slice(&eight_characters((value >> 32) as u32).to_le_bytes());
    characters
}

/// Converts eight nibbles to eight characters at once.
#[inline]
fn eight_characters(nibbles: u32) -> u64 {
    let mut x = u64::from(nibbles);
    x = (x | (x << 16)) & 0x0000_FFFF_0000_FFFF;
    x = (x | (x << 8)) & 0x00FF_00FF_00FF_00FF;
    x = (x | (x << 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    // Adding 6 to a nibble of 10 and above carries into the next nibble, which sets one flag per
    // byte.
    let above_9 = ((x + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    // 'A' - '0' is 17. cassandra-stress computes a letter from the whole nibble, without
    // subtracting the ten digits.
    x + 0x3030_3030_3030_3030 + above_9 * 17
}

/// Returns a 64-bit version of the hash that Java computes for a byte array. Each step computes
/// 31·s + byte. Java's bytes are signed, but the characters of a key are never negative.
#[inline]
fn fold(key: &[u8]) -> u64 {
    key.iter().fold(0, |sum: u64, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program_traits::RowFunction as _;
    use data_encoding::HEXLOWER;

    fn seek(table: &Standard1, seed: u64) -> RowKey {
        let mut cursor = table.cursor();
        table.seek(&mut cursor, seed.wrapping_sub(1));
        cursor
    }

    fn append(table: &Standard1, cursor: &mut RowKey, out: &mut Vec<u8>) {
        table.append_values(cursor, &Operation::default(), Stage::Load, out);
    }

    #[test]
    fn salts_are_cassandra_stress_s() {
        for (name, expected) in [
            ("key", -6_294_861_599_187_687_378i64),
            ("C0", 5_919_258_029_671_157_411),
            ("C1", 2_823_822_333_041_508_710),
            ("C2", -4_400_155_034_025_812_751),
            ("C3", -611_415_708_070_891_864),
            ("C4", -329_182_932_806_138_863),
        ] {
            assert_eq!(salt(name) as i64, expected, "{name}");
        }
    }

    #[test]
    fn keys_and_folds_are_cassandra_stress_s() {
        let table = Standard1::new(1, 5, 10);
        for (seed, key, fold, c0) in [
            (1, "0P37709P21", 1_338_786_723_438_483, "85182fdfe7"),
            (2, "O8LK79LO61", 2_138_651_199_823_976, "b8e05320cd"),
            (3, "OP001L5930", 2_158_326_113_993_629, "5ff08459cc"),
            (4, "9N54NK4861", 1_575_090_586_760_464, "10f1dd6feb"),
            (5, "77596MO230", 1_502_598_601_642_299, "dc9e1bf05e"),
        ] {
            let cursor = seek(&table, seed);
            assert_eq!(cursor.key(), key.as_bytes());
            assert_eq!(cursor.columns_seed, fold);
            let mut bytes = [0; 5];
            column(cursor.columns_seed, table.column_salts[0], &mut bytes);
            assert_eq!(HEXLOWER.encode(&bytes), c0);
        }
        for (seed, key) in [
            (0, "42247760P0"),
            (6, "7O2N651270"),
            (7, "68K07O31L0"),
            (10, "P6MNM8P9O0"),
            (100, "045NKO3290"),
            (1000, "74PM400L90"),
            (3968, "87M9KPM540"),
            (1_000_000, "0PMNL82P31"),
        ] {
            assert_eq!(seek(&table, seed).key(), key.as_bytes(), "seed {seed}");
        }
    }

    #[test]
    fn long_keys_draw_a_value_per_16_characters() {
        assert_eq!(
            seek(&Standard1::new(1, 5, 20), 1).key(),
            b"0P37709P210000009LMK"
        );
        assert_eq!(
            seek(&Standard1::new(1, 5, 33), 7).key(),
            b"68K07O31L000000018MP5NM3K00000004"
        );
    }

    #[test]
    fn default_columns_are_cassandra_stress_s() {
        let table = Standard1::new(5, 34, 10);
        let mut cursor = seek(&table, 1);
        let mut out = Vec::with_capacity(table.values_bytes_max());
        append(&table, &mut cursor, &mut out);
        let mut expected = String::new();
        for value in [
            "85182fdfe7f86306cd58ce81aa53cca24c193841d6ae8a91646a4c304dd9f47892f9",
            "1f5c9f8c30a62ce4815e936de814514ea33ed4d85fa33f90222d58a5a0a49b38d2fe",
            "225510932bd8812b4610817653b79c86552c99aefb177f4cefa4850a9139db696e6e",
            "d7e099a59da559e039600f6e2c0ede94bada8cfe5d8d4ff26d68ff597d3b3f68f2b4",
            "fbdd9cec024fcbde438399670475aa8900d80e0ed3d0c3312d9d4ae79241214d74c3",
        ] {
            expected += "00000022";
            expected += value;
        }
        expected += "0000000a";
        expected += &HEXLOWER.encode(b"0P37709P21");
        assert_eq!(HEXLOWER.encode(&out), expected);
        assert_eq!(out.len(), table.values_bytes_max());
    }

    #[test]
    fn the_first_thousand_rows_are_those_of_the_reference_port() {
        let table = Standard1::new(5, 34, 10);
        let mut out = Vec::new();
        for seed in 1..=1000 {
            append(&table, &mut seek(&table, seed), &mut out);
        }
        // The expected hash is FNV-1a over all values with their lengths. A port in Python, which
        // agrees with cassandra-stress, has computed it.
        let hash = out.iter().fold(0xCBF2_9CE4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
        });
        assert_eq!(hash, 0x2FE3_678B_E8B7_B606);
    }

    #[test]
    fn long_columns_pass_the_reseeding_of_the_generator() {
        let table = Standard1::new(11, 300, 33);
        let cursor = seek(&table, 12);
        assert_eq!(cursor.columns_seed as i64, 1_351_072_752_544_756_820);
        let mut bytes = vec![0; 300];
        column(cursor.columns_seed, salt("C10"), &mut bytes);
        assert_eq!(HEXLOWER.encode(&bytes[..8]), "5908dfd63eca114c");
        assert_eq!(
            HEXLOWER.encode(&bytes[240..264]),
            "e0d7fd0b1b9a8d1952146e663812c6925c47e48e04619018"
        );
        assert_eq!(HEXLOWER.encode(&bytes[292..]), "05ad0b0875f557f3");
    }

    #[test]
    fn columns_are_in_the_order_of_their_bytes() {
        let names = column_names(12);
        assert_eq!(names[..4], ["C0", "C1", "C10", "C11"]);
        assert_eq!(names[4], "C2");
    }

    #[test]
    fn the_token_is_that_of_the_key() {
        assert_eq!(
            murmur3(seek(&Standard1::new(1, 5, 10), 1).key()),
            296_988_783_704_308_703
        );
    }
}
