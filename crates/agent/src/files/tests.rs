//! Tests of files through an agent in a thread of the test, over a real connection.

use host::files::{PIECE_BYTES, SUM_BYTES};
use host::{Agent, Bytes, FileStep, From};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns an agent, and the folder that it may access.
fn agent() -> (tempfile::TempDir, PathBuf, Agent) {
    let root = tempfile::tempdir().unwrap();
    let given = root.path().join("given");
    std::fs::create_dir(&given).unwrap();
    let agent = crate::in_thread(&given).unwrap();
    (root, given, agent)
}

fn names(agent: &Agent, folder: &Path) -> Vec<String> {
    let entries = agent.list(folder, None).unwrap().unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

#[test]
fn files_are_written_listed_and_read_however_large_they_are() {
    let (_root, given, agent) = agent();
    let large: Vec<u8> = (0..3 * PIECE_BYTES + 7).map(|n| (n * n % 251) as u8).collect();
    let folder = given.join("a/b");
    let secret = folder.join("secret");
    agent
        .change(vec![
            FileStep::Folder(folder.clone()),
            FileStep::write(folder.join("large"), large.clone()),
            FileStep::write(folder.join("x.crc"), "12\n"),
            FileStep::Write {
                path: secret.clone(),
                bytes: Bytes(b"\xff".to_vec()),
                is_private: true,
            },
        ])
        .unwrap();
    assert_eq!(std::fs::read(folder.join("large")).unwrap(), large);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&secret).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(agent.read(&folder.join("large")).unwrap(), large);
    assert_eq!(agent.read(&secret).unwrap(), b"\xff");
    let said = format!("{:#}", agent.read(&folder.join("absent")).unwrap_err());
    assert!(said.contains("absent"), "{said}");

    let entries = agent.list(&folder, Some(".crc")).unwrap().unwrap();
    let brief: Vec<_> = entries
        .iter()
        .map(|one| (one.name.as_str(), one.bytes, one.text.as_deref()))
        .collect();
    let bytes = large.len() as u64;
    let expected = [
        ("large", bytes, None),
        ("secret", 1, None),
        ("x.crc", 3, Some("12\n")),
    ];
    assert_eq!(brief, expected);
    assert!(agent.list(&given.join("a"), None).unwrap().unwrap()[0].is_folder);
    assert_eq!(agent.list(&given.join("absent"), None).unwrap(), None);

    // The step replaces the file by a shorter one, which must not contain old bytes.
    let again = FileStep::write(folder.join("large"), "short");
    agent.change(vec![again]).unwrap();
    assert_eq!(agent.read(&folder.join("large")).unwrap(), b"short");
}

#[test]
fn a_growing_file_is_followed_and_a_replaced_one_is_another() {
    let (_root, given, agent) = agent();
    let path = given.join("log");
    assert_eq!(agent.piece(&path, From::Byte(0)).unwrap(), None);
    std::fs::write(&path, "one\n").unwrap();
    let first = agent.piece(&path, From::Byte(0)).unwrap().unwrap();
    assert_eq!(
        (&first.bytes.0[..], first.at, first.size),
        (&b"one\n"[..], 0, 4)
    );
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let second = agent.piece(&path, From::Byte(4)).unwrap().unwrap();
    assert_eq!(
        (&second.bytes.0[..], second.id.inode),
        (&b"two\n"[..], first.id.inode)
    );
    let behind = agent.piece(&path, From::Byte(99)).unwrap().unwrap();
    assert!(behind.bytes.0.is_empty() && behind.size == 8);
    let end = agent.piece(&path, From::End(4)).unwrap().unwrap();
    assert_eq!((&end.bytes.0[..], end.at), (&b"two\n"[..], 4));
    assert_eq!(agent.piece(&path, From::End(99)).unwrap().unwrap().at, 0);
    std::fs::rename(&path, given.join("log.0")).unwrap();
    std::fs::write(&path, "new").unwrap();
    let other = agent.piece(&path, From::Byte(8)).unwrap().unwrap();
    assert_ne!(other.id.inode, first.id.inode);
    assert_eq!(agent.list(&given, None).unwrap().unwrap()[1].id, other.id);
}

/// The names do not fit into one message, in either direction.
#[test]
fn a_tree_of_many_files_is_linked_listed_cleared_and_renamed() {
    let (_root, given, agent) = agent();
    let (from, to) = (given.join("from"), given.join("making"));
    std::fs::create_dir_all(from.join(".index")).unwrap();
    let mut wanted: Vec<String> = (0..3000).map(|n| format!("{n:0250}")).collect();
    wanted.insert(0, ".index/file".to_owned());
    for name in &wanted {
        std::fs::write(from.join(name), name).unwrap();
    }
    std::fs::write(from.join("manifest"), "stays here").unwrap();
    let step = FileStep::Link {
        from: from.clone(),
        to: to.clone(),
        names: wanted.clone(),
    };
    agent.change(vec![step]).unwrap();
    let found = names(&agent, &to);
    assert_eq!(found[1..], wanted[1..]);
    assert_eq!(found[0], ".index");
    let sums = agent.sums(&to, &wanted).unwrap();
    let expected: Vec<u32> = wanted.iter().map(|name| crc32fast::hash(name.as_bytes())).collect();
    assert_eq!(sums, expected);

    let whole = given.join("whole");
    let rename = FileStep::Rename {
        from: to.clone(),
        to: whole.clone(),
    };
    let clear = FileStep::Clear {
        folder: whole.clone(),
        but: vec![".index".to_owned(), format!("{:0250}", 7)],
    };
    agent.change(vec![rename, clear]).unwrap();
    assert_eq!(names(&agent, &whole), [".index"], "only folders are kept");
    let gone = [whole.clone(), from.clone(), to, given.join("absent/x")];
    agent.change(gone.map(FileStep::Remove).to_vec()).unwrap();
    assert_eq!(names(&agent, &given), ["agents"]);
    let clear = |folder: &str| FileStep::Clear {
        folder: given.join(folder),
        but: Vec::new(),
    };
    agent.change(vec![clear("absent")]).unwrap();
}

#[test]
fn linked_files_of_a_tree_survive_and_replace_it() {
    let (_root, given, agent) = agent();
    let (data, kept) = (given.join("data"), given.join("kept/data"));
    std::fs::create_dir_all(data.join("shop/orders/backups")).unwrap();
    for name in ["shop/orders/nb-1-big-Data.db", "shop/lock"] {
        std::fs::write(data.join(name), name).unwrap();
    }
    let link = |from: &Path, to: &Path| FileStep::LinkTree {
        from: from.to_owned(),
        to: to.to_owned(),
    };
    agent.change(vec![link(&data, &kept)]).unwrap();
    std::fs::remove_file(data.join("shop/lock")).unwrap();
    std::fs::write(data.join("shop/orders/oa-2-big-Data.db"), "newer").unwrap();
    let swap = vec![
        FileStep::Remove(data.clone()),
        FileStep::Rename {
            from: kept.clone(),
            to: data.clone(),
        },
    ];
    agent.change(swap).unwrap();
    assert_eq!(names(&agent, &data.join("shop")), ["lock", "orders"]);
    assert_eq!(
        names(&agent, &data.join("shop/orders")),
        ["backups", "nb-1-big-Data.db"]
    );
    assert_eq!(agent.read(&data.join("shop/lock")).unwrap(), b"shop/lock");

    let into_itself = agent.change(vec![link(&data, &data.join("shop/kept"))]);
    let said = format!("{:#}", into_itself.unwrap_err());
    assert!(
        said.contains("the second folder is below the first"),
        "{said}"
    );
    let absent = agent.change(vec![link(&given.join("absent"), &kept)]);
    let said = format!("{:#}", absent.unwrap_err());
    assert!(
        said.contains("absent to") && said.contains("No such file"),
        "{said}"
    );
}

#[test]
fn a_failed_step_is_named_and_later_steps_are_not_done() {
    let (_root, given, agent) = agent();
    let link = FileStep::Link {
        from: given.clone(),
        to: given.join("to"),
        names: vec!["absent".to_owned()],
    };
    let later = FileStep::write(given.join("later"), "x");
    let said = format!("{:#}", agent.change(vec![link, later]).unwrap_err());
    assert!(
        said.contains("absent to") && said.contains("No such file"),
        "{said}"
    );
    assert!(!given.join("later").exists());
}

#[test]
fn a_file_is_summed_over_several_answers() {
    let (_root, given, agent) = agent();
    let mut file = std::fs::File::create(given.join("large")).unwrap();
    let block: Vec<u8> = (0..1 << 20).map(|n: u32| (n % 253) as u8).collect();
    let mut hasher = crc32fast::Hasher::new();
    for part in (0..=SUM_BYTES >> 20).map(|_| &block[..]).chain([&block[..77]]) {
        std::io::Write::write_all(&mut file, part).unwrap();
        hasher.update(part);
    }
    for name in ["empty", "small"] {
        std::fs::write(given.join(name), name.strip_prefix("empty").unwrap_or(name)).unwrap();
    }
    let names = ["small", "large", "empty", "small"].map(str::to_owned);
    let small = crc32fast::hash(b"small");
    let expected = [small, hasher.finalize(), 0, small];
    assert_eq!(agent.sums(&given, &names).unwrap(), expected);
}

#[test]
fn files_of_others_are_out_of_reach() {
    let (root, given, agent) = agent();
    let outside = root.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "theirs").unwrap();
    std::os::unix::fs::symlink(&outside, given.join("way")).unwrap();
    let ways = [outside.clone(), given.join("../outside"), given.join("way")];
    for way in ways {
        let file = way.join("file");
        let link = |from: &Path, to: &Path, name: &str| FileStep::Link {
            from: from.to_owned(),
            to: to.to_owned(),
            names: vec![name.to_owned()],
        };
        let steps = [
            FileStep::Folder(way.join("new")),
            FileStep::write(file.clone(), "ours"),
            FileStep::Append {
                path: file.clone(),
                bytes: Bytes(b"ours".to_vec()),
            },
            link(&way, &given, "file"),
            link(&given, &way, "file"),
            link(&given, &given, "../outside/file"),
            FileStep::LinkTree {
                from: way.clone(),
                to: given.join("theirs"),
            },
            FileStep::LinkTree {
                from: given.join("agents"),
                to: way.join("ours"),
            },
            FileStep::Rename {
                from: file.clone(),
                to: given.join("file"),
            },
            FileStep::Rename {
                from: given.join("agents"),
                to: way.join("agents"),
            },
            FileStep::Clear {
                folder: way.clone(),
                but: Vec::new(),
            },
            FileStep::Remove(file.clone()),
        ];
        for step in steps {
            assert!(agent.change(vec![step.clone()]).is_err(), "{step:?}");
        }
        assert!(agent.list(&way, None).is_err());
        assert!(agent.piece(&file, From::Byte(0)).is_err());
        assert!(agent.sums(&way, &["file".to_owned()]).is_err());
        assert!(agent.space(&way).is_err() && agent.device_bytes(&way).is_err());
        assert!(agent.uncache(&way).is_err());
    }
    let up = ["../outside/file".to_owned()];
    assert!(agent.sums(&given, &up).is_err());
    assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"theirs");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    // The agent may remove a symbolic link, but must not follow it.
    agent.uncache(&given).unwrap();
    agent.change(vec![FileStep::Remove(given.join("way"))]).unwrap();
    let itself = agent.change(vec![FileStep::Remove(given.clone())]);
    assert!(itself.is_err() && given.exists() && outside.exists());
}

#[test]
fn a_reader_gives_a_file_out_in_any_pieces() {
    let (_root, given, agent) = agent();
    let text: Vec<u8> = (0..PIECE_BYTES + 10).map(|n| (n % 250) as u8).collect();
    std::fs::write(given.join("file"), &text).unwrap();
    let path = given.join("file");
    let (mut reader, mut found) = (agent.reader(&path, 0), Vec::new());
    let mut buffer = [0; 4099];
    loop {
        let count = reader.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        found.extend_from_slice(&buffer[..count]);
    }
    assert_eq!(found, text);
    let space = agent.space(&given).unwrap();
    assert!(space.total_bytes >= space.available_bytes);
    agent.device_bytes(&given).unwrap();
}
