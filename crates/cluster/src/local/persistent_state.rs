//! Persistent state of a cluster, by which a later command finds the leftovers of a killed one.
//!
//! A cluster has one folder, `DATA/clusters/ID/`. cassay writes its file `state.json` before it
//! starts the first process. A process belongs to the cluster if it is a java with the cluster's
//! mark as a complete argument. cassay kills only such processes and the cluster's agents.
//!
//! Invariants: the content of the file alone never decides the removal. The id must be the name of
//! the folder, and the names of all objects of the cluster must contain the id. Clusters of other
//! machines that share the folder remain untouched.
//! other machines share the folder, cassay does not touch their clusters.

use super::ports::Ports;
use crate::dirs::Dirs;
use anyhow::{Context, Result, bail};
use cassandra::process_tags::{mark, processes};
use foreign::FileKind;
use host::process::{Identity, ProcessSpace};
use host::{Hosts, HostsState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use supply::boot_id;
use target_spec::LocalSpec;
use versions::Release;

/// Format of `state.json`. Format 2 added the spec and the hosts. Format 3 added agents.
const FORMAT: u32 = 3;

/// Oldest readable format. It lacks only fields for the restart of a node.
const FORMAT_MIN: u32 = 1;

const FILE: &str = "state.json";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub format: u32,
    pub id: String,
    /// True if the cluster outlives the command that started it. Set when the cluster is ready.
    pub keep: bool,
    pub owner: Identity,
    /// Boot id when the processes were recorded. After a reboot, other processes may have the
    /// recorded ids.
    pub boot: String,
    /// Machine that runs the processes. Absent in states of earlier versions.
    #[serde(default)]
    pub machine: Option<ProcessSpace>,
    /// Nanoseconds since 1970.
    pub started_unix_ns: u64,
    pub version: String,
    pub datacenter: String,
    /// [`LocalSpec`] of the last start. Another version of cassay may have written it, so only
    /// [`State::spec`] parses it. `target down` works without it.
    #[serde(default)]
    spec: Value,
    /// True from before the first restart of a change until after the last one. Some nodes may then
    /// not yet use `spec`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
    /// Hosts, with all objects that outlive a killed command. cassay writes this field before it
    /// creates the objects.
    #[serde(default)]
    pub hosts: Option<HostsState>,
    pub nodes: Vec<NodeState>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeState {
    pub name: String,
    /// Empty in the oldest format.
    #[serde(default)]
    pub host: String,
    pub address: Ipv4Addr,
    pub cql_port: u16,
    pub rack: String,
    #[serde(default)]
    pub ports: Option<Ports>,
    /// `None` before the start, and while the node is stopped.
    pub process: Option<Identity>,
}

impl NodeState {
    pub fn cql_address(&self) -> SocketAddr {
        SocketAddr::from((self.address, self.cql_port))
    }
}

impl State {
    pub fn new(id: String, version: String, datacenter: String) -> State {
        State {
            format: FORMAT,
            id,
            keep: false,
            owner: Identity::own(),
            boot: boot_id(),
            machine: Some(ProcessSpace::ours()),
            started_unix_ns: measure::clock::unix_ns(),
            version,
            datacenter,
            spec: Value::Null,
            unsettled: false,
            hosts: None,
            nodes: Vec::new(),
        }
    }

    /// Stores the spec in this value, but not on disk.
    pub fn put_spec(&mut self, spec: &LocalSpec) -> Result<()> {
        self.spec = serde_json::to_value(spec).context("encode the spec of the cluster")?;
        Ok(())
    }

    /// Returns the spec. Returns `None` if the spec is missing, or this version of cassay cannot
    /// read it.
    pub fn spec(&self) -> Option<LocalSpec> {
        let spec = LocalSpec::deserialize(&self.spec).ok()?;
        Some(LocalSpec {
            release: Release::built(&self.version)?,
            datacenter: self.datacenter.clone(),
            ..spec
        })
    }

    /// Replaces the file atomically, so that readers never see an incomplete file.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let write = || -> Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.flush()?;
            file.persist(&path)?;
            Ok(())
        };
        write().with_context(|| format!("write {}", path.display()))
    }

    pub fn read(folder: &Path) -> Result<State> {
        let path = folder.join(FILE);
        let text = foreign::text(FileKind::Note, &path)
            .with_context(|| format!("read {}", path.display()))?;
        let state: State =
            serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))?;
        anyhow::ensure!(
            (FORMAT_MIN..=FORMAT).contains(&state.format),
            "{} has the format {}, but this version of cassay supports only the formats \
             {FORMAT_MIN} to {FORMAT}",
            path.display(),
            state.format
        );
        state.check(folder).with_context(|| {
            format!(
                "cassay did not write {}: if no cluster of cassay uses the folder of this file, \
                 remove that folder",
                path.display()
            )
        })?;
        Ok(state)
    }

    /// Checks that the id is the name of the folder, and that the recorded hosts belong to this id.
    fn check(&self, folder: &Path) -> Result<()> {
        let name = folder.file_name().unwrap_or_default();
        anyhow::ensure!(
            is_id(&self.id) && name == self.id.as_str(),
            "the file states the cluster id {:?}, but the name of the folder is {name:?}",
            self.id
        );
        match &self.hosts {
            Some(hosts) => hosts.check(&self.id, folder),
            None => Ok(()),
        }
    }

    /// Returns true if the command that started the cluster still runs. Also returns true for a
    /// cluster of another machine, whose processes are not visible.
    pub fn is_owned(&self) -> bool {
        self.elsewhere().is_some() || (self.boot == boot_id() && self.owner.alive())
    }

    /// Describes the machine of the cluster, unless it is this machine. A state without a machine
    /// belongs to this machine only if it was written since the last boot.
    pub fn elsewhere(&self) -> Option<String> {
        match &self.machine {
            Some(machine) if *machine == ProcessSpace::ours() => None,
            Some(machine) => Some(machine.to_string()),
            None if self.boot == boot_id() => None,
            None => Some("an earlier start of this machine, or another machine".to_owned()),
        }
    }
}

pub(crate) fn clusters_folder(dirs: &Dirs) -> PathBuf {
    dirs.data.join("clusters")
}

fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=64).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('-')
}

/// Returns a unique name. The alphabetical order of names is the order of creation.
pub(crate) fn new_id() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = measure::clock::unix_ns() / measure::clock::MILLISECOND_NS;
    // Further ids in the same millisecond increase by one.
    let next = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    let milliseconds = now.max(last.unwrap_or_default() + 1);
    format!("{milliseconds:x}-{:x}", Identity::own().pid)
}

/// Returns all clusters with a readable state, oldest first, and the errors of the others.
pub(crate) fn all(dirs: &Dirs) -> (Vec<(PathBuf, State)>, Vec<anyhow::Error>) {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(clusters_folder(dirs))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join(FILE).is_file())
        .collect();
    folders.sort();
    let (mut states, mut errors) = (Vec::new(), Vec::new());
    for folder in folders {
        match State::read(&folder) {
            Ok(state) => states.push((folder, state)),
            Err(error) => errors.push(error),
        }
    }
    (states, errors)
}

/// Kills the processes of a cluster, and removes its hosts and its folder. Returns the number of
/// killed processes, or 0 if the hosts were pods.
///
/// A graceful stop would drain the nodes for seconds, which is useless because the data is deleted.
///
/// # Errors
/// The cluster runs on another machine, a process does not end, or a file cannot be removed.
pub(crate) fn remove(folder: &Path, state: &State) -> Result<usize> {
    state.check(folder)?;
    if let Some(machine) = state.elsewhere() {
        bail!(
            "the machine {machine} started the cluster in {0}: stop the cluster on that machine; \
             if the machine no longer exists, remove the folder",
            folder.display()
        );
    }
    if let Some(hosts) = state.hosts.as_ref().filter(|hosts| hosts.are_machines()) {
        if let Some(pod) = hosts.machines.iter().find_map(|machine| machine.pod.as_ref()) {
            kubernetes::remove_pods(pod).with_context(|| {
                format!(
                    "cassay could not remove the pods of the cluster {}: remove them yourself, and \
                     then remove {}",
                    state.id,
                    folder.display()
                )
            })?;
            remove_folder(folder)?;
            return Ok(0);
        }
        let ended = Hosts::clear_over_ssh(hosts, &mark(&state.id)).with_context(|| {
            format!(
                "stop the cluster {} on its machines; if they no longer exist, remove {}",
                state.id,
                folder.display()
            )
        })?;
        remove_folder(folder)?;
        return Ok(ended);
    }
    let processes = processes(&state.id);
    if let Some(hosts) = &state.hosts {
        // A process that waits for a frozen volume cannot be killed.
        Hosts::thaw(hosts)?;
    }
    host::end_agents(&state.id)?;
    for process in &processes {
        process.signal(rustix::process::Signal::KILL);
    }
    for process in &processes {
        process.end(Duration::ZERO)?;
    }
    if let Some(hosts) = &state.hosts {
        Hosts::clear(hosts)?;
    }
    remove_folder(folder)?;
    Ok(processes.len())
}

pub(super) fn remove_folder(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::process::{Life, command, spawn};
    use host::{CgroupDir, HostState};
    use std::os::unix::process::CommandExt;

    fn dirs(root: &Path) -> Dirs {
        Dirs {
            cache: root.join("cache"),
            data: root.join("data"),
        }
    }

    #[test]
    fn a_state_is_read_as_it_was_written_and_others_are_reported() {
        let root = tempfile::tempdir().unwrap();
        let dirs = dirs(root.path());
        for (name, text) in [("a", "{"), ("b", "{\"format\":99}")] {
            let folder = clusters_folder(&dirs).join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(FILE), text).unwrap();
        }
        let folder = clusters_folder(&dirs).join("c");
        std::fs::create_dir_all(&folder).unwrap();
        let mut state = State::new("c".into(), "5.0.6".into(), "dc7".into());
        state.put_spec(&LocalSpec::default()).unwrap();
        state.write(&folder).unwrap();
        let (states, errors) = all(&dirs);
        assert_eq!(errors.len(), 2);
        assert_eq!(states.len(), 1);
        assert!(states[0].1.is_owned() && !states[0].1.keep);
        let spec = LocalSpec {
            release: Release::parse("5.0.6").unwrap(),
            datacenter: "dc7".to_string(),
            ..LocalSpec::default()
        };
        assert_eq!(states[0].1.spec(), Some(spec));
    }

    #[test]
    fn an_unfinished_change_is_found_an_unmarked_state_is_settled() {
        let root = tempfile::tempdir().unwrap();
        let folder = clusters_folder(&dirs(root.path())).join("c");
        std::fs::create_dir_all(&folder).unwrap();
        let mut state = State::new("c".into(), "5.0.8".into(), "dc1".into());
        for unsettled in [true, false] {
            state.unsettled = unsettled;
            state.write(&folder).unwrap();
            let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
            assert_eq!(text.contains("unsettled"), unsettled);
            assert_eq!(State::read(&folder).unwrap().unsettled, unsettled);
        }
    }

    #[test]
    fn a_spec_of_a_later_version_makes_no_state_unreadable() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("c");
        std::fs::create_dir(&folder).unwrap();
        let mut state = State::new("c".into(), "5.0.8".into(), "dc1".into());
        for spec in [Value::Null, serde_json::json!({"collector": "later"})] {
            state.spec = spec;
            state.write(&folder).unwrap();
            assert_eq!(State::read(&folder).unwrap().spec(), None);
        }
    }

    /// When root runs cassay, a manipulated state file must not affect processes or files of other
    /// users.
    #[test]
    fn a_state_that_names_anything_but_its_own_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = clusters_folder(&dirs(root.path())).join("1a2b-c");
        std::fs::create_dir_all(&folder).unwrap();
        let written = |change: &dyn Fn(&mut State)| {
            let mut state = State::new("1a2b-c".into(), "5.0.8".into(), "dc1".into());
            let host = |number: usize| HostState {
                name: format!("host{number}"),
                address: None,
                folder: folder.join(format!("host{number}")),
                volume_bytes: None,
                device: None,
                places: vec![CgroupDir {
                    dir: format!("/sys/fs/cgroup/cassay-1a2b-c-h{number}").into(),
                    unified: true,
                    controllers: Vec::new(),
                }],
            };
            state.hosts = Some(HostsState {
                id: "1a2b-c".into(),
                network: None,
                machines: Vec::new(),
                hosts: vec![host(1), host(2)],
            });
            change(&mut state);
            state.write(&folder).unwrap();
            State::read(&folder).map(|_| ()).map_err(|e| format!("{e:#}"))
        };
        assert_eq!(written(&|_| {}), Ok(()));
        fn host(state: &mut State) -> &mut HostState {
            &mut state.hosts.as_mut().unwrap().hosts[1]
        }
        let place =
            |dir: &'static str| move |state: &mut State| host(state).places[0].dir = dir.into();
        let bad: [&dyn Fn(&mut State); 10] = [
            &|state| state.id = "..".into(),
            &|state| state.id = "other".into(),
            &|state| state.id = "a/b".into(),
            &|state| state.hosts.as_mut().unwrap().id = "other".into(),
            &|state| host(state).name = "../host2".into(),
            &|state| host(state).folder = "/home".into(),
            &place("/sys/fs/cgroup"),
            &place("/sys/fs/cgroup/system.slice"),
            &place("/sys/fs/cgroup/../../etc/cassay-1a2b-c-h2"),
            &place("/sys/fs/cgroup/cassay-1a2b-c-h1"),
        ];
        for (number, bad) in bad.into_iter().enumerate() {
            let said = written(bad).expect_err("refused");
            assert!(said.contains("cassay did not write"), "{number}: {said}");
        }
    }

    #[test]
    fn a_cluster_of_another_machine_is_not_ours_to_remove() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a");
        std::fs::create_dir(&folder).unwrap();
        let mut state = State::new("a".into(), "5.0.8".into(), "dc1".into());
        assert_eq!(state.elsewhere(), None);
        // The owner is this process, which still runs.
        state.machine = Some(ProcessSpace::called("other"));
        assert!(state.is_owned());
        let said = remove(&folder, &state).unwrap_err().to_string();
        assert!(
            said.contains("other") && said.contains("stop the cluster on that machine"),
            "{said}"
        );
        assert!(folder.exists());
        // An earlier version wrote this state before the last boot, so its machine is unknown.
        state.machine = None;
        state.boot = "another".to_owned();
        assert!(remove(&folder, &state).is_err() && folder.exists());
    }

    /// Starts a process that waits for input, and has no children that could outlive it.
    fn pretender(name: &str, argument: &str) -> std::process::Child {
        let mut shell = command(Path::new("/bin/sh"));
        shell.arg0(name).args(["-c", "read line", argument]);
        shell.stdin(std::process::Stdio::piped());
        spawn(shell, Life::Ours).unwrap()
    }

    #[test]
    fn only_a_java_with_the_whole_mark_is_a_process_of_the_cluster() {
        let id = new_id();
        let mut ours = pretender("/usr/bin/java", &mark(&id));
        let mut longer = pretender("/usr/bin/java", &mark(&format!("{id}0")));
        let mut grep = pretender("grep", &mark(&id));
        let found: Vec<u32> = processes(&id).iter().map(|process| process.pid).collect();
        assert_eq!(found, vec![ours.id()]);

        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(&id);
        std::fs::create_dir(&folder).unwrap();
        let state = State::new(id, "5.0.8".into(), "dc1".into());
        assert_eq!(remove(&folder, &state).unwrap(), 1);
        assert!(!folder.exists());
        assert!(!ours.wait().unwrap().success());
        for child in [&mut longer, &mut grep] {
            assert!(
                child.try_wait().unwrap().is_none(),
                "an unrelated process was killed"
            );
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
