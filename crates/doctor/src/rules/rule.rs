//! A rule. It defines a setting, the recommended value, and the check of the setting on a host.

use crate::finding::Severity;
use crate::jvm::{Jvm, list};
use host::settings::HostSettings;
use std::collections::BTreeMap;

pub(super) struct Rule {
    pub(super) setting: &'static str,
    /// Recommended value, if all hosts have the same recommended value.
    pub(super) wanted: &'static str,
    pub(super) why: &'static str,
    /// Command that sets the recommended value. `{on}` stands for the node or the device.
    pub(super) fix: &'static str,
    pub(super) source: &'static str,
    /// Check that Cassandra itself makes for this setting. Empty if Cassandra does not check the
    /// setting.
    pub(super) start_check: &'static str,
    pub(super) look: Check,
}

/// Way in which a rule judges a setting.
pub(super) enum Check {
    /// The rule compares a kernel value with a bound. The last field is the severity of a value out
    /// of bounds.
    Kernel(&'static str, Bound, Severity),
    /// The rule calls a function with the facts about the host.
    By(fn(&View<'_>) -> Vec<SettingResult>),
}

/// Bound of a number. If a value consists of several numbers, the bound applies to the last number,
/// which is the maximum.
pub(super) enum Bound {
    AtLeast(u64),
    AtMost(u64),
}

/// Result for one setting of one node, device or host.
pub(super) struct SettingResult {
    pub(super) on: String,
    pub(super) value: String,
    pub(super) level: Severity,
    /// Recommended value that replaces the recommended value of the rule, if any.
    pub(super) wanted: Option<String>,
    pub(super) fix: Option<String>,
}

impl SettingResult {
    pub(super) fn new(value: impl Into<String>, level: Severity) -> SettingResult {
        SettingResult {
            on: String::new(),
            value: value.into(),
            level,
            wanted: None,
            fix: None,
        }
    }

    pub(super) fn not_told(why: impl Into<String>) -> SettingResult {
        SettingResult::new(why, Severity::Unknown)
    }

    pub(super) fn on(mut self, on: impl Into<String>) -> SettingResult {
        self.on = on.into();
        self
    }

    pub(super) fn wanted(mut self, wanted: impl Into<String>) -> SettingResult {
        self.wanted = Some(wanted.into());
        self
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> SettingResult {
        self.fix = Some(fix.into());
        self
    }
}

/// Returns `Ok` if `is_fine` is true, and otherwise `level`.
pub(super) fn unless(is_fine: bool, level: Severity) -> Severity {
    if is_fine { Severity::Ok } else { level }
}

/// The facts about a host that the rules use.
pub(super) struct View<'a> {
    pub(super) facts: &'a HostSettings,
    pub(super) jvms: Vec<Jvm<'a>>,
}

impl View<'_> {
    pub(super) fn value(&self, name: &str) -> Result<&str, String> {
        match self.facts.values.get(name) {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) if name.starts_with("net.") && why.starts_with("there is no") => Err(
                format!("{why}: the kernel hides this value in a separate network namespace"),
            ),
            Some(Err(why)) => Err(why.clone()),
            None => Err("cassay did not read this value".to_owned()),
        }
    }

    /// Returns the last number of a kernel value.
    pub(super) fn number(&self, name: &str) -> Result<u64, String> {
        let value = self.value(name)?;
        let last = value.split_ascii_whitespace().last();
        let number = last.and_then(|last| last.parse().ok());
        number.ok_or_else(|| format!("{name} is not a number"))
    }

    pub(super) fn has_jvm_with(&self, flag: &str) -> bool {
        self.jvms.iter().any(|jvm| jvm.is_on(flag))
    }

    /// Returns the number of all CPUs of the host. `None` if unknown.
    pub(super) fn cpus(&self) -> Option<usize> {
        list(&self.facts.cpus).map(|list| list.len())
    }

    /// Returns the number of NUMA nodes with memory, or 1 if this number is unknown.
    pub(super) fn memory_nodes(&self) -> usize {
        list(&self.facts.memory_nodes).map_or(1, |list| list.len())
    }

    /// Returns the memory that the nodes share, in bytes. It is the memory of the machine, or the
    /// sum of the limits of the nodes' control groups if this sum is smaller.
    pub(super) fn memory_bytes(&self) -> Result<u64, String> {
        let all = self.facts.memory_bytes.clone()?;
        let limit = |jvm: &Jvm<'_>| {
            let process = jvm.process;
            Some((process.memory_group.clone(), process.memory_limit_bytes?))
        };
        // If one node has no limit, the nodes may use all memory. Nodes in the same control group
        // share the limit of the group.
        let limits: Option<BTreeMap<_, u64>> = self.jvms.iter().map(limit).collect();
        let limits = limits.filter(|limits| !limits.is_empty());
        let sum = limits.map(|limits| limits.into_values().fold(0, u64::saturating_add));
        Ok(all.min(sum.unwrap_or(all)))
    }
}

pub(super) const APACHE: &str = "Apache Cassandra, production recommendations";
pub(super) const DATASTAX: &str = "DataStax, recommended production settings";
pub(super) const INTEL: &str = "Intel, Cassandra tuning guide";
pub(super) const JDK: &str = "OpenJDK HotSpot";
pub(super) const OURS: &str = "cassay";

/// Returns the command that sets a kernel value now and at every boot.
macro_rules! sysctl {
    ($name:literal, $value:literal) => {
        concat!(
            "echo '",
            $name,
            " = ",
            $value,
            "' >> /etc/sysctl.d/90-cassandra.conf && sysctl --system"
        )
    };
}
pub(super) use sysctl;
