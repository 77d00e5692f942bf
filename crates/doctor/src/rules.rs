//! The recommended value of each setting. The tables contain one row per rule. A pure function
//! applies the rules.
//!
//! To add a setting, add a row to one of the four tables. If the rule requires a new kernel value,
//! add the name of this value to the tables of `crates/linux/src/settings/kernel.rs`.

mod cpu;
mod disk;
mod jvm;
mod kernel;
mod rule;

use crate::finding::{Finding, Severity};
use crate::jvm::Jvm;
use cassandra::NodeConfiguration;
use host::settings::HostSettings;
use rule::{Bound, Check, Rule, SettingResult, View, unless};

/// Judges all settings of a host. `told` contains the reports that the nodes made on their JVMs,
/// and may be empty.
pub(super) fn judge(facts: &HostSettings, told: &[NodeConfiguration]) -> Vec<Finding> {
    let jvms = facts.processes.iter().map(|one| Jvm::read(one, told));
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
            Check::By(judge) => judge(view),
            Check::Kernel(name, bound, level) => vec![kernel_value(view, name, bound, *level)],
        };
        let finding = |one: SettingResult| Finding {
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

fn kernel_value(view: &View<'_>, name: &str, bound: &Bound, level: Severity) -> SettingResult {
    let number = match view.number(name) {
        Ok(number) => number,
        Err(why) => return SettingResult::not_told(why),
    };
    let is_fine = match bound {
        Bound::AtLeast(least) => number >= *least,
        Bound::AtMost(most) => number <= *most,
    };
    let value = view
        .value(name)
        .unwrap_or_default()
        .split_ascii_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    SettingResult::new(value, unless(is_fine, level))
}
