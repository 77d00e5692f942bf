//! Kills a process with SIGKILL in the middle of each kind of fault. The process is a command on a
//! kept cluster or a guard of that cluster, or a study or an agent of a study. The fault must be
//! healed in time, and all resources of a study must disappear.

use super::{Lab, POLL, REMAINS_S, Seen, Victim, kill_agent, until_nothing_remains};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Child;
use xtask::process;

/// A study with a fault of one kind that lasts until the end of the window, on small hosts.
const STUDY: &str = "
study: kills
question: What remains of a study that is killed while something is broken?
target: {local: {hosts: 3, heap: 512MiB, class_sharing: true,
  host: {memory: 2GiB, volume: 1GiB}}}
keyspace: {replication: {dc1: 3}}
workload: {use: kv, mix: {write: 1, read: 1}, consistency: QUORUM, retries: 3}
client: {timeout: 2s}
data: {load: {operations: 1k}, settle: none}
faults: [FAULT]
procedure: {fixed: {rate: 50}}
window: {warmup: 1s, measure: 4m}
repeat: {blocks: 1}
";

/// Value of `--for` for a fault without a task, in seconds. It is longer than the time after which
/// other nodes consider a node down.
const HELD_S: u64 = 30;

/// Value of `--for` for a fault that performs a task, in seconds.
const DONE_S: u64 = 180;

/// Maximum time until a fault is observed on a busy machine, in seconds. It includes the start of
/// the cluster.
const OBSERVATION_MAX_S: u64 = 300;

/// Name of a setting, and a value for it that is twice the default.
const SETTING: (&str, &str) = ("hinted_handoff_throttle", "2048KiB");

/// Maximum number of agents of a cluster. These are the agents of its hosts and the agent of the
/// switch between them.
const HOSTS: usize = 4;

struct ListedFault {
    kind: String,
    /// Kind of object that the fault affects, such as a node, a host or several hosts.
    breaks: String,
    /// Parameters that the fault accepts.
    takes: Vec<String>,
    /// True if the target supports the fault.
    present: bool,
    /// True if the fault ends immediately after it was observed.
    moment: bool,
    /// True if the fault ends when the operation that it performs is done.
    task: bool,
}

/// Kills processes in the middle of faults. `only` lists the kinds of faults. If the list is empty,
/// all kinds that this machine supports are used.
///
/// # Errors
/// Resources remain, or a fault is not healed in time.
pub fn run(only: &[String]) -> Result<()> {
    let kinds = on_a_kept_cluster(only)?;
    for kind in &kinds {
        for victim in [Victim::Command, Victim::Agent] {
            let said = in_a_study(kind, victim)
                .with_context(|| format!("{}: {victim:?} killed", kind.kind))?;
            println!("{}: {victim:?} of a study killed: {said}", kind.kind);
        }
    }
    Ok(())
}

/// Kills the command and the guards, for one kind of fault after another, on one kept cluster.
/// Returns these kinds of faults.
fn on_a_kept_cluster(only: &[String]) -> Result<Vec<ListedFault>> {
    let lab = Lab::make("")?;
    let up = ["target", "up", "--hosts", "3", "--heap", "512MiB"];
    let hosts = [
        "--class-sharing",
        "--host-volume",
        "2GiB",
        "--host-memory",
        "2GiB",
    ];
    called(&lab, &[&up[..], &hosts].concat())?;
    let mut seen = Seen::default();
    seen.look(&lab);
    let tried = kinds(&lab, only).and_then(|kinds| {
        for kind in &kinds {
            let said = on_kept(&lab, &seen, kind).with_context(|| kind.kind.clone())?;
            println!("{}: {said}", kind.kind);
        }
        Ok(kinds)
    });
    let down = called(&lab, &["target", "down"]);
    let kinds = tried?;
    down?;
    until_nothing_remains(&lab, &mut seen)?;
    Ok(kinds)
}

fn kinds(lab: &Lab, only: &[String]) -> Result<Vec<ListedFault>> {
    let listed = called(lab, &["fault", "list", "--json"])?;
    let listed: serde_json::Value = serde_json::from_str(&listed).context("read the kinds")?;
    let listed: Vec<ListedFault> =
        listed.as_array().into_iter().flatten().map(ListedFault::parse).collect();
    let is_known = |name: &&String| !listed.iter().any(|one| one.kind == **name);
    if let Some(unknown) = only.iter().find(is_known) {
        bail!("the fault {unknown} does not exist: see `cassay fault list`");
    }
    let is_asked = |kind: &ListedFault| only.is_empty() || only.contains(&kind.kind);
    let mut kinds = Vec::new();
    for kind in listed.into_iter().filter(is_asked) {
        if kind.present {
            kinds.push(kind)
        } else {
            println!("{}: not available on this machine", kind.kind)
        }
    }
    Ok(kinds)
}

fn called(lab: &Lab, arguments: &[&str]) -> Result<String> {
    let words = lab.words(arguments);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    process::output("env", &words)
}

/// Runs a command when the hosts have their volumes again. Without the volumes, commands cannot use
/// the cluster.
fn once_reached(lab: &Lab, arguments: &[&str]) -> Result<String> {
    let mut waited_ms = 0;
    loop {
        let said = called(lab, arguments);
        let is_away = |error: &anyhow::Error| format!("{error:#}").contains("is not mounted");
        if waited_ms > REMAINS_S * 1000 || !said.as_ref().is_err_and(is_away) {
            return said;
        }
        std::thread::park_timeout(POLL);
        waited_ms += POLL.as_millis() as u64;
    }
}

fn on_kept(lab: &Lab, seen: &Seen, kind: &ListedFault) -> Result<String> {
    let told = lab.0.join("told");
    let mut asked = kind.arguments();
    let held_s = if kind.task { DONE_S } else { HELD_S };
    asked.extend(["--for".to_owned(), format!("{held_s}s")]);
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let words = lab.words(&asked);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = || std::fs::read_to_string(&told).unwrap_or_default();

    let mut command = process::start_telling("env", &words, &told)?;
    let was_broken =
        until_broken(&mut command, &mut || text().contains("  seen: ")).with_context(text)?;
    command.kill().context("kill the command")?;
    command.wait().context("wait for the command")?;
    // The second command must wait until the fault is healed, and then inject the fault again.
    let again = once_reached(lab, &asked).context("after the command was killed")?;
    ensure!(
        again.contains("confirmed"),
        "after the command was killed: {again}"
    );

    let mut command = process::start_telling("env", &words, &told)?;
    until_broken(&mut command, &mut || text().contains("  seen: ")).with_context(text)?;
    let mut killed_count = 0;
    while killed_count < HOSTS && kill_agent(&seen.clusters, true, killed_count)? {
        killed_count += 1;
    }
    let ended = command.wait().context("wait for the command")?;
    ensure!(
        ended.success(),
        "the command ended unexpectedly after its guards were killed: {}",
        text()
    );
    let moment = if was_broken {
        ""
    } else {
        " (it was over before)"
    };
    Ok(format!(
        "whole after its command was killed{moment}, and after {killed_count} guards were"
    ))
}

/// Kills the command, the agents or the guards of a study in the middle of a fault.
fn in_a_study(kind: &ListedFault, victim: Victim) -> Result<String> {
    let lab = Lab::make(&STUDY.replace("FAULT", &kind.item()))?;
    let mut study = lab.start()?;
    let mut seen = Seen::default();
    let results = lab.0.join("results");
    let was_broken = until_broken(&mut study, &mut || {
        seen.look(&lab);
        let steps = found(&results, "faults.ndjson").map(std::fs::read_to_string);
        steps.is_some_and(|text| text.is_ok_and(|text| text.contains("\"seen\"")))
    })?;
    match victim {
        Victim::Command => study.kill().context("kill the command")?,
        Victim::Agent | Victim::Guard => {
            for choice in 0..HOSTS {
                kill_agent(&seen.clusters, victim == Victim::Guard, choice)?;
            }
        }
    }
    let ended = study.wait().context("wait for the command")?;
    let waited_ms = until_nothing_remains(&lab, &mut seen)?;
    let moment = if was_broken {
        ""
    } else {
        " (it had ended before)"
    };
    Ok(format!(
        "nothing remained after {waited_ms} ms; the command: {ended}{moment}"
    ))
}

/// Waits until a fault is in effect. Returns true if the command was still running at that time.
fn until_broken(command: &mut Child, is_broken: &mut dyn FnMut() -> bool) -> Result<bool> {
    let mut waited_ms = 0;
    loop {
        let has_ended = command.try_wait()?.is_some();
        if is_broken() {
            return Ok(!has_ended);
        }
        ensure!(!has_ended, "the command ended before it injected the fault");
        ensure!(
            waited_ms < OBSERVATION_MAX_S * 1000,
            "the command injected no fault within {OBSERVATION_MAX_S} s"
        );
        std::thread::park_timeout(POLL);
        waited_ms += POLL.as_millis() as u64;
    }
}

/// Returns the path of a file with this name at any depth below a folder. Returns `None` if no file
/// has this name.
fn found(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut folders = Vec::new();
    for entry in entries {
        if entry.file_name() == *name {
            return Some(entry.path());
        }
        folders.push(entry.path());
    }
    folders.iter().find_map(|folder| found(folder, name))
}

impl ListedFault {
    fn parse(listed: &serde_json::Value) -> ListedFault {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let takes = listed["takes"].as_array().into_iter().flatten();
        ListedFault {
            kind: text(&listed["kind"]),
            breaks: text(&listed["breaks"]),
            takes: takes.map(text).collect(),
            present: listed["present"] == true,
            moment: listed["moment"] == true,
            task: listed["task"] == true,
        }
    }

    /// Returns the parameters of the fault as keys and values of a study.
    fn knobs(&self) -> Vec<(&str, &str)> {
        let values = [
            ("loss", "50%"),
            ("rate", "1Mbit"),
            ("delay", "50ms"),
            ("by", "30s"),
        ];
        let takes = |knob: &&(&str, &str)| self.takes_some(knob.0);
        values.into_iter().filter(|knob| takes(&knob)).collect()
    }

    fn takes_some(&self, knob: &str) -> bool {
        self.takes.iter().any(|one| one == knob)
    }

    /// Returns the fault as an item of a study.
    fn item(&self) -> String {
        let mut item = format!("{{at: 1s, kind: {}", self.kind);
        match self.breaks.as_str() {
            "node" => item.push_str(", where: {node: 2}"),
            "host" | "hosts" => item.push_str(", where: {host: 2}"),
            _ => {}
        }
        for (knob, value) in self.knobs() {
            item.push_str(&format!(", {knob}: {value}"));
        }
        if self.takes_some("disk") {
            item.push_str(", disk: {write_iops: 10, read_iops: 10}");
        }
        if self.takes_some("yaml") {
            item.push_str(&format!(", yaml: {{{}: {}}}", SETTING.0, SETTING.1));
        }
        if !self.moment {
            item.push_str(", until: end");
        }
        item + "}"
    }

    fn arguments(&self) -> Vec<String> {
        let mut words = vec!["fault".to_owned(), "run".to_owned(), self.kind.clone()];
        let place = match self.breaks.as_str() {
            "node" => &["--node", "2"][..],
            "host" => &["--host", "2"],
            "hosts" => &["--hosts", "2"],
            _ => &[],
        };
        words.extend(place.iter().map(|&word| word.to_owned()));
        for (knob, value) in self.knobs() {
            words.extend([format!("--{knob}"), value.to_owned()]);
        }
        if self.takes_some("disk") {
            words.extend(["--read-iops=10", "--write-iops=10"].map(str::to_owned));
        }
        if self.takes_some("yaml") {
            words.push(format!("--yaml={}={}", SETTING.0, SETTING.1));
        }
        words
    }
}
