//! NoSQLBench's cql-iot. Operation n is NoSQLBench's cycle n, regardless of the seed.
//!
//! Machines, stations, times and write timestamps equal those of the original bit for bit, and so
//! do the positions and lengths of texts. Three things differ. The mix of the study decides which
//! cycles read instead of write. A sensor value is the exact normal quantile of the cycle's hash,
//! whereas NoSQLBench interpolates a table of 1000 points that ends at minus infinity. The table
//! names its compressor with the key `class`, which Cassandra has read since 3.0.
//!
//! Write timestamps begin in 1970. If deletes or writes with current timestamps came before, they
//! hide these writes, so the table must be truncated before loading.

use crate::distribution::{DistributionText, Sampler, Shape};
use crate::operation_generator::{Check, Operation};
use crate::params::Params;
use crate::program::{Program, Stage};
use crate::program_traits;
use crate::virtdata::{hash, hashed_uuid, integer};
use crate::workload_parts::{self, Draft, OneTable, is_identifier};
use crate::{iot_data, normal};
use cql::Consistency;
use cql::response::{RawRows, Row};
use cql::template::append_value;
use cql::token::murmur3;

pub(crate) const NAME: &str = "cql-iot";
/// Newer name of the workload in NoSQLBench.
pub(crate) const NAME_TIMESERIES: &str = "cql-timeseries";

const KINDS: [(&str, bool); 2] = [("write", true), ("read", false)];

const WRITE: u16 = 0;
const VERIFY: u16 = 2;

/// Minimum length of an extract, in characters.
const DATA_BYTES_MIN: u64 = 800;
const DATA_BYTES_MAX: u64 = 1200;
const VALUE_MEAN: f64 = 100.0;
const VALUE_DEVIATION: f64 = 5.0;

/// Maximum time speed. Up to this speed, the products of speeds and cycles fit in 64 bits for a
/// million years of cycles.
const TIMESPEED_MAX: u64 = 1_000_000;
/// Maximum number of machines or stations.
const SOURCES_MAX: u64 = 1_000_000_000_000;
/// Maximum number of rows of a result, because the client reads the result as one page.
const LIMIT_MAX: u64 = 5000;
/// Maximum value of `expiry_minutes`, the size of the table's compaction windows. It is a year.
const EXPIRY_MINUTES_MAX: u64 = 525_600;
/// Maximum length of a sensor name, in bytes. Cassandra limits the whole partition key to 65,535
/// bytes.
const WORD_BYTES_MAX: usize = 60_000;
const WORDS_MAX: usize = 1_000_000;
/// Maximum size of the text, in bytes. Every program keeps the text in memory.
const TEXT_BYTES_MAX: usize = 16_000_000;

#[derive(Debug)]
pub(crate) struct Iot {
    sources: u64,
    stations: u64,
    timespeed: u64,
    limit: usize,
    words: Vec<Box<str>>,
    word_bytes_max: usize,
    text: Box<str>,
}

/// Partition key of the current cycle.
#[derive(Debug)]
pub(crate) struct RowKey {
    cycle: u64,
    machine: [u8; 16],
    word: usize,
    /// Both columns of the partition key in the composite form from which tokens are computed.
    key: Vec<u8>,
}

/// Values that a write binds in addition to the partition key.
struct Reading<'a> {
    time_ms: u64,
    value: f64,
    station: [u8; 16],
    data: &'a [u8],
}

pub(crate) fn program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let rows = workload_parts::rows(spec);
    let table = table(params);
    let window = params.number("expiry_minutes", 60, (1, EXPIRY_MINUTES_MAX));
    let name = params.text("table").unwrap_or("iot").to_owned();
    let compression = params.text("compression").unwrap_or("LZ4Compressor").to_owned();
    if !is_identifier(&name) {
        let message = format!(
            "table \"{name}\" is not a valid name; it may have up to 48 \
                               characters"
        );
        params.problem(
            &["params", "table"],
            message,
            Some("use letters and digits".to_owned()),
        );
    }
    if !compression.split('.').all(is_identifier) {
        let message = format!("compression \"{compression}\" is not a valid class name");
        params.problem(
            &["params", "compression"],
            message,
            Some("LZ4Compressor".to_owned()),
        );
    }
    let qualified = draft.qualified(&name);
    let [write, read, verify] = statements(&qualified, table.limit);
    let every_cycle = DistributionText {
        shape: Shape::Sequence,
        range: None,
    };
    let level = Consistency::LocalQuorum;
    let parts = OneTable {
        name,
        create: create_table(&qualified, &compression, window),
        kinds: &KINDS,
        statements: vec![
            workload_parts::statement(&KINDS, 0, write, level),
            workload_parts::statement(&KINDS, 1, read, level),
            workload_parts::statement(&KINDS, 1, verify, level),
        ],
        rows,
        picks: Sampler::new(every_cycle, (0, u64::MAX - 1), None),
        insert_kind: None,
        load: 0,
        verify: VERIFY,
        table,
    };
    draft.program(params, parts)
}

fn table(params: &mut Params) -> Iot {
    let words = words(params);
    Iot {
        sources: params.number("sources", 10_000, (1, SOURCES_MAX)),
        stations: params.number("stations", 100, (1, SOURCES_MAX)),
        timespeed: params.number("timespeed", 100, (1, TIMESPEED_MAX)),
        limit: params.number("limit", 10, (1, LIMIT_MAX)) as usize,
        word_bytes_max: words.iter().map(|word| word.len()).max().unwrap_or(0),
        words,
        text: text(params, DATA_BYTES_MAX),
    }
}

fn words(params: &mut Params) -> Vec<Box<str>> {
    let Some(written) = params.text("words_file") else {
        return iot_data::words();
    };
    let words: Vec<Box<str>> = written.lines().map(Box::from).collect();
    let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
    if words.is_empty() || words.len() > WORDS_MAX || longest > WORD_BYTES_MAX {
        let message = format!(
            "words_file has {} lines, the longest of {longest} bytes; it must have 1 to \
             {WORDS_MAX} lines of at most {WORD_BYTES_MAX} bytes",
            words.len()
        );
        params.problem(&["params", "words_file"], message, None);
        return iot_data::words();
    }
    words
}

/// Returns the text for extracts of at most `extract_bytes_max` bytes.
pub(crate) fn text(params: &mut Params, extract_bytes_max: u64) -> Box<str> {
    let Some(written) = params.text("text_file") else {
        return iot_data::text().into();
    };
    let least = extract_bytes_max as usize + 1;
    if !written.is_ascii() || !(least..=TEXT_BYTES_MAX).contains(&written.len()) {
        let message = format!(
            "text_file has {} bytes; it must be ASCII of {least} to {TEXT_BYTES_MAX} bytes",
            written.len()
        );
        params.problem(&["params", "text_file"], message, None);
        return iot_data::text().into();
    }
    written.into()
}

fn create_table(table: &str, compression: &str, window_minutes: u64) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {table} (machine_id uuid, sensor_name text, time timestamp, \
         sensor_value double, station_id uuid, data text, \
         PRIMARY KEY ((machine_id, sensor_name), time)) \
         WITH CLUSTERING ORDER BY (time DESC) AND compression = {{'class': '{compression}'}} \
         AND compaction = {{'class': 'TimeWindowCompactionStrategy', \
         'compaction_window_size': '{window_minutes}', 'compaction_window_unit': 'MINUTES'}}"
    )
}

/// Returns the statements for writing, reading and verifying. Their indexes are [`WRITE`], 1 and
/// [`VERIFY`].
fn statements(table: &str, limit: usize) -> [String; 3] {
    let partition = format!("SELECT * FROM {table} WHERE machine_id = ? AND sensor_name = ?");
    [
        format!(
            "INSERT INTO {table} (machine_id, sensor_name, time, sensor_value, station_id, data) \
             VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?"
        ),
        format!("{partition} LIMIT {limit}"),
        format!("{partition} AND time = ?"),
    ]
}

impl program_traits::RowFunction for Iot {
    type RowKey = RowKey;

    fn cursor(&self) -> RowKey {
        let key = Vec::with_capacity(16 + 3 + self.word_bytes_max + 3);
        RowKey {
            cycle: 0,
            machine: [0; 16],
            word: 0,
            key,
        }
    }

    #[inline]
    fn token(cursor: &RowKey) -> i64 {
        murmur3(&cursor.key)
    }

    fn row_bytes_estimate(&self) -> u64 {
        let words: usize = self.words.iter().map(|word| word.len()).sum();
        let word = (words / self.words.len()) as u64;
        16 + word + 8 + 8 + 16 + (DATA_BYTES_MIN + DATA_BYTES_MAX) / 2
    }

    fn values_bytes_max(&self) -> usize {
        let fixed = 16 + 8 + 8 + 16 + 8;
        7 * 4 + fixed + self.word_bytes_max + DATA_BYTES_MAX as usize
    }

    #[inline]
    fn seek(&self, cursor: &mut RowKey, cycle: u64) {
        cursor.cycle = cycle;
        cursor.machine = hashed_uuid(cycle % self.sources);
        cursor.word = self.word(cycle);
        cursor.key.clear();
        for part in [&cursor.machine[..], self.words[cursor.word].as_bytes()] {
            cursor.key.extend_from_slice(&(part.len() as u16).to_be_bytes());
            cursor.key.extend_from_slice(part);
            cursor.key.push(0);
        }
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

        append_value(out, &cursor.machine);
        append_value(out, self.words[cursor.word].as_bytes());
        if statement == WRITE {
            let reading = self.reading(cursor.cycle);
            append_value(out, &reading.time_ms.to_be_bytes());
            append_value(out, &reading.value.to_be_bytes());
            append_value(out, &reading.station);
            append_value(out, reading.data);
            append_value(out, &reading.time_ms.wrapping_mul(1000).to_be_bytes());
        } else if statement == VERIFY {
            append_value(out, &self.time_ms(cursor.cycle).to_be_bytes());
        }
    }

    /// Checks that the rows are readings of this machine and sensor, that the newest row is first,
    /// and that the number of rows is within the limit. If `loaded` is true and the result contains
    /// all rows that the statement selects, the reading of the cursor's cycle must be among the
    /// rows.
    fn check(
        &self,
        cursor: &mut RowKey,
        operation: &Operation,
        loaded: bool,
        rows: &RawRows,
    ) -> Check {
        let statement = operation.statement;

        let (mut count, mut found, mut previous) = (0, false, u64::MAX);
        for row in rows.rows() {
            let Some(time_ms) = row.ok().and_then(|row| self.checked_time(cursor, &row)) else {
                return Check::Wrong;
            };
            if time_ms >= previous {
                return Check::Wrong;
            }
            previous = time_ms;
            count += 1;
            found |= time_ms == self.time_ms(cursor.cycle);
        }
        let rows_max = if statement == VERIFY { 1 } else { self.limit };
        if count > rows_max {
            return Check::Wrong;
        }
        let whole = statement == VERIFY || count < self.limit;
        match (count, found) {
            (_, true) => Check::Right,
            (_, false) if whole && loaded => Check::Missing,
            (0, false) => Check::Unknown,
            (_, false) if statement == VERIFY => Check::Wrong,
            (_, false) => Check::Right,
        }
    }
}

impl Iot {
    #[inline]
    fn word(&self, cycle: u64) -> usize {
        (hash(cycle) % self.words.len() as u64) as usize
    }

    #[inline]
    fn time_ms(&self, cycle: u64) -> u64 {
        cycle.wrapping_mul(self.timespeed) / self.sources
    }

    #[inline]
    fn reading(&self, cycle: u64) -> Reading<'_> {
        let hash = hash(cycle);
        let (start, length) = extract(
            hash,
            self.text.len() as u64,
            (DATA_BYTES_MIN, DATA_BYTES_MAX),
        );
        Reading {
            time_ms: self.time_ms(cycle),
            value: normal::from_bits(hash) * VALUE_DEVIATION + VALUE_MEAN,
            station: hashed_uuid(cycle / self.sources % self.stations),
            data: &self.text.as_bytes()[start..start + length],
        }
    }

    /// Returns the time of a row. Returns `None` if the row does not belong to a cycle of the
    /// cursor's machine and sensor.
    fn checked_time(&self, cursor: &RowKey, row: &Row) -> Option<u64> {
        // SELECT * returns the primary key first, and then the other columns by name.
        let mut cells = row.cells();
        let mut cell = || cells.next().flatten();
        let same = cell()? == cursor.machine && cell()? == self.words[cursor.word].as_bytes();
        let time_ms = u64::from_be_bytes(cell()?.try_into().ok()?);
        let cycle = self.cycle_at(cursor.cycle % self.sources, time_ms)?;
        let reading = self.reading(cycle);
        let same = same
            && self.word(cycle) == cursor.word
            && cell()? == reading.data
            && cell()? == reading.value.to_be_bytes()
            && cell()? == reading.station;
        (same && cells.next().is_none()).then_some(time_ms)
    }

    /// Returns the cycle of a machine at a time. A time covers `sources / timespeed` cycles,
    /// rounded up. This is at most one round of all machines, so at most one cycle of the machine
    /// has this time. Returns `None` if no cycle has this time.
    fn cycle_at(&self, machine: u64, time_ms: u64) -> Option<u64> {
        let product = u128::from(time_ms) * u128::from(self.sources);
        let first = u64::try_from(product.div_ceil(u128::from(self.timespeed))).ok()?;
        let behind = first % self.sources;
        let ahead = if machine >= behind { 0 } else { self.sources };
        let cycle = first.checked_add(ahead + machine - behind)?;
        (self.time_ms(cycle) == time_ms).then_some(cycle)
    }
}

/// Returns the start and the length of an extract, computed as in NoSQLBench's
/// `HashedFileExtractToString`. The length is drawn from the whole hash, and the start from the
/// integer form of the hash. The text must be longer than any extract.
#[inline]
pub(crate) fn extract(hash: u64, text_bytes: u64, (least, most): (u64, u64)) -> (usize, usize) {
    let length = least + hash % (most - least + 1);
    let start = integer(hash) % (text_bytes - length);
    (start as usize, length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program_traits::RowFunction as _;
    use data_encoding::HEXLOWER;

    fn original() -> Iot {
        let words = iot_data::words();
        Iot {
            sources: 10_000,
            stations: 100,
            timespeed: 100,
            limit: 10,
            word_bytes_max: 20,
            words,
            text: iot_data::text().into(),
        }
    }

    fn uuid(bytes: [u8; 16]) -> String {
        let hex = HEXLOWER.encode(&bytes);
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }

    #[test]
    fn machines_times_stations_and_extracts_are_nosqlbench_s() {
        let table = original();
        let zero = "28df63b7-cc57-43cb-9752-fae69d1653da";
        let one = "5752fae6-9d16-43da-b20f-557a1dd5c571";
        for (cycle, machine, time_ms, station) in [
            (0, zero, 0, zero),
            (1, one, 0, zero),
            (10_000, zero, 100, one),
            (123_456, "7b54acb5-75f2-4e32-a9d3-b4396bb5232d", 1234, ""),
        ] {
            let mut cursor = table.cursor();
            table.seek(&mut cursor, cycle);
            let reading = table.reading(cycle);
            assert_eq!(uuid(cursor.machine), machine, "machine of {cycle}");
            assert_eq!(reading.time_ms, time_ms, "time of {cycle}");
            if !station.is_empty() {
                assert_eq!(uuid(reading.station), station, "station of {cycle}");
            }
        }
        for (cycle, extracted) in [
            (0, (91_659, 970)),
            (1, (46_147, 1183)),
            (123_456, (1473, 848)),
        ] {
            assert_eq!(
                extract(hash(cycle), 92_818, (800, 1200)),
                extracted,
                "cycle {cycle}"
            );
        }
    }

    #[test]
    fn a_time_and_a_machine_determine_their_cycle_at_every_ratio() {
        for (sources, timespeed) in [(10_000, 100), (1000, 100), (7, 3), (3, 7), (1, 1), (100, 3)] {
            let table = Iot {
                sources,
                timespeed,
                ..original()
            };
            for cycle in (0..2000).chain(987_654_321..987_655_321) {
                let found = table.cycle_at(cycle % sources, table.time_ms(cycle));
                assert_eq!(
                    found,
                    Some(cycle),
                    "{sources} sources, timespeed {timespeed}"
                );
            }
        }
    }

    #[test]
    fn sensor_values_have_the_stated_mean_and_deviation() {
        let table = original();
        let values: Vec<f64> = (0..100_000).map(|cycle| table.reading(cycle).value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        // The tolerance is five standard errors of the estimated mean or deviation.
        assert!((mean - 100.0).abs() < 5.0 * 5.0 / 316.0, "{mean}");
        assert!(
            (variance.sqrt() - 5.0).abs() < 5.0 * 5.0 / 447.0,
            "{variance}"
        );
    }
}
