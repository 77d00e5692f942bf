//! The course of one fault: looked at, injected, seen, held, healed, seen.

use crate::{Kind, World};
use anyhow::{Error, Result};
use std::time::Duration;

/// Between two looks. Short against the second that a node takes to be noticed by its clients.
const POLL: Duration = Duration::from_millis(100);

/// How long a node may take to answer somebody who wants to see it whole: much, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// A node that does not answer within this is silent, if the kernel says so too. A healthy one
/// takes milliseconds.
const SILENCE: Duration = Duration::from_secs(1);

/// How much later than planned the host's agent heals by itself.
const SLACK: Duration = Duration::from_secs(5);

/// Whether a fault was what it was meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Seen broken, and seen whole again.
    Confirmed,
    /// Nothing was seen of it, or it did not heal.
    Mismatch,
    /// Nobody could look.
    Inconclusive,
}

impl Verdict {
    /// The word in records: `confirmed`, `mismatch`, `inconclusive`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Mismatch => "mismatch",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// One thing of its course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, monotonic clock.
    pub at_ns: u64,
    /// `checked`, `injecting`, `seen`, `unseen`, `healing`, `whole` or `not-whole`.
    pub what: &'static str,
    /// What was seen.
    pub words: String,
}

/// What came of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether something else than its injector saw it; none: nobody could look.
    pub seen: Option<bool>,
    /// Whether it was seen whole at the end.
    pub whole: bool,
    /// What was seen, in the order of the looks.
    pub steps: Vec<Step>,
}

impl Outcome {
    /// Seen and healed, or not.
    pub fn verdict(&self) -> Verdict {
        match (self.seen, self.whole) {
            (Some(true), true) => Verdict::Confirmed,
            (None, true) => Verdict::Inconclusive,
            _ => Verdict::Mismatch,
        }
    }

    /// When a step of its course was, monotonic clock; none if it never came.
    pub fn at_ns(&self, what: &str) -> Option<u64> {
        let step = self.steps.iter().find(|step| step.what == what);
        step.map(|step| step.at_ns)
    }
}

/// What two who have not done it see of a node.
struct Look {
    /// Whether the kernel says that it is broken.
    kernel: Result<bool>,
    answer: Result<()>,
    words: String,
}

impl Look {
    fn at(kind: &Kind, world: &mut dyn World, limit: Duration) -> Look {
        let state = world.state();
        let answer = world.ask(limit);
        let state_words = match &state {
            Ok(Some(state)) => format!("the kernel calls its process {state}"),
            Ok(None) => "the kernel knows its process no more".to_owned(),
            Err(error) => format!("the kernel could not be asked ({error:#})"),
        };
        let answer_words = match &answer {
            Ok(()) => "it answers a client".to_owned(),
            Err(error) => format!("it does not answer a client ({})", short(error)),
        };
        Look {
            kernel: state.map(kind.is_broken),
            answer,
            words: format!("{state_words}, {answer_words}"),
        }
    }

    /// Whether both say that it is broken.
    fn is_broken(&self) -> bool {
        matches!((&self.kernel, &self.answer), (Ok(true), Err(_)))
    }

    /// Whether both say that it is whole.
    fn is_whole(&self) -> bool {
        matches!((&self.kernel, &self.answer), (Ok(false), Ok(())))
    }
}

/// An error for a sentence.
fn short(error: &Error) -> String {
    let text = format!("{error:#}").replace('\n', " ");
    text.chars().take(120).collect()
}

struct Course<'w> {
    kind: &'w Kind,
    world: &'w mut dyn World,
    tell: &'w mut dyn FnMut(&Step),
    steps: Vec<Step>,
}

/// Breaks a node, holds it until healing is ordered, and heals it. `planned` is how long that is
/// meant to take: a little later the host's agent heals by itself. `tell` hears every step as it
/// comes. Every way out heals.
pub fn run(
    kind: &Kind,
    world: &mut dyn World,
    planned: Duration,
    tell: &mut dyn FnMut(&Step),
) -> Outcome {
    let steps = Vec::new();
    let mut course = Course {
        kind,
        world,
        tell,
        steps,
    };
    let (seen, whole) = course.run(planned);
    Outcome {
        seen,
        whole,
        steps: course.steps,
    }
}

impl Course<'_> {
    fn say(&mut self, what: &'static str, words: String) {
        let at_ns = self.world.now_ns();
        self.steps.push(Step { at_ns, what, words });
        (self.tell)(&self.steps[self.steps.len() - 1]);
    }

    fn run(&mut self, planned: Duration) -> (Option<bool>, bool) {
        let before = Look::at(self.kind, self.world, PATIENCE);
        if !before.is_whole() {
            self.say("unseen", format!("not done: before it, {}", before.words));
            return (Some(false), true);
        }
        self.say("checked", before.words);
        self.say("injecting", self.kind.what.to_owned());
        if let Err(error) = (self.kind.inject)(self.world, planned + SLACK) {
            self.say("unseen", format!("it cannot be done: {error:#}"));
            return (Some(false), self.heal());
        }
        let seen = self.effect(planned);
        (seen, self.heal())
    }

    /// Looks until the fault shows or is to end, and holds it until then.
    fn effect(&mut self, planned: Duration) -> Option<bool> {
        // A look must be over when healing is due.
        let silence = SILENCE.min(planned / 4);
        loop {
            let look = Look::at(self.kind, self.world, silence);
            if look.is_broken() {
                self.say("seen", look.words);
                while !self.world.wait(planned) {}
                return Some(true);
            }
            if self.world.wait(POLL) {
                self.say("unseen", look.words);
                return look.kernel.is_ok().then_some(false);
            }
        }
    }

    /// Heals, and looks until it shows.
    fn heal(&mut self) -> bool {
        self.say("healing", "what was done is undone".to_owned());
        let healed = self.world.heal();
        let limit_ns = self.kind.healed_within.as_nanos() as u64;
        let until_ns = self.world.now_ns() + limit_ns;
        loop {
            let look = Look::at(self.kind, self.world, PATIENCE);
            if look.is_whole() {
                let by_itself = healed.as_ref().is_ok_and(|healed| healed.by_itself);
                let early = "; its agent had healed it by itself";
                self.say("whole", look.words + if by_itself { early } else { "" });
                return true;
            }
            let is_late = self.world.now_ns() >= until_ns || host::process::is_interrupted();
            if is_late || healed.is_err() {
                let why = healed.as_ref().err();
                let why = why.map(|error| format!("; healing failed: {error:#}"));
                self.say("not-whole", look.words + &why.unwrap_or_default());
                return false;
            }
            self.world.wait(POLL);
        }
    }
}
