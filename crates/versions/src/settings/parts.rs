//! Checks the parts of the settings that are objects, such as `enabled` in `audit_logging_options`.
//!
//! `settings.txt` has a row for each part, with a dot in the name: `audit_logging_options.enabled`.
//! Maps and classes with free names have no such rows, so the server alone checks them.

use super::{Lack, SettingRefusal};
use crate::line::Line;
use serde_json::Value;

impl Line {
    /// Returns the reason why the server refuses a part of an object, at any depth. Returns `None`
    /// if the value is not an object, or if its names are free.
    pub(super) fn wrong_part(&self, whole: &str, value: &Value) -> Option<SettingRefusal> {
        let parts = value.as_object()?;
        self.parts(whole).next()?;
        parts.iter().find_map(|(part, value)| {
            let name = format!("{whole}.{part}");
            if !self.has_row(&name) {
                return Some(self.refused(&name));
            }
            let is_name = self.has_dotted_names || !part.contains('.');
            let dotted = || self.dotted(&name).filter(|_| !is_name);
            let wrong = || self.wrong(&name, value).or_else(|| self.wrong_part(&name, value));
            dotted().or_else(wrong)
        })
    }

    /// Returns the names of the parts of a setting. They do not contain the name of the setting.
    pub(super) fn parts(&self, whole: &str) -> impl Iterator<Item = &'static str> {
        let part = move |name: &'static str| name.strip_prefix(whole)?.strip_prefix('.');
        self.names_with_parts().filter_map(part).filter(|part| !part.contains('.'))
    }

    /// Returns the reason why a line without dotted names refuses the name of one of its parts.
    pub(super) fn dotted(&self, name: &str) -> Option<SettingRefusal> {
        let (whole, part) = name.rsplit_once('.').filter(|_| self.has_row(name))?;
        Some(SettingRefusal {
            lack: Lack::GoneNode,
            why: format!(
                "Cassandra {} does not accept a name with a dot in its cassandra.yaml, such as \
                 {name}",
                self.name
            ),
            hint: format!("write `{whole}: {{{part}: …}}`"),
        })
    }
}
