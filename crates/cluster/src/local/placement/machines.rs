//! Plans the placement of nodes on remote machines, separately for each machine. Reserves no CPUs
//! for a client.

use super::{Layout, Placement};
use anyhow::{Context, Result};
use target_spec::{HostIndex, LocalSpec, Seat, Topology};
use topology::Machine;

impl Layout {
    /// Plans the nodes of a spec, which are dealt to `machines` in turn. Each machine has the name
    /// of its host.
    ///
    /// # Errors
    /// A machine lacks CPUs or memory.
    pub fn plan_machines(spec: &LocalSpec, machines: &[(String, Machine)]) -> Result<Layout> {
        let (seats, shares) = (spec.seats(), spec.nodes_of_hosts());
        let mut all = Layout::default();
        let mut nodes: Vec<(usize, Placement)> = Vec::new();
        for (host, (name, machine)) in machines.iter().enumerate() {
            let own = LocalSpec {
                nodes: shares.get(host).copied().unwrap_or_default(),
                topology: Topology {
                    client: Some(0),
                    ..spec.topology
                },
                ..spec.clone()
            };
            let layout = Layout::plan(&own, machine).with_context(|| name.clone())?;
            let host = HostIndex(host);
            let index_of = |slot: usize| {
                let index = seats.iter().position(|seat| *seat == Seat { host, slot });
                index.unwrap_or_default()
            };
            for (slot, placement) in layout.nodes.into_iter().enumerate() {
                nodes.push((index_of(slot), renamed(placement, index_of(slot))));
            }
            let sentences = layout.sentences.iter();
            all.sentences.extend(sentences.map(|said| {
                let said = with_numbers(said, index_of);
                if said.starts_with("node") && !said.starts_with("nodes") {
                    said
                } else {
                    format!("{name}: {said}")
                }
            }));
            all.part = all.part.or(layout.part);
        }
        nodes.sort_by_key(|(index, _)| *index);
        all.nodes = nodes.into_iter().map(|(_, placement)| placement).collect();
        Ok(all)
    }
}

fn renamed(mut placement: Placement, index: usize) -> Placement {
    placement.confinement.name = super::name(index);
    placement
}

/// Renumbers the nodes in a sentence, because each machine's planner counts its nodes from `node1`.
fn with_numbers(sentence: &str, index_of: impl Fn(usize) -> usize) -> String {
    const WORD: &str = "node";
    let mut parts = sentence.split(WORD);
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        said.push_str(WORD);
        match number.parse::<usize>() {
            Ok(number) if number > 0 => said.push_str(&(index_of(number - 1) + 1).to_string()),
            _ => said.push_str(number),
        }
        said.push_str(rest);
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_second_node_of_a_machine_consistently() {
        let said = with_numbers("node2 is beside node1 on NUMA node 0; 2 nodes", |slot| {
            1 + slot * 3
        });
        assert_eq!(said, "node5 is beside node2 on NUMA node 0; 2 nodes");
    }
}
