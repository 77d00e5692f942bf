//! The finding about one setting of one host.

measure::word_enum! {
    /// Severity of a finding about a setting.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// The setting reduces performance or stability, or may lose data.
        Warning = "warning",
        /// Another value is recommended, but the difference is important only in some cases.
        Advice = "advice",
        /// cassay could not determine the value.
        Unknown = "unknown" | "not told",
        /// The value satisfies the recommendation.
        Ok = "ok",
    }
}

/// Finding about one setting of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the setting, such as `vm.max_map_count`, `limit.nofile` or `heap.size`.
    pub setting: &'static str,
    /// Node or device to which the setting belongs. Empty if the setting belongs to the host
    /// itself.
    pub on: String,
    /// Value that was found, or the reason why the value is unknown.
    pub value: String,
    /// Recommended value.
    pub wanted: String,
    /// Severity of the finding.
    pub level: Severity,
    /// Reason for the recommendation.
    pub why: String,
    /// Command that sets the recommended value, or advice on the next step.
    pub fix: String,
    /// Source of the recommendation.
    pub source: &'static str,
    /// Check that Cassandra itself makes for this setting when it starts. Empty if Cassandra does
    /// not check the setting.
    pub start_check: &'static str,
}
