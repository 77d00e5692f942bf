//! Reads an existing table of a user: its columns from the schema, and keys and a few rows from all
//! parts of its token ring. Builds a workload from them.
//!
//! Invariants: the reader sends only SELECT statements. It stays below the requested number of
//! partitions per second, and reads only a few rows of each partition, even if the partition is
//! large.

mod keys;
mod schema;

use crate::running_target::Running;
use anyhow::{Context, Result, anyhow, bail};
use cluster::Dirs;
use keys::Sampling;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use study::compile_workload;
use study::inputs::Inputs;
use study::settings::{OwnTable, Study};
use target_spec::Target;
use workload::{KeySource, TableSample, csv_columns};

pub struct TableReader<'a> {
    /// Folders that the target uses.
    pub dirs: &'a Dirs,
    /// Seed that determines the tokens to read.
    pub seed: u64,
    /// Flag that ends the sampling after the current partition.
    pub stop: &'a AtomicBool,
}

impl TableReader<'_> {
    /// Reads the schema of a table and a sample of its partitions.
    ///
    /// # Errors
    /// The target is not available, the table does not exist, or the table is empty.
    pub fn read(
        &self,
        target: &Target,
        table: &OwnTable,
        say: &mut dyn FnMut(&str),
    ) -> Result<TableSample> {
        let running = Running::start(target, self.dirs, say)?;
        let mut session = running.cluster.session()?;
        let mut sample = schema::read(&mut session, &keyspace_and_table(table)?)?;
        let sampling = Sampling {
            keys: table.keys,
            keys_per_s: table.keys_per_s,
            seed: self.seed,
            stop: self.stop,
        };
        sampling.take(&mut session, &mut sample, say)?;
        Ok(sample)
    }

    /// Returns files, by their names, for each table that cassay has not read yet for this study.
    /// The files are a workload file and, unless the study names a CSV file, the sampled keys.
    /// Reads at most `keys_max` keys of each table.
    ///
    /// # Errors
    /// [`TableReader::read`] fails, or a CSV file of the study lacks a required column.
    pub fn files(
        &self,
        study: &Study,
        keys_max: u64,
        say: &mut dyn FnMut(&str),
    ) -> Result<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        for (table, target) in compile_workload::unread_tables(study) {
            let table = &OwnTable {
                keys: table.keys.min(keys_max),
                ..table.clone()
            };
            let text = match &table.file {
                Some(file) => self.build_from_csv(study, target, table, file, say)?,
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

    /// Builds the workload of a table whose keys are in a CSV file. From the cluster, reads only
    /// the schema of the table.
    fn build_from_csv(
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
        let sample = schema::read(&mut session, &keyspace_and_table(table)?)?;
        let source = KeySource::Csv {
            file,
            columns: &table.columns,
            names: &names,
        };
        let text = sample.definition(source).map_err(|why| anyhow!("{why}"));
        text.with_context(|| format!("read the keys of {} from {file}", table.name))
    }
}

fn keyspace_and_table(table: &OwnTable) -> Result<(String, String)> {
    match table.names() {
        Some(names) => Ok(names),
        None => bail!(
            "`{}` is not keyspace.table\nhint: for example shop.users; names with capital letters \
             are quoted: '\"Shop\".\"Users\"'",
            table.name
        ),
    }
}
