//! The folder that tables are written into. A file appears whole, by rename: an export that was
//! stopped leaves those of before.

use crate::column::{Cell, Table};
use crate::csv_file::CsvFile;
use crate::format::{Format, Written};
#[cfg(feature = "parquet")]
use crate::parquet_file::ParquetFile;

use anyhow::{Context, Result};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where tables go, and how.
pub(crate) struct Folder {
    path: PathBuf,
    formats: Vec<Format>,
}

/// The files of one table, a row at a time.
pub(crate) struct Files<'r, R> {
    table: Table<'r, R>,
    name: &'static str,
    files: Vec<OneFile>,
    rows: u64,
}

/// A file of one format.
struct OneFile {
    format: Format,
    /// Where it will be.
    path: PathBuf,
    temporary: NamedTempFile,
    writer: Writer,
}

enum Writer {
    Csv(Box<CsvFile<File>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetFile<File>>),
}

impl Folder {
    /// Makes the folder if it is not there.
    pub(crate) fn open(path: &Path, formats: &[Format]) -> Result<Folder> {
        fs::create_dir_all(path).with_context(|| format!("make {}", path.display()))?;
        Ok(Folder {
            path: path.to_owned(),
            formats: formats.to_vec(),
        })
    }

    /// Begins a table.
    pub(crate) fn begin<'r, R: 'r>(&self, table: Table<'r, R>) -> Result<Files<'r, R>> {
        let words = table.described();
        let begin = |format: &Format| -> Result<OneFile> {
            let temporary = tempfile::Builder::new()
                .prefix(".part-")
                // As any other new file: the process's umask takes away what it takes away.
                .permissions(Permissions::from_mode(0o666))
                .tempfile_in(&self.path)?;
            let to = temporary.reopen()?;
            let writer = match format {
                Format::Csv => Writer::Csv(Box::new(CsvFile::begin(to, &words)?)),
                #[cfg(feature = "parquet")]
                Format::Parquet => Writer::Parquet(Box::new(ParquetFile::begin(to, &words)?)),
                #[cfg(not(feature = "parquet"))]
                Format::Parquet => anyhow::bail!("this program was built without Parquet"),
            };
            Ok(OneFile {
                format: *format,
                path: self.path.join(format!("{}.{format}", words.name)),
                temporary,
                writer,
            })
        };
        let files: Result<Vec<OneFile>> = self.formats.iter().map(begin).collect();
        let place = || format!("write the table {} in {}", words.name, self.path.display());
        Ok(Files {
            name: words.name,
            files: files.with_context(place)?,
            table,
            rows: 0,
        })
    }
}

impl<'r, R: 'r> Files<'r, R> {
    /// Writes a row.
    pub(crate) fn row(&mut self, row: &R) -> Result<()> {
        for file in &mut self.files {
            let place = || format!("write {}", file.path.display());
            file.writer.row(self.table.cells(row)).with_context(place)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends the files and puts them where they belong.
    pub(crate) fn end(self) -> Result<Vec<Written>> {
        let (table, rows) = (self.name, self.rows);
        let end = |file: OneFile| {
            let path = file.path;
            let ended = file.writer.end();
            let place = || format!("write {}", path.display());
            ended.with_context(place)?;
            file.temporary.persist(&path).with_context(place)?;
            Ok(Written {
                table,
                format: file.format,
                path,
                rows,
            })
        };
        self.files.into_iter().map(end).collect()
    }
}

impl Writer {
    fn row<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) -> Result<()> {
        match self {
            Writer::Csv(file) => {
                for cell in cells {
                    file.cell(&cell)?;
                }
                file.end_row()
            }
            #[cfg(feature = "parquet")]
            Writer::Parquet(file) => file.row(cells),
        }
    }

    fn end(self) -> Result<()> {
        match self {
            Writer::Csv(file) => file.end().map(|_| ()),
            #[cfg(feature = "parquet")]
            Writer::Parquet(file) => file.end(),
        }
    }
}
