//! Translates the name of a `cassandra.yaml` setting from any line into the name of the same
//! setting in a given line.

mod parts;

use crate::kind::ValueKind;
use crate::line::Line;
use crate::quantity::Unit;
use crate::release_lines::LINES;
use serde_json::Value;

/// Old names of settings for which a negative number means "off". Under the new name, "not set" has
/// this meaning. Each of these settings has a converter `NEGATIVE_…` or `…_CUSTOM_…` in the class
/// `Config` of cassandra-all 5.0.9.
const OFF_BY_NEGATIVE: [&str; 9] = [
    "cache_load_timeout_seconds",
    "credentials_update_interval_in_ms",
    "index_summary_resize_interval_in_minutes",
    "native_transport_max_concurrent_requests_in_bytes",
    "native_transport_max_concurrent_requests_in_bytes_per_ip",
    "permissions_update_interval_in_ms",
    "roles_update_interval_in_ms",
    "sstable_preemptive_open_interval_in_mb",
    "validation_preview_purge_head_start_in_sec",
];

/// Result of looking up a setting in a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// The line has a setting with this name.
    Known,
    /// The line has the setting under another name.
    Named {
        /// Name of the setting in this line.
        name: String,
        /// Value of the setting in this line.
        value: Value,
    },
    /// The setting cannot be used in the line. The value contains the reason.
    Refused(SettingRefusal),
}

/// Reason why a setting cannot be used in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRefusal {
    /// Kind of the reason.
    pub lack: Lack,
    /// The error message, including the name of the setting.
    pub why: String,
    /// Advice on the next step.
    pub hint: String,
}

/// Kind of reason why a setting cannot be used in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Only an earlier line had the setting.
    GoneNode,
    /// The line has the setting under another name, but that setting cannot express this value.
    Unsaid,
    /// The pinned release does not have the setting, but a later release may.
    Unknown,
    /// The line has the setting, but does not accept this value.
    Value,
}

/// A setting that has another name in later lines.
#[derive(Clone, Copy)]
struct RenamedSetting {
    old: &'static str,
    new: &'static str,
    unit: Unit<'static>,
}

impl Line {
    /// Looks up a setting in this line. A negative number that means "off" under the old name is
    /// not a valid value under the new name.
    pub fn setting(&self, name: &str, value: &Value) -> Setting {
        let setting = self.by_name(name, value);
        let wrong = match &setting {
            // The server compares such an empty value with an empty default.
            Setting::Known if value.is_null() && self.is_part_of_empty(name) => None,
            Setting::Known => self.wrong(name, value).or_else(|| self.wrong_part(name, value)),
            Setting::Named { name, value } => self.wrong(name, value),
            Setting::Refused(_) => None,
        };
        wrong.map_or(setting, Setting::Refused)
    }

    /// Returns the reason why the server refuses a value when it reads its file. Returns `None` if
    /// the type of the setting permits the value.
    fn wrong(&self, name: &str, value: &Value) -> Option<SettingRefusal> {
        let kind = self.kind(name)?;
        let wrong = kind.wrong(value)?;
        // Some settings got a unit but kept their old name. For these settings, the server still
        // accepts a number without a unit.
        let old = self.renamed().find(|one| one.new == name).filter(|_| kind.is_quantity());
        let count = value.as_i64().or_else(|| value.as_str()?.parse().ok());
        let is_count = count.is_some_and(|count| i32::try_from(count).is_ok_and(|n| n >= 0));
        if is_count && old.is_some_and(|old| old.old == name) {
            return None;
        }
        let meant = old.and_then(|old| old.unit.now(value));
        let meant = meant.filter(|meant| kind.wrong(meant).is_none());
        let meant = meant.and_then(|meant| Some(meant.as_str()?.to_owned()));
        Some(SettingRefusal {
            lack: Lack::Value,
            why: format!(
                "{name} of cassandra.yaml is {value}, but Cassandra {} accepts {}",
                self.name, wrong.takes
            ),
            hint: match wrong.example.or(meant) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "write a value in the accepted form".to_owned(),
            },
        })
    }

    /// Returns the kind of values that a setting of this line accepts. Returns `None` if this line
    /// does not have the setting.
    pub(crate) fn kind(&self, name: &str) -> Option<ValueKind<'static>> {
        let mut rows = self.settings.lines().filter_map(|line| line.split_once(' '));
        let (_, kind) = rows.find(|(known, _)| *known == name)?;
        Some(ValueKind::parse(kind))
    }

    fn by_name(&self, name: &str, value: &Value) -> Setting {
        if self.has_setting(name) {
            return self.in_its_unit(name, value);
        }
        let unsaid = |other: &str| {
            Setting::Refused(SettingRefusal {
                lack: Lack::Unsaid,
                why: format!(
                    "{name} of cassandra.yaml has the name {other} in Cassandra {}, and {value} is \
                     not one of its values",
                    self.name
                ),
                hint: format!("write {other} with the intended value"),
            })
        };
        let named = |other: &str, value: Option<Value>| match value {
            Some(value) => Setting::Named {
                name: other.to_owned(),
                value,
            },
            None => unsaid(other),
        };
        // The setting has an old name, which this line has replaced by a new name.
        if let Some(renamed) = self.renamed().find(|one| one.old == name) {
            if OFF_BY_NEGATIVE.contains(&name) && value.as_i64().is_some_and(|value| value < 0) {
                return named(renamed.new, Some(Value::Null));
            }
            return named(renamed.new, renamed.unit.now(value));
        }
        // The setting has the new name of a later line, but this line still uses the old name.
        for newer in &LINES[self.age() + 1..] {
            let is_it = |one: &RenamedSetting| one.new == name && self.has_setting(one.old);
            if let Some(renamed) = newer.renamed().find(is_it) {
                return named(renamed.old, renamed.unit.before(value));
            }
        }
        Setting::Refused(self.dotted(name).unwrap_or_else(|| self.refused(name)))
    }

    /// Looks up a setting that has the same name in all lines. In later lines, the value of the
    /// setting has a unit. If this line does not accept units, the function removes the unit.
    fn in_its_unit(&self, name: &str, value: &Value) -> Setting {
        let mut lines = LINES[self.age()..].iter().flat_map(|line| line.renamed());
        let unit = lines.find(|one| one.old == name && one.new == name).map(|one| one.unit);
        let has_units = self.renamed().any(|one| one.new == name);
        match unit.filter(|_| !has_units && value.is_string()).and_then(|u| u.before(value)) {
            Some(value) => Setting::Named {
                name: name.to_owned(),
                value,
            },
            None => Setting::Known,
        }
    }

    /// Returns true if the line has a setting with this name. A name with a dot, such as
    /// `sstable.selected_format`, is a part of a setting. Cassandra 4.0 has no such names.
    pub fn has_setting(&self, name: &str) -> bool {
        self.has_row(name) && (self.has_dotted_names || !name.contains('.'))
    }

    /// Returns true if a setting is a guardrail. The server applies guardrails to the requests of
    /// ordinary users. Nodes that do not require a password treat every client as a superuser.
    pub fn is_guardrail(&self, name: &str) -> bool {
        self.guardrails.lines().any(|known| known == name)
    }

    /// Adds the unit to a value of `system_views.settings`. If a setting kept its name when it got
    /// a unit, the server still shows the value as a number without a unit.
    pub fn shown_with_unit(&self, name: &str, shown: &str) -> String {
        let kept = self.renamed().find(|one| one.old == name && one.new == name);
        let number: Option<i64> = shown.trim().parse().ok();
        let whole = kept.zip(number).and_then(|(kept, number)| kept.unit.now(&number.into()));
        let text = whole.as_ref().and_then(Value::as_str);
        text.map_or_else(|| shown.to_owned(), str::to_owned)
    }

    /// Returns the names of all settings in this line, without their parts.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names_with_parts().filter(|name| !name.contains('.'))
    }

    /// Returns the names of all settings in this line, and of all their parts. The name of a part
    /// has a dot, as in `audit_logging_options.enabled`.
    pub fn names_with_parts(&self) -> impl Iterator<Item = &'static str> + use<> {
        let rows = self.settings.lines().filter(|line| !line.contains('>'));
        rows.filter_map(|row| row.split(' ').next())
    }

    fn has_row(&self, name: &str) -> bool {
        self.names_with_parts().any(|known| known == name)
    }

    fn renamed(&self) -> impl Iterator<Item = RenamedSetting> + use<> {
        self.settings.lines().filter_map(|line| {
            let (old, rest) = line.split_once(" > ")?;
            let (new, unit) = rest.split_once(' ')?;
            Some(RenamedSetting {
                old,
                new,
                unit: Unit::parse(unit),
            })
        })
    }

    fn refused(&self, name: &str) -> SettingRefusal {
        let own = self.name;
        let has = |line: &&&Line| line.has_row(name);
        let (older, newer) = LINES.split_at(self.age());
        let gone = self.gone.iter().chain(older.iter().flat_map(|line| line.gone));
        let instead = gone.clone().find(|(gone, _)| *gone == name).map(|(_, instead)| *instead);
        if let Some(last) = older.iter().rev().find(has) {
            return SettingRefusal {
                lack: Lack::GoneNode,
                why: format!(
                    "Cassandra {} was the last release with {name} of cassandra.yaml: {own} does \
                     not start with this setting",
                    last.name
                ),
                hint: instead
                    .unwrap_or("remove this setting; Cassandra has no replacement for it")
                    .to_owned(),
            };
        }
        if let Some(instead) = instead {
            return SettingRefusal {
                lack: Lack::GoneNode,
                why: format!("Cassandra {own} no longer has {name} of cassandra.yaml"),
                hint: instead.to_owned(),
            };
        }
        if let Some(first) = newer.iter().find(has) {
            return SettingRefusal {
                lack: Lack::Unknown,
                why: format!(
                    "only Cassandra {} and later have {name} of cassandra.yaml, so {own} does not \
                     start with this setting",
                    first.name
                ),
                hint: format!("remove this setting, or use `cassandra: {}`", first.name),
            };
        }
        SettingRefusal {
            lack: Lack::Unknown,
            why: format!("Cassandra {own} has no setting {name} in its cassandra.yaml"),
            hint: self.near(name).map_or_else(
                || "remove it".to_owned(),
                |near| format!("did you mean `{near}`?"),
            ),
        }
    }

    /// Returns the setting or the part that a misspelt name probably means.
    fn near(&self, name: &str) -> Option<String> {
        match name.rsplit_once('.') {
            Some((whole, part)) => {
                similar(part, self.parts(whole)).map(|near| format!("{whole}.{near}"))
            }
            None => similar(name, self.names()).map(str::to_owned),
        }
    }
}

/// Returns the name that a misspelt name probably means. Returns `None` if no known name is
/// similar.
pub(crate) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const SIMILARITY_MIN: f64 = 0.85;
    known
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unchanged_name_is_shown_with_its_old_unit() {
        let line = Line::find("5.0").unwrap();
        for (name, shown, expected) in [
            ("key_cache_save_period", "14400", "14400s"),
            ("key_cache_save_period", "4h", "4h"),
            ("concurrent_reads", "32", "32"),
            ("read_request_timeout", "5000ms", "5000ms"),
        ] {
            assert_eq!(line.shown_with_unit(name, shown), expected, "{name}");
        }
        // In Cassandra 4.0, the value of this setting had no unit yet.
        let old = Line::find("4.0").unwrap();
        assert_eq!(
            old.shown_with_unit("key_cache_save_period", "14400"),
            "14400"
        );
    }

    #[test]
    fn guardrails_are_those_of_the_line() {
        let is_one = |line: &str, name: &str| Line::find(line).unwrap().is_guardrail(name);
        for name in [
            "page_size_fail_threshold",
            "user_timestamps_enabled",
            "table_properties_disallowed",
        ] {
            assert!(
                is_one("4.1", name) && is_one("5.0", name) && is_one("6.0", name),
                "{name}"
            );
            assert!(!is_one("4.0", name), "{name}");
        }
        for name in [
            "batch_size_fail_threshold",
            "tombstone_warn_threshold",
            "cdc_enabled",
        ] {
            assert!(!is_one("5.0", name), "{name}");
        }
    }

    fn rename(line: &str, name: &str, value: Value) -> Setting {
        Line::find(line).unwrap().setting(name, &value)
    }

    fn expected_setting(name: &str, value: Value) -> Setting {
        Setting::Named {
            name: name.to_owned(),
            value,
        }
    }

    fn refused(line: &str, name: &str) -> SettingRefusal {
        match rename(line, name, json!(1)) {
            Setting::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn old_names_map_to_new_ones_and_back_for_an_old_line() {
        for (line, name, value, expected) in [
            (
                "5.0",
                "compaction_throughput_mb_per_sec",
                json!(64),
                expected_setting("compaction_throughput", json!("64MiB/s")),
            ),
            (
                "4.0",
                "compaction_throughput",
                json!("64MiB/s"),
                expected_setting("compaction_throughput_mb_per_sec", json!(64)),
            ),
            (
                "4.0",
                "compaction_throughput_mb_per_sec",
                json!(64),
                Setting::Known,
            ),
            (
                "4.1",
                "compaction_throughput",
                json!("64MiB/s"),
                Setting::Known,
            ),
            (
                "6.0",
                "enable_sasi_indexes",
                json!(true),
                expected_setting("sasi_indexes_enabled", json!(true)),
            ),
            (
                "4.0",
                "read_request_timeout",
                json!("5s"),
                expected_setting("read_request_timeout_in_ms", json!(5000)),
            ),
        ] {
            assert_eq!(rename(line, name, value), expected, "{name} in {line}");
        }
    }

    /// In an earlier version, cassay wrote `-1MiB`, with which a node failed. In a file of 4.0, the
    /// value is `-1`, which means "off".
    #[test]
    fn a_negative_number_that_means_off_becomes_null() {
        for (name, value, expected) in [
            (
                "sstable_preemptive_open_interval_in_mb",
                json!(-1),
                expected_setting("sstable_preemptive_open_interval", Value::Null),
            ),
            (
                "sstable_preemptive_open_interval_in_mb",
                json!(50),
                expected_setting("sstable_preemptive_open_interval", json!("50MiB")),
            ),
            (
                "index_summary_resize_interval_in_minutes",
                json!(-1),
                expected_setting("index_summary_resize_interval", Value::Null),
            ),
        ] {
            assert_eq!(rename("5.0", name, value), expected, "{name}");
        }
        let known = rename("4.0", "sstable_preemptive_open_interval_in_mb", json!(-1));
        assert_eq!(known, Setting::Known);
    }

    #[test]
    fn a_setting_renamed_twice_or_given_a_unit_is_always_found() {
        for (line, name, value, expected) in [
            // This setting has a different name in each of three lines.
            (
                "4.0",
                "partition_size_warn_threshold",
                json!("100MiB"),
                expected_setting(
                    "compaction_large_partition_warning_threshold_mb",
                    json!(100),
                ),
            ),
            (
                "4.1",
                "partition_size_warn_threshold",
                json!("100MiB"),
                expected_setting(
                    "compaction_large_partition_warning_threshold",
                    json!("100MiB"),
                ),
            ),
            // This setting kept its name when its value got a unit.
            (
                "4.0",
                "key_cache_save_period",
                json!("4h"),
                expected_setting("key_cache_save_period", json!(14_400)),
            ),
            ("4.1", "key_cache_save_period", json!("4h"), Setting::Known),
            ("5.0", "concurrent_reads", json!(32), Setting::Known),
            (
                "5.0",
                "sstable.selected_format",
                json!("bti"),
                Setting::Known,
            ),
        ] {
            assert_eq!(rename(line, name, value), expected, "{name} in {line}");
        }
    }

    #[test]
    fn removed_future_and_unknown_settings_are_refused() {
        let gone = refused("6.0", "reject_out_of_token_range_requests");
        assert!(
            gone.why.contains("Cassandra 5.0 was the last release with "),
            "{gone:?}"
        );
        assert!(gone.hint.contains("metadata"), "{gone:?}");
        let old = refused("4.0", "start_rpc");
        assert!(old.hint.contains("Thrift"), "{old:?}");
        assert!(refused("6.0", "start_rpc").hint.contains("Thrift"));
        let later = refused("4.1", "accord");
        assert!(
            later.why.contains("only Cassandra 6.0 and later have"),
            "{later:?}"
        );
        let slip = refused("5.0", "concurent_reads");
        assert_eq!(slip.hint, "did you mean `concurrent_reads`?");
        assert_eq!(refused("5.0", "zzz").hint, "remove it");
        // A number has no fields, so a name with a dot is refused.
        let part = refused("5.0", "concurrent_reads.foo");
        assert_eq!(part.lack, Lack::Unknown, "{part:?}");
        let unsaid = refused("5.0", "table_count_warn_threshold");
        assert!(
            unsaid.why.contains("has the name tables_warn_threshold in"),
            "{unsaid:?}"
        );
    }

    #[test]
    fn every_line_has_the_new_names_of_its_renames_not_the_old() {
        for line in LINES {
            for one in line.renamed() {
                assert!(line.has_setting(one.new), "{} of {}", one.new, line.name);
                let is_old = one.old == one.new || !line.has_setting(one.old);
                assert!(is_old, "{} of {}", one.old, line.name);
            }
        }
    }
}
