//! A recipe as it is carried out: a chain of functions, and what they may need besides their
//! arguments.

use super::functions::Step;
use super::value::{Ty, Val};

/// What functions may need besides their arguments.
pub(crate) struct Env<'a> {
    /// Reads a data file.
    pub(crate) read: &'a dyn Fn(&str) -> Result<String, String>,
    /// What is done otherwise than NoSQLBench does it.
    pub(crate) notes: Vec<String>,
}

impl Env<'_> {
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// A chain of functions from a cycle to a value.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(super) steps: Vec<Step>,
    /// The type of what comes out.
    pub(crate) ty: Ty,
}

impl Recipe {
    /// A recipe of one step.
    pub(crate) fn single(step: Step, ty: Ty) -> Recipe {
        Recipe {
            steps: vec![step],
            ty,
        }
    }

    /// The value of a cycle.
    #[inline]
    pub(crate) fn value(&self, cycle: i64) -> Val<'_> {
        self.value_of(Val::Long(cycle))
    }

    /// What becomes of a value.
    #[inline]
    pub(crate) fn value_of<'a>(&'a self, mut value: Val<'a>) -> Val<'a> {
        for step in &self.steps {
            value = step.apply(value);
        }
        value
    }
}
