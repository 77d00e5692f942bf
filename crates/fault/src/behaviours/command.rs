//! What a study names itself, of a cluster that is not ours: a program that breaks, one that sees
//! it, and one that heals. The course is that of every other fault, and what heals is armed at an
//! agent of ours on this machine.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Agents, Via, World};
use anyhow::{Context, Result, bail};
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target::Invocation;
use target::fault::{Commands, Hit};

/// How long a program may take that only looks: longer than to go to another machine and back, and
/// as long as an agent waits that heals by itself.
const SEE_LIMIT: Duration = Duration::from_secs(5);

/// Stands in an argument for the address of the node that is hit, as reports name it.
const NODE: &str = "{node}";

/// Stands in an argument for that with the port of CQL.
const ADDRESS: &str = "{address}";

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, commands: &Commands) -> Box<dyn Fault> {
    Box::new(Named {
        node: hit.node(),
        commands: commands.clone(),
    })
}

struct Named {
    node: usize,
    commands: Commands,
}

impl Named {
    /// One of its programs, with the node in its arguments.
    fn program(&self, world: &dyn Agents, of: fn(&Commands) -> &Invocation) -> Result<Invocation> {
        let nodes = world.nodes();
        let node = nodes.get(self.node).context("there is no such node")?;
        let (ip, address) = (node.cql.ip().to_string(), node.cql.to_string());
        let Invocation { words, folder } = of(&self.commands);
        let words = words.iter().map(|word| word.replace(NODE, &ip).replace(ADDRESS, &address));
        let absolute = std::path::absolute(folder);
        Ok(Invocation {
            words: words.collect(),
            folder: absolute.with_context(|| format!("find {}", folder.display()))?,
        })
    }

    fn see(&self, world: &mut dyn Agents) -> Result<Observation> {
        let what = self.program(world, |commands| &commands.see)?;
        let name = what.to_string();
        let limit = SEE_LIMIT;
        let done = match world.see(Via::Node(self.node), Query::Command { what, limit })? {
            QueryAnswer::Command(done) => done,
            other => return Err(observation::other_answer(&other)),
        };
        let is_broken = match done.code {
            Some(0) => true,
            Some(1) => false,
            Some(code) => bail!("{name} ended with {code}: {}", done.said),
            None => bail!(
                "{name} was killed, at the latest after {limit:?}: {}",
                done.said
            ),
        };
        let state = if is_broken { "broken" } else { "whole" };
        let said = if done.said.is_empty() {
            String::new()
        } else {
            format!(" ({})", done.said)
        };
        Ok(Observation {
            broken: Some(is_broken),
            whole: Some(!is_broken),
            words: format!("{name} calls it {state}{said}"),
        })
    }
}

impl Fault for Named {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let what = Injection::Command {
            inject: self.program(world, |commands| &commands.inject)?,
            heal: self.program(world, |commands| &commands.heal)?,
        };
        world.inject(Via::Node(self.node), what, &[self.node], within)
    }

    /// What a client of the node meets is said besides: whether it shows depends on what was
    /// broken.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = observation::or_unseen("whoever sees", self.see(world));
        let client = observation::client(world, self.node, limit);
        Observation {
            words: format!("{}, {}", seen.words, client.words),
            ..seen
        }
    }

    fn is_ours(&self) -> bool {
        false
    }
}
