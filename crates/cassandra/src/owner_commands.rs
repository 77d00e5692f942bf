//! Operations on attached nodes that are undone even if processes are killed.
//!
//! The agent on the machine that runs cassay starts this program to perform an operation. The agent
//! starts the program again to undo the operation: on request, after a time limit, or when the
//! controller has ended. One argument contains all parameters, including the location of a secret,
//! but never the secret itself.

use crate::address_map::NodeAddressMap;
use crate::jolokia::Jolokia;
use crate::mbeans;
use anyhow::{Context, Result, bail};
use host::{Broken, Injection};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use target_spec::{Invocation, JolokiaAccess, SecretSource, TlsSpec};

/// First argument for performing an operation. The second argument contains the parameters.
const GIVE: &str = "tell-nodes";
const TAKE_BACK: &str = "take-back-what-nodes-were-told";

/// Path from which another process can start the running program, even if its file has been
/// replaced.
pub const OURSELVES: &str = "/proc/self/exe";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    NoCompactions,
    /// Takes a snapshot with this name. Undoing the operation removes the snapshot.
    Snapshot(String),
}

impl Act {
    /// Returns the time after which the agent undoes the operation even if the controller is alive.
    fn at_most(&self) -> Duration {
        const HOUR: Duration = Duration::from_secs(60 * 60);
        match self {
            // An import is faster, because it only creates links and reads the index of each
            // SSTable.
            Act::NoCompactions => 2 * HOUR,
            // Longer than any run.
            Act::Snapshot(_) => 366 * 24 * HOUR,
        }
    }
}

/// Operation, with the nodes and the data for access to the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    act: Act,
    keyspace: String,
    /// Addresses of Jolokia agents, each with the tables on its node.
    nodes: Vec<(SocketAddr, Vec<String>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    password: Option<PasswordPlace>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls: Option<TlsWords>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PasswordPlace {
    File(PathBuf),
    Env(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TlsWords {
    ca: Option<PathBuf>,
    verify: bool,
    server_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cert: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<PathBuf>,
}

impl Order {
    /// Builds the operation for the given tables of each node. A node is identified by the address
    /// of its Jolokia agent.
    ///
    /// # Errors
    /// Another process could not read the password from its source.
    pub fn build(
        act: Act,
        keyspace: &str,
        nodes: &[(SocketAddr, Vec<&str>)],
        access: &JolokiaAccess,
    ) -> Result<Order> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).with_context(|| format!("find {}", path.display()))
        };
        let password = match &access.password {
            None => None,
            Some(SecretSource::File(path)) => Some(PasswordPlace::File(absolute(path)?)),
            Some(SecretSource::Env(name)) => Some(PasswordPlace::Env(name.clone())),
            Some(SecretSource::Named(_) | SecretSource::Held(_)) => {
                bail!(
                    "the password of the Jolokia agents has no source: set the file or the \
                     environment variable that contains the password"
                )
            }
        };
        let tls = |tls: &TlsSpec| -> Result<TlsWords> {
            Ok(TlsWords {
                ca: tls.ca.as_ref().map(absolute).transpose()?,
                verify: tls.verify,
                server_name: tls.server_name.clone(),
                cert: tls.cert.as_ref().map(absolute).transpose()?,
                key: tls.key.as_ref().map(absolute).transpose()?,
            })
        };
        let node = |(address, tables): &(SocketAddr, Vec<&str>)| {
            let tables = tables.iter().map(|table| (*table).to_owned());
            (*address, tables.collect())
        };
        Ok(Order {
            act,
            keyspace: keyspace.to_owned(),
            nodes: nodes.iter().map(node).collect(),
            user: access.user.clone(),
            password,
            tls: access.tls.as_ref().map(tls).transpose()?,
        })
    }

    fn program(&self, argument: &str) -> Result<Invocation> {
        let words = serde_json::to_string(self).context("encode nodes and tables")?;
        Ok(Invocation {
            words: vec![OURSELVES.to_owned(), argument.to_owned(), words],
            folder: PathBuf::from("/"),
        })
    }

    /// Performs the operation on all nodes. If one node fails, undoes the operation on all nodes.
    ///
    /// # Errors
    /// A node does not answer, or refuses the operation.
    pub fn give(&self, agent: &Arc<host::Agent>) -> Result<GivenOrder> {
        let what = Injection::Command {
            inject: self.program(GIVE)?,
            heal: self.program(TAKE_BACK)?,
        };
        let by = agent.inject(what, self.act.at_most())?;
        Ok(GivenOrder {
            agent: Arc::clone(agent),
            by,
        })
    }

    fn access(&self) -> JolokiaAccess {
        JolokiaAccess {
            // The addresses already include the port.
            port: 0,
            user: self.user.clone(),
            password: self.password.clone().map(|kept| match kept {
                PasswordPlace::File(path) => SecretSource::File(path),
                PasswordPlace::Env(name) => SecretSource::Env(name),
            }),
            tls: self.tls.clone().map(|tls| TlsSpec {
                ca: tls.ca,
                verify: tls.verify,
                server_name: tls.server_name,
                cert: tls.cert,
                key: tls.key,
            }),
        }
    }

    /// Performs an action on all nodes, even if some nodes fail.
    fn on_all(&self, what: impl Fn(&Jolokia, &[&str]) -> Result<()>) -> Result<()> {
        let access = self.access();
        let of_node = |(address, tables): &(SocketAddr, Vec<String>)| -> Result<()> {
            let agent = Jolokia::attached(*address, &access, &NodeAddressMap::default())?;
            let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
            what(&agent, &tables).with_context(|| format!("tell {address}"))
        };
        let all: Vec<Result<()>> = self.nodes.iter().map(of_node).collect();
        all.into_iter().collect()
    }

    fn tell(&self) -> Result<()> {
        let keyspace = self.keyspace.as_str();
        self.on_all(|agent, tables| match &self.act {
            Act::NoCompactions => mbeans::disable_compaction(agent, keyspace, tables),
            Act::Snapshot(tag) => mbeans::take_snapshot(agent, tag, keyspace, tables),
        })
    }

    fn take_back(&self) -> Result<()> {
        let keyspace = self.keyspace.as_str();
        self.on_all(|agent, tables| match &self.act {
            Act::NoCompactions => mbeans::enable_compaction(agent, keyspace, tables),
            Act::Snapshot(tag) => mbeans::clear_snapshot(agent, tag, keyspace),
        })
    }
}

#[derive(Debug)]
pub struct GivenOrder {
    agent: Arc<host::Agent>,
    by: Broken,
}

impl GivenOrder {
    /// # Errors
    /// A node does not answer. The agent retries the undo when the agent ends.
    pub fn take_back(self) -> Result<()> {
        self.agent.heal(self.by).map(drop)
    }
}

/// Performs or undoes an operation if an agent started this process for that purpose. Otherwise
/// returns `None` without doing anything.
pub fn answer() -> Option<Result<()>> {
    let words: Vec<_> = std::env::args_os().collect();
    let [_, argument, order] = &words[..] else {
        return None;
    };
    let act = match argument.to_str()? {
        GIVE => Order::tell,
        TAKE_BACK => Order::take_back,
        _ => return None,
    };
    let order = order
        .to_str()
        .context("read the request: it is not UTF-8")
        .and_then(|text| serde_json::from_str(text).context("read the request"));
    Some(order.and_then(|order: Order| act(&order)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use target_spec::Secret;

    #[test]
    fn the_argument_says_where_the_password_is_and_not_what_it_is() {
        let mut access = JolokiaAccess {
            user: Some("anna".to_owned()),
            password: Some(SecretSource::File("/etc/jolokia".into())),
            tls: Some(TlsSpec::default()),
            ..JolokiaAccess::default()
        };
        let nodes = [("10.0.0.1:8778".parse().unwrap(), vec!["a", "b"])];
        let order = Order::build(Act::Snapshot("x-1".to_owned()), "k", &nodes, &access).unwrap();
        let program = order.program(TAKE_BACK).unwrap();
        let again: Order = serde_json::from_str(&program.words[2]).unwrap();
        assert_eq!(again, order);
        assert_eq!(again.access().password, access.password);
        let said = &program.words[2];
        assert!(said.contains("10.0.0.1:8778"), "{said}");
        access.password = Some(SecretSource::Held(Secret::new("hunter2".to_owned())));
        let said = Order::build(Act::NoCompactions, "k", &nodes, &access).unwrap_err().to_string();
        assert!(said.contains("has no source"), "{said}");
    }
}
