//! Tests of the messages about unreachable machines.

use super::*;
use std::os::unix::process::ExitStatusExt;

/// Returns the report for a connection that ended at a stage with exit status `code`, after these
/// lines.
fn sentences(stage: Stage, code: i32, lines: &[&str]) -> String {
    let wanted = Destination::new("db3", false, None).unwrap();
    let end = End {
        words: "it hung up".to_owned(),
        status: Some(ExitStatus::from_raw(code << 8)),
        stage,
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    Refusal::new(&wanted, Trouble::BrokeOff(end)).to_string()
}

/// Lines of OpenSSH 9.2 and 10.0 before exit status 255, and the expected text.
const BY_SSH_ROWS: [(&[&str], &str); 15] = [
    (
        &["Host key verification failed."],
        "this machine's known_hosts does not contain the host key of the machine\nhint: run `ssh \
         db3` once",
    ),
    (
        &[
            "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
            "Add correct host key in /u/me/.ssh/known_hosts to get rid of this message.",
            "Offending ED25519 key in /u/me/.ssh/known_hosts:7",
            "Host key for [db3]:2222 has changed and you have requested strict checking.",
            "Host key verification failed.",
        ],
        "run `ssh-keygen -f /u/me/.ssh/known_hosts -R '[db3]:2222'` and then `ssh db3` once",
    ),
    (
        &["me@db3: Permission denied (publickey,password)."],
        "no such user (me@db3: Permission denied (publickey,password))\nhint: see `ssh-add -l`",
    ),
    (
        &["Received disconnect from ::1 port 22:2: Too many authentication failures"],
        "offered more keys than the machine accepts",
    ),
    (
        &["ssh: connect to host db3 port 2222: Connection refused"],
        "no sshd listens at that address and port (ssh: connect to host db3 port 2222: Connection \
         refused)",
    ),
    (
        &["ssh: connect to host db3 port 22: No route to host"],
        "this machine has no route to that machine (ssh: connect to host db3 port 22: No route to \
         host)",
    ),
    (
        &["ssh: connect to host db3 port 22: Network is unreachable"],
        "and the network of this machine",
    ),
    (
        &["ssh: Could not resolve hostname db3: Name or service not known"],
        "name resolution does not find the name of the machine",
    ),
    (
        &["ssh: connect to host db3 port 22: Connection timed out"],
        "the machine does not answer (ssh: connect",
    ),
    (
        &[
            "Connection timed out during banner exchange",
            "Connection to db3 port 22 timed out",
        ],
        "the machine does not answer",
    ),
    (
        &[
            "channel 0: open failed: connect failed: Connection refused",
            "stdio forwarding failed",
            "kex_exchange_identification: Connection closed by remote host",
        ],
        "the jump host cannot reach the machine",
    ),
    (
        &[
            "me@jump: Permission denied (publickey).",
            "kex_exchange_identification: Connection closed by remote host",
        ],
        "no such user (me@jump: Permission denied (publickey))",
    ),
    (
        &[
            "Unable to negotiate with ::1 port 22: no matching host key type found. Their offer: \
             ssh-rsa",
        ],
        "the machine supports only algorithms that the ssh of this machine no longer supports",
    ),
    (
        &["/u/me/.ssh/config: line 3: Bad configuration option: foo"],
        "ssh cannot parse its configuration on this machine",
    ),
    (
        &["something that nobody has heard"],
        "db3: ssh cannot log in: something that nobody has heard\nhint: `ssh -v db3` shows more",
    ),
];

#[test]
fn messages_of_ssh_become_a_cause_with_the_next_step() {
    for (lines, part) in BY_SSH_ROWS {
        let told = sentences(Stage::Login, 255, lines);
        assert!(told.contains(part), "{lines:?}: {told}");
    }
}

/// Stage, exit status of `ssh`, printed lines, and expected text. The lines come from a shell, a
/// loader, `sudo` or the program.
type FarSideRow = (Stage, i32, &'static [&'static str], &'static str);

const FAR_SIDE_ROWS: [FarSideRow; 13] = [
    (
        Stage::Login,
        1,
        &["This account is currently not available."],
        "the login shell ended with status 1 and ran no command of cassay: This account",
    ),
    (
        Stage::Login,
        1,
        &[
            "WARNING: Your password has expired.",
            "Password change required but no TTY available.",
        ],
        "the password of the user on that machine has expired",
    ),
    // Only the exit status shows that this line does not come from `ssh`.
    (
        Stage::Login,
        1,
        &["Connection refused"],
        "the login shell ended with status 1",
    ),
    (
        Stage::Program,
        1,
        &["sudo: a password is required"],
        "cassay does not enter (sudo: a password is required)\nhint: remove `sudo`",
    ),
    (
        Stage::Program,
        1,
        &["sudo: sorry, you must have a tty to run sudo"],
        "`requiretty`",
    ),
    (
        Stage::Program,
        127,
        &["sh: 1: exec: sudo: not found"],
        "the machine has no sudo (sh: 1: exec: sudo: not found)",
    ),
    (
        Stage::Program,
        1,
        &["me is not in the sudoers file."],
        "sudo does not let the user run the program",
    ),
    (
        Stage::Program,
        126,
        &["sh: line 1: /x/agent-0: cannot execute binary file: Exec format error"],
        "the kernel of the machine does not run the program",
    ),
    (
        Stage::Program,
        126,
        &["sh: 1: exec: /x/agent-0: Permission denied"],
        "name another folder (`folder`)",
    ),
    (
        Stage::Program,
        127,
        &["sh: 1: exec: /x/agent-0: not found"],
        "the C library that this program needs",
    ),
    (
        Stage::Program,
        1,
        &["/x/agent-0: libc.so.6: version `GLIBC_2.38' not found (required by /x/agent-0)"],
        "older than this program requires",
    ),
    (
        Stage::Program,
        2,
        &["error: start its guard"],
        "db3: the program ended immediately after its start on that machine, with status 2: error: \
         start its guard",
    ),
    (
        Stage::Script,
        2,
        &["sh: 1: eval: head: not found"],
        "it hung up, with status 2: sh",
    ),
];

#[test]
fn messages_of_the_far_side_become_a_cause_with_a_next_step() {
    for (stage, code, lines, part) in FAR_SIDE_ROWS {
        let told = sentences(stage, code, lines);
        assert!(told.contains(part), "{lines:?}: {told}");
    }
}

#[test]
fn a_banner_is_neither_understood_nor_told_at_length() {
    let mut lines = vec!["ssh: connect to host db3 port 22: Connection refused"];
    lines.extend(["Everything that you do here is watched, and kept for years."; 100]);
    let told = sentences(Stage::Login, 255, &lines);
    assert!(told.starts_with("db3: ssh cannot log in: "), "{told}");
    assert!(told.chars().count() < MESSAGE_CHARS_MAX + 100, "{told}");
}

#[test]
fn only_who_is_hung_up_on_before_login_may_try_again() {
    let wanted = Destination::new("db3", false, None).unwrap();
    let may_try = |lines: &[&str], code: i32| {
        let end = End {
            words: String::new(),
            status: Some(ExitStatus::from_raw(code << 8)),
            stage: Stage::Login,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        Refusal::new(&wanted, Trouble::BrokeOff(end)).is_before_login
    };
    let kex = "kex_exchange_identification: Connection closed by remote host";
    assert!(may_try(&[kex], 255));
    assert!(may_try(&["Connection reset by 10.0.0.7 port 22"], 255));
    assert!(!may_try(&[kex], 1));
    assert!(!may_try(
        &["me@jump: Permission denied (publickey).", kex],
        255
    ));
}

#[test]
fn a_failure_of_the_script_quotes_the_program_that_it_tried() {
    let wanted = Destination::new("db3", false, None).unwrap();
    let full = ["gzip: stdout: No space left on device".to_owned()];
    let told = |obstacle: &str, lines: &[String]| {
        Refusal::new(&wanted, Trouble::from_obstacle(&wanted, obstacle, lines)).to_string()
    };
    let said = told("write /u/me/.cache/cassay/agents", &full);
    assert!(
        said.contains("into /u/me/.cache/cassay/agents (gzip: stdout: No space"),
        "{said}"
    );
    assert!(said.contains("free some space on that disk"), "{said}");
    let said = told("exec /u/me", &[]);
    assert!(
        said.contains("from /u/me, which is mounted with noexec"),
        "{said}"
    );
    assert!(said.contains("(`folder`)"), "{said}");
    let said = told("else", &[]);
    assert!(said.contains("has an unexpected form"), "{said}");
}

#[test]
fn all_that_are_not_reached_are_named() {
    let wanted = |name| Destination::new(name, false, None).unwrap();
    let refusal = |name, cause| Refusal::new(&wanted(name), Trouble::with_hint(cause, "go there"));
    let unreached = UnreachedMachines {
        count_wanted: 5,
        refusals: vec![refusal("db2", "it is off"), refusal("db4", "it burns")],
    };
    assert_eq!(
        unreached.to_string(),
        "cassay did not reach 2 of 5 machines\ndb2: it is off\nhint: go there\ndb4: it \
         burns\nhint: go there"
    );
    let alone = UnreachedMachines {
        count_wanted: 1,
        refusals: vec![refusal("db2", "it is off")],
    };
    assert_eq!(alone.to_string(), "db2: it is off\nhint: go there");
}
