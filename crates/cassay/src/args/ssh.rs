//! Machines as arguments: those that `ssh` finds, this one, and the hosts of a kept cluster.

use super::contact_point;
use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use host::Destination;

/// Which hosts are looked at.
#[derive(Clone, Debug)]
pub enum MachineAt {
    /// Those of a kept cluster.
    Kept,
    /// This machine.
    Local,
    /// Machines that `ssh` finds by these names.
    Ssh(Vec<String>),
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

/// `ssh:HOST`, `ssh://USER@HOST:PORT`, or as [`contact_point`].
pub(super) fn elsewhere(text: &str) -> Result<Elsewhere, String> {
    match text.strip_prefix("ssh:") {
        Some(name) => ssh_name(name).map(Elsewhere::Ssh),
        None => contact_point(text)
            .map(Elsewhere::Attach)
            .map_err(|words| format!("{words}, or ssh:HOST")),
    }
}

/// `kept`, `local`, `ssh:HOST` or several as `ssh:HOST,HOST`.
pub(super) fn examined(text: &str) -> Result<MachineAt, String> {
    match (text, text.strip_prefix("ssh:")) {
        ("kept", _) => Ok(MachineAt::Kept),
        ("local", _) => Ok(MachineAt::Local),
        (_, Some(names)) => {
            let name = |name: &str| ssh_name(name.strip_prefix("ssh:").unwrap_or(name));
            names.split(',').map(name).collect::<Result<_, _>>().map(MachineAt::Ssh)
        }
        _ => Err("write kept, local, ssh:HOST or ssh:HOST,HOST".to_owned()),
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
        for bad in ["ssh:", "ssh:db1,", "ssh:-oProxyCommand=x", "ssh:a b", "db1"] {
            assert!(examined(bad).is_err(), "{bad}");
        }
        assert!(
            matches!(elsewhere("ssh://db1:22"), Ok(Elsewhere::Ssh(name)) if name == "ssh://db1:22")
        );
        assert!(elsewhere("ssh:db1,db2").is_err());
    }
}
