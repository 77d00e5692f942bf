//! Examples of every command, as data. The help of each command ends with its examples, and the
//! reference lists them.
//!
//! Long because every command has some examples.
//!
//! A test parses each example, so every example is valid.

use super::Args;
use clap::{Command, CommandFactory};

/// An example: a command line, and the description of this command line.
pub type Example = (&'static str, &'static str);

pub fn command() -> Command {
    let mut command = Args::command();
    for (path, examples) in EXAMPLES {
        let text = shown(examples);
        command = change_command(command, path, |command| command.after_help(text.clone()));
    }
    command
}

/// Applies `change` to the subcommand at `path`. The path consists of command names separated by
/// spaces.
fn change_command(command: Command, path: &str, change: impl Fn(Command) -> Command) -> Command {
    match path.split_once(' ') {
        None => command.mut_subcommand(path, change),
        Some((first, rest)) => {
            command.mut_subcommand(first, |command| change_command(command, rest, change))
        }
    }
}

fn shown(examples: &[Example]) -> String {
    let mut text = "Examples:".to_owned();
    for (line, what) in examples {
        text += &format!("\n  {line}\n      {what}");
    }
    text
}

/// All examples, grouped by the full name of their command, such as `target up`.
pub const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "new",
        &[
            ("cassay new", "Lists the templates."),
            (
                "cassay new peak",
                "Asks four questions, then writes peak.yaml.",
            ),
            (
                "cassay new sweep --target local --set repeat.blocks=3 --yes",
                "Asks no questions: `--set` sets one answer, and the defaults answer the other \
                 questions.",
            ),
            (
                "cassay new upgrade --target attach:10.0.0.1 --to before.yaml",
                "Writes a study for an existing cluster.",
            ),
        ],
    ),
    (
        "demo",
        &[
            (
                "cassay demo",
                "Measures one Cassandra node on this machine, from the download to the report.",
            ),
            (
                "cassay demo --target null",
                "Takes one minute and needs no Java, but measures cassay instead of Cassandra.",
            ),
        ],
    ),
    (
        "studies",
        &[(
            "cassay studies list",
            "Lists the studies that cassay includes.",
        )],
    ),
    (
        "studies list",
        &[("cassay studies list --json", "Prints the list as JSON.")],
    ),
    (
        "studies copy",
        &[
            ("cassay studies copy first-look", "Writes first-look.yaml."),
            (
                "cassay studies copy dse-vsan --to mine",
                "Copies a folder of studies, with the published figures that they reproduce.",
            ),
        ],
    ),
    (
        "plan",
        &[
            (
                "cassay plan studies/first-look.yaml",
                "Shows every trial with its time and disk use.",
            ),
            (
                "cassay plan study.yaml --target attach:10.0.0.1 --allow create=cassay_peak",
                "Shows the plan, and checks that cassay may create the keyspace on the cluster.",
            ),
            (
                "cassay plan study.yaml --offline",
                "Shows the plan without contacting the cluster.",
            ),
            (
                "cassay plan study.yaml --json",
                "Prints the plan as JSON, which `cassay schema plan` describes.",
            ),
        ],
    ),
    (
        "run",
        &[
            (
                "cassay run studies/first-look.yaml",
                "Starts a cluster, measures it and writes a report.",
            ),
            (
                "cassay run study.yaml --target null --set window.measure=2s",
                "Measures the null target instead of a cluster, and changes one setting.",
            ),
            (
                "cassay run study.yaml --json",
                "Prints findings.json on stdout at the end.",
            ),
            (
                "cassay run study.yaml --junit junit.xml --markdown summary.md",
                "Writes summary files for a pipeline.",
            ),
        ],
    ),
    (
        "bisect",
        &[
            (
                "cassay bisect study.yaml --builds 5.0.4,5.0.5,5.0.6,5.0.7,5.0.8",
                "Finds the first release whose result is worse, if one exists.",
            ),
            (
                "cassay bisect study.yaml --builds builds.yaml --good r101 --bad r108 --trust",
                "Searches your own builds, which the file lists.",
            ),
        ],
    ),
    (
        "resume",
        &[
            ("cassay resume", "Continues the latest run."),
            (
                "cassay resume compare --more 4",
                "Adds four blocks to the newest run of the study `compare`.",
            ),
        ],
    ),
    (
        "confirm",
        &[(
            "cassay confirm screening --plan",
            "Shows the plan for confirming a screening.",
        )],
    ),
    (
        "list",
        &[
            ("cassay list", "Lists all runs, oldest first."),
            ("cassay list --json", "Prints the list as JSON."),
        ],
    ),
    (
        "show",
        &[
            ("cassay show", "Shows the latest run."),
            (
                "cassay show --trials peak",
                "Shows each trial of the newest run of a study, with the reasons for its verdict.",
            ),
            ("cassay show --json latest", "Prints the report as JSON."),
        ],
    ),
    (
        "history",
        &[
            (
                "cassay history nightly",
                "Shows the results of a study over all its runs.",
            ),
            (
                "cassay history nightly --fail-on-regression",
                "Exits with code 4 if the results became worse and stayed worse.",
            ),
        ],
    ),
    (
        "clean",
        &[
            (
                "cassay clean --target attach:10.0.0.1",
                "Lists the tables that your runs left on the cluster, and drops them after \
                 confirmation.",
            ),
            (
                "cassay clean --target attach:10.0.0.1 --yes",
                "Drops the tables of your runs without asking for confirmation.",
            ),
        ],
    ),
    (
        "tag",
        &[
            (
                "cassay tag release-5.0 nightly/20261120T232909Z",
                "Names a run, for `require: {not_worse_than: release-5.0}`.",
            ),
            ("cassay tag", "Lists the names of all named runs."),
        ],
    ),
    (
        "delete",
        &[
            (
                "cassay delete peak/20261120T232909Z",
                "Shows the run with its size, and deletes it after confirmation.",
            ),
            (
                "cassay delete --older-than 30d --yes",
                "Deletes all untagged runs that began more than 30 days ago.",
            ),
        ],
    ),
    (
        "serve",
        &[
            (
                "cassay serve",
                "Shows the runs at http://127.0.0.1:7070/. ssh -L forwards this port.",
            ),
            (
                "cassay serve /data/results --listen 10.0.0.5:7070 --token file:token",
                "Shows the runs to readers on other machines that know the token.",
            ),
        ],
    ),
    (
        "watch",
        &[
            ("cassay watch", "Shows the newest run of this machine."),
            (
                "cassay watch http://10.0.0.5:7070 --token file:token",
                "Shows the run of another machine, by its server.",
            ),
        ],
    ),
    (
        "export",
        &[
            (
                "cassay export latest --csv",
                "Writes the tables of the latest run as CSV.",
            ),
            (
                "cassay export nightly --parquet --figures svg,png --to tables",
                "Writes tables as Parquet, for pandas or DuckDB, and figures as SVG and PNG.",
            ),
            (
                "cassay export latest --grafana --to grafana",
                "Writes a Grafana dashboard, and the events of the run as annotations.",
            ),
        ],
    ),
    (
        "compare",
        &[(
            "cassay compare upgrade/20261120T232909Z latest --require-not-slower",
            "Exits with code 4 if the second run is slower, or looks slower, at any point.",
        )],
    ),
    (
        "publish",
        &[
            (
                "cassay publish latest site --plan removals.tsv",
                "Writes the list of private strings, which you can edit. The same command then \
                 publishes the run.",
            ),
            (
                "cassay publish peak compression site --yes",
                "Publishes the newest runs of two studies, with a page about both.",
            ),
        ],
    ),
    (
        "report",
        &[(
            "cassay report latest --to report.html",
            "Writes the report of the latest run to report.html.",
        )],
    ),
    (
        "import",
        &[(
            "cassay import latest esxtop.csv --column 'CPU*'",
            "Adds columns from the output of `esxtop -b` to a run.",
        )],
    ),
    (
        "target",
        &[(
            "cassay target up --nodes 3",
            "Starts a cluster that runs until `target down`.",
        )],
    ),
    (
        "target up",
        &[
            (
                "cassay target up --nodes 3 --heap 512MiB",
                "Starts three nodes with small heaps on loopback addresses.",
            ),
            (
                "cassay target up --hosts 3 --host-memory 3GiB --host-volume 20GiB",
                "Starts one node on each of three simulated hosts with limited resources. Requires \
                 root.",
            ),
            (
                "cassay target up --machines lab.yaml --nodes-per-host 2",
                "Starts two nodes on each machine that the file lists.",
            ),
        ],
    ),
    (
        "hosts",
        &[(
            "cassay hosts check lab.yaml",
            "Checks that the machines in a file can run nodes.",
        )],
    ),
    (
        "hosts check",
        &[(
            "cassay hosts check lab.yaml",
            "Lists the problems of all machines, for example before a long run.",
        )],
    ),
    (
        "hosts bench",
        &[(
            "cassay hosts bench lab.yaml --json",
            "Benchmarks the disks of the machines and the links between them, and prints JSON.",
        )],
    ),
    (
        "hosts clean",
        &[(
            "cassay hosts clean lab.yaml --all",
            "Stops all clusters of cassay on the machines, and removes all files of cassay.",
        )],
    ),
    (
        "kubernetes",
        &[(
            "cassay kubernetes rbac --namespace load",
            "Prints the role that a study needs for clients in pods.",
        )],
    ),
    (
        "kubernetes run",
        &[(
            "cassay kubernetes run study.yaml --image cassandra:5.0 -- --trust --allow create=ks",
            "Runs the study inside the Kubernetes cluster. The run continues if this terminal \
             closes.",
        )],
    ),
    (
        "kubernetes rbac",
        &[
            (
                "cassay kubernetes rbac --namespace load --for clients,nodes",
                "Prints a service account with the role that a run needs for clients and nodes in \
                 pods.",
            ),
            (
                "cassay kubernetes rbac --namespace load --user ann",
                "Prints the role for the user ann, which the cluster's administrator can apply.",
            ),
            (
                "cassay kubernetes rbac --namespace db --for cass_operator --secret \
                 demo-superuser",
                "Prints the role for attaching to a data center that cass-operator manages.",
            ),
        ],
    ),
    (
        "target status",
        &[(
            "cassay target status --target attach:10.0.0.1",
            "Shows the nodes of an existing cluster.",
        )],
    ),
    (
        "target capabilities",
        &[(
            "cassay target capabilities",
            "Lists the capabilities of simulated hosts on this machine.",
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
            "Creates the snapshot `full` of the data in a keyspace.",
        )],
    ),
    (
        "snapshot create",
        &[(
            "cassay snapshot create full --keyspace keyspace1",
            "Creates the snapshot `full` of all tables in the keyspace.",
        )],
    ),
    (
        "snapshot list",
        &[(
            "cassay snapshot list",
            "Lists the snapshots of the only kept cluster.",
        )],
    ),
    (
        "snapshot restore",
        &[(
            "cassay snapshot restore full",
            "Restores the snapshot. The cluster loses all later writes to its tables.",
        )],
    ),
    (
        "snapshot verify",
        &[(
            "cassay snapshot verify full",
            "Reads all files of the snapshot, and checks that they have not changed.",
        )],
    ),
    (
        "snapshot remove",
        &[("cassay snapshot remove full", "Deletes the snapshot.")],
    ),
    (
        "snapshot export",
        &[(
            "cassay snapshot export full --to full-20M",
            "Copies the snapshot to the folder full-20M, which you can move anywhere.",
        )],
    ),
    (
        "snapshot import",
        &[
            (
                "cassay snapshot import full-20M",
                "Imports the snapshot into a kept cluster. `cassay snapshot restore full` then \
                 loads it.",
            ),
            (
                "cassay snapshot import full-20M --as before",
                "Imports the snapshot as `before`.",
            ),
        ],
    ),
    (
        "fault",
        &[(
            "cassay fault list",
            "Lists all faults, and shows which of them cassay can inject here.",
        )],
    ),
    (
        "fault list",
        &[("cassay fault list --json", "Prints the list as JSON.")],
    ),
    (
        "fault test",
        &[
            (
                "cassay fault test node-pause net-loss",
                "Tests two faults, one after the other.",
            ),
            (
                "cassay fault test node-pause --target attach:10.0.0.1 --set \
                 'target.attach.hosts={ssh: [db1, db2, db3], sudo: true}' --allow signal",
                "Tests a fault on an existing cluster, before a study uses it.",
            ),
        ],
    ),
    (
        "fault run",
        &[(
            "cassay fault run net-loss --loss 10% --host 2 --for 1m",
            "Drops 10 % of the packets of host 2 for one minute.",
        )],
    ),
    (
        "supply",
        &[(
            "cassay supply list",
            "Lists the available jars and Java installations for nodes.",
        )],
    ),
    (
        "supply list",
        &[("cassay supply list --json", "Prints the list as JSON.")],
    ),
    (
        "supply fetch",
        &[
            (
                "cassay supply fetch",
                "Downloads the jars of the pinned version.",
            ),
            (
                "cassay supply fetch --repository https://maven.example.org/central",
                "Downloads the jars from a mirror.",
            ),
        ],
    ),
    (
        "supply export",
        &[(
            "cassay supply export cassandra.tar",
            "Writes the jars to one file, for a machine without a network.",
        )],
    ),
    (
        "supply import",
        &[(
            "cassay supply import cassandra.tar",
            "Imports the file on a machine without a network.",
        )],
    ),
    (
        "doctor",
        &[
            ("cassay doctor --target local", "Checks this machine."),
            (
                "cassay doctor --target ssh:db1 --all",
                "Checks another machine over ssh, and also shows the correct settings.",
            ),
            (
                "cassay doctor --target ssh:db1,me@db2 --sudo",
                "Checks two machines over ssh, as root.",
            ),
            (
                "cassay doctor --target attach:10.0.0.1 --set 'target.attach.hosts={ssh: [db1]}'",
                "Checks the machines and nodes of an existing cluster.",
            ),
        ],
    ),
    (
        "topology",
        &[("cassay topology show", "Draws this machine's topology.")],
    ),
    (
        "topology show",
        &[(
            "cassay topology show --machine 'pack:2 core:8 pu:2'",
            "Draws a machine from its description.",
        )],
    ),
    (
        "topology plan",
        &[(
            "cassay topology plan --instances 4 --vcpus 4 --memory 16GiB",
            "Plans the placement of four nodes.",
        )],
    ),
    (
        "topology export",
        &[(
            "cassay topology export libvirt --instances 2 --vcpus 4 --into plan",
            "Plans the placement of two guests, and writes it as libvirt files to the folder plan.",
        )],
    ),
    (
        "topology read",
        &[(
            "cassay topology read libvirt plan/node1.xml",
            "Shows the placement that a libvirt file defines.",
        )],
    ),
    (
        "topology apply",
        &[(
            "cassay topology apply --topology pinned",
            "Places the nodes of a kept cluster on exclusive CPUs.",
        )],
    ),
    (
        "explain",
        &[
            ("cassay explain V12", "Explains a validity rule."),
            ("cassay explain window.warmup", "Explains a key of a study."),
            ("cassay explain release lag", "Explains a term of a report."),
            (
                "cassay explain",
                "Lists all keys and terms that cassay can explain.",
            ),
        ],
    ),
    (
        "schema",
        &[
            (
                "cassay schema study --to study.schema.json",
                "Writes a schema for an editor, which then completes and checks studies.",
            ),
            (
                "cassay schema findings",
                "Prints the schema of findings.json.",
            ),
        ],
    ),
    (
        "completions",
        &[(
            "cassay completions bash",
            "Save the output as ~/.local/share/bash-completion/completions/cassay.",
        )],
    ),
    (
        "man",
        &[(
            "cassay man --to man",
            "Writes the pages to the folder man. `man -l man/cassay.1` shows the first page.",
        )],
    ),
    (
        "null",
        &[(
            "cassay null --port 9042 --latency 1ms",
            "Starts a null target that answers each request after 1 ms.",
        )],
    ),
    (
        "workload",
        &[("cassay workload list", "Lists the named workloads.")],
    ),
    (
        "workload list",
        &[("cassay workload list --json", "Prints the list as JSON.")],
    ),
    (
        "workload show",
        &[(
            "cassay workload show standard1",
            "Shows the operations and parameters of the workload.",
        )],
    ),
    (
        "workload check",
        &[(
            "cassay workload check workloads/orders.yaml",
            "Checks a workload file without contacting a server.",
        )],
    ),
    (
        "workload twin",
        &[(
            "cassay workload twin shop.users --target attach:10.0.0.1 --to twin.yaml",
            "Writes a workload whose table resembles an existing table, with generated values.",
        )],
    ),
    (
        "workload recorded",
        &[(
            "cassay workload recorded /var/log/cassandra/fql",
            "Summarizes the operations in a full query log.",
        )],
    ),
    (
        "workload sample",
        &[(
            "cassay workload sample kv --rows 3",
            "Prints three rows that the workload would write.",
        )],
    ),
    (
        "stress",
        &[(
            "cassay stress write n=100k -rate threads=50",
            "Runs a write workload. The arguments are those of cassandra-stress.",
        )],
    ),
    (
        "nb",
        &[(
            "cassay nb cql-iot.yaml default rampup-cycles=100k host=10.0.0.1",
            "Runs the scenario `default` of a NoSQLBench workload file.",
        )],
    ),
    (
        "ycsb",
        &[(
            "cassay ycsb run -P workloads/workloada -p hosts=10.0.0.1 -threads 32",
            "Runs YCSB's workload A with 32 threads.",
        )],
    ),
    (
        "easy",
        &[(
            "cassay easy run KeyValue -d 5m --rate 10k -r 0.5 --host 10.0.0.1",
            "Runs the workload KeyValue for five minutes.",
        )],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    /// Returns the names of all commands, including nested commands.
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
