//! Finds the node that owns a token.

use crate::config::Endpoint;

/// Ring of tokens in ascending order. Each token belongs to the node in `owners` that owns the
/// range of tokens up to this token.
#[derive(Clone, Debug)]
pub(crate) struct Router {
    tokens: Box<[i64]>,
    owners: Box<[u16]>,
}

impl Router {
    /// Builds the ring of `nodes`. Returns `None` if only one node exists or the tokens of a node
    /// are unknown, since the client then cannot choose between owners.
    pub fn new(nodes: &[Endpoint]) -> Option<Router> {
        if nodes.len() < 2 || nodes.iter().any(|node| node.tokens.is_empty()) {
            return None;
        }
        let mut ring: Vec<(i64, u16)> = nodes
            .iter()
            .enumerate()
            .flat_map(|(index, node)| node.tokens.iter().map(move |&token| (token, index as u16)))
            .collect();
        ring.sort_unstable();
        let (tokens, owners): (Vec<i64>, Vec<u16>) = ring.into_iter().unzip();
        Some(Router {
            tokens: tokens.into(),
            owners: owners.into(),
        })
    }

    /// Returns the primary replica of `token`. This is the owner of the first token of the ring at
    /// or after `token`.
    #[inline]
    pub fn node(&self, token: i64) -> u16 {
        let at = self.tokens.partition_point(|&ring| ring < token);
        self.owners[if at == self.tokens.len() { 0 } else { at }]
    }

    /// Returns the owner of the first token of the ring at or after `token` that does not belong to
    /// `node`. If replicas follow each other on the ring, this owner is the next replica.
    pub fn other_node(&self, token: i64, node: u16) -> Option<u16> {
        let at = self.tokens.partition_point(|&ring| ring < token);
        let (before, after) = self.owners.split_at(at);
        let mut owners = after.iter().chain(before);
        owners.find(|&&owner| owner != node).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, tokens: &[i64]) -> Endpoint {
        Endpoint {
            name: name.to_owned(),
            tokens: tokens.to_vec(),
            ..Endpoint::from_address(([127, 0, 0, 1], 9042).into())
        }
    }

    #[test]
    fn a_range_belongs_to_the_token_at_its_end_and_the_ring_wraps() {
        let router = Router::new(&[node("a", &[-100, 50]), node("b", &[0])]).unwrap();
        for (token, owner) in [
            (i64::MIN, 0),
            (-100, 0),
            (-99, 1),
            (0, 1),
            (1, 0),
            (50, 0),
            (51, 0),
            (i64::MAX, 0),
        ] {
            assert_eq!(router.node(token), owner, "{token}");
            assert_eq!(router.other_node(token, owner), Some(1 - owner), "{token}");
            assert_eq!(router.other_node(token, 1 - owner), Some(owner), "{token}");
        }
    }

    #[test]
    fn without_a_choice_there_is_no_ring() {
        assert!(Router::new(&[node("a", &[1])]).is_none());
        assert!(Router::new(&[node("a", &[1]), node("b", &[])]).is_none());
    }
}
