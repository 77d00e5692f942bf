//! Inspection of a machine before nodes are placed on it, and removal of cassay's files in a
//! folder.

use crate::host_state::AgentState;
use crate::remote_host::is_in_memory;
use anyhow::{Context, Result, bail};
use host::agent::is_agent_of;
use host::inspect::{CleanFolder, Inspect, LeftCluster, MachineProperties};
use host::memory;
use host::process;
use host::remote_host::FoundJava;
use linux::{capability, volume};
use remote::Serve;
use std::fs;
use std::path::Path;
use supply::java;

/// Folder of jars.
const JARS: &str = "supply";
/// Prefix of cassay's programs.
const PROGRAM: &str = "agent-";
/// Prefix of temporary files and folders.
const TEMPORARY: &str = "cassay-";

impl Serve<AgentState> for Inspect {
    fn serve(self, _: &AgentState) -> Result<MachineProperties> {
        let system = rustix::system::uname();
        let words = [system.sysname(), system.release(), system.machine()];
        let java = java::find(&self.java).map(|java| FoundJava {
            program: java.program,
            version: java.version,
            build: java.build,
            passed_over: java.passed_over,
        });
        Ok(MachineProperties {
            system: words.map(|word| word.to_string_lossy().into_owned()).join(" "),
            is_root: rustix::process::geteuid().is_root(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory_available_bytes: memory::available_bytes()?,
            disk: volume::usage(&self.folder)?,
            is_in_memory: is_in_memory(&self.folder)?,
            java: java.map_err(|why| format!("{why:#}")),
            lacking: capability::require_of_machine(&self.limits)
                .err()
                .map(|why| format!("{why:#}")),
            clusters: clusters(&self.folder)?,
        })
    }
}

/// Returns the hosts of the clusters in a folder. A cluster is a subfolder with the folder of an
/// agent.
fn clusters(folder: &Path) -> Result<Vec<LeftCluster>> {
    let mut found = Vec::new();
    let pids = process::all_pids();
    for entry in names(folder)? {
        let agents = folder.join(&entry).join("agents");
        if entry.starts_with(TEMPORARY) || !agents.is_dir() {
            continue;
        }
        for host in names(&agents)?.into_iter().filter(|name| name.starts_with("host")) {
            found.push(LeftCluster {
                is_held: pids.iter().any(|pid| is_agent_of(*pid, &host, &entry)),
                id: entry.clone(),
                host,
            });
        }
    }
    Ok(found)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("list {}", folder.display()))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

impl Serve<AgentState> for CleanFolder {
    fn serve(self, here: &AgentState) -> Result<Vec<String>> {
        if let Some(left) = clusters(&self.0)?.first() {
            bail!(
                "the folder still contains the cluster {}: stop that cluster first",
                left.id
            );
        }
        let mut removed = Vec::new();
        for name in names(&self.0)? {
            let path = self.0.join(&name);
            let is_program = name.strip_prefix(PROGRAM).is_some_and(|digest| {
                digest.len() >= 64 && digest.chars().take(64).all(|c| c.is_ascii_hexdigit())
            });
            let is_ours = name == JARS || is_program || name.starts_with(TEMPORARY);
            // Other files remain, and so does the folder of this agent, which the agent removes
            // when it ends.
            if !is_ours || here.folder.starts_with(&path) {
                continue;
            }
            let gone = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            gone.with_context(|| format!("remove {}", path.display()))?;
            removed.push(name);
        }
        Ok(removed)
    }
}
