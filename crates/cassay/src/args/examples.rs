//! Examples of every command, as data: what its help ends with, and the reference shows.
//!
//! Long because every command has some.
//!
//! Each is parsed by a test, so that none is wrong.

use super::Args;
use clap::{Command, CommandFactory};

/// A command line, and what it does.
pub type Example = (&'static str, &'static str);

/// The command with its examples.
pub fn command() -> Command {
    let mut command = Args::command();
    for (path, examples) in EXAMPLES {
        let text = shown(examples);
        command = at(command, path, |command| command.after_help(text.clone()));
    }
    command
}

/// Changes the command at a path of names.
fn at(command: Command, path: &str, change: impl Fn(Command) -> Command) -> Command {
    match path.split_once(' ') {
        None => command.mut_subcommand(path, change),
        Some((first, rest)) => command.mut_subcommand(first, |command| at(command, rest, change)),
    }
}

fn shown(examples: &[Example]) -> String {
    let mut text = "Examples:".to_owned();
    for (line, what) in examples {
        text += &format!("\n  {line}\n      {what}");
    }
    text
}

/// All examples, by the names of their command.
pub const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "new",
        &[
            ("cassay new", "Lists the templates."),
            (
                "cassay new peak",
                "Asks four questions, and writes peak.yaml.",
            ),
            (
                "cassay new sweep --target local --set repeat.blocks=3 --yes",
                "Asks nothing: one answer is given, the others are the defaults.",
            ),
            (
                "cassay new upgrade --target attach:10.0.0.1 --to before.yaml",
                "Of a cluster that is there.",
            ),
        ],
    ),
    (
        "demo",
        &[
            (
                "cassay demo",
                "One Cassandra on this machine, from nothing to a report.",
            ),
            (
                "cassay demo --target null",
                "The same in a minute without Java: a look at cassay, not at Cassandra.",
            ),
        ],
    ),
    (
        "studies",
        &[("cassay studies list", "What is in the program.")],
    ),
    (
        "studies list",
        &[("cassay studies list --json", "For programs.")],
    ),
    (
        "studies copy",
        &[
            ("cassay studies copy first-look", "Writes first-look.yaml."),
            (
                "cassay studies copy dse-vsan --to mine",
                "A folder of studies, with the figures that were published.",
            ),
        ],
    ),
    (
        "plan",
        &[
            (
                "cassay plan studies/first-look.yaml",
                "Every trial, its time and its disk.",
            ),
            (
                "cassay plan study.yaml --target attach:10.0.0.1 --allow create=cassay_peak",
                "Also asks the cluster whether it would be allowed.",
            ),
            (
                "cassay plan study.yaml --offline",
                "Asks no cluster: where it is not in reach.",
            ),
            (
                "cassay plan study.yaml --json",
                "The same for programs: `cassay schema plan`.",
            ),
        ],
    ),
    (
        "run",
        &[
            (
                "cassay run studies/first-look.yaml",
                "Starts a cluster, measures, writes a report.",
            ),
            (
                "cassay run study.yaml --target null --set window.measure=2s",
                "The same without a cluster, with one setting changed.",
            ),
            (
                "cassay run study.yaml --json",
                "findings.json on stdout when it ends.",
            ),
            (
                "cassay run study.yaml --junit junit.xml --markdown summary.md",
                "Files for a pipeline.",
            ),
        ],
    ),
    (
        "bisect",
        &[
            (
                "cassay bisect study.yaml --builds 5.0.4,5.0.5,5.0.6,5.0.7,5.0.8",
                "Which release has made the study's answer worse, if one has.",
            ),
            (
                "cassay bisect study.yaml --builds builds.yaml --good r101 --bad r108 --trust",
                "Builds of yours, as the file names and makes them.",
            ),
        ],
    ),
    (
        "resume",
        &[
            ("cassay resume", "The latest run, where it was interrupted."),
            (
                "cassay resume compare --more 4",
                "Four more blocks of a run without an answer.",
            ),
        ],
    ),
    (
        "confirm",
        &[(
            "cassay confirm screening --plan",
            "What confirming a screening would take.",
        )],
    ),
    (
        "list",
        &[
            ("cassay list", "All runs, oldest first."),
            ("cassay list --json", "For programs."),
        ],
    ),
    (
        "show",
        &[
            ("cassay show", "The latest run."),
            (
                "cassay show --trials peak",
                "Each trial of the newest run of a study, with reasons.",
            ),
            ("cassay show --json latest", "The report as data."),
        ],
    ),
    (
        "history",
        &[
            ("cassay history nightly", "A study over its runs."),
            (
                "cassay history nightly --fail-on-regression",
                "Ends with 4 if it became slower.",
            ),
        ],
    ),
    (
        "clean",
        &[
            (
                "cassay clean --target attach:10.0.0.1",
                "Lists the tables that your runs have left there, and asks before it drops them.",
            ),
            (
                "cassay clean --target attach:10.0.0.1 --yes",
                "The same without a question.",
            ),
        ],
    ),
    (
        "tag",
        &[
            (
                "cassay tag release-5.0 nightly/20261120T232909Z",
                "For `require: {not_worse_than: release-5.0}`.",
            ),
            ("cassay tag", "The names that there are."),
        ],
    ),
    (
        "delete",
        &[
            (
                "cassay delete peak/20261120T232909Z",
                "Lists the run with its size, and asks before it deletes it.",
            ),
            (
                "cassay delete --older-than 30d --yes",
                "Every run that began more than 30 days ago, but those with a tag.",
            ),
        ],
    ),
    (
        "export",
        &[
            (
                "cassay export latest --csv",
                "The tables of the last run, as CSV.",
            ),
            (
                "cassay export nightly --parquet --figures svg,png --to tables",
                "For pandas or DuckDB, and for slides.",
            ),
        ],
    ),
    (
        "compare",
        &[(
            "cassay compare upgrade/20261120T232909Z latest --require-not-slower",
            "Ends with 4 if the later one looks slower at any point.",
        )],
    ),
    (
        "report",
        &[(
            "cassay report latest --to report.html",
            "The report of the latest run again.",
        )],
    ),
    (
        "import",
        &[(
            "cassay import latest esxtop.csv --column 'CPU*'",
            "Columns of esxtop -b beside a run.",
        )],
    ),
    (
        "target",
        &[(
            "cassay target up --nodes 3",
            "A cluster that stays until `target down`.",
        )],
    ),
    (
        "target up",
        &[
            (
                "cassay target up --nodes 3 --heap 512MiB",
                "Three nodes on loopback addresses.",
            ),
            (
                "cassay target up --hosts 3 --host-memory 3GiB --host-volume 20GiB",
                "Three hosts with limits, as root.",
            ),
            (
                "cassay target up --machines lab.yaml --nodes-per-host 2",
                "Two nodes on each of the machines of a file.",
            ),
        ],
    ),
    (
        "hosts",
        &[(
            "cassay hosts check lab.yaml",
            "Whether nodes can be put on the machines of a file.",
        )],
    ),
    (
        "hosts check",
        &[(
            "cassay hosts check lab.yaml",
            "Before the long run: all that is in the way, on all machines.",
        )],
    ),
    (
        "hosts bench",
        &[(
            "cassay hosts bench lab.yaml --json",
            "What the disks and links are, to keep with a study.",
        )],
    ),
    (
        "hosts clean",
        &[(
            "cassay hosts clean lab.yaml --all",
            "As if cassay had never been there.",
        )],
    ),
    (
        "kubernetes",
        &[(
            "cassay kubernetes rbac --namespace load",
            "The role that clients in pods need.",
        )],
    ),
    (
        "kubernetes run",
        &[(
            "cassay kubernetes run study.yaml --image cassandra:5.0 -- --trust --allow create=ks",
            "Within the cluster, whatever becomes of this terminal.",
        )],
    ),
    (
        "kubernetes rbac",
        &[
            (
                "cassay kubernetes rbac --namespace load --for clients,nodes",
                "A service account that may do what runs need.",
            ),
            (
                "cassay kubernetes rbac --namespace load --user ann",
                "The same for a user, to hand to whoever keeps the cluster.",
            ),
            (
                "cassay kubernetes rbac --namespace db --for cass_operator --secret \
                 demo-superuser",
                "To attach to a data center of cass-operator.",
            ),
        ],
    ),
    (
        "target status",
        &[(
            "cassay target status --target attach:10.0.0.1",
            "The nodes of a cluster of others.",
        )],
    ),
    (
        "target abilities",
        &[(
            "cassay target abilities",
            "What this machine can give to hosts.",
        )],
    ),
    (
        "target down",
        &[(
            "cassay target down",
            "Stops all kept clusters and removes their data.",
        )],
    ),
    (
        "snapshot",
        &[(
            "cassay snapshot create full --keyspace keyspace1",
            "Puts the data of a cluster away.",
        )],
    ),
    (
        "snapshot create",
        &[(
            "cassay snapshot create full --keyspace keyspace1",
            "All tables of the keyspace.",
        )],
    ),
    (
        "snapshot list",
        &[("cassay snapshot list", "Of the only kept cluster.")],
    ),
    (
        "snapshot restore",
        &[(
            "cassay snapshot restore full",
            "What was written since is gone.",
        )],
    ),
    (
        "snapshot verify",
        &[("cassay snapshot verify full", "Reads all of its files.")],
    ),
    (
        "snapshot remove",
        &[("cassay snapshot remove full", "Removes it.")],
    ),
    (
        "snapshot export",
        &[(
            "cassay snapshot export full --to full-20M",
            "The folder full-20M can be moved anywhere.",
        )],
    ),
    (
        "snapshot import",
        &[
            (
                "cassay snapshot import full-20M",
                "Then `cassay snapshot restore full` makes it the data.",
            ),
            (
                "cassay snapshot import full-20M --as before",
                "Under another name.",
            ),
        ],
    ),
    (
        "fault",
        &[("cassay fault list", "What can be broken here.")],
    ),
    (
        "fault list",
        &[("cassay fault list --json", "For programs.")],
    ),
    (
        "fault test",
        &[
            (
                "cassay fault test node-pause net-loss",
                "Tries two kinds, one by one.",
            ),
            (
                "cassay fault test node-pause --target attach:10.0.0.1 --set \
                 'target.attach.hosts={ssh: [db1, db2, db3], sudo: true}' --allow signal",
                "Of a cluster that somebody else runs, before a study does it.",
            ),
        ],
    ),
    (
        "fault run",
        &[(
            "cassay fault run net-loss --loss 10% --host 2 --for 1m",
            "Breaks it for a minute.",
        )],
    ),
    (
        "supply",
        &[("cassay supply list", "What nodes would be started from.")],
    ),
    (
        "supply list",
        &[("cassay supply list --json", "For programs.")],
    ),
    (
        "supply fetch",
        &[
            (
                "cassay supply fetch",
                "The jars of the version that is pinned.",
            ),
            (
                "cassay supply fetch --repository https://maven.example.org/central",
                "From a mirror.",
            ),
        ],
    ),
    (
        "supply export",
        &[(
            "cassay supply export cassandra.tar",
            "One file for a machine without a network.",
        )],
    ),
    (
        "supply import",
        &[("cassay supply import cassandra.tar", "There.")],
    ),
    (
        "doctor",
        &[
            ("cassay doctor --target local", "This machine's settings."),
            (
                "cassay doctor --target ssh:db1 --all",
                "All settings of another one.",
            ),
            (
                "cassay doctor --target ssh:db1,me@db2 --sudo",
                "Of two others, seen as root.",
            ),
            (
                "cassay doctor --target attach:10.0.0.1 --set 'target.attach.hosts={ssh: [db1]}'",
                "Of the machines of somebody else's cluster, and its nodes there.",
            ),
        ],
    ),
    (
        "topology",
        &[("cassay topology show", "What this machine looks like.")],
    ),
    (
        "topology show",
        &[(
            "cassay topology show --machine 'pack:2 core:8 pu:2'",
            "One that is described.",
        )],
    ),
    (
        "topology plan",
        &[(
            "cassay topology plan --instances 4 --vcpus 4 --memory 16GiB",
            "Where four nodes go.",
        )],
    ),
    (
        "topology export",
        &[(
            "cassay topology export libvirt --instances 2 --vcpus 4 --into plan",
            "The same for libvirt, as files.",
        )],
    ),
    (
        "topology read",
        &[(
            "cassay topology read libvirt plan/node1.xml",
            "What a file places where.",
        )],
    ),
    (
        "topology apply",
        &[(
            "cassay topology apply --topology pinned",
            "Places the nodes of a kept cluster.",
        )],
    ),
    (
        "explain",
        &[
            (
                "cassay explain V12",
                "A rule that has made a trial suspect.",
            ),
            ("cassay explain window.warmup", "A key of a study."),
            ("cassay explain release lag", "A word in a report."),
            ("cassay explain", "All that there is."),
        ],
    ),
    (
        "schema",
        &[
            (
                "cassay schema study --to study.schema.json",
                "For an editor: completes a study, and marks mistakes.",
            ),
            ("cassay schema findings", "What findings.json has."),
        ],
    ),
    (
        "completions",
        &[(
            "cassay completions bash",
            "Put what it prints into ~/.local/share/bash-completion/completions/cassay.",
        )],
    ),
    (
        "man",
        &[("cassay man --to man", "Then: man -l man/cassay.1")],
    ),
    (
        "null",
        &[(
            "cassay null --port 9042 --latency 1ms",
            "A server that answers after 1 ms.",
        )],
    ),
    (
        "workload",
        &[("cassay workload list", "The named workloads.")],
    ),
    (
        "workload list",
        &[("cassay workload list --json", "For programs.")],
    ),
    (
        "workload show",
        &[(
            "cassay workload show standard1",
            "Its kinds and parameters.",
        )],
    ),
    (
        "workload check",
        &[(
            "cassay workload check workloads/orders.yaml",
            "A workload file, without a server.",
        )],
    ),
    (
        "workload twin",
        &[(
            "cassay workload twin shop.users --target attach:10.0.0.1 --to twin.yaml",
            "A table of a cluster that is there, to be made elsewhere with other values.",
        )],
    ),
    (
        "workload recorded",
        &[(
            "cassay workload recorded /var/log/cassandra/fql",
            "What a full query log holds, and what of it can be offered again.",
        )],
    ),
    (
        "workload sample",
        &[(
            "cassay workload sample kv --rows 3",
            "Rows that it would write.",
        )],
    ),
    (
        "stress",
        &[(
            "cassay stress write n=100k -rate threads=50",
            "The words of cassandra-stress, without its name.",
        )],
    ),
    (
        "nb",
        &[(
            "cassay nb cql-iot.yaml default rampup-cycles=100k host=10.0.0.1",
            "A scenario.",
        )],
    ),
    (
        "ycsb",
        &[(
            "cassay ycsb run -P workloads/workloada -p hosts=10.0.0.1 -threads 32",
            "A workload.",
        )],
    ),
    (
        "easy",
        &[(
            "cassay easy run KeyValue -d 5m --rate 10k -r 0.5 --host 10.0.0.1",
            "A workload.",
        )],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    /// Names of all commands, with those below others.
    fn paths(command: &Command, above: &str) -> Vec<String> {
        let mut found = Vec::new();
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path = format!("{above} {}", below.get_name()).trim().to_owned();
            found.push(path.clone());
            found.extend(paths(below, &path));
        }
        found
    }

    #[test]
    fn every_command_has_an_example_and_each_is_understood() {
        let mut command = command();
        command.build();
        for path in paths(&command, "") {
            let of = EXAMPLES.iter().find(|(known, _)| *known == path);
            let (_, examples) = of.unwrap_or_else(|| panic!("{path} has no example"));
            for (line, what) in *examples {
                assert!(line.starts_with("cassay "), "{line}");
                assert!(what.ends_with('.') || what.starts_with("Then: "), "{what}");
                let words = shlex::split(line).unwrap();
                let parsed = command.clone().try_get_matches_from(words);
                let args = parsed.and_then(|matches| Args::from_arg_matches(&matches));
                assert!(args.is_ok(), "{line}: {}", args.err().unwrap());
            }
        }
    }
}
