//! Questions to an agent, as both sides know them.

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question, with what answers it.
pub trait Call: Serialize + DeserializeOwned {
    /// Its name on the wire.
    const NAME: &'static str;
    /// What comes back.
    type Answer: Serialize + DeserializeOwned;
}

/// A question that an agent with the state `S` answers.
pub trait Serve<S>: Call {
    /// Does what is asked.
    ///
    /// # Errors
    /// Why not; the near side gets the words.
    fn serve(self, state: &S) -> Result<Self::Answer>;
}

/// One row of an agent's table of calls.
pub struct Row<S> {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&S, Value) -> Result<Value>,
}

impl<S> Row<S> {
    /// That of a call.
    pub const fn of<C: Serve<S>>() -> Row<S> {
        Row {
            name: C::NAME,
            run: |state, value| {
                let call: C = serde_json::from_value(value).context("understand a call")?;
                serde_json::to_value(call.serve(state)?).context("write an answer as JSON")
            },
        }
    }
}

/// From the controller.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToAgent {
    Call {
        id: u64,
        name: String,
        value: Value,
    },
    /// Sent each second: the controller is there.
    Alive,
    /// The controller has no more to say; whether the agent is to end what it began.
    Bye {
        end: bool,
    },
}

/// From the agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromAgent {
    Hello(crate::Hello),
    /// Why it cannot be what it was asked to be.
    Refusal(String),
    Answer {
        id: u64,
        answer: Result<Value, String>,
        /// CPU time of the thread that was started for it.
        cpu_ns: u64,
    },
    /// It has ended what it began, or could not.
    Ended(Result<(), String>),
    /// Something has happened that nobody asked for just now.
    Note(Value),
}
