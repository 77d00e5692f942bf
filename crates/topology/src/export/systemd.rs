//! Writes drop-ins of systemd. The cpuset of the control group enforces the placement. The drop-in
//! also sets affinity and memory policy, for a kernel or container without cpusets.
//! `AllowedMemoryNodes` makes the start script's `--interleave=all` harmless, because "all" then
//! means all nodes of the cpuset.
//!
//! Instances are in a separate slice. In system.slice, systemd would confine them to the CPUs of
//! that slice.

use std::collections::BTreeMap;

use super::escapes::{self, read_systemd, systemd_words, wrong};
use super::placement::not_given;
use super::{ExportError, Placement, Source, cells, environment, header, numactl};
use crate::cpuset::CpuSet;
use crate::error::ReadError;
use crate::plan::Instance;

pub fn write(source: &Source, instance: &Instance) -> Result<String, ExportError> {
    let (cpus, nodes) = (cells::cpus(instance), cells::memory_nodes(instance));
    if cpus.is_empty() || nodes.is_empty() {
        return Err(ExportError::new(
            format!("instance {} has no CPUs or no memory node", instance.index),
            "plan on a machine whose description contains CPUs and memory nodes",
        ));
    }
    let policy = if numactl::is_interleaved(instance) {
        "interleave"
    } else {
        "bind"
    };
    let options = escapes::options(instance).join(" ");
    let environment = |name: &str, value: &str| {
        format!(
            "Environment={}\n",
            escapes::systemd(&format!("{name}={value}"))
        )
    };
    let mut out = format!("# {}\n[Service]\n", header(source, Some(instance)));
    out += "# not below system.slice, which is confined to the CPUs that instances do not use\n";
    out += "Slice=cassandra.slice\n";
    out += "# the cpuset of the control group binds CPUs and memory\n";
    out += &format!("AllowedCPUs={cpus}\nAllowedMemoryNodes={nodes}\n");
    out += "# the same as affinity and memory policy\n";
    out += &format!("CPUAffinity={cpus}\nNUMAPolicy={policy}\nNUMAMask={nodes}\n");
    out += "# instead of --interleave=all, for start scripts that use it\n";
    out += &environment("NUMACTL_ARGS", &numactl::arguments(instance).join(" "));
    out += "# appended last by cassandra-env.sh\n";
    out += &environment("JVM_EXTRA_OPTS", &options);
    out += "LimitMEMLOCK=infinity\nLimitNOFILE=1048576\nLimitNPROC=32768\nLimitAS=infinity\n";
    out += "\n# systemd ignores sections that begin with X-\n[X-Cassay]\n";
    out += &format!("Rack={}\n", escapes::systemd(&source.plan.rack));
    Ok(out)
}

pub fn write_slice(source: &Source) -> Result<String, ExportError> {
    let cpus = not_given(source.plan);
    let section = "# drop-in of system.slice and user.slice; for init.scope the section is [Scope]";
    let mut out = format!("# {}\n{section}\n[Slice]\n", header(source, None));
    if cpus.is_empty() {
        out += "# every CPU belongs to an instance, so no confinement is possible\nAllowedCPUs=\n"
    } else {
        out += &format!("AllowedCPUs={cpus}\n")
    }
    Ok(out)
}

struct Setting {
    section: String,
    key: String,
    value: String,
}

/// Returns the settings of a unit, in the order of the file. The blanks around `=`, which systemd
/// ignores, are removed. A backslash at the end of a line continues the line.
fn settings(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let (mut begun, mut section) = (String::new(), String::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(head) = line.strip_suffix('\\') {
            begun += head;
            begun.push(' ');
            continue;
        }
        let whole = std::mem::take(&mut begun) + line;
        if let Some(name) = whole.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((key, value)) = whole.split_once('=') {
            settings.push(Setting {
                section: section.clone(),
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
            });
        }
    }
    settings
}

/// Adds the numbers in one setting to a list. A unit may set a list in several lines. An empty
/// value clears the list.
fn merge(into: &mut Option<CpuSet>, value: &str) -> Result<(), ReadError> {
    let numbers = set(value)?;
    if value.is_empty() {
        *into = None;
    } else {
        into.get_or_insert_default().extend(numbers.iter());
    }
    Ok(())
}

fn set(text: &str) -> Result<CpuSet, ReadError> {
    CpuSet::parse_list(text).map_err(|what| wrong("systemd unit", what))
}

fn words(value: &str) -> Result<Vec<String>, ReadError> {
    systemd_words(value).ok_or_else(|| {
        let what = format!("{value:?} contains an unterminated quote or a wrong escape");
        wrong("systemd unit", what)
    })
}

/// Settings of a service that place its processes.
#[derive(Default)]
struct Service {
    allowed: Option<CpuSet>,
    affinity: Option<CpuSet>,
    affinity_is_numa: bool,
    allowed_nodes: Option<CpuSet>,
    mask: Option<CpuSet>,
    mask_is_all: bool,
    policy: String,
    environment: BTreeMap<String, String>,
    unset: Vec<String>,
    start: Vec<String>,
    /// True if systemd does not replace variables in the command.
    start_is_literal: bool,
    rack: Option<String>,
    /// Settings with limits of CPU time or memory, which a placement does not contain.
    limits: BTreeMap<String, String>,
}

impl Service {
    fn set(&mut self, key: &str, value: &str) -> Result<(), ReadError> {
        match key {
            "AllowedCPUs" => merge(&mut self.allowed, value)?,
            "CPUAffinity" => {
                self.affinity_is_numa = value == "numa";
                if !self.affinity_is_numa {
                    merge(&mut self.affinity, value)?;
                }
            }
            "AllowedMemoryNodes" => merge(&mut self.allowed_nodes, value)?,
            "NUMAMask" => {
                self.mask_is_all = value == "all";
                if !self.mask_is_all {
                    merge(&mut self.mask, value)?;
                }
            }
            "NUMAPolicy" => self.policy = value.to_owned(),
            // An empty setting removes all variables that earlier lines set.
            "Environment" if value.is_empty() => self.environment.clear(),
            "Environment" => {
                let words = words(value)?;
                let set = words.iter().filter_map(|word| {
                    let (name, value) = word.split_once('=')?;
                    Some((name.to_owned(), value.to_owned()))
                });
                self.environment.extend(set);
            }
            "UnsetEnvironment" => self.unset.extend(words(value)?),
            "ExecStart" => {
                // systemd.service(5): of these prefixes, `@` makes the next word the name of the
                // process, and `:` switches off variables. The others do not change the command.
                let command = value.trim_start_matches(['@', '-', ':', '+', '!', '|']);
                let prefixes = &value[..value.len() - command.len()];
                self.start = words(command)?;
                if prefixes.contains('@') && self.start.len() > 1 {
                    self.start.remove(1);
                }
                self.start_is_literal = prefixes.contains(':');
            }
            key if is_limit(key) => _ = self.limits.insert(key.to_owned(), value.to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn placement(mut self) -> Result<Placement, ReadError> {
        self.environment.retain(|name, _| !self.unset.contains(name));
        let expand = |word: &String| {
            if self.start_is_literal {
                vec![word.clone()]
            } else {
                self.expand(word)
            }
        };
        let start = self.start.iter().flat_map(expand).collect();
        let started = numactl::read_commands(&[start], &self.environment)?;
        let mut placement = Placement {
            cpus_of_nodes: started.cpus_of_nodes,
            ignored: started.ignored,
            rack: self.rack,
            ..Placement::default()
        };
        if self.affinity_is_numa && placement.cpus_of_nodes.is_none() {
            placement.cpus_of_nodes = self.mask.clone();
        }
        if self.mask.is_some() && ["local", "default"].contains(&self.policy.as_str()) {
            let mask = self.mask.take().unwrap_or_default();
            placement.ignore(format!("NUMAMask={mask}, with NUMAPolicy={}", self.policy));
        }
        // numactl replaces the affinity and the policy that systemd sets. The control group limits
        // both.
        let started_cpus = started.cpus.map(|cpus| cpus.into_iter().collect::<CpuSet>());
        let cpus = match started_cpus {
            Some(cpus) => Some(("numactl", cpus)),
            None => self.affinity.map(|cpus| ("CPUAffinity", cpus)),
        };
        let nodes = match started.memory_nodes {
            Some(nodes) => Some(("numactl", nodes)),
            None => self.mask.map(|nodes| ("NUMAMask", nodes)),
        };
        let is_spread = started.interleaves_all || self.policy == "interleave" && self.mask_is_all;
        placement.interleaves_all = is_spread && self.allowed_nodes.is_none() && nodes.is_none();
        let allowed = ("AllowedCPUs", self.allowed);
        placement.cpus = within(allowed, cpus, &mut placement).map(|set| set.iter().collect());
        let allowed = ("AllowedMemoryNodes", self.allowed_nodes);
        placement.memory_nodes = within(allowed, nodes, &mut placement);
        environment::add(&self.environment, &mut placement);
        ignore_limits(self.limits, &mut placement);
        Ok(placement)
    }

    /// Replaces variables of the environment in a word of a command. A word that is only `$NAME`
    /// becomes several words.
    fn expand(&self, word: &str) -> Vec<String> {
        let variable = word.strip_prefix('$').and_then(|name| self.environment.get(name));
        if let Some(value) = variable {
            return environment::words_of(value);
        }
        let mut word = word.to_owned();
        for (name, value) in &self.environment {
            word = word.replace(&format!("${{{name}}}"), value);
        }
        vec![word]
    }
}

/// Returns the numbers that apply if a control group allows only some numbers, and another setting
/// selects some. If the two sets have no number in common, the kernel uses all that the group
/// allows.
fn within(
    (group, allowed): (&str, Option<CpuSet>),
    selected: Option<(&str, CpuSet)>,
    placement: &mut Placement,
) -> Option<CpuSet> {
    let Some((setting, selected)) = selected else {
        return allowed;
    };
    let Some(allowed) = allowed else {
        return Some(selected);
    };
    let both = allowed.intersection(&selected);
    if both != selected {
        let outside = selected.difference(&allowed);
        placement.ignore(format!("{outside} of {setting}, which {group} excludes"));
    }
    Some(if both.is_empty() { allowed } else { both })
}

fn is_limit(key: &str) -> bool {
    let families = [
        "CPU",
        "Memory",
        "StartupCPU",
        "StartupMemory",
        "StartupAllowed",
    ];
    families.iter().any(|family| key.starts_with(family))
        || ["LimitAS", "LimitDATA", "LimitRSS", "LimitCPU"].contains(&key)
}

/// Adds limits of CPU time and memory to the ignored settings. Switches and infinite values limit
/// nothing.
fn ignore_limits(limits: BTreeMap<String, String>, placement: &mut Placement) {
    let nothing = ["", "infinity", "yes", "no", "true", "false", "on", "off"];
    for (key, value) in limits {
        if !nothing.contains(&value.as_str()) {
            placement.ignore(format!("{key}={value}"));
        }
    }
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let mut service = Service::default();
    for Setting {
        section,
        key,
        value,
    } in settings(text)
    {
        match section.as_str() {
            "Service" => service.set(&key, &value)?,
            "X-Cassay" if key == "Rack" => service.rack = read_systemd(&value),
            _ => {}
        }
    }
    if text.lines().any(|line| line.trim() == "[Service]") {
        service.placement()
    } else {
        Err(wrong("systemd unit", "the file has no [Service] section"))
    }
}

pub fn read_slice(text: &str) -> Result<Placement, ReadError> {
    let (mut allowed, mut is_set) = (None, false);
    let mut limits = BTreeMap::new();
    let settings = settings(text).into_iter();
    for setting in settings.filter(|one| ["Slice", "Scope"].contains(&one.section.as_str())) {
        if setting.key == "AllowedCPUs" {
            is_set = true;
            merge(&mut allowed, &setting.value)?;
        } else if is_limit(&setting.key) {
            limits.insert(setting.key, setting.value);
        }
    }
    if !is_set {
        let what = "no [Slice] or [Scope] section of the file sets AllowedCPUs";
        return Err(wrong("systemd unit", what));
    }
    let mut placement = Placement {
        reserved: Some(allowed.unwrap_or_default()),
        ..Placement::default()
    };
    ignore_limits(limits, &mut placement);
    Ok(placement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(lines: &str) -> Placement {
        read(&format!("[Service]\n{lines}\n")).unwrap()
    }

    fn list(text: &str) -> Option<CpuSet> {
        CpuSet::parse_list(text).ok()
    }

    #[test]
    fn the_command_and_the_policy_of_a_service_place_it() {
        for start in [
            "ExecStart=/usr/bin/numactl --cpunodebind=0 --membind=0 /usr/sbin/cassandra -f",
            "ExecStart=-/bin/sh -c 'exec numactl -N 0 -m 0 cassandra'",
            "Environment=N=0\nExecStart=/usr/bin/numactl -N ${N} -m ${N} cassandra",
            "ExecStart=-@/usr/bin/numactl a-name -N 0 -m 0 cassandra",
            "Environment='NUMACTL_ARGS=-N 0 -m 0'\nExecStart=/usr/sbin/cassandra",
            "NUMAPolicy=bind\nNUMAMask=0\nCPUAffinity=numa",
        ] {
            let placed = service(start);
            let nodes = (placed.cpus_of_nodes, placed.memory_nodes);
            assert_eq!(nodes, (list("0"), list("0")), "{start}");
            assert_eq!((placed.cpus, placed.ignored.len()), (None, 0), "{start}");
        }
        let spread = service("NUMAPolicy=interleave\nNUMAMask=all\nCPUAffinity=numa");
        assert!(spread.interleaves_all && spread.cpus_of_nodes.is_none());
        let literal = "Environment=N=-N\nExecStart=:/usr/bin/numactl $N 0 cassandra";
        assert_eq!(service(literal).cpus_of_nodes, None);
        let narrowed = service("AllowedCPUs=0-3\nExecStart=numactl -C 2-5 cassandra");
        assert_eq!(narrowed.cpus, Some(vec![2, 3]));
        assert_eq!(
            narrowed.ignored,
            ["4-5 of numactl, which AllowedCPUs excludes"]
        );
    }

    #[test]
    fn environment_and_sections_follow_systemd_exec() {
        let heap = service("Environment=MAX_HEAP_SIZE=8G HEAP_NEWSIZE=800M\nMemoryMax=16G");
        assert_eq!(heap.heap_bytes, Some(8 << 30));
        assert_eq!(heap.ignored, ["HEAP_NEWSIZE=800M", "MemoryMax=16G"]);
        let options = service("Environment='JVM_EXTRA_OPTS=-Dx=a\\x20b -Dy=\\u00fc%%%h\\101'");
        let words = ["-Dx=a", "b", "-Dy=ü%%hA"].map(str::to_owned);
        assert_eq!(options.jvm, Some(words.to_vec()));
        let reset = service("Environment=\"JVM_EXTRA_OPTS=-Xmx8G\"\nEnvironment=");
        assert_eq!(reset.jvm, None);
        let unset = service("Environment=JVM_EXTRA_OPTS=-Xmx8G\nUnsetEnvironment=JVM_EXTRA_OPTS");
        assert_eq!(unset.jvm, None);
        let text =
            "[Unit]\nAllowedCPUs=9\n[Service]\nAllowedCPUs=1\nCPUQuota=200%\nLimitAS=infinity";
        let placed = read(text).unwrap();
        assert_eq!(
            (placed.cpus, placed.ignored),
            (Some(vec![1]), vec!["CPUQuota=200%".to_owned()])
        );
        assert!(read("[Service]\nEnvironment='A=\\xzz'").is_err());
        assert!(read_slice("[Service]\nAllowedCPUs=1").is_err());
    }
}
