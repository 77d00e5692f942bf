//! Generates the workload file of a twin, which is a table similar to the sampled table. The twin
//! has the same columns, partitions of the same sizes, and values of the same length and
//! compression. It does not contain values of the original table.

use super::bins::{bins, whole};
use super::shape::expression;
use super::twin_keys::{by_place, unique, value};
use super::yaml_text::{block, quoted};
use super::{ColumnRole, SampledPartition, TableSample};
use crate::file::{compile_file, no_files};
use crate::program::{Program, Stage};
use crate::random::mix;
use crate::spec::Spec;
use cql::compression::lz4_block_bytes;
use cql::tokens::quoted_name;
use cql::value::{CqlType, Value};
use std::sync::Arc;

/// Number of partition sizes that represent all sizes. The largest of them is the mean size of the
/// largest fiftieth of the partitions.
const PARTITION_SIZES: usize = 50;
/// Number of bytes that are compressed together. This is the default chunk size of Cassandra's
/// tables.
const CHUNK_BYTES: usize = 16 << 10;
/// Maximum number of chunks over which the compression is averaged.
const CHUNKS_MAX: usize = 16;
/// Number of bisection steps. After these steps, the incompressible share is accurate to a
/// thousandth.
const HALVINGS: usize = 12;
/// Maximum factor by which the random share of texts and blobs is scaled. The factor may have to
/// exceed 1, because other columns of the twin may compress better than the columns of the table.
const SQUEEZE_MAX: f64 = 3.0;
/// Share of missing values below which the twin treats a column as always having a value.
const MISSING_MIN: f64 = 0.002;

/// A workload file that creates a similar table, and figures that show how similar the table is.
#[derive(Clone, Debug)]
pub struct Twin {
    /// Text of the workload file.
    pub text: String,
    /// Mean number of bytes of keys and values in a row. The first number is for the table, and the
    /// second for the twin.
    pub row_bytes: [f64; 2],
    /// Share of the non-key values that remains after compression with LZ4. The first number is for
    /// the table, and the second for the twin.
    pub compressed: [f64; 2],
    /// Mean number of rows of a partition. The first number is for the counted partitions of the
    /// table, and the second for the twin.
    pub partition_rows: [f64; 2],
    /// Columns that have no values in the twin. cassay cannot generate values of their types, or
    /// the sample contains no values of these columns.
    pub without: Vec<String>,
}

impl TableSample {
    /// Returns the workload file of a twin.
    ///
    /// # Errors
    /// A type cannot be parsed, or the generated file does not compile, which is a bug of cassay.
    /// The error is a sentence.
    pub fn twin(&self) -> Result<Twin, String> {
        let types = self.column_types()?;
        let builder = Builder {
            sample: self,
            types: &types,
            markers: self.markers(),
            groups: self.groups(),
        };
        let rows = self.partitions.iter().flat_map(|partition| &partition.rows);
        let key_columns = self.partition_key().len() + self.clustering().len();
        let table = compressed_share(rows.map(|row| row_bytes(row)), key_columns);
        let (text, program) = builder.like(table)?;
        let twin = program_compressed_share(&program, key_columns);
        let sizes = builder.groups.as_deref().unwrap_or(&[1]);
        let counted = self.partitions.iter().map(|partition| partition.rows_count);
        Ok(Twin {
            text,
            row_bytes: [self.row_bytes(), program_row_bytes(&program)],
            compressed: [table, twin],
            partition_rows: [
                counted.sum::<u64>() as f64 / self.partitions.len().max(1) as f64,
                sizes.iter().sum::<u64>() as f64 / sizes.len() as f64,
            ],
            without: builder.without(),
        })
    }

    /// Returns the sizes of the partitions, in the order in which they repeat. Returns `None` if
    /// every partition has one row.
    fn groups(&self) -> Option<Vec<u64>> {
        if self.clustering().is_empty() {
            return None;
        }
        let sizes = self.partitions.iter().map(|one| (one.rows_count.max(1) as f64, 1.0));
        let sizes = bins(&sizes.collect::<Vec<_>>(), PARTITION_SIZES);
        let mut sizes = whole(&sizes, 1);
        // The sort by hashes spreads the large partitions out, so that they do not follow one
        // another.
        let mut keyed: Vec<(u64, u64)> =
            sizes.drain(..).enumerate().map(|(at, size)| (mix(at as u64), size)).collect();
        keyed.sort_unstable();
        let sizes: Vec<u64> = keyed.into_iter().map(|(_, size)| size).collect();
        sizes.iter().any(|size| *size > 1).then_some(sizes)
    }

    /// Returns the mean number of bytes of keys and values in a row. The sampled rows of a large
    /// partition also represent the rows that were not read.
    fn row_bytes(&self) -> f64 {
        let (mut bytes, mut rows) = (0.0, 0.0);
        for partition in &self.partitions {
            for row in &partition.rows {
                let weight = partition.weight();
                bytes += weight * row.iter().map(cell_bytes).sum::<usize>() as f64;
                rows += weight;
            }
        }
        bytes / f64::max(rows, 1.0)
    }
}

impl SampledPartition {
    /// Returns the number of rows that each sampled row represents.
    fn weight(&self) -> f64 {
        self.rows_count.max(1) as f64 / self.rows.len().max(1) as f64
    }
}

fn cell_bytes(value: &Value) -> usize {
    let mut bytes = Vec::new();
    value.append(&mut bytes);
    bytes.len()
}

struct Builder<'a> {
    sample: &'a TableSample,
    types: &'a [CqlType],
    markers: Vec<String>,
    groups: Option<Vec<u64>>,
}

impl Builder<'_> {
    /// Returns the file whose values compress approximately to the share `compressed`, and the
    /// program of this file.
    fn like(&self, compressed: f64) -> Result<(String, Arc<Program>), String> {
        let key_columns = self.sample.partition_key().len() + self.sample.clustering().len();
        let made = |squeeze: f64| self.compiled(squeeze);
        let share = |program: &Arc<Program>| program_compressed_share(program, key_columns);
        let (mut low, mut high) = (0.0, SQUEEZE_MAX);
        let [least, most] = [made(low)?, made(high)?];
        // If no text or blob can be scaled, the compression does not depend on the factor, and all
        // files are equal.
        if share(&most.1) - share(&least.1) < 0.01 {
            return made(1.0);
        }
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if share(&made(middle)?.1) < compressed {
                low = middle;
            } else {
                high = middle;
            }
        }
        made((low + high) / 2.0)
    }

    /// Returns the file and its program. If possible, the file has a read whose result is checked.
    fn compiled(&self, squeeze: f64) -> Result<(String, Arc<Program>), String> {
        let compile =
            |text: &str| compile_file("twin", text, &Spec::new("", 100_000, 1), &no_files);
        let text = self.text(squeeze, true);
        if let Ok(program) = compile(&text) {
            return Ok((text, Arc::new(program)));
        }
        let text = self.text(squeeze, false);
        match compile(&text) {
            Ok(program) => Ok((text, Arc::new(program))),
            Err(mistakes) => Err(format!(
                "the twin of {}.{} does not compile: {mistakes}",
                self.sample.keyspace, self.sample.table
            )),
        }
    }

    fn text(&self, squeeze: f64, is_checked: bool) -> String {
        let sample = self.sample;
        let mut text = format!(
            "# Creates a table like {}.{}, with the same columns, partition and value sizes, \
             and\n# compression, but none of its values. cassay derived it from a \
             sample.\nkeyspace: {}\nschema:\n",
            sample.keyspace,
            sample.table,
            quoted(&sample.keyspace)
        );
        for create in &sample.types {
            text += &format!("  - {}\n", block(create, 4));
        }
        text += &format!("  - {}\n", block(&sample.create_table(true), 4));
        text += "values:\n";
        let values: Vec<Option<String>> =
            (0..sample.columns.len()).map(|at| self.value(at, squeeze)).collect();
        for (at, value) in values.iter().enumerate() {
            if let Some(value) = value {
                text += &format!("  {}: {value}\n", self.markers[at]);
            }
        }
        let written: Vec<usize> = (0..values.len()).filter(|at| values[*at].is_some()).collect();
        text + &self.statements(&written, is_checked)
    }

    fn statements(&self, written: &[usize], is_checked: bool) -> String {
        let sample = self.sample;
        let mut key = sample.partition_key();
        let partition = sample.select(&key, &self.markers);
        key.extend(sample.clustering());
        let row = sample.select(&key, &self.markers);
        let checked: Vec<usize> =
            written.iter().copied().filter(|at| self.can_be_checked(*at)).collect();
        let mut text = format!(
            "statements:\n  write: {}\n  row: {}\n",
            block(&self.write(written, &key), 4),
            block(&row, 4)
        );
        if !sample.clustering().is_empty() {
            text += &format!(
                "  partition:\n    cql: {0}\n    page_size: 5000\n  page:\n    cql: {0}\n    \
                 page_size: 100\n    pages_max: 1\n",
                block(&partition, 6)
            );
        }
        let verify = if checked.len() == sample.columns.len() {
            "row"
        } else {
            "check"
        };
        if is_checked && verify == "check" {
            let check = sample.select_columns(&checked, &key, &self.markers);
            text += &format!("  check: {}\n", block(&check, 4));
        }
        text += "mix: {row: 1}\nload: write\n";
        if is_checked {
            text += &format!("verify: {verify}\n");
        }
        text
    }

    fn write(&self, written: &[usize], key: &[usize]) -> String {
        let sample = self.sample;
        let table = quoted_name(&sample.table);
        let names: Vec<String> =
            written.iter().map(|at| quoted_name(&sample.columns[*at].name)).collect();
        if !sample.counts() {
            let markers: Vec<String> =
                written.iter().map(|at| format!(":{}", self.markers[*at])).collect();
            return format!(
                "INSERT INTO {table} ({}) VALUES ({})",
                names.join(", "),
                markers.join(", ")
            );
        }
        let counters = written.iter().zip(&names).filter(|(at, _)| !key.contains(at));
        let added: Vec<String> = counters
            .map(|(at, name)| format!("{name} = {name} + :{}", self.markers[*at]))
            .collect();
        format!(
            "UPDATE {table} SET {} WHERE {}",
            added.join(", "),
            sample.equal(key, &self.markers)
        )
    }

    /// Returns true if generated values of a column can be compared with the values that a read
    /// returns.
    fn can_be_checked(&self, at: usize) -> bool {
        let is_ordered_by_server = matches!(
            self.types[at],
            CqlType::Set(_) | CqlType::Map(..) | CqlType::Counter
        );
        !is_ordered_by_server
            && self.sample.columns[at].role != ColumnRole::Static
            && self.missing(at) < MISSING_MIN
    }

    fn without(&self) -> Vec<String> {
        let columns = self.sample.columns.iter().enumerate();
        let without = columns.filter(|(at, _)| self.value(*at, 1.0).is_none());
        without.map(|(_, column)| column.name.clone()).collect()
    }

    /// Returns the generator of a column. Returns `None` if values of its type cannot be generated,
    /// or if the column never has a value.
    fn value(&self, at: usize, squeeze: f64) -> Option<String> {
        let cells = self.cells(at);
        let typ = &self.types[at];
        let natural = || expression(&cells, typ, squeeze);
        let groups = |key: &'static str| -> Vec<(&'static str, String)> {
            let sizes = self.groups.iter().map(|sizes| {
                let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
                (key, format!("[{}]", sizes.join(", ")))
            });
            sizes.collect()
        };
        match self.sample.columns[at].role {
            ColumnRole::Partition => {
                let made = unique(&cells, typ).filter(|_| self.is_carrier(at));
                Some(value(&made.or_else(natural)?, &groups("groups")))
            }
            ColumnRole::Clustering { .. } if self.places() == Some(at) => {
                let by_row = unique(&cells, typ).filter(|_| is_scattered(typ, &cells));
                match by_row {
                    Some(made) => Some(value(&made, &[])),
                    None => Some(value(&by_place(&cells, typ)?, &groups("within"))),
                }
            }
            ColumnRole::Clustering { .. } => Some(value(&natural()?, &[])),
            ColumnRole::Static => {
                let made = (!cells.is_empty()).then(natural)??;
                let mut more = groups("groups");
                more.extend(self.missing_key(at));
                Some(value(&made, &more))
            }
            ColumnRole::Regular if matches!(typ, CqlType::Counter) => {
                Some(value("uniform(1..9)", &[]))
            }
            ColumnRole::Regular => {
                let made = (!cells.is_empty()).then(natural)??;
                Some(value(&made, &self.missing_key(at)))
            }
        }
    }

    /// Returns true if the column is the one whose values distinguish all partitions. This is the
    /// first suitable column.
    fn is_carrier(&self, at: usize) -> bool {
        let key = self.sample.partition_key();
        let can = |column: &&usize| unique(&self.cells(**column), &self.types[**column]).is_some();
        key.iter().find(can) == Some(&at)
    }

    /// Returns the clustering column whose values differ in all rows of a partition. This is the
    /// last suitable column. Returns `None` if no column is suitable, or if every partition has one
    /// row.
    fn places(&self) -> Option<usize> {
        self.groups.as_ref()?;
        let can = |at: &usize| by_place(&self.cells(*at), &self.types[*at]).is_some();
        self.sample.clustering().into_iter().rfind(can)
    }

    /// Returns the sampled values of a column. The weight of a value is the number of rows that the
    /// value represents. A static value or a value of the partition key represents one row.
    fn cells(&self, at: usize) -> Vec<(&Value, f64)> {
        let role = self.sample.columns[at].role;
        let is_shared = matches!(role, ColumnRole::Partition | ColumnRole::Static);
        let of = |partition: &'_ SampledPartition| {
            if is_shared {
                (1, 1.0)
            } else {
                (partition.rows.len(), partition.weight())
            }
        };
        let all = self.sample.partitions.iter().flat_map(|partition| {
            let (count, weight) = of(partition);
            partition.rows.iter().take(count).map(move |row| (&row[at], weight))
        });
        all.filter(|(value, _)| !value.is_null()).collect()
    }

    fn missing(&self, at: usize) -> f64 {
        let (mut missing, mut all) = (0.0, 0.0);
        for partition in &self.sample.partitions {
            for row in &partition.rows {
                all += partition.weight();
                if row[at].is_null() {
                    missing += partition.weight();
                }
            }
        }
        missing / f64::max(all, 1.0)
    }

    fn missing_key(&self, at: usize) -> Vec<(&'static str, String)> {
        let share = self.missing(at);
        let is_worth_it = share >= MISSING_MIN;
        is_worth_it.then(|| ("missing", format!("{share:.3}"))).into_iter().collect()
    }
}

/// Returns true if the values of a clustering column differ for all rows, instead of only within a
/// partition. This applies to types whose values do not repeat in real tables.
fn is_scattered(typ: &CqlType, cells: &[(&Value, f64)]) -> bool {
    match typ {
        CqlType::Uuid | CqlType::Timeuuid | CqlType::Timestamp => true,
        CqlType::Text | CqlType::Ascii | CqlType::Blob => {
            unique(cells, typ).is_some_and(|made| !made.starts_with("row"))
        }
        _ => false,
    }
}

/// Returns the size of chunks of rows after compression with LZ4, as a share of their size before.
/// The cells of a row have the form `[int length][bytes]`. The function omits the first `without`
/// cells of each row.
fn compressed_share(rows: impl Iterator<Item = Vec<u8>>, without: usize) -> f64 {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES * 2);
    let (mut before, mut after, mut count) = (0, 0, 0);
    for row in rows {
        chunk.extend_from_slice(behind(&row, without));
        if chunk.len() >= CHUNK_BYTES {
            before += chunk.len();
            after += lz4_block_bytes(&chunk);
            chunk.clear();
            count += 1;
        }
        if count >= CHUNKS_MAX {
            break;
        }
    }
    if count == 0 {
        (before, after) = (chunk.len(), lz4_block_bytes(&chunk));
    }
    after as f64 / before.max(1) as f64
}

/// Returns the bytes of a row after the first `cells` cells.
fn behind(mut row: &[u8], cells: usize) -> &[u8] {
    for _ in 0..cells {
        let Some((length, rest)) = row.split_first_chunk::<4>() else {
            break;
        };
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        row = rest.get(length..).unwrap_or_default();
    }
    row
}

fn row_bytes(row: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    row.iter().for_each(|value| value.append_cell(&mut bytes));
    bytes
}

/// Returns the same share as [`compressed_share`], for the rows that a program generates.
fn program_compressed_share(program: &Arc<Program>, key_columns: usize) -> f64 {
    let mut generator = program.generator(Stage::Load);
    let rows = (0..program.rows()).map(|n| {
        let mut bytes = Vec::new();
        generator.begin(n);
        generator.append_entry_values(0, &mut bytes);
        bytes
    });
    compressed_share(rows, key_columns)
}

/// Returns the mean number of bytes of keys and values in the first rows of a program.
fn program_row_bytes(program: &Arc<Program>) -> f64 {
    const ROWS: u64 = 5000;
    let mut generator = program.generator(Stage::Load);
    let mut total = 0;
    let mut bytes = Vec::new();
    for n in 0..ROWS {
        bytes.clear();
        generator.begin(n);
        generator.append_entry_values(0, &mut bytes);
        let statement = usize::from(generator.entry_statement(0));
        let lengths = 4 * usize::from(program.statements()[statement].values_count);
        total += bytes.len().saturating_sub(lengths);
    }
    total as f64 / ROWS as f64
}
