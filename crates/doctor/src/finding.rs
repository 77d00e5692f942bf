//! What is found of one setting of one host.

measure::word_enum! {
    /// How a setting is to be taken.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// It costs performance or stability, or loses something.
        Warning = "warning",
        /// Another value is recommended; it matters for some.
        Advice = "advice",
        /// It could not be seen.
        NotTold = "not told",
        /// As it should be.
        Ok = "ok",
    }
}

/// One setting of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name: `vm.max_map_count`, `limit.nofile`, `heap.size`.
    pub setting: &'static str,
    /// What of the host has it: a node, a device; empty for the host itself.
    pub on: String,
    /// What was found; why nothing was, if it is not told.
    pub value: String,
    /// What is wanted.
    pub wanted: String,
    /// How that is to be taken.
    pub level: Level,
    /// Why it is wanted.
    pub why: String,
    /// The command that sets it so, or what is to be done.
    pub fix: String,
    /// Who wants it so.
    pub source: &'static str,
    /// What Cassandra itself checks of it when it starts; empty for nothing.
    pub start_check: &'static str,
}
