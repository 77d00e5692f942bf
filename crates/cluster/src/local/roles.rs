//! Access control of a managed cluster. The cluster is open to every user, or a password restricts
//! it to the roles that cassay creates.
//!
//! Invariants: the password is in one file, readable only by its owner, in a folder that only its
//! owner can enter. The state, arguments, logs, messages and proofs do not contain it. When a
//! cluster counts as started, Cassandra's default role (`cassandra`, with a well-known password)
//! cannot log in and has no permissions.

mod set_up;

pub(super) use set_up::{proof, set_up};

use anyhow::{Context, Result};
use cassandra::{Access, Credentials, credentials};
use data_encoding::HEXLOWER;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use target_spec::{Authentication, LocalSpec, Secret, SecretSource};

/// Superuser of control sessions.
pub(crate) const USER: &str = "cassay";

/// Role of the load. It has all permissions on all keyspaces, but is not a superuser, because
/// guardrails apply only to ordinary users.
const LOAD_USER: &str = "cassay_load";

const FILE: &str = "password";

/// Delay of the default role's creation after a node's start, in ms. Also the interval between
/// retries if the node sees too few other nodes. Cassandra's default of 10 s is meant for larger
/// and slower rings.
const SETUP_DELAY_MS: u64 = 500;

pub(crate) fn password_file(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// Builds the access to a new cluster, and writes a random password to the password file.
///
/// # Errors
/// Random bytes are not available, or the file cannot be written.
pub(super) fn make(spec: &LocalSpec, folder: &Path) -> Result<Access> {
    match spec.authentication {
        Authentication::None => Ok(Access::default()),
        Authentication::Password => {
            let password = random_secret()?;
            write_private(&password_file(folder), &format!("{password}\n"))?;
            Ok(access(USER, Secret::new(password)))
        }
    }
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let open = options.write(true).create(true).truncate(true).mode(0o600);
    open.open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("write {}", path.display()))
}

/// # Errors
/// The password file of the cluster cannot be read.
pub(crate) fn read(authentication: Authentication, folder: &Path) -> Result<Access> {
    match authentication {
        Authentication::None => Ok(Access::default()),
        Authentication::Password => {
            let source = SecretSource::File(password_file(folder));
            Ok(access(USER, credentials::read(&source)?))
        }
    }
}

fn access(user: &str, password: Secret) -> Access {
    let credentials = Credentials {
        user: user.to_string(),
        password,
    };
    Access {
        load_user: Some(LOAD_USER),
        ..Access::new(Some(credentials), None)
    }
}

pub(super) fn yaml(authentication: Authentication) -> Map<String, Value> {
    let settings = match authentication {
        Authentication::None => json!({}),
        Authentication::Password => json!({
            "authenticator": "PasswordAuthenticator",
            "authorizer": "CassandraAuthorizer",
            // Every node has a replica of the roles, so a client can log in even if a node is down.
            "auth_read_consistency_level": "LOCAL_ONE",
            // On a busy machine, a node that missed the write would refuse cassay until it receives
            // the role.
            "auth_write_consistency_level": "ALL",
        }),
    };
    match settings {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Returns the JVM options for authentication, which make every node store all roles from its first
/// start. With a later increase of the replication factor, reads would not find earlier writes.
pub(super) fn options(spec: &LocalSpec) -> Vec<String> {
    match spec.authentication {
        Authentication::None => Vec::new(),
        Authentication::Password => vec![
            format!("-Dcassandra.system_auth.default_rf={}", spec.nodes),
            format!("-Dcassandra.superuser_setup_delay_ms={SETUP_DELAY_MS}"),
        ],
    }
}

/// Returns 128 random bits as hexadecimal digits.
pub(super) fn random_secret() -> Result<String> {
    use std::io::Read;
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("read random bytes for a password from /dev/urandom")?;
    Ok(HEXLOWER.encode(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn spec(authentication: Authentication) -> LocalSpec {
        LocalSpec {
            authentication,
            nodes: 3,
            ..LocalSpec::default()
        }
    }

    #[test]
    fn the_password_is_in_one_file_of_its_owner_and_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let made = make(&spec(Authentication::Password), folder.path()).unwrap();
        let password = |access: &Access| {
            let credentials = access.credentials.as_ref().unwrap();
            assert_eq!(credentials.user, USER);
            credentials.password.reveal().to_string()
        };
        let ours = password(&made);
        assert!(ours.len() == 32 && ours.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let file = std::fs::metadata(password_file(folder.path())).unwrap();
        assert_eq!(file.mode() & 0o777, 0o600);
        let read = read(Authentication::Password, folder.path()).unwrap();
        assert_eq!(password(&read), ours);
        assert!(!format!("{made:?}").contains(&ours));
        let other = tempfile::tempdir().unwrap();
        let again = make(&spec(Authentication::Password), other.path()).unwrap();
        assert_ne!(password(&again), ours, "every cluster has its own password");
    }

    #[test]
    fn an_open_cluster_has_neither_file_nor_settings() {
        let folder = tempfile::tempdir().unwrap();
        let open = spec(Authentication::None);
        assert!(make(&open, folder.path()).unwrap().credentials.is_none());
        assert!(!password_file(folder.path()).exists());
        assert!(yaml(Authentication::None).is_empty() && options(&open).is_empty());
        let closed = spec(Authentication::Password);
        assert!(options(&closed)[0].ends_with("default_rf=3"));
    }
}
