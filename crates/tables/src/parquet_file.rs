//! Writes a table as an Apache Parquet file. Every column may contain NULL. Rows are collected into
//! groups, and each group is compressed with Snappy.

use crate::column::{Cell, ColumnType, TableWords};
use anyhow::Result;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Number of rows in a group. The values of a group take some MB of memory, regardless of the
/// length of the table.
const GROUP_ROWS: usize = 1 << 16;
/// Definition level of a value that is present.
const THERE: i16 = 1;
const NULL: i16 = 0;

pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<ColumnValues>,
    rows: usize,
}

struct ColumnValues {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Truth(Vec<bool>),
}

impl<W: Write + Send> ParquetFile<W> {
    pub(crate) fn begin(to: W, table: &TableWords) -> Result<ParquetFile<W>> {
        let fields: Result<Vec<Arc<Type>>> =
            table.columns.iter().map(|column| field(&column.name, column.kind)).collect();
        let schema = Type::group_type_builder("schema").with_fields(fields?).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("cassay {}", env!("CARGO_PKG_VERSION")))
            .build();
        let values = |kind: ColumnType| match kind {
            ColumnType::Text => Values::Text(Vec::new()),
            ColumnType::Whole | ColumnType::Time => Values::Whole(Vec::new()),
            ColumnType::Number => Values::Number(Vec::new()),
            ColumnType::Truth => Values::Truth(Vec::new()),
        };
        let gathered = |kind: ColumnType| ColumnValues {
            values: values(kind),
            levels: Vec::new(),
        };
        Ok(ParquetFile {
            writer: SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?,
            columns: table.columns.iter().map(|column| gathered(column.kind)).collect(),
            rows: 0,
        })
    }

    pub(crate) fn row<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) -> Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.add(cell);
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        let mut columns = self.columns.iter_mut();
        while let Some(mut writer) = group.next_column()? {
            if let Some(column) = columns.next() {
                column.write(&mut writer)?;
            }
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    pub(crate) fn end(mut self) -> Result<()> {
        self.end_group()?;
        self.writer.close()?;
        Ok(())
    }
}

fn field(name: &str, kind: ColumnType) -> Result<Arc<Type>> {
    let (physical, logical) = match kind {
        ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnType::Whole => (Physical::INT64, None),
        ColumnType::Number => (Physical::DOUBLE, None),
        ColumnType::Truth => (Physical::BOOLEAN, None),
        ColumnType::Time => (
            Physical::INT64,
            Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
        ),
    };
    let made = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(made))
}

impl ColumnValues {
    fn add(&mut self, cell: Cell<'_>) {
        let is_there = match (&mut self.values, cell) {
            (Values::Text(all), Cell::Text(text)) => {
                // If a text equals the text of the previous row, both rows share the same bytes, so
                // nothing is copied.
                let before = all.last().filter(|before| before.data() == text.as_bytes());
                let same = before.cloned();
                all.push(same.unwrap_or_else(|| ByteArray::from(text.as_bytes().to_vec())));
                true
            }
            (Values::Whole(all), Cell::Whole(value) | Cell::Time(value)) => {
                all.push(value);
                true
            }
            (Values::Number(all), Cell::Number(value)) => {
                // Adding 0 removes the sign of a negative zero.
                all.push(value + 0.0);
                true
            }
            (Values::Truth(all), Cell::Truth(value)) => {
                all.push(value);
                true
            }
            // The cell is absent, because a column contains only values of its own type and absent
            // values.
            _ => false,
        };
        self.levels.push(if is_there { THERE } else { NULL });
    }

    fn write(&mut self, to: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            Values::Text(all) => {
                to.typed::<ByteArrayType>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Whole(all) => {
                to.typed::<Int64Type>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Number(all) => {
                to.typed::<DoubleType>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Truth(all) => {
                to.typed::<BoolType>().write_batch(all, levels, None)?;
                all.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}
