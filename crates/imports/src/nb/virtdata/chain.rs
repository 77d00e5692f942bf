//! A compiled recipe: a chain of functions, and the environment that the functions may need.

use super::functions::Transformation;
use super::java_value::{Ty, Val};

pub(crate) struct Env<'a> {
    pub(crate) read: &'a dyn Fn(&str) -> Result<String, String>,
    /// Notes on differences from NoSQLBench that the functions record.
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
    pub(super) steps: Vec<Transformation>,
    pub(crate) ty: Ty,
}

impl Recipe {
    pub(crate) fn single(step: Transformation, ty: Ty) -> Recipe {
        Recipe {
            steps: vec![step],
            ty,
        }
    }

    #[inline]
    pub(crate) fn value(&self, cycle: i64) -> Val<'_> {
        self.value_of(Val::Long(cycle))
    }

    #[inline]
    pub(crate) fn value_of<'a>(&'a self, mut value: Val<'a>) -> Val<'a> {
        for step in &self.steps {
            value = step.apply(value);
        }
        value
    }
}
