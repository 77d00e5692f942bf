//! What each setting should be: one row per rule, and the pure function over them.
//!
//! Who adds a setting adds a row to one of the four tables, and, if the kernel's value is new, its
//! name to the tables of `crates/kernel/src/settings/kernel.rs`.

mod cpu;
mod disk;
mod jvm;
mod kernel;

use super::jvm::{Jvm, list};
use super::{Finding, Level};
use crate::local::NodeConfiguration;
use host::settings::HostSettings;
use std::collections::BTreeMap;

/// One setting.
struct Rule {
    setting: &'static str,
    /// What is wanted, where that is the same for all.
    wanted: &'static str,
    why: &'static str,
    /// The command that brings it about; `{on}` is the node or the device.
    fix: &'static str,
    source: &'static str,
    /// What Cassandra checks of it by itself; empty for nothing.
    start_check: &'static str,
    look: Look,
}

/// How a setting is judged.
enum Look {
    /// By a value of the kernel, and how a value is to be taken that is out of bounds.
    Kernel(&'static str, Bound, Level),
    /// By what a function makes of the host.
    By(fn(&View<'_>) -> Vec<Judged>),
}

/// What a number should be. Of several numbers the last one is it, the maximum.
enum Bound {
    AtLeast(u64),
    AtMost(u64),
}

/// What was found of one setting at one place.
struct Judged {
    on: String,
    value: String,
    level: Level,
    /// Instead of the row's.
    wanted: Option<String>,
    fix: Option<String>,
}

impl Judged {
    fn new(value: impl Into<String>, level: Level) -> Judged {
        Judged {
            on: String::new(),
            value: value.into(),
            level,
            wanted: None,
            fix: None,
        }
    }

    fn not_told(why: impl Into<String>) -> Judged {
        Judged::new(why, Level::NotTold)
    }

    fn on(mut self, on: impl Into<String>) -> Judged {
        self.on = on.into();
        self
    }

    fn wanted(mut self, wanted: impl Into<String>) -> Judged {
        self.wanted = Some(wanted.into());
        self
    }

    fn fix(mut self, fix: impl Into<String>) -> Judged {
        self.fix = Some(fix.into());
        self
    }
}

/// `Ok`, or how it is to be taken if it is not.
fn unless(is_fine: bool, level: Level) -> Level {
    match is_fine {
        true => Level::Ok,
        false => level,
    }
}

/// A host as the rules see it.
struct View<'a> {
    facts: &'a HostSettings,
    jvms: Vec<Jvm<'a>>,
}

impl View<'_> {
    /// A value of the kernel, or why there is none.
    fn value(&self, name: &str) -> Result<&str, String> {
        match self.facts.values.get(name) {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) if name.starts_with("net.") && why.starts_with("there is no") => Err(
                format!("{why}: a network namespace of its own does not show it"),
            ),
            Some(Err(why)) => Err(why.clone()),
            None => Err("it was not asked for".to_owned()),
        }
    }

    /// The last number of such a value.
    fn number(&self, name: &str) -> Result<u64, String> {
        let value = self.value(name)?;
        let last = value.split_ascii_whitespace().last();
        let number = last.and_then(|last| last.parse().ok());
        number.ok_or_else(|| format!("{name} is no number"))
    }

    fn has_jvm_with(&self, flag: &str) -> bool {
        self.jvms.iter().any(|jvm| jvm.is_on(flag))
    }

    /// All CPUs.
    fn cpus(&self) -> Option<usize> {
        list(&self.facts.cpus).map(|list| list.len())
    }

    /// NUMA nodes with memory: one where nobody tells.
    fn memory_nodes(&self) -> usize {
        list(&self.facts.memory_nodes).map_or(1, |list| list.len())
    }

    /// Memory that nodes share: the machine's, or what their groups let them have of it together.
    fn memory_bytes(&self) -> Result<u64, String> {
        let all = self.facts.memory_bytes.clone()?;
        let limit = |jvm: &Jvm<'_>| {
            let process = jvm.process;
            Some((process.memory_group.clone(), process.memory_limit_bytes?))
        };
        // One without a limit may have all. Those of one group share its limit.
        let limits: Option<BTreeMap<_, u64>> = self.jvms.iter().map(limit).collect();
        let limits = limits.filter(|limits| !limits.is_empty());
        let sum = limits.map(|limits| limits.into_values().fold(0, u64::saturating_add));
        Ok(all.min(sum.unwrap_or(all)))
    }
}

/// All settings of a host. `told` is what its nodes say of their JVMs, where they can be asked.
pub(super) fn judge(facts: &HostSettings, told: &[NodeConfiguration]) -> Vec<Finding> {
    let jvms = facts.processes.iter().map(|one| Jvm::of(one, told));
    let view = View {
        facts,
        jvms: jvms.collect(),
    };
    let tables = [kernel::RULES, disk::RULES, cpu::RULES, jvm::RULES];
    let rules = tables.into_iter().flatten();
    rules.flat_map(|rule| rule.findings(&view)).collect()
}

impl Rule {
    fn findings(&self, view: &View<'_>) -> Vec<Finding> {
        let judged = match &self.look {
            Look::By(judge) => judge(view),
            Look::Kernel(name, bound, level) => vec![kernel_value(view, name, bound, *level)],
        };
        let finding = |one: Judged| Finding {
            setting: self.setting,
            value: one.value,
            wanted: one.wanted.unwrap_or_else(|| self.wanted.to_owned()),
            level: one.level,
            why: self.why.to_owned(),
            fix: one.fix.unwrap_or_else(|| self.fix.replace("{on}", &one.on)),
            on: one.on,
            source: self.source,
            start_check: self.start_check,
        };
        judged.into_iter().map(finding).collect()
    }
}

fn kernel_value(view: &View<'_>, name: &str, bound: &Bound, level: Level) -> Judged {
    let number = match view.number(name) {
        Ok(number) => number,
        Err(why) => return Judged::not_told(why),
    };
    let is_fine = match bound {
        Bound::AtLeast(least) => number >= *least,
        Bound::AtMost(most) => number <= *most,
    };
    let value = view.value(name).unwrap_or_default();
    let value = value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    Judged::new(value, unless(is_fine, level))
}

/// Bytes for people: `512 MiB`, `23.5 GiB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match (value * 10.0).round() / 10.0 {
        whole if whole.fract() == 0.0 => format!("{whole} {}", UNITS[unit]),
        tenths => format!("{tenths:.1} {}", UNITS[unit]),
    }
}

const APACHE: &str = "Apache Cassandra, production recommendations";
const DATASTAX: &str = "DataStax, recommended production settings";
const INTEL: &str = "Intel, Cassandra tuning guide";
const JDK: &str = "OpenJDK HotSpot";
const OURS: &str = "cassay";

/// The command that sets a value of the kernel now and at every start.
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
use sysctl;
