//! Removes the files and processes of killed runs. Every command calls [`clear`] first.
//!
//! Nodes die with the command that started them, but their folders remain. After a power loss,
//! state files remain, too. [`clear`] does not touch kept clusters and clusters of running
//! commands.

use crate::dirs::Dirs;
use crate::local::persistent_state;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClearedLeftovers {
    pub clusters: usize,
    /// Number of killed processes.
    pub processes: usize,
    /// One message for each leftover that cassay could not read or remove.
    pub problems: Vec<String>,
}

/// Kills the processes and removes the folders of clusters whose command ended without a removal.
/// Reports failures in [`ClearedLeftovers::problems`].
pub fn clear(dirs: &Dirs, say: &mut dyn FnMut(&str)) -> ClearedLeftovers {
    let mut cleared = ClearedLeftovers::default();
    let (states, errors) = persistent_state::all(dirs);
    cleared.problems.extend(errors.iter().map(|error| format!("{error:#}")));
    for (folder, cluster) in states {
        if cluster.keep || cluster.is_owned() {
            continue;
        }
        match persistent_state::remove(&folder, &cluster) {
            Ok(processes) => {
                cleared.clusters += 1;
                cleared.processes += processes;
                say(&format!(
                    "cassay removed the leftovers of a killed run: the folder {} and {processes} \
                     processes",
                    folder.display()
                ));
            }
            Err(error) => cleared.problems.push(format!("{error:#}")),
        }
    }
    cleared
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::process::{Identity, ProcessSpace};
    use persistent_state::State;
    use std::path::Path;

    fn leave(dirs: &Dirs, id: &str, keep: bool, owner: Identity) -> std::path::PathBuf {
        let folder = persistent_state::clusters_folder(dirs).join(id);
        std::fs::create_dir_all(folder.join("node1/data")).unwrap();
        let mut cluster = State::new(id.into(), "5.0.8".into(), "dc1".into());
        cluster.keep = keep;
        cluster.owner = owner;
        cluster.write(&folder).unwrap();
        folder
    }

    #[test]
    fn only_what_nobody_owns_is_cleared() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs {
            cache: root.path().join("cache"),
            data: root.path().join("data"),
        };
        let own = Identity::own();
        // The start time differs from that of the process with this id, so the owner has ended.
        let gone = Identity {
            start_ticks: own.start_ticks + 1,
            ..own
        };
        let running = leave(&dirs, "a-running", false, own);
        let killed = leave(&dirs, "b-killed", false, gone);
        // A cluster of another machine that shares this folder may still run.
        let elsewhere = leave(&dirs, "e-elsewhere", false, gone);
        let mut theirs = State::read(&elsewhere).unwrap();
        theirs.machine = Some(ProcessSpace::called("other"));
        theirs.write(&elsewhere).unwrap();
        let kept = leave(&dirs, "c-kept", true, gone);
        let odd = persistent_state::clusters_folder(&dirs).join("d-odd");
        std::fs::create_dir_all(&odd).unwrap();
        std::fs::write(odd.join("state.json"), "?").unwrap();

        let mut said = Vec::new();
        let cleared = clear(&dirs, &mut |line| said.push(line.to_string()));
        assert_eq!((cleared.clusters, cleared.processes), (1, 0));
        assert_eq!(cleared.problems.len(), 1, "{:?}", cleared.problems);
        assert!(said.len() == 1 && said[0].contains("b-killed"), "{said:?}");
        let exists = |path: &Path| path.exists();
        assert!(exists(&running) && !exists(&killed) && exists(&kept) && exists(&odd));
        assert!(exists(&elsewhere));
        assert_eq!(clear(&dirs, &mut |_| ()).clusters, 0, "nothing is left");
    }
}
