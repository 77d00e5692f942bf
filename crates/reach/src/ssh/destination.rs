//! Where an agent is to be had by `ssh`, as a user names it. What must hold: neither `ssh` nor a
//! shell reads anything of it but a name.

use anyhow::{Result, ensure};
use std::fmt;

/// A machine that `ssh` finds, and how this program is to run there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    ssh: String,
    sudo: bool,
    folder: Option<String>,
    agent: String,
}

impl Destination {
    /// `ssh` is HOST, USER@HOST or `ssh://USER@HOST:PORT`, whatever the program `ssh` knows by that
    /// name; with `sudo` the agent is root there, by `sudo -n` unless it is already. The program is
    /// put into `folder` there and run from it, and so is what the agent writes; without one it is
    /// put into the user's cache.
    ///
    /// # Errors
    /// What is no name, and no folder, with what to write.
    pub fn new(ssh: &str, sudo: bool, folder: Option<&str>) -> Result<Destination> {
        // `ssh` hands names on to shells, where its configuration says `%h` or `%r`.
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"'`$;&|<>(){}*?!#,".contains(c);
        ensure!(
            ssh.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && ssh.chars().all(is_plain),
            "{ssh:?} is no destination for ssh: write HOST, USER@HOST or ssh://USER@HOST:PORT"
        );
        if let Some(folder) = folder {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._+@=:,-".contains(c);
            let is_below = folder.split('/').all(|part| part != ".." && part != ".");
            ensure!(
                folder.starts_with('/') && folder.chars().all(is_plain) && is_below,
                "{folder:?} is no folder for the program on {ssh}: write an absolute path of \
                 letters, digits and any of ._+@=:,-"
            );
            ensure!(
                folder.chars().any(|c| c != '/'),
                "the program on {ssh} is not put into {folder:?} itself: name a folder in it"
            );
        }
        Ok(Destination {
            ssh: ssh.to_owned(),
            sudo,
            folder: folder.map(|folder| folder.trim_end_matches('/').to_owned()),
            agent: "machine".to_owned(),
        })
    }

    /// The same for an agent of another name than `machine`: letters, digits and `-`, or it stays
    /// that.
    #[must_use]
    pub fn for_agent(self, name: &str) -> Destination {
        let is_plain_char = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_plain =
            !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain_char);
        let agent = if is_plain {
            name.to_owned()
        } else {
            self.agent
        };
        Destination { agent, ..self }
    }

    /// What the agent is to be called.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// As `ssh` takes it.
    pub fn ssh(&self) -> &str {
        &self.ssh
    }

    /// Whether the agent is to be root.
    pub fn is_root_wanted(&self) -> bool {
        self.sudo
    }

    /// The folder for the program and for what it writes, if one was named.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.ssh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_no_option_no_second_word_and_nothing_for_a_shell() {
        for ssh in [
            "",
            "-oProxyCommand=x",
            "a b",
            "a\nb",
            "host\u{e9}",
            "a$(id)",
            "a`id`",
            "a;b",
            "a,b",
        ] {
            let error = Destination::new(ssh, false, None).unwrap_err();
            assert!(error.to_string().contains("is no destination"), "{error}");
        }
        for ssh in [
            "db1",
            "me@db1",
            "10.0.0.7",
            "ssh://me@db1:2222",
            "fe80::1%eth0",
            "ssh://[::1]:22",
            "DOMAIN\\me@db1",
            "_git@db1",
        ] {
            assert_eq!(Destination::new(ssh, false, None).unwrap().ssh(), ssh);
        }
    }

    #[test]
    fn a_folder_is_absolute_and_of_one_word() {
        for folder in [
            "", "data", "/a b", "/a/../b", "/$HOME", "/a\n", "~/x", "/./a",
        ] {
            let error = Destination::new("db1", false, Some(folder)).unwrap_err();
            assert!(error.to_string().contains("is no folder"), "{error}");
        }
        let error = Destination::new("db1", false, Some("//")).unwrap_err();
        assert!(error.to_string().contains("name a folder in it"), "{error}");
        let there = Destination::new("db1", true, Some("/data/cassay/")).unwrap();
        assert_eq!(there.folder(), Some("/data/cassay"));
        assert!(there.is_root_wanted());
    }
}
