//! Checks the parts of the settings that are objects, such as `enabled` in `audit_logging_options`.
//!
//! `settings.txt` has a row for each part, with a dot in the name: `audit_logging_options.enabled`.
//! Maps and classes with free names have no such rows, so the server alone checks them.

use super::{Lack, SettingRefusal};
use crate::line::Line;
use serde_json::Value;

impl Line {
    /// Returns the reason why the server refuses a part of an object, at any depth. Returns `None`
    /// if the value is not an object, or if its names are free. A wrong value comes before an
    /// unknown name, because a release that is not pinned may know the name.
    pub(super) fn wrong_part(&self, whole: &str, value: &Value) -> Option<SettingRefusal> {
        self.parts(whole).next()?;
        let wrong = |(part, value): (&String, &Value)| {
            let name = format!("{whole}.{part}");
            if let Some(renamed) = self.renamed().find(|one| one.old == name) {
                return self.wrong(renamed.new, &renamed.unit.now(value)?);
            }
            if !self.has_row(&name) {
                return Some(self.refused(&name));
            }
            let is_name = self.has_dotted_names || !part.contains('.');
            let dotted = self.dotted(&name).filter(|_| !is_name);
            let within = || self.wrong(&name, value).or_else(|| self.wrong_part(&name, value));
            dotted.or_else(within)
        };
        let all = value.as_object()?.iter().filter_map(wrong);
        all.min_by_key(|refusal| refusal.lack == Lack::Unknown)
    }

    /// Returns the names of the parts of a setting. They do not contain the name of the setting.
    pub(super) fn parts(&self, whole: &str) -> impl Iterator<Item = &'static str> {
        let part = move |name: &'static str| name.strip_prefix(whole)?.strip_prefix('.');
        self.names_with_parts().filter_map(part).filter(|part| !part.contains('.'))
    }

    /// Returns true if a name with a dot is a part of a setting that may be empty.
    pub(super) fn is_part_of_empty(&self, name: &str) -> bool {
        let whole = name.split_once('.').and_then(|(whole, _)| self.kind(whole));
        whole.is_some_and(|kind| kind.wrong(&Value::Null).is_none())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Setting;
    use serde_json::json;

    fn refusal(line: &str, name: &str, value: &Value) -> Option<SettingRefusal> {
        match Line::find(line).unwrap().setting(name, value) {
            Setting::Refused(refusal) => Some(refusal),
            Setting::Known | Setting::Named { .. } => None,
        }
    }

    #[test]
    fn a_part_is_refused_as_the_node_would_refuse_it() {
        for (line, name, legal, refused, part) in [
            (
                "5.0",
                "audit_logging_options",
                json!({"enabled": true, "logger": {"class_name": "BinAuditLogger"}}),
                json!({"enabled": 3}),
                "audit_logging_options.enabled",
            ),
            (
                "5.0",
                "audit_logging_options",
                json!({}),
                json!({"logger": {"class": "BinAuditLogger"}}),
                "audit_logging_options.logger.class",
            ),
            (
                "4.1",
                "audit_logging_options",
                json!({"logger": {"class_name": "a", "parameters": {"own": 1}}}),
                json!({"block": null}),
                "audit_logging_options.block",
            ),
            (
                "4.0",
                "transparent_data_encryption_options",
                json!(true),
                json!({"enabled": 1}),
                "transparent_data_encryption_options.enabled",
            ),
            (
                "4.1",
                "server_encryption_options",
                json!({"enable_legacy_ssl_storage_port": true}),
                json!({"enable_legacy_ssl_storage_port": 1}),
                "server_encryption_options.legacy_ssl_storage_port_enabled",
            ),
            (
                "5.0",
                "repair",
                json!({"retries": {"base_sleep_time": "200ms"}}),
                json!({"retries": {"base_sleep_time": 200}}),
                "repair.retries.base_sleep_time",
            ),
            (
                "6.0",
                "accord",
                json!({"journal": {"replay": "ALL"}}),
                json!({"journal": {"replay": "all"}}),
                "accord.journal.replay",
            ),
            (
                "5.0",
                "memtable",
                json!({"configurations": {"own": {"class_name": "TrieMemtable"}}}),
                json!("trie"),
                "memtable",
            ),
        ] {
            assert_eq!(refusal(line, name, &legal), None, "{line} {name} {legal}");
            let why = refusal(line, name, &refused).unwrap().why;
            assert!(why.contains(&format!("{part} ")), "{why}");
        }
    }

    #[test]
    fn an_unknown_part_comes_with_its_line_or_a_near_name() {
        let slip = refusal("5.0", "audit_logging_options", &json!({"enabeld": 1})).unwrap();
        assert_eq!(slip.lack, Lack::Unknown);
        assert_eq!(slip.hint, "did you mean `audit_logging_options.enabled`?");
        let later = json!({"ssl_context_factory": {}});
        let later = refusal("4.0", "server_encryption_options", &later).unwrap();
        assert!(
            later.why.contains("only Cassandra 4.1 and later have"),
            "{later:?}"
        );
        // The unknown name may belong to another release of the line, but the value does not.
        let both = json!({"enabeld": 1, "enabled": 3});
        let both = refusal("5.0", "audit_logging_options", &both).unwrap();
        assert_eq!(both.lack, Lack::Value);
        assert_eq!(
            both.why,
            "audit_logging_options.enabled of cassandra.yaml is 3, but Cassandra 5.0 accepts true \
             or false"
        );
    }

    #[test]
    fn a_name_with_a_dot_is_a_part_except_in_4_0() {
        let name = "audit_logging_options.enabled";
        assert_eq!(refusal("4.1", name, &json!(true)), None);
        assert_eq!(refusal("4.1", name, &json!(3)).unwrap().lack, Lack::Value);
        let dotted = refusal("4.0", name, &json!(true)).unwrap();
        assert_eq!(dotted.hint, "write `audit_logging_options: {enabled: …}`");
        // The names of a map are not parts.
        assert!(refusal("5.0", "sstable.format.bti", &json!({})).is_some());
    }
}
