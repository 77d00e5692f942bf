//! Calls to an agent, as the controller and the agent define them.

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Call with the type of its answer.
pub trait Call: Serialize + DeserializeOwned {
    /// Name of the call on the wire.
    const NAME: &'static str;
    type Answer: Serialize + DeserializeOwned;
}

/// Call that an agent with the state `S` answers.
pub trait Serve<S>: Call {
    /// # Errors
    /// The controller receives the error as text.
    fn serve(self, state: &S) -> Result<Self::Answer>;
}

/// Row of an agent's table of calls.
pub struct Row<S> {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&S, Value) -> Result<Value>,
}

impl<S> Row<S> {
    pub const fn new<C: Serve<S>>() -> Row<S> {
        Row {
            name: C::NAME,
            run: |state, value| {
                let call: C = serde_json::from_value(value).context("understand a call")?;
                serde_json::to_value(call.serve(state)?).context("write an answer as JSON")
            },
        }
    }
}

/// Message from the controller.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToAgent {
    Call {
        id: u64,
        name: String,
        value: Value,
    },
    /// The controller is alive. Sent each second.
    Alive,
    /// The controller sends no more messages. With `end`, the agent ends all processes and undoes
    /// all changes.
    Bye {
        end: bool,
    },
}

/// Message from the agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromAgent {
    Hello(crate::Hello),
    /// Reason why the agent refuses its role.
    Refusal(String),
    Answer {
        id: u64,
        answer: Result<Value, String>,
        /// CPU time of the call's thread, in nanoseconds.
        cpu_ns: u64,
    },
    /// The agent has ended all its processes and undone all its changes, or has failed to do so.
    Ended(Result<(), String>),
    /// Unrequested event.
    Note(Value),
}
