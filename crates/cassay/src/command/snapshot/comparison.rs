//! Formats the comparison of a snapshot with its restored or imported data, as text and as JSON.

use crate::args::Common;
use crate::terminal;
use ::cluster::{ComparedTable, Comparison, Export, ImportResult};
use cassandra::TableContents;
use measure::number::{bytes, count};
use serde_json::{Value, json};
use std::path::Path;

/// Prints the result of an export.
pub fn show_export(export: &Export, to: &Path, common: &Common) {
    let node = |node: &::cluster::ExportedNode| {
        json!({
            "node": node.node,
            "datacenter": node.datacenter,
            "rack": node.rack,
            "tokens": node.tokens,
            "bytes": node.bytes(),
            "fingerprint": node.fingerprint,
            "tables": node.contents.iter().map(table_json).collect::<Vec<_>>(),
        })
    };
    if common.json {
        return terminal::json(&json!({
            "name": export.name,
            "keyspace": export.keyspace,
            "folder": to.display().to_string(),
            "cassandra": export.version,
            "bytes": export.bytes(),
            "nodes": export.nodes.iter().map(node).collect::<Vec<_>>(),
        }));
    }
    let mut text = format!(
        "{}: {} of {} in {}\n",
        export.name,
        bytes(export.bytes()),
        export.keyspace,
        to.display()
    );
    for node in &export.nodes {
        text += &format!("  {}: fingerprint {}\n", node.node, node.fingerprint);
        for (table, contents) in &node.contents {
            text += &format!("    {table}: {}\n", words(contents));
        }
    }
    terminal::data(&text);
}

/// Prints the result of an import in the same form as the result of an export.
pub fn show_import(imported: &ImportResult, common: &Common) {
    if common.json {
        return terminal::json(&json!({
            "name": imported.name,
            "parts": imported.parts,
            "left_out": imported.left_out,
            "comparison": to_json(&imported.comparison),
        }));
    }
    let mut data = format!("imported {}\n", imported.name);
    for (node, part) in &imported.parts {
        data += &format!("  {node}: the data of {part}\n");
    }
    for (part, same) in &imported.left_out {
        data += &format!(
            "cassay did not import the data of {part}, because {same} replicated the same ranges: \
             rows that only {part} had are missing\n"
        );
    }
    data += &text(&imported.comparison, "the export");
    terminal::data(&data);
    let name = &imported.name;
    terminal::say(&format!(
        "to load the snapshot into its tables, run `cassay snapshot restore {name}`"
    ));
}

/// Formats the fingerprints of the nodes, and the contents of each table in the two data sets. If
/// the two contents are equal, the text contains them once.
pub fn text(all: &Comparison, origin: &str) -> String {
    let mut text = String::new();
    for (node, was, is) in &all.fingerprints {
        let is_same = if was == is { "equal to" } else { "NOT that of" };
        text += &format!("  {node}: fingerprint {is}, {is_same} {origin} ({was})\n");
        for row in all.rows.iter().filter(|row| row.node == *node) {
            text += &table_sentence(row, origin);
        }
    }
    text
}

fn table_sentence(row: &ComparedTable, origin: &str) -> String {
    let here = format!("    {}: {}\n", row.table, words(&row.is));
    if row.was == row.is {
        return here;
    }
    here + &format!("      {origin}: {}\n", words(&row.was))
}

fn words(contents: &TableContents) -> String {
    let known = |number: Option<String>| number.unwrap_or_else(|| "unknown".to_owned());
    let of_format = |(name, count): (&String, &u64)| format!("{count} of {name}");
    let formats: Vec<String> = contents.formats.iter().map(of_format).collect();
    let by_level = |levels: &Vec<u64>| format!(" (by level {levels:?})");
    let levels = contents.levels.as_ref().map(by_level).unwrap_or_default();
    format!(
        "{} rows, {} bytes per row, {} SSTables{levels}, compression ratio {}, format {}",
        known(contents.rows.map(count)),
        known(contents.bytes_per_row().map(|bytes| format!("{bytes:.1}"))),
        contents.sstables,
        known(contents.compression_ratio().map(|ratio| format!("{ratio:.3}"))),
        if formats.is_empty() {
            "none".to_owned()
        } else {
            formats.join(", ")
        }
    )
}

/// Formats a comparison as JSON.
pub fn to_json(all: &Comparison) -> Value {
    let row = |row: &ComparedTable| {
        json!({
            "node": row.node,
            "table": row.table,
            "equal": row.was == row.is,
            "was": contents_json(&row.was),
            "is": contents_json(&row.is),
        })
    };
    let print = |(node, was, is): &(String, String, String)| {
        let is_equal = was == is;
        json!({"node": node, "equal": is_equal, "was": was, "is": is})
    };
    json!({
        "equal": all.is_equal(),
        "fingerprints": all.fingerprints.iter().map(print).collect::<Vec<_>>(),
        "tables": all.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn table_json((table, contents): (&String, &TableContents)) -> Value {
    let mut all = contents_json(contents);
    all["table"] = json!(table);
    all
}

fn contents_json(contents: &TableContents) -> Value {
    json!({
        "rows": contents.rows,
        "partitions": contents.partitions,
        "data_bytes": contents.data_bytes,
        "bytes_per_row": contents.bytes_per_row(),
        "sstables": contents.sstables,
        "levels": contents.levels,
        "compression_ratio": contents.compression_ratio(),
        "formats": contents.formats,
    })
}
