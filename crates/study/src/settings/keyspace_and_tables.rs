//! Settings of the keyspace, and table options that are added to those of the workload.

pub use workload::Replication;

use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keyspace {
    /// Name of the keyspace. `None` means the name in the workload.
    pub name: Option<String>,
    pub replication: Replication,
    /// True if the study states the replication.
    pub is_replication_stated: bool,
    /// True if writes go to the commit log. `None` means the setting of the workload.
    pub durable_writes: Option<bool>,
    /// Compaction options of the keyspace's tables, including `class`. If the list is empty, the
    /// options of the workload apply.
    pub compaction: Vec<(String, String)>,
    /// Compression options of the keyspace's tables. If the list is empty, the options of the
    /// workload apply.
    pub compression: Vec<(String, String)>,
    /// Other options of the keyspace's tables, by name.
    pub options: Vec<(String, Value)>,
}

impl Keyspace {
    /// Sets the number of copies without naming a data center.
    pub fn replicate(&mut self, factor: u32) {
        self.replication = Replication::Simple { factor };
        self.is_replication_stated = true;
    }

    /// Sets the number of copies in a data center.
    pub fn replicate_in(&mut self, datacenter: &str, factor: u32) {
        self.replication.push(datacenter, factor);
        self.is_replication_stated = true;
    }

    /// Returns the text after `ALTER KEYSPACE … WITH`. `None` if the study sets no option of the
    /// keyspace.
    pub fn own_options(&self) -> Option<String> {
        self.durable_writes.map(|on| format!("durable_writes = {on}"))
    }

    /// Returns the options that the study states for the keyspace itself, and not for its tables,
    /// by name.
    pub fn asked_of_itself(&self) -> Vec<(String, Value)> {
        let durable =
            self.durable_writes.map(Value::Bool).map(|on| ("durable_writes".to_owned(), on));
        durable.into_iter().collect()
    }

    /// Returns the table options that the study states, by name. The values are those that the
    /// tables must have.
    pub fn asked_options(&self) -> Vec<(String, Value)> {
        let map = |name: &str, entries: &[(String, String)]| {
            let entries =
                entries.iter().map(|(key, value)| (key.clone(), Value::String(value.clone())));
            (name.to_owned(), Value::Object(entries.collect()))
        };
        let mut asked = Vec::new();
        if !self.compaction.is_empty() {
            asked.push(map("compaction", &self.compaction));
        }
        if !self.compression.is_empty() {
            asked.push(map("compression", &self.compression));
        }
        asked.extend(self.options.iter().cloned());
        asked
    }

    /// Returns the text after `ALTER TABLE … WITH` that sets a table's options. `None` if the study
    /// sets no table options.
    pub fn table_options(&self) -> Option<String> {
        let map = |entries: &[(String, String)]| {
            let entries =
                entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        };
        let mut parts = Vec::new();
        for (name, entries) in [
            ("compaction", &self.compaction),
            ("compression", &self.compression),
        ] {
            if !entries.is_empty() {
                parts.push(format!("{name} = {}", map(entries)));
            }
        }
        for (name, value) in &self.options {
            parts.push(format!("{name} = {}", literal(value)));
        }
        (!parts.is_empty()).then(|| parts.join(" AND "))
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Formats the value of an option for CQL. Values inside a mapping are always texts.
fn literal(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let text = |value: &Value| match value {
                Value::String(text) => quoted(text),
                other => quoted(&other.to_string()),
            };
            let entries =
                entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), text(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_are_written_as_cql_and_cannot_leave_their_quotes() {
        let mut keyspace = Keyspace::default();
        assert_eq!(keyspace.table_options(), None);
        let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        keyspace.compaction = vec![
            text("class", "LeveledCompactionStrategy"),
            text("sstable_size_in_mb", "64"),
        ];
        keyspace.compression = vec![text("enabled", "false")];
        keyspace.options = vec![
            ("gc_grace_seconds".to_owned(), json!(60)),
            ("comment".to_owned(), json!("it's'; DROP")),
            (
                "caching".to_owned(),
                json!({"keys": "NONE", "rows_per_partition": 3}),
            ),
        ];
        assert_eq!(
            keyspace.table_options().unwrap(),
            "compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '64'} \
             AND compression = {'enabled': 'false'} AND gc_grace_seconds = 60 \
             AND comment = 'it''s''; DROP' \
             AND caching = {'keys': 'NONE', 'rows_per_partition': '3'}"
        );
    }
}
