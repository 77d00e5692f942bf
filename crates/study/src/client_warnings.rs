//! Warns of two problems with clients on other machines. One is a target that only this machine can
//! reach. The other is a list of commands that were meant for several clients of another tool at
//! the same time.

use crate::settings::{Settings, Study};
use crate::target_differences;
use measure::number::{counted, listed};
use std::collections::BTreeSet;
use target_spec::Target;

/// Maximum number of machines that a warning names.
const NAMED_MAX: usize = 3;

/// Returns a sentence for each of the two problems that a variant has, without duplicates.
pub fn warnings(study: &Study) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for variant in &study.variants {
        let settings = &variant.settings;
        for warning in [cannot_reach(settings), one_after_the_other(settings)] {
            said.extend(warning.filter(|text| !said.contains(text)));
        }
    }
    said
}

fn cannot_reach(settings: &Settings) -> Option<String> {
    let what = target_differences::only_reached_from_here(&settings.target)?;
    let machines = settings.client.machines.iter();
    if settings.client.kubernetes.is_some() {
        return Some(format!(
            "pods of `client.kubernetes` cannot reach {what}, so the run would fail when its \
             clients connect. Either {}, or run the client on this machine",
            remedy(&settings.target)
        ));
    }
    let others: Vec<&str> = machines
        .filter_map(|machine| machine.ssh.as_deref())
        .filter(|ssh| !target_differences::is_loopback(ssh))
        .collect();
    let remedy = remedy(&settings.target);
    (!others.is_empty()).then(|| {
        format!(
            "{} of `client.machines` cannot reach {what}, so the run would fail when its clients \
             connect. Either {remedy}, or run the client on this machine (`client.machines: \
             [here]`)",
            some_of(&others)
        )
    })
}

fn remedy(target: &Target) -> &'static str {
    match target {
        Target::Local(_) => {
            "start the nodes on machines that the clients can reach (`target.local.machines`)"
        }
        Target::Attach(_) => "name addresses of the nodes that the clients can reach",
        Target::Null(_) => "attach to a cluster that the clients can reach (`target.attach`)",
    }
}

/// Warns of commands that differ only in numbers. Such commands may have been meant for several
/// clients, each with a separate range.
fn one_after_the_other(settings: &Settings) -> Option<String> {
    let import = settings.workload.import.as_ref()?;
    let is_form = |char: &char| !char.is_ascii_digit();
    let form = |command: &String| command.chars().filter(is_form).collect::<String>();
    let forms: BTreeSet<String> = import.commands.iter().map(form).collect();
    let commands = import.commands.len();
    let is_meant = commands > 1 && forms.len() == 1 && settings.client.machines.len() > 1;
    is_meant.then(|| {
        format!(
            "the {commands} commands in `workload.{}` differ only in their numbers. cassay runs \
             them one after the other, each on all clients. To divide one range among the clients, \
             write one command with the full range, and set `client.split: range`",
            import.tool.name()
        )
    })
}

/// Formats a list of names, such as `load1, load2, load3 and 97 others`.
fn some_of(names: &[&str]) -> String {
    let (first, rest) = names.split_at(names.len().min(NAMED_MAX));
    match rest.len() {
        0 => listed(first),
        more => format!("{} and {}", first.join(", "), counted(more, "other")),
    }
}

#[cfg(test)]
mod tests {
    use crate::resolve::resolve;
    use crate::settings::{GrantedPermissions, Overrides};

    fn warnings_for(target: &str, machines: &str) -> Vec<String> {
        let text = format!(
            "study: s\nquestion: q\ntarget: {target}\n\
             workload: {{use: standard1, mix: {{write: 1}}}}\n\
             procedure: {{fixed: {{threads: 8}}}}\nclient: {{machines: [{machines}]}}\n"
        );
        let overrides = Overrides {
            granted: GrantedPermissions {
                trust: true,
                ..GrantedPermissions::default()
            },
            ..Overrides::default()
        };
        let study = resolve("s", &text, &overrides).unwrap();
        crate::plan::plan(&study).unwrap().warnings
    }

    #[test]
    fn machines_that_cannot_reach_the_target_are_named_with_it() {
        let two = "here, {ssh: load1}, {ssh: me@load2}";
        for (target, words) in [
            ("{null: {}}", "cannot reach the null target, which"),
            (
                "{local: {nodes: 2}}",
                "cannot reach the nodes of `target.local`, which have loopback addresses, so the \
                 run would fail when its clients connect. Either start the nodes on machines",
            ),
            (
                "{local: {hosts: 2}}",
                "cannot reach the simulated hosts of `target.local`",
            ),
            (
                "{attach: {contact_points: [127.0.0.1, 'localhost:9043', '[::1]:9042']}}",
                "cannot reach `target.attach.contact_points`, which are loopback addresses",
            ),
        ] {
            let all = warnings_for(target, two);
            assert_eq!(all.len(), 1, "{target}: {all:?}");
            let named = "load1 and me@load2 of `client.machines` cannot reach";
            assert!(all[0].starts_with(named), "{all:?}");
            assert!(all[0].contains(words), "{all:?}");
        }
        let many: Vec<String> = (1..=100).map(|n| format!("{{ssh: load{n}}}")).collect();
        for target in ["{null: {}}", "{local: {hosts: 32, nodes_per_host: 2}}"] {
            let all = warnings_for(target, &many.join(", "));
            let named = "load1, load2, load3 and 97 others of `client.machines`";
            assert!(all[0].starts_with(named), "{all:?}");
        }
    }

    #[test]
    fn this_machine_reaches_local_targets_others_foreign_clusters() {
        let here = "here, {ssh: me@localhost}, {ssh: 'ssh://me@127.0.0.1:2222'}";
        assert_eq!(warnings_for("{null: {}}", here), Vec::<String>::new());
        for elsewhere in [
            "{attach: {contact_points: [127.0.0.1, 10.0.0.1]}}",
            "{local: {machines: [{ssh: db1, folder: /data}]}}",
        ] {
            assert_eq!(
                warnings_for(elsewhere, "{ssh: load1}"),
                Vec::<String>::new()
            );
        }
    }

    #[test]
    fn commands_of_clients_with_a_range_each_are_told_from_steps() {
        let said = |commands: &str, machines: &str| {
            let text = format!(
                "study: s\nquestion: q\ntarget: {{null: {{}}}}\n\
                 workload: {{stress: [{commands}]}}\nclient: {{machines: [{machines}]}}\n"
            );
            let study = resolve("s", &text, &Overrides::default()).unwrap();
            crate::plan::plan(&study).unwrap().warnings
        };
        let ranges = "'write n=5 -pop seq=1..5', 'write n=10 -pop seq=6..15'";
        let all = said(ranges, "here, here");
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(
            all[0].contains("the 2 commands in `workload.stress` differ"),
            "{all:?}"
        );
        assert_eq!(said(ranges, "here"), Vec::<String>::new());
        let steps = "'write n=5 -pop seq=1..5', 'read n=5 -pop seq=1..5'";
        assert_eq!(said(steps, "here, here"), Vec::<String>::new());
    }
}
