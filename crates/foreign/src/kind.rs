//! The kinds of external files that cassay reads, with a size limit for each kind.
//!
//! The limit of a kind depends on its reader. A reader that builds a tree in memory needs about ten
//! to fifty times the size of the file. It may use 256 MiB in total. If a reader needs only
//! constant memory, the limit permits any size that occurs in practice. The mutation tests
//! (`crates/cassay/tests/mutations/`) cover all kinds. For each kind whose reader keeps the whole
//! file in memory, they also read a file of the maximum size.

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// One kind of file that another program or person may have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    Study,
    /// A file that describes the workload of a study or a command line, in the format of cassay or
    /// of another tool.
    Workload,
    /// A file of a query log, which is read in pieces.
    QueryLog,
    /// A time series of another tool, which is read in pieces.
    Series,
    /// Samples of Prometheus, which are read in pieces.
    Samples,
    /// One scrape of a metrics endpoint.
    Scrape,
    /// The description of a machine, as one file or an archive.
    Machine,
    /// One file of a machine description that is a folder.
    MachinePart,
    /// A list of machines on which nodes run.
    Machines,
    /// A placement in another program's format.
    Placement,
    /// A list of Cassandra builds.
    Builds,
    /// Intermediate results of a bisection.
    Bisection,
    /// The names of the runs in a results folder.
    Tags,
    /// The list of the private strings that a publication replaces.
    Removals,
    /// A record of a run: its plan, its findings or a trial.
    Record,
    /// Records of a run, one per line, which a reader processes one by one.
    Records,
    /// Histograms of a run, which a reader processes one by one.
    Histograms,
    /// The profile of a node in a run, which is read line by line.
    Profile,
    /// Any file of a run whose bytes are counted or copied, without being parsed.
    RunFile,
    /// The journal of a run, which a reader keeps in memory.
    Journal,
    /// The file list of an exported snapshot.
    Export,
    /// A certificate or a key.
    Certificate,
    /// A secure connect bundle.
    ConnectBundle,
    Password,
    /// The description that the user's Java or Cassandra prints about itself.
    Home,
    /// A jar whose content cassay reads.
    Jar,
    /// A jar, a packed distribution or a program that cassay copies or unpacks, or whose bytes it
    /// counts.
    Archive,
    /// Settings and file lists that cassay uses to download Cassandra.
    Supply,
    /// A file in which cassay records a cluster or a fault on this machine.
    Note,
    /// A file of the kernel, or of the system's own settings.
    System,
}

impl FileKind {
    pub const ALL: [FileKind; 30] = [
        FileKind::Study,
        FileKind::Workload,
        FileKind::QueryLog,
        FileKind::Series,
        FileKind::Samples,
        FileKind::Scrape,
        FileKind::Machine,
        FileKind::MachinePart,
        FileKind::Machines,
        FileKind::Placement,
        FileKind::Builds,
        FileKind::Bisection,
        FileKind::Tags,
        FileKind::Removals,
        FileKind::Record,
        FileKind::Records,
        FileKind::Histograms,
        FileKind::Profile,
        FileKind::RunFile,
        FileKind::Journal,
        FileKind::Export,
        FileKind::Certificate,
        FileKind::ConnectBundle,
        FileKind::Password,
        FileKind::Home,
        FileKind::Jar,
        FileKind::Archive,
        FileKind::Supply,
        FileKind::Note,
        FileKind::System,
    ];

    /// Returns the name of the kind in messages, with an article.
    pub fn called(self) -> &'static str {
        self.row().0
    }

    /// Returns the maximum size of a file of this kind, in bytes.
    pub fn bytes_max(self) -> u64 {
        self.row().1
    }

    /// Returns true if readers of this kind keep a whole file in memory. In this case, the readers
    /// need memory in proportion to the size of the file.
    pub fn is_held(self) -> bool {
        self.row().2
    }

    fn row(self) -> (&'static str, u64, bool) {
        const IS_WHOLE: bool = true;
        const IN_PIECES: bool = false;
        match self {
            FileKind::Study => ("a study", MIB, IS_WHOLE),
            FileKind::Workload => ("a workload file", 2 * MIB, IS_WHOLE),
            FileKind::QueryLog => ("a query log", 1024 * GIB, IN_PIECES),
            FileKind::Series => ("a series", 64 * GIB, IN_PIECES),
            FileKind::Samples => ("samples", 64 * GIB, IN_PIECES),
            FileKind::Scrape => ("a scrape", 16 * MIB, IS_WHOLE),
            FileKind::Machine => ("a description of a machine", 32 * MIB, IS_WHOLE),
            FileKind::MachinePart => ("a file of a machine", 16 * MIB, IS_WHOLE),
            FileKind::Machines => ("a list of machines", MIB, IS_WHOLE),
            FileKind::Placement => ("a placement", 4 * MIB, IS_WHOLE),
            FileKind::Builds => ("a list of builds", MIB, IS_WHOLE),
            FileKind::Bisection => ("the record of a bisection", 4 * MIB, IS_WHOLE),
            FileKind::Tags => ("the names of runs", 4 * MIB, IS_WHOLE),
            FileKind::Removals => ("a list of private strings", 4 * MIB, IS_WHOLE),
            FileKind::Record => ("a record of a run", 32 * MIB, IS_WHOLE),
            FileKind::Records => ("a file of records", 256 * GIB, IN_PIECES),
            FileKind::Histograms => ("a file of histograms", 256 * GIB, IN_PIECES),
            FileKind::Profile => ("a profile", 64 * MIB, IN_PIECES),
            FileKind::RunFile => ("a file of a run", 256 * GIB, IN_PIECES),
            FileKind::Journal => ("a journal", 32 * MIB, IS_WHOLE),
            FileKind::Export => ("the list of an exported snapshot", 16 * MIB, IS_WHOLE),
            FileKind::Certificate => ("a file of certificates", 4 * MIB, IS_WHOLE),
            FileKind::ConnectBundle => ("a secure connect bundle", 16 * MIB, IS_WHOLE),
            FileKind::Password => ("a file with a password", 64 * KIB, IS_WHOLE),
            FileKind::Home => (
                "a file that describes the installed software",
                4 * MIB,
                IS_WHOLE,
            ),
            FileKind::Jar => ("a jar", 128 * MIB, IS_WHOLE),
            FileKind::Archive => ("an archive or a program", 16 * GIB, IN_PIECES),
            FileKind::Supply => ("a list of jars", 4 * MIB, IS_WHOLE),
            FileKind::Note => ("a note of cassay", 16 * MIB, IS_WHOLE),
            FileKind::System => ("a file of the system", 16 * MIB, IS_WHOLE),
        }
    }
}
