//! Arguments that name machines: remote machines over ssh, this machine, or the hosts of a kept
//! cluster.

use super::{AllowArgs, ClusterName, contact_point, secret, target_setting};
use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use host::Destination;
use target_spec::SecretSource;

/// Hosts to examine.
#[derive(Clone, Debug)]
pub enum MachineAt {
    /// Hosts of a kept cluster.
    Kept,
    Local,
    /// Remote machines by their ssh names.
    Ssh(Vec<String>),
    /// Machines of the nodes of an attached cluster. The value is the unchanged text of the
    /// argument.
    Attach(String),
}

/// Access to an attached cluster, and the machines of its nodes.
#[derive(Debug, ClapArgs)]
pub struct WayInArgs {
    /// Setting of an attached cluster, written as in a study, such as target.attach.hosts={ssh:
    /// [db1, db2]}. Repeatable.
    #[arg(long, value_name = "target.PATH=VALUE", requires = "target",
          value_parser = target_setting)]
    pub set: Vec<String>,
    /// Source of a secret that a setting names: NAME=file:PATH or NAME=env:VARIABLE. Repeatable.
    #[arg(long, value_name = "NAME=SOURCE", requires = "target", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
}

impl WayInArgs {
    /// Checks that the options are absent, for a command without an attached cluster.
    ///
    /// # Errors
    /// An option is present.
    pub fn nothing(&self) -> Result<()> {
        ensure!(
            self.set.is_empty() && self.secret.is_empty(),
            "--set and --secret require a cluster that cassay did not start; add --target \
             attach:HOST"
        );
        Ok(())
    }
}

/// Cluster to break.
#[derive(Debug, ClapArgs)]
pub struct BrokenArgs {
    /// Cluster that cassay did not start, to use instead of a kept cluster. --set names the
    /// machines of the nodes, and --allow names the permitted changes.
    #[arg(long, value_name = "attach:HOST[:PORT]", value_parser = attached)]
    pub target: Option<String>,
    #[command(flatten)]
    pub way_in: WayInArgs,
    #[command(flatten)]
    pub allow: AllowArgs,
    #[command(flatten)]
    pub cluster: ClusterName,
}

/// Cluster to clean.
#[derive(Debug, ClapArgs)]
pub struct CleanArgs {
    /// Cluster to clean.
    #[arg(long, value_name = "attach:HOST[:PORT]", value_parser = attached)]
    pub target: String,
    #[command(flatten)]
    pub way_in: WayInArgs,
    #[command(flatten)]
    pub allow: AllowArgs,
    /// Drop the tables without confirmation.
    #[arg(long)]
    pub yes: bool,
}

/// Target of a query for capabilities.
#[derive(Clone, Debug)]
pub enum Elsewhere {
    /// An attached cluster.
    Attach(String),
    /// A remote machine by its ssh name.
    Ssh(String),
}

/// Way in which this program runs on a remote machine.
#[derive(Debug, ClapArgs)]
pub struct SshArgs {
    /// Become root on remote machines with `sudo -n`, which never asks for a password.
    #[arg(long, requires = "target")]
    pub sudo: bool,
    /// Folder on remote machines to which cassay copies this program. The copy remains in this
    /// folder for later commands. Default: your cache on the machine (~/.cache/cassay/agents).
    #[arg(long, value_name = "FOLDER", requires = "target")]
    pub folder: Option<String>,
}

impl SshArgs {
    /// Returns the machine with this name.
    ///
    /// # Errors
    /// The name is not a destination of ssh, or the folder is not a plain path.
    pub fn destination(&self, name: &str) -> Result<Destination> {
        Destination::new(name, self.sudo, self.folder.as_deref())
    }

    /// Checks that the options are absent, for a command without remote machines.
    ///
    /// # Errors
    /// An option is present.
    pub fn nothing(&self) -> Result<()> {
        ensure!(
            !self.sudo && self.folder.is_none(),
            "--sudo and --folder require machines that cassay reaches by ssh; add --target \
             ssh:HOST"
        );
        Ok(())
    }
}

/// Parses a name for `ssh`: `HOST` or, behind `ssh:`, `//USER@HOST:PORT`.
fn ssh_name(text: &str) -> Result<String, String> {
    let name = if text.starts_with("//") {
        format!("ssh:{text}")
    } else {
        text.to_owned()
    };
    let checked = Destination::new(&name, false, None);
    checked.map(|_| name).map_err(|error| format!("{error:#}"))
}

/// Checks that the text has the form `attach:HOST[:PORT]`, and returns it unchanged, because the
/// resolver of studies parses it later.
fn attached(text: &str) -> Result<String, String> {
    contact_point(text).map(|_| text.to_owned())
}

/// Parses `ssh:HOST` or `ssh://USER@HOST:PORT`. Parses any other text as [`contact_point`] does.
pub(super) fn elsewhere(text: &str) -> Result<Elsewhere, String> {
    match text.strip_prefix("ssh:") {
        Some(name) => ssh_name(name).map(Elsewhere::Ssh),
        None => contact_point(text)
            .map(Elsewhere::Attach)
            .map_err(|words| format!("{words}, or ssh:HOST")),
    }
}

/// Parses `kept`, `local`, `ssh:HOST` or, for several machines, `ssh:HOST,HOST`. Parses any other
/// text as [`contact_point`] does.
pub(super) fn examined(text: &str) -> Result<MachineAt, String> {
    match (text, text.strip_prefix("ssh:")) {
        ("kept", _) => Ok(MachineAt::Kept),
        ("local", _) => Ok(MachineAt::Local),
        (_, Some(names)) => {
            let name = |name: &str| ssh_name(name.strip_prefix("ssh:").unwrap_or(name));
            names.split(',').map(name).collect::<Result<_, _>>().map(MachineAt::Ssh)
        }
        _ if contact_point(text).is_ok() => Ok(MachineAt::Attach(text.to_owned())),
        _ => Err("write kept, local, ssh:HOST, ssh:HOST,HOST or attach:HOST".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_named_one_by_one_or_together() {
        let names = |text: &str| match examined(text) {
            Ok(MachineAt::Ssh(names)) => names,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(names("ssh:db1"), ["db1"]);
        assert_eq!(names("ssh:db1,me@db2"), ["db1", "me@db2"]);
        assert_eq!(names("ssh://me@db1:22,ssh:db2"), ["ssh://me@db1:22", "db2"]);
        assert!(matches!(examined("attach:db1"), Ok(MachineAt::Attach(_))));
        for bad in [
            "attach:",
            "ssh:",
            "ssh:db1,",
            "ssh:-oProxyCommand=x",
            "ssh:a b",
            "db1",
        ] {
            assert!(examined(bad).is_err(), "{bad}");
        }
        assert!(
            matches!(elsewhere("ssh://db1:22"), Ok(Elsewhere::Ssh(name)) if name == "ssh://db1:22")
        );
        assert!(elsewhere("ssh:db1,db2").is_err());
    }
}
