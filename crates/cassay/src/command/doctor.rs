//! `cassay doctor`: shows the settings of hosts that Cassandra depends on, and how to fix them.

use super::{attached, dirs, is_one_kept, over_ssh};
use crate::args::{Common, DoctorArgs, MachineAt};
use crate::exit::Exit;
use crate::terminal;
use ::cluster::{Cluster, kept_cluster};
use ::doctor::{Finding, HostExamination, Severity};
use ::target_spec::Capability;
use anyhow::Result;
use cassandra::NodeConfiguration;
use serde_json::{Value, json};

const INDENT: &str = "      ";

/// Examines the hosts and prints the findings. The exit code does not depend on the findings.
pub fn run(args: &DoctorArgs, common: &Common) -> Result<Exit> {
    let hosts = examine(args)?;
    for host in &hosts {
        for unseen in &host.unseen {
            terminal::say(&format!("note: {}: {unseen}", host.host));
        }
    }
    if common.json {
        terminal::json(&hosts.iter().map(to_json).collect());
        return Ok(Exit::Done);
    }
    terminal::data(&text(&hosts, args.all, terminal::columns()));
    Ok(Exit::Done)
}

fn examine(args: &DoctorArgs) -> Result<Vec<HostExamination>> {
    if let Some(MachineAt::Ssh(names)) = &args.target {
        let agents = over_ssh(&args.ssh, names)?;
        let named = names.iter().zip(&agents);
        return named.map(|(name, agent)| ::doctor::there(agent, name)).collect();
    }
    args.ssh.nothing()?;
    if let Some(MachineAt::Attach(target)) = &args.target {
        return examine_attached(&attached(target, &args.way_in)?);
    }
    args.way_in.nothing()?;
    match &args.target {
        Some(MachineAt::Local) => Ok(vec![::doctor::here()]),
        Some(MachineAt::Kept | MachineAt::Ssh(_) | MachineAt::Attach(_)) => examine_kept(args),
        None if args.cluster.cluster.is_some() || is_one_kept()? => examine_kept(args),
        None => Ok(vec![::doctor::here()]),
    }
}

fn examine_kept(args: &DoctorArgs) -> Result<Vec<HostExamination>> {
    let say = &mut |text: &str| terminal::say(text);
    let cluster = kept_cluster::open(&dirs()?, args.cluster.cluster.as_deref(), say)?;
    examine_cluster(&cluster)
}

/// Examines an attached cluster. If the MBeans of its JVMs are accessible, queries the JVMs too.
fn examine_attached(cluster: &Cluster) -> Result<Vec<HostExamination>> {
    if cluster.can(Capability::Mbeans) {
        return examine_cluster(cluster);
    }
    examine_told(cluster, &[])
}

fn examine_cluster(cluster: &Cluster) -> Result<Vec<HostExamination>> {
    // Even if a node does not answer, cassay can read the node's command line.
    let told = cluster.observe().unwrap_or_else(|error| {
        terminal::say(&format!(
            "note: cassay could not read the JVM flags from the nodes, so it uses only their \
             command lines: {error:#}"
        ));
        ::cluster::NodeReports::default()
    });
    examine_told(cluster, &told.nodes)
}

fn examine_told(cluster: &Cluster, told: &[NodeConfiguration]) -> Result<Vec<HostExamination>> {
    let hosts = cluster.host_settings(&::doctor::question())?;
    ::doctor::examine_cluster(cluster.nodes(), hosts.as_deref(), told)
}

/// A finding that several hosts may share. `on` lists the nodes or devices that the finding
/// concerns.
struct Shared<'a> {
    finding: &'a Finding,
    hosts: Vec<&'a str>,
    on: Vec<&'a str>,
}

/// Returns all findings without duplicates, the worst first.
fn shared(hosts: &[HostExamination]) -> Vec<Shared<'_>> {
    let mut all: Vec<Shared<'_>> = Vec::new();
    let is_alike = |a: &Finding, b: &Finding| {
        let but_where = |one: &Finding| Finding {
            on: String::new(),
            ..one.clone()
        };
        but_where(a) == but_where(b)
    };
    for host in hosts {
        for finding in &host.findings {
            let known = all.iter().position(|one| is_alike(one.finding, finding));
            let index = known.unwrap_or(all.len());
            if known.is_none() {
                all.push(Shared {
                    finding,
                    hosts: Vec::new(),
                    on: Vec::new(),
                });
            }
            let one = &mut all[index];
            if !one.hosts.contains(&host.host.as_str()) {
                one.hosts.push(&host.host);
            }
            if !one.on.contains(&finding.on.as_str()) {
                one.on.push(&finding.on);
            }
        }
    }
    all.sort_by_key(|one| one.finding.level);
    all
}

/// Number of names in a cell of the table, if the cell omits some names.
const NAMES_MAX: usize = 4;

/// Joins names. If the list is long, lists only the first names, followed by the number of omitted
/// names.
fn names(all: &[&str]) -> String {
    match all.len().checked_sub(NAMES_MAX) {
        Some(more) if more > 1 => format!("{} and {more} more", all[..NAMES_MAX].join(", ")),
        _ => all.join(", "),
    }
}

fn text(hosts: &[HostExamination], with_all: bool, columns: usize) -> String {
    let mut text = String::new();
    for host in hosts {
        text += &format!("{}: {}\n", host.host, host.about.join(", "));
    }
    if hosts.iter().any(|host| host.is_contained) {
        text += "A container shares the kernel of its machine: change the settings on the \
                 machine.\n";
    }
    let all = shared(hosts);
    let count = |level| all.iter().filter(|one| one.finding.level == level).count();
    let is_shown = |one: &&Shared<'_>| with_all || one.finding.level != Severity::Ok;
    let shown: Vec<&Shared<'_>> = all.iter().filter(is_shown).collect();
    let head = ["Verdict", "Host", "Setting", "On", "Value", "Wanted"];
    let row = |one: &&Shared<'_>| {
        let finding = one.finding;
        let name = match one.hosts.len() {
            several if several > 1 && several == hosts.len() => "all".to_owned(),
            _ => names(&one.hosts),
        };
        let value = match finding.level {
            Severity::Unknown => "?",
            _ => &finding.value,
        };
        let cells = [
            finding.level.name(),
            &name,
            finding.setting,
            &finding.on,
            value,
        ];
        [
            cells.map(str::to_owned).to_vec(),
            vec![finding.wanted.clone()],
        ]
        .concat()
    };
    if !shown.is_empty() {
        let head = head.map(str::to_owned).to_vec();
        let rows: Vec<_> = [head].into_iter().chain(shown.iter().map(row)).collect();
        let table = terminal::table(&rows, &[false; 6]);
        let mut lines = table.lines();
        text += &format!("\n{}\n", lines.next().unwrap_or_default());
        for (line, one) in lines.zip(&shown) {
            text += &format!("{line}\n{}", explained(one.finding, columns));
        }
    }
    text + &format!(
        "\n{} to fix, {} to consider, {} unknown, {} correct{}\n",
        count(Severity::Warning),
        count(Severity::Advice),
        count(Severity::Unknown),
        count(Severity::Ok),
        if with_all { "" } else { " (--all shows them)" }
    )
}

/// Returns the text below a row of the table: the reason and the fix, or the reason why the setting
/// is unknown.
fn explained(finding: &Finding, columns: usize) -> String {
    match finding.level {
        Severity::Ok => String::new(),
        Severity::Unknown => wrapped(&finding.value, columns),
        Severity::Advice | Severity::Warning => {
            let check = match finding.start_check {
                "" => String::new(),
                check => format!(" Cassandra's own check at start: {check}."),
            };
            let why = format!("{}{check} ({})", finding.why, finding.source);
            // The user copies a command from the output, so the command is never wrapped.
            format!("{}{INDENT}fix: {}\n", wrapped(&why, columns), finding.fix)
        }
    }
}

fn wrapped(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(INDENT.len()).max(40);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{INDENT}{line}\n")).collect()
}

fn to_json(host: &HostExamination) -> Value {
    let finding = |one: &Finding| {
        json!({
            "setting": one.setting, "on": one.on, "value": one.value, "wanted": one.wanted,
            "verdict": one.level.name(), "why": one.why, "fix": one.fix, "source": one.source,
            "start_check": one.start_check,
        })
    };
    json!({
        "host": host.host,
        "about": host.about,
        "in_container": host.is_contained,
        "settings": host.findings.iter().map(finding).collect::<Vec<_>>(),
        "unseen": host.unseen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(setting: &'static str, level: Severity) -> Finding {
        Finding {
            setting,
            on: String::new(),
            value: "1".into(),
            wanted: "2".into(),
            level,
            why: "It costs time.".into(),
            fix: "set it".into(),
            source: "somebody",
            start_check: "",
        }
    }

    #[test]
    fn hosts_that_are_alike_share_a_row_and_what_is_well_is_counted() {
        let host = |name: &str, findings: Vec<Finding>| HostExamination {
            host: name.into(),
            about: vec!["2 CPUs".into()],
            is_contained: false,
            findings,
            unseen: Vec::new(),
        };
        let (bad, well) = (finding("a", Severity::Warning), finding("b", Severity::Ok));
        let hosts = [
            host("host1", vec![bad.clone(), well.clone()]),
            host("host2", vec![bad, well, finding("c", Severity::Advice)]),
        ];
        let said = text(&hosts, false, 80);
        let expected = "host1: 2 CPUs\nhost2: 2 CPUs\n\n  \
             Verdict  Host   Setting  On  Value  Wanted\n  \
             warning  all    a            1      2\n      \
             It costs time. (somebody)\n      fix: set it\n  \
             advice   host2  c            1      2\n      \
             It costs time. (somebody)\n      fix: set it\n\n\
             1 to fix, 1 to consider, 0 unknown, 1 correct (--all shows them)\n";
        assert_eq!(said, expected);
        assert!(text(&hosts, true, 80).contains("ok       all    b"));
    }

    #[test]
    fn a_reason_is_broken_between_words_and_a_command_is_not() {
        let mut one = finding("a", Severity::Warning);
        one.why = "word ".repeat(30);
        one.fix = "command ".repeat(30);
        let said = explained(&one, 60);
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            lines[..lines.len() - 1].iter().all(|line| line.len() <= 60),
            "{said}"
        );
        assert!(lines[lines.len() - 1].len() > 200);
    }
}
