//! Creates cassay's roles in a managed cluster once its nodes are up, and disables the default
//! role.

use super::{LOAD_USER, USER, access};
use crate::local::node_process::LocalNode;
use crate::local::ready;
use anyhow::{Context, Result, bail};
use cassandra::{Access, Credentials, Effect, Proof, ServerError, Session};
use cql::response::ErrorCode;
use measure::clock::Deadline;
use std::cell::Cell;
use std::time::Duration;
use target_spec::{Authentication, Secret};

/// Server's default role, whose password is the same text.
const DEFAULT: &str = "cassandra";

/// Time limit of a login. The server hashes the password with 2^10 rounds.
const ATTEMPT: Duration = Duration::from_secs(5);

/// Creates cassay's roles and disables the default role, on all nodes of a ring that has just
/// started. Does nothing for an open cluster.
///
/// # Errors
/// A node dies, the deadline passes, or another client has created a role in the meantime.
pub(in crate::local) fn set_up(
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
        // All nodes must be up, because a node that others consider down receives writes late.
        ready::all_live(node, count)?;
        make_role(node, credentials, &is_made)?;
        let mut ours = open(node, access)?;
        let shut = format!("ALTER ROLE {DEFAULT} WITH SUPERUSER = false AND LOGIN = false");
        ours.query(&shut).map(drop)
    };
    ready::wait(
        nodes,
        0,
        deadline,
        limit,
        "did not accept cassay's role",
        make,
    )?;
    let known = |node: &LocalNode| {
        open(node, access)?;
        open(node, &load_access(access))?;
        refuses_default(node)
    };
    for index in 0..count {
        let failure = "did not have the cluster's roles";
        ready::wait(nodes, index, deadline, limit, failure, known)?;
    }
    refuse_strangers(&nodes[0], access)
}

/// Logs in as the default role, and creates cassay's roles. Does not try cassay's role first,
/// because the server remembers for two seconds that a role does not exist.
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
    // Hexadecimal digits need no escaping.
    session.query_secret(&role(credentials.password.reveal()), &role("***"))?;
    let load = |password: &str| {
        format!(
            "CREATE ROLE IF NOT EXISTS {LOAD_USER} WITH PASSWORD = '{password}' AND LOGIN = true"
        )
    };
    session.query_secret(&load(credentials.password.reveal()), &load("***"))?;
    session.query(&format!(
        "GRANT ALL PERMISSIONS ON ALL KEYSPACES TO {LOAD_USER}"
    ))?;
    is_made.set(true);
    Ok(())
}

fn refuses_default(node: &LocalNode) -> Result<()> {
    let refusal = match open(node, &default_access()) {
        Ok(_) => bail!("the node still accepts a login of the role {DEFAULT}"),
        Err(error) => error,
    };
    let code = refusal.downcast_ref().map(|error: &ServerError| error.code);
    match code {
        Some(ErrorCode::BadCredentials | ErrorCode::Unauthorized) => Ok(()),
        _ => Err(refusal),
    }
}

/// Checks that no other client has created a role. For a second or two, any client could have
/// logged in as the default role.
fn refuse_strangers(node: &LocalNode, access: &Access) -> Result<()> {
    let roles = open(node, access)?.query("SELECT role FROM system_auth.roles")?;
    let names = roles.rows.iter().flatten().filter_map(|name| name.as_str());
    let strangers: Vec<&str> =
        names.filter(|name| ![USER, LOAD_USER, DEFAULT].contains(name)).collect();
    if strangers.is_empty() {
        return Ok(());
    }
    bail!(
        "another user created the role {} in {} while cassay started the node",
        strangers.join(", "),
        node.layout.name
    )
}

fn load_access(access: &Access) -> Access {
    let credentials = access.load_credentials().map(|(user, password)| Credentials {
        user,
        password: Secret::new(password),
    });
    Access {
        credentials,
        ..access.clone()
    }
}

fn default_access() -> Access {
    access(DEFAULT, Secret::new(DEFAULT.to_string()))
}

fn open(node: &LocalNode, access: &Access) -> Result<Session> {
    Session::open(node.cql_address(), access, ATTEMPT)
}

/// Verifies that the node requires a password from clients.
///
/// # Errors
/// The node does not answer.
pub(in crate::local) fn proof(node: &LocalNode) -> Result<Proof> {
    let class = Session::authenticator(node.cql_address(), ATTEMPT)
        .with_context(|| {
            format!(
                "request the roles that may log in from {}",
                node.layout.name
            )
        })?
        .unwrap_or_else(|| "none".to_string());
    let wanted = Authentication::Password.name();
    let holds = class.rsplit('.').next() == Some("PasswordAuthenticator");
    let shown = if holds { wanted.to_string() } else { class };
    Ok(Proof {
        node: node.layout.name.clone(),
        key: "authentication".to_string(),
        wanted: wanted.to_string(),
        effect: Effect::from_comparison(Some((shown, holds)), ""),
        source: "CQL handshake",
    })
}
