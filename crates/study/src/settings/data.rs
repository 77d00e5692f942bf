//! The state of the data before a trial measures: how much, settled how, brought back how.

/// The state of the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    /// How much the load phase writes.
    pub load: Load,
    /// Rows that the load phase writes; 0: none. Known beforehand for [`Load::Operations`] only:
    /// for an amount of bytes it is an estimate, from what the workload says of its rows and for
    /// hosts that take them evenly. The run loads until the bytes are there, and compiles the
    /// program that measures with the rows it really loaded ([`crate::work::compile_with_rows`]).
    pub load_rows: u64,
    /// Rows that operations choose among; as `load_rows` an estimate for an amount of bytes.
    pub rows: u64,
    /// Whether those rows are there before a trial measures: loaded, or said to be present.
    pub has_rows: bool,
    /// What is waited for after loading.
    pub settle: Settle,
    /// Limit of settling, ns.
    pub settle_limit_ns: u64,
    /// What brings the data back to its state before each trial.
    pub reset: Reset,
    /// How a snapshot is restored.
    pub restore: RestoreMethod,
    /// What becomes of the page cache before a trial warms up.
    pub page_cache: PageCache,
}

impl Data {
    /// Whether the rows are said to be there already: nothing makes or loads them.
    pub fn is_present(&self) -> bool {
        self.has_rows && self.load == Load::None
    }

    /// So many rows that are there already, and nothing done to them.
    pub fn present(rows: u64) -> Data {
        Data {
            rows,
            has_rows: true,
            settle: Settle::None,
            ..Data::default()
        }
    }
}

/// How much is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Load {
    /// Nothing: the rows are there, or none are needed.
    #[default]
    None,
    /// This many rows.
    Operations(u64),
    /// Until the live data of each node has this many bytes on disk, on average.
    BytesPerNode(u64),
    /// Until this share of the data volumes is used, on average: 0.3 is 30 % full.
    Fraction(f64),
}

impl Load {
    /// Whether it is known beforehand how many rows it takes.
    pub fn rows_are_known(self) -> bool {
        matches!(self, Load::None | Load::Operations(_))
    }
}

/// What is waited for after loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Settle {
    /// Compactions, where the target can tell when they are done.
    #[default]
    Auto,
    /// Compactions; a target that cannot tell is refused.
    Compactions,
    /// Nothing is waited for.
    None,
}

/// What brings the data back to its state before each trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reset {
    /// Nothing: a trial finds what the one before left.
    #[default]
    None,
    /// The tables are emptied, and loaded again.
    Truncate,
    /// A snapshot, made once after loading and settling, is restored.
    Snapshot,
}

/// How a snapshot is restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreMethod {
    /// The tables are emptied and the files imported, while the nodes run.
    #[default]
    Online,
    /// The nodes are stopped, the files put in place, the nodes started.
    Offline,
}

/// What becomes of the page cache before a trial warms up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageCache {
    /// It stays as it is.
    #[default]
    Keep,
    /// The files' pages are dropped: the first reads come from the disk.
    Drop,
}
