//! Manages the folder into which tables are written. A file is written under a temporary name and
//! then renamed, so that only complete files have their final names. An export that was stopped
//! does not change the files of earlier exports.

use crate::column::{Cell, Table};
use crate::csv_file::CsvFile;
use crate::format::{Format, WrittenFile};
#[cfg(feature = "parquet")]
use crate::parquet_file::ParquetFile;

use anyhow::{Context, Result, bail};
use foreign::FileKind;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Prefix of the names of unfinished files.
const PREFIX: &str = ".cassay-table-";
/// Maximum number of attempts to create a file. An attempt fails if another export removes the file
/// before it is locked.
const TRIES: usize = 10;

/// Output folder of the tables, with the formats in which they are written.
pub(crate) struct Folder {
    path: PathBuf,
    formats: Vec<Format>,
}

/// Files of one table, one for each format. They are written row by row.
pub(crate) struct Files<'r, R> {
    table: Table<'r, R>,
    name: &'static str,
    files: Vec<OneFile>,
    rows: u64,
}

/// File of a table in one format.
struct OneFile {
    format: Format,
    /// Final path of the file, which it has after it is complete.
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
    /// Opens the folder, and creates it if it does not exist.
    pub(crate) fn open(path: &Path, formats: &[Format]) -> Result<Folder> {
        fs::create_dir_all(path).with_context(|| format!("make {}", path.display()))?;
        Ok(Folder {
            path: path.to_owned(),
            formats: formats.to_vec(),
        })
    }

    /// Removes the unfinished files of killed exports from the folder, and returns a sentence about
    /// each removed file. A process that writes a file holds a lock on the file, and the system
    /// releases the lock when the process ends.
    pub(crate) fn sweep(&self) -> Vec<String> {
        let is_left = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let opened = foreign::open_no_link(FileKind::RunFile, path);
            name.starts_with(PREFIX) && opened.is_ok_and(|file| file.file().try_lock().is_ok())
        };
        let removed = |path: PathBuf| {
            let bytes = path.metadata().map_or(0, |found| found.len());
            fs::remove_file(&path).ok()?;
            let (shown, bytes) = (path.display(), measure::number::bytes(bytes));
            Some(format!(
                "cassay removed {shown} ({bytes}), the leftover of a killed export"
            ))
        };
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(is_left).filter_map(removed).collect()
    }

    /// Creates a temporary file. The file is locked until it is complete and has its final name.
    fn in_the_making(&self) -> Result<NamedTempFile> {
        for _ in 0..TRIES {
            let made = tempfile::Builder::new()
                .prefix(PREFIX)
                // The umask of the process reduces these permissions, as for any other new file.
                .permissions(Permissions::from_mode(0o666))
                .tempfile_in(&self.path)?;
            // Another export may have opened and removed the file before this process locked it.
            // The file then has no links.
            if made.as_file().try_lock().is_ok() && made.as_file().metadata()?.nlink() > 0 {
                return Ok(made);
            }
        }
        bail!(
            "other programs lock or remove each new file in {}: use another folder",
            self.path.display()
        )
    }

    pub(crate) fn begin<'r, R: 'r>(&self, table: Table<'r, R>) -> Result<Files<'r, R>> {
        let words = table.described();
        let begin = |format: &Format| -> Result<OneFile> {
            let temporary = self.in_the_making()?;
            let to = temporary.reopen()?;
            let writer = match format {
                Format::Csv => Writer::Csv(Box::new(CsvFile::begin(to, &words)?)),
                #[cfg(feature = "parquet")]
                Format::Parquet => Writer::Parquet(Box::new(ParquetFile::begin(to, &words)?)),
                #[cfg(not(feature = "parquet"))]
                Format::Parquet => anyhow::bail!(
                    "this build of cassay cannot write Parquet; every build can write CSV"
                ),
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
    pub(crate) fn row(&mut self, row: &R) -> Result<()> {
        for file in &mut self.files {
            let place = || format!("write {}", file.path.display());
            file.writer.row(self.table.cells(row)).with_context(place)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Completes the files and moves them to their final paths.
    pub(crate) fn end(self) -> Result<Vec<WrittenFile>> {
        let (table, rows) = (self.name, self.rows);
        let end = |file: OneFile| {
            let path = file.path;
            let ended = file.writer.end();
            let place = || format!("write {}", path.display());
            ended.with_context(place)?;
            file.temporary.persist(&path).with_context(place)?;
            Ok(WrittenFile {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_a_killed_export_go_and_files_in_progress_stay() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(root.path(), &[]).unwrap();
        let left = root.path().join(format!("{PREFIX}abc"));
        fs::write(&left, [7; 2000]).unwrap();
        fs::write(root.path().join("trials.csv"), "a").unwrap();
        let writing = folder.in_the_making().unwrap();
        let said = folder.sweep();
        assert!(!left.exists() && writing.path().exists());
        assert!(root.path().join("trials.csv").exists());
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains("the leftover of a killed export"),
            "{said:?}"
        );
        assert_eq!(folder.sweep(), Vec::<String>::new());
    }
}
