//! A fault that a study defines for an attached cluster by programs that inject, observe and heal
//! it. An agent on the machine that runs cassay is ready to run the healing program.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Agents, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Context, Result, bail};
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target_spec::fault::{Commands, Hit};
use target_spec::{Invocation, NodeIndex};

/// Time limit of the observing program, which may have to reach another machine. An agent without
/// its controller also waits for this time before it heals.
const SEE_LIMIT: Duration = Duration::from_secs(5);

/// Placeholder in an argument of a program for the IP address of the target node.
const NODE: &str = "{node}";

/// Placeholder in an argument of a program for the IP address and CQL port of the target node.
const ADDRESS: &str = "{address}";

pub(crate) fn behaviour(hit: &Hit, commands: &Commands) -> Box<dyn Fault> {
    Box::new(CommandFault {
        node: hit.node(),
        commands: commands.clone(),
    })
}

struct CommandFault {
    node: NodeIndex,
    commands: Commands,
}

impl CommandFault {
    /// Returns one of the fault's programs, with replaced placeholders.
    fn program(&self, world: &dyn Agents, of: fn(&Commands) -> &Invocation) -> Result<Invocation> {
        let nodes = world.nodes();
        let node = nodes.get(self.node).context("the node does not exist")?;
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
        let done = match world.see(ExecutedBy::Node(self.node), Query::Command { what, limit })? {
            QueryAnswer::Command(done) => done,
            other => return Err(observation::other_answer(&other)),
        };
        let is_broken = match done.code {
            Some(0) => true,
            Some(1) => false,
            Some(code) => bail!("{name} ended with {code}: {}", done.said),
            None => bail!(
                "cassay killed {name} after at most {limit:?}: {}",
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
            fault: Presence::from(is_broken),
            target: Health::from(!is_broken),
            words: format!("{name} reports the node as {state}{said}"),
        })
    }
}

impl Fault for CommandFault {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let what = Injection::Command {
            inject: self.program(world, |commands| &commands.inject)?,
            heal: self.program(world, |commands| &commands.heal)?,
        };
        world.inject(ExecutedBy::Node(self.node), what, &[self.node], within)
    }

    /// The response of the node to clients does not affect the result, because the fault may or may
    /// not make the node silent.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = observation::or_unseen("the command's check", self.see(world));
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
