//! Machines as arguments: those that `ssh` finds, this one, and the hosts of a kept cluster.

use super::{AllowArgs, ClusterName, contact_point, secret, target_setting};
use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use host::Destination;
use target_spec::SecretSource;

/// Which hosts are looked at.
#[derive(Clone, Debug)]
pub enum MachineAt {
    /// Those of a kept cluster.
    Kept,
    /// This machine.
    Local,
    /// Machines that `ssh` finds by these names.
    Ssh(Vec<String>),
    /// Those of the nodes of a cluster that is attached to, as it was written.
    Attach(String),
}

/// How one gets in to a cluster that is attached to, and where the machines of its nodes are.
#[derive(Debug, ClapArgs)]
pub struct WayInArgs {
    /// A setting of an attached cluster as in a study, as target.attach.hosts={ssh: [db1, db2]};
    /// may be given again.
    #[arg(long, value_name = "target.PATH=VALUE", requires = "target",
          value_parser = target_setting)]
    pub set: Vec<String>,
    /// Where the secret is that a setting has a name for: NAME=file:PATH or NAME=env:VARIABLE; may
    /// be given again.
    #[arg(long, value_name = "NAME=WHERE", requires = "target", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
}

impl WayInArgs {
    /// That nothing is said of it where no cluster is attached to.
    ///
    /// # Errors
    /// Something is.
    pub fn nothing(&self) -> Result<()> {
        ensure!(
            self.set.is_empty() && self.secret.is_empty(),
            "--set and --secret are for a cluster that is attached to: --target attach:HOST"
        );
        Ok(())
    }
}

/// What is broken.
#[derive(Debug, ClapArgs)]
pub struct BrokenArgs {
    /// A cluster that somebody else runs, instead of a kept one; --set names its nodes' machines,
    /// and --allow what may be done there.
    #[arg(long, value_name = "attach:HOST[:PORT]", value_parser = attached)]
    pub target: Option<String>,
    #[command(flatten)]
    pub way_in: WayInArgs,
    #[command(flatten)]
    pub allow: AllowArgs,
    #[command(flatten)]
    pub cluster: ClusterName,
}

/// The cluster that is cleaned.
#[derive(Debug, ClapArgs)]
pub struct CleanArgs {
    /// The cluster.
    #[arg(long, value_name = "attach:HOST[:PORT]", value_parser = attached)]
    pub target: String,
    #[command(flatten)]
    pub way_in: WayInArgs,
    #[command(flatten)]
    pub allow: AllowArgs,
    /// Drop the tables without asking.
    #[arg(long)]
    pub yes: bool,
}

/// Where abilities are asked for.
#[derive(Clone, Debug)]
pub enum Elsewhere {
    /// A cluster that is attached to.
    Attach(String),
    /// A machine that `ssh` finds by this name.
    Ssh(String),
}

/// How this program runs on a machine that `ssh` finds.
#[derive(Debug, ClapArgs)]
pub struct SshArgs {
    /// Be root on machines that ssh finds, by `sudo -n`, which never asks for a password.
    #[arg(long, requires = "target")]
    pub sudo: bool,
    /// Where the program is put and run on machines that ssh finds. Default: your cache there
    /// (~/.cache/cassay/agents). It stays for the next time.
    #[arg(long, value_name = "FOLDER", requires = "target")]
    pub folder: Option<String>,
}

impl SshArgs {
    /// The machine of this name.
    ///
    /// # Errors
    /// The folder is none.
    pub fn destination(&self, name: &str) -> Result<Destination> {
        Destination::new(name, self.sudo, self.folder.as_deref())
    }

    /// That nothing is said of them where there are none.
    ///
    /// # Errors
    /// Something is.
    pub fn nothing(&self) -> Result<()> {
        ensure!(
            !self.sudo && self.folder.is_none(),
            "--sudo and --folder are for machines that ssh finds: --target ssh:HOST"
        );
        Ok(())
    }
}

/// A name that `ssh` may know: `HOST` or, behind `ssh:`, `//USER@HOST:PORT`.
fn ssh_name(text: &str) -> Result<String, String> {
    let name = if text.starts_with("//") {
        format!("ssh:{text}")
    } else {
        text.to_owned()
    };
    let checked = Destination::new(&name, false, None);
    checked.map(|_| name).map_err(|error| format!("{error:#}"))
}

/// The whole of `attach:HOST[:PORT]`, as studies and settings are resolved with it.
fn attached(text: &str) -> Result<String, String> {
    contact_point(text).map(|_| text.to_owned())
}

/// `ssh:HOST`, `ssh://USER@HOST:PORT`, or as [`contact_point`].
pub(super) fn elsewhere(text: &str) -> Result<Elsewhere, String> {
    match text.strip_prefix("ssh:") {
        Some(name) => ssh_name(name).map(Elsewhere::Ssh),
        None => contact_point(text)
            .map(Elsewhere::Attach)
            .map_err(|words| format!("{words}, or ssh:HOST")),
    }
}

/// `kept`, `local`, `ssh:HOST`, several as `ssh:HOST,HOST`, or as [`contact_point`].
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
