//! What was seen of a thing at one moment, by who has not broken it.

use crate::{By, World};
use anyhow::{Error, Result};
use host::{Seen, Sight};
use std::time::Duration;

/// One look.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// Whether it shows what is meant to be broken; none: nobody could look.
    pub broken: Option<bool>,
    /// Whether it shows that all is whole; none: nobody could look.
    pub whole: Option<bool>,
    /// What was seen.
    pub words: String,
}

impl Look {
    /// What two say who know nothing of each other: it is broken, or whole, if both say so.
    pub fn of_two(one: Looked, other: Looked) -> Look {
        let both = |one: Option<bool>, other: Option<bool>| match (one, other) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Look {
            broken: both(one.broken, other.broken),
            whole: both(one.whole, other.whole),
            words: format!("{}, {}", one.words, other.words),
        }
    }
}

/// What one who looks says; as [`Look`].
pub(crate) type Looked = Look;

/// A look that nobody could have.
pub(crate) fn unseen(who: &str, error: &Error) -> Looked {
    Look {
        broken: None,
        whole: None,
        words: format!("{who} could not be asked ({error:#})"),
    }
}

/// What the kernel says of a node's process: `is_broken` knows the letter of its state that it
/// should have, or that it has none.
pub(crate) fn process(
    world: &mut dyn World,
    node: usize,
    is_broken: fn(Option<char>) -> bool,
) -> Looked {
    let state = match world.node(node).process {
        // Nobody has started it.
        None => Ok(None),
        Some(process) => match world.see(By::Node(node), Sight::Process(process)) {
            Ok(Seen::Process(state)) => Ok(state),
            Ok(other) => Err(other_answer(&other)),
            Err(error) => Err(error),
        },
    };
    match state {
        Err(error) => unseen("the kernel", &error),
        Ok(state) => Look {
            broken: Some(is_broken(state)),
            whole: Some(!is_broken(state)),
            words: match state {
                Some(state) => format!("the kernel calls its process {state}"),
                None => "the kernel knows its process no more".to_owned(),
            },
        },
    }
}

/// What a client of a node says: it is broken if it does not answer.
pub(crate) fn client(world: &mut dyn World, node: usize, limit: Duration) -> Looked {
    let answer = world.ask(node, limit);
    Look {
        broken: Some(answer.is_err()),
        whole: Some(answer.is_ok()),
        words: match answer {
            Ok(()) => "it answers a client".to_owned(),
            Err(error) => format!("it does not answer a client ({})", short(&error)),
        },
    }
}

/// An answer to another question.
pub(crate) fn other_answer(seen: &Seen) -> Error {
    anyhow::anyhow!("an agent has answered another question: {seen:?}")
}

/// The result of a look as a look.
pub(crate) fn or_unseen(who: &str, looked: Result<Looked>) -> Looked {
    looked.unwrap_or_else(|error| unseen(who, &error))
}

/// An error for a sentence.
fn short(error: &Error) -> String {
    let text = format!("{error:#}").replace('\n', " ");
    text.chars().take(120).collect()
}
