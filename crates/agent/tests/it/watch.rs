//! Tests of probes that an agent runs for its controller, and of the conversion of their times.

use crate::hosts::{LIMIT, id, wait_until};
use host::probe::{ProbeCost, Probes, Reading};
use host::{Agent, Watch, process};
use measure::clock;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(20);

/// Shift of some agents' clock, in seconds.
const AHEAD_S: u64 = 1000;

/// Prefix of the cluster of an agent with a shifted clock.
const SHIFTED: &str = "shifted";

/// Environment variable of a process whose clock is already shifted.
const DONE: &str = "CASSAY_TEST_SHIFTED";

/// Restarts an agent of a cluster with the prefix [`SHIFTED`] with another clock, before `main`.
/// Does nothing if the kernel does not support this.
pub fn shift_clock() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mine = variable("CASSAY_AGENT").starts_with(&format!("test-{SHIFTED}-"));
    if !mine || !variable(DONE).is_empty() {
        return;
    }
    // SAFETY: no other thread runs yet, and the namespaces of this thread do not change.
    let shifted = unsafe { unshare_unsafe(UnshareFlags::NEWTIME) }.is_ok()
        && std::fs::write(
            "/proc/self/timens_offsets",
            format!("monotonic {AHEAD_S} 0\n"),
        )
        .is_ok();
    if shifted {
        let mut again = process::command(Path::new("/proc/self/exe"));
        again.args(std::env::args_os().skip(1)).env(DONE, "yes");
        // The agent's connection uses stdin and stdout.
        again.stdin(Stdio::inherit()).stdout(Stdio::inherit());
        let _ = again.exec();
    }
}

/// Starts an agent of this machine for the test `name`. Its folder exists as long as the first
/// returned value.
fn machine(name: &str) -> (tempfile::TempDir, Arc<Agent>) {
    let root = tempfile::tempdir().unwrap();
    let agent = Agent::start_on_machine(&id(name), &root.path().join("cluster")).unwrap();
    (root, Arc::new(agent))
}

fn everything() -> Watch {
    let mut watch = Watch::default();
    watch.machine(PERIOD, &[]);
    watch.process(PERIOD, "test", std::process::id());
    watch
}

/// Collects readings until two samples have returned readings.
fn some(probes: &Probes) -> Vec<Reading> {
    let mut readings = Vec::new();
    wait_until("there are rates", || {
        readings.extend(probes.take());
        let has = |name: &str| readings.iter().any(|one: &Reading| &*one.name == name);
        has("vmstat.cs") && has("pidstat.%CPU")
    });
    readings
}

fn cost<'a>(costs: &'a [ProbeCost], probe: &str) -> &'a ProbeCost {
    let found = costs.iter().find(|one| one.probe == probe);
    found.unwrap_or_else(|| panic!("no cost of {probe}: {costs:?}"))
}

#[test]
fn an_agent_looks_for_us_and_says_what_it_costs() {
    let (_root, agent) = machine("watch");
    let probes = Probes::start(vec![everything().by(&agent).unwrap()]).unwrap();
    let mut readings = some(&probes);
    let (rest, costs) = probes.stop();
    readings.extend(rest);
    let of = |probe: &str| readings.iter().filter(|one| one.probe == probe).count() as u64;
    for (probe, place) in [("hosts", "machine"), ("processes", "test")] {
        let cost = cost(&costs, probe);
        assert_eq!((cost.place.as_str(), cost.values), (place, of(probe)));
        assert!(cost.looks >= 2 && cost.cpu_ns > 0, "{cost:?}");
        assert_eq!(cost.problems, Vec::<String>::new());
    }
    let taking = cost(&costs, "agent");
    assert_eq!(
        taking.values,
        readings.len() as u64,
        "none is lost, none is there twice"
    );
    assert!(
        taking.cpu_ns > 0 && taking.clock_bound_ns.is_some(),
        "{taking:?}"
    );
    assert_eq!(taking.problems, Vec::<String>::new());

    let mut nobody = Watch::default();
    nobody.process(PERIOD, "nobody", u32::MAX);
    let said = format!("{:#}", nobody.by(&agent).err().unwrap());
    assert!(
        said.starts_with("tell machine to watch: watch nobody: "),
        "{said}"
    );
    let mut hasty = Watch::default();
    hasty.machine(Duration::from_millis(1), &[]);
    let said = format!("{:#}", hasty.by(&agent).err().unwrap());
    assert!(said.contains("the minimum is 10ms"), "{said}");
}

#[test]
fn an_agent_that_is_gone_is_a_problem_and_keeps_nobody_waiting() {
    let (_root, agent) = machine("watch-gone");
    let probes = Probes::start(vec![everything().by(&agent).unwrap()]).unwrap();
    some(&probes);
    agent.end().unwrap();
    let (_, costs) = probes.stop();
    let problems = &cost(&costs, "agent").problems;
    assert!(problems[0].contains("the agent ended"), "{problems:?}");
}

/// Folder of a cluster with a kept agent, which always ends with the test.
struct KeptAgentGuard(tempfile::TempDir);

impl Drop for KeptAgentGuard {
    fn drop(&mut self) {
        let agent = Agent::reach_machine(&self.0.path().join("cluster"));
        let ended = agent.and_then(|agent| agent.end());
        assert!(ended.is_ok() || std::thread::panicking(), "{ended:?}");
    }
}

/// Earlier, a kept agent continued its probes without a controller, and their readings would have
/// filled its memory.
#[test]
fn a_kept_agent_looks_no_longer_when_its_controller_has_left() {
    let (root, agent) = machine("watch-kept");
    // This value connects to the agent when it is dropped, so the test's connection must be dropped
    // first.
    let _kept = KeptAgentGuard(root);
    let agent = agent;
    let pid = agent.process().pid;
    let looks = || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let names = threads.map(|one| std::fs::read_to_string(one.unwrap().path().join("comm")));
        names.flatten().any(|name| name == "probe\n")
    };
    agent.keep().unwrap();
    let sampler = everything().by(&agent).unwrap();
    // The name of a thread appears only after its start.
    wait_until("it looks", looks);
    // The test does not end the watch, like a killed controller.
    drop(sampler);
    drop(agent);
    wait_until("it looks no longer", || !looks());
}

#[test]
fn readings_of_another_clock_are_shifted_to_our_time() {
    let (_root, agent) = machine(SHIFTED);
    let time = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/time")).ok();
    if time(&agent.process().pid.to_string()) == time("self") {
        return crate::skipped::unable("no time namespaces");
    }
    let before_ns = clock::now_ns();
    let probes = Probes::start(vec![everything().by(&agent).unwrap()]).unwrap();
    let mut readings = some(&probes);
    let (rest, costs) = probes.stop();
    let after_ns = clock::now_ns();
    readings.extend(rest);
    let bound_ns = cost(&costs, "agent").clock_bound_ns.unwrap();
    assert!(bound_ns < LIMIT.as_nanos() as u64, "{bound_ns}");
    let span = before_ns - bound_ns..=after_ns + bound_ns;
    for one in readings {
        assert!(span.contains(&one.at_ns), "{one:?} is not within {span:?}");
    }
}
