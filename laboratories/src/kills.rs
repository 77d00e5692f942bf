//! Kills cassay's command, an agent or a guard with SIGKILL. The signal comes at a random time
//! during a study on a real Cassandra, or in the middle of each kind of fault. After the longest
//! lease, all resources must have disappeared. Unless faults are requested, the tests that kill a
//! process in each phase run first. The gate runs only one of these tests for each signal.

mod faults;

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;
use xtask::process;

/// Time after which all resources must have disappeared, in seconds. It is a lease plus the time
/// that processes need to end.
const REMAINS_S: u64 = 70;

const POLL: Duration = Duration::from_millis(100);

/// Options of `cargo xtask kills`.
#[derive(clap::Args)]
pub struct Options {
    /// Number of kills of each process: command, agent and guard
    #[arg(long, default_value_t = 20)]
    rounds: u32,
    /// Seed that chooses the moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only the tests that kill in each phase
    #[arg(long, conflicts_with = "faults")]
    phases: bool,
    /// Kill in the middle of faults instead, of every kind that this machine supports
    #[arg(long)]
    faults: bool,
    /// Only faults of these kinds
    #[arg(requires = "faults")]
    kinds: Vec<String>,
}

/// A study with two hosts and two trials, whose data is loaded, kept and restored.
const STUDY: &str = "
study: kills
question: What remains of a study that is killed?
target: {local: {hosts: 2, isolation: auto, heap: 512MiB, host: {memory: 2GiB, volume: 1GiB}}}
keyspace: {replication: {dc1: 2}}
workload: {use: standard1, mix: {write: 1, read: 1}}
data: {load: {operations: 20k}, reset: snapshot}
procedure: {sweep: {threads: [4, 8]}}
window: {warmup: 1s, measure: 4s}
repeat: {blocks: 1}
";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Command,
    Agent,
    Guard,
}

/// Runs the tests that kill a process in each phase, and then kills each of the three processes,
/// round after round. With `--faults`, kills processes in the middle of faults instead.
///
/// # Errors
/// Resources remain after [`REMAINS_S`] seconds. The error names these resources and the kill
/// before them.
pub fn run(options: &Options) -> Result<()> {
    process::run(
        &process::cargo(),
        &["build", "--quiet", "--package", "cassay"],
    )?;
    if options.faults {
        return faults::run(&options.kinds);
    }
    xtask::kills()?;
    if options.phases {
        return Ok(());
    }
    // The duration of a whole study is measured first. So the kills also occur in the last phases,
    // even on a slow or busy machine.
    let whole_ms = kill_one(None, u64::MAX, 0)?.ran_ms;
    println!("an undisturbed study takes {whole_ms} ms");
    let mut seed = options.seed;
    for round in 1..=options.rounds {
        for victim in [Victim::Command, Victim::Agent, Victim::Guard] {
            // This is the linear congruential generator of Knuth's MMIX. Any generator with the
            // same results on all machines would be suitable.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let moment_ms = (seed >> 33) % whole_ms;
            let told =
                kill_one(Some(victim), moment_ms, (seed >> 20) as usize).with_context(|| {
                    format!("round {round}: {victim:?} killed after {moment_ms} ms of a study")
                })?;
            println!(
                "round {round}: {victim:?} killed after {moment_ms} ms: {}",
                told.words
            );
        }
    }
    Ok(())
}

/// Folders of a study. The folders are removed when this value is dropped.
struct Lab(PathBuf);

impl Lab {
    fn make(study: &str) -> Result<Lab> {
        let folder = std::env::temp_dir().join(format!("cassay-kills-{}", std::process::id()));
        std::fs::create_dir_all(&folder).context("make a folder")?;
        std::fs::write(folder.join("study.yaml"), study).context("write the study")?;
        Ok(Lab(folder))
    }

    fn start(&self) -> Result<Child> {
        let study = self.0.join("study.yaml").display().to_string();
        let out = self.0.join("results").display().to_string();
        let words = self.words(&["run", &study, "--out", &out]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        process::start_silent("env", &words)
    }

    /// Returns the arguments of `env` that run the program with these arguments, and with a
    /// separate data folder.
    fn words(&self, arguments: &[&str]) -> Vec<String> {
        let program = xtask::target().join("debug/cassay");
        let data = format!("CASSAY_DATA={}", self.0.display());
        let mut words = vec![data, program.display().to_string()];
        words.extend(arguments.iter().map(|&one| one.to_owned()));
        words
    }

    /// Returns the ids of the clusters that have folders.
    fn clusters(&self) -> BTreeSet<String> {
        let folders = std::fs::read_dir(self.0.join("clusters"));
        let names = folders.into_iter().flatten().flatten();
        names.map(|one| one.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct KillOutcome {
    /// Time from the start of the study to the kill or to its end, in ms.
    ran_ms: u64,
    words: String,
}

fn kill_one(victim: Option<Victim>, moment_ms: u64, choice: usize) -> Result<KillOutcome> {
    let lab = Lab::make(STUDY)?;
    let mut study = lab.start()?;
    let mut seen = Seen::default();
    let mut ran_ms = 0;
    while ran_ms < moment_ms && study.try_wait()?.is_none() {
        std::thread::park_timeout(POLL);
        ran_ms += POLL.as_millis() as u64;
        seen.look(&lab);
    }
    let killed = match victim {
        Some(Victim::Command) => {
            study.kill().context("kill the command")?;
            true
        }
        Some(Victim::Agent) => kill_agent(&seen.clusters, false, choice)?,
        Some(Victim::Guard) => kill_agent(&seen.clusters, true, choice)?,
        None => true,
    };
    let ended = study.wait().context("wait for the command")?;
    let waited_ms = until_nothing_remains(&lab, &mut seen)?;
    let what = if killed {
        ""
    } else {
        " (no such process was running)"
    };
    Ok(KillOutcome {
        ran_ms,
        words: format!("nothing remained after {waited_ms} ms; the command: {ended}{what}"),
    })
}

/// Waits until no resources remain. Returns the duration of the wait in ms.
///
/// # Errors
/// Resources remain.
fn until_nothing_remains(lab: &Lab, seen: &mut Seen) -> Result<u64> {
    seen.look(lab);
    let mut waited_ms = 0;
    let mut left = remains(lab, seen);
    while !left.is_empty() && waited_ms < REMAINS_S * 1000 {
        std::thread::park_timeout(POLL);
        waited_ms += POLL.as_millis() as u64;
        left = remains(lab, seen);
    }
    ensure!(
        left.is_empty(),
        "still present after {REMAINS_S} s: {}",
        left.join(", ")
    );
    Ok(waited_ms)
}

/// Resources that belong to the study. All other resources on the machine are ignored.
#[derive(Default)]
struct Seen {
    clusters: BTreeSet<String>,
    links: BTreeSet<String>,
}

impl Seen {
    fn look(&mut self, lab: &Lab) {
        for cluster in lab.clusters() {
            let state = lab.0.join("clusters").join(&cluster).join("state.json");
            // A missing file is not an error, because the cluster may have ended in the meantime.
            let state = std::fs::read_to_string(state).unwrap_or_default();
            self.links.extend(link(&state));
            self.clusters.insert(cluster);
        }
    }
}

/// Returns the name of the link from the machine to the hosts, from the text of a state file.
/// Returns `None` if the cluster has no network.
fn link(state: &str) -> Option<String> {
    let (_, after) = state.split_once("\"network\":")?;
    let mut parts = after.trim_start().trim_start_matches('"').split('.');
    let (_, range, part) = (parts.next()?, parts.next()?, parts.next()?);
    Some(format!("cassay{range}-{part}"))
}

/// Kills an agent of the clusters, or a guard. Returns true if it has found a process to kill.
fn kill_agent(clusters: &BTreeSet<String>, guard: bool, choice: usize) -> Result<bool> {
    let is_one = |process: &Process| {
        let is_guard = process.words.last().is_some_and(|word| word == "guard");
        process.is_agent_of(clusters) && is_guard == guard
    };
    let all: Vec<Process> = processes().into_iter().filter(is_one).collect();
    if all.is_empty() {
        return Ok(false);
    }
    let pid = all[choice % all.len()].pid.to_string();
    // The result is ignored, because the process may have ended in the meantime.
    let _ = process::output("kill", &["-9", &pid]);
    Ok(true)
}

struct Process {
    pid: u32,
    words: Vec<String>,
    environment: Vec<String>,
}

impl Process {
    fn is_agent_of(&self, clusters: &BTreeSet<String>) -> bool {
        let mark = |one: &String| {
            let value = one.strip_prefix("CASSAY_AGENT=");
            value.is_some_and(|id| clusters.contains(id))
        };
        self.environment.iter().any(mark)
    }

    fn is_of(&self, clusters: &BTreeSet<String>) -> bool {
        let mark = |word: &String| {
            let value = word.strip_prefix("-Dcassay.cluster=");
            value.is_some_and(|id| clusters.contains(id))
        };
        self.is_agent_of(clusters) || self.words.iter().any(mark)
    }
}

fn processes() -> Vec<Process> {
    let texts = |path: PathBuf| -> Vec<String> {
        let bytes = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split_terminator('\0').map(str::to_owned).collect()
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|one| one.file_name().to_str()?.parse::<u32>().ok());
    let process = |pid: u32| Process {
        pid,
        words: texts(Path::new("/proc").join(pid.to_string()).join("cmdline")),
        environment: texts(Path::new("/proc").join(pid.to_string()).join("environ")),
    };
    pids.map(process).collect()
}

/// Lists the remaining resources of the clusters: processes, control groups, folders, links and
/// loop devices.
fn remains(lab: &Lab, seen: &Seen) -> Vec<String> {
    let mut left = Vec::new();
    let clusters = &seen.clusters;
    for process in processes().iter().filter(|one| one.is_of(clusters)) {
        let what = process.words.join(" ");
        left.push(format!("process {} ({what:.60})", process.pid));
    }
    let groups = groups(Path::new("/sys/fs/cgroup"), clusters);
    left.extend(groups.iter().map(|dir| format!("group {}", dir.display())));
    left.extend(lab.clusters().iter().map(|id| format!("folder {id}")));
    for entry in std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if seen.links.contains(&name) {
            left.push(format!("link {name}"));
        }
    }
    let folder = lab.0.display().to_string();
    for entry in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = std::fs::read_to_string(entry.path().join("loop/backing_file"));
        if backing.is_ok_and(|file| file.starts_with(&folder)) {
            left.push(format!("device {}", entry.file_name().to_string_lossy()));
        }
    }
    left
}

/// Returns the control groups whose names contain the id of one of the clusters.
fn groups(top: &Path, clusters: &BTreeSet<String>) -> Vec<PathBuf> {
    let is_of = |name: &str| {
        let id = name.strip_prefix("cassay-");
        id.is_some_and(|name| clusters.iter().any(|id| name.starts_with(id)))
    };
    let mut found = Vec::new();
    let entries = std::fs::read_dir(top).into_iter().flatten().flatten();
    for entry in entries.filter(|one| one.file_type().is_ok_and(|kind| kind.is_dir())) {
        if is_of(&entry.file_name().to_string_lossy()) {
            found.push(entry.path())
        } else {
            found.extend(groups(&entry.path(), clusters))
        }
    }
    found
}
