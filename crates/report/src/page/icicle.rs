//! Model of an icicle, which is a drawing of a call tree. Callers are above their callees, and the
//! width of a frame shows its cost.

#[derive(Clone, Debug, Default)]
pub struct Icicle {
    /// HTML anchor, which is unique in the page and consists of lower-case letters, digits and
    /// hyphens.
    pub id: String,
    pub title: String,
    /// Description for readers who cannot see the picture.
    pub what: String,
    /// Unit of the costs, such as `µs`.
    pub unit: String,
    /// Total cost, in `unit`. It corresponds to the full width of the picture.
    pub total: f64,
    /// Frames of the tree, in pre-order.
    pub frames: Vec<IcicleFrame>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IcicleFrame {
    /// Row of the frame. The top row is 0, and the callees of a frame are in the next row.
    pub row: usize,
    pub name: String,
    /// Full names of callers that call only this frame, beginning with the outermost. The picture
    /// omits them.
    pub callers: Vec<String>,
    /// Cost of the frame, including its callees, in the unit of the tree.
    pub cost: f64,
    pub kind: FrameKind,
    /// True if the comparison of the variants names this frame as a difference.
    pub is_named: bool,
}

measure::word_enum! {
    /// Kind of code of a frame, which determines its colour.
    #[derive(Default)]
    pub enum FrameKind {
        Pool = "pool",
        Cassandra = "cassandra",
        Library = "library",
        Jdk = "jdk",
        /// A function of the JVM, of a native library or of the kernel.
        #[default]
        Native = "native",
        /// Several small frames, drawn as one.
        Rest = "rest",
    }
}

impl FrameKind {
    /// All kinds with their descriptions, in the order of the legend. The script refers to a kind
    /// by its index in this list.
    pub const LEGEND: [(FrameKind, &'static str); 6] = [
        (FrameKind::Pool, "thread pool"),
        (FrameKind::Cassandra, "Cassandra"),
        (FrameKind::Library, "library"),
        (FrameKind::Jdk, "JDK"),
        (FrameKind::Native, "JVM, native code, kernel"),
        (FrameKind::Rest, "several small frames"),
    ];
}
