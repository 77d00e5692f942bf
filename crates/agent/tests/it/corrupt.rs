//! Tests of a fault that silently corrupts files.

use crate::hosts::{LIMIT, shell};
use crate::volumes::{breaks, hosts, put};
use host::{FileStep, Host, Injection, Query, QueryAnswer};
use std::path::{Path, PathBuf};

const LOOK_BYTES: usize = 64;

/// Returns bytes of a file from the page cache and from disk.
fn look(host: &Host, path: &Path, at: usize) -> (Vec<u8>, Vec<u8>) {
    let sight = Query::Bytes {
        path: path.to_owned(),
        at: at as u64,
        bytes: LOOK_BYTES as u64,
    };
    match host.agent().see(sight).unwrap() {
        QueryAnswer::Bytes { cached, on_disk } => (cached.unwrap().0, on_disk.unwrap().0),
        other => panic!("{other:?}"),
    }
}

fn corrupt(path: &Path, at: u64, bytes: u64) -> Injection {
    let path = path.to_owned();
    Injection::DiskCorrupt { path, at, bytes }
}

fn content() -> Vec<u8> {
    (0..3_000_001).map(|at| (at % 253) as u8).collect()
}

#[test]
fn rotten_bytes_are_read_until_they_are_healed() {
    let Some((_root, hosts)) = hosts("corrupt", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    let bytes = content();
    let path = put(host, "file", &bytes);
    // The corrupted bytes are in the middle of a block, in many blocks, and at the end of the file.
    for (at, count) in [(1_000_001, 64), (5000, 1 << 20), (2_999_937, 64)] {
        let whole = |at: usize| bytes[at..at + LOOK_BYTES].to_vec();
        let broken = breaks(host, corrupt(&path, at as u64, count));
        let rotten: Vec<u8> = whole(at).iter().map(|byte| !byte).collect();
        assert_eq!(look(host, &path, at), (rotten.clone(), rotten), "{at}");
        let beside = whole(at - LOOK_BYTES);
        assert_eq!(look(host, &path, at - LOOK_BYTES), (beside.clone(), beside));
        let healed = host.agent().heal(broken).unwrap();
        assert!(healed.became.unwrap().ends_with("has its original bytes"));
        assert_eq!(host.agent().read(&path).unwrap(), bytes);
    }
    for (at, count) in [(3_000_000, 2), (0, 0), (0, 2 << 20), (u64::MAX, 1)] {
        let refused = host.agent().inject(corrupt(&path, at, count), LIMIT);
        assert!(refused.is_err(), "{at} {count}");
    }
    assert_eq!(host.agent().read(&path).unwrap(), bytes);
}

/// Corrupts a file, applies `change`, heals the fault, and returns the remark on the healing.
fn changed(host: &Host, path: &Path, change: impl FnOnce()) -> String {
    let broken = breaks(host, corrupt(path, 1000, 64));
    change();
    host.agent().heal(broken).unwrap().became.unwrap()
}

#[test]
fn healing_finds_the_file_wherever_it_is_and_touches_no_other() {
    let Some((_root, hosts)) = hosts("moved", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    let bytes = content();
    let path = put(host, "file", &bytes);
    let below = |name: &str| -> PathBuf { host.folder().join("folder").join(name) };
    let rename = vec![
        FileStep::Folder(host.folder().join("folder")),
        FileStep::Rename {
            from: path.clone(),
            to: below("moved"),
        },
    ];
    let became = changed(host, &path, || host.agent().change(rename).unwrap());
    assert!(
        became.contains("folder/moved has its original bytes"),
        "{became}"
    );
    assert_eq!(host.agent().read(&below("moved")).unwrap(), bytes);

    // Simulates a snapshot, which keeps files that a compaction deletes.
    let link = format!("cd {}/folder; ln moved link", host.folder().display());
    assert!(shell(host, &link).status.success());
    let remove = |path: PathBuf| host.agent().change(vec![FileStep::Remove(path)]).unwrap();
    let became = changed(host, &below("moved"), || remove(below("moved")));
    assert!(
        became.contains("folder/link has its original bytes"),
        "{became}"
    );
    assert_eq!(host.agent().read(&below("link")).unwrap(), bytes);

    let written = vec![9; bytes.len()];
    let became = changed(host, &below("link"), || {
        put(host, "folder/link", &written);
    });
    assert!(became.contains("0 of 1 pieces"), "{became}");
    assert_eq!(host.agent().read(&below("link")).unwrap(), written);

    // At the healing, another file has the blocks and the inode number of the corrupted file.
    let mut other = PathBuf::new();
    let became = changed(host, &below("link"), || {
        remove(below("link"));
        other = put(host, "other", &[5; 90_000_000]);
    });
    assert!(became.contains("in the meantime"), "{became}");
    host.drop_page_cache().unwrap();
    let line = format!("tr -d '\\005' < {} | wc -c", other.display());
    assert_eq!(shell(host, &line).text, "0", "it is what was written");
}
