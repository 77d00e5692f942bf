//! A rolling configuration change: one node after the other restarts with changed settings. For
//! healing, the nodes restart in the same way with their earlier settings.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{Client, ExecutedBy, HealResult, World};
use crate::node_release;
use crate::observation::{Health, Observation, Presence};
use crate::renewal::Renewal;
use crate::rolling::{self, Round};
use anyhow::{Context, Result, bail};
use cassandra::{Effect, Proof, View};
use host::Injection;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;
use target_spec::fault::{Hit, Options};
use target_spec::{NodeIndex, PerNode};
use versions::Line;

pub(crate) fn behaviour(_: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Change {
        yaml: options.yaml.clone(),
        before: PerNode::default(),
        is_begun: false,
        round: Round::new(Vec::new()),
        within: Duration::ZERO,
    })
}

/// Interval between two checks of the nodes during the rollback.
const POLL: Duration = Duration::from_millis(200);

const LIMIT: Duration = Duration::from_secs(5);

struct Change {
    yaml: Map<String, Value>,
    /// Values of the changed settings on every node before the change, according to the last
    /// observation before it.
    before: PerNode<Vec<Proof>>,
    is_begun: bool,
    round: Round,
    /// Time after which agents roll back all nodes together, unless cassay renews the deadline.
    within: Duration,
}

fn shown(
    world: &mut dyn Client,
    node: NodeIndex,
    yaml: &Map<String, Value>,
    limit: Duration,
) -> Result<Vec<Proof>> {
    let rows = world.rows(node, View::Settings, limit)?;
    let text = |row: &BTreeMap<String, String>, name: &str| row.get(name).cloned();
    let pair = |row| Some((text(row, "name")?, text(row, "value")?));
    let settings: BTreeMap<String, String> = rows.iter().filter_map(pair).collect();
    let release = node_release::release(world, node)?;
    let line = Line::find(&release).unwrap_or(versions::DEFAULT);
    let name = node.name();
    Ok(Proof::compare_yaml(yaml, &settings, &name, line))
}

/// Returns [`Presence::Present`] if all visible settings are in effect, and [`Presence::Unknown`]
/// if no setting is visible.
fn change(proofs: &[Proof]) -> Presence {
    let known = proofs.iter().filter(|proof| proof.effect.shown().is_some());
    let mut known = known.peekable();
    if known.peek().is_none() {
        return Presence::Unknown;
    }
    Presence::from(known.all(|proof| proof.effect.is_proved()))
}

fn words(proofs: &[Proof]) -> String {
    let said = proofs.iter().map(|proof| match &proof.effect {
        Effect::NotShown(why) => format!("{} ({why})", proof.key),
        Effect::InEffect(now) | Effect::NotInEffect(now) => format!("{} {now}", proof.key),
    });
    said.collect::<Vec<_>>().join(", ")
}

impl Change {
    fn observation(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        if !self.is_begun {
            // Agents may still roll back the change of an earlier command, so each observation
            // replaces the values.
            self.before = PerNode::default();
        }
        let (mut fault, mut target) = (Presence::Absent, Health::Whole);
        let mut said = Vec::new();
        for node in world.nodes().indexes() {
            let name = node.name();
            let proofs = match shown(world, node, &self.yaml, limit) {
                Ok(proofs) => proofs,
                Err(error) => {
                    // A restarting node reports no settings.
                    target = Health::Impaired;
                    said.push(format!("{name} reports no settings ({error:#})"));
                    continue;
                }
            };
            fault = match (fault, change(&proofs)) {
                (Presence::Present, _) | (_, Presence::Present) => Presence::Present,
                (_, Presence::Unknown) => Presence::Unknown,
                (before, Presence::Absent) => before,
            };
            let known = self.before.get(node);
            let same = known.is_none_or(|before| *before == proofs);
            target = target.and(Health::from(same));
            said.push(format!("{name} shows {}", words(&proofs)));
            if !self.is_begun {
                self.before.push(proofs);
            }
        }
        Observation {
            fault,
            target,
            words: said.join(", "),
        }
    }
}

impl Fault for Change {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let nodes: Vec<NodeIndex> = world.nodes().indexes().collect();
        self.within = within;
        self.is_begun = true;
        self.round = Round::new(nodes);
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = self.observation(world, limit);
        rolling::and_all_up(world, seen, limit)
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        let (yaml, within) = (&self.yaml, self.within);
        let restart = &mut |world: &mut dyn World, node: NodeIndex| {
            let (forth, back) = world.configured(node, yaml)?;
            let what = Injection::Files {
                reader: Some(world.restartable(node)?),
                forth: vec![forth],
                back: vec![back],
            };
            world.inject(ExecutedBy::Node(node), what, &[node], within)
        };
        let holds = |world: &mut dyn World, node: NodeIndex| {
            let shown = shown(world, node, yaml, LIMIT);
            let proofs = shown.context("request the running configuration")?;
            match change(&proofs) {
                Presence::Absent => bail!("{} runs with {}", node.name(), words(&proofs)),
                Presence::Present | Presence::Unknown => Ok(()),
            }
        };
        self.round.proceed(world, restart, &holds)
    }

    fn heal(&mut self, world: &mut dyn World, tell: Tell<'_>) -> Result<HealResult> {
        let mut back = Round::new(self.round.touched());
        let restart = &mut |world: &mut dyn World, node: NodeIndex| world.heal_node(node);
        let mut renewal = Renewal::default();
        loop {
            renewal.renew(world, self.within);
            match back.proceed(world, restart, &|_, _| Ok(())) {
                Ok(Work::Going) => {
                    world.wait(POLL);
                }
                Ok(Work::Did(words)) => tell(world.now_ns(), words),
                Ok(Work::Done(_)) => break,
                Err(error) => {
                    tell(world.now_ns(), format!("{error:#}"));
                    break;
                }
            }
            if host::process::is_interrupted() {
                break;
            }
        }
        // The agents roll back all nodes with changed settings together.
        self.round.heal(world)
    }
}
