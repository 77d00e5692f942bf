//! Tests the reader with logs that real nodes have written.
//!
//! `fixtures/` contains the logs that a Cassandra 5.0.8 wrote for a program of the Python driver
//! (3.30, protocol version 5). They are a full query log, a binary audit log (of three runs) and a
//! text audit log. The binary logs are cut off at the end of their records, because the server
//! makes their files 80 MiB long. The program creates tables, writes 20 users, changes 5 users, and
//! reads 30 users. It writes 4 batches of 3 events and one batch of 2 counters. It inserts 3 users
//! if they do not exist, reads 13 events in pages of 5, and deletes a user. It also queries a
//! keyspace and a table whose names need quotes, truncates a table, and queries a column that does
//! not exist.

use crate::chronicle_file::{Queue, QueueEnd};
use crate::files::{self, left_out};
use crate::log_record::{Entry, Why};
use crate::recording::{Choice, Only, Recording};
use crate::transfer::UnpackError;
use crate::{log_record, program};
use cql::Consistency;
use expect_test::expect;
use flate2::read::GzDecoder;
use proptest::prelude::*;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::Stage;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let file = std::fs::File::open(path).expect("a fixture");
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).expect("a whole fixture");
    bytes
}

fn folder(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    let path = folder.path().to_owned();
    (folder, path)
}

fn read(files: &[(&str, &[u8])], choice: Choice) -> Recording {
    let (_held, path) = folder(files);
    files::read(&[("log".to_owned(), path)], choice).expect("a recording")
}

fn describe(recording: &Recording) -> String {
    let mut text = String::new();
    for kind in &recording.kinds {
        let _ = writeln!(
            text,
            "{} {} of {} statements",
            kind.operations, kind.name, kind.statements
        );
    }
    let _ = writeln!(text, "levels {:?}", recording.levels);
    let _ = writeln!(text, "keyspaces {:?}", recording.keyspaces);
    for (why, count) in &recording.left_out {
        let _ = writeln!(text, "{}", left_out(*why, *count));
    }
    text
}

#[test]
fn a_full_query_log_of_a_real_node_is_what_was_asked_of_it() {
    let bytes = fixture("full-query-log.cq4.gz");
    let recording = read(
        &[("20261126-13.cq4", &bytes), ("metadata.cq4t", b"x")],
        Choice::default(),
    );
    expect![[r#"
        23 insert-shop.users of 2 statements
        5 update-shop.users of 1 statements
        32 select-shop.users of 3 statements
        5 batch-shop.events of 3 statements
        1 batch-shop.hits of 1 statements
        4 select-shop.events of 2 statements
        1 delete-shop.users of 1 statements
        1 insert-Other.T of 1 statements
        1 select-Other.T of 1 statements
        levels {One: 30, Quorum: 1, LocalQuorum: 20, LocalOne: 22}
        keyspaces {"shop": 71, "Other": 2}
        6 left out: these requests define objects (CREATE, ALTER, DROP)
        1 left out: these requests empty tables, or grant and revoke permissions
        2 left out: these requests choose a keyspace (USE)
        14 left out: these requests use the server's own keyspaces, which drivers query
        2 left out: these requests fetch another page of an earlier read
    "#]]
    .assert_eq(&describe(&recording));
    assert_eq!(recording.logs[0].notes, Vec::<String>::new());
    let read = recording.logs[0].bytes;
    assert!(bytes.len() as u64 - read < 8, "{read}");
}

#[test]
fn values_are_the_bytes_that_were_bound() {
    let bytes = fixture("full-query-log.cq4.gz");
    let recording = Arc::new(read(&[("a.cq4", &bytes)], Choice::default()));
    let program = Arc::new(program(&recording, "recorded", &[]));
    let mut generator = program.generator(Stage::Main);
    let mut ids = Vec::new();
    for n in 0..recording.operations() {
        let operation = generator.begin(n);
        let statement = &program.statements()[usize::from(operation.statement)];
        if !statement.cql.starts_with("INSERT INTO shop.users (id, name, tags, note)") {
            continue;
        }
        assert_eq!(statement.consistency, Consistency::LocalQuorum);
        assert!(statement.client_timestamp && statement.prepared);
        let mut values = Vec::new();
        generator.append_values(&mut values);
        let (id, rest) = (&values[4..12], &values[12..]);
        ids.push(i64::from_be_bytes(id.try_into().expect("8 bytes")));
        if ids.len() == 8 {
            // The values are "name-7 é 😀", a list of two texts, and 300 bytes of zeros.
            let name = "name-7 é \u{1F600}".as_bytes();
            assert_eq!(&rest[..4], (name.len() as u32).to_be_bytes());
            assert_eq!(&rest[4..][..name.len()], name);
            assert_eq!(rest[rest.len() - 304..][..4], 300_u32.to_be_bytes());
        }
    }
    assert_eq!(ids, (0..20).collect::<Vec<i64>>());
}

#[test]
fn batches_are_offered_as_they_were_sent() {
    let bytes = fixture("full-query-log.cq4.gz");
    let recording = Arc::new(read(&[("a.cq4", &bytes)], Choice::default()));
    let program = Arc::new(program(&recording, "recorded", &[]));
    let mut generator = program.generator(Stage::Main);
    let mut batches = Vec::new();
    for n in 0..recording.operations() {
        let operation = generator.begin(n);
        let statement = &program.statements()[usize::from(operation.statement)];
        if let Some(kind) = statement.batch {
            let mut bytes = Vec::new();
            (0..generator.entries()).for_each(|at| generator.append_entry_values(at, &mut bytes));
            batches.push(format!("{kind:?} {} {}", generator.entries(), bytes.len()));
        }
    }
    // Each of the three events has two bigints and the text "what". The values of an event take 12
    // + 12 + 8 bytes.
    let expected = [
        "Unlogged 3 96",
        "Logged 3 96",
        "Unlogged 3 96",
        "Logged 3 96",
        "Counter 2 24",
    ];
    assert_eq!(batches, expected);
}

#[test]
fn an_audit_log_is_replayed_if_its_texts_contain_the_values() {
    let binary = read(&[("a.cq4", &fixture("audit.cq4.gz"))], Choice::default());
    expect![[r#"
        6 select-shop.users of 2 statements
        9 select-shop.events of 1 statements
        3 select-Other.T of 1 statements
        3 batch-shop.events of 1 statements
        levels {}
        keyspaces {"shop": 18, "Other": 3}
        18 left out: these requests define objects (CREATE, ALTER, DROP)
        3 left out: these requests empty tables, or grant and revoke permissions
        6 left out: these requests choose a keyspace (USE)
        189 left out: an audit log does not contain the values of these requests
        57 left out: these requests are parts of batches, which audit logs record incompletely
        3 left out: these requests failed
        27 left out: these requests execute no statement (logins, PREPARE)
    "#]]
    .assert_eq(&describe(&binary));
    let text = read(
        &[("audit.log", &fixture("audit.log.gz"))],
        Choice::default(),
    );
    expect![[r#"
        2 select-shop.users of 2 statements
        3 select-shop.events of 1 statements
        1 select-Other.T of 1 statements
        1 batch-shop.events of 1 statements
        levels {}
        keyspaces {"shop": 6, "Other": 1}
        6 left out: these requests define objects (CREATE, ALTER, DROP)
        1 left out: these requests empty tables, or grant and revoke permissions
        2 left out: these requests choose a keyspace (USE)
        63 left out: an audit log does not contain the values of these requests
        19 left out: these requests are parts of batches, which audit logs record incompletely
        1 left out: these requests failed
        9 left out: these requests execute no statement (logins, PREPARE)
    "#]]
    .assert_eq(&describe(&text));
}

#[test]
fn logs_of_several_nodes_are_merged_by_their_times() {
    let bytes = fixture("full-query-log.cq4.gz");
    let one = read(&[("a.cq4", &bytes)], Choice::default());
    let two = read(
        &[("n1/a.cq4", &bytes), ("n2/a.cq4", &bytes)],
        Choice::default(),
    );
    assert_eq!(two.operations(), 2 * one.operations());
    assert_eq!(two.logs.len(), 2);
    let due = two.course.due_ns();
    assert!(due.is_sorted() && due.len() as u64 == two.operations());
    // Both logs contain the same operation. The two copies of the operation follow each other
    // within one millisecond.
    assert_eq!(due[0] / 1_000_000, due[1] / 1_000_000);
    assert_eq!(two.began_ms, one.began_ms);
}

#[test]
fn operations_beyond_the_memory_are_left_out_and_counted() {
    let bytes = fixture("full-query-log.cq4.gz");
    let all = read(&[("a.cq4", &bytes)], Choice::default());
    let small = Choice {
        memory_bytes: 1000,
        ..Choice::default()
    };
    let part = read(&[("a.cq4", &bytes)], small);
    assert!(
        (5..40).contains(&part.operations()),
        "{}",
        part.operations()
    );
    let left = part.left_out[&Why::NoRoom];
    assert_eq!(part.operations() + left, all.operations());
    let reads = Choice {
        only: Only::Reads,
        ..Choice::default()
    };
    let reads = read(&[("a.cq4", &bytes)], reads);
    assert!(reads.kinds.iter().all(|kind| !kind.is_write));
    assert_eq!(
        reads.operations() + reads.left_out[&Why::NotChosen],
        all.operations()
    );
}

#[test]
fn a_part_of_the_time_and_some_keyspaces_can_be_chosen() {
    let bytes = fixture("full-query-log.cq4.gz");
    let all = read(&[("a.cq4", &bytes)], Choice::default());
    let part = |from_ms, for_ms| {
        let choice = Choice {
            from_ms,
            for_ms,
            ..Choice::default()
        };
        let (_held, path) = folder(&[("a.cq4", &bytes)]);
        let found = files::read(&[("log".to_owned(), path)], choice);
        found.map_or(0, |recording| recording.operations())
    };
    // At first, the client connected and created tables. The three periods together contain all
    // operations.
    let mut counts = vec![];
    for from_ms in [0, 500, 1500] {
        let for_ms = (from_ms < 1500).then_some(if from_ms == 0 { 500 } else { 1000 });
        counts.push(part(from_ms, for_ms));
    }
    assert_eq!(counts.iter().sum::<u64>(), all.operations(), "{counts:?}");
    assert!(counts.iter().any(|count| *count < all.operations()));
    let choice = Choice {
        keyspaces: vec!["Other".to_owned()],
        ..Choice::default()
    };
    let other = read(&[("a.cq4", &bytes)], choice);
    assert_eq!(
        (other.operations(), other.left_out[&Why::OtherKeyspace]),
        (2, 71)
    );
}

#[cfg(unix)]
#[test]
fn a_link_in_a_folder_of_logs_leads_nowhere() {
    let (_held, path) = folder(&[("inner/a.txt", b"x"), ("a.cq4", &fixture("audit.cq4.gz"))]);
    std::os::unix::fs::symlink("../a.cq4", path.join("inner/b.cq4")).expect("a link");
    let found = files::read(&[("log".to_owned(), path.join("inner"))], Choice::default());
    assert!(found.expect_err("no log").to_string().contains("has no query log"));
}

/// If a log file is copied while it grows, the copy may contain a hole that was never written.
#[test]
fn a_hole_in_a_log_is_said_with_what_is_behind_it() {
    let bytes = fixture("full-query-log.cq4.gz");
    let whole = read(&[("a.cq4", &bytes)], Choice::default());
    assert!(whole.logs[0].notes.is_empty(), "{:?}", whole.logs[0].notes);
    // The headers precede the documents that the reader returns. The test overwrites the header in
    // the middle of the file.
    let mut queue = Queue::open(&bytes[..]).expect("a queue");
    let mut headers = Vec::new();
    while let Some(length) = queue.next_document().expect("whole").map(<[u8]>::len) {
        headers.push(queue.bytes() as usize - length - 4);
    }
    assert_eq!(queue.end(), Some(QueueEnd::Whole));
    let at = headers[headers.len() / 2];
    let mut holed = bytes.clone();
    holed[at..at + 4].fill(0);
    let read = read(&[("a.cq4", &holed)], Choice::default());
    let note = &read.logs[0].notes[0];
    assert!(note.contains(&format!("a hole at byte {at}: ")), "{note}");
    assert!(read.operations() < whole.operations());
}

/// Each file lacks records, and an earlier version did not say so.
#[test]
fn every_part_of_a_queue_that_is_not_read_is_said() {
    let bytes = fixture("full-query-log.cq4.gz");
    let mut queue = Queue::open(&bytes[..]).expect("a queue");
    let mut headers = Vec::new();
    while let Some(length) = queue.next_document().expect("whole").map(<[u8]>::len) {
        headers.push(queue.bytes() as usize - length - 4);
    }
    assert_eq!(queue.foreign(), None);
    let with_header = |at: usize, header: u32| {
        let mut changed = bytes.clone();
        changed[at..at + 4].copy_from_slice(&header.to_le_bytes());
        changed
    };
    let middle = headers[headers.len() / 2];
    let rest = (bytes.len() - middle - 4) as u32;
    for (bytes, words) in [
        (with_header(middle, 0xC000_0000), "an end mark at byte"),
        (
            with_header(middle, 0x4000_0000 | rest),
            "neither a header nor an index",
        ),
        (
            bytes[..middle].to_vec(),
            "is truncated: according to its header",
        ),
    ] {
        let read = read(&[("a.cq4", &bytes)], Choice::default());
        assert!(
            read.logs[0].notes[0].contains(words),
            "{:?}",
            read.logs[0].notes
        );
    }
    for (bytes, words) in [
        (with_header(headers[0], 0), "no record; "),
        (bytes[..headers[0]].to_vec(), "is truncated"),
    ] {
        let (_held, path) = folder(&[("a.cq4", &bytes)]);
        let found = files::read(&[("log".to_owned(), path)], Choice::default());
        let error = found.expect_err("no record").to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Cassandra makes its files larger than their records, and the disk stores nothing for the rest.
#[test]
fn a_sparse_tail_is_passed_and_not_read() {
    let (_held, path) = folder(&[("a.cq4", &fixture("full-query-log.cq4.gz"))]);
    let file = std::fs::File::options().write(true).open(path.join("a.cq4")).expect("a file");
    file.set_len(1 << 36).expect("a sparse file");
    let read = files::read(&[("log".to_owned(), path)], Choice::default()).expect("a recording");
    assert_eq!((read.operations(), read.logs[0].notes.len()), (73, 0));
}

fn event(at_ms: u64, id: u64) -> String {
    format!(
        "INFO  [x] 2026-11-26 13:36:37,001 FileAuditLogger.java:51 - user:a|timestamp:{at_ms}|\
         type:SELECT|category:QUERY|ks:k|operation:SELECT v FROM k.t WHERE id = {id};\n"
    )
}

#[test]
fn rotated_files_are_read_in_the_order_of_their_times() {
    let texts: Vec<(String, String)> = (0..12)
        .map(|age| {
            (
                format!("audit.log.{age}"),
                event(1_000_000 - age * 1000, age),
            )
        })
        .collect();
    let mut files: Vec<(&str, &[u8])> =
        texts.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    files.extend([
        ("audit.log.12.gz", &b"\x1F\x8B"[..]),
        ("audit.log.13.zip", b"PK"),
        ("other.log", b"x\n"),
        ("inner/audit.log", b"x\n"),
    ]);
    // The selected period begins with the first record that the reader sees.
    let choice = Choice {
        for_ms: Some(1500),
        ..Choice::default()
    };
    let recording = read(&files, choice);
    assert_eq!(recording.began_ms, 1_000_000 - 11_000);
    assert_eq!(recording.operations(), 2);
    let notes = &recording.logs[0].notes;
    assert!(
        notes[0]
            .contains("did not read 2 of the files and folders in it, because they are compressed")
            && notes[0].ends_with(": audit.log.12.gz, audit.log.13.zip"),
        "{notes:?}"
    );
    assert!(notes[1].ends_with(": inner/, other.log"), "{notes:?}");
}

#[test]
fn a_log_that_was_cut_says_so_and_keeps_what_is_whole() {
    let bytes = fixture("full-query-log.cq4.gz");
    let cut = read(
        &[("a.cq4", &bytes[..bytes.len() - 1000])],
        Choice::default(),
    );
    assert!(
        cut.logs[0].notes[0].contains("in the middle of a record"),
        "{:?}",
        cut.logs
    );
    assert!(cut.operations() > 50);
}

#[test]
fn a_file_that_is_no_log_is_refused_with_its_name() {
    for (files, expected) in [
        (&[("a.txt", &b"x"[..])][..], "log has no query log"),
        (
            &[("a.cq4", &b"PK\x03\x04 something else"[..])],
            "a.cq4 is not a query log",
        ),
        (&[("a.cq4", &[0; 4096][..])], "a.cq4 is not a query log"),
    ] {
        let (_held, path) = folder(files);
        let found = files::read(&[("log".to_owned(), path)], Choice::default());
        let error = found.expect_err("no log").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn packed(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    recording.pack(&mut bytes).expect("room in memory");
    bytes
}

fn unpacked(bytes: &[u8]) -> Result<Recording, UnpackError> {
    Recording::unpack(&mut &bytes[..], bytes.len() as u64)
}

/// Several clients of one load receive the packed data. Each client makes its program from the
/// data.
#[test]
fn a_packed_log_offers_the_same_elsewhere() {
    for name in ["full-query-log.cq4.gz", "audit.cq4.gz"] {
        let here = read(&[("a.cq4", &fixture(name))], Choice::default());
        let there = unpacked(&packed(&here)).expect("it is whole");
        assert_eq!(there.course, here.course);
        assert_eq!((&there.kinds, &there.digest), (&here.kinds, &here.digest));
        let count = here.operations();
        let [here, there] = [here, there].map(|one| Arc::new(program(&Arc::new(one), "log", &[])));
        assert_eq!(
            here.fingerprint_of(Stage::Main, 2 * count),
            there.fingerprint_of(Stage::Main, 2 * count)
        );
        assert_eq!(here.schema(), there.schema());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The digest of a package covers every byte that a replay uses. Other bytes, such as those of
    /// the names of kinds, may differ.
    #[test]
    fn a_changed_package_is_refused_or_offers_the_same(
        at: prop::sample::Index, bits in 1u8.., cut: prop::sample::Index,
    ) {
        let here = read(&[("a.cq4", &fixture("full-query-log.cq4.gz"))], Choice::default());
        let whole = packed(&here);
        prop_assert!(unpacked(&whole[..cut.index(whole.len())]).is_err());
        let mut bytes = whole.clone();
        bytes[at.index(whole.len())] ^= bits;
        if let Ok(there) = unpacked(&bytes) {
            prop_assert_eq!(there.digest, here.digest);
        }
    }

    /// A changed byte may lead to another recording or to an unreadable record, but must not cause
    /// a panic.
    #[test]
    fn no_byte_of_a_log_can_make_it_panic(at in 0usize..8000, byte: u8, cut in 0usize..2000) {
        let mut bytes = fixture("full-query-log.cq4.gz");
        let at = bytes.len() - 1 - at;
        bytes[at] = byte;
        bytes.truncate(bytes.len() - cut);
        let mut queue = Queue::open(&bytes[..]).expect("its head is whole");
        let mut documents = 0;
        while let Ok(Some(document)) = queue.next_document() {
            documents += 1;
            if let Ok(Entry::Request(request)) = log_record::read(document) {
                prop_assert!(request.statements.len() <= usize::from(u16::MAX));
            }
        }
        prop_assert!(documents > 20);
    }
}
