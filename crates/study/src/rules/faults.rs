//! Rules for faults. The targets of faults must exist and be local or declared, and the faults must
//! end within the measured window.

use super::rule_input::Subject;
use crate::settings::draft::TargetKind;
use crate::settings::{Draft, FAULTS_MAX, FaultDraft, FaultTargets, FaultWhere, StudyFault};
use crate::units;
use ::yaml::{Diagnostics, Node, Raw};
use measure::number::counted;
use target_spec::HostIndex;
use target_spec::fault::{FaultOption, FaultPlace, Length};

/// Applies the rules for faults.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(node) = subject.node.find("faults") else {
        return;
    };
    // If the null target replaces the target of the study, cassay omits faults and adds a note.
    if subject.has("target.null") && subject.target_replaced {
        return;
    }
    let draft = Draft::from_tree(subject.tree);
    if let Some(missing) = missing(subject, &draft) {
        let message = "`faults` requires nodes, but this target has none".to_owned();
        subject.say("faults", message, Some(missing), out);
        return;
    }
    let Raw::List(items) = &node.raw else {
        return;
    };
    // An item that is not a mapping is absent in the draft. Its mistake has already been reported.
    let sections = items.iter().filter(|item| item.entries().is_some());
    let items: Vec<Item<'_>> = sections.zip(&draft.faults).map(Item::new).collect();
    let ground = draft.ground();
    for item in &items {
        item.names(&draft, out);
        item.kinds(&draft, ground, out);
        item.places(ground, out);
        item.length(out);
        item.options(out);
        item.limits(ground, out);
    }
    if draft.workload().import.is_some() {
        items.iter().for_each(|item| item.in_a_step(out));
        return;
    }
    let known = subject.tree.find("window.measure").is_some();
    if known && items.iter().all(Item::is_whole) {
        let faults = draft.faults();
        if faults.len() > FAULTS_MAX {
            let message = format!(
                "`faults` injects too many faults in a window; the maximum is {FAULTS_MAX}"
            );
            let hint = Some("repeat the faults less often (`every`), or use a shorter window");
            return subject.say("faults", message, hint, out);
        }
        within_window(&items, &faults, draft.measure_ns, out);
        alone(&items, &faults, ground, out);
    }
}

/// Checks the names of the faults that an attached target defines. A name must be valid, and must
/// not be the name of a built-in fault.
pub(super) fn commands(subject: &Subject<'_>, out: &mut Diagnostics) {
    let entries = subject.node.find("target.attach.faults");
    for entry in entries.and_then(Node::entries).unwrap_or_default() {
        let name = &entry.key;
        let why = match target_spec::fault::FaultKind::find(name) {
            Some(_) => Some("a built-in fault has this name: use another".to_owned()),
            None => crate::check::name(name).err(),
        };
        if let Some(why) = why {
            let message = format!("`target.attach.faults.{name}`: {why}");
            out.add(&entry.place, message, None);
        }
    }
}

/// Returns a hint if the target cannot have faults. `None` if it can.
fn missing(subject: &Subject<'_>, draft: &Draft) -> Option<&'static str> {
    match draft.kind {
        _ if subject.has("target.local") => None,
        TargetKind::Attach if !draft.attached_kinds().is_empty() => None,
        TargetKind::Attach => Some(
            "remove the faults, use `target: {local: …}`, name the nodes' machines in \
             `target.attach.hosts`, or define a fault in `target.attach.faults` with programs that \
             inject, check and heal it",
        ),
        TargetKind::Local | TargetKind::Null => {
            Some("use `target: {local: …}`, or remove the faults")
        }
    }
}

struct Item<'a> {
    node: &'a Node,
    draft: &'a FaultDraft,
}

/// A node or host that an item names by its number.
struct NamedPlace {
    /// Key of the study that contains the number.
    path: &'static str,
    what: &'static str,
    number: usize,
    /// Number of nodes, or number of hosts, that the target has.
    count: usize,
}

impl<'a> Item<'a> {
    fn new((node, draft): (&'a Node, &'a FaultDraft)) -> Item<'a> {
        Item { node, draft }
    }

    fn say(&self, path: &str, message: String, hint: Option<&str>, out: &mut Diagnostics) {
        let place = &self.node.nearest(path).place;
        out.add(place, message, hint.map(str::to_owned));
    }

    fn wrote(&self, path: &str) -> bool {
        self.node.find(path).is_some()
    }

    /// Returns true if the item has a time, a length and a kind.
    fn is_whole(&self) -> bool {
        let is_said = |kind: &target_spec::fault::FaultKind| kind.length.is_said();
        let has_length = self.draft.for_ns.is_some() || self.wrote("until");
        let lasts = has_length || !self.draft.kinds.iter().any(is_said);
        self.wrote("at") && !self.draft.kinds.is_empty() && lasts
    }

    /// Checks keys that need the length of the window. The length of an imported command line is
    /// known only after the command line is read, or remains unknown.
    fn in_a_step(&self, out: &mut Diagnostics) {
        for key in ["until", "every", "seed"].into_iter().filter(|key| self.wrote(key)) {
            let message =
                format!("`faults.{key}` needs a `window`, but an imported command line has none");
            self.say(key, message, Some("set `at` and `for` of each fault"), out);
        }
    }

    /// Checks that each kind of fault of the item is possible on the target.
    fn names(&self, draft: &Draft, out: &mut Diagnostics) {
        let Some(kind) = self.node.find("kind") else {
            return;
        };
        let names = match &kind.raw {
            Raw::List(items) => items.as_slice(),
            _ => std::slice::from_ref(kind),
        };
        let known: Vec<&str> = match draft.kind {
            TargetKind::Attach => draft.attached_kinds(),
            TargetKind::Local | TargetKind::Null => target_spec::fault::FaultName::ALL
                .map(target_spec::fault::FaultName::name)
                .into(),
        };
        for node in names {
            let text = node.text().filter(|text| draft.kind_of(text).is_none());
            // An invalid name is skipped here, because it has already been reported.
            if let Some(text) = text.filter(|text| crate::check::name(text).is_ok()) {
                let (message, hint) = crate::check::unknown("faults.kind", text, &known);
                out.add(&node.place, message, hint);
            }
        }
    }

    /// Checks that the target has the nodes, hosts or volumes that the item's kinds of faults
    /// affect. Also reports faults that would end the pods of cassay's agents.
    fn kinds(&self, draft: &Draft, ground: FaultTargets, out: &mut Diagnostics) {
        let breaks_volumes = |kind: &&target_spec::fault::FaultKind| {
            kind.needs.iter().any(|one| one.is_of_volumes())
        };
        if let Some(kind) = self.draft.kinds.iter().find(breaks_volumes)
            && ground.hosts.is_some()
            && ground.volume_bytes.is_none()
        {
            let message = format!(
                "{} affects the volume of a host, but the hosts have no volumes",
                kind.name
            );
            let hint = "use `target: {local: {host: {volume: 20GiB}}}`";
            self.say("kind", message, Some(hint), out);
        }
        if let Some(kind) = self.draft.kinds.iter().find(|kind| kind.needs_others())
            && ground.nodes < 2
        {
            let message = format!(
                "{} needs another node from which to stream the data, but this target has only one \
                 node",
                kind.name
            );
            let hint = "use `target: {local: {nodes: 3}}`";
            self.say("kind", message, Some(hint), out);
        }
        let ends_pods = |kind: &&target_spec::fault::FaultKind| kind.ends_pods();
        if let Some(kind) = self.draft.kinds.iter().find(ends_pods)
            && draft.attached_kubernetes.agents.is_some()
        {
            let message = format!(
                "{} ends the node's pod, and thus also cassay's agent in this pod",
                kind.name
            );
            let hint = "remove `target.attach.kubernetes.agents` from this study";
            self.say("kind", message, Some(hint), out);
        }
        let breaks_hosts = |kind: &&target_spec::fault::FaultKind| {
            [FaultPlace::Host, FaultPlace::Split].contains(&kind.place)
        };
        if let Some(kind) = self.draft.kinds.iter().find(breaks_hosts)
            && ground.hosts.is_none()
        {
            let message = format!("{} affects hosts, but this target has no hosts", kind.name);
            let hint = "use `target: {local: {hosts: 3}}`";
            self.say("kind", message, Some(hint), out);
        }
    }

    /// Checks the target of the item. The named nodes and hosts must exist, and a fault that
    /// affects all nodes must not have the key `where`.
    fn places(&self, ground: FaultTargets, out: &mut Diagnostics) {
        let takes_all = |kind: &&target_spec::fault::FaultKind| kind.place == FaultPlace::Cluster;
        if let Some(kind) = self.draft.kinds.iter().find(takes_all)
            && self.wrote("where")
            && self.draft.kinds.iter().all(|kind| takes_all(&kind))
        {
            let message = format!("{} affects all nodes, one after the other", kind.name);
            self.say("where", message, Some("remove `where`"), out);
        }
        let hosts = ground.hosts.unwrap_or(0);
        let host = |path: &'static str, host: &HostIndex| NamedPlace {
            path,
            what: "host",
            number: host.number(),
            count: hosts,
        };
        let from = self.draft.from.iter();
        let mut named: Vec<_> = from.map(|one| host("where.from", one)).collect();
        match &self.draft.on {
            FaultWhere::Node(node) => named.push(NamedPlace {
                path: "where.node",
                what: "node",
                number: node.number(),
                count: ground.nodes,
            }),
            FaultWhere::Host(one) => named.push(host("where.host", one)),
            FaultWhere::Hosts(all) => {
                named.extend(all.iter().map(|one| host("where.hosts", one)));
            }
            FaultWhere::NotContactPoint if ground.nodes == 1 => {
                let message = "the target has only one node, which is the contact point".to_owned();
                self.say("where.role", message, None, out);
            }
            FaultWhere::Any
            | FaultWhere::Seed
            | FaultWhere::NotContactPoint
            | FaultWhere::HottestReplica => {}
        }
        let elsewhere = self.draft.options.ha_on.iter();
        named.extend(elsewhere.map(|one| host("ha.restart_on", one)));
        for place in named {
            if place.number > place.count {
                let message = format!(
                    "`faults.{}` is {}, but the target has {}",
                    place.path,
                    place.number,
                    counted(place.count, place.what)
                );
                let hint = match place.count {
                    0 => "name a node instead, or add `target.local.hosts`".to_owned(),
                    count => format!("use a number from 1 to {count}"),
                };
                self.say(place.path, message, Some(&hint), out);
            }
        }
        self.split(hosts, out);
    }

    /// Checks that the item cuts hosts off from other hosts, and not from themselves.
    fn split(&self, hosts: usize, out: &mut Diagnostics) {
        let mut kinds = self.draft.kinds.iter();
        if let Some(kind) = kinds.find(|kind| kind.place == FaultPlace::Split)
            && self.draft.on == FaultWhere::HottestReplica
        {
            let message = format!(
                "{} cuts hosts off from other hosts, but cassay can determine the host of the \
                 hottest partition only when the cluster runs",
                kind.name
            );
            self.say(
                "where.role",
                message,
                Some("name the hosts: `hosts: [1]`"),
                out,
            );
        }
        let FaultWhere::Hosts(of) = &self.draft.on else {
            return;
        };
        if let Some(host) = of.iter().find(|host| self.draft.from.contains(host)) {
            let message = format!("cassay cannot cut host {} off from itself", host.number());
            self.say("where.from", message, None, out);
        }
        let splits = |kind: &target_spec::fault::FaultKind| kind.place == FaultPlace::Split;
        let all = (0..hosts).map(HostIndex).all(|host| of.contains(&host));
        if all && hosts > 0 && self.draft.from.is_empty() && self.draft.kinds.iter().any(splits) {
            let message = "the fault would cut off all hosts, so no other host remains".to_owned();
            self.say("where.hosts", message, Some("omit at least one host"), out);
        }
    }

    /// Checks the options `leave` and `ha` against the volume, the machines and the length of the
    /// fault.
    fn limits(&self, ground: FaultTargets, out: &mut Diagnostics) {
        let options = &self.draft.options;
        if let (Some(leave), Some(volume)) = (options.leave_bytes, ground.volume_bytes)
            && leave >= volume
        {
            let message = format!(
                "`faults.leave` is {}, but the volume has {} and would not be full",
                units::format_bytes(leave),
                units::format_bytes(volume)
            );
            self.say("leave", message, Some("lower `leave`"), out);
        }
        if ground.are_machines && self.wrote("ha") {
            let [why, hint] = target_spec::NO_HA_OF_MACHINES;
            return self.say("ha", format!("`faults.ha` {why}"), Some(hint), out);
        }
        let after_ns = options.ha_after.map(|after| after.as_nanos() as u64);
        if let (Some(after_ns), Some(for_ns)) = (after_ns, self.draft.for_ns)
            && after_ns >= for_ns
        {
            let message = format!(
                "`faults.ha.after` is {}, but the host is up again after {}",
                units::format_duration_ns(after_ns),
                units::format_duration_ns(for_ns)
            );
            self.say(
                "ha.after",
                message,
                Some("raise `faults.for`, or lower `after`"),
                out,
            );
        }
        if let (Some(elsewhere), FaultWhere::Host(of)) = (options.ha_on, &self.draft.on)
            && elsewhere == *of
        {
            let message = format!(
                "host {} is off during this fault, so it cannot start its own nodes",
                of.number()
            );
            let hint = "name another host, or `other-host`";
            self.say("ha.restart_on", message, Some(hint), out);
        }
    }

    fn length(&self, out: &mut Diagnostics) {
        let said = |is_said: bool| {
            let mut kinds = self.draft.kinds.iter();
            kinds.find(|kind| kind.length.is_said() == is_said)
        };
        let stated = self.draft.for_ns.is_some() || self.wrote("until");
        if let Some(kind) = said(true)
            && !stated
            && !self.wrote("for")
        {
            let why = match kind.length {
                Length::Task => "performs a task: its time limit",
                _ => "lasts until cassay heals it:",
            };
            let message = format!("{} {why} `faults.for` is missing", kind.name);
            self.say("kind", message, Some("add `for`, or `until: end`"), out);
        }
        if let (Some(kind), None, true) = (said(false), said(true), stated) {
            let message = format!("{} is instantaneous and has no duration", kind.name);
            self.say("for", message, Some("remove `for`"), out);
        }
    }

    /// Checks that each option belongs to a kind of fault of the item, and that no required option
    /// is missing.
    fn options(&self, out: &mut Diagnostics) {
        let kinds = || self.draft.kinds.iter();
        for knob in FaultOption::ALL {
            let key = knob.name();
            let said = self.wrote(key);
            if said && kinds().next().is_some() && !kinds().any(|kind| kind.takes(knob)) {
                let names: Vec<&str> = kinds().map(|kind| &*kind.name).collect();
                let message = format!("`faults.{key}` does not apply to {}", names.join(", "));
                self.say(key, message, Some("remove it"), out);
            }
            if let Some(kind) = kinds().find(|kind| kind.must.contains(&knob))
                && !said
            {
                let message = format!("`faults.{key}` is missing, but {} requires it", kind.name);
                self.say("kind", message, None, out);
            }
        }
    }
}

fn within_window(
    items: &[Item<'_>],
    faults: &[(usize, StudyFault)],
    window_ns: u64,
    out: &mut Diagnostics,
) {
    for (number, fault) in faults {
        let until_end = items[*number].draft.for_ns.is_none();
        if fault.end_ns() > window_ns || (until_end && fault.at_ns >= window_ns) {
            let message = format!(
                "this fault ends at {}, but `window.measure` is {}",
                units::format_duration_ns(fault.end_ns()),
                units::format_duration_ns(window_ns)
            );
            let hint = "use a longer window, so that it also covers the recovery";
            items[*number].say("for", message, Some(hint), out);
        }
    }
}

/// Checks that faults on the same target do not overlap, because cassay could not observe the
/// second fault. Reports a repeating item only once.
fn alone(
    items: &[Item<'_>],
    faults: &[(usize, StudyFault)],
    ground: FaultTargets,
    out: &mut Diagnostics,
) {
    let mut said = Vec::new();
    for (at, (number, fault)) in faults.iter().enumerate() {
        let overlaps = |(_, other): &&(usize, StudyFault)| {
            let touches = fault.touches(other, ground);
            touches && fault.at_ns < other.end_ns() && other.at_ns < fault.end_ns()
        };
        let earlier = faults[..at].iter().find(overlaps).filter(|_| !said.contains(number));
        if let Some((_, earlier)) = earlier {
            said.push(*number);
            let message = format!(
                "this fault overlaps {} of {}, {} to {}",
                earlier.kind.name,
                earlier.place(),
                units::format_duration_ns(earlier.at_ns),
                units::format_duration_ns(earlier.end_ns())
            );
            let hint = format!(
                "end that fault before {}, or start this fault later",
                units::format_duration_ns(fault.at_ns)
            );
            items[*number].say("at", message, Some(&hint), out);
        }
    }
}
