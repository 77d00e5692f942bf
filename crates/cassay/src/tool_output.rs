//! Prints output in the format of the tool whose command line runs. This format replaces cassay's
//! own format, so that scripts can read the output on stdout. Warnings and the report's name still
//! go to stderr.

mod settings;
mod stress;
mod ycsb;

use crate::exit::Exit;
use crate::terminal;
use anyhow::{Result, bail};
use engine::Event;
use imports::{Import, Tool};

/// Output in the format of a tool.
pub enum Compat {
    /// The output of cassandra-stress.
    Stress(Box<stress::Stress>),
    Ycsb(ycsb::Ycsb),
}

impl Compat {
    /// Creates the output for a command line and its import.
    ///
    /// # Errors
    /// The command line has no steps, or the tool prints no output that scripts can parse.
    pub fn new(tool: Tool, words: &[String], import: &Import) -> Result<Compat> {
        let Some(step) = import.steps.first() else {
            bail!("the command line has no steps");
        };
        Ok(match tool {
            Tool::Stress => Compat::Stress(Box::new(stress::Stress::new(words, step))),
            Tool::Ycsb => Compat::Ycsb(ycsb::Ycsb::new(words, step)),
            Tool::Easy => bail!(
                "cassay cannot imitate the output of cassandra-easy-stress, which is not \
                 machine-readable: remove --compat, or use --json"
            ),
            Tool::Nb => bail!(
                "--compat has no format for NoSQLBench, which sends its results to a metrics \
                 server instead of printing them: remove --compat, or use --json"
            ),
        })
    }

    /// Handles an event of the run.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Said(text) => terminal::say(text),
            Event::TrialFailed { name, reason, .. } => terminal::say(&format!("{name}: {reason}")),
            _ => {}
        }
        match self {
            Compat::Stress(stress) => stress.event(event),
            Compat::Ycsb(ycsb) => ycsb.event(event),
        }
    }

    /// Prints the end of the run.
    pub fn end(&mut self, exit: Exit) {
        match self {
            Compat::Stress(stress) => stress.end(exit),
            Compat::Ycsb(ycsb) => ycsb.end(),
        }
    }
}
