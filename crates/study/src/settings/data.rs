//! Settings of the data that a trial begins with: its amount, and the methods of settling and
//! resetting it.

/// Settings of the data that a trial begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    /// Amount of data that the load phase writes.
    pub load: Load,
    /// Number of rows that the load phase writes. 0 if it does not write rows. The number is exact
    /// only for [`Load::Operations`]. For a load in bytes, it is an estimate from the size of a row
    /// in the workload. The estimate assumes the same number of rows on each host. The run loads
    /// until the requested bytes are on the disk. Then it compiles the measuring program with the
    /// actual number of loaded rows ([`crate::compile_workload::compile_with_rows`]).
    pub load_rows: u64,
    /// Number of rows from which operations choose. Like `load_rows`, this is an estimate for a
    /// load in bytes.
    pub rows: u64,
    /// True if the rows exist before the measurement of a trial, because a load phase writes them
    /// or the study declares that they exist.
    pub has_rows: bool,
    /// Condition that the cluster must meet after loading.
    pub settle: Settle,
    /// Time limit of settling, in ns.
    pub settle_limit_ns: u64,
    /// Method of resetting the data before each trial.
    pub reset: Reset,
    /// Method of restoring a snapshot.
    pub restore: RestoreMethod,
    /// Treatment of the page cache before the warm-up of a trial.
    pub page_cache: PageCache,
}

impl Data {
    /// Returns true if the study declares that the rows exist. No step then creates or loads them.
    pub fn is_present(&self) -> bool {
        self.has_rows && self.load == Load::None
    }

    /// Returns settings for `rows` rows that already exist and that no step changes.
    pub fn present(rows: u64) -> Data {
        Data {
            rows,
            has_rows: true,
            settle: Settle::None,
            ..Data::default()
        }
    }
}

/// Amount of data that the load phase writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Load {
    /// Loads no rows, because the rows exist or are not needed.
    #[default]
    None,
    /// Loads this number of rows.
    Operations(u64),
    /// Loads until each node has, on average, this many bytes of live data on disk.
    BytesPerNode(u64),
    /// Loads until, on average, this share of the data volumes is used. For example, 0.3 means that
    /// the volumes are 30 % full.
    Fraction(f64),
}

impl Load {
    /// Returns true if the number of rows is known before the load.
    pub fn rows_are_known(self) -> bool {
        matches!(self, Load::None | Load::Operations(_))
    }
}

/// Condition that the cluster must meet after loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Settle {
    /// Waits until compactions have finished, if the target reports this.
    #[default]
    Auto,
    /// Waits until compactions have finished. cassay refuses a target that does not report this.
    Compactions,
    /// Does not wait after loading.
    None,
}

/// Method of resetting the data before each trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reset {
    /// Does not reset the data. A trial begins with the data that the previous trial left.
    #[default]
    None,
    /// Empties the tables, and loads the rows again.
    Truncate,
    /// Restores a snapshot, which cassay creates once after loading and settling.
    Snapshot,
}

/// Method of restoring a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMethod {
    /// Empties the tables and imports the snapshot's files, while the nodes run.
    #[default]
    Online,
    /// Stops the nodes, puts the snapshot's files into the nodes' folders, and starts the nodes.
    Offline,
}

/// Treatment of the page cache before the warm-up of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageCache {
    /// Leaves the page cache unchanged.
    #[default]
    Keep,
    /// Drops the pages of the data files, so that the first reads come from the disk.
    Drop,
}
