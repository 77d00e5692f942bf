//! Who may use a cluster of ours: everybody, or who has the password of the one role that we make.
//!
//! What must hold: the password is in one file that only its owner can read, in a folder that only
//! its owner can enter, and nowhere else: not in the state, an argument, a log, a message or a
//! proof. Before a cluster counts as started, the role that every Cassandra begins with
//! (`cassandra`, whose password everybody knows) can neither log in nor do anything.

use super::node::LocalNode;
use super::proof::{Effect, Proof};
use super::{random_secret, ready};
use crate::access::{Access, Credentials, Secret};
use crate::session::{ServerError, Session};
use crate::spec::{Authentication, LocalSpec, SecretSource};
use anyhow::{Context, Result, bail};
use cql::response::ErrorCode;
use measure::clock::Deadline;
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of our role.
pub(crate) const USER: &str = "cassay";

/// The role that the server makes by itself, and its password.
const DEFAULT: &str = "cassandra";

/// In the cluster's folder.
const FILE: &str = "password";

/// How long an attempt to log in may take: the server hashes the password with 2^10 rounds.
const ATTEMPT: Duration = Duration::from_secs(5);

/// How long after its start a node looks for the server's own role, and again if it finds too few
/// others (10 s by default, for rings that are larger and slower than ours).
const SETUP_DELAY_MS: u64 = 500;

/// The file with the password of a cluster's role.
pub(crate) fn password_file(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// How a new cluster will be entered; its password is made and written down.
///
/// # Errors
/// No random bytes, or the file cannot be written.
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

/// Writes a file that only we can read.
fn write_private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let open = options.write(true).create(true).truncate(true).mode(0o600);
    open.open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("write {}", path.display()))
}

/// How a cluster that is there is entered.
///
/// # Errors
/// The file with its password cannot be read.
pub(crate) fn read(authentication: Authentication, folder: &Path) -> Result<Access> {
    match authentication {
        Authentication::None => Ok(Access::default()),
        Authentication::Password => {
            let source = SecretSource::File(password_file(folder));
            Ok(access(USER, Secret::read(&source)?))
        }
    }
}

fn access(user: &str, password: Secret) -> Access {
    let credentials = Credentials {
        user: user.to_string(),
        password,
    };
    Access::new(Some(credentials), None)
}

/// What `cassandra.yaml` says of it.
pub(super) fn yaml(authentication: Authentication) -> Map<String, Value> {
    let settings = match authentication {
        Authentication::None => json!({}),
        Authentication::Password => json!({
            "authenticator": "PasswordAuthenticator",
            "authorizer": "CassandraAuthorizer",
            // Every node has a replica, and one that is down keeps nobody out.
            "auth_read_consistency_level": "LOCAL_ONE",
            // So all of them must have a role when it is made: one that missed it on a busy machine
            // would refuse us until it is told again.
            "auth_write_consistency_level": "ALL",
        }),
    };
    match settings {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What the JVM's options say of it: every node keeps all roles, from the first start on. Raising
/// their replication afterwards would lose sight of what was written before.
pub(super) fn options(spec: &LocalSpec) -> Vec<String> {
    match spec.authentication {
        Authentication::None => Vec::new(),
        Authentication::Password => vec![
            format!("-Dcassandra.system_auth.default_rf={}", spec.nodes),
            format!("-Dcassandra.superuser_setup_delay_ms={SETUP_DELAY_MS}"),
        ],
    }
}

/// Makes our role and shuts the server's own out, on all nodes of a ring that has just come up;
/// nothing to do for a cluster that is open.
///
/// # Errors
/// A node dies, the deadline passes, or somebody else has made a role meanwhile.
pub(super) fn set_up(
    nodes: &mut [LocalNode],
    access: &Access,
    deadline: Deadline,
    limit: Duration,
) -> Result<()> {
    let Some(credentials) = &access.credentials else {
        return Ok(());
    };
    let count = nodes.len();
    let is_made = Cell::new(false);
    let make = |node: &LocalNode| {
        // What is written while a node is held to be down comes to it late.
        ready::all_live(node, count)?;
        make_role(node, credentials, &is_made)?;
        let mut ours = open(node, access)?;
        let shut = format!("ALTER ROLE {DEFAULT} WITH SUPERUSER = false AND LOGIN = false");
        ours.query(&shut).map(drop)
    };
    ready::wait(nodes, 0, deadline, limit, "did not take our role", make)?;
    let known = |node: &LocalNode| {
        open(node, access)?;
        refuses_default(node)
    };
    for index in 0..count {
        let failure = "did not know the cluster's roles";
        ready::wait(nodes, index, deadline, limit, failure, known)?;
    }
    refuse_strangers(&nodes[0], access)
}

/// Our role, made as the server's own. It is asked for only once it may be there: the server
/// remembers for two seconds that there was none.
fn make_role(node: &LocalNode, credentials: &Credentials, is_made: &Cell<bool>) -> Result<()> {
    if is_made.get() {
        return Ok(());
    }
    let mut session = open(node, &default_access())?;
    let role = |password: &str| {
        format!(
            "CREATE ROLE IF NOT EXISTS {USER} WITH PASSWORD = '{password}' AND SUPERUSER = true \
             AND LOGIN = true"
        )
    };
    // Of hexadecimal digits, so that nothing of it has to be escaped.
    session.query_secret(&role(credentials.password.reveal()), &role("***"))?;
    is_made.set(true);
    Ok(())
}

/// Whether nobody gets in as the server's own role.
fn refuses_default(node: &LocalNode) -> Result<()> {
    let refusal = match open(node, &default_access()) {
        Ok(_) => bail!("it lets the role {DEFAULT} in"),
        Err(error) => error,
    };
    let code = refusal.downcast_ref().map(|error: &ServerError| error.code);
    match code {
        Some(ErrorCode::BadCredentials | ErrorCode::Unauthorized) => Ok(()),
        _ => Err(refusal),
    }
}

/// For a second or two everybody could have come in as the server's own role, and made another.
fn refuse_strangers(node: &LocalNode, access: &Access) -> Result<()> {
    let roles = open(node, access)?.query("SELECT role FROM system_auth.roles")?;
    let names = roles.rows.iter().flatten().filter_map(|name| name.as_str());
    let strangers: Vec<&str> = names
        .filter(|name| ![USER, DEFAULT].contains(name))
        .collect();
    if strangers.is_empty() {
        return Ok(());
    }
    bail!(
        "somebody else has made the role {} in {} while it started",
        strangers.join(", "),
        node.layout.name
    )
}

fn default_access() -> Access {
    access(DEFAULT, Secret::new(DEFAULT.to_string()))
}

fn open(node: &LocalNode, access: &Access) -> Result<Session> {
    Session::open(node.cql_address(), access, ATTEMPT)
}

/// What a client without a password is told, where one was asked for.
///
/// # Errors
/// The node does not answer.
pub(super) fn proof(node: &LocalNode) -> Result<Proof> {
    let class = Session::authenticator(node.cql_address(), ATTEMPT)
        .with_context(|| format!("ask {} who may log in", node.layout.name))?;
    let class = class.unwrap_or_else(|| "none".to_string());
    let wanted = Authentication::Password.name();
    let holds = class.rsplit('.').next() == Some("PasswordAuthenticator");
    let shown = if holds { wanted.to_string() } else { class };
    Ok(Proof {
        node: node.layout.name.clone(),
        key: "authentication".to_string(),
        wanted: wanted.to_string(),
        effect: Effect::of(Some((shown, holds)), ""),
        source: "CQL handshake",
    })
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
        assert_ne!(password(&again), ours, "every cluster has its own");
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
