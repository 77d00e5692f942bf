//! A call tree, which is drawn as an icicle: callers above their callees, with widths by cost.

/// A call tree with costs.
#[derive(Clone, Debug, Default)]
pub struct Icicle {
    /// Anchor, which is unique in the page and consists of lower-case letters, digits and hyphens.
    pub id: String,
    /// Title of the picture.
    pub title: String,
    /// Description for readers who cannot see the picture.
    pub what: String,
    /// Unit of the costs, such as `µs`.
    pub unit: String,
    /// Total cost, which has the full width.
    pub total: f64,
    /// Frames of the tree. Each frame is followed by its callees, from left to right.
    pub frames: Vec<IcicleFrame>,
}

/// One frame of a call tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IcicleFrame {
    /// Row of the frame. The first row is 0. The row of a callee is larger by 1.
    pub row: usize,
    /// Full name of the frame.
    pub name: String,
    /// Full names of callers that call only this frame, from the outermost. They are not drawn.
    pub callers: Vec<String>,
    /// Cost of the frame with its callees.
    pub cost: f64,
    /// Kind of code.
    pub kind: FrameKind,
    /// True if a comparison names the frame.
    pub is_named: bool,
}

measure::word_enum! {
    /// Kind of code of a frame, which determines its colour.
    #[derive(Default)]
    pub enum FrameKind {
        /// A thread pool.
        Pool = "pool",
        /// A method of Cassandra.
        Cassandra = "cassandra",
        /// A method of another library.
        Library = "library",
        /// A method of the JDK.
        Jdk = "jdk",
        /// A function of the JVM, of a native library or of the kernel.
        #[default]
        Native = "native",
        /// Several small frames.
        Rest = "rest",
    }
}

impl FrameKind {
    /// All kinds, in the order of the legend. The script refers to them by their index.
    pub const LEGEND: [(FrameKind, &'static str); 6] = [
        (FrameKind::Pool, "thread pool"),
        (FrameKind::Cassandra, "Cassandra"),
        (FrameKind::Library, "library"),
        (FrameKind::Jdk, "JDK"),
        (FrameKind::Native, "JVM, native code, kernel"),
        (FrameKind::Rest, "several small frames"),
    ];
}
