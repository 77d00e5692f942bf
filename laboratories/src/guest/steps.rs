//! The steps of a guest and their output. Steps are scripts that the init of the guest runs in
//! order. All functions are pure.
//!
//! To add an executable, add a row to `TESTS` in `programs.rs`, or pass `--program`. The executable
//! runs after all steps of cassay. To add a step of cassay, add a line to [`all`], and a check of
//! its output to `guest.rs`.

use super::placement_checks;
use super::shape::{Cgroup, Numbers, Shape, list};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write;

/// The init script of a guest, which runs the steps.
pub const INIT: &str = include_str!("init.sh");

/// A step that the guest runs.
#[derive(Debug, PartialEq)]
pub struct Step {
    pub name: String,
    pub script: String,
}

fn cassay(name: impl Into<String>, words: &str) -> Step {
    Step {
        name: name.into(),
        script: format!("#!/bin/sh\nexec /programs/cassay topology {words} --target local\n"),
    }
}

/// Returns the steps of a guest of this shape. The steps that make plans come before the steps that
/// change limits.
pub fn all(shape: &Shape) -> Vec<Step> {
    let named = |name: &str, script: String| Step {
        name: name.to_owned(),
        script: format!("#!/bin/sh -e\n{script}"),
    };
    let confined = shape.node_cpus(shape.confined_to);
    let show = "/programs/cassay topology show --json --target local";
    let mut steps = vec![
        named("setup", setup(shape)),
        cassay("machine", "show --json"),
        cassay("drawing", "show"),
    ];
    for (index, wish) in shape.wishes.iter().enumerate() {
        steps.push(cassay(
            format!("plan-{index}"),
            &placement_checks::arguments(wish),
        ));
    }
    steps.push(named("files", FILES.to_owned()));
    let (group, members) = group(shape.cgroup);
    let enter = format!("echo $$ >{group}/{members}\nexec {show}\n");
    steps.push(named(
        "group",
        make_group(group, &confined, shape.confined_to),
    ));
    steps.push(named("confined", enter));
    let bound = format!("exec taskset -c {} {show}\n", list(&confined));
    steps.push(named("bound", bound));
    steps
}

/// Returns the step that runs an additional executable, which is in /programs.
pub fn program(name: &str, arguments: &[String]) -> Step {
    let words = shlex::try_join(arguments.iter().map(String::as_str)).expect("no word has a NUL");
    Step {
        name: format!("program-{name}"),
        script: format!("#!/bin/sh\nexec /programs/{name} {words} 2>&1\n"),
    }
}

/// Returns a script that mounts control groups and switches off CPUs.
fn setup(shape: &Shape) -> String {
    let mut script = match shape.cgroup {
        Cgroup::V2 => "mount -t cgroup2 cgroup /sys/fs/cgroup\n".to_owned(),
        Cgroup::V1 => V1.to_owned(),
    };
    for cpu in shape.offline {
        let _ = writeln!(script, "echo 0 >/sys/devices/system/cpu/cpu{cpu}/online");
    }
    script + "for module in /modules/*; do test ! -e $module || insmod $module; done\nuname -r\n"
}

/// Script that mounts a hierarchy of control groups for each controller, as systemd 219 and SysV
/// init do.
const V1: &str = "\
mount -t tmpfs cgroup /sys/fs/cgroup
for controllers in cpuset cpu,cpuacct memory blkio; do
  mkdir /sys/fs/cgroup/$controllers
  mount -t cgroup -o $controllers cgroup /sys/fs/cgroup/$controllers
done
";

/// Returns the path of the control group to which steps are confined, and the name of the file that
/// lists the processes of the group.
fn group(cgroup: Cgroup) -> (&'static str, &'static str) {
    match cgroup {
        Cgroup::V2 => ("/sys/fs/cgroup/one", "cgroup.procs"),
        Cgroup::V1 => ("/sys/fs/cgroup/cpuset/one", "tasks"),
    }
}

fn make_group(group: &str, cpus: &Numbers, node: u32) -> String {
    let cpus = list(cpus);
    format!(
        "test ! -e /sys/fs/cgroup/cgroup.subtree_control ||\n  \
         echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control\n\
         mkdir {group}\necho {node} >{group}/cpuset.mems\necho {cpus} >{group}/cpuset.cpus\n"
    )
}

/// Script that packs the files of /sys and /proc that cassay's reader uses. The files are copied
/// first, because the content of a file in /sys is shorter than its stated size. Errors of the
/// first copy are ignored, because even root cannot read some of the files.
const FILES: &str = "\
mkdir -p /tmp/files/sys/devices/system /tmp/files/proc/self
to=/tmp/files/sys/devices/system
cp -a /sys/devices/system/cpu /sys/devices/system/node $to/ 2>/dev/null || true
cp /proc/self/status /proc/self/cgroup /proc/self/cpuset /proc/self/mounts /tmp/files/proc/self/
cp /proc/meminfo /proc/cpuinfo /tmp/files/proc/
tar -C /tmp/files -czf /dev/ttyS2 sys proc
rm -r /tmp/files
";

/// Output of a step, and the exit code of the step.
#[derive(Debug, PartialEq)]
pub struct StepOutput {
    pub name: String,
    pub output: String,
    pub code: i32,
}

#[derive(Debug, PartialEq)]
pub struct GuestOutput {
    pub steps: Vec<StepOutput>,
    /// Time from the start of the kernel to the end of the last step, in seconds.
    pub up_s: f64,
}

impl GuestOutput {
    pub fn output(&self, name: &str) -> Result<&str> {
        let step = self
            .steps
            .iter()
            .find(|step| step.name == name)
            .with_context(|| format!("the guest has no step {name}"))?;
        ensure!(
            step.code == 0,
            "step {name} of the guest ended with {}; it wrote:\n{}",
            step.code,
            step.output.trim_end()
        );
        Ok(&step.output)
    }
}

/// Returns the file name of a step. Steps run in the order of their names.
pub fn file_name(index: usize, step: &Step) -> String {
    format!("{index:02}-{}", step.name)
}

/// Parses the output of init.
///
/// # Errors
/// The output is incomplete. The error names the last step in it.
pub fn read(text: &str) -> Result<GuestOutput> {
    let mut steps: Vec<StepOutput> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        let Some((mark, rest)) = line.strip_prefix("@@").and_then(|line| line.split_once(' '))
        else {
            if let Some((_, output)) = &mut open {
                *output += line;
                output.push('\n');
            }
            continue;
        };
        match (mark, open.take()) {
            ("begin", None) => {
                let name = rest.split_once('-').map_or(rest, |(_, name)| name);
                open = Some((name.to_owned(), String::new()));
            }
            ("end", Some((name, mut output))) => {
                let code = rest
                    .rsplit(' ')
                    .next()
                    .and_then(|code| code.parse().ok())
                    .with_context(|| format!("no exit code in {line:?}"))?;
                // This removes the line end that init adds to the output of a step.
                output.pop();
                steps.push(StepOutput { name, output, code });
            }
            ("done", None) => {
                let up_s = rest.parse().with_context(|| format!("no time in {line:?}"))?;
                return Ok(GuestOutput { steps, up_s });
            }
            _ => bail!("the guest said {line:?} out of order"),
        }
    }
    match (open, steps.last()) {
        (Some((name, _)), _) => bail!("the guest ended in its step {name}"),
        (None, Some(step)) => bail!("the guest ended after its step {}", step.name),
        (None, None) => bail!("the guest did not reach its first step"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::SHAPES;
    use super::*;

    #[test]
    fn the_output_of_each_step_is_between_its_marks() {
        let text = "@@begin 00-setup\r\n6.1.0\r\n\r\n@@end 00-setup 0\r\n\
                    @@begin 01-plan-0\n{\n\n}\n@@end 01-plan-0 2\n@@done 12.50\n";
        let told = read(text).unwrap();
        let step = |name: &str, output: &str, code| StepOutput {
            name: name.to_owned(),
            output: output.to_owned(),
            code,
        };
        let steps = [step("setup", "6.1.0\n", 0), step("plan-0", "{\n\n}", 2)];
        assert_eq!((&told.steps[..], told.up_s), (&steps[..], 12.5));
        assert_eq!(told.output("setup").unwrap(), "6.1.0\n");
        assert!(told.output("plan-0").unwrap_err().to_string().contains("ended with 2"));
    }

    #[test]
    fn a_guest_that_did_not_come_to_its_end_says_where_it_was() {
        for (text, told) in [
            ("", "did not reach its first step"),
            ("@@begin 00-setup\nhalf", "ended in its step setup"),
            (
                "@@begin 00-setup\n\n@@end 00-setup 0\n",
                "ended after its step setup",
            ),
            ("@@end 00-setup 0\n", "out of order"),
            ("@@begin 00-setup\n@@begin 01-plan\n", "out of order"),
            ("@@begin 00-setup\n@@end 00-setup x\n", "no exit code"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_shape_lists_its_mounted_cgroups_and_the_disabled_ones() {
        let script = |name: &str| {
            let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
            all(shape).into_iter().map(|step| step.script).collect::<String>()
        };
        for (shape, parts) in [
            (
                "dies",
                &[
                    "mount -t cgroup2",
                    "echo 8-11 >/sys/fs/cgroup/one/cpuset.cpus",
                ][..],
            ),
            (
                "offline",
                &[
                    "mount -t cgroup -o $controllers",
                    "echo 0 >/sys/devices/system/cpu/cpu23/online",
                    "echo $$ >/sys/fs/cgroup/cpuset/one/tasks",
                    "taskset -c 8-15",
                ],
            ),
        ] {
            let script = script(shape);
            for part in parts {
                assert!(script.contains(part), "{shape}: no {part} in {script}");
            }
        }
    }

    #[test]
    fn arguments_of_a_program_come_to_it_as_they_are() {
        let words = ["--exact".to_owned(), "it's".to_owned()];
        let step = program("host", &words);
        assert!(step.script.contains("exec /programs/host --exact \"it's\" 2>&1"));
    }
}
