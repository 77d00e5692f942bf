//! Where an agent is to be had, as a user names it: on a machine that `ssh` finds, or in a pod that
//! `kubectl` finds. What must hold: neither of them nor a shell reads anything of it but a name.

use anyhow::{Result, ensure};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where this program is to run as an agent, and how one gets there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    place: Place,
    /// What leads there: `ssh` or `kubectl`.
    program: PathBuf,
    folder: Option<String>,
    agent: String,
    fate: Option<Fate>,
}

/// Who knows what has become of a place, once nobody answers there any more: asked once, and may
/// take some seconds.
#[derive(Clone)]
pub struct Fate(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl Fate {
    /// `told` says what has become of it, if that is known.
    pub fn new(told: impl Fn() -> Option<String> + Send + Sync + 'static) -> Fate {
        Fate(Arc::new(told))
    }

    pub(crate) fn told(&self) -> Option<String> {
        self.0()
    }
}

impl fmt::Debug for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fate")
    }
}

/// Two ways to a place lead to one, whoever knows of it.
impl PartialEq for Fate {
    fn eq(&self, _: &Fate) -> bool {
        true
    }
}

impl Eq for Fate {}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A machine, as `ssh` knows it.
    Machine { ssh: String, is_root_wanted: bool },
    /// A container.
    Pod(Pod),
}

/// A container of a pod, as `kubectl` knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// The context of the user's configuration; none: the current one.
    pub context: Option<String>,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The container in it.
    pub container: String,
    /// The node that it is on.
    pub node: String,
    /// Its address in the network of pods.
    pub address: Option<IpAddr>,
}

/// Whether Kubernetes may call something so: an object, a namespace, a container.
pub fn is_kubernetes_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text.starts_with(is_plain)
        && text.ends_with(is_plain)
        && text.chars().all(|c| is_plain(c) || c == '-' || c == '.')
}

/// Whether it can be a context of a configuration, which are called by anything: no option, and
/// nothing for a terminal.
pub fn is_context_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.chars().any(char::is_control)
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
        Ok(Destination {
            place: Place::Machine {
                ssh: ssh.to_owned(),
                is_root_wanted: sudo,
            },
            program: "ssh".into(),
            folder: folder.map(|folder| plain_folder(ssh, folder)).transpose()?,
            agent: "machine".to_owned(),
            fate: None,
        })
    }

    /// A container of a pod. The program is put into `folder` there, which is one that it may write
    /// into and start programs from.
    ///
    /// # Errors
    /// What is no name, and no folder, with what to write.
    pub fn of_pod(pod: Pod, folder: &str) -> Result<Destination> {
        for name in [&pod.namespace, &pod.name, &pod.container] {
            ensure!(
                is_kubernetes_name(name),
                "{name:?} is no name of Kubernetes: write lower case letters, digits, `-` and `.`"
            );
        }
        let context = pod.context.as_deref();
        ensure!(
            context.is_none_or(is_context_name),
            "{context:?} is no context of kubectl: see `kubectl config get-contexts`"
        );
        let folder = plain_folder(&pod.name, folder)?;
        Ok(Destination {
            place: Place::Pod(pod),
            program: "kubectl".into(),
            folder: Some(folder),
            agent: "machine".to_owned(),
            fate: None,
        })
    }

    /// The same by another program of that kind than the one that is found by its name.
    #[must_use]
    pub fn by_program(self, program: &Path) -> Destination {
        Destination {
            program: program.to_owned(),
            ..self
        }
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

    /// The same, where somebody knows what becomes of the place.
    #[must_use]
    pub fn with_fate(self, fate: Fate) -> Destination {
        Destination {
            fate: Some(fate),
            ..self
        }
    }

    pub(super) fn fate(&self) -> Option<Fate> {
        self.fate.clone()
    }

    /// What the agent is to be called.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// What it is called: the machine as `ssh` knows it, or the pod.
    pub fn name(&self) -> &str {
        match &self.place {
            Place::Machine { ssh, .. } => ssh,
            Place::Pod(pod) => &pod.name,
        }
    }

    /// The same for people: `load-0-x7k2p on node7`.
    pub fn words(&self) -> String {
        match &self.place {
            Place::Machine { ssh, .. } => ssh.clone(),
            Place::Pod(Pod { name, node, .. }) => format!("{name} on {node}"),
        }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// Whether the agent is to be root, and is not anyway.
    pub fn is_root_wanted(&self) -> bool {
        matches!(
            self.place,
            Place::Machine {
                is_root_wanted: true,
                ..
            }
        )
    }

    /// The folder for the program and for what it writes, if one was named.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// A command line that does `words` there, for people.
    pub(super) fn command_words(&self, words: &str) -> String {
        match &self.place {
            Place::Machine { ssh, .. } => format!("ssh {ssh} {words}"),
            Place::Pod(pod) => {
                let named = pod.context.iter().map(|name| format!("--context {name} "));
                let context: String = named.collect();
                let Pod {
                    namespace,
                    name,
                    container,
                    ..
                } = pod;
                format!("kubectl {context}-n {namespace} exec {name} -c {container} -- {words}")
            }
        }
    }
}

/// A folder for the program on `whose`.
fn plain_folder(whose: &str, folder: &str) -> Result<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._+@=:,-".contains(c);
    let is_below = folder.split('/').all(|part| part != ".." && part != ".");
    ensure!(
        folder.starts_with('/') && folder.chars().all(is_plain) && is_below,
        "{folder:?} is no folder for the program on {whose}: write an absolute path of letters, \
         digits and any of ._+@=:,-"
    );
    ensure!(
        folder.chars().any(|c| c != '/'),
        "the program on {whose} is not put into {folder:?} itself: name a folder in it"
    );
    Ok(folder.trim_end_matches('/').to_owned())
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
            assert_eq!(Destination::new(ssh, false, None).unwrap().name(), ssh);
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

    fn pod(name: &str) -> Pod {
        Pod {
            context: Some("kind lab".into()),
            namespace: "db".into(),
            name: name.into(),
            container: "client".into(),
            node: "n1".into(),
            address: None,
        }
    }

    #[test]
    fn a_pod_is_a_name_of_kubernetes() {
        for name in ["", "-x", "a b", "A", "a/b", "a;b", "a-"] {
            let error = Destination::of_pod(pod(name), "/run/cassay").unwrap_err();
            assert!(error.to_string().contains("is no name"), "{error}");
        }
        let there = Destination::of_pod(pod("load-3-x7k2p"), "/run/cassay").unwrap();
        assert_eq!(there.name(), "load-3-x7k2p");
        let as_option = Pod {
            context: Some("--token=x".into()),
            ..pod("a")
        };
        let error = Destination::of_pod(as_option, "/run/cassay").unwrap_err();
        assert!(error.to_string().contains("is no context"), "{error}");
    }
}
