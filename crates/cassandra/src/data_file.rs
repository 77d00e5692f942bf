//! Data files of managed nodes on disk.

use anyhow::Result;
use host::Agent;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    pub keyspace: String,
    /// Path of the table's folder, named `NAME-IDENTIFIER`.
    pub table: PathBuf,
    pub name: String,
    pub bytes: u64,
}

impl DataFile {
    /// Returns the version of the SSTable format, such as `nb`, `oa` or `da`.
    pub fn format(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }

    pub fn is_of(&self, table: &str) -> bool {
        let folder = self.table.file_name().and_then(|name| name.to_str());
        folder
            .and_then(|name| name.rsplit_once('-'))
            .is_some_and(|(name, _)| name == table)
    }
}

/// Returns the data files of `keyspaces` below a node's folder. An empty list means all keyspaces.
/// With `snapshot`, returns the files of that snapshot instead of the live files.
///
/// # Errors
/// The host cannot list a folder.
pub fn all(
    agent: &Agent,
    node: &Path,
    keyspaces: &[String],
    snapshot: Option<&str>,
) -> Result<Vec<DataFile>> {
    let mut files = Vec::new();
    for (keyspace, table) in tables(agent, node, keyspaces)? {
        let folder = match snapshot {
            Some(tag) => table.join("snapshots").join(tag),
            None => table.clone(),
        };
        let entries = agent.list(&folder, None)?.unwrap_or_default();
        let data = entries.into_iter().filter(|file| file.name.ends_with("-Data.db"));
        files.extend(data.map(|file| DataFile {
            keyspace: keyspace.clone(),
            table: table.clone(),
            name: file.name,
            bytes: file.bytes,
        }));
    }
    Ok(files)
}

/// Returns each table folder below a node's folder, with the name of its keyspace.
///
/// # Errors
/// The host cannot list a folder.
pub fn tables(agent: &Agent, node: &Path, keyspaces: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let data = node.join("data");
    let mut tables = Vec::new();
    for keyspace in agent.list(&data, None)?.unwrap_or_default() {
        if !keyspaces.is_empty() && !keyspaces.contains(&keyspace.name) {
            continue;
        }
        let folder = data.join(&keyspace.name);
        let entries = agent.list(&folder, None)?.unwrap_or_default().into_iter();
        let all = entries.filter(|table| table.is_folder);
        tables.extend(all.map(|table| (keyspace.name.clone(), folder.join(table.name))));
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_its_format_and_its_folder_its_table() {
        let file = |folder: &str, name: &str| DataFile {
            keyspace: "shop".to_owned(),
            table: PathBuf::from("/n/data/shop").join(folder),
            name: name.to_owned(),
            bytes: 1,
        };
        let by_number = file("users-6d9a", "nb-12-big-Data.db");
        assert_eq!(by_number.format(), "nb");
        assert!(by_number.is_of("users") && !by_number.is_of("user"));
        let by_time = file("users-6d9a", "da-3gs9_0jz4_1ubv42b1rbxl5uvwd2-bti-Data.db");
        assert_eq!(by_time.format(), "da");
    }
}
