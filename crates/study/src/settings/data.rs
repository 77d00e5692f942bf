//! Settings of the data before a trial: its amount, how it settles, and how it is reset.

/// The state of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    /// Amount that the load phase writes.
    pub load: Load,
    /// Rows that the load phase writes; 0 if it writes none. The number is exact for
    /// [`Load::Operations`] only. For a load in bytes it is an estimate from the workload's size of
    /// a row, and assumes that rows spread evenly over the hosts. The run loads until the bytes are
    /// there. Then it compiles the measuring program with the rows that it really loaded
    /// ([`crate::compile_workload::compile_with_rows`]).
    pub load_rows: u64,
    /// Rows that operations choose from; an estimate for a load in bytes, as `load_rows` is.
    pub rows: u64,
    /// True if those rows exist before a trial measures: loaded, or declared present.
    pub has_rows: bool,
    /// Condition to wait for after loading.
    pub settle: Settle,
    /// Time limit of settling, ns.
    pub settle_limit_ns: u64,
    /// Method of resetting the data before each trial.
    pub reset: Reset,
    /// Method of restoring a snapshot.
    pub restore: RestoreMethod,
    /// Handling of the page cache before a trial warms up.
    pub page_cache: PageCache,
}

impl Data {
    /// Returns true if the study declares the rows present: no step creates or loads them.
    pub fn is_present(&self) -> bool {
        self.has_rows && self.load == Load::None
    }

    /// Returns settings for `rows` existing rows that no step changes.
    pub fn present(rows: u64) -> Data {
        Data {
            rows,
            has_rows: true,
            settle: Settle::None,
            ..Data::default()
        }
    }
}

/// Amount of data to load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Load {
    /// Loads nothing: the rows exist, or none are needed.
    #[default]
    None,
    /// Loads this many rows.
    Operations(u64),
    /// Loads until the live data of each node has this many bytes on disk, on average.
    BytesPerNode(u64),
    /// Loads until this share of the data volumes is used, on average: 0.3 is 30 % full.
    Fraction(f64),
}

impl Load {
    /// Returns true if the number of rows is known beforehand.
    pub fn rows_are_known(self) -> bool {
        matches!(self, Load::None | Load::Operations(_))
    }
}

/// Condition to wait for after loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Settle {
    /// Waits for compactions, if the target can tell when they are done.
    #[default]
    Auto,
    /// Waits for compactions; a target that cannot tell is refused.
    Compactions,
    /// Does not wait.
    None,
}

/// Method of resetting the data before each trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reset {
    /// Not at all: a trial gets the data that the previous one left.
    #[default]
    None,
    /// Empties the tables, and loads them again.
    Truncate,
    /// Restores a snapshot, which is made once after loading and settling.
    Snapshot,
}

/// Method of restoring a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMethod {
    /// Empties the tables and imports the files, while the nodes run.
    #[default]
    Online,
    /// Stops the nodes, puts the files in place, and starts the nodes.
    Offline,
}

/// Handling of the page cache before a trial warms up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageCache {
    /// Leaves it unchanged.
    #[default]
    Keep,
    /// Drops the files' pages: the first reads come from the disk.
    Drop,
}
