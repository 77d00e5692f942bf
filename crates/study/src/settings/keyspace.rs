//! The keyspace, and what its tables are set to beyond what the workload says.

pub use workload::Replication;

use serde_json::Value;

/// The keyspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keyspace {
    /// Name; none: the workload's own.
    pub name: Option<String>,
    /// Where the replicas are.
    pub replication: Replication,
    /// Whether the study says so, or nobody does.
    pub is_replication_stated: bool,
    /// Whether writes go to the commit log; none: as the workload says.
    pub durable_writes: Option<bool>,
    /// How its tables are compacted, `class` among it; empty: as the workload says.
    pub compaction: Vec<(String, String)>,
    /// How its tables are compressed; empty: as the workload says.
    pub compression: Vec<(String, String)>,
    /// Other options of its tables, by name.
    pub options: Vec<(String, Value)>,
}

impl Keyspace {
    /// As many copies as the study says, wherever they are.
    pub fn replicate(&mut self, factor: u32) {
        self.replication = Replication::Simple { factor };
        self.is_replication_stated = true;
    }

    /// As many copies in a datacenter as the study says.
    pub fn replicate_in(&mut self, datacenter: &str, factor: u32) {
        self.replication.push(datacenter, factor);
        self.is_replication_stated = true;
    }

    /// What stands behind `ALTER KEYSPACE … WITH`; none: there is nothing.
    pub fn own_options(&self) -> Option<String> {
        self.durable_writes.map(|on| format!("durable_writes = {on}"))
    }

    /// The options that the study states of the keyspace itself, by name.
    pub fn asked_of_itself(&self) -> Vec<(String, Value)> {
        let durable =
            self.durable_writes.map(Value::Bool).map(|on| ("durable_writes".to_owned(), on));
        durable.into_iter().collect()
    }

    /// The options that the study states, by name, as its tables must have them.
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

    /// What stands behind `ALTER TABLE … WITH` to set the options of a table; none: there are none.
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

/// A text as CQL writes it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The value of an option as CQL writes it. A mapping's values are texts there, whatever they are.
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
