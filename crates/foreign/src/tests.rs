//! Tests paths that lead to objects other than regular files.

use super::*;
use std::path::PathBuf;

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}

#[test]
fn a_path_that_is_no_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fifo(&path("pipe"));
    std::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
    std::os::unix::fs::symlink(path("pipe"), path("link")).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    for kind in FileKind::ALL {
        for (path, what) in [
            (path("pipe"), "a named pipe"),
            (path("link"), "a named pipe"),
            (path("endless"), "a device"),
            (path("socket"), "a socket"),
            (folder.path().to_owned(), "a folder"),
        ] {
            let error = open(kind, &path).unwrap_err();
            assert!(is_no_file(&error), "{}: {error}", path.display());
            let said = error.to_string();
            assert!(
                said.starts_with(&format!("this is not a file, but {what}")),
                "{said}"
            );
        }
    }
}

#[test]
fn a_file_that_is_there_is_read_and_one_that_is_not_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "a\n").unwrap();
    assert_eq!(text(FileKind::Study, &plain).unwrap(), "a\n");
    assert_eq!(read(FileKind::Study, &plain).unwrap(), b"a\n");
    let error = open(FileKind::Study, folder.path().join("absent")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(!is_no_file(&error));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&plain, &link).unwrap();
    assert_eq!(text(FileKind::Study, &link).unwrap(), "a\n");
    open_no_link(FileKind::Study, &link).unwrap_err();
    open_no_link(FileKind::Study, &plain).unwrap();
}

#[test]
fn a_file_larger_than_its_kind_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for kind in FileKind::ALL {
        let path = folder.path().join("large");
        // A sparse file, which takes no disk space.
        let file = File::create(&path).unwrap();
        if file.set_len(kind.bytes_max() + 1).is_err() {
            // If the file system does not support files of a TiB, the test skips this case.
            continue;
        }
        let error = open(kind, &path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge, "{kind:?}");
        assert!(error.to_string().contains(kind.called()), "{error}");
        assert!(!is_no_file(&error));
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_ends_at_its_kinds_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grows");
    File::create(&path).unwrap();
    let mut opened = open(FileKind::Password, &path).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1 << 30).unwrap();
    let mut bytes = Vec::new();
    let error = opened.read_to_end(&mut bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert!(
        bytes.len() as u64 <= 4 * FileKind::Password.bytes_max(),
        "{}",
        bytes.len()
    );
}

#[test]
fn a_disk_that_does_not_answer_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slow");
    std::fs::write(&path, "text").unwrap();
    let mut opened = open(FileKind::Study, &path).unwrap();
    opened.waited_ns = 61_000_000_000;
    let error = opened.read(&mut [0; 4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // After the file has delivered many bytes, its reads may have taken longer.
    opened.bytes = 640 << 10;
    assert_eq!(opened.read(&mut [0; 4]).unwrap(), 4);
}

#[test]
fn a_place_in_a_file_is_gone_to_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("file");
    std::fs::write(&path, "abcdef").unwrap();
    let mut opened = open(FileKind::Archive, &path).unwrap();
    assert_eq!(opened.bytes_count().unwrap(), 6);
    opened.seek(SeekFrom::End(-2)).unwrap();
    let mut end = String::new();
    opened.read_to_string(&mut end).unwrap();
    assert_eq!(end, "ef");
}

#[test]
fn a_pipe_for_output_is_written_to_and_stays_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fifo(&path("pipe"));
    let error = output(path("pipe")).unwrap_err();
    assert!(error.to_string().contains("no process reads"), "{error}");
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let mut reader = options.read(true).custom_flags(flags).open(path("pipe")).unwrap();
    let mut opened = output(path("pipe")).unwrap().unwrap();
    io::Write::write_all(&mut opened, b"text").unwrap();
    drop(opened);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(said, "text");
    std::fs::write(path("plain"), "").unwrap();
    assert!(output(path("plain")).unwrap().is_none());
    assert!(output(path("absent")).unwrap().is_none());
    let _listener = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    for refused in [path("socket"), folder.path().to_owned()] {
        assert!(is_no_file(&output(refused).unwrap_err()));
    }
}
