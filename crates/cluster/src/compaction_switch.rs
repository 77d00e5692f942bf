//! The compactions of a cluster that is not ours, off for as long as its tables are replaced, and on
//! again whoever is killed meanwhile.
//!
//! An agent of ours on this machine starts this program to switch them off, and starts it to switch
//! them on when that is asked for, when the time is over, or when its controller is gone. What the
//! program needs stands in its one argument; where a secret is, but never the secret itself.

use crate::jolokia::Jolokia;
use crate::mbeans;
use anyhow::{Context, Result, bail};
use host::{Broken, Injection};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use target::{Invocation, JolokiaAccess, SecretSource, TlsSpec};

/// The arguments that make this program do that; what is to be switched stands behind.
const OFF: &str = "switch-compactions-off";
const ON: &str = "switch-compactions-on";

/// This program, as whoever starts it has it, though its file may be another one by now.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// After so long they are on again, though whoever has switched them off lives: longer than any
/// import takes, which makes links and reads the index of each SSTable.
const OFF_AT_MOST: Duration = Duration::from_secs(2 * 60 * 60);

/// What is switched, and how its nodes are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Switch {
    keyspace: String,
    /// The agents of the nodes, and the tables on each.
    nodes: Vec<(SocketAddr, Vec<String>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password: Option<Kept>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls: Option<TlsWords>,
}

/// Where a password is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    File(PathBuf),
    Env(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TlsWords {
    ca: Option<PathBuf>,
    verify: bool,
    server_name: Option<String>,
}

impl Switch {
    /// What switches the compactions of these tables; each node by its address for CQL.
    ///
    /// # Errors
    /// The password is nowhere from where another process could read it.
    pub fn of(
        keyspace: &str,
        nodes: &[(SocketAddr, Vec<&str>)],
        access: &JolokiaAccess,
    ) -> Result<Switch> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).with_context(|| format!("find {}", path.display()))
        };
        let password = match &access.password {
            None => None,
            Some(SecretSource::File(path)) => Some(Kept::File(absolute(path)?)),
            Some(SecretSource::Env(name)) => Some(Kept::Env(name.clone())),
            Some(SecretSource::Named(_) | SecretSource::Held(_)) => {
                bail!("the password of the Jolokia agents is in no file and no variable")
            }
        };
        let tls = |tls: &TlsSpec| -> Result<TlsWords> {
            Ok(TlsWords {
                ca: tls.ca.as_ref().map(absolute).transpose()?,
                verify: tls.verify,
                server_name: tls.server_name.clone(),
            })
        };
        let node = |(address, tables): &(SocketAddr, Vec<&str>)| {
            let tables = tables.iter().map(|table| (*table).to_owned());
            (
                SocketAddr::new(address.ip(), access.port),
                tables.collect(),
            )
        };
        Ok(Switch {
            keyspace: keyspace.to_owned(),
            nodes: nodes.iter().map(node).collect(),
            user: access.user.clone(),
            password,
            tls: access.tls.as_ref().map(tls).transpose()?,
        })
    }

    fn program(&self, argument: &str) -> Result<Invocation> {
        let words = serde_json::to_string(self).context("put nodes and tables into words")?;
        Ok(Invocation {
            words: vec![OURSELVES.to_owned(), argument.to_owned(), words],
            folder: PathBuf::from("/"),
        })
    }

    /// Switches them off, all nodes of them, or none.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn off(&self, agent: &Arc<host::Agent>) -> Result<SwitchedOff> {
        let what = Injection::Command {
            inject: self.program(OFF)?,
            heal: self.program(ON)?,
        };
        let by = agent.inject(what, OFF_AT_MOST).context("disable compactions")?;
        Ok(SwitchedOff {
            agent: Arc::clone(agent),
            by,
        })
    }

    /// Does it to all nodes, also when one has failed.
    fn perform(&self, argument: &str) -> Result<()> {
        let access = JolokiaAccess {
            port: 0,
            user: self.user.clone(),
            password: self.password.clone().map(|kept| match kept {
                Kept::File(path) => SecretSource::File(path),
                Kept::Env(name) => SecretSource::Env(name),
            }),
            tls: self.tls.clone().map(|tls| TlsSpec {
                ca: tls.ca,
                verify: tls.verify,
                server_name: tls.server_name,
            }),
        };
        let of_node = |(address, tables): &(SocketAddr, Vec<String>)| -> Result<()> {
            let agent = Jolokia::attached(*address, &access)?;
            let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
            let done = if argument == ON {
                mbeans::enable_compaction(&agent, &self.keyspace, &tables)
            } else {
                mbeans::disable_compaction(&agent, &self.keyspace, &tables)
            };
            done.with_context(|| format!("ask {address}"))
        };
        let all: Vec<Result<()>> = self.nodes.iter().map(of_node).collect();
        all.into_iter().collect()
    }
}

/// Compactions that are off, until they are on again.
pub(crate) struct SwitchedOff {
    agent: Arc<host::Agent>,
    by: Broken,
}

impl SwitchedOff {
    /// Switches them on again.
    ///
    /// # Errors
    /// A node does not answer. The agent tries once more when it ends.
    pub fn on(self) -> Result<()> {
        self.agent.heal(self.by).map(drop).context("enable compactions again")
    }
}

/// Does what this program was started for; `None` if it was started for something else.
pub(crate) fn answer() -> Option<Result<()>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, argument, switch] = &words[..] else {
        return None;
    };
    let known = [OFF, ON].into_iter().find(|known| known == argument)?;
    let switch = serde_json::from_str(switch).context("read which compactions are meant");
    Some(switch.and_then(|switch: Switch| switch.perform(known)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use target::Secret;

    #[test]
    fn the_argument_says_where_the_password_is_and_not_what_it_is() {
        let mut access = JolokiaAccess {
            user: Some("anna".to_owned()),
            password: Some(SecretSource::File("/etc/jolokia".into())),
            tls: Some(TlsSpec::default()),
            ..JolokiaAccess::default()
        };
        let nodes = [("10.0.0.1:9042".parse().unwrap(), vec!["a", "b"])];
        let switch = Switch::of("k", &nodes, &access).unwrap();
        let program = switch.program(ON).unwrap();
        let again: Switch = serde_json::from_str(&program.words[2]).unwrap();
        assert_eq!(again, switch);
        assert!(
            program.words[2].contains("10.0.0.1:8778"),
            "{}",
            program.words[2]
        );
        access.password = Some(SecretSource::Held(Secret::new("hunter2".to_owned())));
        let said = Switch::of("k", &nodes, &access).unwrap_err().to_string();
        assert!(said.contains("in no file and no variable"), "{said}");
    }
}
