//! A table that somebody has, read as it is: its columns from the schema, keys and a few rows from
//! places all over its token ring, and the workload that is made of them.
//!
//! What must hold: nothing is sent but SELECT. So many partitions are asked for in a second as was
//! said, and of each a few rows, however many it has.

mod keys;
mod schema;

use crate::running::Running;
use anyhow::{Context, Result, anyhow, bail};
use cluster::Dirs;
use keys::Sampling;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use study::inputs::Inputs;
use study::settings::{OwnTable, Study};
use study::work;
use target::Target;
use workload::{KeySource, TableSample, csv_columns};

/// How a table is read.
pub struct TableReader<'a> {
    /// Where what is needed for a target is kept.
    pub dirs: &'a Dirs,
    /// Which places of the ring are looked at.
    pub seed: u64,
    /// Ends it after the partition that is being read.
    pub stop: &'a AtomicBool,
}

impl TableReader<'_> {
    /// Reads the schema of a table and a sample of its partitions.
    ///
    /// # Errors
    /// The target cannot be had, has no such table, or it is empty.
    pub fn read(
        &self,
        target: &Target,
        table: &OwnTable,
        say: &mut dyn FnMut(&str),
    ) -> Result<TableSample> {
        let running = Running::start(target, self.dirs, say)?;
        let mut session = running.cluster.session()?;
        let mut sample = schema::read(&mut session, &named(table)?)?;
        let sampling = Sampling {
            keys: table.keys,
            keys_per_s: table.keys_per_s,
            seed: self.seed,
            stop: self.stop,
        };
        sampling.take(&mut session, &mut sample, say)?;
        Ok(sample)
    }

    /// The files that the workloads of a study's tables are: for those of its tables that nobody
    /// has read yet, by their names. At most so many keys are taken.
    ///
    /// # Errors
    /// As [`TableReader::read`]; or a CSV of the study's lacks what it must have.
    pub fn files(
        &self,
        study: &Study,
        keys_max: u64,
        say: &mut dyn FnMut(&str),
    ) -> Result<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        for (table, target) in work::unread_tables(study) {
            let table = &OwnTable {
                keys: table.keys.min(keys_max),
                ..table.clone()
            };
            let text = match &table.file {
                Some(file) => self.of_csv(study, target, table, file, say)?,
                None => {
                    let sample = self.read(target, table, say)?;
                    let file = table.keys_file();
                    let text = sample.definition(KeySource::Sample { file: &file });
                    files.insert(file, sample.keys_csv());
                    text.map_err(|why| anyhow!("{why}"))?
                }
            };
            files.insert(table.definition_file(), text);
        }
        Ok(files)
    }

    /// The workload of a table whose keys a CSV has: only its schema is read.
    fn of_csv(
        &self,
        study: &Study,
        target: &Target,
        table: &OwnTable,
        file: &str,
        say: &mut dyn FnMut(&str),
    ) -> Result<String> {
        let text = Inputs::new(&study.overrides).read(file).map_err(|why| anyhow!("{why}"))?;
        let names = csv_columns(file, &text).map_err(|why| anyhow!("{why}"))?;
        let running = Running::start(target, self.dirs, say)?;
        let mut session = running.cluster.session()?;
        let sample = schema::read(&mut session, &named(table)?)?;
        let source = KeySource::Csv {
            file,
            columns: &table.columns,
            names: &names,
        };
        let text = sample.definition(source).map_err(|why| anyhow!("{why}"));
        text.with_context(|| format!("take the keys of {} from {file}", table.name))
    }
}

fn named(table: &OwnTable) -> Result<(String, String)> {
    match table.names() {
        Some(names) => Ok(names),
        None => bail!(
            "`{}` is not keyspace.table\nhint: for example shop.users; names with capital letters \
             are quoted: '\"Shop\".\"Users\"'",
            table.name
        ),
    }
}
