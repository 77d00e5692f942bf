//! Destination of an agent: a machine for `ssh`, or a pod for `kubectl`. Invariant: these programs
//! and shells interpret every part of a destination only as a name.

use anyhow::{Result, ensure};
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Machine or pod for an agent, and the program that connects to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    place: DestinationKind,
    /// `ssh` or `kubectl`.
    program: PathBuf,
    folder: Option<String>,
    agent: String,
    fate: Option<Fate>,
}

/// Function that determines why a destination no longer answers. cassay calls it once, and it may
/// take a few seconds.
#[derive(Clone)]
pub struct Fate(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl Fate {
    /// Creates a value from a function that returns the reason, if it is known.
    pub fn new(told: impl Fn() -> Option<String> + Send + Sync + 'static) -> Fate {
        Fate(Arc::new(told))
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.0()
    }
}

impl fmt::Debug for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fate")
    }
}

/// All fates are equal, so that they do not affect the equality of destinations.
impl PartialEq for Fate {
    fn eq(&self, _: &Fate) -> bool {
        true
    }
}

impl Eq for Fate {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DestinationKind {
    /// Machine, with the name that `ssh` uses.
    Machine {
        ssh: String,
        is_root_wanted: bool,
    },
    Pod(Pod),
}

/// Container of a pod, with the names that `kubectl` uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Context in the user's configuration of `kubectl`. `None` means the current context.
    pub context: Option<String>,
    pub namespace: String,
    pub name: String,
    pub container: String,
    /// Kubernetes node that runs the pod.
    pub node: String,
    /// Address of the pod in the pod network, if known.
    pub address: Option<IpAddr>,
}

/// Returns true if `kubectl` interprets a text as one name, and not as an option, a type or several
/// words. The crate `target_spec` implements Kubernetes' stricter rule.
fn is_one_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_plain) && text.chars().all(|c| is_plain(c) || c == '-' || c == '.')
}

/// Returns true if a text can be the name of a context: any characters except control characters,
/// but not like an option.
pub fn is_context_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.chars().any(char::is_control)
}

impl Destination {
    /// Creates the destination of a machine. `ssh` is HOST, USER@HOST or `ssh://USER@HOST:PORT`.
    /// With `sudo`, the agent runs as root, by `sudo -n` unless the user is already root. `folder`
    /// on the machine contains the program and the agent's files. Without a folder, the program is
    /// in the user's cache.
    ///
    /// # Errors
    /// The name or the folder is invalid. The error contains the valid form.
    pub fn new(ssh: &str, sudo: bool, folder: Option<&str>) -> Result<Destination> {
        // `ssh` passes names to shells if its configuration uses `%h` or `%r`.
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"'`$;&|<>(){}*?!#,".contains(c);
        ensure!(
            ssh.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && ssh.chars().all(is_plain),
            "{ssh:?} is not a destination for ssh: write HOST, USER@HOST or ssh://USER@HOST:PORT"
        );
        Ok(Destination {
            place: DestinationKind::Machine {
                ssh: ssh.to_owned(),
                is_root_wanted: sudo,
            },
            program: "ssh".into(),
            folder: folder.map(|folder| plain_folder(ssh, folder)).transpose()?,
            agent: "machine".to_owned(),
            fate: None,
        })
    }

    /// Creates the destination of a container. cassay copies the program into `folder` in the
    /// container, which must be writable and not mounted with noexec.
    ///
    /// # Errors
    /// A name or the folder is invalid. The error contains the valid form.
    pub fn from_pod(pod: Pod, folder: &str) -> Result<Destination> {
        for name in [&pod.namespace, &pod.name, &pod.container] {
            ensure!(
                is_one_name(name),
                "{name:?} is not a name in Kubernetes; use only lower-case letters, digits, `-` \
                 and `.`"
            );
        }
        let context = pod.context.as_deref();
        ensure!(
            context.is_none_or(is_context_name),
            "{context:?} is not a context of kubectl: see `kubectl config get-contexts`"
        );
        let folder = plain_folder(&pod.name, folder)?;
        Ok(Destination {
            place: DestinationKind::Pod(pod),
            program: "kubectl".into(),
            folder: Some(folder),
            agent: "machine".to_owned(),
            fate: None,
        })
    }

    /// Replaces `ssh` or `kubectl` in the search path by `program`.
    #[must_use]
    pub fn by_program(self, program: &Path) -> Destination {
        Destination {
            program: program.to_owned(),
            ..self
        }
    }

    /// Sets the name of the agent, which is `machine` by default. Ignores a name with other
    /// characters than letters, digits and `-`, or with an initial `-`.
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

    /// Sets the function that determines why the destination no longer answers.
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

    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the name of the machine for `ssh`, or of the pod.
    pub fn name(&self) -> &str {
        match &self.place {
            DestinationKind::Machine { ssh, .. } => ssh,
            DestinationKind::Pod(pod) => &pod.name,
        }
    }

    /// Returns the name of the destination in messages, such as `load-0-x7k2p on node7`.
    pub fn words(&self) -> String {
        match &self.place {
            DestinationKind::Machine { ssh, .. } => ssh.clone(),
            DestinationKind::Pod(Pod { name, node, .. }) => format!("{name} on {node}"),
        }
    }

    pub(super) fn place(&self) -> &DestinationKind {
        &self.place
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub fn is_root_wanted(&self) -> bool {
        matches!(
            self.place,
            DestinationKind::Machine {
                is_root_wanted: true,
                ..
            }
        )
    }

    /// Returns the folder for the program and the agent's files, if the destination has one.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Returns a command line that runs `words` at the destination, for messages.
    pub(super) fn command_words(&self, words: &str) -> String {
        match &self.place {
            DestinationKind::Machine { ssh, .. } => format!("ssh {ssh} {words}"),
            DestinationKind::Pod(pod) => {
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

/// Checks the name of the program's folder on the machine `whose`. Removes a slash at its end.
fn plain_folder(whose: &str, folder: &str) -> Result<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._+@=:,-".contains(c);
    let is_below = folder.split('/').all(|part| part != ".." && part != ".");
    ensure!(
        folder.starts_with('/') && folder.chars().all(is_plain) && is_below,
        "{folder:?} is not a folder for the program on {whose}: write an absolute path of letters, \
         digits and any of ._+@=:,-"
    );
    ensure!(
        folder.chars().any(|c| c != '/'),
        "cassay does not copy the program for {whose} directly into {folder:?}: name a folder \
         below it"
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
    fn a_destination_is_never_an_option_a_second_word_or_shell_text() {
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
            assert!(
                error.to_string().contains("is not a destination"),
                "{error}"
            );
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
            assert!(error.to_string().contains("is not a folder"), "{error}");
        }
        let error = Destination::new("db1", false, Some("//")).unwrap_err();
        assert!(
            error.to_string().contains("name a folder below it"),
            "{error}"
        );
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
    fn a_pod_is_one_name_and_its_context_is_no_option() {
        for name in ["", "-x", "a b", "a/b", "a;b", "a\n", "é"] {
            let error = Destination::from_pod(pod(name), "/run/cassay").unwrap_err();
            assert!(error.to_string().contains("is not a name"), "{error}");
        }
        let there = Destination::from_pod(pod("load-3-x7k2p"), "/run/cassay").unwrap();
        assert_eq!(there.name(), "load-3-x7k2p");
        let as_option = Pod {
            context: Some("--token=x".into()),
            ..pod("a")
        };
        let error = Destination::from_pod(as_option, "/run/cassay").unwrap_err();
        assert!(error.to_string().contains("is not a context"), "{error}");
    }
}
