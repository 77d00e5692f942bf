//! `export.json`: description of an exported snapshot, and its validation.
//!
//! The folder of an export contains `export.json` and each node's files in `NODE/TABLE/FILE`. An
//! export may come from an untrusted source. Invariant: no code uses an export before
//! [`Export::check`] has passed. Then each name is plain and occurs only once, and the statements
//! only define tables of the export's keyspace.

use anyhow::{Context, Result, anyhow, bail, ensure};
use cassandra::snapshot::contents::{NodeContents, format_of};
use cassandra::snapshot::manifest::{Manifest, TableRecord, check_name};
use cassandra::snapshot::sstables::{DATA, DIGEST, File};
use cassandra::snapshot::table_definitions;
use cassandra::statement_change::{Change, Sort, changes};
use cassandra::{NodeInfo, Replication};
use cql::tokens::{CqlMistake, Token, TokenKind};
use foreign::FileKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use target_spec::Act;

const FORMAT: u32 = 1;

/// File that identifies an export. The export writes this file last.
pub(super) const FILE: &str = "export.json";

/// Maximum size of an export, in bytes. No laboratory cluster stores 1 PiB.
const ALL_BYTES_MAX: u64 = 1 << 50;

/// Maximum length of a file name in file systems, in bytes.
const NAME_BYTES_MAX: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    format: u32,
    /// Version of cassay that wrote the export.
    pub cassay: String,
    pub name: String,
    pub keyspace: String,
    /// Nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// Cassandra version that wrote the files.
    pub version: String,
    /// Class name of the partitioner.
    pub partitioner: String,
    pub nodes: Vec<ExportedNode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedNode {
    /// Name of the node, and of its folder in the export.
    pub node: String,
    pub datacenter: String,
    pub rack: String,
    /// In ascending order.
    pub tokens: Vec<i64>,
    /// Layout of the node's tables, as [`cassandra::Fingerprint`] formats it.
    pub fingerprint: String,
    /// Contents of the node's tables, by table name.
    pub contents: NodeContents,
    pub(super) manifest: Manifest,
}

impl Export {
    pub(super) fn new(
        manifest: &Manifest,
        partitioner: String,
        nodes: Vec<ExportedNode>,
    ) -> Export {
        Export {
            format: FORMAT,
            cassay: env!("CARGO_PKG_VERSION").to_owned(),
            name: manifest.name.clone(),
            keyspace: manifest.keyspace.clone(),
            created_unix_ns: manifest.created_unix_ns,
            version: manifest.version.clone(),
            partitioner,
            nodes,
        }
    }

    /// Reads and validates the description in the folder `from`. Does not examine the SSTables.
    ///
    /// # Errors
    /// The folder is not an export, has another format, or is invalid. The message contains the
    /// invalid value and its location.
    pub fn read(from: &Path) -> Result<Export> {
        let path = from.join(FILE);
        let hint = "an export is a folder that `cassay snapshot export` wrote";
        let bytes = foreign::read(FileKind::Export, &path)
            .with_context(|| format!("read {}: {hint}", path.display()))?;
        Export::parse(&bytes).with_context(|| path.display().to_string())
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Export> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head =
            serde_json::from_slice(bytes).context("this is not an export of a snapshot")?;
        ensure!(
            head.format == FORMAT,
            "the export has the format {}, but this version of cassay supports only the format \
             {FORMAT}",
            head.format
        );
        let export: Export = serde_json::from_slice(bytes)
            .context("this is not an export of a snapshot, or the file is damaged")?;
        export.check()?;
        Ok(export)
    }

    /// Returns the statements that create the keyspace and its tables.
    pub fn schema(&self) -> &[String] {
        self.nodes.first().map_or(&[], |node| &node.manifest.schema)
    }

    pub fn tables(&self) -> Vec<&str> {
        let first = self.nodes.first().map(|node| &node.manifest.tables[..]);
        first.unwrap_or_default().iter().map(|table| table.name.as_str()).collect()
    }

    pub fn bytes(&self) -> u64 {
        self.nodes.iter().map(ExportedNode::bytes).sum()
    }

    /// Returns the replication in the statement that creates the keyspace.
    ///
    /// # Errors
    /// No statement contains a replication, or the replication strategy is unknown.
    pub fn replication(&self) -> Result<Replication> {
        let mut all = self.schema().iter().filter_map(|one| replication_of(one));
        let options = all
            .next()
            .context("no statement of the export contains the replication of the keyspace")?;
        Replication::parse(&options)
    }

    /// Returns the exported nodes as ring members, with meaningless addresses.
    pub fn members(&self) -> Vec<NodeInfo> {
        self.nodes.iter().map(ExportedNode::member).collect()
    }

    pub fn formats(&self) -> BTreeSet<&str> {
        let nodes = self.nodes.iter();
        let sstables = nodes.flat_map(|node| &node.manifest.tables).flat_map(|t| &t.sstables);
        sstables.map(|sstable| format_of(&sstable.prefix)).collect()
    }

    fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        table_definitions::check_keyspace(&self.keyspace)?;
        let first = self.nodes.first().context("the export contains no node")?;
        // Limited sizes cannot overflow when other code adds them up.
        let tables = self.nodes.iter().flat_map(|node| &node.manifest.tables);
        let sizes = tables.flat_map(files).map(|file| file.bytes);
        let sum = sizes.fold(0u64, u64::saturating_add);
        ensure!(
            sum <= ALL_BYTES_MAX,
            "the files of the export are together larger than {} TiB",
            ALL_BYTES_MAX >> 40
        );
        let mut names = BTreeSet::new();
        let mut tokens = BTreeSet::new();
        for node in &self.nodes {
            ensure!(names.insert(&node.node), "{:?} occurs twice", node.node);
            let of = || format!("check the part of {:?}", node.node);
            node.check(self).with_context(of)?;
            let twice = node.tokens.iter().find(|token| !tokens.insert(**token));
            ensure!(
                twice.is_none(),
                "two nodes of the export have the token {twice:?}"
            );
            let is_like_the_first = node.manifest.schema == first.manifest.schema
                && node.manifest.tables.iter().map(|table| &table.name).eq(first
                    .manifest
                    .tables
                    .iter()
                    .map(|table| &table.name));
            ensure!(
                is_like_the_first,
                "{}: the tables differ from the tables of the first part",
                of()
            );
        }
        self.replication()?;
        let tables = self.tables();
        for statement in &first.manifest.schema {
            check_statement(statement, &self.keyspace, &tables)?;
        }
        Ok(())
    }
}

impl ExportedNode {
    pub fn bytes(&self) -> u64 {
        self.manifest.tables.iter().flat_map(files).map(|file| file.bytes).sum()
    }

    pub(super) fn member(&self) -> NodeInfo {
        NodeInfo {
            name: self.node.clone(),
            host: String::new(),
            address: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            datacenter: self.datacenter.clone(),
            rack: self.rack.clone(),
            tokens: self.tokens.clone(),
            pid: None,
            version: self.manifest.version.clone(),
        }
    }

    fn check(&self, export: &Export) -> Result<()> {
        check_part(&self.node)?;
        ensure!(!self.tokens.is_empty(), "the part has no tokens");
        let manifest = &self.manifest;
        manifest.check_format()?;
        ensure!(
            manifest.name == export.name && manifest.keyspace == export.keyspace,
            "the part belongs to the snapshot {:?} of keyspace {:?}, but the export belongs to the \
             snapshot {:?} of keyspace {:?}",
            manifest.name,
            manifest.keyspace,
            export.name,
            export.keyspace
        );
        let mut names = BTreeSet::new();
        for table in &manifest.tables {
            let of = || format!("the table {:?}", table.name);
            ensure!(names.insert(&table.name), "{} occurs twice", of());
            check_table(table).with_context(of)?;
        }
        ensure!(!names.is_empty(), "the part contains no table");
        let found = manifest.fingerprint().to_string();
        ensure!(
            found == self.fingerprint,
            "the files of the part have the fingerprint {found}, but the export records {:?}",
            self.fingerprint
        );
        Ok(())
    }
}

/// Returns the files of a table's SSTables and indexes.
pub(super) fn files(table: &TableRecord) -> impl Iterator<Item = &File> {
    let sstables = table.sstables.iter().flat_map(|sstable| &sstable.files);
    sstables.chain(&table.indexes)
}

fn check_table(table: &TableRecord) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    ensure!(
        !table.name.is_empty()
            && table.name.len() <= NAME_BYTES_MAX
            && table.name.chars().all(plain),
        "table names may contain only letters, digits and '_'"
    );
    let is_id = table.id.len() == 32 && table.id.chars().all(|c| c.is_ascii_hexdigit());
    ensure!(is_id, "{:?} is not a valid table id", table.id);
    let mut names = BTreeSet::new();
    for file in files(table) {
        check_file(&file.name)?;
        ensure!(
            names.insert(&file.name),
            "the file {:?} occurs twice",
            file.name
        );
        ensure!(
            file.crc32.is_some(),
            "the file {:?} has no checksum",
            file.name
        );
    }
    for sstable in &table.sstables {
        let other = sstable.files.iter().find(|file| {
            let rest = file.name.strip_prefix(&sstable.prefix);
            sstable.prefix.is_empty() || rest.is_none_or(|rest| rest.is_empty())
        });
        if let Some(other) = other {
            bail!(
                "the file {:?} is not a file of the SSTable {:?}",
                other.name,
                sstable.prefix
            );
        }
        let named = |end: &str| {
            let name = format!("{}{end}", sstable.prefix);
            sstable.files.iter().find(|file| file.name == name)
        };
        let (data, digest) = (named(DATA), named(DIGEST));
        let is_whole =
            digest.is_some() && data.is_some_and(|data| data.bytes == sstable.data_bytes);
        ensure!(is_whole, "the SSTable {:?} is incomplete", sstable.prefix);
    }
    Ok(())
}

/// Refuses names of files outside a table's folder and its index folders.
fn check_file(name: &str) -> Result<()> {
    let file = match name.split_once('/') {
        None => name,
        Some((index, file)) => {
            let is_index = index.strip_prefix('.').is_some_and(|index| !index.is_empty());
            ensure!(is_index && is_plain(index), "{name:?} is not an index file");
            file
        }
    };
    ensure!(
        is_plain(file) && !file.starts_with('.') && file.contains('-'),
        "{name:?} is not the name of an SSTable file"
    );
    Ok(())
}

fn unreadable(fault: &CqlMistake, statement: &str) -> anyhow::Error {
    let shown: String = statement.chars().take(80).collect();
    anyhow!(
        "cassay cannot parse the statement {shown:?} of the export: {}",
        fault.describe(statement)
    )
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(plain)
        && !name.contains("..")
}

fn check_part(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    ensure!(
        !name.is_empty()
            && name.len() <= NAME_BYTES_MAX
            && name.chars().all(plain)
            && !name.starts_with('.')
            && name != FILE,
        "{name:?} is not a valid node name"
    );
    Ok(())
}

/// Parses `replication = {…}` in a statement. Returns `None` if the option is absent or invalid.
fn replication_of(statement: &str) -> Option<BTreeMap<String, String>> {
    let tokens = cql::tokens::tokens(statement).ok()?;
    let is = |at: usize, kind: TokenKind, text: &str| {
        tokens.get(at).is_some_and(|token| token.kind == kind && token.text == text)
    };
    let mut at = (0..tokens.len()).find(|at| is(*at, TokenKind::Word, "replication"))? + 3;
    let mut options = BTreeMap::new();
    while let [key, colon, value] = tokens.get(at..at + 3)?
        && colon.text == ":"
    {
        options.insert(key.text.clone(), value.text.clone());
        at += 3;
        if !is(at, TokenKind::Symbol, ",") {
            break;
        }
        at += 1;
    }
    Some(options)
}

/// Refuses statements that do anything other than create the keyspace, or define types, exported
/// tables or indexes in it.
fn check_statement(statement: &str, keyspace: &str, tables: &[&str]) -> Result<()> {
    let read = cql::tokens::tokens(statement).map_err(|fault| unreadable(&fault, statement));
    let is_end = |token: &Token| token.kind == TokenKind::Symbol && token.text == ";";
    let is_one = !read?.iter().any(is_end);
    let changes = changes(statement, None).map_err(|fault| unreadable(&fault, statement))?;
    let is_ours = |change: &Change| {
        let Some(object) = change.object.as_ref().filter(|one| one.keyspace == keyspace) else {
            return false;
        };
        let name = object.name.as_deref();
        let is_of_table = name.is_some_and(|name| tables.contains(&name));
        match (change.act, &change.sort) {
            (Act::Create, Sort::Keyspace | Sort::Type) => true,
            (Act::Create, Sort::Table | Sort::Index(_)) | (Act::Alter, Sort::Table) => is_of_table,
            _ => false,
        }
    };
    if is_one && !changes.is_empty() && changes.iter().all(is_ours) {
        return Ok(());
    }
    let shown: String = statement.chars().take(80).collect();
    bail!(
        "the statement {shown:?} of the export does not create the keyspace {keyspace}, or a type, \
         exported table or index in it\nhint: an import executes no other statements, so export \
         the data again"
    )
}

#[cfg(test)]
pub(super) mod tests;
