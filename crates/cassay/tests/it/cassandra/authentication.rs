//! Tests clusters with authentication: which logins succeed, and that files do not contain the
//! password.

use super::folders;
use crate::program::{HANG_LIMIT, Lab};
use ::cassandra::{Access, Credentials, Session};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use target_spec::Secret;

/// Returns the password of the only cluster of a lab. Asserts that only the owner can read the file
/// of the password.
pub fn password(lab: &Lab) -> String {
    let names = folders(lab);
    assert_eq!(names.len(), 1, "one cluster: {names:?}");
    let folder = lab.clusters().join(&names[0]);
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").mode() & 0o777;
    let file = folder.join("password");
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    let text = std::fs::read_to_string(file).expect("the password");
    text.trim_end().to_owned()
}

pub fn access(user: &str, password: &str) -> Access {
    let credentials = Credentials {
        user: user.to_owned(),
        password: Secret::new(password.to_owned()),
    };
    Access::new(Some(credentials), None)
}

/// Checks that a login requires the password, also for Cassandra's default role. Also checks that
/// no other role is a superuser.
#[track_caller]
pub fn assert_closed(node: SocketAddr, password: &str) {
    let refused = |access: &Access| {
        let error = Session::open(node, access, HANG_LIMIT).expect_err("nobody gets in");
        format!("{error:#}")
    };
    let nobody = refused(&Access::default());
    assert!(nobody.contains("requires a user and password"), "{nobody}");
    for (user, password) in [
        ("cassandra", "cassandra"),
        ("cassay", "cassandra"),
        ("cassay_load", "cassandra"),
    ] {
        let error = refused(&access(user, password));
        assert!(error.contains("bad credentials"), "{error}");
    }
    let mut ours = Session::open(node, &access("cassay", password), HANG_LIMIT).expect("we do");
    let roles = ours
        .query("SELECT role, is_superuser, can_login FROM system_auth.roles")
        .expect("the roles")
        .rows;
    let mut roles: Vec<String> = roles.iter().map(|row| format!("{row:?}")).collect();
    roles.sort();
    assert_eq!(roles.len(), 3, "{roles:?}");
    assert!(!roles[0].contains("true"), "shut out: {roles:?}");
    let load = "[Text(\"cassay_load\"), Boolean(false), Boolean(true)]";
    assert_eq!(roles[2], load, "the load is an ordinary user");
}

#[track_caller]
pub fn assert_in_no_file(folder: &Path, text: &str) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() {
            assert_in_no_file(&path, text);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let has = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!has, "the password is in {}", path.display());
        }
    }
}

#[track_caller]
pub fn assert_in_no_command_line(pids: &[i32], text: &str) {
    for pid in pids {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).expect("it runs");
        let line = String::from_utf8_lossy(&line);
        assert!(!line.contains(text), "the password is in `ps`");
    }
}
