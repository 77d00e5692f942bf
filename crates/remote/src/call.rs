//! Calls to an agent, in the form that the controller and the agent share.

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call, with the type of its answer.
pub trait Call: Serialize + DeserializeOwned {
    /// Name of the call on the wire.
    const NAME: &'static str;
    /// Type of the answer.
    type Answer: Serialize + DeserializeOwned;
}

/// A call that an agent with the state `S` answers.
pub trait Serve<S>: Call {
    /// Executes the call.
    ///
    /// # Errors
    /// The call fails. The controller receives the error as text.
    fn serve(self, state: &S) -> Result<Self::Answer>;
}

/// One row of an agent's table of calls.
pub struct Row<S> {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&S, Value) -> Result<Value>,
}

impl<S> Row<S> {
    /// Returns the row of the call `C`.
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
    /// The controller is alive. It sends this message each second.
    Alive,
    /// The controller sends no more messages. If `end` is true, the agent ends all processes and
    /// undoes all changes.
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
        /// CPU time of the thread that was started for the call, in nanoseconds.
        cpu_ns: u64,
    },
    /// The agent has ended all its processes and undone all its changes, or has failed to do so.
    Ended(Result<(), String>),
    /// An unrequested event.
    Note(Value),
}
