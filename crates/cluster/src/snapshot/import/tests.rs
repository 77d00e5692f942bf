//! Tests of parts that move from one node's host to another, some of them manipulated on the way.

use super::*;
use crate::snapshot::export as out;
use crate::snapshot::export_json::tests::{SCHEMA, export};
use cassandra::snapshot::sstables::{self, DATA, DIGEST};
use std::os::unix::fs::symlink;

fn write_sstable(folder: &Path, prefix: &str, data: &[u8]) {
    std::fs::create_dir_all(folder).unwrap();
    let digest = crc32fast::hash(data).to_string();
    for (name, bytes) in [(DATA, data), (DIGEST, digest.as_bytes()), ("TOC.txt", b"x")] {
        std::fs::write(folder.join(format!("{prefix}{name}")), bytes).unwrap();
    }
}

fn files_of<'a>(host: &'a host::Agent, folder: &'a Path) -> NodeFiles<'a> {
    NodeFiles {
        name: "node1",
        host,
        folder,
        version: "5.0.8",
        agent: None,
    }
}

/// Creates a node's folder with a snapshot of one table with an index. Returns the folder's agent
/// and the manifest.
fn node(root: &Path) -> (host::Agent, Manifest) {
    let host = agent::in_thread(root).unwrap();
    let folder = manifest::folder(root, "s");
    let table = manifest::table_folder(&folder, "k", "t");
    // The file has several pieces, the last of them shorter.
    write_sstable(
        &table,
        "nb-1-big-",
        &vec![7; 2 * host::files::PIECE_BYTES + 5],
    );
    write_sstable(&table, "nb-2-big-", b"");
    write_sstable(&table.join(".by_city"), "nb-1-big-", b"an index");
    let mut manifest = Manifest::new("s", "k", "5.0.8", SCHEMA.map(str::to_owned).to_vec());
    let mut files = sstables::scan(&host, &table).unwrap();
    checksums::seal(&host, &table, &mut files).unwrap();
    manifest.tables.push(TableRecord::new("t".into(), "0f".repeat(16), None, files));
    host.change(vec![manifest.write(&folder).unwrap()]).unwrap();
    (host, manifest)
}

/// Exports a snapshot of one table, and returns the description of the node's part.
fn brought_out(root: &Path, to: &Path) -> ExportedNode {
    let (host, manifest) = node(root);
    let place = files_of(&host, root);
    let part = with_progress(1, &mut |_| (), |counter| {
        out::bring(&place, &manifest, to, counter)
    });
    let (manifest, contents) = part.unwrap();
    let mut part = export(&[("node1", &[1])]).nodes.remove(0);
    part.fingerprint = manifest.fingerprint().to_string();
    part.contents = contents;
    part.manifest = manifest;
    part
}

fn brought_in(
    (host, root): (&host::Agent, &Path),
    part: &ExportedNode,
    from: &Path,
) -> Result<contents::NodeContents> {
    let place = files_of(host, root);
    let folder = Folder::open(from)?;
    folder.check_sizes(part)?;
    let brought = with_progress(1, &mut |_| (), |counter| {
        bring(&place, part, &folder, "new", counter)
    });
    let (print, contents) = brought?;
    assert_eq!(print, part.fingerprint);
    Ok(contents)
}

#[test]
fn a_part_arrives_as_it_left_and_is_a_snapshot_of_its_new_name() {
    let [here, between, there] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let part = brought_out(here.path(), between.path());
    assert!(part.manifest.tables.iter().flat_map(files).all(|file| file.crc32.is_some()));
    let host = agent::in_thread(there.path()).unwrap();
    let to = (&host, there.path());
    let contents = brought_in(to, &part, between.path()).unwrap();
    assert_eq!(contents, part.contents);
    let making = manifest::folder_in_making(there.path(), "new");
    let read = Manifest::read(&host, &making).unwrap();
    assert_eq!(
        (read.name.as_str(), &read.tables),
        ("new", &part.manifest.tables)
    );
    let file = |root: &Path| std::fs::read(root.join("k/t/.by_city/nb-1-big-Data.db")).unwrap();
    assert_eq!(file(&making), file(&manifest::folder(here.path(), "s")));
    // The second import replaces the leftover of a killed command.
    brought_in(to, &part, between.path()).unwrap();
}

#[test]
fn a_file_that_is_damaged_where_it_was_is_not_exported() {
    let [here, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (host, manifest) = node(here.path());
    let table = manifest::table_folder(&manifest::folder(here.path(), "s"), "k", "t");
    std::fs::write(table.join("nb-2-big-TOC.txt"), "y").unwrap();
    let place = files_of(&host, here.path());
    let part = with_progress(1, &mut |_| (), |counter| {
        out::bring(&place, &manifest, to.path(), counter)
    });
    let said = format!("{:#}", part.unwrap_err());
    assert!(said.contains("nb-2-big-TOC.txt is damaged"), "{said}");
}

#[test]
fn a_file_that_is_damaged_missing_longer_or_a_link_is_named() {
    let [here, between, there, outside] = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let part = brought_out(here.path(), between.path());
    let secret = outside.path().join("secret");
    let path = between.path().join("node1/t/nb-1-big-TOC.txt");
    let host = agent::in_thread(there.path()).unwrap();
    let to = (&host, there.path());
    let why = || match brought_in(to, &part, between.path()) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    std::fs::write(&path, "y").unwrap();
    assert!(why().contains("nb-1-big-TOC.txt is damaged"), "{}", why());
    std::fs::write(&path, "xx").unwrap();
    assert!(
        why().contains("TOC.txt has 2 bytes instead of 1"),
        "{}",
        why()
    );
    std::fs::remove_file(&path).unwrap();
    assert!(why().contains("nb-1-big-TOC.txt"), "{}", why());
    // The import refuses a link even to a file of the same size and content.
    std::fs::write(&secret, "x").unwrap();
    symlink(&secret, &path).unwrap();
    assert!(why().contains("cassay follows no links in it"), "{}", why());
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(why().contains("is not a file"), "{}", why());
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "x").unwrap();
    assert_eq!(why(), "nothing");
    let table = between.path().join("node1/t");
    std::fs::rename(&table, outside.path().join("t")).unwrap();
    symlink(outside.path().join("t"), &table).unwrap();
    assert!(why().contains("cassay follows no links in it"), "{}", why());
}

#[test]
fn unreadable_formats_are_refused_before_anything_is_copied() {
    let with = |prefix: &str| {
        let mut export = export(&[("node1", &[1])]);
        export.nodes[0].manifest.tables[0].sstables[0].prefix = format!("{prefix}-1-big-");
        export
    };
    for (format, version, is_read) in [
        ("nb", "5.0.8", true),
        ("oa", "5.0.8", true),
        ("da", "5.0.8", true),
        ("me", "4.1.10", true),
        ("nb", "4.1.10", true),
        ("oa", "4.1.10", false),
        ("da", "4.1.10", false),
        ("db", "5.0.8", false),
        ("pa", "5.0.8", false),
        ("lb", "5.0.8", false),
        // For an unknown release line, the check is left to the server.
        ("pa", "7.0.0", true),
    ] {
        let found = formats_fit(&with(format), version);
        assert_eq!(found.is_ok(), is_read, "{format} {version}");
        if let Err(error) = found {
            let said = error.to_string();
            assert!(
                said.contains(&format!("format {format}")) && said.contains(version),
                "{said}"
            );
        }
    }
}
