//! Samples keys from all parts of a token ring, with the first rows of each partition and the sizes
//! of partitions.
//!
//! Each probe uses a random token, and selects the partition that follows the token. The size of a
//! partition does not depend on the length of the ring section before the partition. So the
//! sampling finds large partitions as often as small ones. If the sampling finds a partition twice,
//! the partition counts once.

use anyhow::{Result, bail};
use cassandra::Session;
use cql::tokens::quoted_name;
use cql::value::Value;
use measure::clock;
use measure::number::counted;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workload::random::mix;
use workload::{ColumnRole, SampledPartition, TableSample};

/// Maximum number of rows to read from each partition. With 10,000 keys of a table of 100 million
/// rows, the sampling reads and counts less than a thousandth of the rows.
const ROWS_READ: usize = 4;
/// Maximum number of rows to count, as an average per selected key.
const ROWS_COUNTED: u64 = 5;
/// Maximum number of rows to count in a partition.
const PARTITION_ROWS_MAX: u64 = 10_000;
/// Number of consecutive known partitions after which the sampling treats the table as completely
/// read. If a tenth of the partitions were still unknown, one sampling in forty would end too
/// early.
const REPEATS_MAX: u32 = 35;
const PROGRESS_EVERY_NS: u64 = 5 * clock::SECOND_NS;

pub(super) struct Sampling<'a> {
    /// Number of tokens to try.
    pub(super) keys: u64,
    /// Maximum number of tokens per second.
    pub(super) keys_per_s: u64,
    pub(super) seed: u64,
    pub(super) stop: &'a AtomicBool,
}

impl Sampling<'_> {
    /// Samples the partitions of a table, and adds them to the table.
    ///
    /// # Errors
    /// The table is empty or cannot be read, or the sampling was interrupted.
    pub(super) fn take(
        &self,
        session: &mut Session,
        sample: &mut TableSample,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let mut taker = KeySampler::new(self, session, sample);
        taker.partitions(say)?;
        taker.count()?;
        let (partitions, rows_read) = (taker.partitions, taker.rows_read);
        let seconds = (clock::now_ns() - taker.begin_ns) as f64 / 1e9;
        let name = format!("{}.{}", sample.keyspace, sample.table);
        if partitions.is_empty() {
            bail!(
                "{name} has no rows: cassay found no partition at {} positions of the token \
                 ring\nhint: name a table that has rows, or a CSV file with the keys",
                self.keys
            );
        }
        say(&format!(
            "{name}: cassay sampled the keys of {} at random positions of the token ring, and read \
             {} in {seconds:.1} s",
            counted(partitions.len() as u64, "partition"),
            counted(rows_read, "row"),
        ));
        sample.partitions = partitions;
        Ok(())
    }
}

struct KeySampler<'a> {
    sampling: &'a Sampling<'a>,
    session: &'a mut Session,
    /// Beginning of the query: `SELECT … FROM … WHERE token(…) >= `.
    after: String,
    table: String,
    token: String,
    name: String,
    partition_key: Vec<String>,
    clustering: Vec<String>,
    partitions: Vec<SampledPartition>,
    /// Partitions that may have more rows than were read. Each element contains the index into
    /// `partitions`, and the token.
    longer: Vec<(usize, i64)>,
    rows_read: u64,
    asked: u64,
    begin_ns: u64,
}

impl<'a> KeySampler<'a> {
    fn new(
        sampling: &'a Sampling<'a>,
        session: &'a mut Session,
        sample: &TableSample,
    ) -> KeySampler<'a> {
        let all: Vec<String> =
            sample.columns.iter().map(|column| quoted_name(&column.name)).collect();
        let roles = || sample.columns.iter().zip(&all);
        let partition_key: Vec<String> = roles()
            .filter(|(column, _)| column.role == ColumnRole::Partition)
            .map(|(_, name)| name.clone())
            .collect();
        let clustering = roles()
            .filter(|(column, _)| matches!(column.role, ColumnRole::Clustering { .. }))
            .map(|(_, name)| name.clone())
            .collect();
        let table = format!(
            "{}.{}",
            quoted_name(&sample.keyspace),
            quoted_name(&sample.table)
        );
        let token = format!("token({})", partition_key.join(", "));
        let after = format!(
            "SELECT {}, {token} FROM {table} WHERE {token} >= ",
            all.join(", ")
        );
        KeySampler {
            sampling,
            session,
            after,
            table,
            token,
            name: format!("{}.{}", sample.keyspace, sample.table),
            partition_key,
            clustering,
            partitions: Vec::new(),
            longer: Vec::new(),
            rows_read: 0,
            asked: 0,
            begin_ns: clock::now_ns(),
        }
    }

    /// Waits until the reader may request the next partition.
    fn pace(&mut self) -> Result<()> {
        if self.sampling.stop.load(Ordering::Relaxed) {
            bail!("interrupted while cassay sampled the keys of {}", self.name);
        }
        let due_ns = self.asked.saturating_mul(clock::SECOND_NS) / self.sampling.keys_per_s;
        let passed_ns = clock::now_ns() - self.begin_ns;
        clock::sleep(Duration::from_nanos(due_ns.saturating_sub(passed_ns)));
        self.asked += 1;
        Ok(())
    }

    fn partitions(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        let mut seen = HashSet::new();
        let mut again = 0;
        let mut said_ns = clock::now_ns();
        for number in 0..self.sampling.keys {
            self.pace()?;
            let token = mix(mix(self.sampling.seed) ^ number) as i64;
            let mut rows = self.rows_from(token)?;
            if rows.is_empty() {
                // The ring wraps around, so the first partition follows the last one.
                rows = self.rows_from(i64::MIN)?;
            }
            if rows.is_empty() {
                return Ok(());
            }
            let keys = self.partition_key.len();
            let count = rows.iter().take_while(|row| row[..keys] == rows[0][..keys]).count();
            rows.truncate(count);
            // The token is the last column.
            let found = rows[0].last().and_then(Value::as_i64);
            rows.iter_mut().for_each(|row| drop(row.pop()));
            let is_new = seen.insert(bytes_of(&rows[0][..keys]));
            again = if is_new { 0 } else { again + 1 };
            if let Some(token) = found.filter(|_| is_new) {
                self.add(token, rows);
            }
            if again == REPEATS_MAX {
                return Ok(());
            }
            if clock::now_ns() - said_ns > PROGRESS_EVERY_NS {
                said_ns = clock::now_ns();
                say(&format!(
                    "{}: cassay has read {} of {} positions of the token ring",
                    self.name,
                    number + 1,
                    self.sampling.keys
                ));
            }
        }
        Ok(())
    }

    /// Returns the first rows at or after a token, which may belong to several partitions.
    fn rows_from(&mut self, token: i64) -> Result<Vec<Vec<Value>>> {
        let found = self.session.query_rows(&format!("{}{token} LIMIT {ROWS_READ}", self.after))?;
        self.rows_read += found.rows.len() as u64;
        Ok(found.rows)
    }

    /// Adds a partition, given its first rows. A partition with only static columns has no row, so
    /// it is not added.
    fn add(&mut self, token: i64, rows: Vec<Vec<Value>>) {
        let keys = self.partition_key.len() + self.clustering.len();
        if rows[0][..keys].iter().any(Value::is_null) {
            return;
        }
        let number = self.partitions.len();
        let place = (mix(number as u64) % rows.len() as u64) as usize;
        let key = rows[place][..keys].to_vec();
        if !self.clustering.is_empty() && rows.len() == ROWS_READ {
            self.longer.push((number, token));
        }
        self.partitions.push(SampledPartition {
            rows_count: rows.len() as u64,
            rows,
            key,
        });
    }

    /// Counts the rows of the partitions in `longer`, up to a total limit. The workload can then
    /// choose a row among all rows of a partition. Partitions beyond the limit are assumed to have
    /// the average number of rows.
    fn count(&mut self) -> Result<()> {
        let mut room = self.sampling.keys.saturating_mul(ROWS_COUNTED);
        let (mut counted, mut sum) = (0, 0u64);
        let longer = std::mem::take(&mut self.longer);
        for &(number, token) in &longer {
            if room == 0 {
                break;
            }
            self.pace()?;
            let query = format!(
                "SELECT {} FROM {} WHERE {} = {token} LIMIT {}",
                self.clustering.join(", "),
                self.table,
                self.token,
                PARTITION_ROWS_MAX.min(room)
            );
            let rows = self.session.query_rows(&query)?.rows;
            let is_whole = (rows.len() as u64) < PARTITION_ROWS_MAX.min(room);
            room = room.saturating_sub(rows.len() as u64);
            self.rows_read += rows.len() as u64;
            if !is_whole && room == 0 {
                break;
            }
            counted += 1;
            sum += rows.len() as u64;
            let keys = self.partition_key.len();
            let partition = &mut self.partitions[number];
            partition.rows_count = partition.rows_count.max(rows.len() as u64);
            let place = mix(number as u64 ^ self.sampling.seed) % (rows.len() as u64).max(1);
            if let Some(row) = rows.into_iter().nth(place as usize) {
                partition.key.truncate(keys);
                partition.key.extend(row);
            }
        }
        if let Some(mean) = sum.checked_div(counted) {
            for &(number, _) in longer.iter().skip(counted as usize) {
                let partition = &mut self.partitions[number];
                partition.rows_count = partition.rows_count.max(mean);
            }
        }
        Ok(())
    }
}

fn bytes_of(values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| value.append_cell(&mut bytes));
    bytes
}
